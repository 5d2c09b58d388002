"""Carriage joint: its coordinate is the station on a flexible link at which the next link rides."""

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
        """Return the kinematics and frames; on a rigid rail the carriage is a prismatic joint."""
        assert before is not None
        stroke = Stroke(before.span_ends, "station", "its rail ends there")
        if before.flexible:
            return CarriageKinematics(stroke), joint, root
        along = along_x()
        root = Pose(along.rotation.T, np.zeros(3)) @ joint @ root
        return PrismaticKinematics(stroke), along, root

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Return the identity: K coincides with J, which moves with the station."""
        return still(q)

    def columns(self, q: Expr) -> Expr:
        """Return zeros; `mechanics.kinematics` computes the motion along the deformed rail."""
        return ca.DM(6, 1)
