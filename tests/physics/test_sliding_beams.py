"""Sliding links as exact beams: held, at rest, bent far, and what their equations take."""

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.errors import ModelError
from flexarm.mechanics.deformed import section_forces
from flexarm.model import Model, build
from flexarm.spatial import Array
from flexarm.studies.compare import operation_counts
from tests.physics.exact_checks import arm, link
from tests.physics.exact_convergence import bent_state
from tests.physics.traced import Traced

WHOLE, OUT = 1.3, 0.7
SLIDING = f"sliding, start: {{position: {OUT}}}, limits: {{lower: 0.3}}"
SECTION = "mass_per_length: 1.1, EIz: 14, EIy: 9, GJ: 6, EA: 300, Jx: 0.01, Jy: 0.02, Jz: 0.03"
TIP = "mass_per_length: 0.4, EIz: 3, EIy: 4, GJ: 3, EA: 500, Jx: 0.02, Jy: 0.02, Jz: 0.01"


def tapered(length: float) -> str:
    """Section that changes linearly from SECTION, at the inner end of the whole beam, to TIP."""
    ends = [
        {name: float(value) for name, value in (each.split(": ") for each in text.split(", "))}
        for text in (SECTION, TIP)
    ]
    share = length / WHOLE
    root = ", ".join(f"{name}: {share * ends[0][name] + (1 - share) * ends[1][name]}"
                     for name in ends[0])  # fmt: skip
    return f"stations: [{{at: 0, {root}}}, {{at: {length}, {TIP}}}]"


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


@pytest.mark.few(2)
@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize("tapers", [True, False])
def test_held_at_a_length_it_is_the_link_of_that_length(name: str, tapers: bool) -> None:
    whole, outer = (tapered(each) if tapers else SECTION for each in (WHOLE, OUT))
    slides = build(sliding(FIXED[name], whole), nodes=2)
    held = build(made("fixed", OUT, FIXED[name], outer), nodes=2)
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


def test_a_taper_of_nothing_is_the_uniform_section() -> None:
    same = f"stations: [{{at: 0, {SECTION}}}, {{at: {WHOLE}, {SECTION}}}]"
    models = [build(sliding(FIXED["space"], section)) for section in (SECTION, same)]
    q, v = bent_state(models[0], 0.5, 0)
    found = [Traced("composite", model, {})("parts", q, v) for model in models]
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)


def test_section_forces_of_a_tapered_beam_are_those_of_the_link_of_its_length() -> None:
    slides = build(sliding(FIXED["space"], tapered(WHOLE)), nodes=2)
    held = build(made("fixed", OUT, FIXED["space"], tapered(OUT)), nodes=2)
    q = 0.1 * np.random.default_rng(1).normal(size=(3, held.size))
    stations = np.linspace(0, 1, 4)
    found = section_forces(slides, slides.links[-1], np.insert(q, 2, OUT, axis=1), stations)
    expected = section_forces(held, held.links[-1], q, stations)
    for name in ("force", "moment", "strain"):
        one, other = getattr(found, name), getattr(expected, name)
        assert np.abs(one - other).max() < 1e-8 * np.abs(other).max()  # third derivatives of fits


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "motion",
    [
        "start: {position: 0.7, speed: 0.5}",
        "actuation: prescribed, motion: {kind: cycloid, start: 0.7, end: 0.9, duration: 0.3}",
    ],
    ids=["free", "prescribed"],
)
def test_a_tapered_beam_that_slides_keeps_its_energy(motion: str) -> None:
    joint = f"sliding, {motion}, limits: {{lower: 0.3}}"
    run = flexarm.simulate(
        made(joint, WHOLE, FIXED["space"], tapered(WHOLE)), t_end=0.3, dt=0.03, rtol=1e-9
    )
    assert np.ptp(run.q[:, 2]) > 0.05
    assert np.abs(run.balance).max() < 1e-6 * np.ptp(run.energy, axis=0).max()


def test_a_station_that_would_pass_the_mouth_is_refused() -> None:
    inner = f"stations: [{{at: 0, {SECTION}}}, {{at: 0.5, {TIP}}}, {{at: {WHOLE}, {TIP}}}]"
    with pytest.raises(ModelError, match="would pass the mouth of the hub"):
        sliding(FIXED["plane"], inner)
