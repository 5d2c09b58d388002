"""Lumped flexibility: a span of rigid segments connected by springs."""

import numpy as np

from flexarm.arm.shapes import ShapeChoice
from flexarm.links.base import Counts, Discretisation, Ends, Shapes
from flexarm.links.basis import BeamDirection, family, join, requested_directions
from flexarm.links.curves import SpanCurves
from flexarm.links.span import Span, union
from flexarm.spatial import Array


def _springs(span: Span, motion: BeamDirection, count: int) -> Shapes:
    """Return the shapes of the spring deflections in one direction."""
    segments = np.linspace(0.0, span.length, count + 1)
    centres = (segments[:-1] + segments[1:]) / 2
    edges = np.concatenate(([0.0], centres, [span.length]))
    half = np.diff(edges)[:, None] / 2
    is_outboard = np.where(np.arange(count + 1)[:, None] > np.arange(count), 1.0, 0.0)
    series = [is_outboard]
    if motion.order == 2:
        series = [is_outboard * (edges[:-1, None] + half - centres), is_outboard * half]
    curves = SpanCurves.from_values(edges, np.stack(series, axis=1))
    return family(motion.direction, curves, 1 / _compliance(span, motion, segments), edges)


def _compliance(span: Span, motion: BeamDirection, segments: Array) -> Array:
    """Return the compliance of each segment, ``int dx/E``, with E linear between stations."""
    edges = union(segments, span.edges)
    width = np.diff(edges)
    left = span.at(motion.stiffness, edges[:-1])
    growth = 2 * (span.at(motion.stiffness, edges[:-1] + width / 2) / left - 1)
    # ln(1 + g)/g, whose limit 1 is the uniform panel's.
    is_uniform = np.abs(growth) < 1e-12
    factor = np.where(is_uniform, 1.0, np.log1p(growth) / np.where(is_uniform, 1.0, growth))
    starts = np.searchsorted(edges, segments[:-1])
    return np.asarray(np.add.reduceat(width / left * factor, starts))


class LumpedShapes(Discretisation):
    """Rigid straight pieces connected by springs at the centres of equal segments.

    Coordinates are the deflections of the springs: in bending the angle between the two pieces
    [rad] (a jump of the slope dy/dx, dz/dx), in torsion the jump of the twist [rad], in stretch the
    jump of the displacement [m].  A spring has the compliance of its segment: ``1/k = int dx/EI``.
    Only the springs deform, so the curves' second derivatives are zero.
    """

    name = "lumped"
    summary = "rigid pieces with springs between them"
    citation = "Yoshikawa & Hosoda 1996"

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the shapes of the spring deflections of a span."""
        parts = [
            _springs(span, motion, count) for motion, count in requested_directions(span, counts)
        ]
        return join(parts, span)
