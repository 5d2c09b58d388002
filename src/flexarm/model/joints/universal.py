"""Universal joint: two rotations about axes that intersect at right angles."""

from typing import ClassVar

import casadi as ca

from flexarm.model.joints.base import JointMotion, column
from flexarm.spatial import Expr, turn_about, turn_z


class UniversalKinematics(JointMotion):
    """Rotation about z by the first angle [rad], then about the rotated y axis by the second."""

    name: ClassVar[str] = "universal"
    units: ClassVar[tuple[str, ...]] = ("rad", "rad")

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Return the pose of moved frame K in joint frame J: rotations about z, then y."""
        return turn_z(q[0]) @ turn_about(1, q[1]), type(q)(3, 1)

    def factors(self, q: Expr) -> list[tuple[Expr, Expr]]:
        """Return the two rotations about z and y, each with a zero position."""
        return [(turn_z(q[0]), type(q)(3, 1)), (turn_about(1, q[1]), type(q)(3, 1))]

    def columns(self, q: Expr) -> Expr:
        """Return the Jacobian (6, 2): the two rotation axes, in axes of the moved frame K."""
        first = ca.cos(q[1]) * column(2) - ca.sin(q[1]) * column(0)
        return ca.horzcat(first, column(1))

    def bias(self, q: Expr, v: Expr) -> Expr:
        """Return the velocity-dependent acceleration of the moved frame K, in axes of K, (6,).

        Angular acceleration precedes linear acceleration, which is zero.
        """
        return -v[0] * v[1] * (ca.cos(q[1]) * column(0) + ca.sin(q[1]) * column(2))
