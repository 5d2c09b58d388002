"""From where a run is looked at, how large it is drawn, and what is around its arm."""

from dataclasses import replace

import numpy as np
import pytest

import flexarm
from flexarm.io.model_file import loads
from flexarm.model import build
from flexarm.runs.data import EventRecord
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm.viewer.constants import VISIBLE_DEFLECTION
from flexarm.viewer.outlook import drawn_scale, mode_outlook, outlook, view_direction
from flexarm.viewer.scene import body_places, obstacles
from tests.viewer.poses import run_of

UP = np.array([0.0, 0.0, 1.0])
STRIP = """\
flexarm: 1
name: strip
gravity: [0, 0, -9.81]
links:
  - joint: {{kind: revolute, axis: {axis}}}
    length: 0.6
    section: {{mass_per_length: 1, EI{about}: 10}}
    shapes: {{kind: loaded, bending_{way}: 1}}
"""
CATCHER = """\
flexarm: 1
name: catcher
gravity: [0, 0, 0]
links:
  - joint: {kind: revolute}
    length: 2
    body: {mass: 1, com: [1, 0, 0], inertia: [0.1, 0.1, 0.1]}
bodies:
  - {name: ball, body: {mass: 3, com: [0.5, 0, 0]}, position: [2, -1, 0], velocity: [0, 2, 0]}
events:
  - {at: 0.5 s, capture: ball}
  - {name: throw, at: 0.8 s, let_go: ball}
contacts:
  - {name: floor, obstacle: {kind: plane, point: [0, 0, -1]}, stiffness: 1.0e5}
  - {name: again, obstacle: {kind: plane, point: [0, 0, -1]}, stiffness: 1.0e4, radius: 0.1}
  - {name: ball, obstacle: {kind: sphere, centre: [3, 0, 0], radius: 0.4}, stiffness: 1.0e5}
  - {name: box, obstacle: {kind: box, size: [1, 2, 3], rotation: [0, 0, 90 deg]}, stiffness: 1.0e5}
"""


def swing(bow: float, *, upright: bool = False) -> Run:
    """Turn a strip back and forth in a level or an upright plane, bent by a part of its length."""
    axis, about, way = ("[0, 1, 0]", "y", "z") if upright else ("[0, 0, 1]", "z", "y")
    model = build(loads(STRIP.format(axis=axis, about=about, way=way), "strip"))
    t = np.linspace(0, 1, 21)
    q = np.outer(np.sin(2 * np.pi * t), [1.0, bow * 0.6])
    return run_of(model, q, np.broadcast_to(np.eye(3), (21, 3, 3)), t)


def test_the_camera_looks_square_at_a_plane_and_from_a_corner_at_more() -> None:
    level, upright = (outlook([swing(0.1, upright=up)]) for up in (False, True))
    assert level.towards @ UP > np.cos(np.radians(10))
    assert upright.towards @ [0, -1, 0] > np.cos(np.radians(10))  # x goes to the right
    for seen in (level, upright):
        assert seen.axes @ seen.towards == pytest.approx(np.zeros(2), abs=1e-12)
        assert seen.axes[0] @ [1, 0, 0] > 0.9
    points = np.random.default_rng(0).normal(size=(200, 3))
    corner = view_direction(points, 0 * points, UP)
    assert 0.2 < corner @ UP < 0.95


@pytest.mark.parametrize(("upright", "towards"), [(False, [0, 0, 1]), (True, [0, -1, 0])])
def test_modes_are_looked_at_square_to_their_plane(upright: bool, towards: list[float]) -> None:
    run = swing(0.0, upright=upright)
    seen = mode_outlook(run.model, run.q[0], run.reference_attitudes[0], np.eye(2))
    assert seen.towards @ towards > np.cos(np.radians(10))


def test_bending_across_the_plane_of_the_motion_is_seen_too() -> None:
    points = np.random.default_rng(0).normal(size=(200, 3)) * [1, 1, 0.05]
    shifts = points * [0, 0, 1]
    assert view_direction(points, points * [1, 0, 0], UP) @ UP > 0.98
    assert view_direction(points, shifts, UP) @ UP < 0.95
    line = points * [1, 0, 0]
    assert np.isfinite(view_direction(line, 0 * line, UP)).all()


@pytest.mark.parametrize("bow", [0.2, 0.03, 0.004, 1.1e-3, 0.0])
def test_deformation_is_drawn_as_it_is_or_by_a_round_factor_that_shows_it(bow: float) -> None:
    scale = drawn_scale([swing(bow)])
    wanted = {0.2: 1, 0.03: 2, 0.004: 20, 1.1e-3: 50, 0.0: 1}
    assert scale == wanted[bow]
    assert scale == 1 or scale * bow >= VISIBLE_DEFLECTION


def catcher() -> Run:
    """Turn at 1 rad/s; catch a ball at 0.5 s, throw it at 0.8 s."""
    model = build(loads(CATCHER, "catcher"))
    t = np.linspace(0, 1, 11)
    run = run_of(model, t[:, None], np.broadcast_to(np.eye(3), (11, 3, 3)), t)
    happened = (EventRecord(0.5, "capture ball", 0.25), EventRecord(0.8, "throw"))
    return replace(run, v=np.ones((11, 1)), event_records=happened)


def in_world(run: Run, places: Array) -> Array:
    """Give fixture and centre of a body in the world, (T, 2, 3)."""
    both = places[:, :6].reshape(-1, 2, 3)
    held = run.tip[:, None] + np.einsum("tij,tkj->tki", run.tip_rotation, both)
    return np.where(places[:, 6, None, None] == 1, held, both)


def test_a_body_drifts_is_carried_and_flies_on() -> None:
    run = catcher()
    ((name, mass, places),) = body_places(run)
    assert (name, mass) == ("ball", 3.0)
    assert places[:, 6].tolist() == [0.0] * 5 + [1.0] * 3 + [0.0] * 3
    seen = in_world(run, places)
    assert seen[:6, 0] == pytest.approx(np.stack([0 * run.t + 2, 2 * run.t - 1, 0 * run.t], 1)[:6])
    radii = np.linalg.norm(seen[5:9, 1], axis=1)
    assert radii == pytest.approx(np.full(4, radii[0]))  # the tip carries it about the joint
    flown = np.diff(seen[8:, 1], axis=0) / 0.1
    thrown = np.cross(UP, seen[8, 1])
    assert flown == pytest.approx(np.stack([thrown, thrown]))
    assert np.linalg.norm(seen[8:, 1] - seen[8:, 0], axis=1) == pytest.approx([0.5] * 3)


def test_obstacles_are_listed_once() -> None:
    found = obstacles(flexarm.build(loads(CATCHER, "catcher")))
    assert [(each["kind"], each["name"]) for each in found] == [
        ("plane", "floor"), ("sphere", "ball"), ("box", "box"),
    ]  # fmt: skip
    assert np.reshape(found[2]["R"], (3, 3)) @ [1, 0, 0] == pytest.approx([0, 1, 0])
