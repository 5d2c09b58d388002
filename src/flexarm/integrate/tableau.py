"""Coefficients (Butcher tableau) of explicit Runge-Kutta methods."""

from collections.abc import Sequence

import numpy as np

from flexarm.spatial import Array

Row = Sequence[float] | Array
Rows = Sequence[Row]


def coefficients(rows: Rows, width: int) -> Array:
    """Return rows of different lengths as one array (rows, width), padded with zeros."""
    table = np.zeros((len(rows), width))
    for r, row in enumerate(rows):
        table[r, : len(row)] = row
    return table


class Tableau:
    """Coefficients (Butcher tableau) of an explicit Runge-Kutta method.

    Zeros at the end of a row may be left out.

    Parameters
    ----------
    a, b, c
        Matrix rows of the stages, from the second stage on; weights of the new state; times of the
        stages as fractions of the step.
    e, e3
        Weights of the two error estimates, as in Dormand and Prince's method of order 8: weights of
        the new state less weights of the embedded formula. Empty for a method with a fixed step
        size.
    extra_a, extra_c
        Matrix rows and times of the additional stages for dense output.
    d
        Coefficients of the dense output polynomial beyond its cubic terms.
    forces
        Polynomials in the step fraction that interpolate forces at the stages up to each stage and
        the new state, (stages + 1, stages, powers); None for a method without modes.

    Attributes
    ----------
    stages
        Number of stages, not counting the evaluation at the new state.
    table
        Matrix rows of the stages, the new state and the additional stages, as a square array.
    upper
        Matrix rows of the stages, followed by the weights of the new state, (stages + 1, stages).
    weights
        Weights of the new state and of the two error estimates, (3, stages + 1).
    nodes
        Times of the stages and the new state as fractions of the step, (stages + 1,).
    dense, extra
        Coefficients of the dense output polynomial, (rows of d, len(table)), and times of the
        additional stages as fractions of the step.
    """

    def __init__(
        self, a: Rows, b: Row, c: Row, e: Row = (), e3: Row = (), extra_a: Rows = (),
        extra_c: tuple[float, ...] = (), d: Rows = (), forces: Array | None = None,
    ) -> None:  # fmt: skip
        self.stages, rows = len(b), ((), *a, b, *extra_a)
        self.table = coefficients(rows, len(rows))
        self.upper = self.table[: self.stages + 1, : self.stages]
        self.weights = coefficients((b, e, e3), self.stages + 1)
        self.nodes = np.append(c, 1.0)
        self.dense, self.extra = coefficients(d, len(rows)), extra_c
        self.forces = np.zeros(0) if forces is None else forces
