"""A ball in its socket: three angles from an attitude that moves on before they are singular."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import casadi as ca

from flexarm.arm import Joint, Spherical
from flexarm.links.base import Array
from flexarm.model.joints.base import JointMotion, column
from flexarm.spatial import Expr, base_rotation, constant, rotation_from_angles, turn_about


@dataclass(frozen=True)
class SphericalKinematics(JointMotion):
    """Turn by ``Rx(rx) Ry(ry) Rz(rz)`` from an anchor attitude."""

    name: ClassVar[str] = "spherical"
    units: ClassVar[tuple[str, ...]] = ("rad", "rad", "rad")
    anchored: ClassVar[bool] = True
    lockable: ClassVar[bool] = False

    # start, spin: attitude at which it starts, (3, 3), and the spin there in axes of K [rad/s],
    # (3,).
    start: Array
    spin: tuple[float, ...] = ()
    drag: float = 0.0  # torque against its spin [N m s/rad]
    # The attitude that the angles are relative to, where that is not the one at the start.
    anchor: Expr | None = None

    @classmethod
    def of(cls, joint: Joint) -> Self:
        """Return the motion with the joint's attitude, spin and damping at the start."""
        assert isinstance(joint, Spherical)
        return cls(rotation_from_angles(joint.start.rotation), joint.start.spin, joint.damping)

    @property
    def attitude(self) -> Array:
        """The attitude at the start."""
        return self.start

    def at_anchor(self, anchor: Expr) -> "SphericalKinematics":
        """Measure angles from another attitude."""
        return replace(self, anchor=anchor)

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Turn about x, y and z."""
        return self._anchor @ base_rotation(q), type(q)(3, 1)

    def factors(self, q: Expr) -> list[tuple[Expr, Expr]]:
        """Turn about x, then y, then z."""
        x, y, z = (turn_about(axis, q[axis]) for axis in range(3))
        return [(each, type(q)(3, 1)) for each in (self._anchor @ x, y, z)]

    def columns(self, q: Expr) -> Expr:
        """Return the axes x, turned about y and z, y, turned about z, and z."""
        cy, sy, cz, sz = ca.cos(q[1]), ca.sin(q[1]), ca.cos(q[2]), ca.sin(q[2])
        first = cy * cz * column(0) - cy * sz * column(1) + sy * column(2)
        return ca.horzcat(first, sz * column(0) + cz * column(1), column(2))

    def bias(self, q: Expr, v: Expr) -> Expr:
        """Turn the first two axes on."""
        cy, sy, cz, sz = ca.cos(q[1]), ca.sin(q[1]), ca.cos(q[2]), ca.sin(q[2])
        x = -v[0] * (sy * cz * v[1] + cy * sz * v[2]) + cz * v[1] * v[2]
        y = v[0] * (sy * sz * v[1] - cy * cz * v[2]) - sz * v[1] * v[2]
        return x * column(0) + y * column(1) + cy * v[0] * v[1] * column(2)

    @property
    def _anchor(self) -> Expr:
        return constant(self.start) if self.anchor is None else self.anchor
