"""Differentiable simulations of an arm, phase by phase between events."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from importlib import import_module
from itertools import chain
from typing import Any

import casadi as ca
import numpy as np

from flexarm.arguments import (
    FormulationName,
    MethodName,
    WithUnit,
    require_kind,
    require_known,
    require_names,
)
from flexarm.arm import Arm
from flexarm.arm.profile import Interpolation, Table
from flexarm.engine.compile import real_numbers
from flexarm.errors import FlexarmError, SimulationError
from flexarm.formulations.equation import Equation
from flexarm.formulations.numbers import (
    Nearby,
    changed_model,
    nearby,
    parameter_keys,
    parameter_values,
)
from flexarm.gradients.constants import EVENT_ORDERINGS, RECORDED_STEPS
from flexarm.gradients.events.crossing import (
    Entry,
    HybridTrajectory,
    ended,
    reached,
)
from flexarm.gradients.events.phases import (
    bounds_in,
    carried,
    event_functions_by_index,
    nearby_in,
    next_stop,
    refuse_at_once,
    refuse_at_start,
    refuse_events,
    refuse_passed,
    refuse_released,
    situated,
)
from flexarm.gradients.plan import StepSequence, roundings
from flexarm.gradients.rates import RateFunctions
from flexarm.gradients.start import EquationTangent, SteadyStart
from flexarm.gradients.steps import record
from flexarm.gradients.trajectory import RecordedTrajectory
from flexarm.integrate.actuators import actuators_of
from flexarm.integrate.loop import EVENT_FOUND, FINISHED, first_out_of_bounds
from flexarm.integrate.method import Method
from flexarm.integrate.methods import METHODS
from flexarm.integrate.mission.discrete import DiscreteState
from flexarm.integrate.mission.hybrid import times_of
from flexarm.integrate.mission.starts import SteadyProblem
from flexarm.integrate.options import RunOptions
from flexarm.integrate.solve import locate_event, make_ready, new_state
from flexarm.integrate.system import instant
from flexarm.integrate.task import (
    InitialValueProblem,
    State,
    equal_step,
    equation_of,
    prepare,
    sample_times,
)
from flexarm.io.model_file import validated
from flexarm.mechanics.loads import input_names
from flexarm.model import Model, build, start_state
from flexarm.spatial import Array

# models with a small change of one parameter, by key of the parameter
Arms = Callable[[], Mapping[str, Nearby]]
# Trajectories of a phase, state-dependent events at the end of the phase, and the end time [s].
Trajectories = tuple[list[RecordedTrajectory], tuple[int, ...], float]
# derivatives with respect to parameters; keys are the indices of the events so far
Known = dict[tuple[int, ...], dict[Any, Array]]
JUMPS = (
    "gradients: exist only for runs without jumps in the equations. Leave out dry friction (use "
    "'smooth' or 'lugre'), and brakes that slip or close at a speed."
)
ANOTHER = "a run by etd4 includes modes, and one with events several phases"


def recorded(
    task: InitialValueProblem, method: Method, rtol: float, step: float | None = None
) -> tuple[Array, Array, tuple[int, ...], float]:
    """Simulate a phase once; return step ends, times of new modes, events and end time.

    All times are in [s]. The events are the indices of those that end the phase; the tuple is empty
    if the simulation reaches the end of the initial-value problem.
    """
    m, tries = make_ready(new_state(task, method, rtol, step)), method.renewed_after
    step_ends, renewed, event_found = [task.times[:1]], [], bool(first_out_of_bounds(m) >= 0)
    while m.t < m.t_end and not event_found:
        begins, ends = np.full(RECORDED_STEPS, np.inf), np.full(RECORDED_STEPS * tries, np.inf)
        code = record(m, RECORDED_STEPS, tries, begins, ends)
        if code == EVENT_FOUND:
            event_found = locate_event(m, np.array(task.equation.reference_attitude)) is not None
        # Without a located event, the kernel has only stopped at a corner of the equations, or at
        # an event that bisection did not confirm, and the motion goes on.
        if code > FINISHED and not event_found and (code != EVENT_FOUND or m.last_step == 0.0):
            raise SimulationError(
                f"gradients: the run stops early, at t = {m.t:.4g} s. Run flexarm.simulate, "
                "which prints the reason."
            )
        step_ends += [ends[ends < m.t], np.array([m.t])]
        renewed.append(begins[begins < m.t])
    out = (
        np.flatnonzero((m.event_values < m.event_low) | (m.event_values > m.event_high)).tolist()
        if event_found
        else []
    )
    events = tuple(list(event_functions_by_index(task.equation.model))[k] for k in out)
    refuse_at_once(task.equation.model, events, m.t)
    return np.concatenate(step_ends), np.concatenate([*renewed, []]), events, m.t


def divided(stops: Array, recorded_ends: Array, count: Array, finer: int = 1) -> Array:
    """Return step ends [s] that include all stops, with steps no longer than recorded ones.

    The argument ``recorded_ends`` contains the ends of the recorded steps [s], and ``count`` their
    step numbers. The number of steps between two stops is multiplied by ``finer``.
    """
    passed = np.interp(stops, recorded_ends, count)
    parts = np.maximum(1, np.floor(np.diff(passed) + 0.999999)).astype(int) * finer
    ends = [stops[:1]]
    for a, b, end, steps in zip(passed[:-1], passed[1:], stops[1:], parts, strict=True):
        inside = np.interp(a + (b - a) * np.arange(1, steps) / steps, count, recorded_ends)
        ends += [inside, np.array([end])]
    return np.concatenate(ends)


def apart(times: Array) -> Array:
    """Return sorted times [s]; times that are equal up to rounding are returned once."""
    times = np.unique(times)
    near = np.append(True, np.diff(times) > roundings(times[1:]))
    distinct = np.asarray(times[near])
    distinct[-1] = times[-1]
    return distinct


def _refuse_jumps(model: Model, times: Array) -> None:
    """Raise SimulationError if states or forces jump, so that no derivative exists.

    Dry friction, brakes that can slip, and some kinds of events cause jumps.
    """
    refuse_events(model, float(times[-1]))
    start = DiscreteState.at_start(model)
    refuse_at_start(model, start.due(model, float(times[0])))
    rigid_coordinates, v = start.rigid(model), start_state(model)[1]
    if len(rigid_coordinates) < len(start.closed) or np.any(v[rigid_coordinates]):
        raise SimulationError(JUMPS)


@dataclass(frozen=True, repr=False)
class Differentiable:
    """Simulations of an arm as a differentiable function of parameters, start and inputs.

    Attributes
    ----------
    equation
        Equation of motion of the arm with the parameter values of its model file.
    parameters
        Model-file keys of the parameters with respect to which derivatives are computed.
    times
        Sample times [s], shape (T,).
    method, rtol, step, inputs, functions
        Integration method; relative tolerance; fixed step size [s], or None to derive it from the
        tolerance; inputs by joint; compiled equations of motion.
    finer
        Number of parts into which each step of rk4 is divided.
    """

    equation: Equation
    parameters: tuple[str, ...]
    times: Array
    method: Method
    rtol: float
    step: float | None
    inputs: Mapping[str, Any]
    functions: RateFunctions
    finer: int = 1

    def __post_init__(self) -> None:
        """Raise SimulationError if states or forces jump before the end of the simulation."""
        _refuse_jumps(self.equation.model, self.times)

    def __repr__(self) -> str:
        """Return a one-line summary: name of the arm, duration and parameters."""
        by = ", ".join(self.parameters) or "start and inputs"
        return f"Differentiable: {self.equation.model.arm.name} for {self.times[-1]:g} s by {by}"

    @property
    def values(self) -> Array:
        """Values of the k parameters in the model file, (k,)."""
        return parameter_values(self.equation.model.arm, self.parameters)

    def at(
        self,
        values: Sequence[float] | Array | None = None,
        *,
        q: Array | None = None,
        v: Array | None = None,
        inputs: Array | Mapping[str, Array] | None = None,
        offsets: Mapping[str, float] | None = None,
        delays: Mapping[str, float] | None = None,
        interpolation: Mapping[str, Interpolation] | None = None,
        positions: Mapping[str, float] | None = None,
        steps: Array | HybridTrajectory | None = None,
        like: HybridTrajectory | None = None,
    ) -> HybridTrajectory:
        """Simulate the arm; the result can be differentiated.

        Parameters
        ----------
        values
            Parameter values, shape (k,); None for those of the model file.
        q, v
            Initial coordinates and rates, shape (n,) each. If both are None, the run starts at the
            initial state of the model file, or in equilibrium if the file says so; if only one is
            None, it is zero. Servos without a target hold the initial position of the model file.
        inputs
            Inputs at the samples: an array (T, inputs) for all driven joints, or a mapping from
            joint name to an array (T,). Joints that are not in the mapping have the inputs of the
            model file.
        offsets, delays
            Constants added to the inputs, and times [s] by which inputs are delayed, by name of the
            driven joint.
        interpolation
            ``hold``, ``linear`` (default) or ``cubic``, by name of the driven joint: how inputs
            are interpolated between the samples.
        positions
            Positions [rad] or [m] of joints that are held at the start, for example by friction,
            whatever the input; only for a start in equilibrium.
        steps
            Another result of this method whose integration steps are used, or an array of step ends
            [s]; None to choose the steps. With the steps of another simulation, an event may happen
            at another time than there, but between the same samples.
        like
            Another result of this method at the same parameter values, whose model is reused.

        Returns
        -------
        HybridTrajectory
            Result of the simulation, with methods that compute derivatives.
        """
        model, arms, known_slopes = (
            self._arms(values) if like is None else self._near(like.parts[0].task.equation.model)
        )
        plans = self._plans(model, steps)
        parts: list[RecordedTrajectory] = []
        entries: list[Entry | None] = []
        t, start = float(self.times[0]), np.concatenate(start_state(model))
        start, steady = np.concatenate(start_state(model)), None
        if q is None and v is None:
            steady = self._steady(model, inputs, offsets or {}, positions or {})
        before, due = DiscreteState.at_start(model), tuple[int, ...]()
        end = float(self.times[-1])
        while len(parts) < len(plans) if plans else end - t > instant(end):
            if plans:
                due = tuple(k for k in plans[len(parts)].discrete.done if k not in before.done)
            else:
                due = tuple(dict.fromkeys([*due, *before.due(model, t)]))
            if not parts:
                refuse_at_start(model, due)
            entry = Entry(self.equation, model, arms, before, due, t)
            entered, discrete = entry.state(parts[-1].states[-1] if parts else start)
            if parts:
                q, v, _ = np.split(entered, [model.size, 2 * model.size])
            phase = self._phase(model, discrete, t)
            plan = replace(plans[len(parts)], discrete=discrete) if plans else phase
            if like is None:
                self._refuse_functions_of_time(plan)
            state = steady.state if steady and not parts else _state(model, q, v)
            task, held_at = self._task(model, state, plan)
            task = self._driven(task, inputs, offsets or {}, delays or {}, interpolation or {})
            fast = [] if parts else [model.names[k] for k in held_at if task.start.v[k]]
            if fast:
                raise SimulationError(
                    f"v: {fast[0]} must be at rest, since its brake is closed; {JUMPS}"
                )
            names = (parts[0].task if parts else task).motion.actuators.state_names
            if task.motion.actuators.state_names != names:
                raise SimulationError(
                    "gradients: an event must not add or remove the integral term of a servo. Give "
                    "the servo a long integral_time instead."
                )
            if task.motion.actuators.sampled:
                raise SimulationError(
                    "gradients: sampled servos are not differentiated, since "
                    "their torques jump. Remove the 'period' of the servos."
                )
            others = [] if like is None else like.parts
            happened = discrete.done.keys()
            trajectory = RecordedTrajectory(
                task, self.functions, self.parameters, self.method, plan, self.times,
                partial(nearby_in, discrete, model, arms),
                not parts and q is None and v is None, None if parts else steady, held_at,
                next((part for part in others if part.plan.discrete.done.keys() == happened), None),
                {} if len(carried(discrete)) else known_slopes.setdefault(tuple(happened), {}),
            )  # fmt: skip
            trajectory = trajectory.begun(entered) if parts else trajectory
            phases, events_seen, t = (
                self._again(trajectory, t) if plans else self._trajectories(trajectory)
            )
            parts += phases
            entries += [entry, None][: len(phases)]
            if phases:
                before, due = discrete, events_seen
            else:
                due = (*due, *events_seen)
        return HybridTrajectory(tuple(parts), self.times, tuple(entries[1:]))

    def _again(self, trajectory: RecordedTrajectory, t: float) -> Trajectories:
        """Return the result of a phase from time t [s] on, along the steps of another result."""
        plan, end = trajectory.plan, float(trajectory.plan.ends[-1])
        if plan.ended < 0:
            return [trajectory.by(plan.between(t, end))], (), end
        phase = reached(trajectory, partial(plan.between, t), end)
        refuse_passed(trajectory.model, plan, self.times, end, float(phase.t[-1]))
        return [phase], (), float(phase.t[-1])

    def _arms(self, values: Sequence[float] | Array | None) -> tuple[Model, Arms, Known]:
        """Return the model for parameter values, a builder of perturbed models, and a cache.

        The cache is for derivatives with respect to parameters. The model for the latest parameter
        values is reused.
        """
        key, model = repr(np.array(values).tolist()), self.equation.model
        arms = self._last.get(key)
        if arms is None:
            if values is not None and self.parameters:
                model = changed_model(model, self.parameters, values)
            arms = self._near(model)
            self._last.clear()
            self._last[key] = arms
        return arms

    def _near(self, model: Model) -> tuple[Model, Arms, Known]:
        """Return the model, a builder of perturbed models, and an empty cache of derivatives.

        The builder returns models in which one parameter is slightly changed, by parameter key.
        """
        return model, cache(partial(nearby, model, self.parameters)), {}

    @cached_property
    def _last(self) -> dict[str, tuple[Model, Arms, Known]]:
        return {}

    def _phase(self, model: Model, discrete: DiscreteState, t: float) -> StepSequence:
        """Return the phase that begins at t [s], integrated in one step between two samples."""
        times = times_of(self.times, t, next_stop(model, t, float(self.times[-1])))
        return StepSequence(times, times, discrete)

    def _begin(self, model: Model) -> StepSequence:
        """Return the first phase of the simulation, with events at time 0 applied."""
        t, before = float(self.times[0]), DiscreteState.at_start(model)
        entry = Entry(self.equation, model, dict, before, tuple(before.due(model, t)), t)
        return self._phase(model, entry.state(np.concatenate(start_state(model)))[1], t)

    def _plans(
        self, model: Model, steps: Array | HybridTrajectory | None
    ) -> tuple[StepSequence, ...]:
        """Return the steps of another simulation, one sequence per phase."""
        if steps is None:
            return ()
        if isinstance(steps, HybridTrajectory):
            return tuple(part.plan for part in steps.parts)
        phase = self._begin(model)
        bounds = bounds_in(phase.discrete, model, float(phase.times[0]))
        several = len(phase.times) < len(self.times) or np.isfinite(bounds).any()
        if self.method.solves_vibrations or several:
            raise SimulationError(f"steps: {ANOTHER}. Give the other run itself.")
        return (replace(phase, ends=steps),)

    def jax(self) -> Callable[..., Any]:
        """Return a JAX function that maps (values, q, v, inputs) to (q, v) at the samples.

        The gradient of the JAX function is computed by the adjoint method. The package jax is
        required.
        """
        return jax_function(self)

    def torch(self) -> Callable[..., Any]:
        """Return a PyTorch function that maps (values, q, v, inputs) to (q, v) at the samples.

        The gradient of the PyTorch function is computed by the adjoint method. The package torch is
        required.
        """
        return torch_function(self)

    @cached_property
    def _first(self) -> InitialValueProblem:
        model = self.equation.model
        steady = self._steady(model, None, {}, {})
        return self._task(model, None if steady is None else steady.state, self._begin(model))[0]

    @property
    def start(self) -> tuple[Array, Array]:
        """Initial coordinates and rates of the model file, (n,) each."""
        return self._first.start.q, self._first.start.v

    @cached_property
    def input_samples(self) -> Array:
        """Inputs of the model file at T sample times, (T, inputs)."""
        values = [channel.at(self.times)[0] for channel in self._first.groups[0]]
        return np.array(values).reshape(-1, len(self.times)).T

    def _task(
        self, model: Model, state: State | None, phase: StepSequence
    ) -> tuple[InitialValueProblem, tuple[int, ...]]:
        """Return the initial-value problem of a phase, and the coordinates that brakes hold."""
        home, discrete = start_state(model)[0], phase.discrete
        bounds = bounds_in(discrete, model, float(phase.times[0]))
        model, holding = situated(discrete, model), discrete.holding(model)
        equation = replace(
            self.equation, formulation=replace(self.equation.formulation, model=model), _compiled={}
        )
        held_joints = tuple(holding.values())
        task = prepare(
            model, phase.times, inputs=self.inputs, control=self.functions.law, equation=equation,
            actuators=actuators_of(model, event_functions=self.functions.event_functions),
            start=state, home=home, begins=discrete.target_times(), fixed=held_joints,
            bounds=bounds, rtol=self.rtol,
        )  # fmt: skip
        return task, held_joints

    def _steady(
        self,
        model: Model,
        inputs: Array | Mapping[str, Array] | None,
        offsets: Mapping[str, float],
        positions: Mapping[str, float],
    ) -> SteadyStart | None:
        """Return the start in equilibrium; None if the model file states another start."""
        if model.arm.start == "stated":
            return None
        names = input_names(model)
        first = {name: float(values[0]) for name, values in self._samples(names, inputs).items()}
        law = self.functions.law is not None
        problem = SteadyProblem.of(
            model, {**self.inputs, **first}, law=law, positions=positions,
            offsets=np.array([offsets.get(name, 0.0) for name in names]),
            tangent=partial(EquationTangent, self.equation),
        )  # fmt: skip
        actuators = actuators_of(model)
        actuators = replace(actuators, servos=()) if law else actuators
        return SteadyStart(problem, problem.solve(), tuple(actuators.state_names))

    def _samples(
        self, names: Sequence[str], inputs: Array | Mapping[str, Array] | None
    ) -> dict[str, Array]:
        """Return checked inputs at T samples by joint, (T,) each."""
        count = len(self.times)
        if inputs is None:
            return {}
        if isinstance(inputs, Mapping):
            return {k: real_numbers(f"inputs: {k}", x, (count,)) for k, x in inputs.items()}
        columns = real_numbers("inputs", inputs, (count, len(names))).T
        return dict(zip(names, columns, strict=True))

    def _driven(
        self,
        task: InitialValueProblem,
        inputs: Array | Mapping[str, Array] | None,
        offsets: Mapping[str, float],
        delays: Mapping[str, float],
        interpolation: Mapping[str, Interpolation],
    ) -> InitialValueProblem:
        """Return an initial-value problem with sampled inputs, offsets and delays."""
        names = [channel.name for channel in task.groups[0]]
        samples = self._samples(names, inputs)
        arguments: dict[str, Mapping[str, Any]] = {
            "inputs": samples, "offsets": offsets, "delays": delays, "interpolation": interpolation,
        }  # fmt: skip
        for argument, argument_values in arguments.items():
            for name in argument_values:
                where = f"{argument}: "
                require_known(name, names, "driven joint", where=where, error=SimulationError)
        channels = [
            replace(
                channel,
                profile=(
                    _table(
                        self.times,
                        samples[channel.name],
                        interpolation.get(channel.name, "linear"),
                    )
                    if channel.name in samples
                    else channel.profile
                ),
                begin=channel.begin + float(delays.get(channel.name, 0.0)),
                offset=float(offsets.get(channel.name, 0.0)),
            )
            for channel in task.groups[0]
        ]
        return replace(task, groups=(channels, *task.groups[1:]))

    @cached_property
    def _smooth(self) -> set[tuple[int, ...]]:
        """Phases, by the events before them, whose functions of time were already checked."""
        return set()

    def _refuse_functions_of_time(self, phase: StepSequence) -> None:
        """Raise FlexarmError if a parameter changes an event time or a function of time.

        The functions of time are inputs, targets and prescribed motions.
        """
        happened = tuple(phase.discrete.done)
        if happened in self._smooth:
            return
        model = self.equation.model
        task, held_joints = self._task(model, None, phase)
        stay = [model.names[k] for k in held_joints]
        for key, near in nearby(model, self.parameters).items():
            other = near.models[0]
            event_times, other_times = (
                [(e.at, e.after) for e in m.arm.events] for m in (model, other)
            )
            if event_times != other_times:
                raise FlexarmError(
                    f"parameters: '{key}' is the time of an event, which cannot "
                    "be a parameter. Leave it out."
                )
            there = self._task(other, None, phase)[0].groups
            for a, b in zip(chain(*task.groups), chain(*there), strict=True):
                if a.name in stay and a in task.groups[2]:
                    continue
                if a.begin != b.begin or not np.array_equal(a.pieces, b.pieces):
                    raise FlexarmError(
                        f"parameters: '{key}' changes {a.name} as a function of time, and "
                        "gradients are with respect to values at samples. Leave it out."
                    )
        self._smooth.add(happened)

    def _trajectories(self, trajectory: RecordedTrajectory) -> Trajectories:
        """Return the parts of a phase, simulated along steps that are chosen for this phase.

        An event at a zero crossing ends the phase early. The list is empty if the event happens at
        the start of the phase.
        """
        plan, events_seen, t = self._plan(trajectory.task, trajectory.plan)
        model, discrete, (begin, end) = (
            trajectory.model,
            plan.discrete,
            trajectory.t[[0, -1]].tolist(),
        )
        for _ in range(EVENT_ORDERINGS):
            if not events_seen or t >= end - instant(end):
                return [trajectory.by(plan)], (), end
            if t <= begin + 4 * instant(begin):  # the threshold is exceeded at the start
                now = (k for k, at in discrete.done.items() if at == begin)
                refuse_at_once(model, [*events_seen, *now], begin)
                refuse_released(model, discrete, begin, events_seen)
                return [], events_seen, begin
            phases = ended(trajectory, plan, events_seen[0], t)
            guess, t = t, float(phases[-1].t[-1])
            # no sample lies between the two guesses
            if np.diff(np.searchsorted(trajectory.t, [guess, t]))[0] == 0:
                break
        return phases, events_seen, t

    def _plan(
        self, task: InitialValueProblem, phase: StepSequence
    ) -> tuple[StepSequence, tuple[int, ...], float]:
        """Return the steps of a phase, the events at zero crossings that end it, and its end [s].

        A method with a fixed step size takes equal steps. For a method with adaptive steps, the
        steps are those that a simulation of the phase takes.
        """
        stops = apart(np.concatenate([task.times, task.jumps_inside]))
        if self.method.adaptive:
            recorded_ends, renewed, events_seen, t = recorded(task, self.method, self.rtol)
            stops = np.append(stops[stops < t], t)
            ends = divided(stops, recorded_ends, np.arange(float(len(recorded_ends))))
            if not self.method.solves_vibrations:
                return replace(phase, ends=ends), events_seen, t
            modes = np.zeros(len(ends) - 1, dtype=np.int64)
            modes[np.searchsorted(ends, renewed - roundings(renewed))] = 1
            return replace(phase, ends=ends, renewed=modes), events_seen, t
        # Smooth friction damps most at rest, which a moving joint may reach during the run.
        model, rest = task.equation.model, task
        if task.start.v.any():
            rest = self._task(model, _state(model, task.start.q, None), phase)[0]
        duration = float(self.times[-1] - self.times[0])
        h = equal_step(self.method, rest.vibration, duration, self.rtol, self.step)
        span = stops[[0, -1]]
        plan = replace(phase, ends=divided(stops, span, (span - span[0]) / h, self.finer))
        if not np.isfinite(task.bounds).any():
            return plan, (), 0.0
        return plan, *recorded(task, self.method, self.rtol, h / self.finer)[2:]


def _state(model: Model, q: Array | None, v: Array | None) -> State | None:
    """Return a state with the given coordinates or rates, 0 where not given; None without any."""
    if q is None and v is None:
        return None
    still, shape = np.zeros(model.size), (model.size,)
    return State(
        still if q is None else real_numbers("q", q, shape).copy(),
        still if v is None else real_numbers("v", v, shape).copy(),
    )


def _table(times: Array, values: Array, interpolation: Interpolation) -> Table[float]:
    return Table[float](
        kind="table", times=tuple(times.tolist()), values=tuple(values.tolist()),
        interpolation=interpolation,
    )  # fmt: skip


def differentiable(
    arm: Arm,
    *,
    t_end: WithUnit,
    dt: WithUnit | None = RunOptions.dt,
    parameters: Sequence[str] = (),
    method: MethodName | str = "rk4",
    rtol: float = RunOptions.rtol,
    step: WithUnit | None = RunOptions.step,
    formulation: FormulationName | str = RunOptions.formulation,
    inputs: Mapping[str, Any] | None = None,
    control: ca.Function | None = None,
) -> Differentiable:
    """Build differentiable simulations of an arm: functions of parameters, start and inputs.

    Parameters
    ----------
    arm
        The arm.
    t_end, dt, rtol, step, formulation, inputs, control
        As for `flexarm.simulate`; a control law must be a CasADi function.
    parameters
        Keys of numbers in the model file, such as ``payload.mass`` or
        ``links.1.joint.servo.damping``.
    method
        Integration method. ``rk4`` takes equal steps. ``dop853`` and ``etd4`` take as many steps
        between two samples as a simulation with adaptive steps; ``etd4`` recomputes its modes where
        that simulation did.

    Returns
    -------
    Differentiable
        Object whose method ``at`` simulates the arm. The result of ``at`` has methods ``gradient``
        and ``sensitivities``, which compute derivatives.

    Raises
    ------
    SimulationError
        If the arm cannot be simulated, or if it has an element that cannot be differentiated:
        quantities that end the run, ties of the tip, dry friction, brakes that slip, sampled
        servos, curvature jumps of a rail.
    """
    options = RunOptions.of(
        t_end=t_end, dt=dt, method=method, rtol=rtol, step=step, formulation=formulation,
        inputs=inputs, control=control,
    )  # fmt: skip
    require_names("parameters", parameters, "keys of the model file, such as ['payload.mass']")
    able = [name for name, candidate in METHODS.items() if candidate.tableau is not None]
    if method not in able:
        raise SimulationError(
            f"method: gradients need one of the methods {', '.join(able)}, got '{method}'"
        )
    if control is not None:
        require_kind("control", control, ca.Function, "a CasADi function (t, q, v) to u")
    model = build(validated(arm))
    keys = parameter_keys(arm, parameters) if parameters else ()
    equation = equation_of(model, name=formulation)
    times = sample_times(options.t_end, options.dt)
    ends = [event.at for event in model.arm.events if event.end and event.at]
    times = times_of(times, 0.0, min([float(times[-1]), *ends]))
    for part in model.links:
        if part.rail_jumps:
            raise SimulationError(
                f"gradients: the speed of {part.name} jumps at the nodes of its rail. Give its "
                "rail shapes without nodes, such as 'loaded'."
            )
    return Differentiable(
        equation, keys, times, METHODS[method], options.rtol, options.step,
        dict(inputs or {}),
        RateFunctions(control, tuple(event_functions_by_index(model).values())),
    )  # fmt: skip


def jax_function(runs: Differentiable) -> Callable[..., Any]:
    """Return a JAX function that maps (values, q, v, inputs) to (q, v) at the samples."""
    jax = _imported("jax")
    shape = (len(runs.times), runs.equation.model.size)
    kind = jax.numpy.zeros(0).dtype  # 64 bits if JAX is configured for them
    twice = (jax.ShapeDtypeStruct(shape, kind),) * 2

    @cache
    def function(names: tuple[str, ...]) -> Any:
        def gradients(arguments: tuple[Any, ...], seeds: tuple[Any, ...]) -> Any:
            like = tuple(jax.ShapeDtypeStruct(argument.shape, kind) for argument in arguments)
            back = partial(_cast, kind, partial(_back, runs, names))
            return jax.pure_callback(back, like, *arguments, *seeds)

        @jax.custom_vjp  # type: ignore[untyped-decorator]
        def run(*arguments: Any) -> Any:
            forward = partial(_cast, kind, partial(_run, runs, names))
            return jax.pure_callback(forward, twice, *arguments)

        run.defvjp(lambda *arguments: (run(*arguments), arguments), gradients)
        return run

    def simulate(values: Any, q: Any = None, v: Any = None, inputs: Any = None) -> Any:
        arguments = _arguments(runs, values, q, v, inputs)
        return function(tuple(arguments))(
            *(jax.numpy.asarray(argument) for argument in arguments.values())
        )

    return simulate


def torch_function(runs: Differentiable) -> Callable[..., Any]:
    """Return a PyTorch function that maps (values, q, v, inputs) to (q, v) at the samples."""
    torch = _imported("torch")

    def tensors(arrays: tuple[Array, ...], like: Any) -> tuple[Any, ...]:
        return tuple(
            torch.as_tensor(array, dtype=like.dtype, device=like.device) for array in arrays
        )

    class TorchRun(torch.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(context: Any, names: tuple[str, ...], *arguments: Any) -> Any:
            context.names = names
            context.save_for_backward(*arguments)
            return tensors(_run(runs, names, *(_plain(array) for array in arguments)), arguments[0])

        @staticmethod
        def backward(context: Any, *seeds: Any) -> Any:
            arguments = context.saved_tensors
            plain = (_plain(array) for array in (*arguments, *seeds))
            return None, *tensors(_back(runs, context.names, *plain), arguments[0])

    def simulate(values: Any, q: Any = None, v: Any = None, inputs: Any = None) -> Any:
        values = torch.as_tensor(values)
        arguments = _arguments(runs, values, q, v, inputs)
        like = {"dtype": values.dtype, "device": values.device}
        return TorchRun.apply(
            tuple(arguments), *(torch.as_tensor(x, **like) for x in arguments.values())
        )

    return simulate


def _arguments(runs: Differentiable, values: Any, q: Any, v: Any, inputs: Any) -> dict[str, Any]:
    """Return the arguments that are not None, by name.

    If only one of q and v is given, the other one is that of the model file.
    """
    if q is not None or v is not None:
        q, v = (own if x is None else x for own, x in zip(runs.start, (q, v), strict=True))
    every = {"values": values, "q": q, "v": v, "inputs": inputs}
    return {name: argument for name, argument in every.items() if argument is not None}


def _at(runs: Differentiable, names: tuple[str, ...], arrays: tuple[Any, ...]) -> HybridTrajectory:
    """Simulate the arm with named arguments; omitted arguments have their defaults."""
    numbers: Any = (np.asarray(array, dtype=float) for array in arrays)
    return runs.at(**dict(zip(names, numbers, strict=True)))


def _run(runs: Differentiable, names: tuple[str, ...], *arrays: Any) -> tuple[Array, ...]:
    run = _at(runs, names, arrays)
    return run.q, run.v


def _back(runs: Differentiable, names: tuple[str, ...], *arrays: Any) -> tuple[Array, ...]:
    seeds = (np.asarray(array, dtype=float) for array in arrays[len(names) :])
    gradient = _at(runs, names, arrays[: len(names)]).gradient(*seeds)
    by = {
        "values": gradient.parameters,
        "q": gradient.q,
        "v": gradient.v,
        "inputs": gradient.inputs,
    }
    return tuple(by[name] for name in names)


def _cast(kind: Any, function: Callable[..., tuple[Array, ...]], *arrays: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(result, dtype=kind) for result in function(*arrays))


def _plain(tensor: Any) -> Any:
    return tensor.detach().cpu().numpy()


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise FlexarmError(
            f"the package {name} is not installed. Run pip install {name}."
        ) from None
