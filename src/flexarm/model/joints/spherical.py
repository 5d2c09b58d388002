"""Spherical joint: three angles relative to a reference attitude.

Simulations replace the reference attitude before the angles become singular.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import casadi as ca

from flexarm.arm import Joint, Spherical
from flexarm.model.joints.base import JointMotion
from flexarm.spatial import (
    Array,
    Expr,
    angle_bias,
    angle_columns,
    base_rotation,
    constant,
    rotation_from_angles,
    turn_about,
)


@dataclass(frozen=True)
class SphericalKinematics(JointMotion):
    """Rotation by ``Rx(rx) Ry(ry) Rz(rz)`` relative to a reference attitude."""

    name: ClassVar[str] = "spherical"
    units: ClassVar[tuple[str, ...]] = ("rad", "rad", "rad")
    has_reference: ClassVar[bool] = True
    lockable: ClassVar[bool] = False

    start: Array  # initial attitude, (3, 3)
    # initial angular velocity in axes of the moved frame K [rad/s], (3,)
    spin: tuple[float, ...] = ()
    drag: float = 0.0  # torque per angular velocity [N m s/rad]
    # Reference attitude of the angles if different from ``start``, (3, 3).
    reference_attitude: Expr | None = None

    @classmethod
    def of(cls, joint: Joint) -> Self:
        """Return the kinematics with the initial attitude, initial spin and damping of a joint."""
        assert isinstance(joint, Spherical)
        return cls(rotation_from_angles(joint.start.rotation), joint.start.spin, joint.damping)

    @property
    def attitude(self) -> Array:
        """Initial reference attitude, (3, 3)."""
        return self.start

    def with_reference(self, reference_attitude: Expr) -> "SphericalKinematics":
        """Return a copy whose angles are relative to another reference attitude, (3, 3)."""
        return replace(self, reference_attitude=reference_attitude)

    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Return the pose of moved frame K in joint frame J, from reference attitude and angles."""
        return self._rebase @ base_rotation(q), type(q)(3, 1)

    def factors(self, q: Expr) -> list[tuple[Expr, Expr]]:
        """Return the three rotations about x, y and z, each with a zero position.

        The first rotation includes the reference attitude.
        """
        x, y, z = (turn_about(axis, q[axis]) for axis in range(3))
        return [(rotation, type(q)(3, 1)) for rotation in (self._rebase @ x, y, z)]

    def columns(self, q: Expr) -> Expr:
        """Return the Jacobian (6, 3): the three rotation axes, in axes of the moved frame K."""
        return ca.vertcat(angle_columns(q), type(q)(3, 3))

    def bias(self, q: Expr, v: Expr) -> Expr:
        """Return the velocity-dependent acceleration of the moved frame K, in axes of K, (6,).

        Angular acceleration precedes linear acceleration, which is zero.
        """
        return ca.vertcat(angle_bias(q, v), type(q)(3, 1))

    @property
    def _rebase(self) -> Expr:
        return constant(self.start) if self.reference_attitude is None else self.reference_attitude
