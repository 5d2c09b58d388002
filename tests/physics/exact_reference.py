"""Links bent by any angle below pi, as continua: fine quadrature of the definitions.

The axis of a link goes along t = R0 e_x and its sections are turned by R = R0 Rx(f), where R0 has
the rotation vector (0, -b, a) of the slopes a = y', b = z' and f is the twist.  The strains are
those of R: the axial vector of R^T R'.  Where sections shear, the slopes of the axis are those of
the displacements, and more than the sections' angles.  `exact_sliding` has beams that grow out of
their hubs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import factorial

import casadi as ca
import numpy as np

from flexarm.links.base import Direction, Shapes, Span
from tests.physics.placement import Array, Expr, Pose, Sections, gauss, running, taylor, unit_rule

POINTS = 14  # per panel
PANELS = (1, 4)  # at least and at most, of the span where shapes and properties are smooth
TERMS = 15  # of series in h^2: the next is below 1e-17 at h = pi
BENDING: tuple[tuple[str, Direction], ...] = (("EIz", "y"), ("EIy", "z"), ("GJ", "twist"))


def entire(square: Expr, first: int) -> Expr:
    """Sum the series of (-h^2)^k / (2 k + first)! from its square h^2.

    ``first`` 0: cos h; 1: sin h / h; 2: (1 - cos h) / h^2; 3: (h - sin h) / h^3.
    """
    total = ca.SX(0)
    for k in reversed(range(TERMS)):
        total = (-1) ** k / factorial(2 * k + first) + square * total
    return total


@dataclass(frozen=True)
class Turned:
    """Sections at G places turned by slopes a, b and twist f, (G, 1) each [rad]."""

    a: Expr
    b: Expr
    f: Expr

    @classmethod
    def at(cls, shapes: Shapes, d: Expr, x: Array, nu: int = 0) -> "Turned":
        """Turn the sections at places x [m] by amplitudes d, or the nu-th derivative of that."""
        a, b = (ca.DM(shapes.values(k, x, nu + 1)) @ d for k in ("y", "z"))
        return cls(a, b, ca.DM(shapes.values("twist", x, nu)) @ d)

    @cached_property
    def square(self) -> Expr:
        """Square of the angle between axis and root axis."""
        return self.a**2 + self.b**2

    @cached_property
    def sine(self) -> Expr:
        """Sine of that angle, by it."""
        return entire(self.square, 1)

    @cached_property
    def tangent(self) -> Expr:
        """Unit vectors along the axis, (3, G)."""
        cosine = entire(self.square, 0)
        return ca.horzcat(cosine, self.sine * self.a, self.sine * self.b).T

    @property
    def linear(self) -> Expr:
        """Angles to first order, (3, G)."""
        return ca.horzcat(self.f, -self.b, self.a).T

    @property
    def rotation(self) -> Expr:
        """Rotation of an only section, (3, 3)."""
        a, b, square = self.a, self.b, self.square
        zero, cosine, sine = ca.SX(1, 1), entire(square, 0), self.sine
        rest = entire(square, 2)  # rodrigues: 1 + sine w~ + rest w~^2 with w = (0, -b, a)
        tilt = ca.vertcat(
            ca.horzcat(cosine, -sine * a, -sine * b),
            ca.horzcat(sine * a, 1 - rest * a**2, -rest * a * b),
            ca.horzcat(sine * b, -rest * a * b, 1 - rest * b**2),
        )
        c, s = ca.cos(self.f), ca.sin(self.f)
        roll = ca.vertcat(
            ca.horzcat(1, zero, zero), ca.horzcat(zero, c, -s), ca.horzcat(zero, s, c)
        )
        return tilt @ roll

    def about_x(self, change: "Turned") -> Expr:
        """Turn about the sections' own x axes per unit of what changes a, b and f, (G, 1)."""
        return change.f - entire(self.square, 2) * (self.a * change.b - self.b * change.a)

    def across(self, change: "Turned") -> tuple[Expr, Expr]:
        """Turns about the sections' own y and z axes per unit of what changes them."""
        sine, rest = self.sine, entire(self.square, 3)
        along = rest * (self.a * change.a + self.b * change.b)
        y, z = -(sine * change.b + along * self.b), sine * change.a + along * self.a
        return self._rolled(y, z)

    def spins(self, root: Expr, change: "Turned") -> Expr:
        """Angular velocities about the sections' own axes, (3, G).

        ``root`` is the angular velocity of the root frame in its own axes.
        """
        rest, (p, y, z) = entire(self.square, 2), ca.vertsplit(root)
        along = self.sine * p + rest * (self.a * y + self.b * z)
        carried = self._rolled(y - self.a * along, z - self.b * along)
        across = self.across(change)
        about_x = self.tangent.T @ root + self.about_x(change)
        return ca.horzcat(about_x, carried[0] + across[0], carried[1] + across[1]).T

    def _rolled(self, y: Expr, z: Expr) -> tuple[Expr, Expr]:
        """Components along the sections' own y and z axes of those along the untwisted ones."""
        c, s = ca.cos(self.f), ca.sin(self.f)
        return c * y + s * z, c * z - s * y


def panel_edges(smooth: Array, shapes: int) -> Array:
    """Cut what is smooth between edges into panels, for more shapes into more of them."""
    length = (smooth[-1] - smooth[0]) / np.clip(shapes, *PANELS)
    counts = np.ceil(np.diff(smooth) / length - 1e-9).astype(int)
    cuts = [np.linspace(a, b, n + 1) for (a, b), n in zip(pairwise(smooth), counts, strict=True)]
    return np.unique(np.concatenate(cuts))


@dataclass(frozen=True)
class ExactBeam:
    """A flexible span of constant length and its amplitudes d."""

    span: Span
    shapes: Shapes
    d: Expr
    points: int = POINTS

    @cached_property
    def edges(self) -> Array:
        """Panel edges between which shapes and properties are smooth: a panel for each shape."""
        smooth = np.union1d(self.span.edges, self.shapes.edges)
        busiest = max(np.any(self._values(k), axis=0).sum() for k in ("y", "z"))
        return panel_edges(smooth, busiest)

    @cached_property
    def rule(self) -> tuple[Array, Array]:
        """Places [m] and weights [m] along the whole span."""
        return gauss(self.edges, self.points)

    def sections(self) -> Sections:
        """Sections at the places of the rule."""
        return Sections(self._whole[0], self._turned.linear, self._turned.linear)

    def pose(self, x: float, step: Expr | None = None) -> Pose:
        """Frame of the section at x [m], or a small step beyond: right to its second order."""
        edges = np.append(self.edges[self.edges < x], x)
        place = self._whole[1] if x == self.edges[-1] else self._axis(edges)[1]
        turned = Turned.at(self.shapes, self.d, np.array([x]))
        if step is None:
            return Pose(turned.rotation, place)
        h = ca.SX.sym("h")
        a, b = self._near("y", x, h, 1), self._near("z", x, h, 1)
        near = Turned(a, b, self._near("twist", x, h, 0))
        slope = near.tangent * (1 + self._near("x", x, h, 1))
        first, second = (ca.substitute(each, h, 0) for each in (slope, ca.jacobian(slope, h)))
        rotation = ca.substitute(near.rotation, h, step)
        return Pose(rotation, place + first * step + second * step**2 / 2)

    def _near(self, direction: Direction, x: float, step: Expr, nu: int) -> Expr:
        """Taylor series of the sum of shapes or of its derivative about x [m]."""
        rows = [taylor(self.shapes, direction, np.array([x]), nu, n) for n in range(3)]
        return sum((ca.DM(row) @ self.d * step**n for n, row in enumerate(rows)), ca.SX(0))

    def spins(self, root: Expr, rate: Callable[[Expr], Expr]) -> Expr:
        """Angular velocities of the sections about their own axes, (3, G).

        ``root`` is the angular velocity of the root frame in its own axes, ``rate`` differentiates.
        """
        turned = self._turned
        return turned.spins(root, Turned(rate(turned.a), rate(turned.b), rate(turned.f)))

    def energy(self) -> Expr:
        """Elastic energy [J]: that of the stiffness matrix and what curvatures have beyond it."""
        energy = ca.bilin(ca.DM(self.shapes.stiffness), self.d, self.d) / 2
        x, weight = self.rule
        turned, first = self._turned, Turned.at(self.shapes, self.d, x, 1)
        about_y, about_z = turned.across(first)
        strains = (
            (about_z, first.a),
            (about_y, first.b),
            (turned.about_x(first), first.f),
        )
        for (name, direction), (strain, linear) in zip(BENDING, strains, strict=True):
            if direction == "twist" and not self._moves(direction):
                continue  # a link without twist shapes gives way in torsion
            # a section that leaves one bending stiffness out is as stiff in both directions
            names = (name, {"EIz": "EIy", "EIy": "EIz"}.get(name, name))
            known = next((n for n in names if self.span.has(n)), None)
            if known is not None:
                stiffness = ca.DM(weight * self.span.at(known, x))
                energy += ca.dot(stiffness, strain**2 - linear**2) / 2
        if not self.shears:
            return energy
        a, b = (ca.DM(self._slopes(k, x, self.edges)) @ self.d for k in ("y", "z"))
        lean = Turned(a - turned.a, b - turned.b, ca.SX(*a.shape))
        about_y, about_z = turned.across(lean)
        for name, other, strain, linear in (
            ("GAy", "GAz", about_z, lean.a), ("GAz", "GAy", about_y, lean.b)
        ):  # fmt: skip
            stiff = self.span.at(name if self.span.has(name) else other, x)
            energy += ca.dot(ca.DM(weight * stiff), strain**2 - linear**2) / 2
        return energy

    @cached_property
    def _turned(self) -> Turned:
        """Sections at the places of the rule."""
        return Turned.at(self.shapes, self.d, self.rule[0])

    @cached_property
    def _whole(self) -> tuple[Expr, Expr]:
        """Points of the axis at the places of the rule, (3, G), and at the tip, (3, 1)."""
        return self._axis(self.edges)

    @property
    def shears(self) -> bool:
        """Whether sections shear."""
        return self.span.has("GAy") or self.span.has("GAz")

    def _slopes(self, direction: Direction, x: Array, edges: Array) -> Array:
        """Slopes of the axis per amplitude, (G, m), by differentiating displacements."""
        if not self.shears:
            return self.shapes.values(direction, x, 1)
        node = unit_rule(self.points)[0]
        powers = np.polynomial.legendre.legvander(node, self.points - 1)
        slopes = np.polynomial.legendre.legder(np.eye(self.points))
        change = np.polynomial.legendre.legval(node, slopes).T @ np.linalg.inv(powers)
        values = self.shapes.values(direction, x).reshape(-1, self.points, len(self.shapes.names))
        return np.concatenate(
            [2 / h * change @ each for h, each in zip(np.diff(edges), values, strict=True)]
        )

    def _moves(self, direction: Direction) -> bool:
        return bool(np.any(self._values(direction)))

    def _values(self, direction: Direction) -> Array:
        return self.shapes.values(direction, np.linspace(0.0, self.span.length, 41))

    def _axis(self, edges: Array) -> tuple[Expr, Expr]:
        """Points of the axis at the panels' places, (3, G), and at the last edge, (3, 1)."""
        x, weight = gauss(edges, self.points)
        stretch = 1 + (ca.DM(self.shapes.values("x", x, 1)) @ self.d).T
        if edges is self.edges and not self.shears:
            tangent = self._turned.tangent
        else:
            a, b = (ca.DM(self._slopes(k, x, edges)) @ self.d for k in ("y", "z"))
            tangent = Turned(a, b, ca.SX(*a.shape)).tangent
        slope = tangent * ca.repmat(stretch, 3, 1)
        end = ca.SX(3, 1)
        points = []
        for k, jump in enumerate(self._jumps(x, weight)):
            panel = slice(k * self.points, (k + 1) * self.points)
            half = weight[panel].sum() / 2
            if np.any(jump):  # of straight pieces: anywhere in it is the tangent where it opens
                end = end + tangent[:, panel.start] * (ca.DM(jump).T @ self.d)
            inner = slope[:, panel] @ ca.DM(half * running(self.points)).T
            points.append(ca.repmat(end, 1, self.points) + inner)
            end = end + slope[:, panel] @ ca.DM(weight[panel])
        return ca.horzcat(*points), end

    def _jumps(self, x: Array, weight: Array) -> Array:
        """Stretch per amplitude that opens each panel at once (lumped springs), (panels, m)."""
        count = len(x) // self.points
        value = self.shapes.values("x", x).reshape(count, self.points, -1)
        slope = self.shapes.values("x", x, 1).reshape(count, self.points, -1)
        panel = weight.reshape(count, self.points)
        first = running(self.points)[0] * panel.sum(axis=1, keepdims=True) / 2
        opens = value[:, 0] - np.einsum("pg,pgm->pm", first, slope)
        closes = opens + np.einsum("pg,pgm->pm", panel, slope)
        jumps = opens - np.concatenate([np.zeros_like(closes[:1]), closes[:-1]])
        scale = np.abs(value).max(initial=0.0)
        return np.where(np.abs(jumps) > 1e-9 * scale, jumps, 0.0)
