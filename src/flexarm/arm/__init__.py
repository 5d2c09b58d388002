"""The arm as its user describes it: frozen, validated once, SI units, no algorithms."""

from flexarm.arm.joint import (
    DH,
    Drive,
    Fixed,
    Friction,
    Joint,
    Limits,
    Moving,
    Prismatic,
    Revolute,
    Sliding,
    Spring,
    SpringTable,
)
from flexarm.arm.link import (
    Arm,
    FixedBase,
    FreeBase,
    Link,
    MovedBase,
    Payload,
    RigidPiece,
    Wrench,
)
from flexarm.arm.part import Body, Frame
from flexarm.arm.section import Material, Properties, Section, Station

__all__ = [
    "DH",
    "Arm",
    "Body",
    "Drive",
    "Fixed",
    "FixedBase",
    "Frame",
    "FreeBase",
    "Friction",
    "Joint",
    "Limits",
    "Link",
    "Material",
    "MovedBase",
    "Moving",
    "Payload",
    "Prismatic",
    "Properties",
    "Revolute",
    "RigidPiece",
    "Section",
    "Sliding",
    "Spring",
    "SpringTable",
    "Station",
    "Wrench",
]
