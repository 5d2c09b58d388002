"""Forces that do not act at joints: wrenches, contacts, springs between points."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from flexarm.arm.part import (
    Angles,
    Flag,
    Name,
    NotNegative,
    Number,
    Part,
    Positive,
    Vector,
    fault,
    require_one,
)
from flexarm.arm.profile import RatioProfile
from flexarm.units import (
    ContactDamping,
    Force,
    ForceDamping,
    ForcePerLength,
    ForceStiffness,
    Length,
    Ratio,
    Speed,
    Torque,
)

At = Annotated[
    NotNegative[Length] | Vector | Literal["tip", "root"] | Name,
    Field(union_mode="left_to_right"),
]


def require_point_of_base(at: At | None, *path: str | int) -> None:
    """Raise a validation error for a place that a base does not have."""
    if isinstance(at, str) and at not in ("tip", "root"):
        raise fault("there is no place '{at}' on the base. Give [x, y, z].", *path, at=at)


class Wrench(Part):
    """A force [N] and torque [N m] at a point of a link, times a factor that may vary in time.

    ``at`` is a distance [m] from the link's root along its undeformed axis, or a distance with
    offsets [m] along y and z of the section, or ``tip``, ``root`` or, on a modal body, the name of
    a frame in the body's file.

    In place of force and torque, ``force_per_length`` [N/m] acts along the flexible span, of a
    sliding link along its exposed part, from the first to the second fraction ``over`` of it.
    """

    at: At = "tip"
    frame: Literal["world", "link"] = "world"
    force: tuple[Force, Force, Force] = (0.0, 0.0, 0.0)
    torque: tuple[Torque, Torque, Torque] = (0.0, 0.0, 0.0)
    force_per_length: tuple[ForcePerLength, ForcePerLength, ForcePerLength] | None = None
    over: tuple[Ratio, Ratio] = (0.0, 1.0)
    factor: RatioProfile | None = None

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        spread = self.force_per_length is not None
        for key in ("at", "force", "torque") if spread else ("over",):
            if key in self.model_fields_set:
                raise fault(
                    "a force per length acts along the link. Leave '{key}' out."
                    if spread
                    else "'{key}' is for a force per length. Leave it out.",
                    key, key=key,
                )  # fmt: skip
        if not 0 <= self.over[0] < self.over[1] <= 1:
            raise fault("must be two rising fractions from 0 to 1", "over")
        return self


class Point(Part):
    """A point of an arm: of a link or the base, or in the frame of the arm's tip.

    ``at`` gives the point on a link as in a wrench; ``world`` is a point fixed in the world.
    """

    link: Name | None = None
    at: At | None = None
    tip: Vector | None = None
    world: Vector | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        require_one(
            self,
            ("link", "tip", "world"),
            "a point needs a link, the tip or the world "
            "that it is on. Give one of link, tip and "
            "world.",
        )
        if self.at is not None and self.link is None:
            raise fault("'at' is a place on a link. Name the link too.", "at")
        return self


AnyPoint = Point | Literal["tip"]


class PlacedObstacle(Part):
    """An obstacle, fixed in the world or, with ``on``, to the section of a link or to the base."""

    on: AnyPoint | None = None

    @model_validator(mode="after")
    def _is_carried(self) -> Self:
        if isinstance(self.on, Point) and self.on.world is not None:
            raise fault("an obstacle without 'on' is fixed in the world. Leave 'on' out.", "on")
        return self


class Plane(PlacedObstacle):
    """Half-space behind a plane through ``point``; ``normal``, of any length, points outward."""

    kind: Literal["plane"]
    point: Vector = (0.0, 0.0, 0.0)
    normal: tuple[Number, Number, Number] = (0.0, 0.0, 1.0)

    @model_validator(mode="after")
    def _has_a_normal(self) -> Self:
        if not any(self.normal):
            raise fault("the normal must not be the zero vector", "normal")
        return self


class Sphere(PlacedObstacle):
    """A solid ball or, with ``inside``, the space around a spherical hollow."""

    kind: Literal["sphere"]
    centre: Vector = (0.0, 0.0, 0.0)
    radius: Positive[Length]
    inside: Flag = False


class Box(PlacedObstacle):
    """A solid box: centre, edge lengths, and rotation about the fixed x, then y, then z axis."""

    kind: Literal["box"]
    centre: Vector = (0.0, 0.0, 0.0)
    size: tuple[
        Positive[Length],
        Positive[Length],
        Positive[Length],
    ]
    rotation: Angles = (0.0, 0.0, 0.0)


Obstacle = Annotated[Plane | Sphere | Box, Field(discriminator="kind")]


class ContactFriction(Part):
    """Friction of a contact: ``coefficient N v/sqrt(v^2 + smoothing^2)`` at sliding speed v."""

    coefficient: Positive[Ratio]
    smoothing: Positive[Speed] = 1e-3


class Contact(Part):
    """Contact of a point, or a ball about it, with an obstacle in the world or on the arm.

    At penetration d the normal force is ``N = max(0, stiffness d^exponent (1 + damping d'))`` [N];
    stiffness is in N/m^exponent (Hunt & Crossley 1975).
    """

    name: Name | None = None
    point: AnyPoint = "tip"
    radius: NotNegative[Length] = 0.0
    obstacle: Obstacle
    stiffness: Positive[Number]
    exponent: Annotated[Number, Field(ge=1, le=10)] = 1.5
    damping: NotNegative[ContactDamping] = 0.0
    friction: ContactFriction | None = None

    @model_validator(mode="after")
    def _is_on_the_arm(self) -> Self:
        if self.point != "tip" and self.point.world is not None:
            raise fault(
                "the point of a contact must be on the arm, not in the world. Give link or tip.",
                "point",
                "world",
            )
        return self


class PointSpring(Part):
    """A spring and damper along the line between two points, relaxed at ``length`` [m]."""

    name: Name | None = None
    between: tuple[AnyPoint, AnyPoint]
    stiffness: NotNegative[ForceStiffness] = 0.0
    damping: NotNegative[ForceDamping] = 0.0
    length: NotNegative[Length] = 0.0

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if not self.stiffness and not self.damping:
            raise fault("this spring has no effect. Give stiffness, damping or both.")
        if all(point != "tip" and point.world is not None for point in self.between):
            raise fault(
                "one end of a spring must be on the arm, not in the world. Give link or tip.",
                "between",
                1,
                "world",
            )
        return self
