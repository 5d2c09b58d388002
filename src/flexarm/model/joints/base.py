"""Interface of joint kinematics: motion of a link relative to the frame of its joint."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import casadi as ca
import numpy as np

from flexarm.arm import Joint, Link
from flexarm.spatial import Array, Expr, Pose, rotation_z_to


@dataclass(frozen=True)
class Stroke:
    """Travel limits of a joint coordinate, with its name and a reason for messages."""

    range: tuple[float, float]  # travel limits [m]
    name: str  # name of the coordinate
    end: str  # reason for the limits, as text for messages


class JointMotion(ABC):
    """Motion of frame K, fixed to the moved link, in joint frame J, whose z axis is the joint axis.

    Each kind of joint is a subclass; algorithms use these methods and do not depend on the kind.
    Constants are numeric CasADi matrices (``DM``) with structural zeros, so that equations contain
    no operations with zeros.

    Attributes
    ----------
    name
        Kind of joint in the model file.
    units
        Unit of each coordinate.
    has_reference
        Whether the coordinates are three angles relative to a reference attitude that may change.
    lockable
        Whether events may lock the coordinates.
    rotor_axis
        Axis of J about which the rotor spins, 0 to 2.
    tracing
        Factor by which building the equations of a link takes longer than for other joints.
    stroke
        Travel limits of the coordinate, or None.
    spin
        Initial rates of all coordinates if the model file gives them as one vector, else empty.
    drag
        Torque per angular velocity that opposes the joint's rotation [N m s/rad].
    hinge
        Whether the motion is one rotation about z through J's origin.
    """

    name: ClassVar[str]
    units: ClassVar[tuple[str, ...]]
    hinge: ClassVar[bool] = False
    has_reference: ClassVar[bool] = False
    lockable: ClassVar[bool] = True
    rotor_axis: ClassVar[int] = 2
    tracing: ClassVar[float] = 1.0
    stroke: Stroke | None = None
    spin: tuple[float, ...] = ()
    drag: float = 0.0

    @classmethod
    def of(cls, joint: Joint) -> Self:
        """Return the kinematics of a joint described in a model file."""
        return cls()

    @classmethod
    def direction(cls, joint: Joint) -> tuple[float, float, float] | None:
        """Return the joint axis, from the model file or fixed for this kind of joint, or None."""
        return getattr(joint, "axis", None)

    def deforming(self, coordinates: tuple[int, ...]) -> tuple[int, ...]:
        """Return the indices of the joint coordinates that deform the link.

        Joint coordinates whose index is not returned move the link as a rigid body.
        """
        return ()

    def mounted(
        self, link: Link, before: Link | None, joint: Pose, root: Pose
    ) -> tuple["JointMotion", Pose, Pose]:
        """Return the kinematics for a link, and the constant frames before and after its joint.

        Parameters
        ----------
        link, before
            The link, and the link that carries it, None for the first link.
        joint, root
            Pose of the joint in the previous tip frame, and of the link's root in the moved frame
            K.
        """
        return self, joint, root

    @property
    def attitude(self) -> Array:
        """Initial reference attitude of the angles, (3, 3)."""
        return np.eye(3)

    def with_reference(self, reference_attitude: Expr) -> "JointMotion":
        """Return a copy whose angles are relative to another reference attitude, (3, 3)."""
        return self

    @abstractmethod
    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Return rotation (3, 3) and position (3,) [m] of frame K in J at joint coordinates q."""

    @abstractmethod
    def columns(self, q: Expr) -> Expr:
        """Return the Jacobian (6, k) of frame K relative to J, angular over linear, in K."""

    def factors(self, q: Expr) -> list[tuple[Expr, Expr]]:
        """Return the motion of frame K as factors, each a rotation (3, 3) and position (3,)."""
        return [self.place(q)]

    def bias(self, q: Expr, v: Expr) -> Expr:
        """Return the velocity-dependent acceleration of frame K relative to J, in axes of K, (6,).

        Angular acceleration precedes linear acceleration: both are the rates of change of K's
        angular velocity and of the velocity of K's origin at constant rates of the joint
        coordinates.
        """
        return type(q)(6, 1)


def still(q: Expr) -> tuple[Expr, Expr]:
    """Return rotation (3, 3) and position (3,) of a frame K that coincides with J."""
    return type(q).eye(3), type(q)(3, 1)


def along_x() -> Pose:
    """Return the rotation to a frame whose z axis is the link's x axis."""
    return Pose(rotation_z_to((1.0, 0.0, 0.0)), np.zeros(3))


def column(index: int) -> Expr:
    """Return a unit velocity (6, 1): angular along x, y, z for index 0 to 2, linear for 3 to 5."""
    unit = ca.DM(6, 1)
    unit[index] = 1
    return unit
