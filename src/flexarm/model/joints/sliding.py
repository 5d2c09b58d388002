"""A beam that slides out of its hub: its coordinate is the link's own, the exposed length."""

from typing import ClassVar

import casadi as ca
import numpy as np

from flexarm.arm import Joint, Link
from flexarm.model.joints.base import JointMotion, along_x, still
from flexarm.model.joints.prismatic import PrismaticKinematics
from flexarm.spatial import Expr, Pose


class SlidingKinematics(JointMotion):
    """Motion of the mouth of the hub, from which the link grows: it stays in place."""

    name: ClassVar[str] = "sliding"
    units: ClassVar[tuple[str, ...]] = ("m",)
    lockable: ClassVar[bool] = False
    rotor_axis: ClassVar[int] = 0
    tracing: ClassVar[float] = 2.0

    @classmethod
    def direction(cls, joint: Joint) -> tuple[float, float, float]:
        """Return the link's own axis."""
        return 1.0, 0.0, 0.0

    def deforming(self, coordinates: tuple[int, ...]) -> tuple[int, ...]:
        """Return the exposed length."""
        return coordinates

    def mounted(
        self, link: Link, before: Link | None, joint: Pose, root: Pose
    ) -> tuple[JointMotion, Pose, Pose]:
        """Return the motion; a rigid beam is carried whole, from its inner end, along its axis."""
        if link.flexible:
            return self, joint, root
        along, inner = along_x(), Pose.along(link.tip_length - link.length)
        root = Pose(along.rotation.T, np.zeros(3)) @ inner
        return PrismaticKinematics(), joint @ along, root

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Stay."""
        return still(q)

    def columns(self, q: Expr) -> Expr:
        """Move nothing."""
        return ca.DM(6, 0)
