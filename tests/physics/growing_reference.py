"""Beams that slide out of their hubs, from the definitions: linear, or bent exactly."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from flexarm.links.base import DIRECTIONS, Direction
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.links.span import Span
from tests.physics.exact_reference import ExactBeam, Turned
from tests.physics.placement import Array, Expr, Pose, Sections, cayley, gauss


@dataclass(frozen=True, eq=False)
class Growing:
    """A sliding link at an exposed length: weights of its parent curves times d."""

    shapes: SlidingShapes
    length: Expr
    weights: dict[Direction, Expr]
    stiffening: bool

    @classmethod
    def of(cls, shapes: SlidingShapes, length: Expr, d: Expr, *, stiffening: bool) -> "Growing":
        low, high = shapes.range
        t = (2 * length - low - high) / (high - low)
        weights: dict[Direction, Expr] = {}
        for direction, series in shapes.factors.items():
            terms = [ca.SX(1), t]
            while len(terms) < len(series):
                terms.append(2 * t * terms[-1] - terms[-2])
            total = ca.SX(series.shape[1], 1)
            for term, matrix in zip(terms, series, strict=False):
                total += term * (ca.DM(matrix) @ d)
            weights[direction] = total
        return cls(shapes, length, weights, stiffening)

    @cached_property
    def beam(self) -> ExactBeam:
        """The beam over xi, as one of unit length with the slopes of the real one."""
        table = {name: values[:1].repeat(2) for name, values in self.shapes.span.table.items()}
        slopes = [self.weights[k] / (1 if k == "twist" else self.length) for k in DIRECTIONS]
        span = Span(1.0, np.array([0.0, 1.0]), table)
        return ExactBeam(span, self.shapes.parent_shapes(), ca.vertcat(*slopes))

    @property
    def rule(self) -> tuple[Array, Array]:
        """Places xi and weights along the exposed part."""
        return self.beam.rule if self.stiffening else gauss(self.shapes.edges)

    @property
    def tip(self) -> Pose:
        """Frame of the tip."""
        if self.stiffening:
            pose = self.beam.pose(1.0)
            return Pose(pose.rotation, pose.position * self.length)
        end = self.sections(np.ones(1), ca.SX(1, 1))
        return Pose(cayley(end.angle), end.centre)

    def values(self, direction: Any, xi: Array, nu: int, shift: Expr = 0.0) -> Expr:
        """nu-th derivative by x at xi + shift, the shift to first order, (len(xi), 1)."""
        here, next_ = (ca.DM(self.shapes.values(direction, xi, nu + k).T) for k in (0, 1))
        weights = self.weights[direction]
        return (here @ weights + shift * (next_ @ weights)) / self.length**nu

    def sections(self, xi: Array, shift: Expr) -> Sections:
        """Sections at x = (xi + shift) l; of an exact beam, xi are the places of the rule."""
        twist = self.values("twist", xi, 0, shift)
        slopes = [self.values(k, xi, 1, shift) for k in "yz"]
        angle = ca.horzcat(twist, -slopes[1], slopes[0]).T
        if not self.stiffening:
            moved = [self.values(k, xi, 0, shift) for k in "xyz"]
            x = (xi + shift) * self.length
            return Sections(ca.horzcat(x + moved[0], moved[1], moved[2]).T, angle, angle)
        here = Turned(*[self.values(k, xi, n) for k, n in (("y", 1), ("z", 1), ("twist", 0))])
        long = (1 + self.values("x", xi, 1)) * shift
        beam = self.beam
        place = beam.sections().centre + here.tangent * ca.repmat(long.T, 3, 1)
        return Sections(self.length * place, angle, angle)

    def energy(self) -> Expr:
        """Elastic energy of the exposed beam [J]."""
        xi, weight = gauss(self.shapes.edges)
        density = ca.SX(len(xi), 1)
        rows = (("EIz", "y", 2), ("EIy", "z", 2), ("GJ", "twist", 1), ("EA", "x", 1))
        for name, direction, nu in rows:
            if self.shapes.span.has(name):
                stiffness = float(self.shapes.span.table[name][0])
                density += stiffness * self.values(direction, xi, nu) ** 2
        energy = self.length * ca.dot(weight, density) / 2
        # slopes are right in the beam over xi, curvatures l times too large
        return energy + (self.beam.energy() / self.length if self.stiffening else 0)
