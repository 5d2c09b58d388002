"""Links of constant length whose span deforms by shape functions times amplitudes."""

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
    """Base of links with shape functions, whatever theory their points follow."""

    @property
    def span(self) -> Flexible:
        """The elastic part."""
        return self.part.beam

    def linear_tip(self) -> tuple[Array, Array] | None:
        """Return the tip's rotation and displacement per amplitude if they are linear, (3, m)."""
        e = self.span
        bent = self.model.stiffening or np.any(e.tip_quadratic) or np.any(e.tip_angle_quadratic)
        return None if bent else (e.tip_angle, e.tip_shape)

    def straight_tip(self, q: Array) -> tuple[Array, Array]:
        """Return displacement and rotation of the straight tip per amplitude, (3, m) each."""
        return self.span.tip_shape, self.span.tip_angle

    def amplitudes(self, q: Expr) -> Expr:
        """Pick the amplitudes out of q, (m,)."""
        return q[self.part.modes.start : self.part.modes.stop]

    def turning(self, own: Expr, rates: Expr, omega: Expr) -> Terms:
        """Compute the rotary inertia of sections that turn by ``omega + shape rates``."""
        rotary, new, k = self.span.rotary, type(rates), rates.shape[0]
        inertia, shape = constant(rotary.inertia), constant(rotary.shape)
        torque = ca.cross(omega, inertia @ omega + shape @ rates)
        modal, basis = constant(rotary.modal), self.basis
        if basis is not None:
            shape, modal = shape @ basis, ca.triu2symm(ca.triu(basis.T @ modal @ basis))
        return turning_terms(new(inertia), new(shape), new(modal), torque, new(k, 1))

    @abstractmethod
    def placed(self, x: Array, edges: Array, d: Expr) -> Iterator[tuple[Expr, Expr]]:
        """Place points at distances x [m] from the root, each with its columns (3, m).

        At ``edges`` [m] shapes or section may jump.
        """

    def elements(self, own: Expr, count: int) -> list[ElementSection]:
        """Return the points in the elements of the span."""
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
        """Compute a section's pose; the last one is the tip."""
        if fraction >= 1:
            return self.tip(q)
        return self.section(q, fraction * self.part.length)

    def hub_motion(self, q: Expr, v: Expr) -> SectionMotion | None:
        """Turn an outboard hub by the root slopes about the joint's axis, if there are any."""
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
        """Add an outboard hub that turns with the root."""
        hub, motion = self.part.hub_body, self.hub_motion(q, v)
        if motion is not None and hub.weighs:
            if self.basis is not None:
                local = replace(motion.local, angular=motion.local.angular @ self.basis)
                motion = replace(motion, local=local)
            return attach(terms, hub, motion, omega)
        return terms

    def linear_effort(self, q: Expr) -> Expr:
        """Differentiate the quadratic energy, and what the user gives, by the amplitudes, (m,)."""
        d, link = self.amplitudes(q), self.part.link
        effort = constant(self.span.integrals.stiffness) @ d
        if link.elastic_energy or link.elastic_force:
            effort = effort + ca.gradient(given_energy(self.part, self.span.names, d), d)
        return effort

    def damping(self, q: Expr) -> Expr | None:
        """Return the damping matrix of the amplitudes, (m, m), or None."""
        return constant(self.span.damping) if np.any(self.span.damping) else None

    def deformed(self, q: Array) -> Deformed:
        """Extract the deformation from coordinates q, (T, n)."""
        one, whole = np.ones(len(q)), np.full(len(q), self.part.length)
        e, d = self.span, q[:, self.part.modes]
        weights = e.points.mass / e.span.at("mass_per_length", e.points.x)
        return Deformed(
            e.shapes, d, one, whole, self.part.length, e.span, e.points.x, weights, nodes=e.nodes
        )

    def ratio_damping(self, q: Array, arm: Arm, index: int) -> Array:
        """Return the damping matrix at q that a link of another arm would have."""
        return link_damping(arm, index, self.span)

    def curvature(self, q: Expr, axis: Literal["y", "z"], fraction: float) -> Expr:
        """Return a section's curvature [1/m] per amplitude, (1, m)."""
        return constant(self.span.shapes.values(axis, np.array([fraction * self.part.length]), 2))

    def shapes_at(self, q: Array) -> Shapes:
        """Return the shapes."""
        return self.span.shapes

    def span_at(self, q: Array) -> Span:
        """Return the span."""
        return self.span.span
