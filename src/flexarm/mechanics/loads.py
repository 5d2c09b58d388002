"""Generalised forces other than inertia: springs, damping, friction, contact, inputs, wrenches."""

from collections.abc import Mapping

import casadi as ca
import numpy as np

from flexarm.arm import FreeBase, Wrench
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.drives import axis_loss, gear_gain, hub_row, spring_energy, windup_energy
from flexarm.mechanics.kinematics import LinkFrames, base_frame, frames
from flexarm.mechanics.orbit.hill import orbit_energy
from flexarm.mechanics.point_forces import attach, place, point_energy, point_forces
from flexarm.mechanics.sections import picked
from flexarm.mechanics.stops import stop_energy, stop_loss
from flexarm.model import Model, prescribed_motion
from flexarm.model.profiles import evaluate
from flexarm.spatial import Array, Expr, Inertia, Scalar, constant

Load = tuple[int, Expr, Expr, Expr]  # index of a link; point, force and torque in the world


def input_names(model: Model) -> tuple[str, ...]:
    """Return the names of the inputs: the axes with a commanded force or torque."""
    return tuple(axis.name for axis in model.axes if axis.driven)


def input_matrix(model: Model) -> Array:
    """Return the matrix B from k inputs to generalised forces, (n, k).

    An input acts on the motor's coordinate of an elastic joint; amplitudes with a root slope also
    turn the hub and have entries in B.
    """
    driven = [axis for axis in model.axes if axis.driven]
    columns = []
    for axis in driven:
        gain = gear_gain(axis)
        unit = hub_row(model, axis) if axis.motor is None else np.eye(model.size)[axis.motor]
        columns.append(gain * unit)
    return np.stack(columns, axis=1) if columns else np.zeros((model.size, 0))


def elastic_force(
    model: Model, q: Expr, elastic_forces: Mapping[str, Expr] | None = None, *, ends: bool = True
) -> Expr:
    """Compute the gradient (n,) of the elastic energy of links, joints, contacts and springs.

    ``elastic_forces`` maps link names to elastic forces already computed; with ``ends`` false,
    contacts of the arm's tip are omitted.
    """
    result = _own_elastic_force(model, q, elastic_forces or {})
    for point_force in point_forces(model, q, ends=ends):
        result -= point_force.attached.effort(point_force.stored, point_force.torque)
    return result


def elastic_stiffness(model: Model, q: Expr) -> Expr:
    """Compute the elastic stiffness matrix (n, n); geometric stiffness of point forces is omitted.

    The force of a preloaded contact or point spring rotates with the arm; the derivative of its
    direction is a geometric stiffness.
    """
    result = ca.jacobian(_own_elastic_force(model, q, {}), q)
    for point_force in point_forces(model, q):
        along = point_force.attached.effort(point_force.direction, point_force.torque)
        result -= along @ ca.jacobian(point_force.elastic, q)
    return result


def _own_elastic_force(model: Model, q: Expr, elastic_forces: Mapping[str, Expr]) -> Expr:
    """Return the gradient (n,) of the elastic energy of links and joints."""
    result = ca.gradient(_joint_energy(model, q), q)
    for part in model.links:
        effort = elastic_forces.get(part.name)
        effort = body_of(model, part).effort(q) if effort is None else effort
        for i, column in enumerate(part.own):
            result[column] += effort[i]
    return result


def potential_energy(model: Model, q: Expr) -> tuple[Expr, Expr]:
    """Compute elastic and gravitational energy [J]."""
    elastic = _joint_energy(model, q) + point_energy(model, q)
    weight = type(q)(0)
    still = type(q).zeros(model.size, 1)
    carrier, position = base_frame(model, q)
    pull = constant(model.gravity)

    def lower(R: Expr, p: Expr, mass: Scalar, first: Expr, second: Expr) -> Expr:
        energy = -ca.dot(pull, mass * p + R @ first)
        if model.orbit:
            energy += orbit_energy(model.orbit, R, p, mass, first, second)
        return energy

    if model.base_moves:
        weight += lower(carrier, position, *moments(model.base_body))
    for part, frame in zip(model.links, frames(model, q), strict=True):
        elastic += body_of(model, part).energy(q)
        terms = body_of(model, part).terms(q, still, type(q).zeros(3, 1))
        weight += lower(frame.R_WL, frame.p_WL, terms.mass, terms.first, terms.second)
        weight += lower(frame.R_WT, frame.p_WT, *moments(part.tip_body))
        if model.orbit and part.rotor is not None and part.rotor.axis is not None:
            axis = constant(part.rotor.axis)
            spun = part.rotor.inertia * axis @ axis.T
            weight += lower(carrier, position, 0.0, type(q).zeros(3, 1), spun)
        carrier = frame.R_WL @ frame.mount.rotation
    return elastic, weight


def dissipative_force(
    model: Model, q: Expr, v: Expr, *, coulomb: bool = True, ends: bool = True
) -> Expr:
    """Compute the generalised force (n,) of damping and friction; v times it is dissipated power.

    With ``ends`` false, contacts of the arm's tip are omitted.
    """
    result = type(v).zeros(model.size, 1)
    for part in model.links:
        damping = body_of(model, part).damping(q)
        if damping is not None:
            rates = v[part.modes.start : part.modes.stop]
            result[part.modes.start : part.modes.stop] += damping @ rates
        if part.motion.drag:
            spun = part.motion.columns(picked(q, part.carried_by))[:3, :]
            torque = part.motion.drag * (spun @ picked(v, part.carried_by))
            for k, row in zip(part.carried_by, ca.vertsplit(spun.T @ torque), strict=True):
                result[k] += row
        for axis in part.axes:
            hub = constant(hub_row(model, axis))
            result += axis_loss(model, axis, q, v, coulomb=coulomb)
            if axis.acts.stops is not None:
                result += hub * stop_loss(axis, ca.dot(hub, q), ca.dot(hub, v))
    for point_force in point_forces(model, q, v, friction=coulomb, ends=ends):
        result -= point_force.attached.effort(point_force.lost, point_force.torque)
    return result


def wrench_list(model: Model) -> list[tuple[int, Wrench]]:
    """Return the wrenches of the arm in order, each with the index of its link (-1 is the base)."""
    base = model.arm.base
    listed = [(-1, w) for w in base.wrenches] if isinstance(base, FreeBase) else []
    for index, part in enumerate(model.links):
        listed += [(index, w) for w in part.link.wrenches]
    return listed


def applied_force(model: Model, q: Expr, v: Expr, u: Expr, factors: Expr) -> Expr:
    """Compute the generalised force (n,) of inputs, wrenches, springs, damping and friction."""
    total = ca.SX(constant(input_matrix(model))) @ u
    total = total + wrench_force(model, q, factors)
    return total - elastic_force(model, q) - dissipative_force(model, q, v)


def wrench_factors(model: Model, t: float) -> Array:
    """Return the time-dependent factor of each of the k wrenches at time t [s], (k,)."""
    listed = wrench_list(model)
    return np.array([1.0 if w.factor is None else evaluate(w.factor, t)[0] for _, w in listed])


def prescribed_accelerations(model: Model, t: float) -> Array:
    """Return the accelerations of the k prescribed coordinates at time t [s], (k,)."""
    return np.asarray(prescribed_motion(model, t)[2])


def wrench_force(model: Model, q: Expr, factors: Expr) -> Expr:
    """Compute the generalised force (n,) of all wrenches, scaled by their factors."""
    result = type(q).zeros(model.size, 1)
    if not wrench_list(model):
        return result
    placed = frames(model, q)
    loads = wrench_loads(model, q, placed, factors)
    for (_, _, force, torque), point in zip(loads, model.points.wrenches, strict=True):
        result += attach(model, q, placed, point).effort(force, torque)
    return result


def wrench_loads(
    model: Model, q: Expr, placed: tuple[LinkFrames, ...], factors: Expr
) -> list[Load]:
    """Return the wrenches in world axes, scaled by their factors.

    A load is a link's index, a point, a force and a torque.
    """
    result = []
    listed = zip(wrench_list(model), model.points.wrenches, strict=True)
    for k, ((index, wrench), point) in enumerate(listed):
        force = constant(np.array(wrench.force)) * factors[k]
        torque = constant(np.array(wrench.torque)) * factors[k]
        turned, position, _ = place(model, q, placed, point)
        if wrench.frame == "link":
            force, torque = turned @ force, turned @ torque
        result.append((index, position, force, torque))
    return result


def outer_loads(
    model: Model, q: Expr, v: Expr, placed: tuple[LinkFrames, ...], factors: Expr
) -> list[Load]:
    """Return the external loads in world axes: wrenches, contacts and point springs.

    A load is a link's index, a point, a force and a torque.
    """
    return wrench_loads(model, q, placed, factors) + [
        (
            point_force.link,
            point_force.attached.position,
            point_force.stored + point_force.lost,
            point_force.torque,
        )
        for point_force in point_forces(model, q, v)
    ]


def moments(body: Inertia) -> tuple[float, Expr, Expr]:
    """Return mass [kg], first moment (3,) and inertia (3, 3) of a rigid body as expressions."""
    return body.mass, constant(body.first), constant(body.second)


def _joint_energy(model: Model, q: Expr) -> Expr:
    """Return the elastic energy [J] of joint springs, stops and elastic transmissions."""
    energy = type(q)(0)
    for axis in model.axes:
        spring = axis.acts.spring
        if spring is not None:
            wound = ca.dot(constant(hub_row(model, axis)), q) - (spring.rest or 0.0)
            energy += spring_energy(spring.stiffness, wound)
        if axis.acts.stops is not None:
            energy += stop_energy(axis, ca.dot(constant(hub_row(model, axis)), q))
        energy += windup_energy(model, axis, q)
    return energy
