"""Static shapes beside a family of modes: what forces at the tip do that the family cannot."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flexarm.errors import ShapeError
from flexarm.links.base import Array, Counts, Curve, Shape, Shapes
from flexarm.links.basis import (
    Motion,
    diagonalise,
    family,
    join,
    orthonormal_columns,
    strain_matrix,
    wanted,
)
from flexarm.links.beams.finite import constraint_shapes
from flexarm.links.curves import Piecewise, combine
from flexarm.links.span import Span

SPANNED = 1e-10  # of a static shape's energy: what is left where modes have it
HAVE_THEM = ("elements", "craig-bampton", "polynomials", "lumped")


def add_static(shapes: Shapes, span: Span, counts: Counts, kind: str) -> Shapes:
    """Add the static shapes of the tip, less what the family has of them.

    Parameters
    ----------
    shapes
        Modes of single directions.
    span, counts
        The span, and how many modes each direction has.
    kind
        What the family is called.

    Returns
    -------
    Shapes
        In each direction the modes as they were, then two shapes of a beam (of a uniform one they
        complete x^2 and x^3) or one of a rod (x), whose strain energy couples with no mode; none
        where the modes span them.

    Raises
    ------
    ShapeError
        If the family has these shapes already.
    """
    if kind in HAVE_THEM:
        raise ShapeError(f"static: {kind} shapes have the static ones already: leave it out")
    parts: list[Shapes] = []
    for motion, _ in wanted(span, counts):
        mine = [k for k, each in enumerate(shapes.shapes) if motion.direction in each.curves]
        modes = Shapes(
            tuple(shapes.shapes[k] for k in mine),
            shapes.edges,
            shapes.stiffness[np.ix_(mine, mine)],
        )
        parts += [modes, _left_over(modes, span, motion)]
    return join(parts, span)


def _left_over(modes: Shapes, span: Span, motion: Motion) -> Shapes:
    """Make static shapes that have no strain energy in common with modes."""
    curves: Sequence[Curve] = constraint_shapes(span, motion)[0]
    own = [shape.curves[motion.direction] for shape in modes.shapes]
    points = 16 + 2 * len(own)

    def strains(of: Sequence[Curve], others: Sequence[Curve] | None = None) -> Array:
        return strain_matrix(of, span, motion, modes.edges, points=points, others=others)

    for again in (False, True):  # because little is left of curves, and that is much alike
        whole = np.diag(strains(curves))
        taken = np.linalg.solve(strains(own), strains(own, curves))
        left = [
            combine([curve, *own], np.array([1.0, *-column]))
            for curve, column in zip(curves, taken.T, strict=True)
        ]
        # Of their own curvature: a difference of energies would lose the digits of what is left.
        raw = family(
            motion.direction, left, strains(left), modes.edges, first=len(modes.shapes) + 1
        )
        if again:
            break
        if np.all(np.diag(raw.stiffness) < SPANNED * whole):
            return family(motion.direction, [], np.zeros((0, 0)), modes.edges)
        columns = orthonormal_columns(raw.stiffness, raw.names)
        curves = [combine(left, column) for column in columns.T]
    found = diagonalise(raw, span)
    held = tuple(
        Shape(each.name, {motion.direction: _held(each.curves[motion.direction], span, motion)})
        for each in found.shapes
    )
    return replace(found, shapes=held)


def _held(curve: Curve, span: Span, motion: Motion) -> Curve:
    """Take the root's rotation out of a curve: the modes' own, or what rounding left of it."""
    turned = float(curve(np.zeros(1), motion.order - 1)[0])
    half = span.length / 2
    values = np.array([[half, half]] if motion.order == 2 else [[1.0]])
    return combine(
        [curve, Piecewise.from_values(span.edges[[0, -1]], values)], np.array([1, -turned])
    )
