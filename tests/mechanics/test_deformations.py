"""Random deformations move a link's tip by the part of its length that they say, in any shapes."""

from pathlib import Path

import numpy as np
import pytest

from flexarm.io.model_file import load, loads
from flexarm.links.base import Shapes
from flexarm.mechanics.deformations import random_deformation
from flexarm.model import build, start_state
from flexarm.model.parts import LinkModel
from flexarm.spatial import Array
from tests.links.strips import strip, write

SECTION = "{mass_per_length: 1, EIy: 900, EIz: 800, GJ: 300, EA: 1e6, Jx: 0.01}"
COUNTS = "bending_y: 3, bending_z: 2, torsion: 2, stretch: 2"
PLANE = "bending_z: 0, torsion: 0, stretch: 0"
KINDS = ("loaded", "clamped-free", "clamped-mass", "free-free", "elements",
         "craig-bampton", "polynomials", "lumped")  # fmt: skip


def bent(joint: str, shapes: str, seed: int = 0) -> tuple[LinkModel, Array, Array]:
    """One link of 2 m and its payload, with a random deformation: the link, q, amplitudes."""
    text = f"""
flexarm: 1
name: link
payload: {{mass: 0.3, inertia: [0.1, 0.1, 0.1]}}
links:
  - {{joint: {joint}, length: 2, section: {SECTION}, shapes: {{{shapes}}}}}
"""
    model = build(loads(text))
    q, _ = start_state(model)
    part = model.links[0]
    return part, q, random_deformation(model, part, q, np.random.default_rng(seed))


def checked(shapes: Shapes, length: float, amplitudes: Array) -> None:
    """Tip across, along and twisted by the length each, and no section turned much further."""
    x = np.linspace(0.0, length, 201)
    moved, turned = shapes.displacement(x) @ amplitudes, shapes.rotation(x) @ amplitudes
    assert np.hypot(*moved[-1, 1:]) == pytest.approx(length, rel=1e-9)
    assert abs(moved[-1, 0]) == pytest.approx(length, rel=1e-9)
    assert abs(turned[-1, 0]) == pytest.approx(1.0, rel=1e-9)
    assert np.abs(turned[:, 1:]).max() < 2.5


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_tip_moves_by_the_length_in_every_family(kind: str, seed: int) -> None:
    part, _, amplitudes = bent("{kind: revolute}", f"kind: {kind}, {COUNTS}", seed)
    checked(part.beam.shapes, 2.0, amplitudes)


def test_many_elements_bend_as_smoothly_as_few() -> None:
    part, _, amplitudes = bent("{kind: revolute}", f"kind: elements, bending_y: 40, {PLANE}")
    x = np.linspace(0.0, 2.0, 401)
    y = part.beam.shapes.values("y", x) @ amplitudes
    curvature = part.beam.shapes.values("y", x[1:-1], 2) @ amplitudes
    assert abs(y[-1]) == pytest.approx(2.0, rel=1e-9)
    assert np.abs(np.sign(curvature).sum()) > 390  # bent one way, no zigzag of nodes
    assert np.abs(curvature).max() < 4 * 2.0 / 2.0**2


def test_measured_shapes_bend_across_both_planes(tmp_path: Path) -> None:
    write(tmp_path, strip())
    path = tmp_path / "arm.yaml"
    path.write_text(
        "flexarm: 1\nname: measured\nlinks:\n  - joint: {kind: revolute}\n    length: 1.2\n"
        "    section: {mass_per_length: 5, EIz: 1000, EIy: 1000}\n"
        "    shapes: {kind: table, file: strip.yaml}\n",
        encoding="utf-8",
    )
    model = build(load(path))
    part = model.links[0]
    amplitudes = random_deformation(model, part, np.zeros(model.size), np.random.default_rng(0))
    (tip,) = part.beam.shapes.displacement(np.array([1.2])) @ amplitudes
    assert np.hypot(*tip[1:]) == pytest.approx(1.2, rel=1e-9)
    assert np.all(np.abs(tip[1:]) > 0.1)


def test_exposed_part_of_a_sliding_link_is_bent() -> None:
    joint = "{kind: sliding, start: {position: 1.2}, limits: {lower: 0.5}}"
    part, q, amplitudes = bent(joint, f"kind: elements, {COUNTS}")
    checked(part.sliding_beam.shapes.at(q[part.exposed]), 1.2, amplitudes)


def test_tip_moves_by_the_length_with_a_root_that_turns() -> None:
    part, _, amplitudes = bent("{kind: revolute}", f"kind: pinned-free, bending_y: 3, {PLANE}")
    (y,) = part.beam.shapes.values("y", np.array([2.0])) @ amplitudes
    assert abs(y) == pytest.approx(2.0, rel=1e-9)


def test_tip_that_stays_on_its_chord_leaves_the_largest_deflection() -> None:
    part, _, amplitudes = bent("{kind: revolute}", f"kind: pinned-pinned, bending_y: 3, {PLANE}")
    y = part.beam.shapes.values("y", np.linspace(0.0, 2.0, 41)) @ amplitudes
    assert abs(y[-1]) < 1e-9
    assert np.abs(y).max() == pytest.approx(2.0, rel=1e-9)
