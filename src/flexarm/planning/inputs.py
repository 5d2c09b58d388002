"""Inputs of a plan as functions of time: cubic B-splines, or piecewise constant values."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from flexarm.links.base import Array

Joining = Literal["cubic", "hold"]
FINE = 2  # points of a table per interval, whose spline is then exactly that of the inputs
DEGREE = 3  # of the B-splines: C2, as cubic tables of the model file are
ENDS = 3  # values of a B-spline at each end that are the inputs at rest, so that ends are smooth


@dataclass(frozen=True)
class Inputs:
    """Inputs over normalised time 0 to 1, linear in their control values, which bound them."""

    # ``cubic``: B-splines, C2 everywhere since the first and last three values hold the arm;
    # ``hold``: one value per interval.
    joining: Joining
    intervals: int  # number of intervals, of equal length
    parts: int  # equal parts of each, for which sensitivities are computed

    @property
    def count(self) -> int:
        """Number of control values per input."""
        return self.intervals + DEGREE * (self.joining == "cubic")

    @property
    def steps(self) -> int:
        """Total number of parts of all intervals."""
        return self.intervals * self.parts

    @cached_property
    def shares(self) -> Array:
        """Times of the values' largest effects, as shares of the duration, (count,)."""
        if self.joining == "hold":
            return (np.arange(self.count) + 0.5) / self.intervals
        return np.clip((np.arange(self.count) - 1.0) / self.intervals, 0.0, 1.0)

    @cached_property
    def fixed(self) -> tuple[list[int], list[int]]:
        """Indices of the control values that hold the arm at the beginning and at the end."""
        ends = ENDS if self.joining == "cubic" else 0
        return list(range(ends)), list(range(self.count - ends, self.count))

    @cached_property
    def derivatives(self) -> Array:
        """Inputs and derivatives at each part's start per control value, (orders, steps, count).

        Derivatives are with respect to the share of the duration.
        """
        begins = np.arange(self.steps) / self.steps
        if self.joining == "hold":
            return np.repeat(np.eye(self.count), self.parts, axis=0)[None]
        begins = begins + 1e-9 / self.steps  # the third derivative jumps at knots
        return np.array([self._spline(np.eye(self.count), begins, k) for k in range(DEGREE + 1)])

    @cached_property
    def at_ends(self) -> Array:
        """Inputs at each part's end per control value, (steps, count); with ``hold`` after it."""
        last = np.zeros((1, self.count))
        if self.joining == "cubic":
            last = self._spline(np.eye(self.count), np.ones(1))
        return np.vstack([self.derivatives[0][1:], last])

    @cached_property
    def gram(self) -> Array:
        """Mean products of the basis functions over the duration, (count, count)."""
        if self.joining == "hold":
            return np.eye(self.count) / self.intervals
        places = (np.arange(8 * self.intervals) + 0.5) / (8 * self.intervals)
        values = self._spline(np.eye(self.count), places)
        return np.asarray(values.T @ values / len(places))

    def _spline(self, values: Array, shares: Array, order: int = 0) -> Array:
        """Evaluate the spline of values (count, ...), or its derivative, at shares of time."""
        from scipy.interpolate import BSpline

        knots = (np.arange(self.count + DEGREE + 1) - DEGREE) / self.intervals
        return np.asarray(BSpline(knots, values, DEGREE)(shares, nu=order))

    def profile(self, values: Array, duration: float, hold: float) -> dict[str, Any]:
        """Return one input (count,) as a table of the model file that holds a value afterwards."""
        if self.joining == "hold":
            times, rows = np.arange(self.intervals + 1) / self.intervals, np.append(values, hold)
        else:
            times = np.arange(FINE * self.intervals + 4) / (FINE * self.intervals)
            rows = self._spline(values, np.minimum(times, 1.0))
            rows[-4:] = hold
        return {
            "kind": "table", "times": (times * duration).tolist(), "values": rows.tolist(),
            "interpolation": self.joining,
        }  # fmt: skip
