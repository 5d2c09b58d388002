"""Prismatic joint: a translation along an axis."""

from dataclasses import dataclass
from typing import ClassVar

from flexarm.model.joints.base import JointMotion, Stroke, column
from flexarm.spatial import Expr


@dataclass(frozen=True)
class PrismaticKinematics(JointMotion):
    """Translation along z by a distance [m]."""

    name: ClassVar[str] = "prismatic"
    units: ClassVar[tuple[str, ...]] = ("m",)
    stroke: Stroke | None = None

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Return the pose of moved frame K in joint frame J: a translation along z."""
        return type(q).eye(3), column(2)[:3] * q[0]

    def columns(self, q: Expr) -> Expr:
        """Return the Jacobian (6, 1), a unit translation along z."""
        return column(5)
