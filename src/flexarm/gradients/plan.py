"""Sequence of steps of a run, fixed while the run is differentiated."""

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
    """Steps of one phase of a run, fixed while the run is differentiated.

    A phase is a part of the run between events, in which positions and rates are continuous.

    Attributes
    ----------
    ends
        Step boundaries [s], which include the sample times.
    times
        Sample times [s], with start and end of the phase.
    discrete
        Discrete state of the arm in the phase.
    ended
        Index of the state-dependent event at the end of the phase, or -1.
    renewed
        Per step, 1 if modes are recomputed at its start, else 0; empty for a method without modes.
    """

    ends: Array
    times: Array
    discrete: DiscreteState
    ended: int = -1
    renewed: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def lengths(self) -> Array:
        """Step lengths [s], rounded so that lengths equal up to rounding errors are identical."""
        grain = self._grain
        return np.asarray(np.round(np.diff(self.ends) / grain) * grain)

    @property
    def _grain(self) -> float:
        """Time increment [s] of which step lengths are multiples, so that equal ones match."""
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

    def between(self, begin: float, end: float) -> "StepSequence":
        """Return the steps from ``begin`` to ``end`` [s]; a step is split at a new boundary.

        The additional steps lead from the new start to the old one, and from the old end to the new
        one.
        """
        first = [begin] if abs(begin - self.ends[0]) > self._grain else []
        last = [end] if abs(end - self.ends[-1]) > self._grain else []
        ends = np.concatenate([first, self.ends, last])
        times = np.concatenate([ends[:1], self.times[1:-1], ends[-1:]])
        more = [np.ones_like(first), self.renewed, np.zeros_like(last)]
        renewed = np.concatenate(more).astype(np.int64) if len(self.renewed) else self.renewed
        return replace(self, ends=ends, times=times, renewed=renewed)


def roundings(times: Array) -> Array:
    """Return the rounding tolerance [s] of each time, within which two instants count as equal."""
    return np.asarray(INSTANT_ROUNDING * np.maximum(np.abs(times), INSTANT_SCALE))
