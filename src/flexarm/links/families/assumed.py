"""Assumed modes of the papers: a link's modes with idealised ends.

All are modes of Euler-Bernoulli beams: the sections' bending rotary inertia Jy, Jz is left out of
the eigenproblem (not of the mass matrix of the amplitudes).  Uniform spans get the exact functions,
others the modes of high-order elements with the same ends.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from flexarm.arm.shapes import ShapeChoice
from flexarm.links.base import Array, Counts, Curve, Discretisation, Ends, Shapes
from flexarm.links.basis import Motion, family, join, normalisation, normalise, wanted
from flexarm.links.beams import classical
from flexarm.links.beams.classical import BeamEnds, BeamShape, beam_roots, beam_shape
from flexarm.links.beams.finite import Conditions, Support, modes
from flexarm.links.beams.rods import RodShape, rod_roots, rod_shape
from flexarm.links.span import Span

IDEAL_ENDS: dict[Support, BeamEnds] = {
    "pinned-free": classical.PINNED_FREE,
    "pinned-pinned": classical.PINNED_PINNED,
    "free-free": classical.FREE_FREE,
}


def _beams(support: Support) -> Callable[[Motion], Conditions]:
    """Support beams as given and clamp the roots of rods."""
    return lambda motion: Conditions(support if motion.order == 2 else "clamped-free")


def _assumed(
    choice: ShapeChoice,
    span: Span,
    counts: Counts,
    conditions: Callable[[Motion], Conditions],
    *,
    keep_root: bool = False,
) -> Shapes:
    """Build modes with given conditions per direction."""
    table = {n: v for n, v in span.table.items() if n not in ("Jy", "Jz")}
    bare = replace(span, table=table)
    parts = []
    for motion, count in wanted(span, counts):
        given = conditions(motion)
        curves, stiffness = _exact_or_elements(bare, motion, given, count, keep_root)
        parts.append(family(motion.direction, curves, stiffness, span.edges))
    return normalise(join(parts, span), normalisation(choice), span)


def _exact_or_elements(
    span: Span, motion: Motion, conditions: Conditions, count: int, keep_root: bool
) -> tuple[tuple[Curve, ...], Array]:
    """Take the exact modes of a uniform span, else those of elements: curves and stiffness."""
    own = float(span.table[motion.inertia][0]) * span.length
    loaded = conditions.tip_mass > 0 or conditions.tip_inertia > 0
    if not span.uniform or (own == 0 and loaded):
        found = modes(span, motion, conditions, count)
        return found.raw if keep_root else found.curves, found.stiffness
    shapes = _exact(motion, conditions, count, own, span.length)
    eigenvalues = np.array([s.lam if isinstance(s, BeamShape) else s.b for s in shapes])
    # Unit dimensionless mass: the stiffness is the eigenvalue of the operator.
    order, rigidity = motion.order, span.table[motion.stiffness][0]
    stiffness = rigidity * eigenvalues ** (2 * order) / span.length ** (2 * order - 1)
    curves = []
    for shape in shapes:
        value, slope = (float(shape.evaluate(0.0, nu)) / span.length**nu for nu in (0, 1))
        taken = (0.0, 0.0) if keep_root or order == 1 else (value, slope)
        curves.append(ClassicalCurve(shape, span.length, *taken))
    return tuple(curves), np.asarray(stiffness)


def _exact(
    motion: Motion, conditions: Conditions, count: int, own: float, length: float
) -> list[BeamShape] | list[RodShape]:
    """Find the exact shapes of a uniform span with its own inertia (mass [kg], Jx L [kg m^2])."""
    if motion.order == 1:
        ratio = conditions.tip_mass / own if conditions.tip_mass > 0 else 0.0
        roots = rod_roots(count, tip_ratio=ratio)
        return [rod_shape(float(b), tip_ratio=ratio) for b in roots]
    conditions.tip_factor(motion)  # refuses an impossible body in the words of a model file
    ends = IDEAL_ENDS.get(conditions.support) or classical.clamped_mass(
        conditions.tip_mass / own,
        conditions.tip_inertia / (own * length**2),
        conditions.tip_mass * conditions.tip_offset / (own * length),
    )
    return [beam_shape(ends, float(lam)) for lam in beam_roots(ends, count)]


@dataclass(frozen=True)
class ClassicalCurve:
    """A dimensionless shape over a span of given length [m], less a root value and slope."""

    shape: BeamShape | RodShape
    length: float
    value: float = 0.0
    slope: float = 0.0

    def __call__(self, x: Array, nu: int = 0) -> Array:
        """Return the ``nu``-th derivative (0 to 3) at every x."""
        value = self.shape.evaluate(x / self.length, nu) / self.length**nu
        if nu == 0:
            value = value - self.value - self.slope * x
        return value - self.slope if nu == 1 else value


class ClampedFree(Discretisation):
    """Modes of the bare link clamped at its root; rods fixed-free."""

    name: ClassVar[str] = "clamped-free"
    summary: ClassVar[str] = "modes of the bare link, clamped at its root"
    citation: ClassVar[str] = "Korayem & Shafei 2009; Chen, Zhang & Liu 2012"

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the shape functions of a span."""
        return _assumed(choice, span, counts, lambda motion: Conditions())


class ClampedMass(Discretisation):
    """Modes of the link clamped at its root with the tip body of its ends.

    Bending sees the body's mass, inertia and offset along the link, torsion its inertia about the
    link's axis, stretch its mass.  The ends' root inertia is ignored.
    """

    name: ClassVar[str] = "clamped-mass"
    summary: ClassVar[str] = "modes of the link clamped at its root with a body at its tip"
    citation: ClassVar[str] = "De Luca & Siciliano 1991; Theodore & Ghosal 1995, eqs 9-11"

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the shape functions of a span."""
        held = replace(ends, root_inertia=(math.inf, math.inf, math.inf))
        return _assumed(choice, span, counts, lambda motion: Conditions.of(held, motion))


class PinnedFree(Discretisation):
    """Modes of the bare link on a pin: bending shapes keep their root slope, which turns the hub.

    Torsion and stretch, which a pin does not free, get fixed-free rods.
    """

    name: ClassVar[str] = "pinned-free"
    summary: ClassVar[str] = "modes of the bare link on a pin, with their root slope"
    citation: ClassVar[str] = "Cannon & Schmitz 1984"

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the shape functions of a span."""
        return _assumed(choice, span, counts, _beams("pinned-free"), keep_root=True)


class PinnedPinned(Discretisation):
    """Modes between two pins: zero at root and tip, so that x is the chord; root slope kept.

    Torsion and stretch get fixed-free rods.
    """

    name: ClassVar[str] = "pinned-pinned"
    summary: ClassVar[str] = "modes between two pins; the x axis is the chord"
    citation: ClassVar[str] = "Asada, Ma & Tokumaru 1990"

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the shape functions of a span."""
        return _assumed(choice, span, counts, _beams("pinned-pinned"), keep_root=True)


class FreeFree(Discretisation):
    """Modes of the floating link, less their root displacement and root slope.

    The root then stays in its joint and tangent to x.  Torsion and stretch get fixed-free rods.
    """

    name: ClassVar[str] = "free-free"
    summary: ClassVar[str] = "modes of the floating link, root displacement and slope taken out"
    citation: ClassVar[str] = "Meirovitch 1986"

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the shape functions of a span."""
        return _assumed(choice, span, counts, _beams("free-free"))
