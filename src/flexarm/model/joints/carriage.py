"""A slide along a flexible link: its coordinate is the station at which the next link rides."""

from typing import ClassVar

import casadi as ca

from flexarm.model.joints.base import JointMotion, still
from flexarm.spatial import Expr


class CarriageKinematics(JointMotion):
    """Ride along the previous link, whose section at the station is frame F [m]."""

    name: ClassVar[str] = "carriage"
    units: ClassVar[tuple[str, ...]] = ("m",)
    rides: ClassVar[bool] = True

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Stay on the station."""
        return still(q)

    def columns(self, q: Expr) -> Expr:
        """Move nothing of itself: what the rail's own bend does is `flexarm.mechanics.riding`'s."""
        return ca.DM(6, 1)
