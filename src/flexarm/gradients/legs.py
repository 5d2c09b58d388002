"""Legs of a run between events at given times: each is differentiated, and they are joined."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from flexarm.arm.mission import ACTIONS, Event
from flexarm.errors import SimulationError
from flexarm.formulations.numbers.parameters import Nearby
from flexarm.gradients.plan import roundings
from flexarm.gradients.trajectory import Samples, Trajectory
from flexarm.integrate.mission.legs import times_of
from flexarm.integrate.mission.locks import instants
from flexarm.integrate.mission.situation import Situation
from flexarm.integrate.system import rounding
from flexarm.integrate.task import Task
from flexarm.links.base import Array
from flexarm.model import Model

DIFFERENTIATED = ("servo", "let_go")  # actions of events that change neither places nor rates


@dataclass(frozen=True)
class Phase:
    """A part of a run in which nothing happens: times that it keeps, and events before it."""

    times: Array
    events: tuple[int, ...]

    def situated(self, model: Model) -> tuple[Model, dict[str, float]]:
        """Give an arm as it is then, and the times [s] that targets of servos count from."""
        start = situation = Situation.at_start(model, ())
        for event in (model.arm.events[k] for k in self.events):
            assert event.at is not None
            situation = situation.commanded(event, model, event.at)
            situation = situation if event.let_go is None else situation.without(event.let_go)
        begins = {name: begin for name, (_, begin, _) in situation.servos.items()}
        return situation.servoed(situation.model(model, start)), begins

    def nearby(self, arms: Callable[[], Mapping[str, Nearby]]) -> dict[str, Nearby]:
        """Give arms that differ a little in a number as they are then, by its key."""
        return {
            key: replace(each, models=tuple(self.situated(model)[0] for model in each.models))
            for key, each in arms().items()
        }


def phases(model: Model, times: Array) -> list[Phase]:
    """Cut a run into phases between its events, or refuse events that make states jump."""
    end = float(times[-1])
    found: dict[int, float] = {}
    for k, event in enumerate(model.arm.events):
        at = event.after if event.at is None else event.at
        if at < end - rounding(end):
            _refuse(event, at)
            found[k] = at
    order = sorted(found, key=lambda k: (found[k], model.arm.events[k].title))
    marks = instants([found[k] for k in order if found[k] > 0], end)
    return [
        Phase(
            times_of(times, begin, stop),
            tuple(k for k in order if found[k] <= begin + rounding(begin)),
        )
        for begin, stop in pairwise(marks)
    ]


def _refuse(event: Event, at: float) -> None:
    done = [name for name in ACTIONS if getattr(event, name)]
    if event.at is None or any(name not in DIFFERENTIATED for name in done):
        raise SimulationError(
            f"gradients: '{event.title}' may happen from t = {at:g} s on: of events, those at a "
            "time that change servos or let the payload go are differentiated; end the run there "
            "(t_end), and begin another by at(q=..., v=...) with the arm as it is after it"
        )


def require_like(first: Task, other: Task) -> None:
    """Refuse a leg whose servos have other states than those of the first."""
    one, two = (task.motion.actuators.state_names for task in (first, other))
    if one != two:
        raise SimulationError(
            "gradients: an event gives a servo an integral, or takes it away: give it one with a "
            "long integral_time instead"
        )


@dataclass(frozen=True)
class Legs(Samples):
    """A run in legs, whose states go on from one to the next."""

    legs: tuple[Trajectory, ...]
    t: Array  # times of the samples [s], (T,)

    @property
    def parts(self) -> tuple[Trajectory, ...]:
        """Its legs."""
        return self.legs

    @property
    def n(self) -> int:
        """How many coordinates there are."""
        return self.legs[0].n

    @property
    def steps(self) -> Array:
        """Ends of the steps [s], the samples among them."""
        ends = [part.steps[:-1] for part in self.legs]
        return np.concatenate([*ends, self.legs[-1].steps[-1:]])

    @cached_property
    def states(self) -> Array:
        """Coordinates, rates, and states of servos and drives at the samples, (T, size)."""
        return self._joined([part.states for part in self.legs])

    def state_sensitivities(self, inputs: int = 0) -> Array:
        """Differentiate the whole states at the samples: see `Samples`."""
        found: list[Array] = []
        for part in self.legs:
            first = found[-1][-1] if found else None
            found.append(part.state_sensitivities(inputs, first))
        return self._joined(found)

    def pulled(self, seeds: Array) -> tuple[Array, Array, Array]:
        """Pull derivatives by the states at the samples back: see `Samples`."""
        by_start = np.zeros(seeds.shape[1])
        total: tuple[Array | float, Array | float] = (0.0, 0.0)
        for part, own in zip(reversed(self.legs), reversed(self._own), strict=True):
            mine, left = np.zeros((len(part.t), seeds.shape[1])), len(seeds) - np.count_nonzero(own)
            mine[own], seeds = seeds[left:], seeds[:left]
            mine[-1] += by_start
            by_numbers, by_start, by_inputs = part.pulled(mine)
            total = total[0] + by_numbers, total[1] + by_inputs
        return np.asarray(total[0]), by_start, np.asarray(total[1])

    @cached_property
    def _own(self) -> list[NDArray[np.bool_]]:
        """Which times of each leg are samples; one between two legs is of the second."""
        found = []
        for part in self.legs:
            near = np.minimum(np.searchsorted(self.t, part.t - roundings(part.t)), len(self.t) - 1)
            own = np.abs(self.t[near] - part.t) <= roundings(part.t)
            own[-1] &= part is self.legs[-1]
            found.append(own)
        return found

    def _joined(self, rows: list[Array]) -> Array:
        return np.concatenate([each[own] for each, own in zip(rows, self._own, strict=True)])
