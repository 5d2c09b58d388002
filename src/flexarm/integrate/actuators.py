"""Servos, brakes, drive trains and event functions as parts of an arm's equations of motion."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import casadi as ca
import numpy as np

from flexarm.arm.profile import Constant
from flexarm.arm.servo import Servo
from flexarm.formulations.base import Formulation
from flexarm.formulations.composite import has_momentum
from flexarm.formulations.quantities import trace
from flexarm.integrate.drivetrain import (
    Bristle,
    Share,
    Slipping,
    SpringDamper,
    Winding,
    accounts,
    bristles,
    told,
    windings,
)
from flexarm.integrate.mission.event_functions import EventArguments, EventFunction
from flexarm.integrate.system import IMPULSES, WORKS
from flexarm.links.base import Array
from flexarm.mechanics.drives import gear_gain, hub_row, input_limit, motor_row
from flexarm.mechanics.orbit.hill import inertial_axes
from flexarm.model import Model
from flexarm.model.profiles import AnyProfile
from flexarm.spatial import Expr, constant

NO_GAINS = {"target", "rate", "period", "delay", "resolution"}  # no part of expressions
STATE_FLOOR = 1e-2  # [rad], [m]: an integral that moves a joint by less needs no digits
UNITS = tuple(
    {name: tuple(float(i == k) for i in range(3))} for name in ("force", "torque") for k in range(3)
)


@dataclass(frozen=True)
class Acting:
    """A wrench of the state in an arm's equations: its law, and where its factors are in w."""

    law: ca.Function
    first: int

    def __repr__(self) -> str:
        """Return a text that determines its expressions."""
        return f"wrench {self.first} {self.law.serialize()}"

    def put(self, w: Expr, t: Expr, q: Expr, v: Expr) -> Expr:
        """Trace the factors of all wrenches with its own."""
        after = self.first + len(UNITS)
        return ca.vertcat(w[: self.first], ca.densify(ca.vec(self.law(t, q, v))), w[after:])


@dataclass(frozen=True)
class Servoed:
    """A servo at work."""

    name: str  # of the joint's coordinate
    column: int  # of its input in u
    row: Array  # what gives the position that it sees from q, (n,)
    # As the model file has it.
    servo: Servo[float, float, float, float, float, AnyProfile, AnyProfile]
    gain: float  # effort at the joint per input
    limit: float  # largest input either way; infinite if there is none
    state: int | None  # place of its integral among the states, or None
    in_place: bool  # whether it acts on what it sees, as a spring and a damper would

    @property
    def key(self) -> str:
        """Text that determines its expressions."""
        gains = self.servo.model_dump_json(exclude=NO_GAINS)
        follows = "position" if self.servo.rate is None else "rate"
        limits = f"{self.gain} {self.limit}{' sampled' if self.servo.period is not None else ''}"
        return f"{self.column} {self.row.tolist()} {gains} {follows} {limits} {self.state}"

    @property
    def remembers(self) -> bool:
        """Whether it has an integral, or is sampled and so holds something."""
        return self.state is not None or self.servo.period is not None

    def profile(self, q: Array) -> AnyProfile:
        """Return the target as a function of time; without one, the position at coordinates q."""
        servo = self.servo
        if servo.rate is not None:
            return servo.rate
        return servo.target or Constant[float](kind="constant", value=float(self.row @ q))

    def answer(
        self, u: Expr, q: Expr, v: Expr, target: tuple[Expr, Expr], x: Expr
    ) -> tuple[Expr, Expr]:
        """Trace the input, u included, and rate of the integral x."""
        row = constant(self.row)
        total, rate = self.asks(u, ca.dot(row, q), ca.dot(row, v), target, x)
        return self.kept(total), rate

    def asks(
        self, u: Expr, position: Expr, speed: Expr, target: tuple[Expr, Expr], x: Expr
    ) -> tuple[Expr, Expr]:
        """Compute the input of the control law, u included, and the rate of its integral x."""
        servo, (wanted, moving) = self.servo, target
        stiffness, damping = servo.stiffness or 0.0, servo.damping or 0.0
        if servo.rate is not None:
            share = damping * (wanted - speed)
        elif damping:
            rate = moving + stiffness / damping * (wanted - position)
            share = damping * (_within(rate, servo.speed or math.inf) - speed)
        else:
            share = stiffness * (wanted - position)
        share = share / self.gain
        total = u + share + x
        over = math.inf if servo.integral_time is None else servo.integral_time
        return total, (share + self.kept(total) - total) / over

    def kept(self, total: Expr) -> Expr:
        """Cut an input at its limit."""
        return _within(total, self.limit)


def _within(value: Expr, limit: float) -> Expr:
    return value if limit == math.inf else ca.fmin(ca.fmax(value, -limit), limit)


def servos(model: Model) -> tuple[Servoed, ...]:
    """List the servos of an arm in the order of its inputs."""
    found: list[Servoed] = []
    states = 0
    for column, axis in enumerate(axis for axis in model.axes if axis.driven):
        servo = axis.acts.servo
        if servo is None:
            continue
        at_motor = servo.side == "motor"
        row, gain = motor_row(model, axis) if at_motor else hub_row(model, axis), gear_gain(axis)
        limit = input_limit(axis)
        state = None if servo.integral_time is None or servo.period is not None else states
        states += state is not None
        in_place = at_motor or axis.motor is None
        found.append(Servoed(axis.name, column, row, servo, gain, limit, state, in_place))
    return tuple(found)


@dataclass(frozen=True)
class Actuators:
    """Servos, friction, windings, ties and event functions in an arm's equations of motion."""

    # servos, slipping, bristles, windings, ties: what drives joints beside their inputs, rubs with
    # a state of its own, or holds the tip.
    servos: tuple[Servoed, ...] = ()
    slipping: tuple[Slipping, ...] = ()
    bristles: tuple[Bristle, ...] = ()
    windings: tuple[Winding, ...] = ()
    ties: tuple[SpringDamper, ...] = ()
    accounts: tuple[str, ...] = ()  # what energy is lost in, by name, as far as it is told apart
    # Quantities that are computed along, for what happens when one crosses a value.
    lookouts: tuple[EventFunction, ...] = ()
    wrenches: tuple[Acting, ...] = ()  # those that follow time and state
    # How many rates of impulses follow the powers: those of outer forces on an arm on a free base.
    impulses: int = 0

    @property
    def works(self) -> int:
        """Number of powers in the equations: works, and losses by name."""
        return WORKS + len(self.accounts)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states: integrals of servos, bristles, currents."""
        return (
            *(each.name for each in self.servos if each.state is not None),
            *(each.name for each in self.bristles),
            *(each.name for each in self.windings if each.has_state),
        )

    @property
    def targets(self) -> int:
        """Number of targets: one of each servo, three of each tie."""
        return len(self.servos) + 3 * len(self.ties)

    @property
    def sampled(self) -> int:
        """Number of sampled servos."""
        return sum(each.servo.period is not None for each in self.servos)

    @property
    def answers(self) -> bool:
        """Whether any servo answers at all times, and not at samples."""
        return self.sampled < len(self.servos)

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.state_names)

    @property
    def floors(self) -> Array:
        """Least ranges that errors of the states are measured in."""
        servos = [each for each in self.servos if each.state is not None]
        return np.array([
            *(STATE_FLOOR * (each.servo.stiffness or each.servo.damping or 1.0) / abs(each.gain)
              for each in servos),
            *(each.floor for each in self.bristles),
            *(each.floor for each in self.windings if each.has_state),
        ])  # fmt: skip

    @property
    def key(self) -> str:
        """All of it as a text, which determines the expressions."""
        return _told((
            *(*self.servos, *self.slipping, *self.bristles, *self.windings, *self.ties),
            *(*self.accounts, *self.lookouts, *self.wrenches),
            *(("impulses",) if self.impulses else ()),
        ))  # fmt: skip

    @property
    def idle(self) -> bool:
        """Whether nothing is added to the equations."""
        return not any(getattr(self, each.name) for each in fields(self))

    @property
    def drives(self) -> bool:
        """Whether drive trains are part of it."""
        return bool(self.slipping or self.bristles or self.windings or self.ties)

    def own(self, model: Model) -> dict[str, Callable[[Model], Any]]:
        """List the kinds of which it has what a model has, and what lists them."""
        return {
            kind: made
            for kind, made in KINDS.items()
            if _told(getattr(self, kind)) == _told(made(model)) != ""
        }

    @property
    def is_in_basis(self) -> bool:
        """Whether all servos act at the place that they measure, as springs and dampers would."""
        return all(each.in_place for each in self.servos if each.servo.period is None)

    @property
    def gives_way(self) -> bool:
        """Whether a servo has a largest effort, at which it damps nothing."""
        return any(each.servo.effort is not None for each in self.servos)

    def stiffness(self, model: Model) -> tuple[Array, Array]:
        """Return stiffness and damping of servos that act where they measure, (n, n)."""
        K, D = np.zeros((2, model.size, model.size))
        for stiffness, damping, sees in self.gains():
            K += stiffness * sees
            D += damping * sees
        return K, D

    def gains(self) -> Iterator[tuple[Any, Any, Array]]:
        """Iterate over stiffness, damping and measured direction (n, n) of these servos."""
        for each in self.servos:
            if each.in_place and each.servo.period is None:
                sees = np.outer(each.row, each.row)
                yield each.servo.stiffness or 0.0, each.servo.damping or 0.0, sees

    def symbols(self) -> dict[str, Expr]:
        """Create the symbols in use: targets with rates, states, efforts of brakes, held inputs."""
        sizes = {"r": 2 * self.targets, "x": self.states, "b": 2 * len(self.slipping),
                 "h": self.sampled}  # fmt: skip
        return {name: ca.SX.sym(name, size) for name, size in sizes.items() if size}

    def shares(
        self, model: Model, u: Expr, q: Expr, v: Expr, r: Expr, x: Expr, b: Expr
    ) -> tuple[Share, Expr, list[Expr]]:
        """Trace what drive trains and ties add, the inputs that act on the arm, and currents."""
        share, currents = Share(ca.SX(v.shape[0], 1)), []
        columns = ca.vertsplit(u) if u.shape[0] else []
        place = sum(each.state is not None for each in self.servos)
        for k, slipping in enumerate(self.slipping):
            slipping.share(b[2 * k], b[2 * k + 1], v, share)
        for k, tie in enumerate(self.ties):
            first = len(self.servos) + 3 * k
            where, moving = (r[n : n + 3] for n in (first, self.targets + first))
            tie.share(model, q, v, (where, moving), share)
        for bristle in self.bristles:
            bristle.share(v, x[place], share)
            place += 1
        for winding in self.windings:
            state = x[place] if winding.has_state else None
            place += winding.has_state
            seen = columns[winding.column]
            columns[winding.column], current = winding.share(seen, v, state, share)
            currents.append(current)
        return share, ca.vertcat(*columns), currents

    def looks(self, seen: EventArguments, a: Expr, dx: Expr) -> dict[str, Expr]:
        """Trace what is looked out for, and its rate where accelerations give it."""
        values = ca.vertcat(*(each.trace(seen) for each in self.lookouts))
        smooth = ca.DM([each.smooth for each in self.lookouts])
        state = ca.vertcat(seen.t, seen.q, seen.v, *seen.x.values())
        rate = ca.jtimes(values, state, ca.vertcat(1, seen.v, a, dx))
        return {"seen": ca.densify(values), "seen_rate": ca.densify(smooth * rate)}

    def inputs(self, u: Expr, q: Expr, v: Expr, r: Expr, x: Expr, h: Expr) -> tuple[Expr, Expr]:
        """Trace the inputs with what servos add or hold, and the rates of the servos' states."""
        columns, rates = ca.vertsplit(u), []
        count, sampled = self.targets, 0
        for k, each in enumerate(self.servos):
            if each.servo.period is not None:
                columns[each.column] = each.kept(columns[each.column] + h[sampled])
                sampled += 1
                continue
            held = 0.0 if each.state is None else x[each.state]
            seen = columns[each.column]
            columns[each.column], rate = each.answer(seen, q, v, (r[k], r[count + k]), held)
            rates += [] if each.state is None else [rate]
        return ca.vertcat(*columns), ca.vertcat(*rates)


NO_ACTUATORS = Actuators()
KINDS = {"servos": servos, "bristles": bristles, "windings": windings}  # of a model itself


def _told(parts: Sequence[Any]) -> str:
    return "; ".join(each.key if isinstance(each, Servoed) else repr(each) for each in parts)


def matrices_of(formulation: Formulation, actuators: Actuators) -> ca.Function:
    """Trace mass, elastic and damping matrices, servos included."""
    function = trace(formulation, "matrices")
    if not actuators.servos:
        return function
    symbols = dict(zip(function.name_in(), function.sx_in(), strict=True))
    M, K, D = function.call(list(symbols.values()), True, False)
    for stiffness, damping, sees in actuators.gains():
        K += constant(sees) * stiffness
        D += constant(sees) * damping
    return ca.Function(
        "matrices", list(symbols.values()), [M, K, D], list(symbols), function.name_out()
    )


def motion_of(
    formulation: Formulation,
    law: ca.Function | None,
    actuators: Actuators,
    *,
    accelerated: bool = False,
) -> ca.Function:
    """Trace accelerations and powers of an arm under a law, servos, brakes and lookouts.

    With accelerations a as an input instead, the force that they take beyond what acts.

    Inputs by name, those in use: t, targets r, states x, efforts b of what slips, what sampled
    servos hold h, q, v, u, w, given, anchor.  Outputs: a, power, and in use: u of a law, dx of the
    states, seen and seen_rate.
    """
    if law is None and actuators.idle and not accelerated:
        return trace(formulation, "motion")
    pushed = bool(actuators.slipping or actuators.bristles or actuators.ties)
    name = "missing_force" if accelerated else "pushed_motion" if pushed else "motion"
    function = trace(formulation, name)
    inputs = dict(zip(function.name_in(), function.sx_in(), strict=True))
    q, v, u = (inputs[name] for name in "qvu")
    found: dict[str, Expr] = {}
    added: dict[str, Expr] = {"t": ca.SX.sym("t")} | actuators.symbols()
    r, x, b, h = (added.get(name, ca.SX(0, 1)) for name in "rxbh")
    if law is not None:
        u = found["u"] = ca.densify(law(added["t"], q, v))
        del inputs["u"]
    u, rates = actuators.inputs(u, q, v, r, x, h) if actuators.servos else (u, ca.SX(0, 1))
    model = formulation.model
    if "anchor" in inputs:
        model = model.anchored(inputs["anchor"])
    share, u, _ = actuators.shares(model, u, q, v, r, x, b)
    rates = ca.vertcat(rates, *share.rates)
    found |= {"dx": ca.densify(rates)} if actuators.states else {}
    w = inputs["w"]
    for each in actuators.wrenches:
        w = each.put(w, added["t"], q, v)
    given = inputs | {"u": u, "w": w, "push": share.push}
    inputs.pop("push", None)
    a, power, *effort = _called(function, given)
    power = _powers(formulation.model, power, share, actuators, q, v)
    if actuators.impulses:
        outer = _called(trace(formulation, "outer_wrench"), given)[0] + share.outer
        outer = inertial_axes(model.orbit, added["t"], outer) if model.orbit else outer
        power = ca.densify(ca.vertcat(power, outer))
    found = {"missing" if accelerated else "a": a, "power": power} | found
    if actuators.lookouts and not accelerated:
        if not effort:
            effort = [_called(trace(formulation, "forward_dynamics"), given)[1]]
        states = {name: x[k] for k, name in enumerate(actuators.state_names)}
        seen = EventArguments(model, added["t"], q, v, states, effort[0])
        found |= actuators.looks(seen, a, rates)
    inputs = added | inputs
    # A law that contains the arm's own equations shares most of them with the arm.
    results = ca.cse(list(found.values()))
    return ca.Function("motion", list(inputs.values()), results, list(inputs), list(found))


def _called(function: ca.Function, given: Mapping[str, Expr]) -> list[Expr]:
    """Call a traced function by names."""
    return list(function.call([given[name] for name in function.name_in()], True, False))


def _powers(
    model: Model, power: Expr, share: Share, actuators: Actuators, q: Expr, v: Expr
) -> Expr:
    """Trace the powers with what drive trains put in and take, and after them the accounts."""
    if not (actuators.drives or actuators.accounts):
        return power
    lost = sum(share.taken.values(), ca.SX(0))
    known = told(model, q, v) if actuators.accounts else {}
    accounts = [known.get(key, 0.0) + share.taken.get(key, 0.0) for key in actuators.accounts]
    return ca.densify(
        ca.vertcat(power + ca.vertcat(share.fed, 0, share.moved, lost), *map(ca.SX, accounts))
    )


def actuators_of(
    model: Model,
    *,
    slipping: Sequence[Slipping] = (),
    ties: Sequence[SpringDamper] = (),
    told_apart: tuple[str, ...] | None = None,
    lookouts: Sequence[EventFunction] = (),
) -> Actuators:
    """List what drives an arm, and where its drive trains have corners that steps end at."""
    kept = accounts(model) if told_apart is None else told_apart
    wound = windings(model)
    seen = (*lookouts, *_corners(model, wound))
    rubbing = bristles(model)
    return Actuators(
        servos(model), tuple(slipping), rubbing, wound, tuple(ties), kept, seen,
        impulses=impulses(model),
    )  # fmt: skip


def impulses(model: Model) -> int:
    """Return how many impulses a run of an arm keeps account of: those of a free base, or none."""
    return IMPULSES if model.floats and has_momentum(model) else 0


def _corners(model: Model, wound: Sequence[Winding]) -> list[EventFunction]:
    """List where equations have corners: ends of backlash, limits of currents, bends of rails."""
    found = [
        EventFunction("place", part.exposed, corner=jump)
        for part in model.links
        for jump in part.rail_jumps
    ]
    for k, axis in enumerate(model.axes):
        drive = axis.acts.drive
        if axis.motor is not None and drive is not None and drive.backlash is not None:
            ends = (-drive.backlash / 2, drive.backlash / 2)
            found += [EventFunction("wind-up", k, corner=end) for end in ends]
    for winding in wound:
        limit = winding.motor.current_limit
        if winding.has_state and limit is not None:
            ends = (-limit, limit)
            found += [EventFunction("state", body=winding.name, corner=end) for end in ends]
    return found
