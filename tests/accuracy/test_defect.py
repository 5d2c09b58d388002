"""What motions leave unbalanced: kicks count once, and long motions take little memory."""

import tracemalloc

import numpy as np
import pytest

import flexarm
from flexarm.accuracy import defect
from flexarm.accuracy.defect import Motion, RicherArm
from flexarm.io.model_file import loads
from flexarm.model import Model


def oblique(height: float, bending: int = 2) -> Model:
    """Make a fixed link that bends both ways and twists, 6 cm wide."""
    text = (
        "flexarm: 1\nname: oblique\ngravity: [0, -7, -7]\nlinks:\n"
        "  - {name: beam, joint: {kind: fixed}, length: 1, section: {material: {E: 2e8,"
        f" density: 800, nu: 0.3}}, shape: {{kind: rectangle, width: 0.06, height: {height}}}}},"
        f" shapes: {{kind: polynomials, bending_y: {bending}, bending_z: {bending},"
        " torsion: 1}}\n"
    )
    return flexarm.build(loads(text))


def bent(model: Model, samples: int, jump: float = 0.0) -> Motion:
    """Hold a link where it is bent both ways; its speeds jump at the start."""
    q = np.full((samples, model.size), 0.02)
    held = ((0, (), (jump,) * model.size),) if jump else ()
    return Motion(
        np.linspace(0, 0.1, samples), q, 0 * q, np.zeros((samples, 0)), np.zeros((samples, 0, 3)),
        held=held,
    )  # fmt: skip


def test_what_a_kick_does_is_counted_once_where_bending_twists() -> None:
    """Stiffnesses that differ by a millionth change next to nothing."""
    same, other = (
        RicherArm(model).deviations(bent(model, 50, jump=0.3))["beam"].shapes
        for model in (oblique(0.06), oblique(0.06 * (1 + 1e-6)))
    )
    np.testing.assert_allclose(other, same, rtol=0, atol=1e-4 * np.abs(same).max())


def test_bending_both_ways_twists_by_the_difference_of_the_stiffnesses() -> None:
    """By the energy of a twisted beam, whose axes of bending turn with it."""
    model = oblique(0.03)
    (part,), random = model.links, np.random.default_rng(2)
    span, shapes = part.beam.span, part.beam.shapes
    x, weight = span.quadrature(20, shapes.edges)
    q, push = 0.01 * random.normal(size=model.size), 1e-4

    def energy(twist: float) -> float:
        angle = twist * shapes.values("twist", x)[:, -1]
        y, z = shapes.values("y", x, 2) @ q, shapes.values("z", x, 2) @ q
        along_y = y * np.cos(angle) + z * np.sin(angle)
        along_z = z * np.cos(angle) - y * np.sin(angle)
        two = span.at("EIz", x) * along_y**2 + span.at("EIy", x) * along_z**2
        return float(weight @ two) / 2

    found = defect.twisting(part) @ q @ q / 2
    assert found[-1] == pytest.approx((energy(-push) - energy(push)) / (2 * push), rel=1e-6)
    assert not np.any(found[:-1])


def test_long_motions_take_memory_by_their_samples_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What couples their shapes is made for blocks of samples."""
    model = oblique(0.03, bending=6)
    made, motion = RicherArm(model), bent(model, 1000)
    made.deviations(bent(model, 3))  # its equations are traced
    monkeypatch.setattr(defect, "AT_ONCE", 25_000)
    tracemalloc.start()
    made.deviations(motion)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * (1000 * made.model.size * 4 * 8)


def test_twist_that_moves_nothing_is_judged() -> None:
    """As one that moves next to nothing, of a section without ``Jx``: not refused."""
    text = (
        "flexarm: 1\nname: thin\ngravity: [0, -7, -7]\nlinks:\n"
        "  - {name: beam, joint: {kind: fixed}, length: 1, damping: 0.02,"
        " section: {mass_per_length: 1, EIy: 40, EIz: 20, GJ: 8, Jx: INERTIA},"
        " shapes: {kind: polynomials, bending_y: 2, bending_z: 2, torsion: 0}}\n"
    )
    none, some = (
        flexarm.simulate(loads(text.replace("INERTIA", inertia)), t_end=0.2, dt=2e-3).errors
        for inertia in ("0", "1e-6")
    )
    assert none.parts["stiffness"] is not None
    assert none.parts["stiffness"] > 1e-3
    assert none.parts["stiffness"] == pytest.approx(some.parts["stiffness"], rel=0.05)
