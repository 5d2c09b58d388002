"""Surroundings of an arm in a page: obstacles, contacts, springs, captured and released bodies."""

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from flexarm.arm.forces import Plane, Sphere
from flexarm.arm.mission import PAYLOAD
from flexarm.integrate.mission.bodies import FreeBodyState, released_body
from flexarm.mechanics.kinematics import frames
from flexarm.mechanics.point_forces import Attached, lines, touches
from flexarm.model import ArmPoint, Model
from flexarm.runs.contents import equation_of
from flexarm.runs.data import RunData
from flexarm.spatial import Array, Expr, Pose, rotation_from_angles
from flexarm.viewer.bundle import Arrays
from flexarm.viewer.constants import BODY_TIMES


def obstacles(model: Model) -> list[dict[str, Any]]:
    """Return JSON data for the page on the obstacles of an arm's contacts, without duplicates."""
    arm, data_of_obstacle = model.arm, {}
    for name, contact in zip(arm.contact_names, arm.contacts, strict=True):
        shape = contact.obstacle
        if shape in data_of_obstacle:
            continue
        if isinstance(shape, Plane):
            geometry: dict[str, Any] = {"point": list(shape.point), "normal": list(shape.normal)}
        elif isinstance(shape, Sphere):
            geometry = {"point": list(shape.centre), "radius": shape.radius, "inside": shape.inside}
        else:
            rotation = rotation_from_angles(shape.rotation)
            geometry = {
                "point": list(shape.centre),
                "size": list(shape.size),
                "R": rotation.ravel().tolist(),
            }
        data_of_obstacle[shape] = {"kind": shape.kind, "name": name, **geometry}
    return list(data_of_obstacle.values())


def free_bodies(run: RunData, arrays: Arrays) -> list[dict[str, Any]]:
    """Return JSON data for the page on the free bodies: name, mass and positions at the samples."""
    return [
        {"name": name, "mass": mass, "places": arrays.add(positions.T)}
        for name, mass, positions in body_places(run)
    ]


def body_places(run: RunData) -> list[tuple[str, float, Array]]:
    """Return name, mass [kg] and positions (T, 7) of all free bodies.

    The columns are the positions of the fixture and of the centre of mass [m], then 1 while the tip
    holds the body, else 0. They are in the world, or in the tip's frame while the tip holds the
    body.
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
    """Return the positions of a free body, (T, 7), before and after its capture and release."""
    rows = np.zeros((len(run.t), 7))
    titles = {e.title for e in run.model.arm.events if name in (e.capture, e.let_go)}
    times = [event.t for event in run.event_records if event.what in titles]
    changed_rows = np.minimum(np.searchsorted(run.t, times), len(run.t) - 1).tolist()
    ends = zip([0, *changed_rows], [*changed_rows, len(run.t)], strict=True)
    for part, (first, last) in enumerate(ends):
        if part:
            tip, t = Pose(run.tip_rotation[first], run.tip[first]), float(run.t[first])
            if held:
                twist = equation_of(run).tip_velocity(run.q, run.v)[first]
                body = released_body(body, tip, twist, body.pose, t)
            else:
                body = replace(body, pose=tip.inverse() @ body.at(t).pose)
            held = not held
        if first == last:
            continue
        rows_ = np.unique(np.linspace(first, last - 1, BODY_TIMES).astype(int))
        positions = []
        for t in run.t[rows_].tolist():
            body = body if held else body.at(t)
            positions.append([*body.pose.position, *body.centre, float(held)])
        for column, values in enumerate(np.transpose(positions)):
            rows[first:last, column] = np.interp(run.t[first:last], run.t[rows_], values)
    return rows


def point_marks(run: RunData, arrays: Arrays) -> dict[str, list[dict[str, Any]]]:
    """Return JSON data for the page on contacts and springs, with offsets from their links."""
    model, arm = run.model, run.model.arm
    if not (arm.contacts or arm.springs):
        return {"touches": [], "coils": []}
    values = iter(_evaluated(run))
    contacts = [
        {
            "name": name,
            "holder": _holder(model, point),
            "offset": arrays.add(next(values)),
            "force": arrays.add(next(values)),
        }
        for name, point in zip(arm.contact_names, model.points.contacts, strict=True)
    ]
    springs = [
        {
            "name": name,
            "holders": [_holder(model, point) for point in pair],
            "offsets": [arrays.add(next(values)) for _ in pair],
        }
        for name, pair in zip(arm.spring_names, model.points.springs, strict=True)
    ]
    return {"touches": contacts, "coils": springs}


def _holder(model: Model, point: ArmPoint) -> dict[str, Any] | None:
    """Return the link of a point on the arm, and its position as a fraction of the link.

    The result is None for a point of the base or the world.
    """
    if point.link < 0:
        return None
    if point.x == "end":
        return {"link": None, "along": 1.0}
    part = model.links[point.link]
    along = 1.0 if isinstance(point.x, str) else point.x / (part.length or 1.0)
    return {"link": point.link, "along": min(along, 1.0)}


def _evaluated(run: RunData) -> list[Array]:
    """Return offsets and forces of contacts and springs at all samples, (3, T) each."""
    q, v = (ca.SX.sym(name, run.model.size) for name in "qv")
    reference_attitudes = ca.SX.sym("reference_attitude", *run.reference_attitudes.shape[1:])
    model = run.model.with_reference(reference_attitudes) if run.model.attitudes else run.model
    function = ca.Function(
        "marks", [q, v, reference_attitudes], [ca.densify(x) for x in _traced(model, q, v)]
    )
    stacked_anchors = np.transpose(run.reference_attitudes, (1, 0, 2)).reshape(
        run.reference_attitudes.shape[1], -1
    )
    values = function.map(len(run.t))(run.q.T, run.v.T, stacked_anchors)
    return [np.array(value) for value in ([values] if isinstance(values, ca.DM) else values)]


def _traced(model: Model, q: Expr, v: Expr) -> list[Expr]:
    """Return expressions of point and force of each contact, and of end points of each spring."""
    expressions: list[Expr] = []
    for touch, point in zip(
        touches(model, q, frames(model, q)), model.points.contacts, strict=True
    ):
        normal, friction = touch.forces(v)
        expressions += [
            _offset(touch.attached, point) + touch.lever,
            normal * touch.normal + friction,
        ]
    for line, pair in zip(lines(model, q), model.points.springs, strict=True):
        expressions += [_offset(end, point) for end, point in zip(line.ends, pair, strict=True)]
    return expressions


def _offset(attached: Attached, point: ArmPoint) -> Expr:
    """Return a point's offset from its link's axis [m]; its position if on base or world."""
    if point.link < 0:
        return attached.position
    return type(attached.position)(3, 1) if attached.lever is None else attached.lever
