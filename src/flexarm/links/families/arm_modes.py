"""Shapes of a link from the modes of the whole arm, as combinations of moment curves."""

from itertools import pairwise

import numpy as np
from numpy.polynomial import legendre

from flexarm.arm.shapes import Counted
from flexarm.links.base import (
    DIRECTIONS,
    Counts,
    Direction,
    Shapes,
    Span,
    SpanCurves,
    gauss_points,
    integrate_strain,
)
from flexarm.links.basis import (
    BeamDirection,
    diagonalise,
    family,
    join,
    left_over,
    normalise,
    requested_directions,
    strain_matrix,
)
from flexarm.links.constants import RATIONAL_DEGREES
from flexarm.links.families.spans import add_static
from flexarm.spatial import Array


def moment_curves(span: Span, motion: BeamDirection, count: int) -> SpanCurves:
    """Return curves with Legendre polynomials of x as bending moments (of rods, forces).

    Loads at the tip and loads distributed along the span cause such moments in any section.
    """
    edges = span.edges
    values = span.table[motion.stiffness]
    degree = count - 1 + (0 if np.all(values == values[0]) else RATIONAL_DEGREES)
    node, _ = gauss_points(degree + 1)
    inverse = np.linalg.inv(legendre.legvander(node, degree))
    panels = []
    for left, right in pairwise(edges):
        x = (left + right) / 2 + (right - left) / 2 * node
        moment = legendre.legvander(2 * x / span.length - 1, count - 1)
        panels.append(inverse @ (moment * (values.max() / span.at(motion.stiffness, x))[:, None]))
    return integrate_strain(edges, np.array(panels), np.zeros((motion.order, count)))


def moment_shapes(span: Span, counts: Counts) -> Shapes:
    """Return moment curves of each direction as shapes, in order of increasing degree."""
    parts = []
    for motion, count in requested_directions(span, counts):
        curves = moment_curves(span, motion, count)
        points = count + RATIONAL_DEGREES + 2
        stiffness = strain_matrix(curves, span, motion, span.edges, points=points)
        parts.append(family(motion.direction, curves, stiffness, span.edges))
    return join(parts, span)


def combined_shapes(
    choice: Counted, span: Span, curves: Shapes, columns: dict[Direction, Array]
) -> Shapes:
    """Build shapes of the span from combinations of moment curves, one per column and direction.

    The combined shapes of a direction are diagonalised.  Static shapes are added on request; moment
    curves of the lowest degrees are the static shapes of the tip.
    """

    def combine(direction: Direction, weights: Array) -> SpanCurves:
        (basis,) = curves.curves[direction]
        all_weights = np.zeros((curves.count, weights.shape[1]))
        all_weights[curves.moving(direction)] = weights
        return basis.times(all_weights)

    def stiffness(direction: Direction) -> Array:
        indices = curves.moving(direction)
        return curves.stiffness[np.ix_(indices, indices)]

    def rest(motion: BeamDirection, _: int) -> SpanCurves:
        weights = columns[motion.direction]
        static = np.eye(len(weights))[:, : motion.order]
        return combine(motion.direction, left_over(weights, static, stiffness(motion.direction)))

    parts = []
    for direction, weights in columns.items():
        coupled = weights.T @ stiffness(direction) @ weights
        part = family(direction, combine(direction, weights), coupled, span.edges)
        parts.append(diagonalise(part, span))
    shapes = normalise(join(parts, span), choice.normalise, span)
    if not choice.static:
        return shapes
    counts = Counts(*(columns[d].shape[1] if d in columns else 0 for d in DIRECTIONS))
    return add_static(shapes, span, counts, rest)
