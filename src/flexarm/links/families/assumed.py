"""Assumed modes of the papers: a link's modes with idealised ends.

All are modes of Euler-Bernoulli beams: the sections' bending rotary inertia Jy, Jz is left out of
the eigenproblem (not of the mass matrix of the amplitudes).  Uniform spans get the exact functions,
others the modes of high-order elements with the same ends.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexarm.arm.shapes import ShapeChoice
from flexarm.links.base import Array, Counts, Curve, Direction, Discretisation, Ends, Shapes
from flexarm.links.basis import (
    MOTIONS,
    BeamDirection,
    family,
    join,
    normalisation,
    normalise,
    wanted,
)
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


def _exact_or_elements(
    span: Span, motion: BeamDirection, conditions: Conditions, count: int, keep_root: bool
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
    motion: BeamDirection, conditions: Conditions, count: int, own: float, length: float
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


@dataclass(frozen=True)
class Assumed(Discretisation):
    """Modes of a link with given conditions at its ends, per direction."""

    name: str
    summary: str
    citation: str
    conditions: Callable[[Ends, BeamDirection], Conditions]  # of a direction, from the link's ends
    keep_root: bool = False  # whether bending shapes keep their root slope, which turns the hub
    with_body: bool = False  # whether the conditions depend on the ends

    def loaded(self, choice: ShapeChoice) -> bool:
        """Tell whether shapes depend on what hangs on the link's ends."""
        return self.with_body

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the shape functions of a span."""
        bare, parts = _bare(span), []
        for motion, count in wanted(span, counts):
            given = self.conditions(ends, motion)
            curves, stiffness = _exact_or_elements(bare, motion, given, count, self.keep_root)
            parts.append(family(motion.direction, curves, stiffness, span.edges))
        return normalise(join(parts, span), normalisation(choice), span)

    def rest(self, span: Span, ends: Ends, direction: Direction, count: int) -> Sequence[Curve]:
        """Make curves of what forces at the tip do beside so many modes of a direction."""
        motion = MOTIONS[direction]
        return modes(_bare(span), motion, self.conditions(ends, motion), count).rest


def _bare(span: Span) -> Span:
    """Leave out the rotary inertia of slopes."""
    return replace(span, table={n: v for n, v in span.table.items() if n not in ("Jy", "Jz")})


def _clamped(ends: Ends, motion: BeamDirection) -> Conditions:
    """Clamp the root and put the tip body of the ends at the tip.

    Bending sees the body's mass, inertia and offset along the link, torsion its inertia about the
    link's axis, stretch its mass.  The ends' root inertia is ignored.
    """
    return Conditions.of(replace(ends, root_inertia=(math.inf, math.inf, math.inf)), motion)


def _beams(support: Support) -> Callable[[Ends, BeamDirection], Conditions]:
    """Support beams as given and clamp the roots of rods, which a pin does not free."""
    return lambda ends, motion: Conditions(support if motion.order == 2 else "clamped-free")


ASSUMED = (
    Assumed(
        "clamped-free",
        "modes of the bare link, clamped at its root",
        "Korayem & Shafei 2009; Chen, Zhang & Liu 2012",
        _beams("clamped-free"),
    ),
    Assumed(
        "clamped-mass",
        "modes of the link clamped at its root with a body at its tip",
        "De Luca & Siciliano 1991; Theodore & Ghosal 1995, eqs 9-11",
        _clamped,
        with_body=True,
    ),
    Assumed(
        "pinned-free",
        "modes of the bare link on a pin, with their root slope",
        "Cannon & Schmitz 1984",
        _beams("pinned-free"),
        keep_root=True,
    ),
    # Zero at root and tip, so that x is the chord.
    Assumed(
        "pinned-pinned",
        "modes between two pins; the x axis is the chord",
        "Asada, Ma & Tokumaru 1990",
        _beams("pinned-pinned"),
        keep_root=True,
    ),
    # Less their root displacement and slope: the root stays in its joint and tangent to x.
    Assumed(
        "free-free",
        "modes of the floating link, root displacement and slope taken out",
        "Meirovitch 1986",
        _beams("free-free"),
    ),
)
