"""Servos, brakes, drive trains and event functions as parts of an arm's equations of motion."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import casadi as ca
import numpy as np

from flexarm.arm.profile import Constant
from flexarm.arm.servo import Servo
from flexarm.formulations.base import Formulation
from flexarm.formulations.composite import has_momentum
from flexarm.formulations.quantities import trace
from flexarm.integrate.constants import SERVO_STATE_FLOOR
from flexarm.integrate.drivetrain import (
    Bristle,
    Share,
    Slipping,
    SpringDamper,
    Winding,
    bristles,
    dissipated_powers,
    loss_channels_of,
    windings,
)
from flexarm.integrate.mission.event_functions import EventArguments, EventFunction
from flexarm.integrate.system import IMPULSES, WORKS
from flexarm.mechanics.loads import gear_gain, hub_row, input_limit, motor_row
from flexarm.mechanics.orbit.hill import inertial_axes
from flexarm.model import Model
from flexarm.model.profiles import AnyProfile
from flexarm.spatial import Array, Expr, constant

Value = TypeVar("Value", Expr, float)
# Keys of a servo's data that its symbolic expressions do not contain.
NO_GAINS = {"target", "rate", "period", "delay", "resolution"}
UNITS = tuple(
    {name: tuple(float(i == k) for i in range(3))} for name in ("force", "torque") for k in range(3)
)


@dataclass(frozen=True)
class Acting:
    """A law that computes the force and torque factors of a wrench from time and state."""

    law: ca.Function
    first: int

    def __repr__(self) -> str:
        """Return text that is equal for two wrench laws whose symbolic expressions are equal."""
        return f"wrench {self.first} {self.law.serialize()}"

    def put(self, w: Expr, t: Expr, q: Expr, v: Expr) -> Expr:
        """Return the factors of all wrenches, with those of this wrench computed by its law."""
        after = self.first + len(UNITS)
        return ca.vertcat(w[: self.first], ca.densify(ca.vec(self.law(t, q, v))), w[after:])


@dataclass(frozen=True)
class Servoed:
    """A servo in the equations of motion: its input, measured position, gains and limit."""

    name: str  # name of the joint's coordinate
    column: int  # index of the servo's input in u
    row: Array  # measured position per coordinate: position = row @ q, (n,)
    # Data of the model file.
    servo: Servo[float, float, float, float, float, AnyProfile, AnyProfile]
    gain: float  # effort at the joint per input
    limit: float  # largest input either way; infinite if there is none
    state: int | None  # index of the integral among the actuator states, or None
    in_place: bool  # whether the servo acts where it measures, like a spring and a damper

    @property
    def key(self) -> str:
        """Text that is equal for two servos whose symbolic expressions are equal."""
        gains = self.servo.model_dump_json(exclude=NO_GAINS)
        follows = "position" if self.servo.rate is None else "rate"
        limits = f"{self.gain} {self.limit}{' sampled' if self.servo.period is not None else ''}"
        return f"{self.column} {self.row.tolist()} {gains} {follows} {limits} {self.state}"

    @property
    def remembers(self) -> bool:
        """Whether the servo has memory: an integral term or a sampling period."""
        return self.state is not None or self.servo.period is not None

    def profile(self, q: Array) -> AnyProfile:
        """Return the target over time; without one, the constant position at coordinates q."""
        servo = self.servo
        if servo.rate is not None:
            return servo.rate
        return servo.target or Constant[float](kind="constant", value=float(self.row @ q))

    def raw_input(
        self, u: Value, position: Value, speed: Value, target: tuple[Value, Value], x: Value
    ) -> tuple[Value, Value]:
        """Return the unlimited input of the servo, and the time derivative of its integral term.

        The input is the sum of the feedforward u, the control law and the integral term x. The time
        derivative of the integral term contains the anti-windup correction, which is 0 while the
        input is within its limit.
        """
        servo, (position_target, rate_target) = self.servo, target
        stiffness, damping = servo.stiffness or 0.0, servo.damping or 0.0
        if servo.rate is not None:
            correction = damping * (position_target - speed)
        elif damping:
            rate = rate_target + stiffness / damping * (position_target - position)
            correction = damping * (_within(rate, servo.speed or math.inf) - speed)
        else:
            correction = stiffness * (position_target - position)
        correction = correction / self.gain
        total = u + correction + x
        integral_time = math.inf if servo.integral_time is None else servo.integral_time
        return total, (correction + self.clip(total) - total) / integral_time

    def clip(self, total: Value) -> Value:
        """Return an input limited to at most the servo's limit in either direction."""
        return _within(total, self.limit)


def _within(value: Value, limit: float) -> Value:
    return value if limit == math.inf else ca.fmin(ca.fmax(value, -limit), limit)


def servos(model: Model) -> tuple[Servoed, ...]:
    """Return the servos of a model in the order of the model's inputs."""
    servoed: list[Servoed] = []
    state_count = 0
    for column, axis in enumerate(axis for axis in model.axes if axis.driven):
        servo = axis.acts.servo
        if servo is None:
            continue
        at_motor = servo.side == "motor"
        row, gain = motor_row(model, axis) if at_motor else hub_row(model, axis), gear_gain(axis)
        limit = input_limit(axis)
        state = None if servo.integral_time is None or servo.period is not None else state_count
        state_count += state is not None
        in_place = at_motor or axis.motor is None
        servoed.append(Servoed(axis.name, column, row, servo, gain, limit, state, in_place))
    return tuple(servoed)


@dataclass(frozen=True)
class Actuators:
    """Servos, friction, motor windings, ties and event functions of an arm's equations."""

    # servos, slipping, bristles, windings, ties: servos, stick-slip elements, bristle friction,
    # motor windings, and spring-dampers from the tip to a point.
    servos: tuple[Servoed, ...] = ()
    slipping: tuple[Slipping, ...] = ()
    bristles: tuple[Bristle, ...] = ()
    windings: tuple[Winding, ...] = ()
    ties: tuple[SpringDamper, ...] = ()
    loss_channels: tuple[str, ...] = ()  # names of the loss channels of dissipated energy
    # Event functions, evaluated with the equations.
    event_functions: tuple[EventFunction, ...] = ()
    wrenches: tuple[Acting, ...] = ()  # wrenches that depend on time and state
    # Number of impulse rates of outer forces, which the equations return after the powers: 6 for a
    # free base, else 0.
    impulses: int = 0

    # Number of powers that the equations return: one per work integral, and one per loss channel.
    work_integrals: int = field(init=False, repr=False, compare=False)
    # Names of the actuator states: servo integrals, bristle deflections, winding currents.
    state_names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    states: int = field(init=False, repr=False, compare=False)  # number of actuator states
    sampled: int = field(init=False, repr=False, compare=False)  # number of sampled servos

    def __post_init__(self) -> None:
        """Count work integrals, states and sampled servos."""
        names = (
            *(element.name for element in self.servos if element.state is not None),
            *(element.name for element in self.bristles),
            *(element.name for element in self.windings if element.has_state),
        )
        object.__setattr__(self, "work_integrals", WORKS + len(self.loss_channels))
        object.__setattr__(self, "state_names", names)
        object.__setattr__(self, "states", len(names))
        sampled = sum(element.servo.period is not None for element in self.servos)
        object.__setattr__(self, "sampled", sampled)

    @property
    def targets(self) -> int:
        """Number of functions of time that are targets: one per servo, three (x, y, z) per tie."""
        return len(self.servos) + 3 * len(self.ties)

    @property
    def answers(self) -> bool:
        """Whether any servo acts in continuous time, that is, without a sampling period."""
        return self.sampled < len(self.servos)

    @property
    def floors(self) -> Array:
        """Least scale [SI unit] of the integration error of each actuator state, (states,)."""
        servos = [element for element in self.servos if element.state is not None]
        return np.array([
            *(SERVO_STATE_FLOOR * (element.servo.stiffness or element.servo.damping or 1.0)
              / abs(element.gain)
              for element in servos),
            *(element.floor for element in self.bristles),
            *(element.floor for element in self.windings if element.has_state),
        ])  # fmt: skip

    @property
    def key(self) -> str:
        """Text that is equal for two sets of actuators whose symbolic expressions are equal."""
        elements = (
            *(*self.slipping, *self.bristles, *self.windings, *self.ties),
            *(*self.loss_channels, *self.event_functions, *self.wrenches),
            *(("impulses",) if self.impulses else ()),
        )  # fmt: skip
        return "; ".join([*(servo.key for servo in self.servos), *map(repr, elements)])

    @property
    def idle(self) -> bool:
        """Whether the equations of motion contain no servo, friction, winding, tie or event."""
        return not any(getattr(self, member.name) for member in fields(self) if member.init)

    @property
    def drives(self) -> bool:
        """Whether the equations contain slipping friction, bristle friction, windings or ties."""
        return bool(self.slipping or self.bristles or self.windings or self.ties)

    @property
    def saturates(self) -> bool:
        """Whether a servo has an effort limit; at the limit, the servo provides no damping."""
        return any(servo.servo.effort is not None for servo in self.servos)

    def stiffness(self, model: Model) -> tuple[Array, Array]:
        """Return stiffness and damping matrices, (n, n) each, of continuous collocated servos.

        A servo is collocated if its effort acts on the coordinate that it measures. Servos with a
        sampling period are left out.
        """
        K, D = np.zeros((2, model.size, model.size))
        for stiffness, damping, outer in self.gains():
            K += stiffness * outer
            D += damping * outer
        return K, D

    def gains(self) -> Iterator[tuple[Any, Any, Array]]:
        """Yield stiffness, damping and matrix row^T row (n, n) of each continuous collocated servo.

        The position that the servo measures is ``row @ q``. Servos with a sampling period, and
        servos whose effort acts on another coordinate than the measured one, are left out.
        """
        for servo in self.servos:
            if servo.in_place and servo.servo.period is None:
                outer = np.outer(servo.row, servo.row)
                yield servo.servo.stiffness or 0.0, servo.servo.damping or 0.0, outer

    def symbols(self) -> dict[str, Expr]:
        """Return new CasADi symbols for the arguments that the actuators need, by name.

        The names are ``r`` for the targets, followed by their rates; ``x`` for the actuator states;
        ``b`` for brake effort and friction direction of each slipping element; and ``h`` for the
        held inputs of sampled servos.
        """
        sizes = {"r": 2 * self.targets, "x": self.states, "b": 2 * len(self.slipping),
                 "h": self.sampled}  # fmt: skip
        return {name: ca.SX.sym(name, size) for name, size in sizes.items() if size}

    def shares(
        self, model: Model, u: Expr, q: Expr, v: Expr, r: Expr, x: Expr, b: Expr
    ) -> tuple[Share, Expr, list[Expr]]:
        """Return the forces of drive trains and ties, the effective inputs, and motor currents."""
        share, currents = Share(ca.SX(v.shape[0], 1)), []
        columns: list[Expr] = [*ca.vertsplit(u)] if u.shape[0] else []
        index = sum(servo.state is not None for servo in self.servos)
        for k, slipping in enumerate(self.slipping):
            slipping.share(b[2 * k], b[2 * k + 1], v, share)
        for k, tie in enumerate(self.ties):
            first = len(self.servos) + 3 * k
            position, velocity = (r[n : n + 3] for n in (first, self.targets + first))
            tie.share(model, q, v, (position, velocity), share)
        for bristle in self.bristles:
            bristle.share(v, x[index], share)
            index += 1
        for winding in self.windings:
            state = x[index] if winding.has_state else None
            index += winding.has_state
            input_ = columns[winding.column]
            columns[winding.column], current = winding.share(input_, v, state, share)
            currents.append(current)
        return share, ca.vertcat(*columns), currents

    def event_expressions(self, arguments: EventArguments, a: Expr, dx: Expr) -> dict[str, Expr]:
        """Return expressions of the event functions and of their time derivatives, by name.

        The entry ``event_rates`` contains the time derivatives of the entry ``event_values``. A
        time derivative that cannot be computed from accelerations is replaced by 0.
        """
        values = ca.vertcat(*(function.trace(arguments) for function in self.event_functions))
        has_rate = ca.DM([function.smooth for function in self.event_functions])
        state = ca.vertcat(arguments.t, arguments.q, arguments.v, *arguments.x.values())
        rate = ca.jtimes(values, state, ca.vertcat(1, arguments.v, a, dx))
        return {"event_values": ca.densify(values), "event_rates": ca.densify(has_rate * rate)}

    def inputs(self, u: Expr, q: Expr, v: Expr, r: Expr, x: Expr, h: Expr) -> tuple[Expr, Expr]:
        """Return expressions of the inputs with servo action, and rates of integral terms."""
        columns: list[Expr] = [*ca.vertsplit(u)]
        rates: list[Expr] = []
        count, sampled = self.targets, 0
        for k, servo in enumerate(self.servos):
            if servo.servo.period is not None:
                columns[servo.column] = servo.clip(columns[servo.column] + h[sampled])
                sampled += 1
                continue
            row, integral = constant(servo.row), 0 if servo.state is None else x[servo.state]
            total, rate = servo.raw_input(
                columns[servo.column], ca.dot(row, q), ca.dot(row, v), (r[k], r[count + k]),
                ca.SX(integral),
            )  # fmt: skip
            columns[servo.column] = servo.clip(total)
            rates += [] if servo.state is None else [rate]
        return ca.vertcat(*columns), ca.vertcat(*rates)


NO_ACTUATORS = Actuators()
# functions that list a model's actuators, by kind
# Functions that list the actuators of a model, by kind.
KINDS: dict[str, Callable[[Model], Any]] = {
    "servos": servos,
    "bristles": bristles,
    "windings": windings,
}


def matrices_of(formulation: Formulation, actuators: Actuators) -> ca.Function:
    """Return a CasADi function of M, K and D, with the gains of continuous servos included."""
    function = trace(formulation, "matrices")
    if not actuators.servos:
        return function
    symbols = dict(zip(function.name_in(), function.sx_in(), strict=True))
    M, K, D = function.call(list(symbols.values()), True, False)
    for stiffness, damping, outer in actuators.gains():
        K += constant(outer) * stiffness
        D += constant(outer) * damping
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
    """Return the CasADi function that computes accelerations, powers and event functions.

    If `accelerated` is set, the accelerations are an input. The output ``missing``, (n,), is then
    the generalised force needed for these accelerations in addition to the forces that act.

    The function has those of the following inputs that it depends on, by name: time t, targets r,
    actuator states x, brake and friction data b, held inputs h of sampled servos, coordinates q,
    rates v, inputs u, wrench factors w, accelerations ``prescribed_a`` of prescribed coordinates,
    and reference attitude. The outputs of the function are accelerations a and powers; where they
    exist also the inputs u that a law returns, the rates dx of the actuator states, the values
    ``event_values`` of the event functions, and their time derivatives ``event_rates``.
    """
    if law is None and actuators.idle and not accelerated:
        return trace(formulation, "motion")
    has_push = bool(actuators.slipping or actuators.bristles or actuators.ties)
    name = "missing_force" if accelerated else "pushed_motion" if has_push else "motion"
    function = trace(formulation, name)
    inputs: dict[str, Expr] = dict(zip(function.name_in(), function.sx_in(), strict=True))
    q, v, u = (inputs[name] for name in "qvu")
    outputs: dict[str, Expr] = {}
    extra_inputs: dict[str, Expr] = {"t": ca.SX.sym("t"), **actuators.symbols()}
    r, x, b, h = (extra_inputs.get(name, ca.SX(0, 1)) for name in "rxbh")
    if law is not None:
        u = outputs["u"] = ca.densify(law(extra_inputs["t"], q, v))
        del inputs["u"]
    u, rates = actuators.inputs(u, q, v, r, x, h) if actuators.servos else (u, ca.SX(0, 1))
    model = formulation.model
    if "reference_attitude" in inputs:
        model = model.with_reference(inputs["reference_attitude"])
    share, u, _ = actuators.shares(model, u, q, v, r, x, b)
    rates = ca.vertcat(rates, *share.rates)
    outputs |= {"dx": ca.densify(rates)} if actuators.states else {}
    w = inputs["w"]
    for wrench in actuators.wrenches:
        w = wrench.put(w, extra_inputs["t"], q, v)
    arguments = inputs | {"u": u, "w": w, "push": share.push}
    inputs.pop("push", None)
    a, power, *effort = _evaluate(function, arguments)
    power = _powers(formulation.model, power, share, actuators, q, v)
    if actuators.impulses:
        wrench_outside = _evaluate(trace(formulation, "outer_wrench"), arguments)[0] + share.outer
        wrench_outside = (
            inertial_axes(model.orbit, extra_inputs["t"], wrench_outside)
            if model.orbit
            else wrench_outside
        )
        power = ca.densify(ca.vertcat(power, wrench_outside))
    outputs = {"missing" if accelerated else "a": a, "power": power} | outputs
    if actuators.event_functions and not accelerated:
        if not effort:
            effort = [_evaluate(trace(formulation, "forward_dynamics"), arguments)[1]]
        states = {name: x[k] for k, name in enumerate(actuators.state_names)}
        event_arguments = EventArguments(model, extra_inputs["t"], q, v, states, effort[0])
        outputs |= actuators.event_expressions(event_arguments, a, rates)
    inputs = extra_inputs | inputs
    # A control law that contains the arm's equations, as computed torque does, shares most common
    # subexpressions with them.
    results = ca.cse(list(outputs.values()))
    return ca.Function("motion", list(inputs.values()), results, list(inputs), list(outputs))


def _evaluate(function: ca.Function, arguments: Mapping[str, Expr]) -> list[Expr]:
    """Return the outputs of a CasADi function whose inputs are given by name."""
    return list(function.call([arguments[name] for name in function.name_in()], True, False))


def _powers(
    model: Model, power: Expr, share: Share, actuators: Actuators, q: Expr, v: Expr
) -> Expr:
    """Return the powers of the work integrals, followed by the power of each loss channel."""
    if not (actuators.drives or actuators.loss_channels):
        return power
    total_loss = sum(share.taken.values(), ca.SX(0))
    own_losses = dissipated_powers(model, q, v) if actuators.loss_channels else {}
    loss_channels = [
        own_losses.get(key, 0.0) + share.taken.get(key, 0.0) for key in actuators.loss_channels
    ]
    return ca.densify(
        ca.vertcat(
            power + ca.vertcat(share.fed, 0, share.moved, total_loss), *map(ca.SX, loss_channels)
        )
    )


def actuators_of(
    model: Model,
    *,
    slipping: Sequence[Slipping] = (),
    ties: Sequence[SpringDamper] = (),
    loss_channels: tuple[str, ...] | None = None,
    event_functions: Sequence[EventFunction] = (),
) -> Actuators:
    """Return the actuators of a model, with event functions at the kinks of their force laws."""
    has_rails = any(part.on_rail for part in model.links)
    if model.driveless and not (has_rails or model.arm.events or slipping or ties or loss_channels):
        return Actuators(event_functions=tuple(event_functions), impulses=impulses(model))
    loss_names = loss_channels_of(model) if loss_channels is None else loss_channels
    motors = windings(model)
    events = (*event_functions, *_corners(model, motors))
    lugre = bristles(model)
    return Actuators(
        servos(model), tuple(slipping), lugre, motors, tuple(ties), loss_names, events,
        impulses=impulses(model),
    )  # fmt: skip


def impulses(model: Model) -> int:
    """Return the number of impulse integrals in the state: 6 for a free base, 0 otherwise."""
    return IMPULSES if model.floats and has_momentum(model) else 0


def _corners(model: Model, motors: Sequence[Winding]) -> list[EventFunction]:
    """Return event functions at the kinks that backlash, current limits and rails cause."""
    functions = [
        EventFunction("place", part.exposed, corner=jump)
        for part in model.links
        for jump in part.rail_jumps
    ]
    for k, axis in enumerate(model.axes):
        drive = axis.acts.drive
        if axis.motor is not None and drive is not None and drive.backlash is not None:
            bounds = (-drive.backlash / 2, drive.backlash / 2)
            functions += [EventFunction("wind-up", k, corner=end) for end in bounds]
    for winding in motors:
        limit = winding.motor.current_limit
        if winding.has_state and limit is not None:
            bounds = (-limit, limit)
            functions += [EventFunction("state", body=winding.name, corner=end) for end in bounds]
    return functions
