"""Initial state of an arm, its prescribed motion, and a digest of its equations."""

import hashlib
from dataclasses import fields

import casadi as ca
import numpy as np

from flexarm.arm import FreeBase, MovedBase
from flexarm.model.curve import start_curve
from flexarm.model.numbers import is_frozen, write
from flexarm.model.parts import BASE_COORDINATES, Model
from flexarm.model.profiles import AnyProfile, evaluate, trace
from flexarm.spatial import NO_INERTIA, Array, Expr


def start_state(model: Model) -> tuple[Array, Array]:
    """Return the initial coordinates and rates of the model file, shape (n,) each.

    Prescribed coordinates have the values and rates of their prescribed motion at time 0.
    """
    q, v = np.zeros(model.size), np.zeros(model.size)
    base = model.arm.base
    if isinstance(base, FreeBase):
        rotation = model.base_pose.rotation
        v[:3], v[3:6] = rotation @ np.array(base.velocity), base.spin
    if model.prescribed:
        prescribed = list(model.prescribed)
        q[prescribed], v[prescribed], _ = prescribed_motion(model, 0.0)
    for part in model.links:
        for axis in part.axes:
            start = axis.acts.start
            if not axis.prescribed:
                q[axis.index], v[axis.index] = start.position or 0.0, start.speed or 0.0
            if axis.motor is not None:
                motor_position, motor_speed = start.motor_position, start.motor_speed
                q[axis.motor] = q[axis.index] if motor_position is None else motor_position
                v[axis.motor] = v[axis.index] if motor_speed is None else motor_speed
        if part.motion.spin:
            v[list(part.coordinates)] = part.motion.spin
        for values, target in ((part.link.start, q), (part.link.start_speed, v)):
            for name, value in values.items():
                target[model.names.index(f"{part.name}.{name}")] = value
    for whole in model.whole_links:
        if whole.spans[0].link.start_curve is not None:
            q[whole.modes] = start_curve(whole)[0]
    return q, v


def undeformed(model: Model, q: Array) -> Array:
    """Return a copy of the coordinates q, shape (n,), with all link amplitudes set to 0."""
    straight = q.copy()
    for part in model.links:
        straight[part.modes] = 0.0
    return straight


def prescribed_profiles(model: Model) -> list[AnyProfile | None]:
    """Return the function of time of each prescribed coordinate; None for a constant 0."""
    profiles = {axis.index: axis.acts.motion for axis in model.axes if axis.prescribed}
    if isinstance(model.arm.base, MovedBase):
        base = model.arm.base.motion
        profiles |= {i: getattr(base, name) for i, name in enumerate(BASE_COORDINATES)}
    return [profiles.get(i) for i in model.prescribed]


def prescribed_motion(model: Model, t: float) -> Array:
    """Compute values, rates and accelerations of the prescribed coordinates at time t [s].

    The shape is (3, k) for k prescribed coordinates.
    """
    rows = [
        (0.0, 0.0, 0.0) if profile is None else evaluate(profile, t)
        for profile in prescribed_profiles(model)
    ]
    return np.array(rows).reshape(-1, 3).T


def trace_prescribed(model: Model, t: Expr) -> tuple[Expr, Expr, Expr]:
    """Return values, rates and accelerations of the k prescribed coordinates as expressions.

    Each of the three results, at time t [s], has shape (k, 1).
    """
    columns = [
        ca.SX(3, 1) if profile is None else trace(profile, t)
        for profile in prescribed_profiles(model)
    ]
    rows = ca.horzcat(ca.SX(3, 0), *columns)
    return rows[0, :].T, rows[1, :].T, rows[2, :].T


def fingerprint(model: Model) -> str:
    """Compute a digest of all content of a model on which its equations depend.

    The digest is an SHA-256 digest in hexadecimal. The arm's name, notes, start values, inputs and
    events are excluded. No file is read, because the model contains the data that `build` read from
    files. The digest is cached on a model whose arrays are all read-only.
    """
    cached = vars(model).get("fingerprint")
    if cached is not None:
        return str(cached)
    digest, original = hashlib.sha256(), model
    model = model.loaded(NO_INERTIA) if model.load_given else model
    for field in fields(model):
        digest.update(f"{field.name}=".encode())
        write(getattr(model, field.name), digest.update)
    result = digest.hexdigest()
    if is_frozen(original):
        vars(original)["fingerprint"] = result
    return result
