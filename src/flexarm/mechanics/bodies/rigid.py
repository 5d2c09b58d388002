"""Inertia and kinematics of a rigid link."""

from typing import final

from flexarm.mechanics.bodies.base import LinkBody
from flexarm.mechanics.sections import Local, SectionMotion, Terms, rigid_section, rigid_terms
from flexarm.spatial import Expr


@final
class Rigid(LinkBody):
    """Body of a link that does not deform."""

    def section(self, q: Expr, x: float) -> Local:
        """Return the pose of the section at x [m] in the root frame."""
        return rigid_section(q, x, len(self.part.own))

    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Return the motion of the tip relative to the root, which is zero."""
        none = type(q).zeros(3, 1)
        return SectionMotion(self.section(q, self.part.length), none, none, none, none)

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of the rigid body at the root."""
        return rigid_terms(self.part.root_body, omega, 0)
