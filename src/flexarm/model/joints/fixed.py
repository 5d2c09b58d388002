"""A rigid attachment."""

from typing import ClassVar

import casadi as ca

from flexarm.model.joints.base import JointMotion, still
from flexarm.spatial import Expr


class FixedKinematics(JointMotion):
    """Move nothing."""

    name: ClassVar[str] = "fixed"
    units: ClassVar[tuple[str, ...]] = ()

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Stay."""
        return still(q)

    def columns(self, q: Expr) -> Expr:
        """Move nothing."""
        return ca.DM(6, 0)
