"""Beam of constant length by linear theory, or by a series to second order in the amplitudes."""

from collections.abc import Iterator
from typing import final

import casadi as ca
import numpy as np

from flexarm.links.base import union
from flexarm.links.body_data import along_x
from flexarm.links.fields import Amounts, Field, MovingField
from flexarm.links.integrals import Pairs, section_tables
from flexarm.mechanics.bodies.beam import BeamBody
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.mechanics.sections import Local, SectionMotion, own_values, quadratic_section
from flexarm.model import Flexible
from flexarm.spatial import Array, Expr, constant


def quartic_energy(e: Flexible, d: Expr) -> Expr:
    """Compute the fourth-order bending energy [J], ``1/2 int [EIz v'' v' p + EIy w'' w' p]``.

    Here v and w are the deflections along y and z, and ``p = v' v'' + w' w''``.
    """
    p = e.points
    energy = type(d)(0)
    for g in range(len(p.x)):
        a, b = (
            (constant(p.slope[n, g][None, :]) @ d) * (constant(p.curvature[n, g][None, :]) @ d)
            for n in range(2)
        )
        ky, kz = p.bending[0, g], p.bending[1, g]
        energy += (ky * a * a + (ky + kz) * a * b + kz * b * b) / 2
    return energy


def quartic_gradient(e: Flexible, d: Expr) -> Expr:
    """Compute the gradient (k,) of `quartic_energy` in the amplitudes."""
    p, k = e.points, d.shape[0]
    form = np.einsum("ngi,ngj->ngij", p.slope, p.curvature)
    form = (form + form.transpose(0, 1, 3, 2)) / 2
    pairs = Pairs.of_form(np.any(form != 0, axis=(0, 1)))
    entries = pairs.of(form)
    ky, kz = p.bending
    stiffness = (
        np.einsum("g,gi,gj->ij", ky, entries[0], entries[0])
        + np.einsum("g,gi,gj->ij", kz, entries[1], entries[1])
        + np.einsum("g,gi,gj->ij", (ky + kz) / 2, entries[0], entries[1])
        + np.einsum("g,gi,gj->ij", (ky + kz) / 2, entries[1], entries[0])
    )
    effort = pairs.matrix(constant(_clean(stiffness)) @ pairs.products(d, d))
    return 2 * (effort @ d) if k else type(d)(0, 1)


def _clean(values: Array) -> Array:
    """Return the values with rounding errors replaced by 0."""
    size = np.abs(values).max(initial=0.0)
    return np.where(np.abs(values) <= 1e-15 * size, 0.0, values)


@final
class Modal(BeamBody):
    """Beam of constant length with displacements linear or quadratic in the amplitudes."""

    @property
    def span(self) -> Flexible:
        """Shapes, mass integrals and stiffness of the elastic part of the link."""
        return self.part.beam

    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Compute the pose, velocity and acceleration bias of the tip relative to the root."""
        e = self.span
        linear = e.tip_shape, e.tip_angle
        quadratic = e.tip_quadratic, e.tip_angle_quadratic
        own, rates = own_values(self.part, q), own_values(self.part, v)
        return self.tabled(own, rates, along_x(self.part.length), linear, quadratic)

    def stations(self, own: Expr, s: Array) -> Iterator[Local]:
        """Yield poses and Jacobians of the sections at distances s [m] from the root."""
        e, extra = self.span, self.part.link.quadratic_shapes
        edges, stiffening = union(e.span.edges, e.shapes.edges), self.model.stiffening
        tables = section_tables(e.shapes, s, edges, stiffening=stiffening, extra=extra)
        for x, *here in zip(s, *tables, strict=True):
            yield self.tabled(own, 0 * own, along_x(x), here[:2], here[2:]).local

    def cayley_angles(self, q: Expr) -> Expr:
        """Return the first-order angles of the tip, (3,), at coordinates q."""
        e = self.span
        return quadratic_section(self.amplitudes(q), e.tip_angle, e.tip_angle_quadratic)[0]

    def material(self, own: Expr, rates: Expr) -> list[MaterialPoints]:
        """Return the mass points of the span, at positions ``x e_x + Phi d + 1/2 d^T X d``.

        Phi (3, m) and X (3, m, m) are the linear and quadratic shapes at x, and d (m,) the
        amplitudes.
        """
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

    def strain_energy(self, e: Amounts) -> list[Expr]:
        """Compute the fourth-order bending energy [J], as a list with at most one entry."""
        return [quartic_energy(self.span, e.value)] if self.model.stiffening else []

    def strain_effort(self, e: Amounts) -> Expr:
        """Compute the gradient (m,) of `strain_energy` in the m amplitudes."""
        none = type(e.value)(*e.value.shape)
        return quartic_gradient(self.span, e.value) if self.model.stiffening else none
