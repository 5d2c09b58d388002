"""A link of constant length whose span deforms by shape functions times amplitudes."""

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
from flexarm.mechanics.bodies.quadratic import quadratic_terms, quartic_energy, quartic_gradient
from flexarm.mechanics.bodies.shaped import Shaped
from flexarm.mechanics.bodies.terms import SectionMotion, Terms, add, axial, rigid_terms
from flexarm.mechanics.sections import (
    Local,
    own_values,
    quadratic_section,
    rigid_section,
    turned_section,
)
from flexarm.model import Flexible, LinkModel
from flexarm.spatial import Expr, constant


@final
class Modal(Shaped):
    """Amplitudes, their integrals, and displacements quadratic in them."""

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
        """Compute a section's pose in the root frame; below 0 it is on the rigid root piece."""
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
        """Compute the motion of the flexible tip."""
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
        """Compute the inertia of the span, the root's body and a hub that turns with the root."""
        part = self.part
        terms = rigid_terms(part.root_body, omega, part.modes.stop - part.modes.start)
        terms = add(terms, _elastic_terms(self.span, part, q, v, omega))
        return self.with_hub(terms, q, v, omega)

    def points(self, own: Expr, rates: Expr) -> list[MaterialPoints]:
        """Return the points ``x e_x + Phi d + 1/2 d^T X d``."""
        m, used, new = own.shape[0], self.span.points.used, type(own)
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
        """Place points at ``x e_x + Phi d + 1/2 d^T X d``, each with its columns (3, m)."""
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
        """Differentiate the elastic energy by the amplitudes, (m,)."""
        effort = self.linear_effort(q)
        if self.model.stiffening:
            effort = effort + quartic_gradient(self.span, self.amplitudes(q))
        return effort


def _elastic_terms(e: Flexible, part: LinkModel, q: Expr, v: Expr, omega: Expr) -> Terms:
    """Terms of the flexible span from the moments ``R_j = int mu r N_j^T`` of its points."""
    i = e.integrals
    d, rates = q[part.modes.start : part.modes.stop], own_values(part, v)
    k = d.shape[0]
    moments = [_moment(i.position_shape[j], i.shape_shape[:, j], d) for j in range(k)]
    flow = [_moment(np.zeros((3, 3)), i.shape_shape[:, j], rates) for j in range(k)]
    first = constant(i.first) + constant(i.shape) @ d
    linear = type(q)(constant(i.shape))
    modal = type(q)(constant(i.modal_mass))
    force = type(q).zeros(3, 1)
    torque, effort = type(q).zeros(3, 1), [type(q)(0)] * k
    second_moment = type(q)(constant(i.second))
    for j in range(k):
        second_moment += d[j] * (moments[j] + constant(i.position_shape[j].T))
    if e.draws:
        extra = quadratic_terms(e, d, rates)
        moments = [a + b for a, b in zip(moments, extra.moments, strict=True)]
        flow = [a + b for a, b in zip(flow, extra.flow, strict=True)]
        first, linear = first + extra.first, linear + extra.linear
        modal, second_moment = modal + extra.modal, second_moment + extra.second
        torque, force = torque + extra.torque, force + extra.force
        effort = [a + extra.effort[j] for j, a in enumerate(effort)]
    square = ca.skew(omega) @ ca.skew(omega)
    total = type(q).zeros(3, 3)
    for j in range(k):
        total += rates[j] * moments[j]
        effort[j] += ca.trace(square @ moments[j]) + 2 * ca.dot(omega, axial(flow[j]))
    inertia = ca.trace(second_moment) * type(q).eye(3) - second_moment + constant(i.rotary)
    inertia = ca.triu2symm(ca.triu(inertia))
    torque += ca.cross(omega, inertia @ omega + constant(i.rotary_shape) @ rates)
    torque += 2 * (ca.trace(total) * omega - total.T @ omega)
    force += square @ first + 2 * ca.cross(omega, linear @ rates)
    columns = ca.horzcat(*[axial(moment) for moment in moments]) if k else type(q).zeros(3, 0)
    angular = columns + constant(i.rotary_shape)
    efforts = ca.vertcat(*effort) if k else type(q).zeros(0, 1)
    return Terms(i.mass, first, inertia, angular, linear, modal, torque, force, efforts)


def _moment(constant_part: Array, slope: Array, d: Expr) -> Expr:
    """``constant + sum_k d_k slope[k]``, a (3, 3) moment linear in the amplitudes."""
    total = type(d)(constant(constant_part))
    for k in range(d.shape[0]):
        if np.any(slope[k]):
            total += d[k] * constant(slope[k])
    return total


def _second_rate(quadratic: Array, rates: Expr) -> Expr:
    rows = [
        ca.dot(rates, constant(quadratic[a]) @ rates) if np.any(quadratic[a]) else type(rates)(1, 1)
        for a in range(3)
    ]
    return ca.vertcat(*rows)
