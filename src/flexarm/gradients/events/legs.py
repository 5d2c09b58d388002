"""Legs of a run between events: each is differentiated, and they are joined."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flexarm.errors import SimulationError
from flexarm.gradients.events.crossing import Crossing
from flexarm.gradients.events.jumps import Entry
from flexarm.gradients.plan import roundings
from flexarm.gradients.samples import Samples
from flexarm.gradients.trajectory import RecordedTrajectory
from flexarm.integrate.task import Task
from flexarm.links.base import Array


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
    """A run in legs, from one event to the next."""

    legs: tuple[RecordedTrajectory, ...]
    t: Array  # times of the samples [s], (T,)
    entries: tuple[Entry | None, ...]  # between two legs; None within a phase

    @property
    def parts(self) -> tuple[RecordedTrajectory, ...]:
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

    @cached_property
    def _crossings(self) -> list[Crossing | None]:
        """What happens at the begin of each leg; None if derivatives go on."""
        found: list[Crossing | None] = [None]
        for a, b, entry in zip(self.legs, self.legs[1:], self.entries, strict=False):
            found.append(None if entry is None else Crossing.between(a, b, entry))
        return found

    def state_sensitivities(self, inputs: int = 0) -> Array:
        """Differentiate the whole states at the samples: see `Samples`."""
        found: list[Array] = []
        slopes: Array | None = None
        for part, crossing in zip(self.legs, self._crossings, strict=True):
            if slopes is not None and crossing is not None:
                slopes = crossing.pushed(slopes)
            found.append(part.state_sensitivities(inputs, slopes))
            carried = np.zeros((0, found[-1].shape[2])) if slopes is None else slopes[part.size :]
            slopes = np.concatenate([found[-1][-1], carried])
        return self._joined(found)

    def pulled(self, seeds: Array) -> tuple[Array, Array, Array]:
        """Pull derivatives by the states at the samples back: see `Samples`."""
        size, count = seeds.shape[1], len(self.legs[0].parameters)
        by = np.zeros(size + len(self.legs[-1].plan.phase.carried))
        numbers, inputs = np.zeros(count), np.zeros(0)
        for k in reversed(range(len(self.legs))):
            part, own, crossing = self.legs[k], self._own[k], self._crossings[k]
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


AnyRun = RecordedTrajectory | Legs
