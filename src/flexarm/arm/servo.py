"""Servos that make a joint follow a target, brakes, and hard stops."""

from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import Field, model_validator

from flexarm.arm.part import Flag, NotNegative, Part, Positive, fault
from flexarm.units import Ratio, Time

Q = TypeVar("Q")  # position
S = TypeVar("S")  # speed
E = TypeVar("E")  # effort
K = TypeVar("K")  # stiffness
D = TypeVar("D")  # damping
PQ = TypeVar("PQ")  # position as a function of time
PS = TypeVar("PS")  # speed as a function of time


class Servo(Part, Generic[Q, S, E, K, D, PQ, PS]):
    """A servo of a joint: it holds the joint's start, or follows a target position or rate.

    The servo's torque (or force), added to the joint's input, is ``damping`` times the difference
    of w and the joint's rate. Here w is the target's rate plus ``stiffness/damping`` times the
    position error, limited to ``speed`` in both directions. Without damping the torque is
    ``stiffness`` times the position error. With ``integral_time``, the time integral of this torque
    divided by ``integral_time`` is added. The servo's whole torque is limited to ``effort`` in both
    directions, with anti-windup of the integral.

    ``side`` is where the position of an elastic joint is measured: at its motor or at its link.

    With ``period`` the servo is digital: it measures once per period, applies the computed torque
    after a ``delay``, and holds it. A digital servo measures positions in steps of ``resolution``;
    its speed is the difference of two positions divided by the period.
    """

    target: PQ | None = None
    rate: PS | None = None
    stiffness: Positive[K] | None = None
    damping: Positive[D] | None = None
    integral_time: Positive[Time] | None = None
    side: Literal["motor", "link"] = "motor"
    speed: Positive[S] | None = None
    effort: Positive[E] | None = None
    period: Positive[Time] | None = None
    delay: NotNegative[Time] = 0.0
    resolution: Positive[Q] | None = None

    @model_validator(mode="after")
    def _is_digital(self) -> Self:
        for name in ("delay", "resolution"):
            if getattr(self, name) and self.period is None:
                raise fault(
                    "only a sampled servo can have '{key}'. Give the servo's period too.",
                    name,
                    key=name,
                )
        return self

    @model_validator(mode="after")
    def _has_gains(self) -> Self:
        if self.rate is not None:
            for name in ("target", "stiffness", "speed"):
                if getattr(self, name) is not None:
                    raise fault(
                        "'{key}' is for servos that follow a position, and 'rate' makes this "
                        "servo follow a rate. Leave '{key}' or 'rate' out.",
                        name,
                        key=name,
                    )
            if self.damping is None:
                raise fault(
                    "a servo that follows a rate needs a gain. Give damping, its gain.", "rate"
                )
        elif self.stiffness is None:
            raise fault(
                "a servo needs a stiffness, or a rate to follow. Give one of them.", "stiffness"
            )
        if self.speed is not None and self.damping is None:
            raise fault(
                "speed limits the rate that the servo commands, which acts through its "
                "damping. Give damping too.",
                "speed",
            )
        return self

    def changed(self, changes: dict[str, Any], context: Any = None) -> Self:
        """Return a servo with changed values; setting a rate removes the target, and vice versa.

        ``context`` is pydantic's validation context; it contains the source of files that the new
        values name.
        """
        values = {name: getattr(self, name) for name in self.model_fields_set}
        for key, conflicting in (("rate", ("target", "stiffness", "speed")), ("target", ("rate",))):
            for conflict in conflicting if key in changes else ():
                values.pop(conflict, None)
        return type(self).model_validate(values | changes, context=context)


class Stops(Part, Generic[S, K]):
    """Hard stops at a joint's ``lower`` and ``upper`` limits.

    A joint that hits a stop at ``speed`` rebounds with ``restitution`` times that speed.
    """

    stiffness: Positive[K]
    restitution: Annotated[Ratio, Field(gt=0, le=1)] = 1.0
    speed: Positive[S] | None = None

    @model_validator(mode="after")
    def _stop(self) -> Self:
        if self.restitution < 1 and self.speed is None:
            raise fault(
                "the restitution depends on the impact speed. Give the speed that it "
                "was measured at.",
                "speed",
            )
        return self


class Brake(Part, Generic[E]):
    """A brake on a joint; the brake of an elastic joint is on the motor.

    A closed brake holds the joint up to the torque or force ``effort`` at the joint, and slips at
    larger loads.
    """

    effort: Positive[E] | None = None
    closed: Flag = True
