"""Generalised forces other than inertia: drives, springs, damping, friction, inputs, wrenches.

Forces of drive elements with internal states, and stiction, are in `flexarm.integrate.drivetrain`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import casadi as ca
import numpy as np

from flexarm.arm import FreeBase, Friction, SpringTable, Wrench
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.bodies.base import table_spring
from flexarm.mechanics.constants import DAMPING_ONSET
from flexarm.mechanics.kinematics import LinkFrames, base_frame, frames
from flexarm.mechanics.orbit.hill import orbit_energy
from flexarm.mechanics.point_forces import attach, place, point_energy, point_forces
from flexarm.mechanics.sections import picked
from flexarm.mechanics.stops import stop_energy, stop_loss
from flexarm.model import ArmPoint, Axis, Model, SpanFraction, prescribed_motion
from flexarm.model.profiles import evaluate
from flexarm.spatial import Array, Expr, Inertia, Scalar, constant

AnyFriction = Friction[Any, Any, Any, Any]
# names of the dissipated powers
MOTOR_SIDE, LINK_SIDE, GEAR = "motor friction", "link friction", "gear"


def gear_gain(axis: Axis) -> float:
    """Return the generalised force at a joint per unit input; for voltage inputs, at standstill."""
    drive = axis.acts.drive
    if drive is None:
        return 1.0
    motor = drive.motor
    if motor is None:
        return drive.gear_ratio if drive.motor_torque else 1.0
    through = motor.resistance if motor.input == "voltage" else None
    return drive.gear_ratio * motor.torque_constant / (through or 1.0)


def input_limit(axis: Axis) -> float:
    """Return the largest input that an axis's controller commands; infinite without a limit."""
    servo, limits, drive = axis.acts.servo, axis.acts.limits, axis.acts.drive
    most = math.inf
    if servo is not None and servo.effort:
        most = servo.effort
    elif limits is not None and limits.effort is not None:
        most = limits.effort / abs(gear_gain(axis))
    motor = None if drive is None else drive.motor
    amperes = math.inf
    if motor is not None and motor.input != "voltage":
        amperes = motor.current_limit or math.inf
    return min((limit for limit in (most, amperes) if limit != math.inf), default=math.inf)


def input_limits(model: Model) -> Array:
    """Return the largest input of each of the k driven axes, (k,); infinite without a limit."""
    largest = []
    for axis in model.axes:
        if axis.driven:
            limits = axis.acts.limits
            effort = None if limits is None else limits.effort
            largest.append(math.inf if effort is None else float(effort) / abs(gear_gain(axis)))
    return np.array(largest)


def hub_row(model: Model, axis: Axis) -> Array:
    """Return the row (n,) whose product with q is the hub's coordinate.

    The hub's coordinate is the joint's coordinate plus the link's slope at the root, if the hub
    rotates with it.
    """
    row: Array = np.eye(model.size)[axis.index]
    part = model.links[axis.link]
    if not np.any(part.body.root_turn):
        return row
    direction = part.pose_JL.rotation.T @ np.array([0.0, 0.0, 1.0])
    slopes, last = direction @ part.body.root_turn, part.modes.stop
    return np.asarray(np.concatenate([row[: part.modes.start], slopes, row[last:]]))


def motor_row(model: Model, axis: Axis) -> Array:
    """Return the row (n,) whose product with q is the motor's coordinate.

    The motor of a rigid drive has the hub's coordinate.
    """
    return hub_row(model, axis) if axis.motor is None else np.eye(model.size)[axis.motor]


def rubbing(model: Model, axis: Axis) -> dict[str, tuple[Array, AnyFriction]]:
    """Return the frictions of an axis by the name of the side, link or motor.

    Each friction is paired with the row (n,) whose product with v is the rate on which it depends.
    """
    frictions: dict[str, tuple[Array, AnyFriction]] = {}
    if axis.acts.friction is not None:
        frictions[LINK_SIDE] = (hub_row(model, axis), axis.acts.friction)
    if axis.acts.drive is not None and axis.acts.drive.friction is not None:
        frictions[MOTOR_SIDE] = (motor_row(model, axis), axis.acts.drive.friction)
    return frictions


@dataclass(frozen=True)
class Coulomb:
    """Smooth Coulomb friction of a joint: ``force tanh(rate/smoothing)``, ``rate = row @ v``."""

    axis: Axis
    row: Array
    force: float
    smoothing: float

    def slope(self, rate: float) -> float:
        """Return the derivative of the friction force with respect to the rate."""
        return self.force / self.smoothing * (1 - math.tanh(rate / self.smoothing) ** 2)


def coulomb_frictions(model: Model, *, smooth: bool = True) -> list[Coulomb]:
    """Return the smooth Coulomb frictions of all joints.

    With ``smooth`` false, dry and LuGre friction are included as if they were smooth.
    """
    frictions = []
    for axis in () if model.driveless else model.axes:
        for row, friction in rubbing(model, axis).values():
            if friction.coulomb and (friction.kind == "smooth" or not smooth):
                smoothing = friction.smoothing or axis.smoothing
                frictions.append(Coulomb(axis, row, float(friction.coulomb), smoothing))
    return frictions


def axis_loss(model: Model, axis: Axis, q: Expr, v: Expr, *, coulomb: bool = True) -> Expr:
    """Compute the generalised force (n,) of friction and dampers of one joint axis."""
    acts, drive = axis.acts, axis.acts.drive
    row = constant(hub_row(model, axis))
    rate = ca.dot(row, v)
    force = type(v)(0)
    if acts.friction is not None:
        force += smooth_friction(acts.friction, axis, rate, coulomb=coulomb)
    if acts.spring is not None and acts.spring.damping:
        force += acts.spring.damping * rate
    result = row * force
    if drive is None:
        return result
    if axis.motor is not None and drive.damping:
        across = _across(model, axis, q, v)
        result -= row * across
        result[axis.motor] += _lever(axis, q) * across
    if drive.friction is not None or drive.motor is not None or drive.efficiency < 1:
        behind = motor_row(model, axis)
        turning = ca.dot(constant(behind), v)
        rubbed = back_emf(axis) * turning
        if drive.friction is not None:
            rubbed += smooth_friction(drive.friction, axis, turning, coulomb=coulomb)
        if coulomb and axis.motor is not None and drive.efficiency < 1:
            rubbed += gear_loss(model, axis, q, turning)
        result += constant(behind) * rubbed
    return result


def smooth_friction(friction: AnyFriction, axis: Axis, rate: Expr, *, coulomb: bool = True) -> Expr:
    """Return the force or torque of viscous and smoothed Coulomb friction at a rate."""
    force = (friction.viscous or 0.0) * rate
    if coulomb and friction.coulomb and friction.kind == "smooth":
        smoothing = friction.smoothing or axis.smoothing
        force += friction.coulomb * ca.tanh(rate / smoothing)
    return force


def back_emf(axis: Axis) -> float:
    """Return the damping coefficient at a joint due to the back-EMF of its motor."""
    drive = axis.acts.drive
    if drive is None or drive.motor is None or drive.motor.input == "current":
        return 0.0
    constant_at_joint = drive.gear_ratio * drive.motor.torque_constant
    return constant_at_joint**2 / (drive.motor.resistance or math.inf)


def gear_loss(model: Model, axis: Axis, q: Expr, turning: Expr) -> Expr:
    """Compute the force or torque lost in a gear due to its efficiency.

    Notes
    -----
    With efficiency e and transmitted torque (or force) T, the load on the motor is T/e while the
    motor drives and e T while it is driven. Near standstill the two values blend over the joint's
    smoothing speed.
    """
    drive = axis.acts.drive
    assert drive is not None
    passed = spring(drive.stiffness, slack(axis, windup(model, axis, q)))[1]
    share = ca.if_else(passed * turning > 0, 1 / drive.efficiency - 1, 1 - drive.efficiency)
    return ca.fabs(passed) * share * ca.tanh(turning / axis.smoothing)


def windup(model: Model, axis: Axis, q: Expr) -> Expr:
    """Compute the wind-up of a transmission: motor minus link position, plus kinematic error."""
    drive = axis.acts.drive
    assert drive is not None
    assert axis.motor is not None
    wound = q[axis.motor] - ca.dot(constant(hub_row(model, axis)), q)
    error = drive.kinematic_error
    if error is not None:
        turned = error.per_turn * drive.gear_ratio * q[axis.motor]
        wound += error.amplitude * ca.sin(turned + error.phase)
    return wound


def slack(axis: Axis, wound: Expr) -> Expr:
    """Return the deformation of a transmission's spring: the wind-up beyond half the backlash."""
    drive = axis.acts.drive
    if drive is None or drive.backlash is None:
        return wound
    half: float = drive.backlash / 2
    return ca.fmax(wound - half, 0) + ca.fmin(wound + half, 0)


def windup_energy(model: Model, axis: Axis, q: Expr) -> Scalar:
    """Return the elastic energy [J] of a transmission's spring; 0 for a rigid drive."""
    if axis.motor is None or axis.acts.drive is None:
        return 0.0
    return spring(axis.acts.drive.stiffness, slack(axis, windup(model, axis, q)))[0]


def spring(stiffness: Any, wound: Expr) -> tuple[Expr, Expr]:
    """Return elastic energy [J] and force of a spring at the deformation ``wound``.

    ``stiffness`` is a number, or a table of forces against deformations.
    """
    if isinstance(stiffness, SpringTable):
        return table_spring(stiffness.deflection, stiffness.effort, wound)
    return stiffness * wound**2 / 2, stiffness * wound


def _lever(axis: Axis, q: Expr) -> Scalar:
    """Return the derivative of a transmission's wind-up with respect to the motor position."""
    drive = axis.acts.drive
    error = None if drive is None else drive.kinematic_error
    if drive is None or error is None or axis.motor is None:
        return 1.0
    turns = error.per_turn * drive.gear_ratio
    lever: Expr = 1 + error.amplitude * turns * ca.cos(turns * q[axis.motor] + error.phase)
    return lever


def _across(model: Model, axis: Axis, q: Expr, v: Expr) -> Expr:
    """Return the torque or force of the damper parallel to a transmission's spring.

    With backlash the damper acts only while the teeth are in contact, and never pulls the teeth
    together. The damper's force rises gradually with contact depth, because integrators fail at a
    discontinuous force.
    """
    drive = axis.acts.drive
    assert drive is not None
    assert axis.motor is not None
    link = ca.dot(constant(hub_row(model, axis)), v)
    damped = (drive.damping or 0.0) * (_lever(axis, q) * v[axis.motor] - link)
    if drive.backlash is None:
        return damped
    tight = slack(axis, windup(model, axis, q))
    pressed = spring(drive.stiffness, tight)[1]
    damped = damped * ca.fmin(ca.fabs(tight) / (DAMPING_ONSET * drive.backlash), 1)
    pushing = ca.if_else(tight > 0, ca.fmax(damped, -pressed), 0)
    return pushing + ca.if_else(tight < 0, ca.fmin(damped, -pressed), 0)


def rubbed(model: Model, axis: Axis, q: Expr, v: Expr) -> dict[str, Expr]:
    """Return the power [W] lost in each friction and in the gear of an axis, without stiction.

    The keys of the dictionary are the constants MOTOR_SIDE, LINK_SIDE and GEAR.
    """
    efforts: dict[str, Expr] = {}
    for side, (row, friction) in rubbing(model, axis).items():
        rate = ca.dot(constant(row), v)
        efforts[side] = rate * smooth_friction(friction, axis, rate)
    drive = axis.acts.drive
    if axis.motor is not None and drive is not None and drive.efficiency < 1:
        efforts[GEAR] = v[axis.motor] * gear_loss(model, axis, q, v[axis.motor])
    return efforts


Load = tuple[int, Expr, Expr, Expr]  # index of a link; point, force and torque in the world


def input_names(model: Model) -> tuple[str, ...]:
    """Return the names of the axes that have an input."""
    return tuple(axis.name for axis in model.axes if axis.driven)


def input_matrix(model: Model) -> Array:
    """Return the matrix B (n, k) from k inputs to generalised forces.

    An input acts on the motor's coordinate of an elastic joint. If the hub rotates with the slope
    at a link's root, B also has entries in the rows of the link's amplitudes.
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

    ``elastic_forces`` maps link names to gradients (k,) that are already computed. With ``ends``
    false, contacts of the arm's tip are omitted.
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
    """Compute elastic energy and gravitational energy [J] of the arm at coordinates q."""
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
        if part.mount_body.weighs:
            weight += lower(frame.R_WF, frame.p_WF, *moments(part.mount_body))
        if model.orbit and part.rotor is not None and part.rotor.axis is not None:
            axis = constant(part.rotor.axis)
            spun = part.rotor.inertia * axis @ axis.T
            weight += lower(frame.R_WF, position, 0.0, type(q).zeros(3, 1), spun)
    return elastic, weight


def dissipative_force(
    model: Model, q: Expr, v: Expr, *, coulomb: bool = True, ends: bool = True
) -> Expr:
    """Compute the generalised force (n,) that damping and friction oppose to the rates v.

    The scalar product of this force with v is the dissipated power [W].

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


def wrench_list(model: Model) -> list[Wrench]:
    """Return the wrenches of the arm: first those on the base, then those on each link."""
    base = model.arm.base
    of_base = base.wrenches if isinstance(base, FreeBase) else ()
    return [*of_base, *(wrench for part in model.links for wrench in part.link.wrenches)]


def applied_force(model: Model, q: Expr, v: Expr, u: Expr, factors: Expr) -> Expr:
    """Compute the generalised force (n,) of inputs, wrenches, springs, damping and friction."""
    total = ca.SX(constant(input_matrix(model))) @ u
    total = total + wrench_force(model, q, factors)
    return total - elastic_force(model, q) - dissipative_force(model, q, v)


def wrench_factors(model: Model, t: float) -> Array:
    """Return the time-dependent factor of each of the k wrenches at time t [s], (k,)."""
    listed = wrench_list(model)
    return np.array([1.0 if w.factor is None else evaluate(w.factor, t)[0] for w in listed])


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
    for (_, _, force, torque), point in zip(loads, chain(*model.points.wrenches), strict=True):
        result += attach(model, q, placed, point).effort(force, torque)
    return result


def wrench_loads(
    model: Model, q: Expr, placed: tuple[LinkFrames, ...], factors: Expr
) -> list[Load]:
    """Return the wrenches in world axes, scaled by their factors.

    Each load is a tuple: index of the link, point of application, force and torque.
    """
    result = []
    listed = zip(wrench_list(model), model.points.wrenches, strict=True)
    for k, (wrench, points) in enumerate(listed):
        per_length = wrench.force_per_length
        whole = constant(np.array(wrench.force if per_length is None else per_length)) * factors[k]
        twist = constant(np.array(wrench.torque)) * factors[k]
        for point in points:
            force, torque = whole * _length_at(model, q, point), twist
            turned, position, _ = place(model, q, placed, point)
            if wrench.frame == "link":
                force, torque = turned @ force, turned @ torque
            result.append((point.link, position, force, torque))
    return result


def _length_at(model: Model, q: Expr, point: ArmPoint) -> Scalar:
    """Return the length [m] for which a point stands in integrals along its span; else 1."""
    if not isinstance(point.x, SpanFraction):
        return 1.0
    part = model.links[point.link]
    exposed = part.motion.deforming(part.coordinates)
    return point.x.share * (q[exposed[0]] if exposed else part.length)


def outer_loads(
    model: Model, q: Expr, v: Expr, placed: tuple[LinkFrames, ...], factors: Expr
) -> list[Load]:
    """Return the external loads in world axes: wrenches, contacts and point springs.

    Each load is a tuple: index of the link, point of application, force and torque.
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
        passive = axis.acts.spring
        if passive is not None:
            wound = ca.dot(constant(hub_row(model, axis)), q) - (passive.rest or 0.0)
            energy += spring(passive.stiffness, wound)[0]
        if axis.acts.stops is not None:
            energy += stop_energy(axis, ca.dot(constant(hub_row(model, axis)), q))
        energy += windup_energy(model, axis, q)
    return energy
