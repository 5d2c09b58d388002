"""Curves along a span: panelwise Legendre series and linear combinations."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.polynomial import legendre

from flexarm.links.base import Array, Curve

DERIVATIVES = 4


def combine(curves: Sequence[Curve], weights: Array) -> Curve:
    """Add one curve or more with a weight each, into one series where they share their panels."""
    first = curves[0]
    if isinstance(first, Piecewise):
        same = [c for c in curves if isinstance(c, Piecewise) and first.matches(c)]
        if len(same) == len(curves):
            sums = [
                np.tensordot(weights, np.stack([c.series[nu] for c in same]), axes=1)
                for nu in range(DERIVATIVES)
            ]
            return Piecewise(first.edges, tuple(sums))
    totals: dict[int, float] = {}
    found: dict[int, Curve] = {}
    for curve, weight in zip(curves, weights.tolist(), strict=True):
        for part, share in parts(curve):
            found[id(part)] = part
            totals[id(part)] = totals.get(id(part), 0.0) + weight * share
    return Combination(tuple(found.values()), tuple(totals.values()))


def parts(curve: Curve) -> list[tuple[Curve, float]]:
    """List what a curve is the sum of, with weights."""
    if isinstance(curve, Combination):
        return list(zip(curve.curves, curve.weights, strict=True))
    return [(curve, 1.0)]


def integrate_strain(edges: Array, strain: Array, root: Array) -> list["Piecewise"]:
    """Make curves of strains by integrating from the root.

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
    return [
        Piecewise(edges, tuple(np.ascontiguousarray(each[..., i]) for each in series))
        for i in range(strain.shape[2])
    ]


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
    """Keep the table of polynomials at some places, of the highest degree that was asked for."""
    return []


@dataclass(frozen=True)
class Combination:
    """A weighted sum of curves."""

    curves: tuple[Curve, ...]
    weights: tuple[float, ...]

    def __call__(self, x: Array, nu: int = 0) -> Array:
        """Return the ``nu``-th derivative at every x."""
        total = np.zeros_like(x)
        for curve, weight in zip(self.curves, self.weights, strict=True):
            total = total + weight * curve(x, nu)
        return total


@dataclass(frozen=True, eq=False)
class Piecewise:
    """A polynomial on each panel; a jump at an edge belongs to the panel that it opens."""

    edges: Array  # panel edges [m], (p + 1,)
    # Legendre coefficients on each panel, (p, degree + 1), of the curve and its derivatives up to
    # the third.  Each is kept, because differentiating a series of high degree loses digits and
    # integrating one does not.
    series: tuple[Array, ...]

    @classmethod
    def from_values(cls, edges: Array, values: Array) -> Self:
        """Take the Legendre coefficients of the curve itself, (p, degree + 1).

        The derivatives follow by differentiation: for low degrees.
        """
        return cls(edges, tuple(_derivatives(values, np.diff(edges)[:, None] / 2, DERIVATIVES)))

    def __call__(self, x: Array, nu: int = 0) -> Array:
        """Return the ``nu``-th derivative (0 to 3) at every x."""
        panel = self.edges[1:-1].searchsorted(x, side="right")
        left, right = self.edges[panel], self.edges[panel + 1]
        t = (2 * x - left - right) / (right - left)
        series = self.series[nu]
        values = polynomials(t, series.shape[1] - 1)
        return np.asarray(np.einsum("gk,gk->g", values, series[panel]))

    @property
    def degree(self) -> int:
        """Degree of the curve's polynomials."""
        return int(self.series[0].shape[1]) - 1

    def matches(self, other: "Piecewise") -> bool:
        """Whether another curve has the same panels and degrees."""
        return np.array_equal(self.edges, other.edges) and all(
            a.shape == b.shape for a, b in zip(self.series, other.series, strict=True)
        )
