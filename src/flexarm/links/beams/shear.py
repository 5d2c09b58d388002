"""Timoshenko beams: with shear, the slope of the axis differs from the rotation of the section."""

from dataclasses import replace

import numpy as np

from flexarm.arm.shapes import Normalise
from flexarm.errors import ShapeError
from flexarm.links.base import Direction, Shapes
from flexarm.links.basis import MOTIONS, normalise
from flexarm.links.constants import JUMP_SIZE, SHEAR_POINTS
from flexarm.links.curves import SpanCurves
from flexarm.links.span import Span


def sheared(shapes: Shapes, span: Span, scaling: Normalise) -> Shapes:
    """Return shapes with shear deflection in each direction that has a shear stiffness.

    Sections turn by the slope ``psi = b'`` of the bending deflection b; the axis has the slope
    ``psi - ratio psi''``, as the shear force is the derivative of the bending moment ``EI psi'``.
    Derivatives of the returned curves are the sections' rotation and its derivatives.

    Parameters
    ----------
    shapes, span
        Shapes of bending alone, and their span.
    how
        Scaling of the amplitudes.

    Raises
    ------
    ShapeError
        If the section varies along the span, the curvature of shapes jumps, or modes are measured.
    """
    x, weight = span.quadrature(SHEAR_POINTS + 2 * shapes.count, shapes.edges)
    stiffness, curves = shapes.stiffness.copy(), dict(shapes.curves)
    ratios: dict[Direction, float] = {}
    for motion in MOTIONS.values():
        if motion.shear is None or not (span.has(motion.shear) and span.has(motion.stiffness)):
            continue
        _require_smooth(shapes, span, motion.direction)
        bending = float(span.table[motion.stiffness][0])
        ratio = ratios[motion.direction] = bending / float(span.table[motion.shear][0])
        third_derivative = shapes.values(motion.direction, x, 3)
        stiffness += ratio * bending * third_derivative.T @ (weight[:, None] * third_derivative)
        curve_sets = shapes.curves.get(motion.direction, ())
        curves[motion.direction] = tuple(_with_shear(curve, ratio) for curve in curve_sets)
    if shapes.mass is not None:
        raise ShapeError(
            "measured modes include shear already. Leave the shear stiffness out of the section."
        )
    return normalise(
        replace(shapes, curves=curves, stiffness=stiffness, shear=ratios), scaling, span
    )


def _with_shear(bending: SpanCurves, ratio: float) -> SpanCurves:
    """Return bending curves b plus shear deflection, ``b - ratio (b'' - b''(0))``.

    The derivatives of the returned curves are those of b, which are the section rotations.
    """
    deflection, curvature = bending.series[0].copy(), bending.series[2]
    deflection[:, : curvature.shape[1]] -= ratio * curvature
    # Curvature at the root: Legendre polynomials are alternately 1 and -1 at the start of a panel.
    root = (-1.0) ** np.arange(curvature.shape[1]) @ curvature[0]
    deflection[:, 0] += ratio * root
    return replace(bending, series=(deflection, *bending.series[1:]))


def _require_smooth(shapes: Shapes, span: Span, direction: Direction) -> None:
    """Raise ShapeError if the section varies, or slopes or curvatures of the shapes jump."""
    if not span.uniform:
        raise ShapeError(
            "shear needs a section that is constant along the link. Leave the "
            "shear stiffness out, or use a constant section."
        )
    inner_edges, step = shapes.edges[1:-1], 1e-9 * span.length
    for nu in (1, 2):
        size = np.abs(shapes.values(direction, shapes.edges, nu)).max(initial=0.0)
        left, right = (shapes.values(direction, inner_edges + h, nu) for h in (-step, step))
        if np.abs(right - left).max(initial=0.0) > JUMP_SIZE * size:
            raise ShapeError(
                "shear needs shapes without jumps of curvature. Replace elements and lumped "
                "springs by 'loaded' or another family of modes."
            )
