"""Timing laws of a motion: progress from 0 to 1, at rest before and after."""

import math
from dataclasses import dataclass
from typing import Literal

import casadi as ca

from flexarm.arguments import is_word, require_number, require_positive, shown
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.integrate.constants import LONGEST_RUN
from flexarm.spatial import Expr

Kind = Literal["cycloid", "quintic", "septic", "trapezoid"]
KINDS: tuple[Kind, ...] = ("cycloid", "quintic", "septic", "trapezoid")


@dataclass(frozen=True)
class Timing:
    """A timing law: progress from 0 to 1 as a function of time.

    Attributes
    ----------
    kind
        ``cycloid`` (sinusoidal acceleration, Theodore & Ghosal 1995), ``quintic`` and ``septic``
        (the polynomials with zero rate and acceleration at both ends, and with zero jerk too) or
        ``trapezoid`` (of the rate: constant acceleration, constant rate, constant deceleration).
    duration, begin
        Duration of the motion, and time of its beginning [s].
    ramp
        Share of the duration in which a trapezoid accelerates, equal to the share for deceleration.
    """

    kind: Kind
    duration: float
    begin: float = 0.0
    ramp: float = 0.25

    def __post_init__(self) -> None:
        """Raise an error for an invalid kind, duration, beginning or ramp."""
        if not is_word(self.kind, KINDS):
            raise FlexarmError(f"timing: must be one of {', '.join(KINDS)}, got {shown(self.kind)}")
        for name, unit in (("duration", "s"), ("begin", "s"), ("ramp", "1")):
            number = require_number(f"timing: {name}", getattr(self, name), unit=unit)
            object.__setattr__(self, name, number)
        require_positive("timing: duration", self.duration)
        require_number("timing: duration", self.duration, least=NEGLIGIBLE, largest=LONGEST_RUN)
        if self.begin < 0:
            raise FlexarmError(f"timing: begin must be >= 0 s, got {self.begin:g}")
        if not 0 < self.ramp <= 0.5:
            raise FlexarmError(
                "timing: ramp must be a fraction of the duration above 0 and at "
                f"most 0.5, got {self.ramp:g}"
            )

    @property
    def end(self) -> float:
        """Time at which the motion ends [s]."""
        return self.begin + self.duration

    def trace(self, t: Expr) -> tuple[Expr, Expr, Expr]:
        """Return symbolic progress, rate [1/s] and acceleration [1/s^2] at a time [s]."""
        x = (t - self.begin) / self.duration
        shape = {"cycloid": _cycloid, "quintic": _quintic, "septic": _septic}.get(self.kind)
        s, rate, bend = shape(x) if shape else _trapezoid(x, self.ramp)
        inside = ca.logic_and(x >= 0, x < 1)  # at a jump the value after it
        return (
            ca.if_else(x < 0, 0, ca.if_else(x >= 1, 1, s)),
            ca.if_else(inside, rate / self.duration, 0),
            ca.if_else(inside, bend / self.duration**2, 0),
        )


def _cycloid(x: Expr) -> tuple[Expr, Expr, Expr]:
    angle = 2 * math.pi * x
    return (
        x - ca.sin(angle) / (2 * math.pi),
        1 - ca.cos(angle),
        2 * math.pi * ca.sin(angle),
    )


def _quintic(x: Expr) -> tuple[Expr, Expr, Expr]:
    return (
        x**3 * (10 + x * (6 * x - 15)),
        30 * x**2 * (1 - x) ** 2,
        60 * x * (1 - x) * (1 - 2 * x),
    )


def _septic(x: Expr) -> tuple[Expr, Expr, Expr]:
    return (
        x**4 * (35 + x * (-84 + x * (70 - 20 * x))),
        140 * x**3 * (1 - x) ** 3,
        420 * x**2 * (1 - x) ** 2 * (1 - 2 * x),
    )


def _trapezoid(x: Expr, ramp: float) -> tuple[Expr, Expr, Expr]:
    top = 1 / (1 - ramp)  # the rate between the ramps
    up, down = x < ramp, x > 1 - ramp
    left = 1 - x
    s = ca.if_else(
        up,
        top * x**2 / (2 * ramp),
        ca.if_else(down, 1 - top * left**2 / (2 * ramp), top * (x - ramp / 2)),
    )
    rate = ca.if_else(up, top * x / ramp, ca.if_else(down, top * left / ramp, top))
    return s, rate, ca.if_else(up, top / ramp, ca.if_else(down, -top / ramp, 0))
