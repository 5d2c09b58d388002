"""Two turns about axes that cross at right angles."""

from typing import ClassVar

import casadi as ca

from flexarm.model.joints.base import JointMotion, column
from flexarm.spatial import Expr, turn_about, turn_z


class UniversalKinematics(JointMotion):
    """Turn about z by the first angle, then about the turned y by the second [rad]."""

    name: ClassVar[str] = "universal"
    units: ClassVar[tuple[str, ...]] = ("rad", "rad")

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Turn about z, then y."""
        return turn_z(q[0]) @ turn_about(1, q[1]), type(q)(3, 1)

    def factors(self, q: Expr) -> list[tuple[Expr, Expr]]:
        """Turn about z, then about y."""
        return [(turn_z(q[0]), type(q)(3, 1)), (turn_about(1, q[1]), type(q)(3, 1))]

    def columns(self, q: Expr) -> Expr:
        """Return the axes z, turned by the second angle, and y."""
        first = ca.cos(q[1]) * column(2) - ca.sin(q[1]) * column(0)
        return ca.horzcat(first, column(1))

    def bias(self, q: Expr, v: Expr) -> Expr:
        """Turn the first axis on by the second rate."""
        return -v[0] * v[1] * (ca.cos(q[1]) * column(0) + ca.sin(q[1]) * column(2))
