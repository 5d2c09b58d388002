"""Screw joint: a rotation about an axis with a proportional translation along it."""

from dataclasses import dataclass
from typing import ClassVar, Self

from flexarm.arm import Joint, Screw
from flexarm.model.joints.base import JointMotion, column
from flexarm.spatial import Expr, turn_z


@dataclass(frozen=True)
class ScrewKinematics(JointMotion):
    """Rotation about z by an angle [rad], with a proportional translation along z."""

    name: ClassVar[str] = "screw"
    units: ClassVar[tuple[str, ...]] = ("rad",)

    travel: float  # translation per angle [m/rad]

    @classmethod
    def of(cls, joint: Joint) -> Self:
        """Return the kinematics with the pitch of a joint described in a model file."""
        assert isinstance(joint, Screw)
        return cls(joint.travel)

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Return the pose of moved frame K in joint frame J: a screw motion along z."""
        return turn_z(q[0]), column(2)[:3] * (self.travel * q[0])

    def columns(self, q: Expr) -> Expr:
        """Return the Jacobian (6, 1): a rotation about z and the translation along z per angle."""
        return column(2) + self.travel * column(5)
