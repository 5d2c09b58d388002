"""Arms with branches: against Lagrange's equations, energy and momentum; mistakes in the file."""

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.formulations import FORMULATIONS, formulation
from flexarm.mechanics.loads import prescribed_accelerations, wrench_factors
from flexarm.model import build
from flexarm.studies.compare import operation_counts
from tests.physics.reference import Reference
from tests.physics.trees import random_tree, rigid_tree

NODES = 14  # with so many more than shapes, exact links are the continuum to rounding
RECURSIVE = ("composite", "articulated")
numbers = [*range(4), *(pytest.param(n, marks=pytest.mark.campaign) for n in range(4, 200))]


@pytest.mark.parametrize("number", numbers)
def test_random_trees_are_lagranges_equations(number: int) -> None:
    model = build(random_tree(number), nodes=NODES)
    reference, random = Reference(model), np.random.default_rng(number)
    q, v = random.normal(size=(2, model.size))
    for part in model.links:
        q[part.modes] *= 0.02
        if part.kind == "sliding":
            q[part.exposed] = 0.6 * part.link.length
    inputs, _ = reference.loads
    u, factors = np.linspace(3, -5, inputs), wrench_factors(model, 0.0)
    mass = reference.mass_matrix(q)
    scale, free = np.sqrt(np.diag(mass)), np.setdiff1d(np.arange(model.size), model.prescribed)
    force = reference.applied(q, u, factors) - reference.bias(q, v)
    for name in RECURSIVE:
        equation = formulation(name, model)
        error = (equation.mass_matrix(q) - mass) / np.outer(scale, scale)
        assert np.abs(error).max() <= 1e-10
        a = equation.forward_dynamics(q, v, u)
        np.testing.assert_allclose(a[[*model.prescribed]], prescribed_accelerations(model, 0.0))
        residual = ((mass @ a - force) / scale)[free]
        assert np.abs(residual).max() <= 1e-10 * np.abs(force / scale).max()
    # Energies up to a constant, which hubs on a fixed base have.
    energies = (
        lambda q: [*equation.energy(q, v)],
        lambda q: [reference.kinetic(q, v), *reference.potential(q)],
    )
    energy, expected = (np.subtract(of(q), of(0.9 * q)) for of in energies)
    np.testing.assert_allclose(energy, expected, rtol=1e-9, atol=1e-9)


def test_a_satellite_with_branches_keeps_momentum_and_energy() -> None:
    few = {"kind": "arm-modes", "bending_y": 0, "bending_z": 1, "torsion": 0, "stretch": 0}
    keys: dict[str, object] = {f"links.panel-{side}.shapes": few for side in ("left", "right")}
    for link in (f"{side}-{part}" for side in ("left", "right") for part in ("upper", "fore")):
        keys |= {f"links.{link}.rigid": True, f"links.{link}.damping": None}
    arm = flexarm.change_arm(flexarm.example_arm("satellite-two-arms"), keys)
    run = flexarm.simulate(arm, t_end=0.5, errors="off")
    assert run.energy_balance < 1e-6
    assert run.momentum_balance is not None
    assert run.momentum_balance < 1e-6


def test_a_link_of_no_length_at_the_tip_changes_nothing_but_the_place_of_a_branch() -> None:
    """The middle of a link is where two half links meet, if it is rigid."""
    half = {"length": 0.5, "body": {"mass": 1.0, "com": [0.25, 0, 0], "inertia": [0, 0.02, 0.02]}}
    whole = {"length": 1.0, "body": {"mass": 2.0, "com": [0.5, 0, 0], "inertia": [0, 0.165, 0.165]}}
    turn, hold = {"kind": "revolute"}, {"kind": "fixed"}
    branch = {"name": "branch", "joint": turn, **half}
    cut = arm_of({"joint": turn, **half}, branch, {"parent": "link1", "joint": hold, **half})
    one = arm_of({"joint": turn, **whole}, branch | {"at": 0.5})
    q, v, u = np.array([0.3, -0.8]), np.array([1.0, 2.0]), np.array([0.5, -0.1])
    for name in RECURSIVE:
        first, second = (
            formulation(name, build(arm)).forward_dynamics(q, v, u) for arm in (cut, one)
        )
        np.testing.assert_allclose(first, second, rtol=1e-12)


def test_operations_grow_in_proportion_to_the_links() -> None:
    models = [build(rigid_tree(links)) for links in (8, 16, 32)]
    counts = [
        operation_counts(formulation("articulated", model), "forward_dynamics") for model in models
    ]
    totals = [count.multiplications + count.additions for count in counts]
    assert totals[2] - totals[1] <= 2.1 * (totals[1] - totals[0])


@pytest.mark.parametrize("name", sorted(set(FORMULATIONS) - set(RECURSIVE)))
def test_methods_of_papers_refuse_branches_in_words(name: str) -> None:
    with pytest.raises(FlexarmError, match="makes a branch"):
        formulation(name, build(rigid_tree(4)))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"parent": "link2"}, "must be the base or a link that stands before"),
        ({"parent": "link3"}, "must be the base or a link that stands before"),
        ({"parent": "elbow"}, "must be the base or a link that stands before"),
        ({"parent": "base", "at": 0.5}, "placed by joint.before"),
        ({"at": 1.5}, "less than or equal to 1"),
        ({"at": "middle"}, "at"),
    ],
)
def test_places_that_are_none_are_refused(keys: dict[str, object], message: str) -> None:
    link = {"joint": {"kind": "revolute"}, "length": 1.0, "body": {"mass": 1.0}}
    with pytest.raises(ValueError, match=message):
        arm_of(link, link | keys, link)


def arm_of(*links: dict[str, object]) -> Arm:
    """Give an arm of links, at a slant."""
    return Arm.model_validate(
        {"flexarm": 1, "name": "tree", "gravity": [0.0, -9.81, 0.0], "links": list(links)}
    )
