"""A turn about an axis that carries the link along it."""

from dataclasses import dataclass
from typing import ClassVar, Self

from flexarm.arm import Joint, Screw
from flexarm.model.joints.base import JointMotion, column
from flexarm.spatial import Expr, turn_z


@dataclass(frozen=True)
class ScrewKinematics(JointMotion):
    """Turn about z by an angle [rad], and move along z in proportion."""

    name: ClassVar[str] = "screw"
    units: ClassVar[tuple[str, ...]] = ("rad",)

    travel: float  # per angle [m/rad]

    @classmethod
    def of(cls, joint: Joint) -> Self:
        """Return the motion with the joint's pitch."""
        assert isinstance(joint, Screw)
        return cls(joint.travel)

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Turn about z and move along it."""
        return turn_z(q[0]), column(2)[:3] * (self.travel * q[0])

    def columns(self, q: Expr) -> Expr:
        """Return the turn about the axis and the slide along it."""
        return column(2) + self.travel * column(5)
