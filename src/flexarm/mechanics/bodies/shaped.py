"""Base of bodies of constant length that deform by shape functions times amplitudes."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import casadi as ca
import numpy as np

from flexarm.arm import Arm
from flexarm.links.base import Array, Shapes
from flexarm.links.span import Span
from flexarm.mechanics.bodies.base import LinkBody, given_energy
from flexarm.mechanics.bodies.deformed import Deformed
from flexarm.mechanics.bodies.elements import ROD, ElementSection, element_points
from flexarm.mechanics.bodies.terms import SectionMotion, Terms, attach, turning_terms
from flexarm.mechanics.sections import Local, own_values
from flexarm.model import Flexible
from flexarm.model.elastic.damping import link_damping
from flexarm.spatial import Expr, constant


class Shaped(LinkBody):
    """Base of bodies with shape functions, for linear, series and exact beam theory."""

    @property
    def span(self) -> Flexible:
        """Elastic part of the link."""
        return self.part.beam

    def linear_tip(self) -> tuple[Array, Array] | None:
        """Return the tip's rotation and displacement per amplitude, (3, m) each, or None.

        None means that they are not linear in the amplitudes.
        """
        e = self.span
        bent = self.model.stiffening or np.any(e.tip_quadratic) or np.any(e.tip_angle_quadratic)
        return None if bent else (e.tip_angle, e.tip_shape)

    def straight_tip(self, q: Array) -> tuple[Array, Array]:
        """Return displacement and rotation of the undeformed tip per amplitude, (3, m) each."""
        return self.span.tip_shape, self.span.tip_angle

    def amplitudes(self, q: Expr) -> Expr:
        """Return the amplitudes from q, (m,)."""
        return q[self.part.modes.start : self.part.modes.stop]

    def turning(self, own: Expr, rates: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of the rotary inertia of the span's sections.

        The angular velocity of a section is ``omega + shape rates``.
        """
        rotary, new, k = self.span.rotary, type(rates), rates.shape[0]
        inertia, shape = constant(rotary.inertia), constant(rotary.shape)
        torque = ca.cross(omega, inertia @ omega + shape @ rates)
        modal, basis = constant(rotary.modal), self.basis
        if basis is not None:
            shape, modal = shape @ basis, ca.triu2symm(ca.triu(basis.T @ modal @ basis))
        return turning_terms(new(inertia), new(shape), new(modal), torque, new(k, 1))

    @abstractmethod
    def placed(self, x: Array, edges: Array, d: Expr) -> Iterator[tuple[Expr, Expr]]:
        """Yield position (3,) and Jacobian (3, m) of points at distances x [m] from the root.

        At ``edges`` [m] shape functions or section properties may jump.
        """

    def elements(self, own: Expr, count: int) -> list[ElementSection]:
        """Return the mass points in the elements of the span, ``count`` per element."""
        e = self.span
        edges = np.union1d(e.span.edges, e.shapes.edges)
        edges = edges[np.concatenate(([True], np.diff(edges) > 1e-9 * e.span.length))]
        x, weight = element_points(edges, count)
        mass = weight * e.span.at("mass_per_length", x)
        rotary = np.zeros((len(x), 3))
        if count == 1:
            rotary = np.stack([weight * e.span.at(name, x) for name in ("Jx", "Jy", "Jz")], axis=1)
            rotary += (mass * weight**2)[:, None] * ROD
        theta, sections = e.shapes.rotation(x), []
        for g, (place, columns) in enumerate(self.placed(x, edges, own)):
            angle, size = constant(theta[g]), (float(mass[g]), constant(rotary[g]))
            sections.append(ElementSection(*size, place, columns, angle @ own, angle))
        return sections

    def at_fraction(self, q: Expr, fraction: float) -> Local:
        """Compute the pose of the section at a fraction of the span; at 1 it is the tip."""
        if fraction >= 1:
            return self.tip(q)
        return self.section(q, fraction * self.part.length)

    def hub_motion(self, q: Expr, v: Expr) -> SectionMotion | None:
        """Return the motion of an outboard hub rotated by the root slopes of shapes, or None."""
        part = self.part
        if not np.any(self.span.root_angle):
            return None
        back = part.pose_JL.rotation.T
        axis = back @ np.array([0.0, 0.0, 1.0])
        row = constant((axis @ self.span.root_angle)[None, :])
        d, rates = self.amplitudes(q), own_values(part, v)
        turned = row @ d
        c, s = ca.cos(turned), ca.sin(turned)
        about_z = type(q).eye(3)
        about_z[0, 0], about_z[0, 1], about_z[1, 0], about_z[1, 1] = c, -s, s, c
        place = type(q)(constant(-back @ part.pose_JL.position))
        none = type(q).zeros(3, 1)
        local = Local(
            place, constant(back) @ about_z, type(q).zeros(3, rates.shape[0]), constant(axis) @ row
        )
        return SectionMotion(local, constant(axis) * (row @ rates), none, none, none)

    def with_hub(self, terms: Terms, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Return the terms with an outboard hub added, if it turns with the root."""
        hub, motion = self.part.hub_body, self.hub_motion(q, v)
        if motion is not None and hub.weighs:
            if self.basis is not None:
                local = replace(motion.local, angular=motion.local.angular @ self.basis)
                motion = replace(motion, local=local)
            return attach(terms, hub, motion, omega)
        return terms

    def linear_effort(self, q: Expr) -> Expr:
        """Compute the gradient (m,) of quadratic and user-given energy in the amplitudes."""
        d, link = self.amplitudes(q), self.part.link
        effort = constant(self.span.integrals.stiffness) @ d
        if link.elastic_energy or link.elastic_force:
            effort = effort + ca.gradient(given_energy(self.part, self.span.names, d), d)
        return effort

    def damping(self, q: Expr) -> Expr | None:
        """Return the damping matrix of the amplitudes, (m, m), or None."""
        return constant(self.span.damping) if np.any(self.span.damping) else None

    def deformed(self, q: Array) -> Deformed:
        """Return shape functions and amplitudes at coordinates q, (T, n)."""
        one, whole = np.ones(len(q)), np.full(len(q), self.part.length)
        e, d = self.span, q[:, self.part.modes]
        weights = e.points.mass / e.span.at("mass_per_length", e.points.x)
        return Deformed(
            e.shapes, d, one, whole, self.part.length, e.span, e.points.x, weights, nodes=e.nodes
        )

    def ratio_damping(self, q: Array, arm: Arm, index: int) -> Array:
        """Return the damping matrix, (m, m), for the damping data of another arm's link."""
        return link_damping(arm, index, self.span)

    def curvature(self, q: Expr, axis: Literal["y", "z"], fraction: float) -> Expr:
        """Return a section's curvature [1/m] per amplitude, (1, m)."""
        return constant(self.span.shapes.values(axis, np.array([fraction * self.part.length]), 2))

    def shapes_at(self, q: Array) -> Shapes:
        """Return the shape functions."""
        return self.span.shapes

    def span_at(self, q: Array) -> Span:
        """Return the flexible span."""
        return self.span.span
