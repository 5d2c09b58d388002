"""Data classes of an arm as its model file describes it: immutable, validated, in SI units."""

from flexarm.arm.arm import Arm, FixedBase, FreeBase, MovedBase, Payload
from flexarm.arm.drive import Drive, Friction, SpringTable
from flexarm.arm.forces import Contact, Point, PointSpring, Wrench
from flexarm.arm.joint import (
    DH,
    AnyActuated,
    Carriage,
    Fixed,
    Joint,
    JointLimits,
    Moving,
    Prismatic,
    Revolute,
    Screw,
    Sliding,
    Spherical,
    Spring,
    Universal,
)
from flexarm.arm.link import Link, RigidPiece
from flexarm.arm.part import Body, Frame
from flexarm.arm.section import Material, Properties, Section, Station

__all__ = [
    "DH",
    "AnyActuated",
    "Arm",
    "Body",
    "Carriage",
    "Contact",
    "Drive",
    "Fixed",
    "FixedBase",
    "Frame",
    "FreeBase",
    "Friction",
    "Joint",
    "JointLimits",
    "Link",
    "Material",
    "MovedBase",
    "Moving",
    "Payload",
    "Point",
    "PointSpring",
    "Prismatic",
    "Properties",
    "Revolute",
    "RigidPiece",
    "Screw",
    "Section",
    "Sliding",
    "Spherical",
    "Spring",
    "SpringTable",
    "Station",
    "Universal",
    "Wrench",
]
