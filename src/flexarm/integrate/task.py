"""The initial-value problem of a simulation phase: equation, inputs and initial state."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from flexarm.arm.drive import SpringTable
from flexarm.arm.profile import Constant
from flexarm.errors import FlexarmError, SimulationError
from flexarm.formulations import DEFAULT, formulation
from flexarm.formulations.equation import Equation
from flexarm.integrate.actuators import Actuators, actuators_of
from flexarm.integrate.choice.vibration import ModeShares, Vibration, vibration
from flexarm.integrate.constants import (
    CARRIED_SHARE,
    COUPLING_DAMPERS,
    DECAYING_RATIO,
    DEFAULT_INTERVALS,
    RTOL,
    TANGENT_COORDINATES,
    TANGENT_OPERATIONS,
)
from flexarm.integrate.laws import Sampled, ServoMemory, refuse_misfit
from flexarm.integrate.method import Method
from flexarm.integrate.motion import MotionFunctions
from flexarm.integrate.problem import (
    STILL,
    Channel,
    Measures,
    StateLimit,
    channels,
    jumps,
    measures,
    read_inputs,
    refuse_short_tables,
    state_limits_of,
    system_of,
)
from flexarm.integrate.system import System
from flexarm.mechanics.weightless import require_inertia
from flexarm.model import Model, start_state
from flexarm.spatial import Array


def sample_times(t_end: float, dt: float | None) -> Array:
    """Return the sample times [s], every dt from 0 to t_end; 500 intervals if dt is None."""
    if dt is None:
        return np.linspace(0.0, t_end, DEFAULT_INTERVALS + 1)
    times = dt * np.arange(np.floor(t_end / dt * (1 + 1e-12)) + 1)
    if t_end - times[-1] > 1e-9 * dt:
        return np.append(times, t_end)
    times[-1] = t_end
    return times


def equation_of(model: Model, *, name: str = DEFAULT, paper: bool = False) -> Equation:
    """Build the equation of motion of a model by the named formulation.

    Raises
    ------
    SimulationError
        If the formulation does not support the arm.
    """
    try:
        return formulation(name, model, paper=paper)
    except FlexarmError as error:
        raise SimulationError(str(error)) from None


@dataclass(frozen=True)
class State:
    """State at the start of a phase: time, coordinates, rates, actuator states."""

    q: Array  # coordinates, (n,)
    v: Array  # rates, (n,)
    # Works and dissipated energies [J], impulses [N s], [N m s] so far; all 0 if empty.
    work_integrals: Array = field(default_factory=lambda: np.zeros(0))
    t: float = 0.0  # time [s]
    # Reference attitudes of the angles, (3, 3 k).
    reference_attitude: Array = field(default_factory=lambda: np.zeros(0))
    brought: float = 0.0  # energy of bodies captured so far, less that of bodies released [J]
    x: Mapping[str, float] = field(default_factory=dict)  # states of servos and drives by name
    # Memory of sampled servos, by joint.
    memory: Mapping[str, ServoMemory] = field(default_factory=dict)
    ranges: Mapping[str, Array] = field(default_factory=dict)  # error scales of the run so far


def prepare(
    model: Model,
    times: Array,
    *,
    inputs: Mapping[str, Any] | None = None,
    control: ca.Function | Sampled | None = None,
    equation: Equation | None = None,
    locked: Sequence[str] = (),
    start: State | None = None,
    actuators: Actuators | None = None,
    home: Array | None = None,
    begins: Mapping[str, float] | None = None,
    fixed: Collection[int] = (),
    ties: Sequence[Channel] = (),
    efforts: Array | None = None,
    bounds: tuple[Array, Array] = (np.zeros(0), np.zeros(0)),
    rtol: float = RTOL,
    compiles: bool = True,
) -> "InitialValueProblem":
    """Build the initial-value problem of a simulation phase.

    Parameters
    ----------
    model, times
        The arm's model, and the sample times [s].
    inputs, control
        As for `flexarm.simulate`; inputs of locked joints are left out.
    equation
        Equation of motion; None for the default formulation.
    locked
        Names of the locked joints.
    start
        Initial state; None for that of the model file.
    actuators
        Servos, brakes and event functions; None for the model's own.
    home, begins
        ``home`` contains the coordinates (n,) that servos without a target hold, or is None for the
        initial coordinates. ``begins`` contains, by joint, the time [s] from which the target of a
        servo counts.
    fixed
        Indices of prescribed coordinates that stay at their initial values.
    ties
        Positions to which ties connect the tip, as three functions of time (x, y, z) per tie.
    efforts
        Brake effort and friction direction of each brake or dry friction that can slip.
    bounds
        Lower and upper bounds of the event functions.
    rtol
        Tolerance of the run.
    compiles
        Whether to compile mass, stiffness and damping matrices too, to detect coordinates without
        inertia.

    Raises
    ------
    SimulationError
        If the initial state is out of bounds, or if the equations of motion are singular at this
        state.
    """
    equation = equation or formulation(DEFAULT, model)
    inputs = {name: value for name, value in (inputs or {}).items() if name not in locked}
    if isinstance(control, ca.Function):
        refuse_misfit(control, model)
    start = start or State(*start_state(model))
    profiles, home = read_inputs(model, inputs) if inputs else {}, start.q if home is None else home
    input_channels, factors, motions, targets = channels(model, profiles, home, begins or {})
    constants = {
        model.names[k]: Constant[float](kind="constant", value=float(start.q[k])) for k in fixed
    }
    motions = [Channel(c.name, constants[c.name]) if c.name in constants else c for c in motions]
    actuators = actuators or actuators_of(model)
    if control is not None:  # in place of the file's inputs and servos
        input_channels = [replace(channel, profile=STILL) for channel in input_channels]
        actuators, targets = replace(actuators, servos=()), []
    motion = MotionFunctions(
        equation, control if isinstance(control, ca.Function) else None, actuators
    )
    groups = (input_channels, factors, motions, [*targets, *ties])
    refuse_short_tables(groups, float(times[-1]))
    efforts = np.zeros(0) if efforts is None else efforts
    task = InitialValueProblem(equation, motion, groups, times, start, rtol, efforts, bounds)
    refuse_outside(task.state_limits, start.q, start.v)
    reason = equation.singularity(start.q) if equation.guarded else ""
    if reason:
        raise SimulationError(reason)
    return replace(task, shaken=[task.vibration]) if compiles else task


def refuse_outside(bounds: Sequence[StateLimit], q: Array, v: Array) -> None:
    """Raise an error if the initial state is beyond a bound at which runs end."""
    state = np.concatenate([q, v])
    for limit in bounds:
        value = float(limit.row @ state)
        if limit.what and not limit.low <= value <= limit.high:
            bound = limit.low if value < limit.low else limit.high
            raise SimulationError(
                f"{limit.what} is {value:.4g} at the start, beyond the limit {bound:.4g}. "
                f"{limit.remedy}"
            )


@dataclass(frozen=True)
class InitialValueProblem:
    """Equation of motion, functions of time, initial state and tolerance of a phase."""

    equation: Equation  # equation of motion
    motion: MotionFunctions  # compiled accelerations and powers of the equation, with actuators
    # Functions of time: inputs, wrench factors, prescribed motions, targets of servos and ties.
    groups: tuple[list[Channel], ...]
    times: Array  # sample times [s]
    start: State
    rtol: float = RTOL  # tolerance of the run
    # Brake effort and friction direction of each element that can slip, two numbers per element.
    efforts: Array = field(default_factory=lambda: np.zeros(0))
    # Lower and upper bounds of the event functions.
    bounds: tuple[Array, Array] = (np.zeros(0), np.zeros(0))
    # Vibration at the initial state, empty until computed; shared with copies.
    shaken: list[Vibration] = field(default_factory=list, repr=False)

    @property
    def vibration(self) -> Vibration:
        """Frequencies and modes of the arm, linearised about its initial state.

        Raises
        ------
        SimulationError
            If a coordinate has no inertia.
        """
        if not self.shaken:
            model, start = self.equation.model, self.start
            linear = self.equation.elastic_model(start.q, start.v)
            M, K, D = linear.mass, linear.stiffness, linear.damping
            require_inertia(model, M, when="here" if start.t else "at the start")
            if self.motion.actuators.servos:
                stiff, damped = self.motion.actuators.stiffness(model)
                K, D = K + stiff, D + damped
            self.shaken.append(vibration(model, M, K, D, start.v))
        return self.shaken[0]

    @property
    def damped(self) -> bool:
        """Whether all deflections are damped, so that their integration errors decay."""
        return self.shares.damping >= DECAYING_RATIO

    @cached_property
    def shares(self) -> ModeShares:
        """Share of each vibration mode in each deflection and in each deflection rate."""
        measured, modes = self.measures, self.vibration.modes
        deflects = np.array(measured.deflects, dtype=bool)
        position_shares = modes.carried(measured.rows, measured.group)[deflects]
        rate_shares = modes.carried(measured.rows, measured.group, rates=True)[deflects]
        relevant = (np.maximum(position_shares, rate_shares) > CARRIED_SHARE).any(axis=0)
        ratios = modes.ratios[relevant]
        damping = float(ratios.min(initial=1.0)) if len(ratios) else 0.0
        return ModeShares(position_shares, rate_shares, relevant, damping)

    @cached_property
    def measures(self) -> Measures:
        """Quantities, and least ranges of these, relative to which errors are measured."""
        quantities = measures(self.equation.model, self.start.q, self.vibration)
        actuators = self.motion.actuators
        return replace(quantities, state_floor=actuators.floors) if actuators.states else quantities

    @cached_property
    def state_limits(self) -> tuple[StateLimit, ...]:
        """Bounds on the state at which a run ends."""
        return tuple(state_limits_of(self.equation.model, self.start.q, self.rtol))

    @property
    def jumps_inside(self) -> Array:
        """Times [s] inside the phase at which functions of time jump, sorted."""
        times = jumps(self.groups)
        return np.asarray(times[(times > self.times[0]) & (times < self.times[-1])])

    def joined(self) -> tuple[System, dict[str, Array]]:
        """Return the compiled equations with their functions of time, and arrays by name."""
        actuators = self.motion.actuators
        system, buffers = system_of(
            self.equation, self.motion.compiled(), self.groups,
            work_integrals=actuators.work_integrals, impulses=actuators.impulses,
        )  # fmt: skip
        buffers["b"][:] = self.efforts
        sampled = [servo.name for servo in actuators.servos if servo.servo.period is not None]
        memory = self.start.memory
        buffers["h"][:] = [memory[k].held if k in memory else 0.0 for k in sampled]
        return system, buffers

    @property
    def checks_within_steps(self) -> bool:
        """Whether the time derivative of an active event function is unknown."""
        low, high = self.bounds
        # Event functions at corners of the equations come last, and `bounds` has none for them.
        functions = self.motion.actuators.event_functions[: len(low)]
        pairs = zip(functions, np.minimum(-low, high), strict=True)
        return any(not function.smooth and np.isfinite(bound) for function, bound in pairs)

    @property
    def state(self) -> Array:
        """Initial state y: coordinates, rates, work integrals, impulses and actuator states."""
        actuators, start = self.motion.actuators, self.start
        work_integrals = start.work_integrals
        work_integrals = (
            work_integrals
            if len(work_integrals)
            else np.zeros(actuators.work_integrals + actuators.impulses)
        )
        states = [start.x.get(name, 0.0) for name in actuators.state_names]
        return np.concatenate([start.q, start.v, work_integrals, states])


def tangent_pays(task: "InitialValueProblem") -> bool:
    """Return whether an exact Jacobian saves more time than compiling and evaluating it takes."""
    small = task.equation.model.size <= TANGENT_COORDINATES
    return small and task.motion.compiled().operations <= TANGENT_OPERATIONS


def has_strong_dampers(task: "InitialValueProblem") -> bool:
    """Return whether damping makes an eigenvalue larger than all elastic frequencies."""
    return task.vibration.largest > COUPLING_DAMPERS * task.vibration.fastest


def has_tables(model: Model) -> bool:
    """Return whether the stiffness of a joint or transmission depends on its wind-up."""
    springs = (spring for axis in model.axes for spring in (axis.acts.drive, axis.acts.spring))
    return any(spring and isinstance(spring.stiffness, SpringTable) for spring in springs)


def bumps(model: Model) -> bool:
    """Return whether impacts can occur: whether an arm has contacts or joint stops."""
    return bool(model.arm.contacts) or any(axis.acts.stops for axis in model.axes)


def equal_step(
    method: Method, vibration: Vibration, duration: float, rtol: float, step: float | None
) -> float:
    """Return the fixed step size [s] of a run.

    If the user gives no step size, it is chosen to resolve the fastest mode and decay: at a
    tolerance of 1e-3, at most 0.4 divided by the largest angular frequency [rad/s].

    Raises
    ------
    SimulationError
        If the user's step is too large for stability.
    """
    fastest, largest = max(vibration.fastest, 1e-12), max(vibration.steepest, 1e-12)
    if step is None:
        angle = 0.4 * (rtol / 1e-3) ** 0.3
        return float(min(duration / 200, angle / fastest, 0.9 * method.stable / largest))
    limit = method.stable / largest
    if step > limit:
        cause = f"The fastest mode ({fastest / (2 * np.pi):.4g} Hz)"
        if largest > 1.05 * fastest:
            cause = f"The fastest decay, by damping ({largest:.4g} 1/s),"
        raise SimulationError(
            f"step: {step:g} s is too large for {method.name}. {cause} needs a step of at most "
            f"{limit:.3g} s. Use method 'auto', a smaller step, fewer modes or less damping."
        )
    return step
