"""Link of constant length by linear theory or the series: shape functions times amplitudes."""

from collections.abc import Iterator
from typing import final

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.fields import Field, MovingField
from flexarm.links.integrals import quadratic_displacement
from flexarm.links.span import union
from flexarm.mechanics.bodies.base import given_energy, section_spin
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.mechanics.bodies.quadratic import quartic_energy, quartic_gradient
from flexarm.mechanics.bodies.shaped import Shaped
from flexarm.mechanics.bodies.terms import SectionMotion, Terms, add, rigid_terms
from flexarm.mechanics.sections import (
    Local,
    own_values,
    quadratic_section,
    rigid_section,
    turned_section,
)
from flexarm.spatial import Expr, constant


@final
class Modal(Shaped):
    """Body with displacements linear or quadratic in the amplitudes."""

    def tip(self, q: Expr) -> Local:
        """Compute the flexible tip's pose in the root frame."""
        e, d = self.span, self.amplitudes(q)
        straight = np.array([self.part.length, 0.0, 0.0])
        position, linear = quadratic_section(d, e.tip_shape, e.tip_quadratic)
        angle, angle_columns = quadratic_section(d, e.tip_angle, e.tip_angle_quadratic)
        place = constant(straight) + position
        return turned_section(self.model, place, linear, angle, angle_columns)

    def cayley_angles(self, q: Expr) -> Expr:
        """Return the first-order angles of the tip, (3,)."""
        d, e = self.amplitudes(q), self.span
        angle = constant(e.tip_angle) @ d
        for a in range(3):
            if np.any(e.tip_angle_quadratic[a]):
                angle[a] += d.T @ constant(e.tip_angle_quadratic[a]) @ d / 2
        return angle

    def section(self, q: Expr, x: float) -> Local:
        """Compute a section's pose in the root frame; for x < 0 it is on the rigid root piece."""
        if x < 0:
            return rigid_section(q, x, len(self.part.own))
        e, d, where = self.span, self.amplitudes(q), np.array([x])
        edges, extra = union(e.span.edges, e.shapes.edges), self.part.link.quadratic_shapes
        quadratic = quadratic_displacement(
            e.shapes, where, edges, stiffening=self.model.stiffening, extra=extra
        )[0]
        slopes = quadratic_displacement(
            e.shapes, where, edges, stiffening=False, extra=extra, derivative=1
        )[0]
        position, linear = quadratic_section(d, e.shapes.displacement(where)[0], quadratic)
        turned = np.stack([0 * slopes[0], -slopes[2], slopes[1]])
        angle, angle_columns = quadratic_section(d, e.shapes.rotation(where)[0], turned)
        place = constant(np.array([x, 0.0, 0.0])) + position
        return turned_section(self.model, place, linear, angle, angle_columns)

    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Compute the pose, velocity and acceleration bias of the tip relative to the root."""
        local, e = self.tip(q), self.span
        d, rates = self.amplitudes(q), own_values(self.part, v)
        angle, angle_rate = constant(e.tip_angle) @ d, constant(e.tip_angle) @ rates
        for k in range(3):
            if np.any(e.tip_angle_quadratic[k]):
                bent = constant(e.tip_angle_quadratic[k]) @ d
                angle[k] += ca.dot(bent, d) / 2
                angle_rate[k] += ca.dot(bent, rates)
        angle_bias = _second_rate(e.tip_angle_quadratic, rates)
        spin, spin_bias = section_spin(self.model, angle, angle_rate, angle_bias)
        speed_bias = _second_rate(e.tip_quadratic, rates)
        return SectionMotion(local, spin, local.linear @ rates, spin_bias, speed_bias)

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of the span, the rigid bodies at the root and a turning hub."""
        own, rates = own_values(self.part, q), own_values(self.part, v)
        terms = rigid_terms(self.part.root_body, omega, len(self.part.own))
        for points in self.points(own, rates):
            terms = add(terms, points.terms(rates, omega))
        return self.with_hub(add(terms, self.turning(own, rates, omega)), q, v, omega)

    def points(self, own: Expr, rates: Expr) -> list[MaterialPoints]:
        """Return the mass points at ``x e_x + Phi d + 1/2 d^T X d``."""
        m, used, new = own.shape[0], self.span.displacements, type(own)
        assert used is not None
        value, bias, columns = [], [], [list[Expr]() for _ in range(m)]
        for n in range(3):
            moving, pairs = used.moving[n], used.pairs[n]
            start, still = ([new(1)], [new(1, 1)]) if n == 0 else ([], [])
            value.append(
                ca.vertcat(*start, *[own[k] for k in moving], pairs.products(own, own) / 2)
            )
            flat = new(len(moving), 1)
            bias.append(ca.vertcat(*still, flat, pairs.products(rates, rates)))
            for j, column in enumerate(columns):
                unit = new(m, 1)
                unit[j] = 1
                picked = [unit[k] for k in moving]
                column.append(ca.vertcat(*still, *picked, pairs.products(own, unit)))
        moved = tuple(Field(*c) for c in columns)
        field = MovingField(Field(*value), moved, Field(*bias))
        return [MaterialPoints(field, used.basis, 1.0)]

    def placed(self, x: Array, edges: Array, d: Expr) -> Iterator[tuple[Expr, Expr]]:
        """Yield position (3,) and Jacobian (3, m) of the points ``x e_x + Phi d + 1/2 d^T X d``."""
        shapes, extra = self.span.shapes, self.part.link.quadratic_shapes
        phi, stiffening = shapes.displacement(x), self.model.stiffening
        drawn = quadratic_displacement(shapes, x, edges, stiffening=stiffening, extra=extra)
        for g in range(len(x)):
            bent = ca.vertcat(*[(constant(drawn[g, a]) @ d).T for a in range(3)])
            straight = constant(np.array([x[g], 0.0, 0.0]))
            yield straight + constant(phi[g]) @ d + bent @ d / 2, constant(phi[g]) + bent

    def energy(self, q: Expr) -> Expr:
        """Compute the elastic energy [J]."""
        d = self.amplitudes(q)
        energy = ca.dot(d, constant(self.span.integrals.stiffness) @ d) / 2
        if self.model.stiffening:
            energy = energy + quartic_energy(self.span, d)
        return energy + given_energy(self.part, self.span.names, d)

    def effort(self, q: Expr) -> Expr:
        """Compute the gradient (m,) of the elastic energy in the amplitudes."""
        effort = self.linear_effort(q)
        if self.model.stiffening:
            effort = effort + quartic_gradient(self.span, self.amplitudes(q))
        return effort


def _second_rate(quadratic: Array, rates: Expr) -> Expr:
    rows = [
        ca.dot(rates, constant(quadratic[a]) @ rates) if np.any(quadratic[a]) else type(rates)(1, 1)
        for a in range(3)
    ]
    return ca.vertcat(*rows)
