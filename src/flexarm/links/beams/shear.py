"""Beams with shear (Timoshenko): the slope of the axis differs from the rotation of the section."""

from dataclasses import dataclass

import numpy as np

from flexarm.arm.shapes import Normalise
from flexarm.errors import ShapeError
from flexarm.links.base import Array, Curve, Direction, Shape, Shapes
from flexarm.links.basis import MOTIONS, normalise
from flexarm.links.curves import parts
from flexarm.links.span import Span

POINTS = 16  # of a panel, and two more per shape
JUMP = 1e-7  # jump of a function, relative to its largest value: less is rounding


@dataclass(frozen=True)
class Sheared:
    """A deflection with its shear; its derivatives are the sections' turn and theirs.

    Sections turn by ``psi = b'``; the axis has the slope ``psi - ratio psi''``, since the shear
    force is that which the bending moment ``EI psi'`` changes by.
    """

    bent: Curve  # the deflection b by bending alone
    ratio: float  # EI over the shear stiffness [m^2]
    root: float  # curvature of b at the root [1/m]

    def __call__(self, x: Array, nu: int = 0) -> Array:
        """Return the deflection, or the (nu - 1)-th derivative of the sections' turn."""
        value = self.bent(x, nu)
        return value if nu else value - self.ratio * (self.bent(x, 2) - self.root)

    def lean(self, x: Array) -> Array:
        """Return the shear angle: slope of the axis less rotation of the section."""
        return -self.ratio * self.bent(x, 3)


def sheared(shapes: Shapes, span: Span, how: Normalise) -> Shapes:
    """Return shapes with the shear deflection of each direction that has a shear stiffness.

    Parameters
    ----------
    shapes, span
        Shapes of bending alone, and their span.
    how
        Scaling of the amplitudes.

    Raises
    ------
    ShapeError
        If the section changes along the span, or the shapes have jumps of curvature.
    """
    x, weight = span.quadrature(POINTS + 2 * len(shapes.shapes), shapes.edges)
    stiffness, curves = shapes.stiffness.copy(), list(shapes.shapes)
    for motion in MOTIONS.values():
        if motion.shear is None or not (span.has(motion.shear) and span.has(motion.stiffness)):
            continue
        _require_smooth(shapes, span, motion.direction)
        bending = float(span.table[motion.stiffness][0])
        ratio = bending / float(span.table[motion.shear][0])
        bent = shapes.values(motion.direction, x, 3)
        stiffness += ratio * bending * bent.T @ (weight[:, None] * bent)
        curves = [_with(shape, motion.direction, ratio) for shape in curves]
    if shapes.mass is not None:
        raise ShapeError("measured modes have their shear in them: leave it out of the section")
    return normalise(Shapes(tuple(curves), shapes.edges, stiffness), how, span)


def leans(shapes: Shapes, direction: Direction, x: Array) -> Array:
    """Return the shear angle between axis and section normal per amplitude, (len(x), m)."""
    angles = np.zeros((len(x), len(shapes.shapes)))
    for column, shape in zip(angles.T, shapes.shapes, strict=True):
        for part, weight in parts(shape.curves[direction]) if direction in shape.curves else []:
            if isinstance(part, Sheared):
                column += weight * part.lean(x)
    return angles


def _with(shape: Shape, direction: Direction, ratio: float) -> Shape:
    if direction not in shape.curves:
        return shape
    bent = shape.curves[direction]
    root = float(bent(np.zeros(1), 2)[0])
    return Shape(shape.name, {**shape.curves, direction: Sheared(bent, ratio, root)})


def _require_smooth(shapes: Shapes, span: Span, direction: Direction) -> None:
    """Raise an error unless the section is uniform and the shapes have no jumps of curvature."""
    if not span.uniform:
        raise ShapeError("shear needs a section that is the same all along the link")
    inner, step = shapes.edges[1:-1], 1e-9 * span.length
    for nu in (1, 2):
        size = np.abs(shapes.values(direction, shapes.edges, nu)).max(initial=0.0)
        before, beyond = (shapes.values(direction, inner + h, nu) for h in (-step, step))
        if np.abs(beyond - before).max(initial=0.0) > JUMP * size:
            raise ShapeError(
                "shear needs shapes without jumps of curvature: take loaded or other modes in "
                "place of elements and lumped springs"
            )
