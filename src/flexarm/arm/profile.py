"""Functions of time in a model file, for torques, motions and load factors."""

from typing import Annotated, Generic, Literal, Self, TypeVar

from pydantic import Field, model_validator
from typing_extensions import TypeAliasType

from flexarm.arm.part import Part, Positive, fault, require_increasing, require_table
from flexarm.arm.side_files import BesideModel
from flexarm.units import (
    Angle,
    AngularSpeed,
    Force,
    Frequency,
    Length,
    PerSecond,
    Ratio,
    Speed,
    Time,
    Torque,
)

V = TypeVar("V")
Interpolation = Literal["linear", "cubic", "hold"]


class Constant(Part, Generic[V]):
    """A constant function of time."""

    kind: Literal["constant"]
    value: V


class Step(Part, Generic[V]):
    """A step function of time: ``before`` until ``time``, ``value`` afterwards."""

    kind: Literal["step"]
    value: V
    time: Time = 0.0
    before: V | None = None


class BangBang(Part, Generic[V]):
    """A square wave of ``amplitude`` that changes sign at each switching time.

    The function is 0 before the first and after the last of ``times``.
    """

    kind: Literal["bang-bang"]
    amplitude: V
    times: Annotated[tuple[Time, ...], Field(min_length=2, max_length=10_000)]

    @model_validator(mode="after")
    def _times_increase(self) -> Self:
        require_increasing(self.times, "times", "later than the time")
        return self


class Sine(Part, Generic[V]):
    """The function of time ``offset + amplitude sin(2 pi frequency t + phase)``."""

    kind: Literal["sine"]
    amplitude: V
    frequency: Positive[Frequency]
    phase: Angle = 0.0
    offset: V | None = None


class Cycloid(Part, Generic[V]):
    """A motion at rest at ``start`` and ``end``, with sinusoidal acceleration."""

    kind: Literal["cycloid"]
    start: V
    end: V
    duration: Positive[Time]
    begin: Time = 0.0


class Trapezoid(Part, Generic[V]):
    """A motion from rest at ``start`` to rest at ``end``, with a trapezoidal rate.

    The motion takes ``duration``, with the fraction ``ramp`` of ``duration`` for acceleration and
    again for deceleration; or it is as fast as the limits ``rate`` ("30 deg/s") and
    ``acceleration`` ("60 deg/s^2") allow.
    """

    kind: Literal["trapezoid"]
    start: V
    end: V
    duration: Positive[Time] | None = None
    ramp: Annotated[Ratio, Field(gt=0, le=0.5)] | None = None
    rate: Annotated[V, PerSecond(), Field(gt=0)] | None = None
    acceleration: Annotated[V, PerSecond(2), Field(gt=0)] | None = None
    begin: Time = 0.0

    @model_validator(mode="after")
    def _timed_or_limited(self) -> Self:
        limits = [self.rate, self.acceleration]
        timed = self.duration is not None and limits == [None, None]
        if not timed and (None in limits or self.duration is not None or self.ramp is not None):
            raise fault(
                "a profile needs either a duration (with a ramp, by default 0.25) or "
                "the limits rate and acceleration"
            )
        return self


class SpinUp(Part, Generic[V]):
    """A rate that rises smoothly from 0 to ``rate`` within ``duration``, then stays constant.

    With T the duration, ``rate(t) = rate (t/T - sin(2 pi t/T)/(2 pi))``, the profile of Kane, Ryan
    & Banerjee.
    """

    kind: Literal["spin-up"]
    rate: Annotated[V, PerSecond()]
    duration: Positive[Time]


class Table(Part, Generic[V]):
    """A function of time given at ``times``; before and after, the end values continue."""

    kind: Literal["table"]
    times: Annotated[tuple[Time, ...], Field(min_length=1, max_length=1_000_000)]
    values: Annotated[tuple[V, ...], Field(min_length=1, max_length=1_000_000)]
    interpolation: Interpolation = "linear"

    @model_validator(mode="after")
    def _columns_match(self) -> Self:
        require_table(self, "times", "values", "later than the time")
        return self


class Csv(BesideModel, Generic[V]):
    """A function of time in two columns of a CSV file with a header line, in SI units."""

    kind: Literal["csv"]
    time: str = "time"
    value: str = "value"
    interpolation: Interpolation = "linear"


Profile = TypeAliasType(
    "Profile",
    Annotated[
        Constant[V]
        | Step[V]
        | BangBang[V]
        | Sine[V]
        | Cycloid[V]
        | Trapezoid[V]
        | SpinUp[V]
        | Table[V]
        | Csv[V],
        Field(discriminator="kind"),
    ],
    type_params=(V,),
)
AngleProfile = Profile[Angle]
LengthProfile = Profile[Length]
TorqueProfile = Profile[Torque]
ForceProfile = Profile[Force]
AngularSpeedProfile = Profile[AngularSpeed]
SpeedProfile = Profile[Speed]
RatioProfile = Profile[Ratio]
