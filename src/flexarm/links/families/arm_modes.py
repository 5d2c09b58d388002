"""Modes of the arm itself, link by link: the family, and the curves that it is made of."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.polynomial import legendre

from flexarm.arm.shapes import Counted, ShapeChoice
from flexarm.links.base import (
    DIRECTIONS,
    Array,
    Counts,
    Curve,
    Direction,
    Discretisation,
    Ends,
    Shapes,
)
from flexarm.links.basis import (
    BeamDirection,
    diagonalise,
    family,
    join,
    left_over,
    normalise,
    strain_matrix,
    wanted,
)
from flexarm.links.curves import combine, integrate_strain
from flexarm.links.families.loaded import LoadedModeShapes
from flexarm.links.families.static import add_static
from flexarm.links.span import Span, gauss_points

RATIONAL = 6  # degrees more for a polynomial over a stiffness that changes


class ArmModeShapes(Discretisation):
    """What the arm's own modes, as it starts, bend, twist and stretch a link by.

    `flexarm.model.arm_modes` finds them; of a link without an arm they are its loaded modes.
    ``y1`` is the slowest shape along y that the link has with its tip free.
    """

    name = "arm-modes"
    summary = "what the modes of the arm, as it starts, bend the link by"
    citation = "this project: proper orthogonal decomposition of the arm's modes"

    def loaded(self, choice: ShapeChoice) -> bool:
        """Tell whether shapes depend on what hangs on the link's ends: they do."""
        return True

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the shape functions of a span."""
        return LoadedModeShapes().shapes(choice, span, ends, counts)

    def rest(self, span: Span, ends: Ends, direction: Direction, count: int) -> Sequence[Curve]:
        """Make curves of what forces at the tip do beside so many modes of a direction."""
        return LoadedModeShapes().rest(span, ends, direction, count)


def moment_curves(span: Span, motion: BeamDirection, count: int) -> list[Curve]:
    """Make curves whose moments (of rods: forces) are Legendre polynomials of the span.

    They are what loads at the tip, and loads spread along the span, cause in a beam of any section.
    """
    edges = span.edges
    values = span.table[motion.stiffness]
    degree = count - 1 + (0 if np.all(values == values[0]) else RATIONAL)
    node, _ = gauss_points(degree + 1)
    inverse = np.linalg.inv(legendre.legvander(node, degree))
    panels = []
    for left, right in pairwise(edges):
        x = (left + right) / 2 + (right - left) / 2 * node
        moment = legendre.legvander(2 * x / span.length - 1, count - 1)
        panels.append(inverse @ (moment * (values.max() / span.at(motion.stiffness, x))[:, None]))
    return [*integrate_strain(edges, np.array(panels), np.zeros((motion.order, count)))]


def moment_shapes(span: Span, counts: Counts) -> Shapes:
    """Give each direction as many moment curves as counted, lowest degree first."""
    parts = []
    for motion, count in wanted(span, counts):
        curves = moment_curves(span, motion, count)
        points = count + RATIONAL + 2
        stiffness = strain_matrix(curves, span, motion, span.edges, points=points)
        parts.append(family(motion.direction, curves, stiffness, span.edges))
    return join(parts, span)


def combined_shapes(
    choice: Counted, span: Span, curves: Shapes, columns: dict[Direction, Array]
) -> Shapes:
    """Combine curves, per direction one shape per column of unit stiffness, into modes of the span.

    Moment curves of the lowest degrees are the static shapes of the tip.
    """

    def mixed(direction: Direction, weights: Array) -> list[Curve]:
        mine = [shape.curves[direction] for shape in curves.shapes if direction in shape.curves]
        return [combine(mine, column) for column in weights.T]

    def stiffness(direction: Direction) -> Array:
        own = [i for i, shape in enumerate(curves.shapes) if direction in shape.curves]
        return curves.stiffness[np.ix_(own, own)]

    def rest(motion: BeamDirection, _: int) -> list[Curve]:
        weights = columns[motion.direction]
        static = np.eye(len(weights))[:, : motion.order]
        left = left_over(weights, static, stiffness(motion.direction))
        return mixed(motion.direction, left)

    parts = []
    for direction, weights in columns.items():
        coupled = weights.T @ stiffness(direction) @ weights
        part = family(direction, mixed(direction, weights), coupled, span.edges)
        parts.append(diagonalise(part, span))
    shapes = normalise(join(parts, span), choice.normalise, span)
    if not choice.static:
        return shapes
    counts = Counts(*(columns[d].shape[1] if d in columns else 0 for d in DIRECTIONS))
    return add_static(shapes, span, counts, rest)
