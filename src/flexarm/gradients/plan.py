"""Steps of a run, which are held when it is differentiated."""

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
    """The steps of a phase of a run, which are held when it is differentiated.

    Attributes
    ----------
    ends
        Of the steps [s], the samples among them.
    phase
        In which nothing happens.
    renewed
        Whether modes are taken anew at the begin of each step; empty of a method without any.
    """

    ends: Array
    phase: Phase
    renewed: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def lengths(self) -> Array:
        """Lengths of the steps [s], equal where they differ only by rounding."""
        grain = self._grain
        return np.asarray(np.round(np.diff(self.ends) / grain) * grain)

    @property
    def _grain(self) -> float:
        """Time [s] of which the lengths are whole multiples."""
        return 4 * float(np.spacing(self.ends[-1]))

    @cached_property
    def starts(self) -> Ints:
        """Indices of the first step of each segment between checkpoints, and the end.

        Modes are computed again there.
        """
        count = len(self.ends) - 1
        able = np.flatnonzero(self.renewed) if len(self.renewed) else np.arange(count)
        places = np.searchsorted(able, np.arange(0, count, max(1, math.isqrt(count + 1))))
        return np.append(np.unique(able[places[places < len(able)]]), count)

    def begun(self, t: float) -> "StepSequence":
        """Begin at another time [s], from which a step goes to the begin of these."""
        if abs(t - self.ends[0]) <= self._grain:
            return self
        phase = replace(self.phase, times=np.append(t, self.phase.times[1:]))
        renewed = np.insert(self.renewed, 0, 1) if len(self.renewed) else self.renewed
        return StepSequence(np.insert(self.ends, 0, t), phase, renewed)

    def until(self, t: float) -> "StepSequence":
        """End at another time [s], to which a step goes from the end of these."""
        if abs(t - self.ends[-1]) <= self._grain:
            return self
        phase = replace(self.phase, times=np.append(self.phase.times[:-1], t))
        renewed = np.append(self.renewed, 0) if len(self.renewed) else self.renewed
        return StepSequence(np.append(self.ends, t), phase, renewed)


def roundings(times: Array) -> Array:
    """Return the rounding error [s] of times: instants nearer than that are one."""
    return np.asarray(ROUNDING * np.maximum(np.abs(times), SOON))
