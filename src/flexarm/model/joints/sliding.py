"""A beam that slides out of its hub: its coordinate is the link's own, the exposed length."""

from typing import ClassVar

import casadi as ca

from flexarm.model.joints.base import JointMotion, still
from flexarm.spatial import Expr


class SlidingKinematics(JointMotion):
    """Leave the mouth of the hub in place, from which the link grows."""

    name: ClassVar[str] = "sliding"
    units: ClassVar[tuple[str, ...]] = ("m",)
    grows: ClassVar[bool] = True

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Stay."""
        return still(q)

    def columns(self, q: Expr) -> Expr:
        """Move nothing."""
        return ca.DM(6, 0)
