"""Beams that grow out of their hubs and bend by any angle below pi, as continua.

At an exposed length l the axis is r(x) = int_0^x (1 + u') t dx, sections and strains as those of
`exact_reference` with the slopes y', z', u' of the shapes at that length, functions of xi = x / l
and l.  A particle keeps its distance from the beam's ends: where l grows, so does its x.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from tests.physics.exact_reference import POINTS, Turned, panel_edges
from tests.physics.placement import Array, Expr, Growing, Pose, Sections, gauss, running


@dataclass(frozen=True)
class ExactGrowing:
    """The exposed part of a beam, with the slopes of its shapes at the present length."""

    growing: Growing
    points: int = POINTS

    @cached_property
    def rule(self) -> tuple[Array, Array]:
        """Places xi along the exposed part, and weights."""
        shapes = self.growing.shapes
        busiest = max(np.any(shapes.factors[k], axis=(0, 1)).sum() for k in ("y", "z"))
        return gauss(panel_edges(shapes.edges, busiest), self.points)

    @property
    def twists(self) -> bool:
        """Whether any shape turns sections about the axis."""
        return bool(np.any(self.growing.shapes.factors["twist"]))

    def sections(self, xi: Array, shift: Expr) -> Sections:
        """Sections at x = (xi + shift) l, the shift to first order; xi are those of the rule."""
        points, _ = self._axis
        slope = ca.repmat((shift * self.growing.length).T, 3, 1) * self._slope
        angle = self._turned(xi, shift).linear
        return Sections(points + slope, angle, angle)

    def tip(self) -> Pose:
        """Frame of the last section."""
        return Pose(self._turned(np.ones(1)).rotation, self._axis[1])

    def spins(self, root: Expr, shift: Expr, rate: Callable[[Expr], Expr]) -> Expr:
        """Angular velocities about their own axes of sections at places of the rule, (3, G).

        ``root`` is the angular velocity of the hub in its own axes, ``rate`` differentiates.
        """
        turned = self._turned(self.rule[0], shift)
        return turned.spins(root, Turned(rate(turned.a), rate(turned.b), rate(turned.f)))

    def energy(self, properties: dict[str, Expr]) -> Expr:
        """Elastic energy [J]: of stretch, bending about the sections' own axes, and torsion.

        The properties are those at the places of the rule.
        """
        xi, weight = self.rule
        turned, along = self._turned(xi), self._turned(xi, nu=1)
        about_y, about_z = turned.across(along)
        density = properties.get("EA", 0.0) * self.growing.values("x", xi, 1) ** 2
        if self.twists:  # a link without twist shapes gives way in torsion
            density += properties.get("GJ", 0.0) * turned.about_x(along) ** 2
        # a section that leaves one bending stiffness out is as stiff in both directions
        every = properties | {"": 0.0}
        names: list[str] = [name for name in ("EIz", "EIy") if name in properties] or [""]
        density += every[names[0]] * about_z**2 + every[names[-1]] * about_y**2
        return self.growing.length * ca.dot(weight, density) / 2

    def _turned(self, xi: Array, shift: Expr = 0.0, nu: int = 0) -> Turned:
        """Turn sections, or give the nu-th derivative of that along the axis."""
        a, b = (self.growing.values(k, xi, nu + 1, shift) for k in ("y", "z"))
        return Turned(a, b, self.growing.values("twist", xi, nu, shift))

    @cached_property
    def _slope(self) -> Expr:
        """Derivatives of the axis by x at the places of the rule, (3, G)."""
        xi = self.rule[0]
        stretch = 1 + self.growing.values("x", xi, 1)
        return self._turned(xi).tangent * ca.repmat(stretch.T, 3, 1)

    @cached_property
    def _axis(self) -> tuple[Expr, Expr]:
        """Points of the axis at the places of the rule, (3, G), and at the tip, (3, 1)."""
        xi, weight = self.rule
        slope = self._slope
        end, points = ca.SX(3, 1), []
        for first in range(0, len(xi), self.points):
            panel = slice(first, first + self.points)
            half = weight[panel].sum() / 2
            inner = slope[:, panel] @ ca.DM(half * running(self.points)).T
            points.append(ca.repmat(end, 1, self.points) + inner)
            end = end + slope[:, panel] @ ca.DM(weight[panel])
        return self.growing.length * ca.horzcat(*points), self.growing.length * end
