"""What motions leave unbalanced: long motions take little memory."""

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


def bent(model: Model, samples: int) -> Motion:
    """Hold a link where it is bent both ways."""
    q = np.full((samples, model.size), 0.02)
    return Motion(
        np.linspace(0, 0.1, samples), q, 0 * q, np.zeros((samples, 0)), np.zeros((samples, 0, 3))
    )


@pytest.mark.campaign
def test_long_motions_take_memory_by_their_samples_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What couples their shapes is made for blocks of samples."""
    model = oblique(0.03, bending=6)
    made, motion = RicherArm(model), bent(model, 1000)
    made.deviations(bent(model, 3))  # its equations are traced
    monkeypatch.setattr(defect, "BLOCK_VALUES", 25_000)
    tracemalloc.start()
    made.deviations(motion)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 * (1000 * made.model.size * 3 * 8)


@pytest.mark.campaign
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


def test_directions_in_which_nothing_is_pushed_are_still() -> None:
    text = (
        "flexarm: 1\nname: NAME\ngravity: [0, -9.81, SIDE]\nlinks:\n"
        "  - {name: beam, joint: {kind: revolute, actuation: free}, length: 1,"
        " section: {mass_per_length: 1, EIy: 40, EIz: 20, GJ: 8, EA: 1e5, Jx: 1e-4},"
        " shapes: {kind: loaded, bending_y: 2, bending_z: 0, torsion: 0, stretch: 0}}\n"
    )
    flat, space = (
        flexarm.simulate(loads(text.replace("SIDE", side)), t_end=0.2, dt=2e-3)
        for side in ("0", "-1")
    )
    assert RicherArm(flat.model).unloaded_directions(flat.motion, 1e-5) == {
        ("beam", "z"),
        ("beam", "twist"),
    }
    assert RicherArm(space.model).unloaded_directions(space.motion, 1e-5) == set()
