"""Hybrid simulation: the phases of a run, and the events between them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from flexarm.arm.mission import Event
from flexarm.arm.profile import Constant
from flexarm.errors import SimulationError
from flexarm.formulations.equation import Equation
from flexarm.integrate.actuators import Acting, Actuators, actuators_of, impulses
from flexarm.integrate.bounds import RTOL
from flexarm.integrate.drivetrain import (
    Slipping,
    SpringDamper,
    StickSlip,
    accounts,
    holders,
    tie_account,
)
from flexarm.integrate.laws import Sampled
from flexarm.integrate.mission.discrete import DiscreteState, Locks, instants, legs
from flexarm.integrate.mission.event_functions import EventFunction, require_quantities
from flexarm.integrate.mission.slipping import MOST_AT_ONCE
from flexarm.integrate.mission.starts import first_state
from flexarm.integrate.mission.transitions import Transition
from flexarm.integrate.problem import Channel
from flexarm.integrate.solve import Solution
from flexarm.integrate.system import IMPULSES, WORKS, instant
from flexarm.integrate.task import InitialValueProblem, State, prepare
from flexarm.linear.equilibrium import Equilibrium
from flexarm.links.base import Array
from flexarm.model import Model
from flexarm.runs.data import EventRecord, PendingEvent, RunData, RunLeg
from flexarm.runs.run import Run
from flexarm.spatial import ACCUMULATED

BEGINNING = 1e-3  # [s] duration of a run of which the first instant alone is used


@dataclass(frozen=True)
class Guard:
    """An event function with what it triggers: an event, or a coordinate that sticks or slips."""

    lookout: EventFunction
    event: int = -1
    holder: str = ""


class HybridSimulation:
    """A run in legs, each in its own discrete state.

    Parameters
    ----------
    model
        The arm.
    locks
        Intervals of time in which joints are locked.
    t_end
        The end [s].
    equation
        Makes the equation of a model.
    """

    def __init__(
        self, model: Model, locks: Locks, t_end: float, equation: Callable[[Model], Equation]
    ) -> None:
        self.model, self.t_end, self._equation = model, t_end, equation
        self.events: tuple[Event, ...] = model.arm.events
        self._legs = legs(model, locks, t_end)
        self._holders = holders(model)
        self._accounts = accounts(model)
        self.looks = self._look_for()
        times = [leg.begin for leg in self._legs]
        times += [t for e in self.events for t in ([e.after] if e.at is None else [e.at])]
        self.instants = instants([t for t in times if t > 0], t_end)
        self.start = self.discrete = DiscreteState.at_start(model, self._legs[0].locked)
        # machine code is of any load where it changes
        self._loads = any(event.capture or event.let_go for event in self.events)
        self.log: list[EventRecord] = []
        self._equations: dict[str, Equation] = {}
        self._places: dict[int, int] = {}  # of events in the log
        self._changes = (0.0, 0)

    @property
    def single(self) -> bool:
        """Whether the run is of one leg, whatever happens."""
        return len(self.instants) == 2 and not self.looks and not self.events

    @property
    def plain(self) -> bool:
        """Whether the arm is all the time as its model has it."""
        return self.single and not self.discrete.holding(self.model)

    def foreseen_legs(self) -> int:
        """Count the legs after the first whose equations are new, as far as events tell.

        Brakes that can slip stop their joints one after another; dry friction holds or slips once.
        """
        held, locked = self.start.braked, {leg.locked for leg in self._legs}
        known, between = {held}, 0
        times = [event.after if event.at is None else event.at for event in self.events]
        for i in sorted(range(len(times)), key=times.__getitem__):
            event = self.events[i]
            if times[i] >= self.t_end:
                break
            slips = [h for h in self._holders.values() if h.able and h.axis.name in event.brake]
            between += max(len([h for h in slips if h.axis.name not in held]) - 1, 0)
            between += (event.attach is not None) + (event.detach is not None)
            held = held - set(event.release) | set(event.brake)
            known.add(held)
        dry = sum(bool(holder.frictions) for holder in self._holders.values())
        return len(known) + len(locked) - 2 + between + dry

    def leg(self, model: Model) -> RunLeg:
        """Return what a run keeps of the present leg."""
        tip = model.links[-1].tip_body if self.discrete.loaded(self.model) else None
        return RunLeg(0, model.prescribed, tip)

    def _able(self) -> list[StickSlip]:
        """List what can slip: brakes and dry friction of joints that are not locked."""
        loose = (h for h in self._holders.values() if h.axis.name not in self.discrete.locked)
        return [holder for holder in loose if holder.able]

    def _look_for(self) -> tuple[Guard, ...]:
        found = []
        require_quantities(self.model)
        for i, event in enumerate(self.events):
            if event.when is not None:
                found.append(Guard(EventFunction.of(self.model, event.when.quantity), event=i))
        for name, holder in self._holders.items():
            if holder.able:
                found.append(Guard(EventFunction("effort", holder.index), holder=name))
                found.append(Guard(EventFunction("speed", holder.index), holder=name))
        return tuple(found)

    def equation(self, anchor: Array, discrete: DiscreteState | None = None) -> Equation:
        """Return the equation of the present discrete state, or of another."""
        discrete = discrete or self.discrete
        if discrete.key not in self._equations:
            made = self._equation(replace(discrete.model(self.model), load_given=self._loads))
            self._equations[discrete.key] = made
        return self._equations[discrete.key].anchored(anchor)

    def first(
        self,
        start: RunData | Equilibrium | Literal["stated", "equilibrium"],
        inputs: Mapping[str, Any] | None = None,
        *,
        law: bool = False,
    ) -> State:
        """Return the state that a run begins in, events at time 0 included.

        Raises
        ------
        SimulationError
            If there is no such state, or an event at time 0 cannot happen.
        """
        locked = set(self.discrete.locked)
        state, self.home = first_state(self.model, start, inputs or {}, law=law, locked=locked)
        transition = self._transition(state)
        transition.turn_brakes()
        state = self.enter(self._after(transition, state))
        ends = [k + 1 for k in sorted(self.discrete.done) if self.events[k].end]
        if ends:
            raise SimulationError(
                f"events[{ends[0]}]: ends the run at time 0. Give it a later time."
            )
        if law and any(event.servo for event in self.events):
            raise SimulationError(
                "control: a law replaces the servos, which events change. Leave one of them out."
            )
        return state

    def leg_end(self, t: float) -> float:
        """Return the time at which a leg from t ends, unless something happens before."""
        return next((each for each in self.instants if each - t > instant(t)), self.t_end)

    def actuators(self, model: Model) -> Actuators:
        """Return what drives the arm in the present discrete state, and what is looked out for."""
        lookouts = tuple(self._placed(look) for look in self.looks)
        slipping = [Slipping.of(holder) for holder in self._able()]
        ties = [
            SpringDamper(tie_account(name), float(tie.stiffness), float(tie.damping))
            for name, (tie, _, _) in self.discrete.ties.items()
        ]
        return actuators_of(
            model, slipping=slipping, ties=ties, told_apart=self._accounts, lookouts=lookouts
        )

    def tied(self) -> list[Channel]:
        """Return the places that the tip is tied to as functions of time, three by three."""
        found = []
        for name, (tie, place, begin) in self.discrete.ties.items():
            still = [Constant[float](kind="constant", value=float(x)) for x in place]
            found += [Channel(f"tie {name}", path, begin) for path in tie.path or still]
        return found

    def _placed(self, look: Guard) -> EventFunction:
        """Add to a distance the path of its body, or the first one if it no longer counts."""
        if look.lookout.kind != "distance":
            return look.lookout
        now = self.discrete if self._counts(look) else self.start
        try:
            path = now.free_body(look.lookout.body, self.model).path()
        except SimulationError as error:
            raise SimulationError(f"events[{look.event + 1}].when: {error}") from None
        return replace(look.lookout, path=path)

    def _counts(self, look: Guard) -> bool:
        """Return whether an event is still to come; the distance of a body that is held is none."""
        return look.event not in self.discrete.done and (
            look.lookout.kind != "distance" or look.lookout.body not in self.discrete.held
        )

    def sought(self, t: float) -> dict[int, EventFunction]:
        """Return what a leg from a time [s] looks out for, by the number of the event."""
        return {
            look.event: self._placed(look)
            for look in self.looks
            if look.event >= 0
            and self._counts(look)
            and self.events[look.event].after <= t + instant(t)
        }

    def efforts(self) -> Array:
        """Return the effort of each brake that can slip, and the way in which friction acts."""
        found: list[float] = []
        for holder in self._able():
            way = -self.discrete.closed.get(holder.name, 0)
            braked = holder.axis.name in self.discrete.braked
            brake = (holder.brake or 0.0) if braked and way else 0.0
            found += [way * brake, way]
        return np.array(found, dtype=float)

    def bounds(self, state: State) -> tuple[Array, Array]:
        """Return the bounds of what is looked out for; infinite where it does not count now.

        What slips holds at standstill; what breaks away is there at first, but for rounding.
        """
        rounded = ACCUMULATED * float(np.abs(state.v).max(initial=0.0))
        low, high = np.full(len(self.looks), -np.inf), np.full(len(self.looks), np.inf)
        sought = self.sought(state.t)
        for k, look in enumerate(self.looks):
            if look.event >= 0:
                when = self.events[look.event].when
                assert when is not None
                if look.event in sought:
                    low[k], high[k] = look.lookout.bounds(when)
                continue
            holder = self._holders[look.holder]
            locked = holder.axis.name in self.discrete.locked
            slipping = None if locked else self.discrete.closed.get(look.holder)
            if look.lookout.kind == "effort" and slipping == 0:
                high[k] = self.discrete.capacity(holder)
                low[k] = -high[k]
            elif look.lookout.kind == "speed" and slipping:
                rest = 0.0 if state.v[look.lookout.index] else rounded
                low[k], high[k] = (-rest, np.inf) if slipping > 0 else (-np.inf, rest)
        return low, high

    def enter(self, state: State) -> State:
        """Apply locks and events that are due at a time."""
        t = state.t
        leg = next(leg for leg in reversed(self._legs) if leg.begin <= t + instant(t))
        self.discrete = replace(self.discrete, locked=leg.locked)
        return self._happen(self._due(t), state)

    def _due(self, t: float) -> list[int]:
        """List events at times that have come."""
        return [
            i
            for i, event in enumerate(self.events)
            if event.at is not None and i not in self.discrete.done and event.at <= t + instant(t)
        ]

    def seen(self, looks: Sequence[int], value: float, state: State) -> State:
        """Apply what guards have triggered: all events that come at once, or one stick or slip."""
        look = self.looks[looks[0]]
        if look.event >= 0:
            own = [self.looks[k] for k in looks if k < len(self.looks)]  # then nodes
            due = [each.event for each in own if each.event >= 0]
            return self._happen(due + self._due(state.t), state)
        before, count = self._changes
        count = count + 1 if state.t - before <= instant(state.t) else 0
        self._changes = (state.t, count)
        if count > MOST_AT_ONCE:
            raise SimulationError(
                f"{look.holder}: neither sticks nor slips. Check the loads there."
            )
        holder, begins = self._holders[look.holder], look.lookout.kind == "effort"
        what = "begins to slip" if begins else "holds"
        braked = holder.axis.name in self.discrete.braked and holder.brake is not None
        which = f"brake of {holder.axis.name}" if braked else f"friction of {holder.name}"
        self.log.append(EventRecord(state.t, f"{which} {what}"))
        transition = self._transition(state)
        effort, rate = (value, 0.0) if begins else (0.0, value)
        transition.turn(look.holder, effort, rate)
        return self._after(transition, state)

    def _happen(self, due: Sequence[int], state: State) -> State:
        """Apply the events of one instant."""
        transition = self._transition(state)
        try:
            transition.apply(due)
        finally:  # an event that cannot happen ends the run, and is not pending
            self.discrete = transition.discrete
        for k in [k for k in transition.discrete.done if k in due]:
            self._places[k] = len(self.log)
            self.log.append(EventRecord(state.t, self.events[k].title))
        return self._after(transition, state)

    def _transition(self, state: State) -> Transition:
        """Begin a transition from a state."""
        equation = partial(self.equation, state.anchor)
        return Transition(self.model, equation, self.discrete, state.t, state.q, state.v)

    def _after(self, found: Transition, state: State) -> State:
        """Adopt the discrete state after a transition; return the state, with energies."""
        self.discrete = found.discrete
        for k, lost in found.lost.items():
            if k >= 0:
                record = self.log[self._places[k]]
                self.log[self._places[k]] = record._replace(lost=record.lost + float(lost))
        works = state.works.copy()
        works[2:WORKS] += (found.given, sum(found.lost.values()))
        if impulses(self.model):
            for body, share in found.exchanged:
                works[-IMPULSES:] += share * body.inertial_momentum
        brought = found.brought + sum(share * body.energy for body, share in found.exchanged)
        return replace(state, v=found.v, works=works, brought=state.brought + brought)


def times_of(times: Array, begin: float, end: float) -> Array:
    """Pick the times to keep in a leg, its begin and end included."""
    inside = times[(times > begin + instant(begin)) & (times < end - instant(end))]
    return np.concatenate([[begin], inside, [end]])


def leg_task(
    hybrid: HybridSimulation,
    state: State,
    times: Array,
    *,
    inputs: Mapping[str, Any] | None = None,
    control: ca.Function | Sampled | None = None,
    wanted: float = RTOL,
    acting: tuple[Acting, ...] = (),
    compiles: bool = True,
) -> InitialValueProblem:
    """Prepare the leg of a course that begins at a state.

    Raises
    ------
    SimulationError
        If it cannot begin.
    """
    equation, discrete = hybrid.equation(state.anchor), hybrid.discrete
    servoed = discrete.servoed(equation.model)
    return prepare(
        servoed,
        times_of(times, state.t, hybrid.leg_end(state.t)),
        inputs=inputs,
        control=control,
        equation=equation,
        locked=discrete.locked,
        start=state,
        actuators=replace(hybrid.actuators(servoed), wrenches=acting),
        home=hybrid.home,
        begins=discrete.target_times(),
        held=discrete.holding(hybrid.model).values(),
        ties=hybrid.tied(),
        efforts=hybrid.efforts(),
        bounds=hybrid.bounds(state),
        wanted=wanted,
        compiles=compiles,
    )


def after(task: InitialValueProblem, solution: Solution) -> State:
    """Return the state in which a phase ended."""
    before, n, last = task.start, task.equation.model.size, solution.states[-1]
    actuators = task.motion.actuators
    first = 2 * n + actuators.works + actuators.impulses
    x = dict(zip(actuators.state_names, last[first:].tolist(), strict=True))
    return replace(
        before,
        q=last[:n].copy(),
        v=last[n : 2 * n].copy(),
        works=last[2 * n : first].copy(),
        t=float(solution.times[-1]),
        anchor=solution.anchors[-1],
        x={**before.x, **x},
        memory={**before.memory, **solution.memory},
        ranges=solution.ranges,
    )


def pending_events(
    hybrid: HybridSimulation, run: Run, sought: Sequence[tuple[float, Mapping[int, EventFunction]]]
) -> tuple[PendingEvent, ...]:
    """Return the events that did not happen in a run, with the nearest that each came at a sample.

    Parameters
    ----------
    course
        The run's events, as they are at its end.
    run
        The run.
    sought
        By leg: its begin [s], and what it looked out for by the number of the event.
    """
    ends = [*(begin for begin, _ in sought[1:]), float(run.t[-1])]
    found = []
    for i in (i for i in range(len(hybrid.events)) if i not in hybrid.discrete.done):
        spans = [
            (looks[i], (run.t >= begin) & (run.t <= end))
            for (begin, looks), end in zip(sought, ends, strict=True)
            if i in looks
        ]
        found.append(_pending(hybrid.events[i], run, spans))
    return tuple(found)


def _pending(
    event: Event, run: Run, spans: Sequence[tuple[EventFunction, NDArray[np.bool_]]]
) -> PendingEvent:
    """Explain why an event did not happen that was looked for at some samples."""
    end = float(run.t[-1])
    if event.when is None:
        return PendingEvent(event.title, f"it is at {event.at:g} s, and the run ends at {end:g} s")
    if not spans and event.after >= end - instant(end):
        why = f"it is looked for after {event.after:g} s, and the run ends at {end:g} s"
        return PendingEvent(event.title, why)
    if not spans:
        return PendingEvent(event.title, f"the body of {event.when.quantity} was not free")
    rises = event.when.below is None
    limit, far = (event.when.above, -np.inf) if rises else (event.when.below, np.inf)
    values = np.full(len(run.t), far)
    for look in {look for look, _ in spans}:
        inside = np.any([mask for other, mask in spans if other == look], axis=0)
        values = np.where(inside, look.values(run), values)
    k = int(np.argmax(values) if rises else np.argmin(values))
    value, t, unit = float(values[k]), float(run.t[k]), spans[0][0].unit(run.model)
    why = (
        f"{event.when.quantity} must be {'above' if rises else 'below'} {limit:g} {unit}, and came "
        f"to {value:.3g} {unit} at t = {t:.4g} s"
    )
    return PendingEvent(event.title, why, value, t)
