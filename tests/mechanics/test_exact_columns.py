"""Columns of exact links: sums of amplitudes that move single nodes, and two ways to their mass."""

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.io.model_file import loads
from flexarm.links.collocation import Collocation
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.base import LinkBody
from flexarm.model import Model, build
from flexarm.spatial import Array, Expr

SEED = 4
# In space with twist and stretch, in a plane, in space, elements, in a plane with stretch.
COMBINED = (
    "chen-two-link",
    "driven-link-payload",
    "tg-rr-2planes",
    "tg-rr-elements",
    "spin-up-beam",
)


def nodes_of(model: Model, index: int = 0) -> Collocation:
    """Give the nodes of a link."""
    nodes = model.links[index].exact
    assert nodes is not None
    return nodes


def seen(body: LinkBody, seed: int = SEED) -> tuple[dict[str, Array], Array, Array]:
    """Evaluate a link's terms, its tip's columns and its tip's velocities at some state."""
    rng = np.random.default_rng(seed)
    q, v = (ca.DM(0.1 * rng.normal(size=body.model.size)) for _ in range(2))
    terms, tip = body.terms(q, v, ca.DM(rng.normal(size=3))), body.tip_motion(q, v)

    def numbers(each: Expr) -> Array:
        return np.array(ca.DM(each))

    columns = np.vstack([numbers(tip.local.angular), numbers(tip.local.linear)])
    speeds = np.vstack([numbers(tip.spin), numbers(tip.speed)])
    return {name: numbers(each) for name, each in vars(terms).items()}, columns, speeds


def close(here: Array, there: Array) -> bool:
    """Compare numbers up to rounding."""
    return bool(np.abs(here - there).max(initial=0.0) <= 1e-12 * np.abs(there).max(initial=0.0))


@pytest.mark.parametrize("sample", COMBINED)
def test_combined_columns_are_sums_of_those_of_amplitudes(sample: str) -> None:
    model = build(flexarm.example_arm(sample), stiffening=True)
    part = model.links[0]
    plain, combined = body_of(model, part), body_of(model, part, combined=True)
    assert plain.basis is None
    assert combined.basis is not None
    basis = np.array(ca.DM(combined.basis))
    (terms, columns, speeds), (sums, summed, same) = seen(plain), seen(combined)
    assert close(summed, columns @ basis)
    assert close(same, speeds)
    expected = terms | {
        "angular": terms["angular"] @ basis,
        "linear": terms["linear"] @ basis,
        "modal": basis.T @ terms["modal"] @ basis,
        "effort": basis.T @ terms["effort"],
    }
    for name, there in expected.items():
        assert close(sums[name], there), name
    q = ca.DM(0.1 * np.random.default_rng(SEED).normal(size=model.size))
    sections = [body.at_fraction(q, 0.4) for body in (combined, plain)]
    for name in ("linear", "angular"):
        found, amplitudes = (np.array(ca.DM(getattr(local, name))) for local in sections)
        assert close(found, amplitudes @ basis), name


@pytest.mark.parametrize("sample", COMBINED)
def test_combined_shapes_move_single_nodes(sample: str) -> None:
    nodes = nodes_of(build(flexarm.example_arm(sample), stiffening=True))
    for plain, rows in zip(
        (*nodes.bend, nodes.stretch), (*nodes.combined.bend, nodes.combined.stretch), strict=True
    ):
        own = np.flatnonzero(plain.any(axis=0))
        assert np.count_nonzero(rows) <= np.count_nonzero(plain)
        if len(own) > 1:
            single = [
                row
                for row in rows[:, own].tolist()
                if sorted(row) == [*[0.0] * (len(own) - 1), 1.0]
            ]
            assert len({tuple(row) for row in single}) == len(own)


def test_shapes_that_nodes_do_not_tell_apart_are_not_combined() -> None:
    """Sums that move one node would move others by more than rounding allows for."""
    arm = flexarm.change_arm(flexarm.example_arm("driven-link"), {"links[1].shapes.bending_y": 12})
    nodes = nodes_of(build(arm, stiffening=True))
    assert nodes.basis is None
    assert nodes.combined is nodes


def test_a_link_that_only_stretches_is_not_combined() -> None:
    """Its mass is constant, and sums of amplitudes would only cost operations."""
    shapes = "bending_y: 0, bending_z: 0, stretch: 3"
    text = UNEVEN.replace("EIy: 9", "EIy: 9, EA: 400").replace("bending_y: 4, bending_z: 3", shapes)
    nodes = nodes_of(build(loads(text.replace("elements", "clamped-free"))))
    assert nodes.stretches
    assert nodes.basis is None


@pytest.mark.parametrize("sample", ["chen-two-link", "tg-rr-2planes", "count-6-6-3"])
def test_both_ways_to_the_mass_of_amplitudes_agree(sample: str) -> None:
    """By roots and node by node, whichever is shorter."""
    model = build(flexarm.example_arm(sample), stiffening=True)
    body, nodes = body_of(model, model.links[0]), nodes_of(model)
    chosen, found = nodes.uses_roots, []
    try:
        for uses_roots in (True, False):
            nodes.__dict__["uses_roots"] = uses_roots
            found.append(seen(body)[0])
    finally:
        nodes.__dict__["uses_roots"] = chosen
    for name in ("linear", "modal"):
        assert close(found[0][name], found[1][name]), name


def test_the_shorter_way_to_the_mass_is_taken() -> None:
    """With many shapes node by node, with one along each axis by roots."""
    many = build(flexarm.example_arm("tg-rr-2planes-elements"), stiffening=True)
    one = build(flexarm.example_arm("chain-30"), stiffening=True)
    assert (nodes_of(many).uses_roots, nodes_of(one).uses_roots) == (False, True)


UNEVEN = """
flexarm: 1
name: elements of different lengths in two planes
links:
  - joint: {kind: revolute}
    length: 0.8
    section: {mass_per_length: 1.1, EIz: 14, EIy: 9}
    shapes: {kind: elements, bending_y: 4, bending_z: 3}
"""


def test_large_functions_between_nodes_cost_no_digits() -> None:
    """Nodes hardly tell them apart: their products over the mass are 2e10 times its sums.

    Sums of such products leave no digit of the forces.
    """
    lumped = "kind: lumped, bending_y: 6, bending_z: 5"
    model = build(loads(UNEVEN.replace("kind: elements, bending_y: 4, bending_z: 3", lumped)))
    assert not nodes_of(model).even
    assert missed_identities(model) < 1e-5


def missed_identities(model: Model) -> float:
    """Say by how much a link's forces miss what derivatives of its mass ask for, at some state."""
    own = list(model.links[0].own)
    q, v, omega = ca.SX.sym("q", model.size), ca.SX.sym("v", model.size), ca.SX.sym("w", 3)
    terms = body_of(model, model.links[0]).terms(q, v, omega)
    still = ca.substitute(terms.effort, omega, ca.SX.zeros(3))
    momentum = terms.modal @ v[own]
    needed = ca.jtimes(momentum, q, v) - ca.gradient(ca.dot(v[own], momentum), q)[own] / 2
    turning = ca.cross(omega, terms.second @ omega)
    torque = ca.substitute(terms.torque, v, ca.SX.zeros(model.size))
    pairs = ca.Function("pairs", [q, v, omega], [still, needed, torque, turning])
    rng = np.random.default_rng(SEED)
    values = [0.02 * rng.normal(size=model.size) for _ in range(2)]
    found = [np.array(each) for each in pairs(*values, rng.normal(size=3))]
    misses = [
        np.abs(here - there).max() / np.abs(there).max() for here, there in (found[:2], found[2:])
    ]
    return float(max(misses))
