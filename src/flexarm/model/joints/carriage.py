"""Carriage joint, whose coordinate is the station [m] on the link along which another rides."""

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
    """Kinematics of a carriage on a rail; frame F is the rail's section at the station."""

    name: ClassVar[str] = "carriage"
    units: ClassVar[tuple[str, ...]] = ("m",)
    stroke: Stroke | None = None

    @classmethod
    def direction(cls, joint: Joint) -> tuple[float, float, float]:
        """Return the x axis, along which the rail lies."""
        return 1.0, 0.0, 0.0

    def mounted(
        self, link: Link, before: Link | None, joint: Pose, root: Pose
    ) -> tuple[JointMotion, Pose, Pose]:
        """Return kinematics and frames of the joint; on a rigid rail the joint is prismatic."""
        assert before is not None
        stroke = Stroke(before.span_ends, "station", "its rail ends there")
        if before.flexible:
            return CarriageKinematics(stroke), joint, root
        along = along_x()
        root = Pose(along.rotation.T, np.zeros(3)) @ joint @ root
        return PrismaticKinematics(stroke), along, root

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Return the identity: frame K is the joint frame J, which moves with the station."""
        return still(q)

    def columns(self, q: Expr) -> Expr:
        """Return zeros (6, 1), since frame K does not move relative to joint frame J.

        The module `flexarm.mechanics.kinematics` computes the motion of frame J along the deformed
        rail.
        """
        return ca.DM(6, 1)
