"""Static shapes beside a family of modes: deflections under tip loads that the modes lack."""

from collections.abc import Callable

import numpy as np

from flexarm.links.base import Counts, Shapes
from flexarm.links.basis import BeamDirection, diagonalise, family, join, wanted
from flexarm.links.curves import SpanCurves
from flexarm.links.span import Span


def add_static(
    shapes: Shapes,
    span: Span,
    counts: Counts,
    rest: Callable[[BeamDirection, int], SpanCurves],
) -> Shapes:
    """Add the static shapes of tip loads, made orthogonal in energy to the modes.

    Parameters
    ----------
    shapes
        Modes of single directions.
    span, counts
        The span, and how many modes each direction has.
    rest
        Function of a direction and its number of modes.  It returns the part of the static shapes
        that the modes lack, as curves of unit stiffness of which no two couple.

    Returns
    -------
    Shapes
        In each direction the modes as they were, then two shapes of a beam (of a uniform one they
        complete x^2 and x^3) or one of a rod (x), whose strain energy couples with no mode; none
        where the modes span them.
    """
    parts: list[Shapes] = []
    for motion, count in wanted(span, counts):
        mine, curves = shapes.some(shapes.moving(motion.direction)), rest(motion, count)
        unit = np.ones(curves.count)
        more = family(motion.direction, curves, unit, shapes.edges, first=mine.count + 1)
        parts += [mine, diagonalise(more, span)]
    return join(parts, span)
