"""A slide along a flexible link: its coordinate is the station at which the next link rides."""

from dataclasses import dataclass
from typing import ClassVar

import casadi as ca
import numpy as np

from flexarm.arm import Joint, Link
from flexarm.model.joints.base import JointMotion, Stroke, along_x, still
from flexarm.model.joints.prismatic import PrismaticKinematics
from flexarm.spatial import Expr, Pose


@dataclass(frozen=True)
class CarriageKinematics(JointMotion):
    """Ride along the previous link, whose section at the station is frame F [m]."""

    name: ClassVar[str] = "carriage"
    units: ClassVar[tuple[str, ...]] = ("m",)
    stroke: Stroke | None = None

    @classmethod
    def direction(cls, joint: Joint) -> tuple[float, float, float]:
        """Return the rail's own axis."""
        return 1.0, 0.0, 0.0

    def mounted(
        self, link: Link, before: Link | None, joint: Pose, root: Pose
    ) -> tuple[JointMotion, Pose, Pose]:
        """Return the motion; along a rigid link it is carried whole, its joint's frame too."""
        assert before is not None
        stroke = Stroke(before.span_ends, "station", "its rail ends there")
        if before.flexible:
            return CarriageKinematics(stroke), joint, root
        along = along_x()
        root = Pose(along.rotation.T, np.zeros(3)) @ joint @ root
        return PrismaticKinematics(stroke), along, root

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Stay on the station."""
        return still(q)

    def columns(self, q: Expr) -> Expr:
        """Move nothing of itself: what the rail's own bend does is `flexarm.mechanics.riding`'s."""
        return ca.DM(6, 1)
