"""Drive, friction and transmission along one joint axis.

Elements with internal states, and friction that sticks, are in `flexarm.integrate.drivetrain`.
"""

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from flexarm.arm import Friction, SpringTable
from flexarm.mechanics.bodies.base import table_energy
from flexarm.mechanics.constants import DAMPING_ONSET
from flexarm.model import Axis, Model
from flexarm.spatial import Array, Expr, Scalar, constant

AnyFriction = Friction[Any, Any, Any, Any]
MOTOR_SIDE, LINK_SIDE, GEAR = "motor friction", "link friction", "gear"  # dissipation


def gear_gain(axis: Axis) -> float:
    """Return the generalised force at a joint per unit input; for a voltage, at standstill."""
    drive = axis.acts.drive
    if drive is None:
        return 1.0
    motor = drive.motor
    if motor is None:
        return drive.gear_ratio if drive.motor_torque else 1.0
    through = motor.resistance if motor.input == "voltage" else None
    return drive.gear_ratio * motor.torque_constant / (through or 1.0)


def input_limit(axis: Axis) -> float:
    """Return the largest input that the controller of an axis commands; infinite if unlimited."""
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
    """Return the largest input of each of the k driven axes, (k,); infinite if unlimited."""
    largest = []
    for axis in model.axes:
        if axis.driven:
            limits = axis.acts.limits
            effort = None if limits is None else limits.effort
            largest.append(math.inf if effort is None else float(effort) / abs(gear_gain(axis)))
    return np.array(largest)


def hub_row(model: Model, axis: Axis) -> Array:
    """Return the row (n,) for which row @ q is the hub's coordinate: joint plus root slope."""
    row: Array = np.eye(model.size)[axis.index]
    part = model.links[axis.link]
    if not np.any(part.body.root_turn):
        return row
    direction = part.pose_JL.rotation.T @ np.array([0.0, 0.0, 1.0])
    slopes, last = direction @ part.body.root_turn, part.modes.stop
    return np.asarray(np.concatenate([row[: part.modes.start], slopes, row[last:]]))


def motor_row(model: Model, axis: Axis) -> Array:
    """Return the row (n,) for which row @ q is the motor's coordinate.

    For a rigid drive it is the row of the hub.
    """
    return hub_row(model, axis) if axis.motor is None else np.eye(model.size)[axis.motor]


def rubbing(model: Model, axis: Axis) -> dict[str, tuple[Array, AnyFriction]]:
    """Return the frictions of an axis, on its link side and motor side, by name of the side.

    Each friction is paired with the row (n,) that selects the coordinate on which it acts.
    """
    frictions: dict[str, tuple[Array, AnyFriction]] = {}
    if axis.acts.friction is not None:
        frictions[LINK_SIDE] = (hub_row(model, axis), axis.acts.friction)
    if axis.acts.drive is not None and axis.acts.drive.friction is not None:
        frictions[MOTOR_SIDE] = (motor_row(model, axis), axis.acts.drive.friction)
    return frictions


@dataclass(frozen=True)
class Coulomb:
    """Coulomb friction of a joint, ``force tanh(rate/smoothing)`` with ``rate = row @ v``."""

    axis: Axis
    row: Array
    force: float
    smoothing: float

    def slope(self, rate: float) -> float:
        """Return the derivative of the friction force with respect to the rate."""
        return self.force / self.smoothing * (1 - math.tanh(rate / self.smoothing) ** 2)


def coulomb_frictions(model: Model, *, smooth: bool = True) -> list[Coulomb]:
    """Return the smooth Coulomb frictions of all joints.

    With ``smooth`` false, other Coulomb frictions are included as if they were smooth.
    """
    frictions = []
    for axis in () if model.driveless else model.axes:
        for row, friction in rubbing(model, axis).values():
            if friction.coulomb and (friction.kind == "smooth" or not smooth):
                smoothing = friction.smoothing or axis.smoothing
                frictions.append(Coulomb(axis, row, float(friction.coulomb), smoothing))
    return frictions


def axis_loss(model: Model, axis: Axis, q: Expr, v: Expr, *, coulomb: bool = True) -> Expr:
    """Compute the generalised force (n,) of friction and dampers along a joint's axis."""
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
    """Return the viscous and smoothed Coulomb friction at a rate."""
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
    With efficiency e and transmitted effort T the load on the motor is T/e while it drives and e T
    while it is driven.  Near standstill the two values blend over the joint's smoothing speed.
    """
    drive = axis.acts.drive
    assert drive is not None
    passed = _effort(drive.stiffness, slack(axis, windup(model, axis, q)))
    share = ca.if_else(passed * turning > 0, 1 / drive.efficiency - 1, 1 - drive.efficiency)
    return ca.fabs(passed) * share * ca.tanh(turning / axis.smoothing)


def windup(model: Model, axis: Axis, q: Expr) -> Expr:
    """Compute the wind-up: motor minus link position, plus the gear's kinematic error."""
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
    """Return the deformation of a transmission's spring: wind-up less backlash."""
    drive = axis.acts.drive
    if drive is None or drive.backlash is None:
        return wound
    half: float = drive.backlash / 2
    return ca.fmax(wound - half, 0) + ca.fmin(wound + half, 0)


def windup_energy(model: Model, axis: Axis, q: Expr) -> Scalar:
    """Return the elastic energy [J] of a transmission."""
    if axis.motor is None or axis.acts.drive is None:
        return 0.0
    return spring_energy(axis.acts.drive.stiffness, slack(axis, windup(model, axis, q)))


def spring_energy(stiffness: Any, wound: Expr) -> Expr:
    """Return the elastic energy [J] of a spring, from a stiffness or a force table."""
    if isinstance(stiffness, SpringTable):
        return table_energy(stiffness.deflection, stiffness.effort, wound)
    energy: Expr = stiffness * wound**2 / 2
    return energy


def _effort(stiffness: Any, wound: Expr) -> Expr:
    """Return the force or torque of a spring, from a stiffness or a force table."""
    total: Expr
    if not isinstance(stiffness, SpringTable):
        total = stiffness * wound
        return total
    x, y = stiffness.deflection, stiffness.effort
    slopes = [(y[k + 1] - y[k]) / (x[k + 1] - x[k]) for k in range(len(x) - 1)]
    total = y[0] + slopes[0] * (wound - x[0])
    for k in range(1, len(slopes)):
        total += (slopes[k] - slopes[k - 1]) * ca.fmax(wound - x[k], 0)
    return total


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
    """Return the effort of the damper parallel to a transmission's spring.

    With backlash the damper acts in contact only and never pulls.  Its force rises gradually with
    contact depth, because integrators fail at a discontinuous force.
    """
    drive = axis.acts.drive
    assert drive is not None
    assert axis.motor is not None
    link = ca.dot(constant(hub_row(model, axis)), v)
    damped = (drive.damping or 0.0) * (_lever(axis, q) * v[axis.motor] - link)
    if drive.backlash is None:
        return damped
    tight = slack(axis, windup(model, axis, q))
    pressed = _effort(drive.stiffness, tight)
    damped = damped * ca.fmin(ca.fabs(tight) / (DAMPING_ONSET * drive.backlash), 1)
    pushing = ca.if_else(tight > 0, ca.fmax(damped, -pressed), 0)
    return pushing + ca.if_else(tight < 0, ca.fmin(damped, -pressed), 0)


def rubbed(model: Model, axis: Axis, q: Expr, v: Expr) -> dict[str, Expr]:
    """Return the power [W] lost in each friction and in the gear of an axis, stiction excluded.

    Keys are the names of the motor side, link side and gear.
    """
    efforts: dict[str, Expr] = {}
    for side, (row, friction) in rubbing(model, axis).items():
        rate = ca.dot(constant(row), v)
        efforts[side] = rate * smooth_friction(friction, axis, rate)
    drive = axis.acts.drive
    if axis.motor is not None and drive is not None and drive.efficiency < 1:
        efforts[GEAR] = v[axis.motor] * gear_loss(model, axis, q, v[axis.motor])
    return efforts
