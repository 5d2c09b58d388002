"""Sliding links as exact beams: held, at rest, bent far, and what their equations take."""

import numpy as np
import pytest

from flexarm.arm import Arm
from flexarm.model import Model, build
from flexarm.spatial import Array
from flexarm.studies.compare import operation_counts
from tests.physics.exact_checks import arm, link
from tests.physics.exact_convergence import bent_state
from tests.physics.traced import Traced

WHOLE, OUT = 1.3, 0.7
SLIDING = f"sliding, start: {{position: {OUT}}}, limits: {{lower: 0.3}}"
SECTION = "mass_per_length: 1.1, EIz: 14, EIy: 9, GJ: 6, EA: 300, Jx: 0.01, Jy: 0.02, Jz: 0.03"
FIXED = {
    "plane": "kind: clamped-free, bending_y: 2, bending_z: 0, torsion: 0, stretch: 0",
    "space": "kind: clamped-free, bending_y: 2, bending_z: 1, torsion: 1, stretch: 1",
    "elements": "kind: elements, bending_y: 2, bending_z: 0, torsion: 0, stretch: 2",
}
FOLLOWING = (
    "kind: clamped-mass, follow: true, normalise: mass, bending_y: 2, bending_z: {z}, torsion: 0,"
    " stretch: 0"
)
KINDS = {**FIXED, "following": FOLLOWING.format(z=0)}


def made(joint: str, length: float, shapes: str, section: str = SECTION) -> Arm:
    """A beam on a shoulder that turns about two axes."""
    return arm(
        "{joint: {kind: revolute}, length: 0.4, rigid: true}",
        "{joint: {kind: revolute, axis: [0, 1, 0]}, length: 0.1, rigid: true}",
        link(joint, length, section, shapes),
        gravity="[1, -3, -9]", more="payload: {mass: 0.5, com: [0.03, 0.02, 0.05]}",
    ).arm  # fmt: skip


def sliding(shapes: str, section: str = SECTION) -> Arm:
    """The beam that slides out of its hub."""
    return made(SLIDING, WHOLE, shapes, section)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", FIXED)
def test_held_at_a_length_it_is_the_link_of_that_length(name: str) -> None:
    slides = build(sliding(FIXED[name]), nodes=2)
    held = build(made("fixed", OUT, FIXED[name]), nodes=2)
    random = np.random.default_rng(0)
    q, v = 0.1 * random.normal(size=(2, held.size))
    q[:2], v[:2] = random.normal(size=(2, 2))

    def amplitudes(model: Model, q: Array, v: Array) -> list[Array]:
        traced = Traced("composite", model, {})
        parts = [part.ravel()[model.links[-1].modes] for part in traced("parts", q, v)[:3]]
        return [traced("mass_matrix", q)[0][:, model.links[-1].modes], *parts]

    found = amplitudes(slides, np.insert(q, 2, OUT), np.insert(v, 2, 0.0))
    found[0] = np.delete(found[0], 2, axis=0)
    for got, expected in zip(found, amplitudes(held, q, v), strict=True):
        # The same sums in another order: processors that fuse products have 1.1e-12.
        assert np.abs(got - expected).max() <= 4e-12 * np.abs(expected).max()


@pytest.mark.few(1)
@pytest.mark.parametrize("name", KINDS)
def test_at_rest_it_is_the_linear_theory(name: str) -> None:
    slides = sliding(KINDS[name])
    exact, linear = (Traced("composite", build(slides, stiffening=s), {}) for s in (True, False))
    assert exact.model.names == linear.model.names
    assert exact.model.link_theory == "exact"
    q = np.zeros(exact.model.size)
    q[2] = 0.83
    masses = [each("mass_matrix", q)[0] for each in (exact, linear)]
    size = np.sqrt(np.diag(masses[1]))
    assert np.abs((masses[0] - masses[1]) / np.outer(size, size)).max() < 1e-13


@pytest.mark.few(1)
@pytest.mark.parametrize("name", KINDS)
def test_mass_matrix_is_positive_definite_at_slopes_to_two(name: str) -> None:
    model = build(sliding(KINDS[name]))
    traced = Traced("composite", model, {})
    for seed in range(8):
        mass = traced("mass_matrix", bent_state(model, 0.25 * (seed + 1), seed)[0])[0]
        size = np.sqrt(np.diag(mass))
        assert np.linalg.eigvalsh(mass / np.outer(size, size))[0] > 0


@pytest.mark.parametrize("z", [0, pytest.param(2, marks=pytest.mark.campaign)])
def test_modes_that_follow_the_length_take_at_most_four_times_the_operations(z: int) -> None:
    shapes = FOLLOWING.format(z=z)
    totals = []
    for each in (shapes, shapes.replace("follow: true", "follow: false")):
        equation = Traced("articulated", build(sliding(each)), {}).equation
        found = operation_counts(equation, "forward_dynamics")
        totals.append(found.multiplications + found.additions + found.divisions)
    assert totals[0] <= 4 * totals[1]
