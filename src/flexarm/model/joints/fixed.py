"""Fixed joint: a rigid attachment without coordinates."""

from typing import ClassVar

import casadi as ca

from flexarm.model.joints.base import JointMotion, still
from flexarm.spatial import Expr


class FixedKinematics(JointMotion):
    """Kinematics of a fixed joint, which has no coordinates."""

    name: ClassVar[str] = "fixed"
    units: ClassVar[tuple[str, ...]] = ()

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Return the pose of moved frame K in joint frame J: the identity."""
        return still(q)

    def columns(self, q: Expr) -> Expr:
        """Return the Jacobian of a joint without coordinates, (6, 0)."""
        return ca.DM(6, 0)
