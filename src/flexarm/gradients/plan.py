"""Integration steps of a simulation, fixed while the simulation is differentiated."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from flexarm.integrate.constants import INSTANT_ROUNDING, INSTANT_SCALE
from flexarm.integrate.mission.discrete import DiscreteState
from flexarm.loops.language import Ints
from flexarm.spatial import Array


@dataclass(frozen=True)
class StepSequence:
    """Integration steps of one phase of a simulation, fixed while it is differentiated.

    A phase is the part of a simulation between two events, in which coordinates and rates are
    continuous.

    Attributes
    ----------
    ends
        Step boundaries [s], including the sample times.
    times
        Sample times [s], including start and end of the phase.
    discrete
        Discrete state of the arm in the phase.
    ended
        Index of the state-dependent event at the end of the phase, or -1.
    renewed
        For each step, 1 if the modes are recomputed at its start, else 0; empty for a method
        without modes.
    """

    ends: Array
    times: Array
    discrete: DiscreteState
    ended: int = -1
    renewed: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def lengths(self) -> Array:
        """Step lengths [s]; lengths that are equal up to rounding errors are made identical."""
        grain = self._grain
        return np.asarray(np.round(np.diff(self.ends) / grain) * grain)

    @property
    def _grain(self) -> float:
        """Time [s] of which step lengths are made multiples, so that equal steps are identical."""
        return 4 * float(np.spacing(self.ends[-1]))

    @cached_property
    def starts(self) -> Ints:
        """Index of the first step after each checkpoint, followed by the number of steps.

        For a method with modes, checkpoints are only at steps that recompute the modes.
        """
        count = len(self.ends) - 1
        able = np.flatnonzero(self.renewed) if len(self.renewed) else np.arange(count)
        places = np.searchsorted(able, np.arange(0, count, max(1, math.isqrt(count + 1))))
        return np.append(np.unique(able[places[places < len(able)]]), count)

    def between(self, begin: float, end: float) -> "StepSequence":
        """Return the same step boundaries with another start and another end of the phase [s].

        One step is added from the new start to the old one, and one from the old end to the new
        one. The length of an added step is negative if the new start is later, or the new end
        earlier.
        """
        first = [begin] if abs(begin - self.ends[0]) > self._grain else []
        last = [end] if abs(end - self.ends[-1]) > self._grain else []
        ends = np.concatenate([first, self.ends, last])
        times = np.concatenate([ends[:1], self.times[1:-1], ends[-1:]])
        more = [np.ones_like(first), self.renewed, np.zeros_like(last)]
        renewed = np.concatenate(more).astype(np.int64) if len(self.renewed) else self.renewed
        return replace(self, ends=ends, times=times, renewed=renewed)


def roundings(times: Array) -> Array:
    """Return the rounding error [s] of each time, within which two instants count as equal."""
    return np.asarray(INSTANT_ROUNDING * np.maximum(np.abs(times), INSTANT_SCALE))
