"""Geometrically exact beam that slides out of its hub.

Positions are ``r = l sum_g I_g(xi) P_g``; `flexarm.links.growing.nodes` derives velocities and
accelerations at a fixed section of the material.
"""

from functools import cached_property
from typing import final

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.fields import Basis, Field, Functions, MovingField
from flexarm.links.growing.fields import SlidingMotion
from flexarm.links.growing.nodes import GrowingNodes
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.mechanics.bodies.elements import CUBIC
from flexarm.mechanics.bodies.exact.growing_rotary import grown_rotary_terms
from flexarm.mechanics.bodies.exact.space import XYZ, NodeMotion, Passing, space_terms
from flexarm.mechanics.bodies.exact.strain import strain_effort, strain_energy, strains
from flexarm.mechanics.bodies.exact.tangents import Angles, Tangents, scaled_rows, tangents, turned
from flexarm.mechanics.bodies.growing import Growing
from flexarm.mechanics.bodies.terms import Terms, add, scaled
from flexarm.mechanics.sections import Local
from flexarm.spatial import Expr, constant


class ExactSlidingMotion(SlidingMotion):
    """Motion of the material of an exact sliding beam, computed from tangents at nodes."""

    def __init__(self, nodes: GrowingNodes, shapes: SlidingShapes, own: Expr, rates: Expr) -> None:
        super().__init__(shapes, own, rates)
        self.nodes = nodes

    @cached_property
    def tangents(self) -> Tangents:
        """Tangents of the deformed axis at the nodes, with derivatives and rates."""
        nodes, e = self.nodes, self.slopes()
        straight = nodes.straight if nodes.stretches else None
        speed = e.slope * self.out + e.rate
        return tangents(Angles.of(nodes, e.value), Angles.of(nodes, speed), straight)

    @cached_property
    def vectors(self) -> NodeMotion:
        """Motion of the tangents times the exposed length, which interpolate positions."""
        nodes, t, l, out, e = self.nodes, self.tangents, self.length, self.out, self.slopes()
        per_rate = l * ca.horzcat(e.slope, e.matrix)
        bias, ways = 2 * out * t.rate + l * t.bias, list[tuple[Array | Expr, Expr]]()
        for rows, by in NodeMotion.of(nodes, t).ways:
            assert isinstance(rows, np.ndarray)  # the nodes are fixed
            bias += scaled_rows(by, (l * (constant(rows) @ e.bend)).T)
            ways.append((constant(rows) @ per_rate, by))
        grown = type(l)(nodes.count, per_rate.shape[1])
        grown[:, 0] = 1
        ways.append((grown, t.place))
        return NodeMotion(l * t.place, out * t.place + l * t.rate, bias, ways, per_rate.shape[1])

    def displacement(self) -> MovingField:
        """Return the position field as coefficients of the functions `GrowingNodes.functions`."""
        t, m, out = self.tangents, self.vectors, self.out
        none = type(out)(3, self.nodes.count)

        def field(*parts: Expr) -> Field:
            return Field(*[ca.vertcat(*[part[a, :].T for part in parts]) for a in XYZ])

        per = [m.columns(a, np.eye(self.nodes.count)) for a in XYZ]
        columns = [
            field(ca.horzcat(*[each[:, j] for each in per]).T, none if j else t.place, none)
            for j in range(m.k)
        ]
        bias = field(m.bias, 2 * out * t.rate, out**2 / self.length * t.place)
        return MovingField(field(m.place, none, none), tuple(columns), bias)

    def displacement_functions(self, xi: Array) -> Functions:
        """Return the values at positions xi of the functions that `displacement` refers to."""
        return self.nodes.functions(xi)

    def displacement_basis(self) -> Basis:
        """Return the integrals over xi of the functions that `displacement` refers to."""
        return self.nodes.integrals()

    def terms(self, omega: Expr) -> Terms:
        """Compute the inertia terms of the exposed part, per unit mass.

        The momentum of material that passes the mouth of the hub is included.
        """
        t = self.tangents
        passing = Passing(self.nodes, self.length, self.out, t.place, t.rate, ca.skew(omega))
        return space_terms(self.nodes, 1.0, self.vectors, omega, passing)


@final
class ExactGrowing(Growing):
    """Sliding link: an exposed geometrically exact beam, and a straight part in its hub."""

    @property
    def nodes(self) -> GrowingNodes:
        """Collocation nodes at which the tangents are evaluated."""
        assert self.beam.nodes is not None
        return self.beam.nodes

    def motion(self, own: Expr, rates: Expr) -> ExactSlidingMotion:
        """Return the motion of the exposed part at own coordinates and rates, (k,)."""
        return ExactSlidingMotion(self.nodes, self.shapes, own, rates)

    def cayley_angles(self, q: Expr) -> Expr:
        """Return zeros (3,), because sections have no Cayley rotation."""
        return ca.SX(3, 1)

    def rotated(
        self, moved: tuple[Expr, Expr], angles: tuple[Expr, Expr, Expr], rate: Expr
    ) -> tuple[Local, Expr, Expr]:
        """Return a section rotated by the sums of the slope shapes; see `Growing.rotated`."""
        angle, by, gained = angles
        at, more = turned(_angles(angle), _angles(rate)), _angles(gained)
        axes = ca.horzcat(at.by_twist, -at.by_b, at.by_a)
        bias = at.bias + axes @ ca.vertcat(more.twist, -more.b, more.a)
        return Local(moved[0], at.rotation, moved[1], axes @ by), at.spin, bias

    def exposed_terms(self, own: Expr, rates: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of the exposed part, and the rotary inertia of all sections."""
        motion = self.motion(own, rates)
        total = scaled(motion.terms(omega), self.shapes.mass_per_length * own[0])
        return add(total, self.rotary_terms(motion, rates, omega))

    def rotary_terms(self, motion: SlidingMotion, rates: Expr, omega: Expr) -> Terms:
        """Compute the terms of the sections' rotary inertia about their own axes."""
        total = super().rotary_terms(motion, rates, omega)
        if not np.any(self.nodes.rotary):
            return total
        return add(total, grown_rotary_terms(self.nodes, motion, rates, omega))

    @property
    def points_per_element(self) -> int:
        """Number of Gauss points per element that integrate the element's inertia exactly.

        Integrated tangents have the degree of three slopes; terms of material that passes the hub
        are products of two.
        """
        return max(CUBIC, -(-self.nodes.count // (len(self.nodes.edges) - 1)) + 4)

    def strained(self, length: Expr, e: Expr) -> tuple[Expr, Expr]:
        """Return the elastic energy beyond linear theory, proportional to 1/l, and its gradient."""
        if not strains(self.nodes):
            return super().strained(length, e)
        return strain_energy(self.nodes, e) / length, strain_effort(self.nodes, e) / length


def _angles(angle: Expr) -> Angles:
    """Return the section angles along y, along z and in twist, from (twist, -z', y')."""
    angle = ca.sparsify(angle)
    return Angles(angle[2], -angle[1], angle[0], type(angle)(1, 1))
