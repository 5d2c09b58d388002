"""Static shapes added to a family of modes: the part of tip deflections that the modes lack."""

from collections.abc import Callable

import numpy as np

from flexarm.links.base import Counts, Shapes
from flexarm.links.basis import BeamDirection, diagonalise, family, join, requested_directions
from flexarm.links.curves import SpanCurves
from flexarm.links.span import Span


def add_static(
    shapes: Shapes,
    span: Span,
    counts: Counts,
    remaining_shapes: Callable[[BeamDirection, int], SpanCurves],
) -> Shapes:
    """Return modes with static shapes of tip loads added, orthogonal to the modes in strain energy.

    Parameters
    ----------
    shapes
        Modes, each in a single direction.
    span, counts
        The span, and the number of modes in each direction.
    rest
        Function of a direction and its number of modes.  It returns the static shapes minus their
        projection on the modes, as curves with an identity stiffness matrix.

    Returns
    -------
    Shapes
        In each direction the unchanged modes, then two shapes for a beam (for a uniform beam they
        complete x^2 and x^3) or one for a rod (x), not coupled with the modes in strain energy;
        none where the modes span the static shapes.
    """
    parts: list[Shapes] = []
    for motion, count in requested_directions(span, counts):
        own_modes, curves = (
            shapes.some(shapes.moving(motion.direction)),
            remaining_shapes(motion, count),
        )
        unit_stiffness = np.ones(curves.count)
        static_shapes = family(
            motion.direction, curves, unit_stiffness, shapes.edges, first=own_modes.count + 1
        )
        parts += [own_modes, diagonalise(static_shapes, span)]
    return join(parts, span)
