"""Contacts and springs at points of an arm: their places and forces at the samples of a run."""

from typing import Any

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.mechanics.attached import Attached
from flexarm.mechanics.contacts import touches
from flexarm.mechanics.kinematics import frames
from flexarm.mechanics.point_forces import lines
from flexarm.model import ArmPoint, Model
from flexarm.runs.data import RunData
from flexarm.spatial import Expr
from flexarm.viewer.pack import Arrays


def point_marks(run: RunData, arrays: Arrays) -> dict[str, list[dict[str, Any]]]:
    """Describe contacts and springs; places are relative to their holder on the arm."""
    model, arm = run.model, run.model.arm
    if not (arm.contacts or arm.springs):
        return {"touches": [], "coils": []}
    values = iter(_evaluated(run))
    touched = [
        {
            "name": name,
            "holder": _holder(model, point),
            "offset": arrays.add(next(values)),
            "force": arrays.add(next(values)),
        }
        for name, point in zip(arm.contact_names, model.points.contacts, strict=True)
    ]
    coils = [
        {
            "name": name,
            "holders": [_holder(model, point) for point in pair],
            "offsets": [arrays.add(next(values)) for _ in pair],
        }
        for name, pair in zip(arm.spring_names, model.points.springs, strict=True)
    ]
    return {"touches": touched, "coils": coils}


def _holder(model: Model, point: ArmPoint) -> dict[str, Any] | None:
    """Return the link of a point and its place along it (0 to 1); None on base or world."""
    if point.link < 0:
        return None
    if point.x == "end":
        return {"link": None, "along": 1.0}
    part = model.links[point.link]
    along = 1.0 if isinstance(point.x, str) else point.x / (part.length or 1.0)
    return {"link": point.link, "along": min(along, 1.0)}


def _evaluated(run: RunData) -> list[Array]:
    """Evaluate offsets and forces at all samples, (3, T) each."""
    q, v = (ca.SX.sym(name, run.model.size) for name in "qv")
    anchors = ca.SX.sym("anchor", *run.anchors.shape[1:])
    model = run.model.anchored(anchors) if run.model.attitudes else run.model
    function = ca.Function("marks", [q, v, anchors], [ca.densify(x) for x in _traced(model, q, v)])
    turned = np.transpose(run.anchors, (1, 0, 2)).reshape(run.anchors.shape[1], -1)
    values = function.map(len(run.t))(run.q.T, run.v.T, turned)
    return [np.array(value) for value in ([values] if isinstance(values, ca.DM) else values)]


def _traced(model: Model, q: Expr, v: Expr) -> list[Expr]:
    """Trace the point and force of each contact, and the end points of each spring."""
    listed: list[Expr] = []
    for touch, point in zip(
        touches(model, q, frames(model, q)), model.points.contacts, strict=True
    ):
        normal, rubbed = touch.forces(v)
        listed += [_offset(touch.attached, point) + touch.lever, normal * touch.normal + rubbed]
    for line, pair in zip(lines(model, q), model.points.springs, strict=True):
        listed += [_offset(end, point) for end, point in zip(line.ends, pair, strict=True)]
    return listed


def _offset(attached: Attached, point: ArmPoint) -> Expr:
    """Return the offset of a point from its link's axis; its position on base or world."""
    if point.link < 0:
        return attached.position
    return type(attached.position)(3, 1) if attached.lever is None else attached.lever
