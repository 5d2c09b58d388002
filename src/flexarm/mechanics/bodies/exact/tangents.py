"""Tangents and rotations of the sections of a bent span as functions of the section angles.

The bending rotation vector of a section is ``(0, -b, a)``, with the bending angles a and b: the
sums of slope shapes times amplitudes along y and z. The twist f rotates the section about its
tangent. In plane bending, a or b is zero. For bending in two planes, all quantities follow from
functions of ``x = a^2 + b^2`` that have no singularity: ``c_k = sum (-x)^n/(2n+k)!``, where ``c_0``
and ``c_1`` are the cosine of the angle and its sine divided by the angle, with ``dc_k/dx = (k
c_{k+2} - c_{k+1})/2``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Generic, TypeVar

import casadi as ca
import numpy as np
from numpy.polynomial import chebyshev

from flexarm.links.collocation import Collocation
from flexarm.mechanics.constants import ROTATION_TERMS
from flexarm.spatial import Array, Expr, constant

E = TypeVar("E", Expr, Array)
Rows = Sequence[Expr]  # components along three axes, at n sections, (n,) each


@dataclass(frozen=True)
class Angles:
    """Bending angles along y and z, twist [rad] and stretch of n sections, (n,) each.

    A quantity that is independent of the amplitudes is a column of structural zeros.
    """

    a: Expr
    b: Expr
    twist: Expr
    stretch: Expr

    @classmethod
    def at(cls, bend: Array, twist: Array, stretch: Array, d: Expr) -> "Angles":
        """Return the angles of n sections at amplitudes d, (m,); from rates d, their rates.

        Shapes are ``bend`` (2, n, m), ``twist`` (n, m) and ``stretch`` (n, m).
        """
        return cls(*(constant(rows) @ d for rows in (bend[0], bend[1], twist, stretch)))

    @classmethod
    def of(cls, nodes: Collocation, d: Expr) -> "Angles":
        """Return the angles of the sections at all nodes, at amplitudes d, (m,).

        If d contains the rates of the amplitudes, the result contains the rates of the angles.
        """
        return cls.at(nodes.bend, nodes.twist, nodes.stretch, d)


@dataclass(frozen=True)
class Tangents:
    """Tangents ``P = (1 + eps) t`` of the axis at n sections, (3, n), and their derivatives."""

    unit: Expr  # the unit tangents t
    place: Expr  # P
    # by_a, by_b: derivatives of P with respect to the angles a and b.
    by_a: Expr
    by_b: Expr
    # rate, bias: time derivative of P, and its second time derivative at zero accelerations of the
    # amplitudes.
    rate: Expr
    bias: Expr


def tangents(at: Angles, rates: Angles, straight: Array | None = None) -> Tangents:
    """Compute the tangents at n sections, with derivatives and rates, from the section angles.

    ``straight`` (n,) are the lengths of the tangents of the unstretched beam; None stands for 1.
    """
    if not (at.a.nnz() and at.b.nnz()):
        t, by_a, by_b, rate, bias = _in_plane(at, rates)
    else:
        t, by_a, by_b, rate, bias = _in_space(at, rates)
    if straight is None:
        return Tangents(t, t, by_a, by_b, rate, bias)
    long, speed = (constant(straight) + at.stretch).T, rates.stretch.T
    return Tangents(
        t,
        scaled_rows(t, long),
        scaled_rows(by_a, long),
        scaled_rows(by_b, long),
        scaled_rows(t, speed) + scaled_rows(rate, long),
        2 * scaled_rows(rate, speed) + scaled_rows(bias, long),
    )


def scaled_rows(rows: Expr, factors: Expr) -> Expr:
    """Return the matrix ``rows`` (3, n) with column j multiplied by ``factors[j]``.

    Rows that are structurally zero stay so.
    """
    return ca.vertcat(*[rows[k, :] * factors if rows[k, :].nnz() else rows[k, :] for k in range(3)])


def _in_plane(at: Angles, rates: Angles) -> tuple[Expr, Expr, Expr, Expr, Expr]:
    """Return tangents, d/da and d/db of these, rate and bias, for bending in one plane.

    All five results have shape (3, n).
    """
    along = 2 if at.b.nnz() else 1
    angle, speed = (at.b, rates.b) if along == 2 else (at.a, rates.a)
    cosine: Expr = ca.cos(angle.T)
    sine: Expr = ca.sin(angle.T)
    speed = speed.T
    n, new = cosine.shape[1], type(at.a)
    none = new(3, n)

    def rows(x: Expr, across: Expr) -> Expr:
        return ca.vertcat(x, *([across, new(1, n)] if along == 1 else [new(1, n), across]))

    t, normal = rows(cosine, sine), rows(-sine, cosine)
    rate, bias = rows(-sine * speed, cosine * speed), rows(-cosine * speed**2, -sine * speed**2)
    return (t, normal, none, rate, bias) if along == 1 else (t, none, normal, rate, bias)


def _in_space(at: Angles, rates: Angles) -> tuple[Expr, Expr, Expr, Expr, Expr]:
    a, b, A, B = at.a.T, at.b.T, rates.a.T, rates.b.T
    f = Entire.of(a * a + b * b)
    S, S1, S2 = f.S, f.S1, f.S2
    p, r = a * A + b * B, A * A + B * B
    mixed, forward = a * b * S1, p * S1
    t = ca.vertcat(f.C, a * S, b * S)
    by_a = ca.vertcat(-a * S, S + a * a * S1, mixed)
    by_b = ca.vertcat(-b * S, mixed, S + b * b * S1)
    rate = ca.vertcat(-S * p, A * S + a * forward, B * S + b * forward)
    turned = S2 * p * p + S1 * r
    bias = ca.vertcat(
        -forward * p - S * r, 2 * A * forward + a * turned, 2 * B * forward + b * turned
    )
    return t, by_a, by_b, rate, bias


@dataclass(frozen=True)
class Entire(Generic[E]):
    """Functions of ``x = angle^2`` without singularity; names with 1, 2 are derivatives d/d(x/2).

    C is the cosine of the angle, S its sine divided by the angle, T = (1 - C)/x, and G = (1 - S)/x.
    The attributes ``four`` and ``five`` are c_4 = (1/2 - T)/x and c_5 = (1/6 - G)/x.
    """

    C: E
    S: E
    T: E
    G: E
    four: E
    five: E

    @classmethod
    def of(cls, x: E) -> "Entire[E]":
        """Compute C, S, T, G, c_4 and c_5 at x by power series."""
        four, five = _series(x, 4), _series(x, 5)
        T, G = 0.5 - x * four, 1 / 6 - x * five
        return cls(1 - x * T, 1 - x * G, T, G, four, five)

    @cached_property
    def S1(self) -> E:
        """Derivative of the function S with respect to x/2."""
        return self.G - self.T

    @cached_property
    def G1(self) -> E:
        """Derivative of the function G with respect to x/2."""
        return 3 * self.five - self.four

    @cached_property
    def T1(self) -> E:
        """Derivative of the function T with respect to x/2."""
        return 2 * self.four - self.G

    @cached_property
    def S2(self) -> E:
        """Second derivative of the function S with respect to x/2."""
        return self.G1 - self.T1

    @property
    def values(self) -> tuple[E, ...]:
        """The functions G, T, S and their derivatives G1, T1, S1 with respect to x/2."""
        return self.G, self.T, self.S, self.G1, self.T1, self.S1


def _series(x: E, k: int) -> E:
    """Return ``sum_n (-x)^n/(2n + k)!`` by Horner's rule."""
    last, *rest = reversed(_coefficients(k))
    total = 0 * x + last
    for coefficient in rest:
        total = coefficient + x * total
    return total


@cache
def _coefficients(k: int) -> tuple[float, ...]:
    """Return coefficients, lowest power first, of a polynomial in x close to the series c_k.

    The polynomial is a truncated Chebyshev expansion, accurate for angles up to pi.
    """
    whole = [(-1.0) ** n / math.factorial(2 * n + k) for n in range(2 * ROTATION_TERMS)]
    top = math.pi**2
    domain = np.polynomial.Polynomial(whole).convert(
        domain=[0.0, top], kind=chebyshev.Chebyshev, window=[-1.0, 1.0]
    )
    cut = chebyshev.Chebyshev(domain.coef[:ROTATION_TERMS], domain=[0.0, top])
    return tuple(cut.convert(kind=np.polynomial.Polynomial, domain=[-1, 1]).coef.tolist())


@dataclass(frozen=True)
class Turned:
    """Rotation and angular velocity of a section, with the Jacobian for its three angles."""

    rotation: Expr  # in link axes, (3, 3)
    # by_a, by_b, by_twist: angular velocity per rate of the bending angles a and b and of the
    # twist, (3,) each.
    by_a: Expr
    by_b: Expr
    by_twist: Expr
    # spin, bias: angular velocity, and its rate at zero accelerations of the amplitudes, (3,) each.
    spin: Expr
    bias: Expr

    def columns(self, rows: Sequence[Expr]) -> Expr:
        """Compute the angular velocity (3, m) from rates of the angles a, b and f, (1, m) each."""
        total = type(self.spin)(3, rows[0].shape[1])
        for by, row in zip((self.by_a, self.by_b, self.by_twist), rows, strict=True):
            if row.nnz():
                total += by @ row
        return total


def turned(at: Angles, rates: Angles) -> Turned:
    """Compute a section's rotation: twist about x, then the smallest rotation onto the tangent."""
    f, F, bent = at.twist, rates.twist, Bent.of(at, rates)
    rotation: Expr = ca.horzcat(*[ca.vertcat(*axis) for axis in bent.axes])
    # Bending rotates about an axis perpendicular to x. Components in bent axes therefore differ
    # from those in link axes only by the sign of the component along x.
    by_a, by_b, spin, bias = (
        ca.vertcat(-along, *across)
        for along, *across in (bent.by_a, bent.by_b, bent.spin, bent.gain)
    )
    tangent = rotation[:, 0]
    if not f.nnz():
        return Turned(rotation, by_a, by_b, tangent, spin, bias)
    about = type(f).eye(3)
    about[1, 1], about[1, 2], about[2, 1], about[2, 2] = ca.cos(f), -ca.sin(f), ca.sin(f), ca.cos(f)
    bias = bias + F * ca.cross(spin, tangent)
    return Turned(rotation @ about, by_a, by_b, tangent, spin + F * tangent, bias)


@dataclass(frozen=True)
class Bent:
    """Rotations of n sections by bending alone, from link axes to the axes t, e2 and e3.

    The x axis rotates into the tangent t, y into e2 and z into e3. Vectors have components along t,
    e2 and e3, (n,) each.
    """

    axes: tuple[Rows, Rows, Rows]  # t, e2 and e3 in link axes
    # by_a, by_b: angular velocity per rate of the bending angles a and b.
    by_a: Rows
    by_b: Rows
    # spin, gain: angular velocity relative to the link, and the rate of its components at zero
    # accelerations of the angles.
    spin: Rows
    gain: Rows
    # Generalised force on a and b per angular momentum along t, link at rest.
    lever: tuple[Expr, Expr]

    @classmethod
    def of(cls, at: Angles, rates: Angles) -> "Bent":
        """Compute the bending rotations of n sections at given angles and rates."""
        a, b, A, B = at.a, at.b, rates.a, rates.b
        ones, none = type(a).ones(*a.shape), type(a)(*a.shape)
        still = (none, none, none)
        if not (a.nnz() and b.nnz()):
            c, s = (ca.cos(a + b), ca.sin(a + b)) if a.nnz() or b.nnz() else (ones, none)
            axes = ((c, s, none), (-s, c, none), (none, none, ones))
            if b.nnz():
                axes = ((c, none, s), (none, ones, none), (-s, none, c))
            by = ((none, none, ones), (none, -ones, none))
            return cls(axes, *by, (none, -B, A), still, (none, none))
        f = Entire.of(a * a + b * b)
        S, T, G = f.S, f.T, f.G
        W, p = a * B - b * A, a * A + b * B
        mixed, more, turn, both = -a * b * T, f.G1 * p * W, G * W, G * a * b
        axes = ((f.C, a * S, b * S), (-a * S, 1 - a * a * T, mixed), (-b * S, mixed, 1 - b * b * T))
        by_a, by_b = (T * b, -both, 1 - G * b * b), (-T * a, G * a * a - 1, both)
        spin = (-T * W, turn * a - B, turn * b + A)
        gain = (-f.T1 * p * W, more * a + turn * A, more * b + turn * B)
        return cls(axes, by_a, by_b, spin, gain, (S * B, -S * A))
