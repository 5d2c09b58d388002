"""Start of an arm, its prescribed motion, and the digest of what its equations depend on."""

import hashlib
from dataclasses import fields

import casadi as ca
import numpy as np

from flexarm.arm import FreeBase, MovedBase
from flexarm.links.base import Array
from flexarm.model.contents import is_frozen, write
from flexarm.model.curve import start_curve
from flexarm.model.parts import BASE_COORDINATES, Model
from flexarm.model.profiles import AnyProfile, evaluate, trace
from flexarm.spatial import NO_INERTIA, Expr


def start_state(model: Model) -> tuple[Array, Array]:
    """Read the initial coordinates and speeds off the model file, (n,) each.

    Prescribed coordinates are where their motion has them at time 0.
    """
    q, v = np.zeros(model.size), np.zeros(model.size)
    base = model.arm.base
    if isinstance(base, FreeBase):
        rotation = model.base_pose.rotation
        v[:3], v[3:6] = rotation @ np.array(base.velocity), base.spin
    known = list(model.prescribed)
    moved, moving, _ = prescribed_motion(model, 0.0)
    q[known], v[known] = moved, moving
    for part in model.links:
        for axis in part.axes:
            start = axis.acts.start
            if not axis.prescribed:
                q[axis.index], v[axis.index] = start.position or 0.0, start.speed or 0.0
            if axis.motor is not None:
                first, second = start.motor_position, start.motor_speed
                q[axis.motor] = q[axis.index] if first is None else first
                v[axis.motor] = v[axis.index] if second is None else second
        if part.motion.spin:
            v[list(part.coordinates)] = part.motion.spin
        for values, target in ((part.link.start, q), (part.link.start_speed, v)):
            for name, value in values.items():
                target[model.names.index(f"{part.name}.{name}")] = value
        if part.link.start_curve is not None:
            q[part.modes] = start_curve(part)[0]
    return q, v


def undeformed(model: Model, q: Array) -> Array:
    """Straighten the links of coordinates, (n,)."""
    straight = q.copy()
    for part in model.links:
        straight[part.modes] = 0.0
    return straight


def prescribed_profiles(model: Model) -> list[AnyProfile | None]:
    """List the motions of the prescribed coordinates in their order; None is standing still."""
    found = {axis.index: axis.acts.motion for axis in model.axes if axis.prescribed}
    if isinstance(model.arm.base, MovedBase):
        base = model.arm.base.motion
        found |= {i: getattr(base, name) for i, name in enumerate(BASE_COORDINATES)}
    return [found.get(i) for i in model.prescribed]


def prescribed_motion(model: Model, t: float) -> Array:
    """Evaluate position, rate and acceleration of the prescribed coordinates, (3, prescribed)."""
    rows = [
        (0.0, 0.0, 0.0) if profile is None else evaluate(profile, t)
        for profile in prescribed_profiles(model)
    ]
    return np.array(rows).reshape(-1, 3).T


def trace_prescribed(model: Model, t: Expr) -> tuple[Expr, Expr, Expr]:
    """Trace position, rate and acceleration of the prescribed coordinates at a time [s]."""
    columns = [
        ca.SX(3, 1) if profile is None else trace(profile, t)
        for profile in prescribed_profiles(model)
    ]
    rows = ca.horzcat(ca.SX(3, 0), *columns)
    return rows[0, :].T, rows[1, :].T, rows[2, :].T


def fingerprint(model: Model) -> str:
    """Digest everything that a model's equations depend on: all the numbers that it holds.

    It is kept with a model whose arrays are all read-only, as `build` makes them.
    Of the arm its name, notes, where it starts, what drives it and what happens to it do not
    count.  No file is read: what `build` took from one is in the model.
    """
    known = vars(model).get("fingerprint")
    if known is not None:
        return str(known)
    digest, given = hashlib.sha256(), model
    model = model.loaded(NO_INERTIA) if model.load_given else model
    for field in fields(model):
        digest.update(f"{field.name}=".encode())
        write(getattr(model, field.name), digest.update)
    found = digest.hexdigest()
    if is_frozen(given):
        vars(given)["fingerprint"] = found
    return found
