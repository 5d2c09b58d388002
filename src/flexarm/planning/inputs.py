"""Parametrised inputs of a plan: cubic B-splines, or piecewise constant functions of time."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from flexarm.spatial import Array

Joining = Literal["cubic", "hold"]
DEGREES: dict[Joining, int] = {"cubic": 3, "hold": 0}  # degree of the B-splines


@dataclass(frozen=True)
class Inputs:
    """Inputs as B-splines over normalised time 0 to 1, bounded by their control values.

    Cubic splines have continuous second derivatives, like cubic tables of the model file; their
    first and last three control values hold the arm at rest.
    """

    joining: Joining
    intervals: int  # number of intervals, of equal length
    parts: int  # number of equal integration parts per interval

    @property
    def degree(self) -> int:
        """Polynomial degree of the B-splines."""
        return DEGREES[self.joining]

    @property
    def count(self) -> int:
        """Number of control values per input."""
        return self.intervals + self.degree

    @property
    def steps(self) -> int:
        """Number of integration steps in all intervals together."""
        return self.intervals * self.parts

    @property
    def fine(self) -> int:
        """Number of table points per interval for which a table equals the spline exactly."""
        return 2 if self.degree else 1

    @cached_property
    def shares(self) -> Array:
        """Normalised times at which each basis function is largest, shape (count,)."""
        middles = np.arange(self.count) + 0.5 - self.degree / 2
        return np.clip(middles / self.intervals, 0.0, 1.0)

    @cached_property
    def fixed(self) -> tuple[list[int], list[int]]:
        """Indices of the control values that keep the arm at rest at start and end."""
        return list(range(self.degree)), list(range(self.intervals, self.count))

    @cached_property
    def derivatives(self) -> Array:
        """Basis functions and their derivatives at the start of each part, (orders, steps, count).

        Derivatives are with respect to normalised time.
        """
        begins = (np.arange(self.steps) + 1e-9) / self.steps  # the highest one jumps at knots
        orders = range(self.degree + 1)
        return np.array([self._spline(np.eye(self.count), begins, k) for k in orders])

    @cached_property
    def at_ends(self) -> Array:
        """Basis functions at the end of each part, shape (steps, count).

        Piecewise constant inputs have the value after the end there.
        """
        last = self._spline(np.eye(self.count), np.ones(1)) if self.degree else 0.0
        return np.vstack([self.derivatives[0][1:], np.zeros((1, self.count)) + last])

    @cached_property
    def gram(self) -> Array:
        """Gram matrix of the basis functions over normalised time, shape (count, count)."""
        places = (np.arange(8 * self.intervals) + 0.5) / (8 * self.intervals)
        values = self._spline(np.eye(self.count), places)
        return np.asarray(values.T @ values / len(places))

    def _spline(self, values: Array, shares: Array, order: int = 0) -> Array:
        """Return the spline with control values (count, ...), or a derivative of it.

        It is evaluated at the normalised times ``shares``.
        """
        from scipy.interpolate import BSpline

        knots = (np.arange(self.count + self.degree + 1) - self.degree) / self.intervals
        return np.asarray(BSpline(knots, values, self.degree)(shares, nu=order))

    def profile(self, values: Array, duration: float, hold: float) -> dict[str, Any]:
        """Return one input with control values (count,) as a table for the model file.

        After the motion, the table has the constant value ``hold``.
        """
        points, after = self.fine * self.intervals, self.degree + 1
        times = np.arange(points + after) / points
        rows = self._spline(values, np.minimum(times, 1.0))
        rows[-after:] = hold
        return {
            "kind": "table", "times": (times * duration).tolist(), "values": rows.tolist(),
            "interpolation": self.joining,
        }  # fmt: skip
