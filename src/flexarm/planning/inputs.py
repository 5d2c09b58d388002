"""Inputs of a plan as functions of time: cubic B-splines, or piecewise constant values."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from flexarm.links.base import Array

Joining = Literal["cubic", "hold"]
DEGREES: dict[Joining, int] = {"cubic": 3, "hold": 0}  # of the B-splines


@dataclass(frozen=True)
class Inputs:
    """Inputs over normalised time 0 to 1 as B-splines, bounded by their control values.

    Cubic ones have continuous second derivatives, as cubic tables of the model file have: their
    first and last three control values hold the arm.
    """

    joining: Joining
    intervals: int  # number of intervals, of equal length
    parts: int  # equal parts of each, for which sensitivities are computed

    @property
    def degree(self) -> int:
        """Degree of the B-splines."""
        return DEGREES[self.joining]

    @property
    def count(self) -> int:
        """Number of control values per input."""
        return self.intervals + self.degree

    @property
    def steps(self) -> int:
        """Total number of parts of all intervals."""
        return self.intervals * self.parts

    @property
    def fine(self) -> int:
        """Points of a table per interval, whose spline is then exactly that of the inputs."""
        return 2 if self.degree else 1

    @cached_property
    def shares(self) -> Array:
        """Times of the values' largest effects, as shares of the duration, (count,)."""
        middles = np.arange(self.count) + 0.5 - self.degree / 2
        return np.clip(middles / self.intervals, 0.0, 1.0)

    @cached_property
    def fixed(self) -> tuple[list[int], list[int]]:
        """Indices of the control values that hold the arm at the beginning and at the end."""
        return list(range(self.degree)), list(range(self.intervals, self.count))

    @cached_property
    def derivatives(self) -> Array:
        """Inputs and derivatives at each part's start per control value, (orders, steps, count).

        Derivatives are with respect to the share of the duration.
        """
        begins = (np.arange(self.steps) + 1e-9) / self.steps  # the highest one jumps at knots
        orders = range(self.degree + 1)
        return np.array([self._spline(np.eye(self.count), begins, k) for k in orders])

    @cached_property
    def at_ends(self) -> Array:
        """Inputs at each part's end per control value, (steps, count); with ``hold`` after it."""
        last = self._spline(np.eye(self.count), np.ones(1)) if self.degree else 0.0
        return np.vstack([self.derivatives[0][1:], np.zeros((1, self.count)) + last])

    @cached_property
    def gram(self) -> Array:
        """Mean products of the basis functions over the duration, (count, count)."""
        places = (np.arange(8 * self.intervals) + 0.5) / (8 * self.intervals)
        values = self._spline(np.eye(self.count), places)
        return np.asarray(values.T @ values / len(places))

    def _spline(self, values: Array, shares: Array, order: int = 0) -> Array:
        """Evaluate the spline of values (count, ...), or its derivative, at shares of time."""
        from scipy.interpolate import BSpline

        knots = (np.arange(self.count + self.degree + 1) - self.degree) / self.intervals
        return np.asarray(BSpline(knots, values, self.degree)(shares, nu=order))

    def profile(self, values: Array, duration: float, hold: float) -> dict[str, Any]:
        """Return one input (count,) as a table of the model file that holds a value afterwards."""
        points, after = self.fine * self.intervals, self.degree + 1
        times = np.arange(points + after) / points
        rows = self._spline(values, np.minimum(times, 1.0))
        rows[-after:] = hold
        return {
            "kind": "table", "times": (times * duration).tolist(), "values": rows.tolist(),
            "interpolation": self.joining,
        }  # fmt: skip
