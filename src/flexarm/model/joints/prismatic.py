"""A slide along an axis that carries the whole link."""

from dataclasses import dataclass
from typing import ClassVar

from flexarm.model.joints.base import JointMotion, Stroke, column
from flexarm.spatial import Expr


@dataclass(frozen=True)
class PrismaticKinematics(JointMotion):
    """Move along z by a distance [m]."""

    name: ClassVar[str] = "prismatic"
    units: ClassVar[tuple[str, ...]] = ("m",)
    stroke: Stroke | None = None

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Move along z."""
        return type(q).eye(3), column(2)[:3] * q[0]

    def columns(self, q: Expr) -> Expr:
        """Return the axis of the slide."""
        return column(5)
