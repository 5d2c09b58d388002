"""Inputs of a plan as functions of time: cubic B-splines, or values that are held."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from flexarm.links.base import Array

Joining = Literal["cubic", "hold"]
FINE = 2  # points of a table per interval: its spline is then that of the inputs, exactly
DEGREE = 3
# Of four values about an interval, by rising powers of the place within it.
CUBICS = np.array([[1, 4, 1, 0], [-3, 0, 3, 0], [3, -6, 3, 0], [-1, 3, -3, 1]]) / 6
ENDS = 3  # values of a B-spline at each end that hold the arm


@dataclass(frozen=True)
class Inputs:
    """Inputs over a share of time from 0 to 1, linear in some values, which they do not exceed."""

    # ``cubic``: B-splines, C2 everywhere since the first and last three values are those that hold
    # the arm before and after; ``hold``: each value for an interval.
    joining: Joining
    intervals: int  # number of them, of equal length
    parts: int  # into how many equal parts each is cut where sensitivities are put together

    @property
    def count(self) -> int:
        """Number of values per input."""
        return self.intervals + DEGREE * (self.joining == "cubic")

    @property
    def steps(self) -> int:
        """Number of all parts."""
        return self.intervals * self.parts

    @cached_property
    def shares(self) -> Array:
        """Where each value counts most, as shares of the duration, (count,)."""
        if self.joining == "hold":
            return (np.arange(self.count) + 0.5) / self.intervals
        return np.clip((np.arange(self.count) - 1.0) / self.intervals, 0.0, 1.0)

    @cached_property
    def fixed(self) -> tuple[list[int], list[int]]:
        """Places of the values that hold the arm, before and after."""
        ends = ENDS if self.joining == "cubic" else 0
        return list(range(ends)), list(range(self.count - ends, self.count))

    @cached_property
    def derivatives(self) -> Array:
        """Inputs and their derivatives at the begin of each part per value, (orders, steps, count).

        By the share of the duration.
        """
        begins = np.arange(self.steps) / self.steps
        if self.joining == "hold":
            return np.repeat(np.eye(self.count), self.parts, axis=0)[None]
        begins = begins + 1e-9 / self.steps  # the third derivative jumps at knots
        return np.array([self._spline(np.eye(self.count), begins, k) for k in range(DEGREE + 1)])

    @cached_property
    def at_ends(self) -> Array:
        """Inputs at the end of each part per value, (steps, count); if held, those after it."""
        last = np.zeros((1, self.count))
        if self.joining == "cubic":
            last = self._spline(np.eye(self.count), np.ones(1))
        return np.vstack([self.derivatives[0][1:], last])

    @cached_property
    def gram(self) -> Array:
        """Mean over the duration of products of the values' functions, (count, count)."""
        if self.joining == "hold":
            return np.eye(self.count) / self.intervals
        places = (np.arange(8 * self.intervals) + 0.5) / (8 * self.intervals)
        values = self._spline(np.eye(self.count), places)
        return np.asarray(values.T @ values / len(places))

    def _spline(self, values: Array, shares: Array, order: int = 0) -> Array:
        """Evaluate the spline of values (count, ...), or its derivative, at shares of time."""
        part = np.clip(np.floor(shares * self.intervals), 0, self.intervals - 1).astype(int)
        past = shares * self.intervals - part
        powers = np.zeros((len(shares), DEGREE + 1))
        for k in range(order, DEGREE + 1):
            powers[:, k] = math.perm(k, order) * past ** (k - order) * self.intervals**order
        near = values[part[:, None] + np.arange(DEGREE + 1)]
        return np.asarray(np.einsum("tk,kj,tj...->t...", powers, CUBICS, near))

    def profile(self, values: Array, duration: float, hold: float) -> dict[str, Any]:
        """Write one input (count,) as a table of the model file, and hold a value afterwards."""
        if self.joining == "hold":
            times, said = np.arange(self.intervals + 1) / self.intervals, np.append(values, hold)
        else:
            times = np.arange(FINE * self.intervals + 4) / (FINE * self.intervals)
            said = self._spline(values, np.minimum(times, 1.0))
            said[-4:] = hold
        return {
            "kind": "table", "times": (times * duration).tolist(), "values": said.tolist(),
            "interpolation": self.joining,
        }  # fmt: skip
