"""Revolute joint: a rotation about an axis."""

from typing import ClassVar

from flexarm.model.joints.base import JointMotion, column
from flexarm.spatial import Expr, turn_z


class RevoluteKinematics(JointMotion):
    """Rotation about z by an angle [rad]."""

    name: ClassVar[str] = "revolute"
    units: ClassVar[tuple[str, ...]] = ("rad",)
    hinge: ClassVar[bool] = True

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Return the pose of moved frame K in joint frame J: a rotation about z."""
        return turn_z(q[0]), type(q)(3, 1)

    def columns(self, q: Expr) -> Expr:
        """Return the Jacobian (6, 1), a unit rotation about z."""
        return column(2)
