"""Arms with branches: against Lagrange's equations, energy and momentum; mistakes in the file."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flexarm
from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.formulations import FORMULATIONS, formulation
from flexarm.mechanics.loads import prescribed_accelerations, wrench_factors
from flexarm.model import Model, build
from flexarm.studies.compare import operation_counts
from tests.physics.reference import Reference
from tests.physics.trees import random_tree, rigid_tree

RECURSIVE = ("composite", "articulated")
numbers = [*range(4), *(pytest.param(n, marks=pytest.mark.campaign) for n in range(4, 200))]
# Trees of exact beams, two of them with a branch within a beam, that 17 nodes more than shapes have
# converged to rounding; others converge more slowly, as chains do.
EXACT, NODES = (47, 135), 17


@pytest.mark.parametrize("number", numbers)
def test_random_trees_are_lagranges_equations(number: int) -> None:
    compare(build(random_tree(number)), number)


@pytest.mark.parametrize("number", EXACT)
def test_trees_of_exact_beams_are_lagranges_equations(number: int) -> None:
    model = build(random_tree(number, exact=True), nodes=NODES)
    assert any(part.place is not None for part in model.links)
    compare(model, number)


def test_a_carriage_rides_on_any_earlier_link_beside_other_branches() -> None:
    beam = {"length": 1.0, "section": {"mass_per_length": 1.0, "EIz": 50.0, "EIy": 80.0},
            "shapes": {"kind": "loaded", "bending_y": 1, "bending_z": 1}}  # fmt: skip
    load = {"length": 0.4, "body": {"mass": 0.7, "com": [0.1, 0.2, 0], "inertia": [0.1, 0.2, 0.2]}}
    carriage = {"kind": "carriage", "start": {"position": 0.3}}
    arm = arm_of(
        {"name": "rail", "joint": {"kind": "revolute"}, **beam},
        {"name": "beyond", "joint": {"kind": "revolute"}, **beam},
        {"name": "trolley", "parent": "rail", "joint": carriage, **load},
        {"name": "aside", "parent": "rail", "at": 0.6, "joint": {"kind": "revolute"}, **load},
    )
    compare(build(flexarm.change_arm(arm, {"stiffening": False})), 5, position=0.3)


def compare(model: Model, number: int, position: float | None = None) -> None:
    """Compare recursions with Lagrange's equations in a random state."""
    reference, random = Reference(model), np.random.default_rng(number)
    q, v = random.normal(size=(2, model.size))
    for part in model.links:
        q[part.modes] *= 0.02
        if part.kind == "sliding":
            q[part.exposed] = 0.6 * part.link.length
        if part.kind == "carriage":
            q[part.exposed] = position
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
    # Energies up to a constant, which hubs on a fixed base have; the reference of a rail holds at
    # the start of its carriage.
    moved = np.where([part_of(model, k) == "carriage" for k in range(model.size)], q, 0.9 * q)
    energies = (
        lambda q: [*equation.energy(q, v)],
        lambda q: [reference.kinetic(q, v), *reference.potential(q)],
    )
    energy, expected = (np.subtract(of(q), of(moved)) for of in energies)
    np.testing.assert_allclose(energy, expected, rtol=1e-9, atol=1e-9)


def part_of(model: Model, index: int) -> str:
    """Give the kind of the joint that has a coordinate; empty for others."""
    return next((part.kind for part in model.links if index in part.coordinates), "")


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


def test_a_joint_transmits_the_loads_of_what_it_carries_alone() -> None:
    link = {"joint": {"kind": "revolute"}, "length": 1.0, "body": {"mass": 1.0}}
    pull = {"force": [0.0, 3.0, 0.0], "frame": "world", "at": 0.5}
    pulled = arm_of(link, link | {"parent": "base", "wrenches": [pull]})
    q, v, a = np.array([0.3, -0.5]), np.array([1.0, 0.5]), np.array([2.0, -1.0])
    with_pull, without = (
        formulation("composite", build(arm)).joint_wrench(q, v, a)
        for arm in (pulled, flexarm.change_arm(pulled, {"links.2.wrenches": None}))
    )
    np.testing.assert_allclose(with_pull[..., 0], without[..., 0], atol=1e-14)
    np.testing.assert_allclose(without[1, 1] - with_pull[1, 1], 3.0)


def test_operations_grow_in_proportion_to_the_links_from_10_to_300() -> None:
    """Each further link costs the same to 1 %, in a tree in which every link carries two."""
    links = np.array([10, 100, 300])
    counts = [
        operation_counts(formulation("articulated", build(rigid_tree(count))), "forward_dynamics")
        for count in links
    ]
    totals = np.array([count.multiplications + count.additions for count in counts])
    per_link = np.diff(totals) / np.diff(links)
    np.testing.assert_allclose(per_link, per_link[-1], rtol=0.01)


def test_a_joint_at_1_5708_rad_is_not_one_at_a_right_angle() -> None:
    """Its rotation has entries that differ from each other, and from 1, by 1e-11."""
    angles, place = (1.5708, 0.0, -3.1416), np.array([0.0, -0.2, -0.1])
    joint = {"kind": "revolute", "axis": [0, 0, -1], "before": {"rotation": angles}}
    link = {"joint": joint, "body": {"mass": 1.0}}
    before = {"position": place.tolist()}
    model = build(arm_of(link, link | {"joint": joint | {"before": before}}))
    _, position = formulation("articulated", model).tip_pose(np.zeros(2))
    expected = Rotation.from_euler("xyz", angles).as_matrix() @ place
    np.testing.assert_allclose(position, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", sorted(set(FORMULATIONS) - set(RECURSIVE)))
def test_methods_of_papers_refuse_branches_in_words(name: str) -> None:
    with pytest.raises(FlexarmError, match="makes a branch"):
        formulation(name, build(rigid_tree(4)))


def test_a_second_carriage_on_a_rail_is_refused() -> None:
    rail: dict[str, object] = {
        "joint": {"kind": "fixed"},
        "length": 1.0,
        "section": {"EIz": 20.0, "mass_per_length": 1.0},
        "shapes": {"kind": "clamped-free", "bending_z": 2},
    }
    rider: dict[str, object] = {
        "parent": "link1",
        "joint": {"kind": "carriage", "start": {"position": 0.3}},
        "body": {"mass": 1.0, "inertia": [0.01, 0.01, 0.01]},
    }
    arm_of(rail, rider)
    with pytest.raises(ValueError, match="a rail carries one carriage, and this is the second"):
        arm_of(rail, rider, rider)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"parent": "link2"},
            "a link cannot carry itself. Give the base or a link .*: base, l",
        ),
        ({"parent": "link3"}, "'link3' stands after this link in the list, so it cannot carry"),
        ({"parent": "elbow"}, "there is no link 'elbow'. Give the base"),
        ({"parent": "base", "at": 0.5}, "placed by joint.before"),
        ({"at": 1.5}, "the place of the joint is beyond the ends of link1"),
        ({"at": -0.1}, "the place of the joint is beyond the ends of link1"),
        ({"at": "middle"}, "there is no place 'middle' on this link"),
        ({"at": "0.3 m"}, "a ratio"),
        ({"wrenches": [{"at": 1.5}]}, "beyond the link's length"),
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
