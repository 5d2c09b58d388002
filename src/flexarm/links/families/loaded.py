"""Loaded modes: a link's own modes with what hangs on its root and tip."""

from collections.abc import Sequence

from flexarm.arm.shapes import ShapeChoice
from flexarm.links.base import Counts, Curve, Direction, Discretisation, Ends, Shapes
from flexarm.links.basis import MOTIONS, family, join, normalisation, normalise, wanted
from flexarm.links.beams.finite import Conditions, modes
from flexarm.links.span import Span


class LoadedModeShapes(Discretisation):
    """Elastic modes of the span between the inertia at its root and the body at its tip.

    The root turns against ``Ends.root_inertia`` (infinite: it is held); the rigid-body mode that a
    finite one leaves is no shape.  Root slope is taken out, ``psi(x) - psi'(0) x`` (of a twisted
    rod: the root's value), so that the joint coordinate is the root's angle; together with it the
    shapes span the same motions.  Stretch has its root held.  The stiffness matrix is diagonal.
    """

    name = "loaded"
    summary = "modes with the inertia at the root and the body at the tip"
    citation = "interface-loaded component modes: Benfield & Hruda 1971"

    def loaded(self, choice: ShapeChoice) -> bool:
        """Tell whether shapes depend on what hangs on the link's ends: they do."""
        return True

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the shape functions of a span."""
        parts = []
        for motion, count in wanted(span, counts):
            found = modes(span, motion, Conditions.of(ends, motion), count)
            parts.append(family(motion.direction, found.curves, found.stiffness, span.edges))
        return normalise(join(parts, span), normalisation(choice), span)

    def rest(self, span: Span, ends: Ends, direction: Direction, count: int) -> Sequence[Curve]:
        """Make curves of what forces at the tip do beside so many modes of a direction."""
        motion = MOTIONS[direction]
        return modes(span, motion, Conditions.of(ends, motion), count).rest
