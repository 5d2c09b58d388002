"""Interface of joints: motion of the frame behind a joint, coordinate by coordinate."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import casadi as ca
import numpy as np

from flexarm.arm import Joint, Link
from flexarm.spatial import Array, Expr, Pose, rotation_z_to


@dataclass(frozen=True)
class Stroke:
    """Limits of a coordinate's travel, with its name for messages."""

    range: tuple[float, float]  # [m]
    name: str  # of the coordinate
    end: str  # why it ends


class JointMotion(ABC):
    """Motion of frame K, to which a joint's link is fixed, in frame J, whose z is the joint's axis.

    A final class declares the properties and implements the three functions; algorithms call them
    and never ask for the kind of joint. Constants stay numbers (``DM``) with structural zeros, so
    that an equation takes no operation for them.

    Attributes
    ----------
    name
        As the model file says it.
    units
        Unit of each coordinate; one each for those that move K.
    anchored
        Whether its coordinates are three angles from an attitude that may be changed: ``anchor``.
    lockable
        Whether its coordinates may be held for a while.
    rotor_axis
        Axis of J that its rotor spins about, 0 to 2.
    tracing
        How much longer the equations of a link behind it take to trace than behind others.
    stroke
        What its coordinate is a way along, if that ends somewhere.
    spin, drag
        Its rates at the start where the file gives them together, and the torque against its
        spin [N m s/rad].
    hinge
        Whether it is one turn about z through J's origin, as in the papers.
    """

    name: ClassVar[str]
    units: ClassVar[tuple[str, ...]]
    hinge: ClassVar[bool] = False
    anchored: ClassVar[bool] = False
    lockable: ClassVar[bool] = True
    rotor_axis: ClassVar[int] = 2
    tracing: ClassVar[float] = 1.0
    stroke: Stroke | None = None
    spin: tuple[float, ...] = ()
    drag: float = 0.0

    @classmethod
    def of(cls, joint: Joint) -> Self:
        """Return the motion of a joint that a model file describes."""
        return cls()

    @classmethod
    def direction(cls, joint: Joint) -> tuple[float, float, float] | None:
        """Return the axis that a model file gives, or that the joint has in any case."""
        return getattr(joint, "axis", None)

    def deforming(self, coordinates: tuple[int, ...]) -> tuple[int, ...]:
        """Return those of its coordinates that deform its link; others move it as a whole."""
        return ()

    def mounted(
        self, link: Link, before: Link | None, joint: Pose, root: Pose
    ) -> tuple["JointMotion", Pose, Pose]:
        """Return the motion of a link with this joint, and the constant frames on its two sides.

        Parameters
        ----------
        link, before
            The link, and the one that carries it, None of the first.
        joint, root
            The joint in the previous tip, and the link's root in the moved joint.
        """
        return self, joint, root

    @property
    def attitude(self) -> Array:
        """Initial reference attitude of the angles, (3, 3)."""
        return np.eye(3)

    def at_anchor(self, anchor: Expr) -> "JointMotion":
        """Return the motion with another reference attitude of the angles, (3, 3)."""
        return self

    @abstractmethod
    def place(self, q: Expr) -> tuple[Expr, Expr]:
        """Place K in J at the joint's coordinates: rotation (3, 3) and position (3,) [m]."""

    @abstractmethod
    def columns(self, q: Expr) -> Expr:
        """Return the motion of K in J per rate, angular over linear, in axes of K, (6, k)."""

    def factors(self, q: Expr) -> list[tuple[Expr, Expr]]:
        """Factor the motion: rotation and position by each coordinate, one after the other."""
        return [self.place(q)]

    def bias(self, q: Expr, v: Expr) -> Expr:
        """Return the acceleration of K as seen from J from rates alone, in axes of K, (6,).

        Angular over linear: how K's spin and the velocity of its origin change while the rates of
        the coordinates do not.
        """
        return type(q)(6, 1)


def still(q: Expr) -> tuple[Expr, Expr]:
    """Place K at J."""
    return type(q).eye(3), type(q)(3, 1)


def along_x() -> Pose:
    """Return the frame, in a link's, whose z axis is the link's x axis."""
    return Pose(rotation_z_to((1.0, 0.0, 0.0)), np.zeros(3))


def column(index: int) -> Expr:
    """Return a unit motion along one of the six directions, (6, 1)."""
    unit = ca.DM(6, 1)
    unit[index] = 1
    return unit
