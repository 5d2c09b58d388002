"""Drive trains in a run: bristles and windings, which have states, and friction that sticks.

Each adds a generalised force, what it takes [W] by name, and what it stores.
"""

import math
from dataclasses import dataclass, field, replace

import casadi as ca
import numpy as np

from flexarm.arm import Friction
from flexarm.arm.drive import Motor
from flexarm.errors import SimulationError
from flexarm.links.base import Array
from flexarm.mechanics.drives import (
    LINK_SIDE,
    MOTOR_SIDE,
    AnyFriction,
    hub_row,
    motor_row,
    rubbed,
    rubbing,
)
from flexarm.mechanics.kinematics import end_frame, end_jacobian
from flexarm.model import Axis, Model
from flexarm.spatial import Expr, constant

BRAKE, HYSTERESIS, WINDING = "brake", "hysteresis", "winding"  # what is lost in
STILL = 1e-100  # of the Stribeck speed: nothing that is seen
PRESLIDING = 1e-3  # of the deflection at which bristles slide: needs no digits
LITTLE_CURRENT = 1e-3  # of that which stalls at a volt, or of the limit


@dataclass
class Share:
    """Forces, powers and state rates that drive trains add to an arm's equations."""

    push: Expr  # generalised force, (n,)
    # fed, moved: power [W] that inputs put in beside that of their effort, and that of what moves
    # ties.
    fed: Expr = 0.0
    moved: Expr = 0.0
    # What is dissipated beside what the arm's own equations say [W], by account.
    taken: dict[str, Expr] = field(default_factory=dict)
    rates: list[Expr] = field(default_factory=list)  # of the states
    stored: Expr = 0.0  # energy in states [J]
    # Force [N] over torque about the world's origin [N m] that ties put on the arm, (6,).
    outer: Expr = 0.0

    def take(self, account: str, power: Expr) -> None:
        """Add a loss of power [W] to an account."""
        self.taken[account] = self.taken.get(account, 0.0) + power


@dataclass(frozen=True)
class Bristle:
    """Friction by bristles (LuGre), or without their damping Dahl's, against ``row @ v``.

    The deflection z of the bristles follows ``z' = v - k |v| z/g(v)``, the effort is
    ``k z + d z'``.
    """

    name: str
    account: str
    row: Array
    stiffness: float
    damping: float
    friction: AnyFriction

    @property
    def floor(self) -> float:
        """Least range that errors of its state are measured in."""
        return PRESLIDING * self.friction.holds / self.stiffness

    def share(self, v: Expr, z: Expr, to: Share) -> None:
        """Trace what it adds."""
        row = constant(self.row)
        rate = ca.dot(row, v)
        moved = rate - self.stiffness * ca.fabs(rate) * z / sliding(self.friction, rate)
        effort = self.stiffness * z + self.damping * moved
        to.push = to.push - row * effort
        to.rates.append(moved)
        to.take(self.account, effort * rate - self.stiffness * z * moved)
        to.stored = to.stored + self.stiffness * z**2 / 2


@dataclass(frozen=True)
class Winding:
    """A motor's winding; its current is a state if it has an inductance."""

    name: str
    account: str
    column: int
    row: Array
    ratio: float
    motor: Motor

    @property
    def has_state(self) -> bool:
        """Whether the current is a state."""
        return self.motor.inductance is not None

    @property
    def floor(self) -> float:
        """Least range that errors of its state are measured in [A]."""
        return LITTLE_CURRENT * (self.motor.current_limit or 1 / (self.motor.resistance or 1.0))

    @property
    def joint(self) -> str:
        """Name of its joint's axis."""
        return self.name.removesuffix(".current")

    def without_inductance(self) -> "Winding":
        """Return the winding without inductance, whose current follows its input at once."""
        return replace(self, motor=self.motor.model_copy(update={"inductance": None}))

    def settled(self, u: float, v: Array) -> float:
        """Compute the steady current [A] of an input, without the limit."""
        if self.motor.input == "current":
            return u
        induced = self.motor.torque_constant * self.ratio * float(self.row @ v)
        return (u - induced) / (self.motor.resistance or 1.0)

    def share(self, u: Expr, v: Expr, x: Expr | None, to: Share) -> tuple[Expr, Expr]:
        """Trace what it adds; give the input that acts like its current, and the current."""
        motor, limit = self.motor, self.motor.current_limit or math.inf
        if motor.input == "current":
            current = u if limit == math.inf else ca.fmin(ca.fmax(u, -limit), limit)
            heat = (motor.resistance or 0.0) * current**2
            to.fed = to.fed + heat
            to.take(self.account, heat)
            return current, current
        induced = motor.torque_constant * self.ratio * ca.dot(constant(self.row), v)
        assert motor.resistance is not None
        growing: Expr = 0.0
        if x is None:
            current = (u - induced) / motor.resistance
            current = current if limit == math.inf else ca.fmin(ca.fmax(current, -limit), limit)
        else:
            current, inductance = x, motor.inductance
            growing = (u - motor.resistance * x - induced) / inductance
            if limit != math.inf:
                growing = ca.if_else(x >= limit, ca.fmin(growing, 0), growing)
                growing = ca.if_else(x <= -limit, ca.fmax(growing, 0), growing)
            to.rates.append(growing)
            growing = inductance * growing * x
            to.stored = to.stored + inductance * x**2 / 2
        # The arm's equations know the winding as a damper: what that takes is no heat.
        heat, damped = motor.resistance * current**2, induced**2 / motor.resistance
        to.fed = to.fed + growing + heat - damped
        to.take(self.account, heat)
        to.take("", -damped)
        return motor.resistance * current + induced, current


@dataclass(frozen=True)
class SpringDamper:
    """A tie of the arm's tip to a place, which comes as three targets."""

    account: str
    stiffness: float
    damping: float

    def share(self, model: Model, q: Expr, v: Expr, place: tuple[Expr, Expr], to: Share) -> None:
        """Trace what it adds where its place and velocity are given, (3,) each."""
        jacobian = end_jacobian(model, q)[0]
        tip = end_frame(model, q)[1]
        off, rate = tip - place[0], jacobian @ v - place[1]
        force = -self.stiffness * off - self.damping * rate
        to.push = to.push + jacobian.T @ force
        to.outer = to.outer + ca.vertcat(force, ca.cross(tip, force))
        to.take(self.account, self.damping * ca.sumsqr(rate))
        to.moved = to.moved + ca.dot(force, place[1])
        to.stored = to.stored + self.stiffness * ca.sumsqr(off) / 2


@dataclass(frozen=True)
class StickSlip:
    """Stick-slip element of a coordinate: dry friction, a brake, or both."""

    name: str  # of the coordinate
    # axis, index: the axis that it is of, and its place in q.
    axis: Axis
    index: int
    frictions: dict[str, AnyFriction]  # by account
    # Effort of the axis's brake, infinite if it never slips; None if it has none here.
    brake: float | None

    def capacity(self, *, braked: bool) -> float:
        """Return the effort beyond which it slips."""
        held = sum(each.holds for each in self.frictions.values())
        return held + (self.brake or 0.0 if braked else 0.0)

    @property
    def able(self) -> bool:
        """Whether it can slip at all."""
        return bool(self.frictions) or (self.brake is not None and math.isfinite(self.brake))


@dataclass(frozen=True)
class Slipping:
    """A holder that can slip: efforts of brake and friction come as inputs, 0 while it holds."""

    index: int
    brake: str
    frictions: tuple[tuple[str, AnyFriction], ...]

    @classmethod
    def of(cls, holder: StickSlip) -> "Slipping":
        """Build it from a stick-slip element."""
        brake = holder.brake is not None and math.isfinite(holder.brake)
        account = f"{holder.axis.name}: {BRAKE}" if brake else ""
        return cls(holder.index, account, tuple(holder.frictions.items()))

    def share(self, braking: Expr, way: Expr, v: Expr, to: Share) -> None:
        """Trace what it adds: the brake's effort, and friction that way (-1, 0, 1)."""
        rate, total = v[self.index], ca.SX(0)
        if self.brake:
            total = braking
            to.take(self.brake, -braking * rate)
        for account, friction in self.frictions:
            effort = way * sliding(friction, rate)
            total = total + effort
            to.take(account, -effort * rate)
        unit = ca.SX(to.push.shape[0], 1)
        unit[self.index] = total
        to.push = to.push + unit


def sliding(friction: AnyFriction, rate: Expr) -> Expr:
    """Effort of dry friction that slides at a rate, either way."""
    if friction.static is None or friction.stribeck_speed is None:
        return friction.coulomb
    # At standstill a power of 0 has no derivative by its exponent, and NaN times 0 is NaN.
    over = ca.fmax(ca.fabs(rate) / friction.stribeck_speed, STILL) ** friction.stribeck_exponent
    return friction.coulomb + (friction.static - friction.coulomb) * ca.exp(-over)


def bristles(model: Model) -> tuple[Bristle, ...]:
    """List bristles of friction and of transmissions with hysteresis."""
    found = []
    for axis in model.axes:
        for side, (row, friction) in rubbing(model, axis).items():
            if friction.kind == "lugre":
                account = f"{axis.name}: {side}"
                stiffness, damping = friction.bristle_stiffness, friction.bristle_damping or 0.0
                assert stiffness is not None
                name = f"{axis.name}.{'motor.' * (side == MOTOR_SIDE)}bristle"
                found.append(Bristle(name, account, row, stiffness, damping, friction))
        drive = axis.acts.drive
        if axis.motor is not None and drive is not None and drive.hysteresis is not None:
            known = drive.hysteresis
            law = Friction[float, float, float, float].model_construct(
                kind="lugre", coulomb=known.effort, bristle_stiffness=known.stiffness
            )
            row = motor_row(model, axis) - hub_row(model, axis)
            account = f"{axis.name}: {HYSTERESIS}"
            name = f"{axis.name}.hysteresis"
            found.append(Bristle(name, account, row, known.stiffness, 0.0, law))
    return tuple(found)


def windings(model: Model) -> tuple[Winding, ...]:
    """List the motors of driven axes."""
    found = []
    for column, axis in enumerate(axis for axis in model.axes if axis.driven):
        drive = axis.acts.drive
        if drive is not None and drive.motor is not None:
            row, account = motor_row(model, axis), f"{axis.name}: {WINDING}"
            name = f"{axis.name}.current"
            found.append(Winding(name, account, column, row, drive.gear_ratio, drive.motor))
    return tuple(found)


def holders(model: Model) -> dict[str, StickSlip]:
    """List what may hold coordinates, by coordinate.

    Raises
    ------
    SimulationError
        If a brake or dry friction cannot hold what it is on.
    """
    found: dict[str, StickSlip] = {}
    for axis in model.axes:
        dry = {side: each for side, (_, each) in rubbing(model, axis).items() if each.kind == "dry"}
        brake = None if axis.acts.brake is None else axis.acts.brake.effort
        effort = None if axis.acts.brake is None else math.inf if brake is None else float(brake)
        apart = axis.motor is not None
        behind = {f"{axis.name}: {side}": each for side, each in dry.items()
                  if side == MOTOR_SIDE or not apart}  # fmt: skip
        if behind or effort is not None:
            index = held_coordinate(model, axis)
            found[model.names[index]] = StickSlip(model.names[index], axis, index, behind, effort)
        if apart and LINK_SIDE in dry:
            _require_hub(model, axis)
            ahead = {f"{axis.name}: {LINK_SIDE}": dry[LINK_SIDE]}
            found[axis.name] = StickSlip(axis.name, axis, axis.index, ahead, None)
    return found


def held_coordinate(model: Model, axis: Axis) -> int:
    """Return the coordinate that a brake holds: the motor's, or the joint's.

    Raises
    ------
    SimulationError
        If nothing can hold it.
    """
    if axis.motor is not None:
        return axis.motor
    _require_hub(model, axis)
    return axis.index


def _require_hub(model: Model, axis: Axis) -> None:
    if np.any(model.links[axis.link].body.root_turn):
        raise SimulationError(
            f"{axis.name}: its brake or dry friction would hold a hub that the pinned "
            "shapes of its link turn. Use other shapes, or friction on the motor's side "
            "of a drive with a stiffness."
        )


def accounts(model: Model) -> tuple[str, ...]:
    """Name what losses of drive trains and of brakes that slip are told apart by.

    Smooth friction and dampers of joints are, where the arm has anything of the kind.
    """
    own = [each.account for each in bristles(model)]
    own += [each.account for each in windings(model)]
    own += [tie_account(e.attach.name) for e in model.arm.events if e.attach is not None]
    for holder in holders(model).values():
        slipping = Slipping.of(holder)
        own += [slipping.brake] * bool(slipping.brake) + list(holder.frictions)
    behind = [axis.acts.drive for axis in model.axes if axis.acts.drive is not None]
    if not own and not any(drive.friction or drive.efficiency < 1 for drive in behind):
        return ()
    still = ca.SX(model.size, 1)
    return tuple(dict.fromkeys([*told(model, still, still), *own]))


def tie_account(name: str) -> str:
    """Name what a tie loses energy in."""
    return f"tie {name}"


def told(model: Model, q: Expr, v: Expr) -> dict[str, Expr]:
    """Trace what is lost along axes by the arm's own equations [W], by account."""
    return {
        f"{axis.name}: {where}": power
        for axis in model.axes
        for where, power in rubbed(model, axis, q, v).items()
    }
