"""Fixed joint: a rigid attachment without coordinates."""

from typing import ClassVar

import casadi as ca

from flexarm.model.joints.base import JointMotion, still
from flexarm.spatial import Expr


class FixedKinematics(JointMotion):
    """Kinematics of a fixed joint."""

    name: ClassVar[str] = "fixed"
    units: ClassVar[tuple[str, ...]] = ()

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Return the identity: K coincides with J."""
        return still(q)

    def columns(self, q: Expr) -> Expr:
        """Return an empty Jacobian, (6, 0)."""
        return ca.DM(6, 0)
