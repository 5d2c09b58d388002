"""Functions along a span: linear combinations of piecewise Legendre series."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.polynomial import legendre

from flexarm.links.constants import POLYNOMIAL_TABLES
from flexarm.spatial import Array

DERIVATIVES = 4  # series stored: the function itself and its first three derivatives
# Legendre polynomials, by the positions at which they are evaluated.
_tables: dict[bytes, Array] = {}


@dataclass(frozen=True, eq=False)
class SpanCurves:
    """n functions of the distance along a span, each a combination of k series per panel.

    At a jump on a panel edge, the value is that of the panel beyond the edge.
    """

    edges: Array  # panel edges [m], (p + 1,)
    # Legendre coefficients on each panel, (p, degree + 1, k), of the k series and of their
    # derivatives up to the third. Each is stored, because differentiating a series of high degree
    # loses digits and integrating one does not.
    series: tuple[Array, ...]
    weights: Array  # weights of the series in the functions, (k, n)

    @classmethod
    def from_values(cls, edges: Array, values: Array) -> Self:
        """Return functions from Legendre coefficients, shape (p, degree + 1, k), on p panels.

        Derivatives are computed by differentiating the series, which is accurate for low degrees.
        """
        half = np.diff(edges)[:, None, None] / 2
        return cls(edges, tuple(_derivatives(values, half, DERIVATIVES)), np.eye(values.shape[2]))

    def times(self, columns: Array) -> Self:
        """Return linear combinations of the functions, one per column of an (n, r) matrix."""
        return replace(self, weights=self.weights @ columns)

    def __call__(self, x: Array, nu: int = 0) -> Array:
        """Evaluate the ``nu``-th derivative (0 to 3), one-sided at panel edges, (len(x), n)."""
        panel = self.edges[1:-1].searchsorted(x, side="right")
        left, right = self.edges[panel], self.edges[panel + 1]
        series = self.series[nu]
        table = polynomials((2 * x - left - right) / (right - left), series.shape[1] - 1)
        has_one_panel = len(series) == 1
        values = (
            table @ series[0] if has_one_panel else np.einsum("gd,gdk->gk", table, series[panel])
        )
        return np.asarray(values @ self.weights)

    @property
    def degree(self) -> int:
        """Degree of the Legendre series of the functions."""
        return int(self.series[0].shape[1]) - 1

    @property
    def count(self) -> int:
        """Number of functions n."""
        return int(self.weights.shape[1])


def integrate_strain(edges: Array, strain: Array, root: Array) -> SpanCurves:
    """Integrate strains from the root to displacement curves of a span.

    Parameters
    ----------
    edges
        Panel edges [m], (p + 1,).
    strain
        Legendre coefficients on each panel, (p, degree + 1, k), of k strains: the curvature (second
        derivative) of beams, the first derivative of rods.
    root
        Values of the curves at the first edge and, for beams, slopes there, (order, k).
    """
    half = np.diff(edges)[:, None, None] / 2
    series = _derivatives(strain, half, DERIVATIVES - len(root))
    for start in root[::-1]:
        integral = half * legendre.legint(series[0], lbnd=-1, axis=1)
        rise = integral.sum(axis=1)  # every Legendre polynomial is 1 at a panel's end
        integral[:, 0] += start + np.cumsum(rise, axis=0) - rise
        series.insert(0, integral)
    return SpanCurves(edges, tuple(series), np.eye(strain.shape[2]))


def _derivatives(values: Array, half: Array, count: int) -> list[Array]:
    """Return panelwise Legendre series and their first ``count - 1`` derivatives."""
    series = [values]
    for _ in range(count - 1):
        series.append(legendre.legder(series[-1], axis=1) / half)
    return series


def polynomials(positions: Array, degree: int) -> Array:
    """Return Legendre polynomials at positions in (-1, 1), shape (len(positions), degree + 1).

    The table is cached and shared by all curves of a link: callers must not modify it.
    """
    key = positions.tobytes()
    table = _tables.pop(key, None)
    if table is None or table.shape[1] <= degree:
        table = np.asarray(legendre.legvander(positions, degree))
        table.flags.writeable = False  # several callers share it
    _tables[key] = table  # most recently used last
    if len(_tables) > POLYNOMIAL_TABLES:
        _tables.pop(next(iter(_tables)), None)
    return table[:, : degree + 1]
