"""Surroundings of an arm: obstacles of its contacts, and bodies that it captures and releases."""

from dataclasses import replace
from typing import Any

import numpy as np

from flexarm.arm.forces import Plane, Sphere
from flexarm.arm.mission import PAYLOAD
from flexarm.integrate.mission.bodies import FreeBodyState, released_body
from flexarm.links.base import Array
from flexarm.model import Model
from flexarm.runs.contents import equation_of
from flexarm.runs.data import RunData
from flexarm.spatial import Pose, rotation_from_angles
from flexarm.viewer.pack import Arrays

KNOTS = 400  # times at which the motion of a free body is computed; linear in between


def obstacles(model: Model) -> list[dict[str, Any]]:
    """Describe the obstacles of an arm's contacts, each once."""
    arm, described = model.arm, {}
    for name, contact in zip(arm.contact_names, arm.contacts, strict=True):
        shape = contact.obstacle
        if shape in described:
            continue
        if isinstance(shape, Plane):
            own: dict[str, Any] = {"point": list(shape.point), "normal": list(shape.normal)}
        elif isinstance(shape, Sphere):
            own = {"point": list(shape.centre), "radius": shape.radius, "inside": shape.inside}
        else:
            turned = rotation_from_angles(shape.rotation)
            own = {
                "point": list(shape.centre),
                "size": list(shape.size),
                "R": turned.ravel().tolist(),
            }
        described[shape] = {"kind": shape.kind, "name": name, **own}
    return list(described.values())


def free_bodies(run: RunData, arrays: Arrays) -> list[dict[str, Any]]:
    """Describe the free bodies, with their places at the samples."""
    return [
        {"name": name, "mass": mass, "places": arrays.add(places.T)}
        for name, mass, places in body_places(run)
    ]


def body_places(run: RunData) -> list[tuple[str, float, Array]]:
    """Return name, mass [kg] and places (T, 7) of all free bodies.

    The columns of places are fixture and centre of mass [m], and 1 while the tip holds the body.
    They are in the world; while the tip holds the body, in the tip's frame.
    """
    arm = run.model.arm
    names = [body.name for body in arm.bodies]
    if arm.payload is not None and any(event.let_go == PAYLOAD for event in arm.events):
        names.append(PAYLOAD)
    bodies = []
    for name in names:
        body = FreeBodyState.named(name, run.model)
        bodies.append((name, body.inertia.mass, _follow(run, name, body, held=name == PAYLOAD)))
    return bodies


def _follow(run: RunData, name: str, body: FreeBodyState, *, held: bool) -> Array:
    """Return the places of one body, (T, 7), through the events that capture and release it."""
    rows = np.zeros((len(run.t), 7))
    changes = _changes(run, name)
    ends = zip([0, *changes], [*changes, len(run.t)], strict=True)
    for part, (first, last) in enumerate(ends):
        if part:
            body = _let_go(run, body, first) if held else _held(run, body, first)
            held = not held
        if first == last:
            continue
        knots = np.unique(np.linspace(first, last - 1, KNOTS).astype(int))
        places = []
        for t in run.t[knots].tolist():
            body = body if held else body.at(t)
            places.append([*body.pose.position, *body.centre, float(held)])
        for column, values in enumerate(np.transpose(places)):
            rows[first:last, column] = np.interp(run.t[first:last], run.t[knots], values)
    return rows


def _changes(run: RunData, name: str) -> list[int]:
    """List the samples at which a body is captured or released."""
    titles = {e.title for e in run.model.arm.events if name in (e.capture, e.let_go)}
    last = len(run.t) - 1
    return [
        min(int(np.searchsorted(run.t, each.t)), last)
        for each in run.happenings
        if each.what in titles
    ]


def _held(run: RunData, body: FreeBodyState, k: int) -> FreeBodyState:
    """Return a body that the tip captures at a sample, placed in the tip's frame."""
    tip = Pose(run.tip_rotation[k], run.tip[k])
    return replace(body, pose=tip.inverse() @ body.at(float(run.t[k])).pose)


def _let_go(run: RunData, body: FreeBodyState, k: int) -> FreeBodyState:
    """Return the free motion of a body that the tip releases at a sample."""
    tip = Pose(run.tip_rotation[k], run.tip[k])
    twist = equation_of(run).tip_velocity(run.q, run.v)[k]
    return released_body(body, tip, twist, body.pose, float(run.t[k]))
