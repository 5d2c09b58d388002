"""The course of a run: legs between events, and what each event does."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from flexarm.arm.mission import PAYLOAD, Event, Tie
from flexarm.arm.profile import Constant
from flexarm.errors import SimulationError
from flexarm.formulations.equation import Equation
from flexarm.integrate.actuators import Acting, Actuators, actuators_of, impulses
from flexarm.integrate.drivetrain import Holder, Slipping, Tied, accounts, holders, tie_account
from flexarm.integrate.laws import Sampled
from flexarm.integrate.mission.bodies import Drift, at_tip, held_at_tip, joined, require_reach
from flexarm.integrate.mission.lookouts import Lookout, require_quantities
from flexarm.integrate.mission.situation import Locks, Situation, arrest, instants, legs
from flexarm.integrate.mission.starts import first_state
from flexarm.integrate.options import RTOL
from flexarm.integrate.problem import Channel
from flexarm.integrate.solve import Solution
from flexarm.integrate.system import IMPULSES, WORKS, instant
from flexarm.integrate.task import State, Task, prepare
from flexarm.linear.equilibrium import Equilibrium
from flexarm.links.base import Array
from flexarm.model import Model
from flexarm.model.profiles import evaluate
from flexarm.runs.data import Happening, PendingEvent, RunData, RunLeg
from flexarm.runs.run import Run
from flexarm.spatial import ACCUMULATED

BEGINNING = 1e-3  # [s] duration of a run of which the first instant alone is used
MOST_AT_ONCE = 200  # changes of brakes at one instant


@dataclass(frozen=True)
class Look:
    """What a run looks out for: for an event, or for what begins or ceases to hold a coordinate."""

    lookout: Lookout
    event: int = -1
    holder: str = ""


class Course:
    """A run in legs, each with its own situation.

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
        self.start = self.situation = Situation.at_start(model, self._legs[0].locked)
        # machine code is of any load where it changes
        self._loads = any(event.capture or event.let_go for event in self.events)
        self.log: list[Happening] = []
        self._equations: dict[str, Equation] = {}
        self._changes = (0.0, 0)

    @property
    def single(self) -> bool:
        """Whether the run is of one leg, whatever happens."""
        return len(self.instants) == 2 and not self.looks and not self.events

    @property
    def plain(self) -> bool:
        """Whether the arm is all the time as its model has it."""
        return self.single and not self.situation.holding(self.model)

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
        """Say of the present leg what a run keeps of it."""
        loaded = self.situation.held != self.start.held
        tip = model.links[-1].tip_body if loaded else None
        return RunLeg(0, model.prescribed, tip)

    def _able(self) -> list[Holder]:
        """List what can slip: brakes and dry friction of joints that are not locked."""
        loose = (h for h in self._holders.values() if h.axis.name not in self.situation.locked)
        return [holder for holder in loose if holder.able]

    def _look_for(self) -> tuple[Look, ...]:
        found = []
        require_quantities(self.model)
        for i, event in enumerate(self.events):
            if event.when is not None:
                found.append(Look(Lookout.of(self.model, event.when.quantity), event=i))
        for name, holder in self._holders.items():
            if holder.able:
                found.append(Look(Lookout("effort", holder.index), holder=name))
                found.append(Look(Lookout("speed", holder.index), holder=name))
        return tuple(found)

    def equation(self, anchor: Array, situation: Situation | None = None) -> Equation:
        """Give the equation of the present situation, or of another."""
        situation = situation or self.situation
        if situation.key not in self._equations:
            model = situation.model(self.model, self.start)
            made = self._equation(replace(model, load_given=self._loads))
            self._equations[situation.key] = made
        return self._equations[situation.key].anchored(anchor)

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
        locked = set(self.situation.locked)
        state, self.home = first_state(self.model, start, inputs or {}, law=law, locked=locked)
        self._turn_brakes(state)
        state = self.enter(state)
        ends = [k + 1 for k in sorted(self.situation.done) if self.events[k].end]
        if ends:
            raise SimulationError(
                f"events[{ends[0]}]: ends the run at time 0: give it a later time"
            )
        if law and any(event.servo for event in self.events):
            raise SimulationError(
                "control: a law takes the place of servos, which events change: leave one of them "
                "out"
            )
        return state

    def leg_end(self, t: float) -> float:
        """Give the time at which a leg from t ends, unless something happens before."""
        return next((each for each in self.instants if each - t > instant(t)), self.t_end)

    def actuators(self, model: Model) -> Actuators:
        """Give what drives the arm in the present situation, and what is looked out for."""
        lookouts = tuple(self._placed(look) for look in self.looks)
        slipping = [Slipping.of(holder) for holder in self._able()]
        ties = [
            Tied(tie_account(name), float(tie.stiffness), float(tie.damping))
            for name, (tie, _, _) in self.situation.ties.items()
        ]
        return actuators_of(
            model, slipping=slipping, ties=ties, told_apart=self._accounts, lookouts=lookouts
        )

    def tied(self) -> list[Channel]:
        """Give the places that the tip is tied to as functions of time, three by three."""
        found = []
        for name, (tie, place, begin) in self.situation.ties.items():
            still = [Constant[float](kind="constant", value=float(x)) for x in place]
            found += [Channel(f"tie {name}", path, begin) for path in tie.path or still]
        return found

    def _placed(self, look: Look) -> Lookout:
        """Add to a distance the path of its body, or the first one if it no longer counts."""
        if look.lookout.kind != "distance":
            return look.lookout
        now, first = self.situation.drifting, self.start.drifting
        known = {**first, **now} if self._counts(look) else {**now, **first}
        try:
            return replace(look.lookout, path=known[look.lookout.body].path())
        except SimulationError as error:
            raise SimulationError(f"events[{look.event + 1}].when: {error}") from None

    def _counts(self, look: Look) -> bool:
        """Tell whether an event is still to come; the distance of a body that is held is none."""
        return look.event not in self.situation.done and (
            look.lookout.kind != "distance" or look.lookout.body in self.situation.drifting
        )

    def sought(self, t: float) -> dict[int, Lookout]:
        """Return what a leg from a time [s] looks out for, by the number of the event."""
        return {
            look.event: self._placed(look)
            for look in self.looks
            if look.event >= 0
            and self._counts(look)
            and self.events[look.event].after <= t + instant(t)
        }

    def efforts(self) -> Array:
        """Give the effort of each brake that can slip, and the way in which friction acts."""
        found: list[float] = []
        for holder in self._able():
            way = -self.situation.closed.get(holder.name, 0)
            braked = holder.axis.name in self.situation.braked
            brake = (holder.brake or 0.0) if braked and way else 0.0
            found += [way * brake, way]
        return np.array(found, dtype=float)

    def bounds(self, state: State) -> tuple[Array, Array]:
        """Give the bounds of what is looked out for; infinite where it does not count now.

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
            locked = holder.axis.name in self.situation.locked
            slipping = None if locked else self.situation.closed.get(look.holder)
            if look.lookout.kind == "effort" and slipping == 0:
                high[k] = self.situation.capacity(holder)
                low[k] = -high[k]
            elif look.lookout.kind == "speed" and slipping:
                rest = 0.0 if state.v[look.lookout.index] else rounded
                low[k], high[k] = (-rest, np.inf) if slipping > 0 else (-np.inf, rest)
        return low, high

    def enter(self, state: State) -> State:
        """Let happen what is due at a time: locks, and events at times."""
        t = state.t
        leg = next(leg for leg in reversed(self._legs) if leg.begin <= t + instant(t))
        self.situation = replace(self.situation, locked=leg.locked)
        return self._stopped(self._happen(self._due(t), state))

    def _due(self, t: float) -> list[int]:
        """List events at times that have come."""
        return [
            i
            for i, event in enumerate(self.events)
            if event.at is not None and i not in self.situation.done and event.at <= t + instant(t)
        ]

    def seen(self, looks: Sequence[int], value: float, state: State) -> State:
        """Let happen what was looked out for: all events that come at once, or one holder."""
        look = self.looks[looks[0]]
        if look.event >= 0:
            own = [self.looks[k] for k in looks if k < len(self.looks)]  # then nodes
            due = [each.event for each in own if each.event >= 0]
            return self._stopped(self._happen(due + self._due(state.t), state))
        before, count = self._changes
        count = count + 1 if state.t - before <= instant(state.t) else 0
        self._changes = (state.t, count)
        if count > MOST_AT_ONCE:
            raise SimulationError(
                f"{look.holder}: it is neither held nor slips: look at the loads there"
            )
        begins = look.lookout.kind == "effort"
        slipping = -int(np.sign(value)) if begins else 0
        v = state.v.copy()
        v[look.lookout.index] = 0.0
        closed = {**self.situation.closed, look.holder: slipping}
        self.situation = replace(self.situation, closed=closed)
        what = "begins to slip" if begins else "holds"
        holder = self._holders[look.holder]
        braked = holder.axis.name in self.situation.braked and holder.brake is not None
        which = f"brake of {holder.axis.name}" if braked else f"friction of {holder.name}"
        self.log.append(Happening(state.t, f"{which} {what}"))
        return self._stopped(replace(state, v=v))

    def _happen(self, due: Sequence[int], state: State) -> State:
        """Let events of one instant happen, in an order that does not depend on their list's."""
        due = sorted(due, key=lambda i: (self.events[i].title, self.events[i].model_dump_json()))
        events = [self.events[i] for i in due]
        self.situation = replace(self.situation, done=self.situation.done | set(due))
        losses = dict.fromkeys(due, 0.0)
        self._release({name for event in events for name in event.release})
        for event in events:
            if event.let_go is not None:
                state = self._let_go(event.let_go, state)
        for i, event in zip(due, events, strict=True):
            if event.capture is not None:
                state, losses[i] = self._capture(event.capture, state)
        for i, event in zip(due, events, strict=True):
            if event.detach is not None:
                state, losses[i] = self._detach(event.detach, state, losses[i])
        for event in events:
            if event.attach is not None:
                state = self._attach(event.attach, state)
            self._brake(event, state)
            self.situation = self.situation.commanded(event, self.model, state.t)
        self.situation = replace(
            self.situation, over=self.situation.over or any(event.end for event in events)
        )
        self.log += [
            Happening(state.t, event.title, losses[i]) for i, event in zip(due, events, strict=True)
        ]
        return state

    def _release(self, names: set[str]) -> None:
        """Open brakes; dry friction stays."""
        closed = {
            name: slips
            for name, slips in self.situation.closed.items()
            if self._holders[name].frictions or self._holders[name].axis.name not in names
        }
        braked = self.situation.braked - names
        self.situation = replace(self.situation, closed=closed, braked=braked)

    def _brake(self, event: Event, state: State) -> None:
        closed, braked = dict(self.situation.closed), self.situation.braked | set(event.brake)
        for name, holder in self._holders.items():
            if holder.brake is not None and holder.axis.name in event.brake:
                rate = float(state.v[holder.index])
                held = math.isinf(holder.brake) or closed.get(name) == 0
                closed[name] = 0 if held else int(np.sign(rate))
        self.situation = replace(self.situation, closed=closed, braked=braked)

    def _capture(self, name: str, state: State) -> tuple[State, float]:
        described = next(body for body in self.model.arm.bodies if body.name == name)
        body = self.situation.caught(name, state.t)
        before = self.equation(state.anchor, self.situation.loosened(self.model))
        require_reach(before, state.q, body, name, described.reach)
        held = {**self.situation.held, name: held_at_tip(before, state.q, body)}
        drifting = {key: each for key, each in self.situation.drifting.items() if key != name}
        self.situation = replace(self.situation, held=held, drifting=drifting)
        after = self.equation(state.anchor, self.situation.loosened(self.model))
        impulse = joined(before, after, state.q, state.v, body)
        state = self._joined_by(body, replace(state, v=impulse.v))
        state = replace(state, works=_spent(state, impulse.given, impulse.lost))
        self._turn_brakes(state)
        return state, impulse.lost

    def _charge(self, index: int, lost: float, t: float) -> None:
        """Put what stopping a coordinate took [J] to the event that closed its brake."""
        names = {each.axis.name for each in self._holders.values() if each.index == index}
        for i, event in enumerate(self.events):
            if lost and i in self.situation.done and names & set(event.brake):
                places = [k for k, each in enumerate(self.log)
                          if each.t == t and each.what == event.title]  # fmt: skip
                if places:
                    seen = self.log[places[0]]
                    self.log[places[0]] = replace(seen, lost=seen.lost + lost)
                    return

    def _turn_brakes(self, state: State) -> None:
        """Let closed brakes that can slip do so where their joints move, and hold where not."""
        closed = dict(self.situation.closed)
        still = ACCUMULATED * float(np.abs(state.v).max(initial=0.0))
        for holder in self._able():
            rate = float(state.v[holder.index])
            if holder.name in closed and math.isfinite(self.situation.capacity(holder)):
                closed[holder.name] = int(np.sign(rate)) if abs(rate) > still else 0
        self.situation = replace(self.situation, closed=closed)

    def _attach(self, tie: Tie, state: State) -> State:
        """Tie the tip to a place; what the tie stores at once is brought."""
        place = self.equation(state.anchor).tip_pose(state.q)[1]
        ties = {**self.situation.ties, tie.name: (tie, place, state.t)}
        self.situation = replace(self.situation, ties=ties)
        return replace(state, brought=state.brought + self._stored(tie.name, state))

    def _detach(self, name: str, state: State, lost: float) -> tuple[State, float]:
        """Take a tie away, and with it the energy that it stores."""
        if name not in self.situation.ties:
            raise SimulationError(
                f"{name} cannot be detached: it is not attached at this time: attach it before"
            )
        stored = self._stored(name, state)
        ties = {key: each for key, each in self.situation.ties.items() if key != name}
        self.situation = replace(self.situation, ties=ties)
        return replace(state, works=_spent(state, 0.0, stored)), lost + stored

    def _stored(self, name: str, state: State) -> float:
        """Give the energy of a tie [J]."""
        tie, place, begin = self.situation.ties[name]
        if tie.path is not None:
            place = np.array([evaluate(each, state.t - begin)[0] for each in tie.path])
        off = self.equation(state.anchor).tip_pose(state.q)[1] - place
        return float(tie.stiffness * off @ off) / 2

    def _let_go(self, name: str, state: State) -> State:
        without = self.situation.without(name)
        inertia = self.situation.held[name]
        body = at_tip(self.equation(state.anchor), state.q, state.v, inertia, state.t)
        drifting = dict(self.situation.drifting)
        if name != PAYLOAD:
            drifting[name] = body
        self.situation = replace(without, drifting=drifting)
        return self._joined_by(body, state, share=-1.0)

    def _joined_by(self, body: Drift, state: State, share: float = 1.0) -> State:
        """Add energy and momentum of a body that the arm captures; -1 times if it lets it go."""
        works = state.works.copy()
        if impulses(self.model):
            works[-IMPULSES:] += share * body.inertial_momentum
        return replace(state, works=works, brought=state.brought + share * body.energy)

    def _stopped(self, state: State) -> State:
        """Stop at once what is held now and moves: by locks and brakes that never slip."""
        held = self.situation.rigid(self.model)
        if not np.any(state.v[held]):
            return state
        equation = self.equation(state.anchor, self.situation.loosened(self.model))
        v, given, lost = arrest(equation, state.q, state.v.copy(), held)
        works = _spent(state, given, float(lost.sum()))
        for index, part in zip(held, lost.tolist(), strict=True):
            self._charge(index, part, state.t)
        state = replace(state, v=v, works=works)
        self._turn_brakes(state)
        return state


def _spent(state: State, given: float, lost: float) -> Array:
    """Add to the works what prescribed coordinates gave and what an impact took [J]."""
    works = state.works.copy()
    works[2:WORKS] += (given, lost)
    return works


def times_of(times: Array, begin: float, end: float) -> Array:
    """Pick the times to keep in a leg, its begin and end included."""
    inside = times[(times > begin + instant(begin)) & (times < end - instant(end))]
    return np.concatenate([[begin], inside, [end]])


def leg_task(
    course: Course,
    state: State,
    times: Array,
    *,
    inputs: Mapping[str, Any] | None = None,
    control: ca.Function | Sampled | None = None,
    wanted: float = RTOL,
    acting: tuple[Acting, ...] = (),
    compiles: bool = True,
) -> Task:
    """Prepare the leg of a course that begins at a state.

    Raises
    ------
    SimulationError
        If it cannot begin.
    """
    equation, situation = course.equation(state.anchor), course.situation
    servoed = situation.servoed(equation.model)
    task = prepare(
        servoed,
        times_of(times, state.t, course.leg_end(state.t)),
        inputs=inputs,
        control=control,
        equation=equation,
        locked=situation.locked,
        state=(state.q, state.v),
        actuators=replace(course.actuators(servoed), wrenches=acting),
        home=course.home,
        begins={name: begin for name, (_, begin, _) in situation.servos.items()},
        wanted=wanted,
        when="at the start" if state.t == 0 else "here",
        compiles=compiles,
    )
    task = task.holding(situation.holding(course.model).values()).begun(state)
    return replace(
        task,
        groups=(*task.groups[:3], [*task.groups[3], *course.tied()]),
        efforts=course.efforts(),
        bounds=course.bounds(state),
    )


def after(task: Task, solution: Solution, before: State) -> dict[str, Any]:
    """Give the state that a leg ended in, by its fields."""
    n, last = task.equation.model.size, solution.states[-1]
    actuators = task.motion.actuators
    first = 2 * n + actuators.works + actuators.impulses
    return {
        "t": float(solution.times[-1]),
        "q": last[:n].copy(),
        "v": last[n : 2 * n].copy(),
        "works": last[2 * n : first].copy(),
        "x": {**before.x, **dict(zip(actuators.state_names, last[first:].tolist(), strict=True))},
        "anchor": solution.anchors[-1],
        "memory": {**before.memory, **solution.memory},
        "ranges": solution.ranges,
    }


def pending_events(
    course: Course, run: Run, sought: Sequence[tuple[float, Mapping[int, Lookout]]]
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
    for i in (i for i in range(len(course.events)) if i not in course.situation.done):
        spans = [
            (looks[i], (run.t >= begin) & (run.t <= end))
            for (begin, looks), end in zip(sought, ends, strict=True)
            if i in looks
        ]
        found.append(_pending(course.events[i], run, spans))
    return tuple(found)


def _pending(
    event: Event, run: Run, spans: Sequence[tuple[Lookout, NDArray[np.bool_]]]
) -> PendingEvent:
    """Say why an event did not happen that was looked for at some samples."""
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
