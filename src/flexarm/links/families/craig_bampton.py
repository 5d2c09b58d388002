"""Craig-Bampton shapes: static constraint shapes of the tip and modes with the tip fixed."""

from flexarm.arm.shapes import ShapeChoice
from flexarm.links.base import Counts, Discretisation, Ends, Shapes
from flexarm.links.basis import family, join, normalisation, normalise, requested_directions
from flexarm.links.beams.finite import Conditions, constraint_shapes, modes
from flexarm.links.span import Span


class CraigBamptonShapes(Discretisation):
    """Constraint shapes of the tip, and ``count`` fixed-interface modes in each direction.

    Bending: ``y1`` is the static shape of unit tip displacement [m] at zero tip slope, ``y2`` the
    static shape of unit tip slope [rad] (dy/dx, dz/dx) at zero tip displacement, ``y3`` and on are
    the modes with both ends clamped.  Torsion and stretch: ``twist1`` is the static shape of unit
    tip motion, the others have both ends fixed.  Constraint shapes are never rescaled.  A direction
    with count 0 has no shapes at all.

    The stiffness matrix couples neither constraint shapes with modes nor modes with each other.
    Statics under any force and moment at the tip are exact.
    """

    name = "craig-bampton"
    summary = "static tip shapes and modes with the tip held"
    citation = "Craig & Bampton 1968"

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the constraint shapes and fixed-interface modes of a span."""
        parts = []
        for motion, count in requested_directions(span, counts):
            curves, stiffness = constraint_shapes(span, motion)
            parts.append(family(motion.direction, curves, stiffness, span.edges))
            fixed_modes = modes(span, motion, Conditions("clamped-clamped"), count)
            mode_shapes = family(
                motion.direction,
                fixed_modes.curves,
                fixed_modes.stiffness,
                span.edges,
                first=curves.count + 1,
            )
            parts.append(normalise(mode_shapes, normalisation(choice), span))
        return join(parts, span)
