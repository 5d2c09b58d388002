"""Sequence of steps of a run, fixed while the run is differentiated."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from flexarm.gradients.events.phases import Phase
from flexarm.integrate.system import ROUNDING, SOON
from flexarm.links.base import Array
from flexarm.loops.language import Ints


@dataclass(frozen=True)
class StepSequence:
    """Steps of one phase of a run, fixed while the run is differentiated.

    Attributes
    ----------
    ends
        Step boundaries [s], sample times included.
    phase
        Part of the run, between events, that the steps cover.
    renewed
        Per step, 1 if modes are recomputed at its begin, else 0; empty for a method without modes.
    """

    ends: Array
    phase: Phase
    renewed: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def lengths(self) -> Array:
        """Step lengths [s], rounded so that lengths equal up to rounding errors are identical."""
        grain = self._grain
        return np.asarray(np.round(np.diff(self.ends) / grain) * grain)

    @property
    def _grain(self) -> float:
        """Time increment [s] that step lengths are rounded to."""
        return 4 * float(np.spacing(self.ends[-1]))

    @cached_property
    def starts(self) -> Ints:
        """Indices of the first step of each segment between checkpoints, then the number of steps.

        For a method with modes, segments begin only at steps that recompute the modes.
        """
        count = len(self.ends) - 1
        able = np.flatnonzero(self.renewed) if len(self.renewed) else np.arange(count)
        places = np.searchsorted(able, np.arange(0, count, max(1, math.isqrt(count + 1))))
        return np.append(np.unique(able[places[places < len(able)]]), count)

    def begun(self, t: float) -> "StepSequence":
        """Return the sequence with one more step at its begin, from time t [s] to the old begin."""
        if abs(t - self.ends[0]) <= self._grain:
            return self
        phase = replace(self.phase, times=np.append(t, self.phase.times[1:]))
        renewed = np.insert(self.renewed, 0, 1) if len(self.renewed) else self.renewed
        return StepSequence(np.insert(self.ends, 0, t), phase, renewed)

    def until(self, t: float) -> "StepSequence":
        """Return the sequence with one more step at its end, from the old end to time t [s]."""
        if abs(t - self.ends[-1]) <= self._grain:
            return self
        phase = replace(self.phase, times=np.append(self.phase.times[:-1], t))
        renewed = np.append(self.renewed, 0) if len(self.renewed) else self.renewed
        return StepSequence(np.append(self.ends, t), phase, renewed)


def roundings(times: Array) -> Array:
    """Return the rounding tolerance [s] of each time, within which two instants count as equal."""
    return np.asarray(ROUNDING * np.maximum(np.abs(times), SOON))
