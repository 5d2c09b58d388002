"""Inertia and kinematics of a rigid link."""

from typing import final

from flexarm.mechanics.bodies.base import LinkBody
from flexarm.mechanics.sections import Local, SectionMotion, Terms, rigid_section, rigid_terms
from flexarm.spatial import Expr


@final
class Rigid(LinkBody):
    """Body of a rigid link."""

    def section(self, q: Expr, x: float) -> Local:
        """Return the pose of the section at x [m] in the root frame."""
        return rigid_section(q, x, len(self.part.own))

    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Return the tip's motion relative to the root: a constant pose and zero velocity."""
        none = type(q).zeros(3, 1)
        return SectionMotion(self.section(q, self.part.length), none, none, none, none)

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of the rigid body fixed in the root frame."""
        return rigid_terms(self.part.root_body, omega, 0)
