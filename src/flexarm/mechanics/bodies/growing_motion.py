"""How the sections of a sliding link move: by linear theory, or as those of an exact beam."""

from dataclasses import dataclass
from typing import final

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.fields import Basis, Functions, MovingField, evaluate
from flexarm.links.growing.fields import SlidingMotion
from flexarm.links.growing.nodes import GrowingNodes
from flexarm.mechanics.bodies.base import section_spin
from flexarm.mechanics.bodies.exact.growing import grown_material
from flexarm.mechanics.bodies.exact.tangents import Angles, turned
from flexarm.mechanics.bodies.terms import SectionMotion
from flexarm.mechanics.sections import Local, turned_section
from flexarm.model import LinkModel, Model
from flexarm.spatial import Expr


@final
@dataclass(frozen=True)
class GrowingMotion:
    """The exposed part of a sliding link at given own coordinates and their rates."""

    # Its motion by linear theory, of which the first-order angles hold in any case.
    linear: SlidingMotion
    nodes: GrowingNodes | None  # where the tangents of an exact beam are taken, else None
    rates: Expr  # rates of exposed length and amplitudes, (k,)

    @classmethod
    def of(cls, part: LinkModel, own: Expr, rates: Expr) -> "GrowingMotion":
        """See a sliding link at its own coordinates, (k,), and their rates."""
        beam = part.sliding_beam
        return cls(SlidingMotion(beam.shapes, own, rates), beam.nodes, rates)

    def displacement(self) -> MovingField:
        """Give the places of the sections, from the hub's mouth."""
        if self.nodes is None:
            return self.linear.displacement()
        return grown_material(self.nodes, self.linear)

    def displacement_functions(self, xi: Array) -> Functions:
        """Evaluate the functions of `displacement` at places xi."""
        nodes = self.nodes
        return self.linear.displacement_functions(xi) if nodes is None else nodes.functions(xi)

    def displacement_basis(self) -> Basis:
        """Integrate the functions of `displacement` over xi."""
        return self.linear.displacement_basis() if self.nodes is None else self.nodes.basis()

    def section(self, model: Model, xi: float) -> SectionMotion:
        """Follow the material section that is now at x = xi l from the mouth."""
        at = np.array([xi])
        place, columns, bias = evaluate(self.displacement(), self.displacement_functions(at))
        angle, by, gained = self.angles(xi)
        speed, rate = columns @ self.rates, by @ self.rates
        if self.nodes is None:
            local = turned_section(model, place, columns, angle, by)
            spin, spin_bias = section_spin(model, angle, rate, gained)
            return SectionMotion(local, spin, speed, spin_bias, bias)
        at_angle, at_rate = _angles(angle), _angles(rate)
        found, more = turned(at_angle, at_rate), _angles(gained)
        axes = ca.horzcat(found.by_twist, -found.by_b, found.by_a)
        local = Local(place, found.rotation, columns, axes @ by)
        spin_bias = found.bias + axes @ ca.vertcat(more.twist, -more.b, more.a)
        return SectionMotion(local, found.spin, speed, spin_bias, bias)

    def angles(self, xi: float) -> tuple[Expr, Expr, Expr]:
        """Give a section's first-order angles (3,), their columns (3, k) and their bias (3,)."""
        functions = self.linear.rotation_functions(np.array([xi]))
        return evaluate(self.linear.rotation(), functions)


def _angles(angle: Expr) -> Angles:
    """Name the first-order angles twist, -z', y' of a section."""
    angle = ca.sparsify(angle)
    return Angles(angle[2], -angle[1], angle[0], type(angle)(1, 1))
