"""State-dependent events: their times, and the jump of derivatives there.

Steps stay as they are when a number changes, but the time t of the event moves. A run in the steps
of another reaches the event by one more step, and returns by one more after it. Where the two runs
are one, both have no length, and a step of any method changes with its length there as the state
does with time: derivatives dy of the state become dy + (f - f') dt, with the rates f before and f'
after the event, and dt what keeps the quantity at its value; where the state jumps to g(y, t), they
become g_y dy + (g_y f + g_t - f') dt (saltation; Hiskens & Pai 2000, IEEE Trans. Circuits Syst. I
47(2), 204-220).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flexarm.arm.mission import Event
from flexarm.engine.compile import real_numbers
from flexarm.errors import SimulationError
from flexarm.formulations.equation import Equation
from flexarm.formulations.numbers.parameters import Nearby
from flexarm.gradients.events.kinetics import ComplexKinetics
from flexarm.gradients.events.phases import Phase, caught_again, value_of
from flexarm.gradients.plan import StepSequence, roundings
from flexarm.gradients.trajectory import RecordedTrajectory, RunGradient
from flexarm.integrate.mission.discrete import DiscreteState
from flexarm.integrate.mission.hybrid import times_of
from flexarm.integrate.mission.transitions import Transition
from flexarm.integrate.system import instant
from flexarm.integrate.task import InitialValueProblem
from flexarm.links.base import Array
from flexarm.model import Model

GRAZES = 1e-9  # of a quantity's size: one that would go beyond its value by less only touches it
SETTLED = 1e-9  # of the last step: by how much the time of an event may be unsettled
TANGENT = 1e-20  # of a unit: how long tangents are, whose products must vanish beside 1


@dataclass(frozen=True)
class Slopes:
    """Derivatives of state and bodies after events by those before, by numbers and by time."""

    by_state: Array  # (after, before), each the state and after it the bodies' numbers
    by_parameters: Array  # (after, k)
    by_time: Array  # (after,)


@dataclass(frozen=True)
class Entry:
    """Transition between two phases: rates, and bodies that the tip holds."""

    equation: Equation  # of the arm as it was given
    model: Model  # the arm
    arms: Callable[[], Mapping[str, Nearby]]  # others that differ a little in a parameter, by key
    before: Phase
    after: Phase
    t: float  # when they happen [s]

    @property
    def jumps(self) -> bool:
        """Whether rates, or what is carried, may change at all."""
        again = caught_again(self.model)
        return any(e.capture or e.brake or e.let_go in again for e in self._events)

    def state(self, y: Array) -> tuple[Array, Phase]:
        """Return the state after the events, and the phase with the discrete state then."""
        n, found = self.model.size, y.copy()
        found[n : 2 * n], after = self._entered(
            self.model, self.before.discrete, *self._split(y), self.t
        )
        return found, after

    def slopes(self, y: Array) -> Slopes:
        """Differentiate that: by tangents, but for numbers of the model file, by differences."""
        n, size, carried = self.model.size, len(y), self.before.carried
        given = np.concatenate([y[: 2 * n], carried, [self.t]])

        def found(model: Model, given: Array) -> Array:
            q, v, held, t = np.split(given, [n, 2 * n, len(given) - 1])
            discrete = self.before.carrying(held).discrete
            rates, after = self._entered(model, discrete, q, v, t.item())
            return np.concatenate([q, rates, y[2 * n :], after.carried])

        here = found(self.model, given)
        ways = 1j * TANGENT * np.eye(len(given))
        tangents = np.array([found(self.model, given + way).imag for way in ways]).T / TANGENT
        by_state = np.eye(len(here), size + len(carried))
        by_state[:, [*range(2 * n), *range(size, size + len(carried))]] = tangents[:, :-1]
        changed = [
            each.weights @ (np.array([found(model, given) for model in each.models]) - here)
            for each in self.arms().values()
        ]
        by_parameters = np.array(changed).reshape(-1, len(here)).T
        return Slopes(by_state, by_parameters, tangents[:, -1])

    def _split(self, y: Array) -> tuple[Array, Array]:
        n = self.model.size
        return y[:n], y[n : 2 * n]

    @property
    def _events(self) -> list[Event]:
        return [self.model.arm.events[k] for k in self.after.done if k not in self.before.done]

    def _entered(
        self, model: Model, discrete: DiscreteState, q: Array, v: Array, t: float
    ) -> tuple[Array, Phase]:
        """Apply the events, as a simulation does."""
        transition = transition_of(self.equation, model, discrete, t, q, v)
        after = self.after.entered(transition)
        return transition.v, after


def transition_of(
    equation: Equation, model: Model, discrete: DiscreteState, t: float, q: Array, v: Array
) -> Transition:
    """Start a transition of an arm whose numbers differ from an equation's."""

    def equation_in(state: DiscreteState) -> ComplexKinetics:
        return ComplexKinetics.of(equation, state.model(model))

    return Transition(model, equation_in, discrete, t, q, v)


@dataclass(frozen=True)
class Crossing:
    """Jump of derivatives at an event.

    They are of the state, followed by the numbers of captured bodies.
    """

    # by_before, by_number: how what is after it follows from what is before it, and from the
    # parameters, at one time.
    by_before: Array
    by_number: Array
    # off_before, off_number, gap: derivatives of the time at which it happens by what is before it
    # and by the parameters; what that time changes after it.
    off_before: Array
    off_number: Array
    gap: Array

    @classmethod
    def between(
        cls, before: RecordedTrajectory, after: RecordedTrajectory, entry: Entry
    ) -> "Crossing | None":
        """Compute the jump of derivatives from one phase to the next; None without a jump."""
        event, y, k = before.plan.phase.ended, before.states[-1], len(before.parameters)
        size = len(y) + len(before.plan.phase.carried)
        slopes = Slopes(np.eye(size), np.zeros((size, k)), np.zeros(size))
        if entry.jumps:
            slopes = entry.slopes(y)
        elif event < 0:
            return None
        by_before, by_number = slopes.by_state, slopes.by_parameters
        if event < 0:
            return cls(by_before, by_number, np.zeros(size), np.zeros(k), slopes.by_time)
        begin, rates = after.plan.phase.discrete.done[event], before.rates_at(-1)
        for channel in after.task.groups[3]:
            if channel.begin == begin and np.any(channel.pieces[:, 3:7]):
                raise SimulationError(
                    f"gradients: {channel.name}: its target moves from the time of an "
                    "event that depends on the motion. Give a constant target."
                )
        _, by_state, seen = before.looked(-1, event)
        off = seen @ before.along("pulled seen")
        here = value_of(before.model, event)
        for i, each in enumerate(before.nearby.values()):
            there = np.array([value_of(model, event) for model in each.models])
            off[i] -= each.weights @ (there - here)
        rate = -float(by_state @ rates)
        gap = by_before[:, : len(y)] @ rates + slopes.by_time
        gap[: len(y)] -= after.rates_at(0)
        return cls(by_before, by_number, np.append(by_state, off[k:]) / rate, off[:k] / rate, gap)

    def pushed(self, slopes: Array) -> Array:
        """Propagate derivatives, one column each, from before the event to after it."""
        late, found = self.off_before @ slopes, self.by_before @ slopes
        count = len(self.off_number)
        late[:count] += self.off_number
        found[:, :count] += self.by_number
        return np.asarray(found + np.outer(self.gap, late))

    def pulled(self, by: Array) -> tuple[Array, Array]:
        """Propagate derivatives back to before the event; return them with those by numbers."""
        late = float(self.gap @ by)
        return by @ self.by_before + late * self.off_before, by @ self.by_number + (
            late * self.off_number
        )


def reached(
    leg: RecordedTrajectory, plan: Callable[[float], StepSequence], t: float
) -> RecordedTrajectory:
    """End a phase where its event function is zero, near a time [s] (Newton)."""
    event, model, moved = plan(t).phase.ended, leg.model, np.inf
    value = value_of(model, event)
    while True:
        found = leg.by(plan(t))
        off, rate = _beyond(found, -1, event, value)
        step = -off / rate if rate else np.nan
        if not abs(step) < moved / 2:
            break
        t, moved = t + step, abs(step)
    first, last = _beyond(found, 0, event, value), abs(found.t[-1] - found.t[0])
    depth = rate**2 / 2 / max(abs(rate - first[1]) / last, 1e-300)
    size = max(abs(value), abs(first[0]))
    if not moved <= SETTLED * last or depth < GRAZES * size:
        title = model.arm.events[event].title
        raise SimulationError(
            f"gradients: '{title}' happens at t = {t:.6g} s where its quantity only "
            "touches its value, so its time has no derivative. Choose a value that the "
            "quantity passes at a speed."
        )
    return found


def ended(
    leg: RecordedTrajectory, plan: StepSequence, event: int, t: float
) -> list[RecordedTrajectory]:
    """End a phase by an event near a time [s]: whole steps, and a partial one to the event."""
    ends, phase, found = plan.ends[plan.ends < t - 2 * instant(t)], plan.phase, []
    last = float(ends[-1])
    if len(ends) > 1:
        times = times_of(phase.times, float(ends[0]), last)
        whole = StepSequence(ends, replace(phase, times=times), plan.renewed[: len(ends) - 1])
        found = [leg.by(whole)]
        leg = replace(leg, like=leg.like or found[0]).begun(found[0].states[-1])

    def until(t: float) -> StepSequence:
        ends = np.array([last, t])
        return StepSequence(
            ends, replace(phase, times=ends, ended=event), np.minimum(plan.renewed[:1], 1)
        )

    return [*found, reached(leg, until, t)]


def _beyond(leg: RecordedTrajectory, sample: int, event: int, value: float) -> tuple[float, float]:
    """Return the event function and its rate at a sample of a phase."""
    found, by_state, _ = leg.looked(sample, event)
    return found - value, float(by_state @ leg.rates_at(sample))


def require_like(first: InitialValueProblem, other: InitialValueProblem) -> None:
    """Raise an error for a phase whose servos have other states than those of the first."""
    one, two = (task.motion.actuators.state_names for task in (first, other))
    if one != two:
        raise SimulationError(
            "gradients: an event gives a servo an integral, or takes it away. Give it "
            "one with a long integral_time instead."
        )


@dataclass(frozen=True)
class HybridTrajectory:
    """A run in parts, from one event to the next, and the derivatives of its samples."""

    parts: tuple[RecordedTrajectory, ...]
    t: Array  # times of the samples [s], (T,)
    entries: tuple[Entry | None, ...]  # between two parts; None within a phase

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return self.parts[0].n

    @property
    def steps(self) -> Array:
        """Ends of the steps [s], the samples among them."""
        ends = [part.steps[:-1] for part in self.parts]
        return np.concatenate([*ends, self.parts[-1].steps[-1:]])

    @cached_property
    def states(self) -> Array:
        """Coordinates, rates, and states of servos and drives at the samples, (T, size)."""
        return self._joined([part.states for part in self.parts])

    @cached_property
    def _crossings(self) -> list[Crossing | None]:
        """Jump of derivatives at the begin of each phase; None without a jump."""
        found: list[Crossing | None] = [None]
        for a, b, entry in zip(self.parts, self.parts[1:], self.entries, strict=False):
            found.append(None if entry is None else Crossing.between(a, b, entry))
        return found

    def state_sensitivities(self, inputs: int = 0) -> Array:
        """Differentiate the whole states at the samples by the parameters, (T, size, k).

        With ``inputs``, also by a constant addition to each of these: so many more columns.
        """
        found: list[Array] = []
        slopes: Array | None = None
        for part, crossing in zip(self.parts, self._crossings, strict=True):
            if slopes is not None and crossing is not None:
                slopes = crossing.pushed(slopes)
            found.append(part.state_sensitivities(inputs, slopes))
            carried = np.zeros((0, found[-1].shape[2])) if slopes is None else slopes[part.size :]
            slopes = np.concatenate([found[-1][-1], carried])
        return self._joined(found)

    def pulled(self, seeds: Array) -> tuple[Array, Array, Array]:
        """Propagate derivatives by the states at the samples, (T, size), back.

        They become derivatives by the parameters, the first state and the inputs.
        """
        size, count = seeds.shape[1], len(self.parts[0].parameters)
        by = np.zeros(size + len(self.parts[-1].plan.phase.carried))
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
        """Coordinates at the samples, (T, n)."""
        return self.states[:, : self.n]

    @property
    def v(self) -> Array:
        """Rates at the samples, (T, n)."""
        return self.states[:, self.n : 2 * self.n]

    def sensitivities(self) -> tuple[Array, Array]:
        """Differentiate all samples by the parameters, forward: of q and of v, (T, n, k) each."""
        rows = self.state_sensitivities()
        return rows[:, : self.n], rows[:, self.n : 2 * self.n]

    def gradient(self, by_q: Array, by_v: Array | None = None) -> RunGradient:
        """Differentiate a function of the samples by all inputs of the run, backward.

        Parameters
        ----------
        by_q, by_v
            Derivatives of the function by the samples of q and v, (T, n) each; 0 if None.

        Notes
        -----
        It takes some five times as long as the run, however many parameters there are.  States are
        kept at checkpoints alone, whose number is the root of the number of steps.
        """
        n, seeds = self.n, np.zeros(self.states.shape)
        seeds[:, :n] = real_numbers("by_q", by_q, (len(seeds), n))
        if by_v is not None:
            seeds[:, n : 2 * n] = real_numbers("by_v", by_v, (len(seeds), n))
        by_numbers, by_start, by_inputs = self.pulled(seeds)
        return RunGradient(by_numbers, by_start[:n], by_start[n : 2 * n], by_inputs)

    @cached_property
    def _own(self) -> list[NDArray[np.bool_]]:
        """Return which times of each phase are samples; one between two phases is of the second."""
        found = []
        for part in self.parts:
            near = np.minimum(np.searchsorted(self.t, part.t - roundings(part.t)), len(self.t) - 1)
            own = np.abs(self.t[near] - part.t) <= roundings(part.t)
            own[-1] &= part is self.parts[-1]
            found.append(own)
        return found

    def _joined(self, rows: list[Array]) -> Array:
        return np.concatenate([each[own] for each, own in zip(rows, self._own, strict=True)])
