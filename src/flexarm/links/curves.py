"""Functions along a span: combinations of Legendre series on panels."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.polynomial import legendre

from flexarm.spatial import Array

DERIVATIVES = 4  # kept of each series: the function itself and its first three derivatives


@dataclass(frozen=True, eq=False)
class SpanCurves:
    """Functions of the distance along a span, n combinations of k polynomials on each panel.

    A jump at an edge belongs to the panel that the edge opens.
    """

    edges: Array  # panel edges [m], (p + 1,)
    # Legendre coefficients on each panel, (p, degree + 1, k), of the k series and their derivatives
    # up to the third.  Each is kept, because differentiating a series of high degree loses digits
    # and integrating one does not.
    series: tuple[Array, ...]
    weights: Array  # weights of the series in the functions, (k, n)

    @classmethod
    def from_values(cls, edges: Array, values: Array) -> Self:
        """Return the functions with Legendre coefficients (p, degree + 1, k).

        The derivatives follow by differentiation: for low degrees.
        """
        half = np.diff(edges)[:, None, None] / 2
        return cls(edges, tuple(_derivatives(values, half, DERIVATIVES)), np.eye(values.shape[2]))

    def times(self, columns: Array) -> Self:
        """Return linear combinations of the functions, one per column (n, r)."""
        return replace(self, weights=self.weights @ columns)

    def __call__(self, x: Array, nu: int = 0) -> Array:
        """Evaluate the ``nu``-th derivative (0 to 3), one-sided inside a panel, (len(x), n)."""
        panel = self.edges[1:-1].searchsorted(x, side="right")
        left, right = self.edges[panel], self.edges[panel + 1]
        series = self.series[nu]
        table = polynomials((2 * x - left - right) / (right - left), series.shape[1] - 1)
        one = len(series) == 1
        values = table @ series[0] if one else np.einsum("gd,gdk->gk", table, series[panel])
        return np.asarray(values @ self.weights)

    @property
    def degree(self) -> int:
        """Degree of the polynomials."""
        return int(self.series[0].shape[1]) - 1

    @property
    def count(self) -> int:
        """Number of functions."""
        return int(self.weights.shape[1])


def integrate_strain(edges: Array, strain: Array, root: Array) -> SpanCurves:
    """Integrate strains from the root.

    Parameters
    ----------
    edges
        Panel edges [m], (p + 1,).
    strain
        Legendre coefficients on each panel, (p, degree + 1, k), of k strains: the curvature (second
        derivative) of beams, the first derivative of rods.
    root
        Values of the curves at the first edge and, of beams, their slopes, (order, k).
    """
    half = np.diff(edges)[:, None, None] / 2
    series = _derivatives(strain, half, DERIVATIVES - len(root))
    for start in root[::-1]:
        inside = half * legendre.legint(series[0], lbnd=-1, axis=1)
        rise = inside.sum(axis=1)  # every Legendre polynomial is 1 at a panel's end
        inside[:, 0] += start + np.cumsum(rise, axis=0) - rise
        series.insert(0, inside)
    return SpanCurves(edges, tuple(series), np.eye(strain.shape[2]))


def _derivatives(values: Array, half: Array, count: int) -> list[Array]:
    """Differentiate panelwise Legendre series: the series itself and count - 1 derivatives."""
    series = [values]
    for _ in range(count - 1):
        series.append(legendre.legder(series[-1], axis=1) / half)
    return series


def polynomials(places: Array, degree: int) -> Array:
    """Legendre polynomials at places that all curves of a link share; not to be written to."""
    kept = _kept(places.tobytes())
    table = kept[0] if kept else None
    if table is None or table.shape[1] <= degree:
        table = np.asarray(legendre.legvander(places, degree))
        table.flags.writeable = False  # many share it
        kept[:] = [table]
    return table[:, : degree + 1]


@lru_cache(maxsize=32)
def _kept(places: bytes) -> list[Array]:
    """Cache the table of polynomials at some places, up to the highest degree requested."""
    return []
