"""Events at zero crossings: how event time and derivatives depend on parameters.

If a parameter changes, the integration steps stay as they are, but the event time t changes. A
simulation along the steps of another one therefore takes an additional step up to the event, and
another one after it; their lengths are 0 if both simulations are identical. At the event, the
derivative of the state y jumps from dy to dy + (f - f') dt, where f and f' are the time derivatives
of y before and after the event, and dt is the change of the event time at which the event function
reaches its threshold. If the state itself jumps to g(y, t), its derivative after the event is g_y
dy + (g_y f + g_t - f') dt (saltation; Hiskens & Pai 2000, IEEE Trans. Circuits Syst. I 47(2),
204-220).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flexarm.engine.compile import real_numbers
from flexarm.errors import SimulationError
from flexarm.formulations.equation import Equation
from flexarm.formulations.numbers import Nearby
from flexarm.gradients.constants import COMPLEX_STEP, EVENT_TIME_ERROR, LEAST_OVERSHOOT
from flexarm.gradients.events.phases import (
    ComplexKinetics,
    captured_repeatedly,
    carried,
    carrying,
    value_of,
)
from flexarm.gradients.plan import StepSequence, roundings
from flexarm.gradients.trajectory import RecordedTrajectory, RunGradient
from flexarm.integrate.mission.discrete import DiscreteState
from flexarm.integrate.mission.hybrid import times_of
from flexarm.integrate.mission.transitions import Transition
from flexarm.integrate.system import instant
from flexarm.model import Model
from flexarm.spatial import Array


@dataclass(frozen=True)
class Crossing:
    """Jump, at an event, of the derivatives of the state with respect to parameters.

    Vectors contain the state, followed by poses and velocities of captured bodies.
    """

    # by_before, by_number: derivatives of the values after the event, at a fixed time, with respect
    # to the values before the event and to the parameters.
    by_before: Array
    by_number: Array
    # off_before, off_number: derivatives of the event time with respect to the values before the
    # event and to the parameters. gap: derivative of the values after the event with respect to the
    # event time.
    off_before: Array
    off_number: Array
    gap: Array

    def pushed(self, slopes: Array) -> Array:
        """Convert derivatives of the state before the event to those after it, one per column."""
        late, change = self.off_before @ slopes, self.by_before @ slopes
        count = len(self.off_number)
        late[:count] += self.off_number
        change[:, :count] += self.by_number
        return np.asarray(change + np.outer(self.gap, late))

    def pulled(self, by: Array) -> tuple[Array, Array]:
        """Convert derivatives with respect to the state after an event to those before it.

        The argument ``by`` contains derivatives of a scalar function with respect to the values
        after the event. The function's derivatives with respect to the parameters, through the
        event, are returned too.
        """
        late = float(self.gap @ by)
        return by @ self.by_before + late * self.off_before, by @ self.by_number + (
            late * self.off_number
        )


@dataclass(frozen=True)
class Entry:
    """Transition between two phases: jump of the rates and change of the bodies at the tip."""

    equation: Equation  # equation of motion of the arm as given
    model: Model  # model of the arm
    arms: Callable[[], Mapping[str, Nearby]]  # perturbed models by key
    before: DiscreteState
    due: tuple[int, ...]  # indices of the events at this transition
    t: float  # time of the events [s]

    @property
    def jumps(self) -> bool:
        """Whether the events of the transition can change the rates or the mass at the tip."""
        again, events = captured_repeatedly(self.model), self.model.arm.events
        due = (events[k] for k in self.due)
        return any(e.capture or e.brake or e.let_go in again for e in due)

    def state(self, y: Array) -> tuple[Array, DiscreteState]:
        """Return the state after the events, (size,), and the discrete state after them."""
        n, state = self.model.size, y.copy()
        state[n : 2 * n], after = self._entered(
            self.model, self.before, y[:n], y[n : 2 * n], self.t
        )
        return state, after

    def crossing(self, y: Array) -> Crossing:
        """Return d(state after events) / d(prior state, parameters, event time).

        Derivatives with respect to state and time are computed by complex steps, derivatives with
        respect to parameters by finite differences.
        """
        n, size, numbers = self.model.size, len(y), carried(self.before)
        point = np.concatenate([y[: 2 * n], numbers, [self.t]])

        def result(model: Model, point: Array) -> Array:
            q, v, pose_numbers, t = np.split(point, [n, 2 * n, len(point) - 1])
            rates, after = self._entered(model, carrying(self.before, pose_numbers), q, v, t.item())
            return np.concatenate([q, rates, y[2 * n :], carried(after)])

        here = result(self.model, point)
        ways = 1j * COMPLEX_STEP * np.eye(len(point))
        tangents = np.array([result(self.model, point + way).imag for way in ways]).T / COMPLEX_STEP
        by_state = np.eye(len(here), size + len(numbers))
        by_state[:, [*range(2 * n), *range(size, size + len(numbers))]] = tangents[:, :-1]
        changed = [
            nearby_arm.weights
            @ (np.array([result(model, point) for model in nearby_arm.models]) - here)
            for nearby_arm in self.arms().values()
        ]
        by_parameters = np.array(changed).reshape(-1, len(here)).T
        late, off = np.zeros(by_state.shape[1]), np.zeros(len(changed))
        return Crossing(by_state, by_parameters, late, off, tangents[:, -1])

    def _entered(
        self, model: Model, discrete: DiscreteState, q: Array, v: Array, t: float
    ) -> tuple[Array, DiscreteState]:
        """Return rates and discrete state after the events, computed as in a simulation.

        The parameter values of the model may differ from those of the equation of motion.
        """

        def equation_in(state: DiscreteState) -> ComplexKinetics:
            return ComplexKinetics.of(self.equation, state.model(model))

        transition = Transition(model, equation_in, discrete, t, q, v)
        transition.apply(self.due)
        again, after = captured_repeatedly(model), transition.discrete
        freed = {name: body for name, body in after.freed.items() if name in again}
        return transition.v, replace(after, freed=freed)


def crossing_between(
    before: RecordedTrajectory, after: RecordedTrajectory, entry: Entry
) -> Crossing | None:
    """Return the jump of derivatives between two phases; None if they do not jump."""
    event, y, k = before.plan.ended, before.states[-1], len(before.parameters)
    size = len(y) + len(carried(before.plan.discrete))
    none = np.zeros(size)
    crossing = Crossing(np.eye(size), np.zeros((size, k)), none, np.zeros(k), none)
    if entry.jumps:
        crossing = entry.crossing(y)
    elif event < 0:
        return None
    if event < 0:
        return crossing
    begin, rates = after.plan.discrete.done[event], before.rates_at(-1)
    for channel in after.task.groups[3]:
        if channel.begin == begin and np.any(channel.pieces[:, 3:7]):
            raise SimulationError(
                f"gradients: the target of {channel.name} moves from the time of an event "
                "that depends on the motion. Give a constant target."
            )
    _, by_state, by_numbers = before.event_value(-1, event)
    off = by_numbers @ before.along("pulled event_values")
    here = value_of(before.model, event)
    for i, nearby_arm in enumerate(before.nearby.values()):
        there = np.array([value_of(model, event) for model in nearby_arm.models])
        off[i] -= nearby_arm.weights @ (there - here)
    rate = -float(by_state @ rates)
    gap = crossing.by_before[:, : len(y)] @ rates + crossing.gap
    gap[: len(y)] -= after.rates_at(0)
    late = np.append(by_state, off[k:]) / rate
    return replace(crossing, off_before=late, off_number=off[:k] / rate, gap=gap)


def reached(
    trajectory: RecordedTrajectory, plan: Callable[[float], StepSequence], t: float
) -> RecordedTrajectory:
    """Return a phase that ends at its event, whose time is found from a guess t [s].

    The event time is found by Newton's method. The function ``plan`` maps an end time to the
    integration steps of the phase. SimulationError is raised if the event function touches its
    threshold without crossing it.
    """
    event, model, moved = plan(t).ended, trajectory.model, np.inf
    value = value_of(model, event)
    while True:
        phase = trajectory.by(plan(t))
        off, rate = _beyond(phase, -1, event, value)
        step = -off / rate if rate else np.nan
        if not abs(step) < moved / 2:
            break
        t, moved = t + step, abs(step)
    first, last = _beyond(phase, 0, event, value), abs(phase.t[-1] - phase.t[0])
    depth = rate**2 / 2 / max(abs(rate - first[1]) / last, 1e-300)
    size = max(abs(value), abs(first[0]))
    if not moved <= EVENT_TIME_ERROR * last or depth < LEAST_OVERSHOOT * size:
        title = model.arm.events[event].title
        raise SimulationError(
            f"gradients: '{title}' happens at t = {t:.6g} s, where its quantity touches its "
            "value without crossing, so that its time has no derivative. Choose a value that "
            "the quantity passes at a speed."
        )
    return phase


def ended(
    trajectory: RecordedTrajectory, plan: StepSequence, event: int, t: float
) -> list[RecordedTrajectory]:
    """Return the parts of a phase up to an event near time t [s].

    The first part of the phase consists of the whole steps before the event, the second of a
    shorter step that ends at the event.
    """
    ends, phases = plan.ends[plan.ends < t - 2 * instant(t)], []
    last = float(ends[-1])
    if len(ends) > 1:
        times = times_of(plan.times, float(ends[0]), last)
        whole = replace(plan, ends=ends, times=times, renewed=plan.renewed[: len(ends) - 1])
        phases = [trajectory.by(whole)]
        trajectory = replace(trajectory, like=trajectory.like or phases[0]).begun(
            phases[0].states[-1]
        )

    def until(t: float) -> StepSequence:
        ends = np.array([last, t])
        return replace(plan, ends=ends, times=ends, ended=event, renewed=plan.renewed[:1])

    return [*phases, reached(trajectory, until, t)]


def _beyond(
    trajectory: RecordedTrajectory, sample: int, event: int, value: float
) -> tuple[float, float]:
    """Return how far an event function is above its threshold, and its time derivative.

    The threshold is ``value``, and the event function is evaluated at the first or the last sample.
    """
    quantity_value, by_state, _ = trajectory.event_value(sample, event)
    return quantity_value - value, float(by_state @ trajectory.rates_at(sample))


@dataclass(frozen=True)
class HybridTrajectory:
    """A simulation in parts between events, and derivatives of its samples."""

    parts: tuple[RecordedTrajectory, ...]
    t: Array  # sample times [s], (T,)
    entries: tuple[Entry | None, ...]  # transitions between parts; None within a phase

    @property
    def n(self) -> int:
        """Number of coordinates of the arm."""
        return self.parts[0].n

    @property
    def steps(self) -> Array:
        """Step boundaries [s] of all parts of the simulation, sample times included."""
        ends = [part.steps[:-1] for part in self.parts]
        return np.concatenate([*ends, self.parts[-1].steps[-1:]])

    @cached_property
    def states(self) -> Array:
        """States at T samples, (T, size): coordinates, rates, states of servos and drives."""
        return self._joined([part.states for part in self.parts])

    @cached_property
    def _crossings(self) -> list[Crossing | None]:
        """Jump of the derivatives at the start of each part; None where they do not jump."""
        crossings: list[Crossing | None] = [None]
        for a, b, entry in zip(self.parts, self.parts[1:], self.entries, strict=False):
            crossings.append(None if entry is None else crossing_between(a, b, entry))
        return crossings

    def state_sensitivities(self, inputs: int = 0) -> Array:
        """Compute derivatives d states / d parameters at T samples, (T, size, k).

        After the columns for the parameters follow ``inputs`` columns with derivatives with respect
        to constants added to the inputs.
        """
        sensitivities: list[Array] = []
        slopes: Array | None = None
        for part, crossing in zip(self.parts, self._crossings, strict=True):
            if slopes is not None and crossing is not None:
                slopes = crossing.pushed(slopes)
            sensitivities.append(part.state_sensitivities(inputs, slopes))
            held_slopes = (
                np.zeros((0, sensitivities[-1].shape[2])) if slopes is None else slopes[part.size :]
            )
            slopes = np.concatenate([sensitivities[-1][-1], held_slopes])
        return self._joined(sensitivities)

    def pulled(self, seeds: Array) -> tuple[Array, Array, Array]:
        """Compute derivatives of a scalar function of the samples, by the adjoint method.

        The argument ``seeds``, (T, size), contains derivatives of the scalar function with respect
        to the states at the samples. The method returns derivatives of the function with respect to
        the parameters, (k,), to the first state, (size,), and to the inputs at the samples, (T,
        inputs).
        """
        size, count = seeds.shape[1], len(self.parts[0].parameters)
        by = np.zeros(size + len(carried(self.parts[-1].plan.discrete)))
        numbers, inputs = np.zeros(count), np.zeros(0)
        for k in reversed(range(len(self.parts))):
            part, own, crossing = self.parts[k], self._own[k], self._crossings[k]
            mine, left = np.zeros((len(part.t), size)), len(seeds) - np.count_nonzero(own)
            mine[own], seeds = seeds[left:], seeds[:left]
            mine[-1] += by[:size]
            by_numbers, by_start, by_inputs = part.pulled(mine)
            by = np.concatenate([by_start, by_numbers[count:] + by[size:]])
            numbers = numbers + by_numbers[:count]
            if crossing is not None:
                by, more = crossing.pulled(by)
                numbers = numbers + more
            inputs = by_inputs + (inputs if len(inputs) else 0.0)
        return numbers, by[:size], inputs

    @property
    def q(self) -> Array:
        """Coordinates at T samples, (T, n)."""
        return self.states[:, : self.n]

    @property
    def v(self) -> Array:
        """Rates of the coordinates at T samples, (T, n)."""
        return self.states[:, self.n : 2 * self.n]

    def sensitivities(self) -> tuple[Array, Array]:
        """Compute derivatives of q and v at T samples with respect to k parameters, (T, n, k) each.

        The derivatives are propagated forward in time, so that the cost is proportional to the
        number of parameters.
        """
        rows = self.state_sensitivities()
        return rows[:, : self.n], rows[:, self.n : 2 * self.n]

    def gradient(self, by_q: Array, by_v: Array | None = None) -> RunGradient:
        """Compute d function / d(parameters, start, inputs) of a scalar function of samples.

        Parameters
        ----------
        by_q, by_v
            Derivatives of the function with respect to q and v at the samples, shape (T, n) each;
            ``by_v`` is 0 if None.

        Notes
        -----
        The adjoint method takes about five times as long as the simulation, for any number of
        parameters. States are stored at checkpoints only, whose number is about the square root of
        the number of steps.
        """
        n, seeds = self.n, np.zeros(self.states.shape)
        seeds[:, :n] = real_numbers("by_q", by_q, (len(seeds), n))
        if by_v is not None:
            seeds[:, n : 2 * n] = real_numbers("by_v", by_v, (len(seeds), n))
        by_numbers, by_start, by_inputs = self.pulled(seeds)
        return RunGradient(by_numbers, by_start[:n], by_start[n : 2 * n], by_inputs)

    @property
    def inputs(self) -> Array:
        """Inputs at T samples, with offsets and delays, (T, inputs)."""
        channels = self.parts[0].task.groups[0]
        values = [channel.at(self.t)[0] for channel in channels]
        return np.array(values).reshape(len(channels), len(self.t)).T

    @cached_property
    def _own(self) -> list[NDArray[np.bool_]]:
        """Masks of the times that are samples, one mask per part of the simulation.

        A sample at the boundary between two parts belongs to the later part.
        """
        indices = []
        for part in self.parts:
            near = np.minimum(np.searchsorted(self.t, part.t - roundings(part.t)), len(self.t) - 1)
            own = np.abs(self.t[near] - part.t) <= roundings(part.t)
            own[-1] &= part is self.parts[-1]
            indices.append(own)
        return indices

    def _joined(self, rows: list[Array]) -> Array:
        return np.concatenate([values[own] for values, own in zip(rows, self._own, strict=True)])
