"""Drive-train elements in a simulation: bristle and dry friction, motor windings, and ties.

Each drive-train element contributes a generalised force, dissipated powers [W] by loss channel, and
stored energy [J] to the equations of motion.
"""

import math
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from flexarm.arm import Friction
from flexarm.arm.drive import Motor
from flexarm.errors import SimulationError
from flexarm.integrate.constants import CURRENT_FLOOR, LEAST_STRIBECK_RATIO, PRESLIDING_FLOOR
from flexarm.mechanics.kinematics import frames
from flexarm.mechanics.loads import (
    LINK_SIDE,
    MOTOR_SIDE,
    AnyFriction,
    hub_row,
    motor_row,
    rubbed,
    rubbing,
)
from flexarm.mechanics.point_forces import attach
from flexarm.model import ArmPoint, Axis, Model
from flexarm.spatial import Array, Expr, Scalar, constant

BRAKE, HYSTERESIS, WINDING = "brake", "hysteresis", "winding"  # names of loss_channels


@dataclass
class Share:
    """Sum of the forces, powers and state derivatives that drive-train elements contribute."""

    push: Expr  # generalised force, (n,)
    # fed: power [W] of the inputs beyond the mechanical power of their efforts. moved: power [W] of
    # the moving points to which ties connect the tip.
    fed: Scalar = 0.0
    moved: Scalar = 0.0
    # Power dissipated in addition to that of the arm's own equations [W], by loss channel.
    taken: dict[str, Expr] = field(default_factory=dict)
    rates: list[Expr] = field(default_factory=list)  # rates of the actuator states
    stored: Scalar = 0.0  # energy stored in the elements [J]
    # Force [N], then torque about the world's origin [N m], of ties on the arm, (6,).
    outer: Scalar = 0.0

    def take(self, loss_channel: str, power: Expr) -> None:
        """Add a dissipated power [W] to a loss channel."""
        self.taken[loss_channel] = self.taken.get(loss_channel, 0.0) + power


@dataclass(frozen=True)
class Bristle:
    """Bristle friction (LuGre, or Dahl without damping); its sliding rate is ``row @ v``.

    The bristle deflection z follows ``z' = v - k |v| z/g(v)`` with stiffness k and sliding effort
    g; the friction effort is ``k z + d z'`` with damping d.
    """

    name: str
    loss_channel: str
    row: Array
    stiffness: float
    damping: float
    friction: AnyFriction

    @property
    def floor(self) -> float:
        """Least scale of the integration error of the bristle deflection."""
        return PRESLIDING_FLOOR * self.friction.holds / self.stiffness

    def share(self, v: Expr, z: Expr, total: Share) -> None:
        """Add the bristle's force, state derivative, loss and stored energy to the sum `total`."""
        row = constant(self.row)
        rate = ca.dot(row, v)
        deflection_rate = rate - self.stiffness * ca.fabs(rate) * z / sliding(self.friction, rate)
        effort = self.stiffness * z + self.damping * deflection_rate
        total.push = total.push - row * effort
        total.rates.append(deflection_rate)
        total.take(self.loss_channel, effort * rate - self.stiffness * z * deflection_rate)
        total.stored = total.stored + self.stiffness * z**2 / 2


@dataclass(frozen=True)
class Winding:
    """Winding of a motor; its current is a state if the winding has an inductance."""

    name: str
    loss_channel: str
    column: int
    row: Array
    ratio: float
    motor: Motor

    @property
    def has_state(self) -> bool:
        """Whether the motor current is a state of the simulation."""
        return self.motor.inductance is not None

    @property
    def floor(self) -> float:
        """Least scale of the integration error of the motor current [A]."""
        return CURRENT_FLOOR * (self.motor.current_limit or 1 / (self.motor.resistance or 1.0))

    @property
    def joint(self) -> str:
        """Name of the axis that the motor drives."""
        return self.name.removesuffix(".current")

    def settled(self, u: float, v: Array) -> float:
        """Compute the steady-state current [A] at input u and rates v, without current limit."""
        if self.motor.input == "current":
            return u
        back_emf = self.motor.torque_constant * self.ratio * float(self.row @ v)
        return (u - back_emf) / (self.motor.resistance or 1.0)

    def share(self, u: Expr, v: Expr, x: Expr | None, total: Share) -> tuple[Expr, Expr]:
        """Add the winding's powers, losses and current derivative to `total`; return two values.

        The returned values are the effective input, for which the arm's equations yield the torque
        of the motor current, and the motor current [A].
        """
        motor, limit = self.motor, self.motor.current_limit or math.inf
        if motor.input == "current":
            current = u if limit == math.inf else ca.fmin(ca.fmax(u, -limit), limit)
            heat = (motor.resistance or 0.0) * current**2
            total.fed = total.fed + heat
            total.take(self.loss_channel, heat)
            return current, current
        back_emf = motor.torque_constant * self.ratio * ca.dot(constant(self.row), v)
        assert motor.resistance is not None
        growth: Scalar = 0.0
        if x is None:
            current = (u - back_emf) / motor.resistance
            current = current if limit == math.inf else ca.fmin(ca.fmax(current, -limit), limit)
        else:
            assert motor.inductance is not None
            current, inductance = x, motor.inductance
            growth = (u - motor.resistance * x - back_emf) / inductance
            if limit != math.inf:
                growth = ca.if_else(x >= limit, ca.fmin(growth, 0), growth)
                growth = ca.if_else(x <= -limit, ca.fmax(growth, 0), growth)
            total.rates.append(growth)
            growth = inductance * growth * x
            total.stored = total.stored + inductance * x**2 / 2
        # The arm's equations contain the winding's back-EMF as a damper, whose power is not heat.
        heat, damper_heat = motor.resistance * current**2, back_emf**2 / motor.resistance
        total.fed = total.fed + growth + heat - damper_heat
        total.take(self.loss_channel, heat)
        total.take("", -damper_heat)
        return motor.resistance * current + back_emf, current


@dataclass(frozen=True)
class SpringDamper:
    """Spring and damper (a tie) between a point of the arm and a berth that targets may move."""

    loss_channel: str
    stiffness: float
    damping: float
    point: ArmPoint  # point of the arm
    to: ArmPoint | None = None  # section in whose axes the berth is given; None is the world

    def share(self, model: Model, q: Expr, v: Expr, berth: tuple[Expr, Expr], total: Share) -> None:
        """Add the tie's force, loss, power and stored energy to the sum `total`.

        The argument `berth` contains position [m] and velocity [m/s], (3,) each, of the berth in
        the world or, with ``to``, relative to the section that carries it.
        """
        placed, none = frames(model, q), ca.SX(3, 1)
        tied, (place, speed) = attach(model, q, placed, self.point), berth
        carrier = None if self.to is None else attach(model, q, placed, self.to)
        rate = tied.velocity(v)[0]
        if carrier is not None:
            place, speed = carrier.rotation @ place, carrier.rotation @ speed
            away = tied.position - carrier.position
            carrier, place = carrier.moved(away), place + carrier.position
            rate = rate - carrier.velocity(v)[0]
        stretch, rate = tied.position - place, rate - speed
        force = -self.stiffness * stretch - self.damping * rate
        total.push = total.push + tied.effort(force, none)
        if carrier is None:
            total.outer = total.outer + ca.vertcat(force, ca.cross(tied.position, force))
        else:
            total.push = total.push - carrier.effort(force, none)
        total.take(self.loss_channel, self.damping * ca.sumsqr(rate))
        total.moved = total.moved + ca.dot(force, speed)
        total.stored = total.stored + self.stiffness * ca.sumsqr(stretch) / 2


@dataclass(frozen=True)
class StickSlip:
    """Dry friction, a brake, or both, on one coordinate that may stick or slip."""

    name: str  # name of the coordinate
    # axis: axis of the coordinate. index: index of the coordinate in q.
    axis: Axis
    index: int
    frictions: dict[str, AnyFriction]  # friction laws by loss channel
    # Effort of the axis's brake, infinite if the brake never slips; None without a brake here.
    brake: float | None

    def capacity(self, *, braked: bool) -> float:
        """Return the largest effort that friction holds, with the brake closed or open."""
        friction_capacity = sum(friction.holds for friction in self.frictions.values())
        return friction_capacity + (self.brake or 0.0 if braked else 0.0)

    @property
    def able(self) -> bool:
        """Whether the coordinate can slip: there is dry friction, or a brake of limited effort."""
        return bool(self.frictions) or (self.brake is not None and math.isfinite(self.brake))


@dataclass(frozen=True)
class Slipping:
    """Slipping friction or brake in the equations of motion.

    Brake effort and friction direction are inputs of the equations, and are 0 while the coordinate
    sticks.
    """

    index: int
    brake: str
    frictions: tuple[tuple[str, AnyFriction], ...]

    @classmethod
    def of(cls, holder: StickSlip) -> "Slipping":
        """Build the slipping friction or brake from a stick-slip element of the model."""
        brake = holder.brake is not None and math.isfinite(holder.brake)
        loss_channel = f"{holder.axis.name}: {BRAKE}" if brake else ""
        return cls(holder.index, loss_channel, tuple(holder.frictions.items()))

    def share(self, braking: Expr, direction: Expr, v: Expr, total: Share) -> None:
        """Add brake effort, friction in a direction (-1, 0, 1), and losses to the sum `total`."""
        rate, effort_sum = v[self.index], braking if self.brake else ca.SX(0)
        if self.brake:
            total.take(self.brake, -braking * rate)
        for loss_channel, friction in self.frictions:
            sliding_effort = direction * sliding(friction, rate)
            effort_sum = effort_sum + sliding_effort
            total.take(loss_channel, -sliding_effort * rate)
        unit = ca.SX(total.push.shape[0], 1)
        unit[self.index] = effort_sum
        total.push = total.push + unit


def sliding(friction: AnyFriction, rate: Expr) -> Scalar:
    """Return the magnitude of dry friction effort at a sliding rate, with Stribeck effect."""
    if friction.static is None or friction.stribeck_speed is None:
        return friction.coulomb or 0.0
    # At standstill the power 0^x has no derivative with respect to x: it is NaN, and NaN times 0 is
    # NaN.
    ratio = (
        ca.fmax(ca.fabs(rate) / friction.stribeck_speed, LEAST_STRIBECK_RATIO)
        ** friction.stribeck_exponent
    )
    effort: Expr = friction.coulomb + (friction.static - friction.coulomb) * ca.exp(-ratio)
    return effort


def bristles(model: Model) -> tuple[Bristle, ...]:
    """Return the bristle elements of a model, for LuGre friction and transmission hysteresis."""
    elements = []
    for axis in model.axes:
        for side, (row, friction) in rubbing(model, axis).items():
            if friction.kind == "lugre":
                loss_channel = f"{axis.name}: {side}"
                stiffness, damping = friction.bristle_stiffness, friction.bristle_damping or 0.0
                assert stiffness is not None
                name = f"{axis.name}.{'motor.' * (side == MOTOR_SIDE)}bristle"
                elements.append(Bristle(name, loss_channel, row, stiffness, damping, friction))
        drive = axis.acts.drive
        if axis.motor is not None and drive is not None and drive.hysteresis is not None:
            hysteresis = drive.hysteresis
            law = Friction[float, float, float, float].model_construct(
                kind="lugre", coulomb=hysteresis.effort, bristle_stiffness=hysteresis.stiffness
            )
            row = motor_row(model, axis) - hub_row(model, axis)
            loss_channel = f"{axis.name}: {HYSTERESIS}"
            name = f"{axis.name}.hysteresis"
            elements.append(Bristle(name, loss_channel, row, hysteresis.stiffness, 0.0, law))
    return tuple(elements)


def windings(model: Model) -> tuple[Winding, ...]:
    """Return the motor windings of the driven axes of a model."""
    elements = []
    for column, axis in enumerate(axis for axis in model.axes if axis.driven):
        drive = axis.acts.drive
        if drive is not None and drive.motor is not None:
            row, loss_channel = motor_row(model, axis), f"{axis.name}: {WINDING}"
            name = f"{axis.name}.current"
            elements.append(Winding(name, loss_channel, column, row, drive.gear_ratio, drive.motor))
    return tuple(elements)


def holders(model: Model) -> dict[str, StickSlip]:
    """Return the stick-slip elements of a model by coordinate name.

    Raises
    ------
    SimulationError
        If a brake or dry friction acts on a hub that rotates with the elastic shapes of its link,
        because these are pinned at the root.
    """
    elements: dict[str, StickSlip] = {}
    for axis in model.axes:
        dry_friction = {
            side: friction
            for side, (_, friction) in rubbing(model, axis).items()
            if friction.kind == "dry"
        }
        brake = None if axis.acts.brake is None else axis.acts.brake.effort
        effort = None if axis.acts.brake is None else math.inf if brake is None else float(brake)
        has_motor = axis.motor is not None
        own_friction = {f"{axis.name}: {side}": friction for side, friction in dry_friction.items()
                  if side == MOTOR_SIDE or not has_motor}  # fmt: skip
        if own_friction or effort is not None:
            index = held_coordinate(model, axis)
            elements[model.names[index]] = StickSlip(
                model.names[index], axis, index, own_friction, effort
            )
        if has_motor and LINK_SIDE in dry_friction:
            _require_hub(model, axis)
            link_friction = {f"{axis.name}: {LINK_SIDE}": dry_friction[LINK_SIDE]}
            elements[axis.name] = StickSlip(axis.name, axis, axis.index, link_friction, None)
    return elements


def held_coordinate(model: Model, axis: Axis) -> int:
    """Return the index of the motor or joint coordinate that an axis's brake holds.

    Raises
    ------
    SimulationError
        If the brake acts on a hub that rotates with the elastic shapes of its link, because these
        are pinned at the root.
    """
    if axis.motor is not None:
        return axis.motor
    _require_hub(model, axis)
    return axis.index


def _require_hub(model: Model, axis: Axis) -> None:
    if np.any(model.links[axis.link].body.root_turn):
        raise SimulationError(
            f"{axis.name}: a brake or dry friction cannot hold a hub that the pinned shapes of "
            "the link turn. Use other shapes, or put the friction on the motor's side of a "
            "drive with a stiffness."
        )


def loss_channels_of(model: Model) -> tuple[str, ...]:
    """Return the names of the loss channels of drive trains, stick-slip elements and ties.

    If the model has any of these elements, smooth friction and joint dampers get loss channels too.
    """
    names = [element.loss_channel for element in bristles(model)]
    names += [element.loss_channel for element in windings(model)]
    names += [tie_account(e.attach.name) for e in model.arm.events if e.attach is not None]
    for holder in holders(model).values():
        slipping = Slipping.of(holder)
        names += [slipping.brake] * bool(slipping.brake) + list(holder.frictions)
    drives = [axis.acts.drive for axis in model.axes if axis.acts.drive is not None]
    if not names and not any(drive.friction or drive.efficiency < 1 for drive in drives):
        return ()
    zero_rates = ca.SX(model.size, 1)
    return tuple(dict.fromkeys([*dissipated_powers(model, zero_rates, zero_rates), *names]))


def tie_account(name: str) -> str:
    """Return the name of the loss channel for the energy dissipated by a tie."""
    return f"tie {name}"


def dissipated_powers(model: Model, q: Expr, v: Expr) -> dict[str, Expr]:
    """Return the powers [W] that friction and dampers dissipate, as expressions by channel."""
    return {
        f"{axis.name}: {side}": power
        for axis in model.axes
        for side, power in rubbed(model, axis, q, v).items()
    }
