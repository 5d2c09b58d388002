"""Families of modes of a link's span, which differ in the boundary conditions at the two ends."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from flexarm.arm.shapes import ShapeChoice
from flexarm.links.base import Counts, Direction, Discretisation, Ends, Shapes
from flexarm.links.basis import (
    MOTIONS,
    BeamDirection,
    family,
    join,
    normalisation,
    normalise,
    requested_directions,
)
from flexarm.links.beams.finite import Conditions, SpanModes, Support, modes
from flexarm.links.curves import SpanCurves
from flexarm.links.span import Span


@dataclass(frozen=True)
class Assumed(Discretisation):
    """Family of modes of a span with given boundary conditions in each direction."""

    name: str
    summary: str
    citation: str
    # Function that returns the boundary conditions in a direction from the inertia at the link's
    # ends.
    conditions: Callable[[Ends, BeamDirection], Conditions]
    keep_root: bool = False  # whether bending shapes keep their root slope, which turns the hub
    with_body: bool = False  # whether the boundary conditions depend on the inertia at the ends
    # Whether the rotary inertia Jy, Jz of the sections enters the eigenproblem of bending, as it
    # does the mass matrix of the amplitudes.
    rotary: bool = False

    def loaded(self, choice: ShapeChoice) -> bool:
        """Return whether the shapes depend on the inertia at the link's ends."""
        return self.with_body

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the mode shapes of a span in all directions."""
        parts = []
        for motion, count in requested_directions(span, counts):
            elastic = self._modes(span, ends, motion, count)
            curves = elastic.raw if self.keep_root else elastic.curves
            parts.append(family(motion.direction, curves, elastic.stiffness, span.edges))
        return normalise(join(parts, span), normalisation(choice), span)

    def rest(self, span: Span, ends: Ends, direction: Direction, count: int) -> SpanCurves:
        """Return the static tip shapes of a direction, orthogonal to its first ``count`` modes."""
        return self._modes(span, ends, MOTIONS[direction], count).rest

    def _modes(self, span: Span, ends: Ends, motion: BeamDirection, count: int) -> SpanModes:
        if not self.rotary:
            table = {n: v for n, v in span.table.items() if n not in ("Jy", "Jz")}
            span = replace(span, table=table)
        return modes(span, motion, self.conditions(ends, motion), count)


def _clamped(ends: Ends, motion: BeamDirection) -> Conditions:
    """Return the boundary conditions of a clamped root and a rigid body at the tip.

    The tip load is mass, inertia and offset along the link for bending, inertia about the link's
    axis for torsion, mass for stretch.  The inertia at the root is ignored.
    """
    return Conditions.of(replace(ends, root_inertia=(math.inf, math.inf, math.inf)), motion)


def _beams(support: Support) -> Callable[[Ends, BeamDirection], Conditions]:
    """Return a function that gives beams a support; rods have a clamped root and a free tip."""
    return lambda ends, motion: Conditions(support if motion.order == 2 else "clamped-free")


# Modes of the span between the inertia at its root and the body at its tip. The root slope (of a
# twisted rod: the root's value) is subtracted, so that the joint coordinate is the root's angle.
# The rigid-body mode that a finite inertia at the root permits is left out. The root of stretch
# shapes is fixed.
LOADED = Assumed(
    "loaded",
    "modes with the inertia at the root and the body at the tip",
    "interface-loaded component modes: Benfield & Hruda 1971",
    Conditions.of,
    with_body=True,
    rotary=True,
)
ASSUMED = (
    # `flexarm.model.arm_modes` replaces these in an arm by the shapes of the arm's own modes; for a
    # link alone they are its loaded modes.
    replace(
        LOADED,
        name="arm-modes",
        summary="curves into which the modes of the arm at its start bend the link",
        citation="this project: proper orthogonal decomposition of the arm's modes",
    ),
    LOADED,
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
    # Without their root displacement and slope: the root stays in its joint and tangent to x.
    Assumed(
        "free-free",
        "modes of the floating link, root displacement and slope taken out",
        "Meirovitch 1986",
        _beams("free-free"),
    ),
)
