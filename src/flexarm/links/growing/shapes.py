"""Shape functions of a link that slides out of its hub, of position and exposed length.

A shape is ``phi_j(x; l) = sum_k chi_k(x/l) a_kj(l)``, with a few parent curves chi and factors a,
which are Chebyshev series of the exposed length l. If the length does not change the shapes, or
only scales them, the shapes are their own parent curves, so that the matrix a is diagonal and the
equations are short. Otherwise, a singular value decomposition yields the parent curves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev

from flexarm.constants import DUST, ROUNDING
from flexarm.errors import ShapeError
from flexarm.links.base import DIRECTIONS, Direction, Shapes, Span, SpanCurves, fitted
from flexarm.links.basis import family, join, strained
from flexarm.links.constants import SERIES_DEGREE, SERIES_END, SERIES_POINTS
from flexarm.spatial import Array, Expr, Scalar


@dataclass(frozen=True)
class SlidingShapes:
    """Shape functions of a sliding link with m amplitudes, as series in xi and in the length."""

    names: tuple[str, ...]  # names of the amplitudes
    span: Span  # the whole beam; its section is linear from end to end
    range: tuple[float, float]  # least and largest exposed length [m]
    edges: Array  # panel edges in xi = x/l, from 0 to 1
    # Legendre coefficients of the K parent curves of each direction on each panel of xi,
    # (K, panels, degree + 1).
    parents: dict[Direction, Array]
    # Chebyshev coefficients of the factors a(l) of each direction, R terms, (R, K, m).
    factors: dict[Direction, Array]

    def per_length(self, name: str) -> list[float]:
        """Return coefficients c_k of a section property ``sum c_k s^k``, at s [m] from the tip."""
        return [float(taper.table[name][0]) for taper in self.span.tapers]

    def masses(self, length: Expr) -> list[tuple[int, Expr]]:
        """Return pairs (k, m_k): the mass per unit of xi is the sum of ``m_k (1 - xi)^k`` [kg]."""
        every = enumerate(self.per_length("mass_per_length"))
        return [(k, mass * length ** (k + 1)) for k, mass in every if mass]

    def inside(self, name: str, length: Scalar) -> list[Scalar]:
        """Return coefficients d_n of a section property ``sum d_n z^n`` of the part in the hub.

        The position z is the distance from the hub's mouth divided by the length of the part in the
        hub.
        """
        tip, *rises = self.per_length(name)
        mouth = sum((rise * length**k for k, rise in enumerate(rises, 1)), tip * length**0)
        return [mouth, *(rise * (self.span.length - length) for rise in rises)]

    def hidden(self, name: str, length: Scalar, order: int = 0) -> Scalar:
        """Integrate a section property of the part in the hub, times ``z^order``, from z = 0 to 1.

        The position z is the distance from the hub's mouth divided by the length of the part in the
        hub.
        """
        first, *rest = self.inside(name, length)
        later = (each / (1 + order + n) for n, each in enumerate(rest, 1))
        return sum(later, first / (1 + order))

    def values(self, direction: Direction, xi: Array, nu: int = 0) -> Array:
        """Evaluate a direction's K curves over xi, or their nu-th derivatives, (K, len(xi))."""
        return self._curves(direction, 1.0)(xi, nu).T

    def parent_shapes(self) -> Shapes:
        """Return the curves over xi of all directions as shape functions of unit length."""
        every = [
            family(d, curves, self.edges)
            for d in DIRECTIONS
            if (curves := self._curves(d, 1.0)).count
        ]
        return join(every, Span(1.0, self.edges[[0, -1]], {}))

    def _curves(self, direction: Direction, length: float) -> SpanCurves:
        """Return a direction's K curves over xi, stretched to an exposed length [m]."""
        values = self.parents[direction].transpose(1, 2, 0)
        return SpanCurves.from_values(self.edges * length, values)

    def factor(self, direction: Direction, lengths: Array) -> Array:
        """Evaluate the factors of a direction's curves at T exposed lengths [m], (T, K, m)."""
        (low, high), factors = self.range, self.factors[direction]
        t = (2 * lengths - low - high) / (high - low)
        weights = chebyshev.chebvander(t, len(factors) - 1)
        return np.asarray(np.tensordot(weights, factors, axes=1))

    def at(self, length: float) -> Shapes:
        """Build the shape functions at one exposed length [m]."""
        low, high = self.range
        if not low <= length <= high * (1 + 1e-12):
            raise ShapeError(
                f"the exposed length {length:g} m is outside its range {low:g} to {high:g} m"
            )
        curves = {
            direction: (
                self._curves(direction, length).times(
                    self.factor(direction, np.array([length]))[0]
                ),
            )
            for direction in self.factors
        }
        none = np.zeros((len(self.names), len(self.names)))
        shapes = Shapes(self.names, curves, self.edges * length, none)
        return strained(shapes, self.span.outer(length))


def follow_length(
    build: Callable[[float], Shapes], span: Span, range_: tuple[float, float]
) -> SlidingShapes:
    """Fit shapes that vary with the exposed length by series, with a relative error of 1e-13.

    Parameters
    ----------
    build
        Function that returns the shapes of a link of given length [m]; they vary smoothly with it.
    span
        The whole beam.
    range_
        Minimum and maximum exposed length [m].
    """
    node = np.cos(np.pi * (np.arange(SERIES_POINTS) + 0.5) / SERIES_POINTS)
    low, high = range_
    built = [build((low + high) / 2 + (high - low) / 2 * t) for t in node]
    edges = _panel_edges(built[0])
    samples = [_fit_places(s, low, high, t, edges) for s, t in zip(built, node, strict=True)]
    _align_signs(samples)
    parents, factors = dict[Direction, Array](), dict[Direction, Array]()
    found, curves = dict[Direction, npt.NDArray[np.int64]](), dict[Direction, Array]()
    for direction in DIRECTIONS:
        values = np.stack([sample[direction] for sample in samples])
        moved = np.flatnonzero(np.any(values, axis=(0, 1, 2)))
        for other, its in found.items():
            if len(moved) == len(its) and _same(values[..., moved], curves[other][..., its]):
                parents[direction] = parents[other]
                factors[direction] = np.zeros_like(factors[other])
                factors[direction][..., moved] = factors[other][..., its]
                break
        else:
            split = _scaled(values, node, range_) or _mixed(values, node, range_)
            parents[direction], factors[direction] = split
        found[direction], curves[direction] = moved, values
    return SlidingShapes(built[0].names, span, range_, edges, parents, factors)


def fixed_shapes(
    shapes: Shapes, length: float, span: Span, range_: tuple[float, float]
) -> SlidingShapes:
    """Build the shapes of a sliding link whose length only stretches given shapes along x.

    The given shapes belong to one exposed ``length`` [m].
    """
    edges = _panel_edges(shapes)
    places = _fit_places(shapes, 0.0, 2 * length, 0.0, edges)
    parents, factors = {}, {}
    for direction in DIRECTIONS:
        curves = places[direction]
        moved = np.flatnonzero(np.any(curves, axis=(0, 1)))
        parents[direction] = np.ascontiguousarray(curves[:, :, moved].transpose(2, 0, 1))
        factors[direction] = np.eye(curves.shape[2])[None, moved]
    return SlidingShapes(shapes.names, span, range_, edges, parents, factors)


def _same(curves: Array, others: Array) -> bool:
    """Return whether two sets of curves differ only by rounding."""
    apart = np.abs(curves - others).max(initial=0.0)
    return bool(apart <= ROUNDING * np.abs(curves).max(initial=0.0))


def _align_signs(samples: list[dict[Direction, Array]]) -> None:
    """Change signs of sampled shapes in place to make each shape continuous over the length.

    Scaling to unit tip displacement flips the sign of a shape at lengths where its tip displacement
    is 0.
    """
    for before, here in pairwise(samples):
        for direction in DIRECTIONS:
            same = np.einsum("pkm,pkm->m", before[direction], here[direction])
            here[direction] *= np.where(same < 0, -1.0, 1.0)


def _scaled(values: Array, node: Array, range_: tuple[float, float]) -> tuple[Array, Array] | None:
    """Return curves and length factors if the length only scales the shapes; else None.

    Returns
    -------
    Parents (K, panels, degree + 1) and the Chebyshev coefficients of their factors (R, K, m).
    """
    nodes, panels, degree, m = values.shape
    moved = np.flatnonzero(np.any(values, axis=(0, 1, 2)))
    parents, factors = np.zeros((len(moved), panels, degree)), np.zeros((nodes, len(moved), m))
    for k, j in enumerate(moved):
        curves = values[..., j].reshape(nodes, -1)
        scale = curves @ curves[0] / (curves[0] @ curves[0])
        size = np.abs(curves).max(axis=1, keepdims=True)
        if np.any(np.abs(curves - np.outer(scale, curves[0])) > ROUNDING * size):
            return None
        scale, factors[:, k, j] = _exact_scale(scale, node, range_)
        parents[k] = (scale @ curves / (scale @ scale)).reshape(panels, degree)
    return parents, _trimmed(factors, range_)


def _exact_scale(scale: Array, node: Array, range_: tuple[float, float]) -> tuple[Array, Array]:
    """Return a scale sampled at Chebyshev nodes, exact if constant or proportional to the length.

    Returns
    -------
    The scale at the nodes and its Chebyshev coefficients, shape (nodes,) each.
    """
    middle, half = (range_[1] + range_[0]) / 2, (range_[1] - range_[0]) / 2
    series = np.zeros(len(node))
    for known, start in ((np.ones_like(node), (1.0, 0.0)), (middle + half * node, (middle, half))):
        if np.allclose(scale * known[0], scale[0] * known, rtol=ROUNDING, atol=0):
            series[:2] = start
            return known, series
    return scale, np.asarray(chebyshev.chebfit(node, scale, len(node) - 1))


def _mixed(values: Array, node: Array, range_: tuple[float, float]) -> tuple[Array, Array]:
    """Compute common curves of shapes sampled at several lengths, by singular values.

    The samples have shape (nodes, panels, degree + 1, m), one per Chebyshev node of the length.

    Returns
    -------
    Parents (K, panels, degree + 1) and the Chebyshev coefficients of their factors (R, K, m).
    """
    nodes, panels, degree, m = values.shape
    flat = values.transpose(1, 2, 0, 3).reshape(panels * degree, nodes * m)
    left, size, right = np.linalg.svd(flat, full_matrices=False)
    kept = int(np.sum(size > ROUNDING * size[0]))
    parents = left[:, :kept].T.reshape(kept, panels, degree)
    by_node = (size[:kept, None] * right[:kept]).reshape(kept, nodes, m).transpose(1, 0, 2)
    by_node = np.where(np.any(values != 0, axis=(0, 1, 2)), by_node, 0.0)
    fit = chebyshev.chebfit(node, by_node.reshape(nodes, -1), nodes - 1)
    fit = np.asarray(fit, dtype=np.float64).reshape(by_node.shape)
    return np.ascontiguousarray(parents), _trimmed(fit, range_)


def _trimmed(fit: Array, range_: tuple[float, float]) -> Array:
    """Return a Chebyshev series without its negligible tail.

    A ShapeError is raised if the series has no negligible tail.
    """
    size = np.abs(fit).max(initial=0.0)
    tail = [float(np.abs(term).max(initial=0.0)) for term in fit]
    needed = 1 + max((r for r in range(len(tail)) if tail[r] > ROUNDING * size), default=0)
    if needed > SERIES_POINTS - 4:
        raise ShapeError(
            f"the shapes change too fast over exposed lengths {range_[0]:g} to {range_[1]:g} m, "
            "perhaps because the tip hardly moves at some length. Raise limits.lower of the "
            "joint, or write 'normalise: mass'."
        )
    return np.ascontiguousarray(fit[:needed])


def _fit_places(
    shapes: Shapes, low: float, high: float, node: float, edges: Array
) -> dict[Direction, Array]:
    """Fit the shapes at one exposed length by Legendre series between edges in xi.

    The coefficients have the shape (panels, degree + 1, m) per direction.
    """
    length = (low + high) / 2 + (high - low) / 2 * node
    assert abs(shapes.edges[-1] - length) <= 1e-9 * length

    def along(direction: Direction) -> Array:
        return fitted(lambda xi: shapes.values(direction, xi * length), edges, SERIES_DEGREE + 1)

    return _converged({direction: along(direction) for direction in DIRECTIONS})


def _panel_edges(shapes: Shapes) -> Array:
    """Return the panel edges of the shapes in xi, from 0 to 1."""
    edges = shapes.edges / shapes.edges[-1]
    # Edges that differ by rounding are merged.
    return np.asarray(edges[np.append(np.diff(edges) > ROUNDING, True)])


def _converged(terms: dict[Direction, Array]) -> dict[Direction, Array]:
    """Return Legendre series whose coefficients at rounding level are set to 0.

    Differentiation would amplify rounding errors by up to the square of the degree.

    Raises
    ------
    ShapeError
        If a series has not converged at the highest degree.
    """
    size = np.max([np.abs(t).max(axis=(0, 1)) for t in terms.values()], axis=0)
    if any(np.any(np.abs(t[:, -2:]).max(axis=(0, 1)) > SERIES_END * size) for t in terms.values()):
        raise ShapeError(
            "these shapes have too many waves for a sliding link. Take at most 15 modes, or 30 "
            "polynomials or elements, in each direction."
        )
    found = {}
    for direction, t in terms.items():
        tail = np.maximum.accumulate(np.abs(t[:, ::-1]).max(axis=0))[::-1]
        # Finite series, as of finite elements, have later coefficients of at most 7e-15 due to
        # rounding.
        found[direction] = np.where(tail > DUST * (1 + t.shape[0]) * size, t, 0.0)
    return found
