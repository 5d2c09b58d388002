"""Phases of a run in which nothing happens, between events that places and rates go through."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexarm.arm.mission import ACTIONS, Event
from flexarm.errors import SimulationError
from flexarm.formulations.numbers.parameters import Nearby
from flexarm.integrate.mission.legs import times_of
from flexarm.integrate.mission.locks import instants
from flexarm.integrate.mission.lookouts import Lookout, require_quantities
from flexarm.integrate.mission.situation import Situation
from flexarm.integrate.system import rounding
from flexarm.links.base import Array
from flexarm.model import Model

DIFFERENTIATED = ("servo", "let_go")  # actions of events that change neither places nor rates
Happened = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Phase:
    """A part of a run in which nothing happens."""

    times: Array  # that it keeps [s], its begin and end included
    events: Happened = ()  # before it: which, and when [s]
    ended: int = -1  # by which event it ends, if a quantity brings that about; else -1

    @classmethod
    def of(cls, model: Model, times: Array, begin: float = 0.0, events: Happened = ()) -> "Phase":
        """Begin one at a time [s], to last until something is due."""
        due = [
            (event.at, event.title, k)
            for k, event in enumerate(model.arm.events)
            if event.at is not None and event.at <= begin + rounding(begin)
        ]
        events += tuple((k, t) for t, _, k in sorted(due) if k not in dict(events))
        marks = [each.after if each.at is None else each.at for each in model.arm.events]
        stops = instants([t for t in marks if t > 0], float(times[-1]))
        end = next(t for t in stops if t - begin > rounding(begin))
        return cls(times_of(times, begin, end), events)

    def after(self, model: Model, times: Array, t: float, seen: tuple[int, ...]) -> "Phase | None":
        """Give the one after it from a time [s] on, by events that were seen; None at the end."""
        if times[-1] - t <= rounding(float(times[-1])):
            return None
        return Phase.of(model, times, t, (*self.events, *((k, t) for k in seen)))

    def moved(self, times: Mapping[int, float]) -> "Phase":
        """Give it with events before it at other times [s]."""
        return replace(self, events=tuple((k, times.get(k, t)) for k, t in self.events))

    def brought(self, model: Model, before: "Phase", t: float) -> dict[int, float]:
        """Give the events between the one before and it that a quantity brings about at t [s]."""
        events = model.arm.events
        return {k: t for k in self.done if k not in before.done and events[k].when is not None}

    @property
    def done(self) -> tuple[int, ...]:
        """Events before it."""
        return tuple(k for k, _ in self.events)

    def situated(self, model: Model) -> tuple[Model, dict[str, float]]:
        """Give an arm as it is then, and the times [s] that targets of servos count from."""
        start = situation = Situation.at_start(model, ())
        for k, t in self.events:
            event = model.arm.events[k]
            situation = situation.commanded(event, model, t)
            situation = situation if event.let_go is None else situation.without(event.let_go)
        begins = {name: begin for name, (_, begin, _) in situation.servos.items()}
        return situation.servoed(situation.model(model, start)), begins

    def nearby(self, arms: Callable[[], Mapping[str, Nearby]]) -> dict[str, Nearby]:
        """Give arms that differ a little in a number as they are then, by its key."""
        return {
            key: replace(each, models=tuple(self.situated(model)[0] for model in each.models))
            for key, each in arms().items()
        }

    def bounds(self, model: Model) -> tuple[Array, Array]:
        """Give the bounds of what is looked out for; infinite where it does not count now."""
        found, begin = [], float(self.times[0])
        for k, look in looks(model).items():
            event = model.arm.events[k]
            assert event.when is not None
            counts = k not in self.done and event.after <= begin + rounding(begin)
            found.append(look.bounds(event.when) if counts else (-np.inf, np.inf))
        low, high = np.array(found).reshape(-1, 2).T
        return low, high


def looks(model: Model) -> dict[int, Lookout]:
    """List what events look out for, by event."""
    return {
        k: Lookout.of(model, event.when.quantity)
        for k, event in enumerate(model.arm.events)
        if event.when is not None
    }


def value_of(model: Model, event: int) -> float:
    """Give the value that a quantity passes when an event happens; its square as it is seen."""
    when = model.arm.events[event].when
    assert when is not None
    low, high = Lookout.of(model, when.quantity).bounds(when)
    return low if np.isfinite(low) else high


def refuse_events(model: Model, end: float) -> None:
    """Refuse events before the end of a run that make states jump."""
    require_quantities(model)
    for event in model.arm.events:
        at = event.after if event.at is None else event.at
        if at < end - rounding(end):
            _refuse(event, at)


def _refuse(event: Event, at: float) -> None:
    done = [name for name in ACTIONS if getattr(event, name)]
    if any(name not in DIFFERENTIATED for name in done):
        raise SimulationError(
            f"gradients: '{event.title}' may happen from t = {at:g} s on: of events, those that "
            "change servos or let the payload go are differentiated; end the run there "
            "(t_end), and begin another by at(q=..., v=...) with the arm as it is after it"
        )
    if event.when is not None and event.when.quantity.startswith("distance."):
        raise SimulationError(
            f"gradients: '{event.title}' looks out for the distance of a body that drifts: take a "
            "quantity of the arm, such as tip.x, or leave the event out"
        )


def refuse_passed(model: Model, phase: Phase, times: Array, there: float, here: float) -> None:
    """Refuse an event at another time [s] than in the run whose steps are taken, past a sample.

    Past the time of another event, too: legs of the two runs would not be alike.
    """
    apart = rounding(max(there, here))
    marks = [each.after if each.at is None else each.at for each in model.arm.events]
    low, high = min(there, here) - apart, max(there, here) + apart
    stops = np.concatenate([times, [t for t in marks if t > 0], [t for _, t in phase.events]])
    passed = stops[(stops >= low) & (stops <= high)]
    if high - low > 4 * apart and len(passed):
        raise SimulationError(
            f"steps: '{model.arm.events[phase.ended].title}' happens at t = {here:.6g} s, and at "
            f"{there:.6g} s in the run whose steps are taken: the sample or event at "
            f"{passed[0]:.6g} s is between them; leave out 'steps', or take those of a nearer run"
        )


def refuse_at_once(model: Model, events: Sequence[int], t: float) -> None:
    """Refuse events that several quantities bring about at one time [s]."""
    found = [each for each in (model.arm.events[k].when for k in events) if each is not None]
    if any(each != found[0] for each in found):
        raise SimulationError(
            f"gradients: several quantities reach their values at once at t = {t:.6g} s: which is "
            "the first depends on numbers, and there is no derivative: give one another value"
        )
