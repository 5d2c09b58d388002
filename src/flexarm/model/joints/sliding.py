"""Sliding joint: a beam slides out of its hub; the coordinate is the beam's exposed length."""

from typing import ClassVar

import casadi as ca
import numpy as np

from flexarm.arm import Joint, Link
from flexarm.model.joints.base import JointMotion, along_x, still
from flexarm.model.joints.prismatic import PrismaticKinematics
from flexarm.spatial import Expr, Pose


class SlidingKinematics(JointMotion):
    """Kinematics of a sliding joint: a link slides out of a hub whose mouth is fixed in J."""

    name: ClassVar[str] = "sliding"
    units: ClassVar[tuple[str, ...]] = ("m",)
    lockable: ClassVar[bool] = False
    rotor_axis: ClassVar[int] = 0
    tracing: ClassVar[float] = 2.0

    @classmethod
    def direction(cls, joint: Joint) -> tuple[float, float, float]:
        """Return the x axis, along which the link lies."""
        return 1.0, 0.0, 0.0

    def deforming(self, coordinates: tuple[int, ...]) -> tuple[int, ...]:
        """Return the index of the exposed length, which is a coordinate that deforms the link."""
        return coordinates

    def mounted(
        self, link: Link, before: Link | None, joint: Pose, root: Pose
    ) -> tuple[JointMotion, Pose, Pose]:
        """Return kinematics and frames of the joint; for a rigid link the joint is prismatic."""
        if link.flexible:
            return self, joint, root
        along, inner = along_x(), Pose.along(link.tip_length - link.length)
        root = Pose(along.rotation.T, np.zeros(3)) @ inner
        return PrismaticKinematics(), joint @ along, root

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Return the pose of moved frame K in joint frame J: the identity."""
        return still(q)

    def columns(self, q: Expr) -> Expr:
        """Return an empty Jacobian, (6, 0), because the joint moves no link as a rigid body."""
        return ca.DM(6, 0)
