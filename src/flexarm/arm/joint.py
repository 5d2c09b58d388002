"""Joints: their axes of motion, drives, springs, brakes and inputs."""

import math
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar

from pydantic import Field, model_validator
from typing_extensions import TypeVar as DefaultTypeVar

from flexarm.arm.drive import Drive, Friction, G, SpringTable
from flexarm.arm.part import (
    Body,
    Frame,
    Name,
    NotNegative,
    Number,
    Part,
    Positive,
    Terse,
    fault,
)
from flexarm.arm.profile import (
    AngleProfile,
    AngularSpeedProfile,
    ForceProfile,
    LengthProfile,
    SpeedProfile,
    TorqueProfile,
)
from flexarm.arm.servo import PQ, Brake, D, E, K, Q, S, Servo, Stops
from flexarm.units import (
    Angle,
    AngularSpeed,
    Force,
    ForceDamping,
    ForceStiffness,
    Length,
    SlidingGearRatio,
    Speed,
    Torque,
    TorqueDamping,
    TorqueStiffness,
)

PE = TypeVar("PE")  # torque or force as a function of time
# Speed as a function of time.
PS = DefaultTypeVar("PS", default=Any)


class DH(Part):
    """Denavit-Hartenberg constants of a joint; the joint's coordinate is added to them.

    With the coordinate q, ``standard`` means Rz(theta + q) Tz(d), then the link along x over its
    length, then Rx(alpha). ``modified`` means Rx(alpha), then Rz(theta + q) Tz(d), after the
    previous link's length along x. ``a`` may repeat the length of the link (``standard``) or of the
    previous link (``modified``), and is then checked.
    """

    convention: Literal["standard", "modified"] = "standard"
    theta: Angle = 0.0
    d: Length = 0.0
    a: Length | None = None
    alpha: Angle = 0.0


class JointLimits(Part, Generic[Q, S, E]):
    """Range of a joint's coordinate, and largest speed and torque (or force)."""

    lower: Q | None = None
    upper: Q | None = None
    speed: Positive[S] | None = None
    effort: Positive[E] | None = None

    @model_validator(mode="after")
    def _lower_below_upper(self) -> Self:
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:  # type: ignore[operator]
            raise fault("the upper limit must be larger than the lower limit", "upper")
        return self


class Spring(Part, Generic[Q, E, K, D]):
    """A passive spring across the joint, relaxed at ``rest``."""

    stiffness: Positive[K] | SpringTable[Q, E]
    damping: NotNegative[D] | None = None
    rest: Q | None = None


class Hub(Part):
    """Rigid bodies at a joint, in the joint frame.

    The ``inboard`` body is fixed to the previous link, the ``outboard`` body to the link that
    moves.
    """

    inboard: Body | None = None
    outboard: Body | None = None


class Start(Part, Generic[Q, S]):
    """Initial position and speed of a joint; by default its transmission is undeflected."""

    position: Q | None = None
    speed: S | None = None
    motor_position: Q | None = None
    motor_speed: S | None = None


class Placed(Terse):
    """Placement of a joint: frames before and after the joint, or DH constants."""

    # Axes (0, 1, 2) of the joint frame about which the coordinates rotate, one after the other.
    turns_about: ClassVar[tuple[int, ...]] = ()
    # Whether the joint is at a station of its rail, not at a link's end.
    rides: ClassVar[bool] = False

    name: Name | None = None
    before: Frame | None = None
    after: Frame | None = None
    dh: DH | None = None
    hub: Hub = Hub()

    @property
    def travel(self) -> float:
        """Displacement of the link along z per unit of the joint coordinate [m/m or m/rad]."""
        return 0.0

    @model_validator(mode="after")
    def _frames_or_dh(self) -> Self:
        if self.dh is not None and (self.before is not None or self.after is not None):
            raise fault("the joint is placed twice. Give dh, or before and after, not both.", "dh")
        return self


class Actuated(Part, Generic[Q, S, E, K, D, PQ, PE, PS, G]):
    """Drive, limits, servo, brake, springs and input of one joint axis."""

    actuation: Literal["torque", "free", "prescribed"] = "torque"
    motion: PQ | None = None
    input: PE | None = None
    servo: Servo[Q, S, E, K, D, PQ, PS] | None = None
    brake: Brake[E] | None = None
    limits: JointLimits[Q, S, E] | None = None
    stops: Stops[S, K] | None = None
    drive: Drive[Q, S, E, K, D, G] | None = None
    spring: Spring[Q, E, K, D] | None = None
    friction: Friction[S, E, K, D] | None = None
    start: Start[Q, S] = Field(default_factory=dict, validate_default=True)

    @model_validator(mode="after")
    def _rules_of_motion(self) -> Self:
        prescribed = self.actuation == "prescribed"
        if prescribed and self.motion is None:
            raise fault(
                "a prescribed joint needs its motion as a function of time. Give 'motion'.",
                "actuation",
            )
        if self.motion is not None and not prescribed:
            raise fault("a motion is used only with 'actuation: prescribed'", "motion")
        for name in ("input", "servo", "brake"):
            if getattr(self, name) is not None and self.actuation != "torque":
                raise fault("'{key}' is used only with 'actuation: torque'", name, key=name)
        has_limits = self.limits is not None and (self.limits.lower, self.limits.upper) != (
            None,
            None,
        )
        if self.stops is not None and not has_limits:
            raise fault(
                "stops are at limits.lower and limits.upper, and neither limit is "
                "given. Give one of them.",
                "stops",
            )
        if prescribed and self.start.model_fields_set & {"position", "speed"}:
            raise fault(
                "the start of a prescribed joint follows from its motion. Leave start out.", "start"
            )
        if self.start.model_fields_set & {"motor_position", "motor_speed"} and not self.elastic:
            raise fault(
                "a joint without drive.stiffness has no motor coordinate to start from. "
                "Leave motor_position and motor_speed out.",
                "start",
            )
        if self.drive is not None and self.drive.motor is not None and self.actuation != "torque":
            raise fault("a motor is used only with 'actuation: torque'", "drive", "motor")
        if prescribed:
            self._refuse_sticking()
        if self.elastic and self.actuation == "free":
            raise fault(
                "a free joint has no drive. Leave the drive out, or write 'actuation: torque'.",
                "actuation",
            )
        return self

    def _refuse_sticking(self) -> None:
        frictions: dict[tuple[str, ...], Any] = {("friction",): self.friction}
        if self.drive is not None:
            frictions["drive", "friction"] = self.drive.friction
        for path, friction in frictions.items():
            if friction is not None and friction.kind == "dry":
                raise fault(
                    "a prescribed joint cannot have dry friction. Use friction of kind "
                    "smooth or lugre.",
                    *path,
                )

    @property
    def elastic(self) -> bool:
        """Whether motor and link have separate coordinates, joined by an elastic transmission."""
        return self.drive is not None and self.drive.stiffness is not None


class Moving(Actuated[Q, S, E, K, D, PQ, PE, PS, G], Placed, Generic[Q, S, E, K, D, PQ, PE, PS, G]):
    """A joint with a single axis, along which it slides or about which it rotates."""

    axis: tuple[Number, Number, Number] = (0.0, 0.0, 1.0)

    @model_validator(mode="after")
    def _rules_of_the_axis(self) -> Self:
        if not any(self.axis):
            raise fault("the joint axis must not be the zero vector", "axis")
        if self.dh is not None and self.axis != (0.0, 0.0, 1.0):
            raise fault("a joint placed by dh turns about its z axis. Leave 'axis' out.", "axis")
        return self

    @property
    def axes(self) -> dict[str, "AnyActuated"]:
        """Actuation of each axis by its label; a single axis has the empty label."""
        return {"": self}


class RotaryJoint(Moving[Angle, AngularSpeed, Torque, TorqueStiffness, TorqueDamping,
                    AngleProfile, TorqueProfile, AngularSpeedProfile]):  # fmt: skip
    """A joint whose coordinate is an angle about its axis."""

    turns_about: ClassVar[tuple[int, ...]] = (2,)


class LinearJoint(Moving[Length, Speed, Force, ForceStiffness, ForceDamping,
                    LengthProfile, ForceProfile, SpeedProfile, SlidingGearRatio]):  # fmt: skip
    """A joint whose coordinate is a length along its axis."""


class Revolute(RotaryJoint):
    """A revolute joint: rotation about ``axis``."""

    kind: Literal["revolute"]


class Prismatic(LinearJoint):
    """A prismatic joint: translation along ``axis`` of the whole link."""

    kind: Literal["prismatic"]

    @property
    def travel(self) -> float:
        """Displacement of the link along the axis per unit of the joint coordinate [m/m]."""
        return 1.0


class Sliding(LinearJoint):
    """A link that slides out of its hub along its x axis; the coordinate is its exposed length."""

    kind: Literal["sliding"]

    @model_validator(mode="after")
    def _along_the_beam(self) -> Self:
        for name in ("after", "axis", "dh"):
            if name in self.model_fields_set:
                raise fault(
                    "a sliding link slides along its own x axis. Place its joint by "
                    "'before' alone.",
                    name,
                )
        if self.stops is not None:
            raise fault(
                "a sliding link cannot have stops, since its shapes hold only between its "
                "limits. Leave stops out.",
                "stops",
            )
        if self.hub.outboard is not None:
            raise fault("the outboard side of a sliding joint has no place for a hub body. Use "
                        "'inboard'.",
                        "hub", "outboard")  # fmt: skip
        return self


class Carriage(LinearJoint):
    """A link that rides along the bent previous link; the coordinate is its position [m].

    Positions are counted along the previous link (the rail) from its root; the joint's frame is
    fixed to the rail's section at the position of the carriage.
    """

    rides: ClassVar[bool] = True
    kind: Literal["carriage"]

    @model_validator(mode="after")
    def _along_the_rail(self) -> Self:
        for name in ("axis", "dh"):
            if name in self.model_fields_set:
                raise fault(
                    "a carriage rides along its rail. Place its joint by 'before' and 'after'.",
                    name,
                )
        if self.hub.inboard is not None:
            raise fault(
                "a carriage has no part that stays on the rail. Use 'outboard'.", "hub", "inboard"
            )
        if self.drive is not None and self.drive.rotor == "full":
            raise fault("a carriage's rotor would turn with the bending of its rail, which is "
                        "not modelled. Leave 'rotor: full' out.", "drive", "rotor")  # fmt: skip
        return self


class Screw(RotaryJoint):
    """A screw joint: rotation about ``axis``, translation along it by ``pitch`` [m] per turn."""

    kind: Literal["screw"]
    pitch: Length

    @model_validator(mode="after")
    def _travels(self) -> Self:
        if self.pitch == 0:
            raise fault(
                "the pitch must not be 0. A joint that only turns is of kind 'revolute'.", "pitch"
            )
        return self

    @property
    def travel(self) -> float:
        """Displacement of the link along the axis per angle of the joint [m/rad]."""
        return self.pitch / (2 * math.pi)


class Turn(Actuated[Angle, AngularSpeed, Torque, TorqueStiffness, TorqueDamping,
                    AngleProfile, TorqueProfile, AngularSpeedProfile]):  # fmt: skip
    """Drive, limits, servo, springs and input of one axis of a joint with several axes."""

    @model_validator(mode="after")
    def _direct(self) -> Self:
        if self.drive is not None:
            raise fault(
                "a joint with several axes has no rotor or gear. Give its torques alone, or use "
                "two revolute joints with a short link between them.",
                "drive",
            )
        return self


class Crossed(Placed):
    """A joint with several axes that intersect at its origin."""

    @model_validator(mode="after")
    def _by_frames(self) -> Self:
        if self.dh is not None:
            raise fault(
                "dh describes a joint with one axis, and this joint has several. Use "
                "'before' and 'after'.",
                "dh",
            )
        return self


class Universal(Crossed):
    """A universal (Cardan) joint: rotation about z, then about the rotated y axis."""

    turns_about: ClassVar[tuple[int, ...]] = (2, 1)
    kind: Literal["universal"]
    # A factory, because building these schemas at import would double the import time.
    first: Turn = Field(default_factory=Turn)
    second: Turn = Field(default_factory=Turn)

    @property
    def axes(self) -> dict[str, "AnyActuated"]:
        """Actuation of the two axes, by the labels ``first`` and ``second``."""
        return {"first": self.first, "second": self.second}


class Attitude(Part):
    """Initial attitude by angles about the fixed x, then y, then z axis, and spin in link axes."""

    rotation: tuple[Angle, Angle, Angle] = (0.0, 0.0, 0.0)
    spin: tuple[AngularSpeed, AngularSpeed, AngularSpeed] = (0.0, 0.0, 0.0)


class Spherical(Crossed):
    """A spherical joint: free rotation about every axis, with viscous ``damping`` [N m s/rad]."""

    turns_about: ClassVar[tuple[int, ...]] = (0, 1, 2)
    kind: Literal["spherical"]
    damping: NotNegative[TorqueDamping] = 0.0
    start: Attitude = Attitude()

    @model_validator(mode="before")
    @classmethod
    def _is_free(cls, value: Any) -> Any:
        for name in value if isinstance(value, dict) else ():
            if name in Turn.model_fields and name not in cls.model_fields:
                raise fault(
                    "a spherical joint has no drive, input, friction, spring or limits. Use a "
                    "universal joint on a link without length, and a revolute joint about x.",
                    name,
                )
        return value

    @property
    def axes(self) -> dict[str, "AnyActuated"]:
        """Actuation of the three angles, by label; every angle is free."""
        return dict.fromkeys(("rx", "ry", "rz"), Turn(actuation="free"))


class Fixed(Placed):
    """A fixed joint, which attaches a link rigidly."""

    kind: Literal["fixed"]

    @property
    def axes(self) -> dict[str, "AnyActuated"]:
        """Empty mapping, because a fixed joint has no axes."""
        return {}


AnyActuated = Actuated[Any, Any, Any, Any, Any, Any, Any, Any, float]
Joint = Annotated[
    Revolute | Prismatic | Sliding | Carriage | Screw | Universal | Spherical | Fixed,
    Field(discriminator="kind"),
]
