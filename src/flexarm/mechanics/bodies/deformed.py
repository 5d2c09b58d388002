"""A bent link as numbers: shapes and amplitudes over the samples of a run."""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from flexarm.links.base import DIRECTIONS, Array, Direction, Shape, Shapes
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.links.span import Span


@dataclass(frozen=True)
class Deformed:
    """A flexible link's shape functions, and how much of each there is at T samples.

    Attributes
    ----------
    shapes
        Functions of a coordinate: the distance x [m], or of a sliding link xi = x/l.
    amplitudes
        How much of each, (T, m).
    scale
        Metres per unit of the coordinate, (T,).
    length
        Length of the (exposed) span [m], (T,).
    end
        The coordinate at the tip.
    span
        The section's properties, as functions of x.
    weights
        Quadrature weights over the coordinate, with the places of ``points`` in between its ends.
    points
        Where they are.
    grows
        Whether the coordinate is xi, and the section the same everywhere.
    """

    shapes: Shapes
    amplitudes: Array
    scale: Array
    length: Array
    end: float
    span: Span
    points: Array
    weights: Array
    grows: bool = False

    @property
    def edges(self) -> Array:
        """Where shapes or section may jump."""
        edges = self.shapes.edges
        return edges if self.grows else np.union1d(edges, self.span.edges)

    def along_span(self, places: Array) -> Array:
        """Give the distances [m] at which the section has its properties."""
        return 0 * places if self.grows else places

    def values(self, direction: Direction, places: Array, nu: int = 0) -> Array:
        """Evaluate a displacement or twist, or its nu-th derivative by x, (T, len(places))."""
        columns = self.shapes.values(direction, places, nu)
        return np.asarray(self.amplitudes @ columns.T / self.scale[:, None] ** nu)

    def has(self, direction: Direction) -> bool:
        """Whether any shape goes in a direction."""
        return any(direction in shape.curves for shape in self.shapes.shapes)

    def curvatures(self, places: Array, *, stiffening: bool) -> tuple[Array, Array]:
        """Give the curvature along y and z [1/m], (T, len(places)) each.

        With stiffening to the third order, ``v'' + v' (v' v'' + w' w'')/2``, whose square is the
        integrand of the elastic energy.
        """
        y, z = self.values("y", places, 2), self.values("z", places, 2)
        if not stiffening:
            return y, z
        slopes = self.values("y", places, 1), self.values("z", places, 1)
        half = (slopes[0] * y + slopes[1] * z) / 2
        return y + slopes[0] * half, z + slopes[1] * half


def parents(shapes: SlidingShapes, length: Array, d: Array) -> tuple[Shapes, Array]:
    """Take a sliding link's parent curves as shapes over xi, with their amplitudes (T, m)."""
    low, high = shapes.range
    t = (2 * length - low - high) / (high - low)
    found: list[Shape] = []
    amounts = [np.zeros((len(d), 0))]
    for direction in DIRECTIONS:
        factors = shapes.factors[direction]
        weights = chebyshev.chebvander(t, len(factors) - 1)
        amounts.append(np.einsum("tr,rkj,tj->tk", weights, factors, d, optimize=True))
        for k in range(len(shapes.parents[direction])):
            found.append(Shape(f"{direction}{k}", {direction: _Parent(shapes, direction, k)}))
    m = len(found)
    return Shapes(tuple(found), shapes.edges, np.zeros((m, m))), np.concatenate(amounts, axis=1)


@dataclass(frozen=True)
class _Parent:
    """One of a sliding link's parent curves."""

    shapes: SlidingShapes
    direction: Direction
    index: int

    def __call__(self, x: Array, nu: int = 0) -> Array:
        return np.asarray(self.shapes.values(self.direction, x, nu)[self.index])
