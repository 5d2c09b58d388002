"""Base class of beams, whose deflection is shapes times amplitudes; beams may slide from a hub.

The position s along a beam of constant length is the distance from the root [m]. The position s
along a sliding beam is this distance divided by the exposed length.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from typing import Literal

import casadi as ca
import numpy as np

from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.links.base import DIRECTIONS, Shapes, Span, panel_points
from flexarm.links.fields import AXES, Basis, Field, MovingField
from flexarm.links.growing.fields import SlidingMotion, length_factor
from flexarm.mechanics.bodies.base import LinkBody
from flexarm.mechanics.bodies.deformed import Deformed
from flexarm.mechanics.bodies.material import ROD, ElementSection, MaterialPoints
from flexarm.mechanics.sections import (
    Local,
    SectionMotion,
    Terms,
    add,
    attach,
    no_terms,
    own_values,
    rigid_section,
    rigid_terms,
    turning_terms,
)
from flexarm.model import BeamData, LinkModel
from flexarm.model.elastic import link_damping
from flexarm.spatial import Array, Expr, Scalar, constant


class BeamBody(LinkBody):
    """Base class of linear, second-order and exact beams of constant or variable length."""

    @property
    def beam(self) -> BeamData:
        """Shapes, mass integrals and collocation nodes of the elastic part of the link."""
        assert isinstance(self.part.body, BeamData)
        return self.part.body

    @property
    def slides(self) -> bool:
        """Whether the beam slides out of a hub."""
        return self.part.body.range is not None

    @abstractmethod
    def stations(self, own: Expr, s: Array) -> Iterator[Local]:
        """Yield poses and Jacobians of the sections at positions s, in the root frame.

        For a sliding link, the root frame is at the mouth of the hub, and each Jacobian is that of
        the material section that is currently at s.
        """

    @abstractmethod
    def material(self, own: Expr, rates: Expr) -> list[MaterialPoints]:
        """Return the mass points of the (exposed) span at link coordinates and rates, (k,) each.

        All entries of the list move alike; their mass distributions add up to the mass of the span.
        """

    def at_fraction(self, q: Expr, fraction: float) -> Local:
        """Compute pose and Jacobian of the section at a fraction of the span; 1 is the tip."""
        return self.tip(q) if fraction >= 1 else self._station(q, fraction * self.beam.span.length)

    def _station(self, q: Expr, s: float) -> Local:
        return next(self.stations(own_values(self.part, q), np.array([s])))

    def section(self, q: Expr, x: float) -> Local:
        """Compute pose and Jacobian of the section at x [m] from the root.

        Sections at x < 0 are on the rigid piece before the span. For a sliding link, x is the
        distance from the inner end of the beam, and q must be numeric.
        """
        part = self.part
        if not self.slides:
            return rigid_section(q, x, len(part.own)) if x < 0 else self._station(q, x)
        if not isinstance(q, ca.DM):
            raise FlexarmError("a material section of a sliding link needs numbers, not symbols")
        exposed = float(q[part.exposed])
        beyond = x - (part.length - exposed)
        if beyond < 0:
            raise FlexarmError(
                f"{part.name}: the section at {x:g} m is inside the hub; "
                f"{exposed:g} m of {part.length:g} m are out"
            )
        return self._station(q, beyond / exposed)

    def points(self, own: Expr, rates: Expr) -> list[MaterialPoints]:
        """Return the mass points of the (exposed) span, and of the beam's part inside the hub."""
        return [*self.material(own, rates), *self.hidden(own)]

    def hidden(self, own: Expr) -> list[MaterialPoints]:
        """Return the mass points of the beam's part inside the hub; an empty list without a hub."""
        return hidden_points(self.part, own) if self.slides else []

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of beam, rigid bodies at its root and rotating hub."""
        own, rates = own_values(self.part, q), own_values(self.part, v)
        terms = rigid_terms(self.part.root_body, omega, len(self.part.own))
        for points in self.hidden(own):
            terms = add(terms, points.terms(rates, omega))
        return self.with_hub(add(terms, self.span_terms(own, rates, omega)), q, v, omega)

    def span_terms(self, own: Expr, rates: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of the span, with the rotary inertia of its sections."""
        first, *further = (points.terms(rates, omega) for points in self.material(own, rates))
        return reduce(add, further, add(first, self.turning(own, rates, omega)))

    def turning(self, own: Expr, rates: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of rotating sections and of material passing a hub's mouth."""
        terms = self.rotary(own, rates, omega)
        if not self.slides:
            return terms
        speed = next(self.stations(own, np.zeros(1))).linear[:, 0]
        mass, *_ = self.part.sliding_beam.shapes.inside("mass_per_length", own[0])
        return add(mouth_terms(speed, rates, mass), terms)

    def rotary(self, own: Expr, rates: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of sections that rotate by first-order angles, in link axes.

        For a beam of constant length, the inertia matrices are those of the undeformed beam.
        """
        if self.slides:
            return sliding_rotary(self.part, own, rates, omega)
        rotary, new, k = self.part.beam.rotary, type(rates), rates.shape[0]
        inertia, shape = constant(rotary.inertia), constant(rotary.shape)
        torque = ca.cross(omega, inertia @ omega + shape @ rates)
        modal, basis = constant(rotary.modal), self.basis
        if basis is not None:
            shape, modal = shape @ basis, ca.triu2symm(ca.triu(basis.T @ modal @ basis))
        return turning_terms(new(inertia), new(shape), new(modal), torque, new(k, 1))

    def elements(self, own: Expr, count: int) -> list[ElementSection]:
        """Return the mass points of the beam's finite elements, ``count`` points per element."""
        beam, length, sections = self.beam, self.beam.amounts(own, 0 * own).length, []
        s, weight = (values.ravel() for values in panel_points(beam.edges, count))
        names = ("mass_per_length", "Jx", "Jy", "Jz")
        table = np.stack([[each.at(name, s) for name in names] for each in beam.tapers], axis=2)
        powers = ca.vertcat(*[length**k for k in range(table.shape[2])])
        for g, at in enumerate(self.stations(own, s)):
            size, here = weight[g] * length, constant(table[:, g]) @ powers
            inertia = here[1:] * size + constant(ROD) * here[0] * size**3
            inertia = inertia if count == 1 else type(own)(3, 1)
            moved = at.position, at.linear, *beam.angles(own, s[g])
            sections.append(ElementSection(here[0] * size, inertia, *moved))
        return [*sections, *([hidden_element(self.part, own, count)] if self.slides else [])]

    def hub_motion(self, q: Expr, v: Expr) -> SectionMotion | None:
        """Return the motion of a hub that root slopes rotate; None without such a hub."""
        part = self.part
        if not np.any(part.body.root_turn):
            return None
        back = part.pose_JL.rotation.T
        axis = back @ np.array([0.0, 0.0, 1.0])
        row = constant((axis @ part.body.root_turn)[None, :])
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
        """Return a link's inertia terms plus those of a hub that rotates with the root slope."""
        hub, motion = self.part.hub_body, self.hub_motion(q, v)
        if motion is not None and hub.weighs:
            if self.basis is not None:
                local = replace(motion.local, angular=motion.local.angular @ self.basis)
                motion = replace(motion, local=local)
            return attach(terms, hub, motion, omega)
        return terms

    def deformed(self, q: Array) -> Deformed:
        """Return the beam's shape functions, and its amplitudes at T states q, (T, n)."""
        return Deformed(self.beam, *self.beam.sampled(q[:, list(self.part.own)]))

    def ratio_damping(self, q: Array, arm: Arm, index: int) -> Array:
        """Return the damping matrix at q, (m, m), by the damping of link ``index`` of ``arm``."""
        return link_damping(arm, index, self.beam.at_length(self.part.span_length(q)))

    def curvature(self, q: Expr, axis: Literal["y", "z"], fraction: float) -> Expr:
        """Return the curvature [1/m] of a section per amplitude, (1, m).

        The section is at a fraction of the (exposed) span; the deflection is along ``axis``.
        """
        e, at = self.amounts(q, 0 * q), np.array([fraction * self.beam.span.length])
        bent = constant(self.beam.parents.values(axis, at, 2)) / e.length
        return bent if e.columns is None else bent @ e.columns[:, 1:]

    def traced_amplitudes(self, q: Expr) -> Expr:
        """Return the amplitudes of the shapes; of a sliding link, of its curves over xi, (K,)."""
        d = self.amplitudes(q)
        if not self.slides:
            return d
        shapes, length = self.part.sliding_beam.shapes, q[self.part.exposed]
        return ca.vertcat(*[length_factor(shapes, axis, length) @ d for axis in DIRECTIONS])

    def shapes_at(self, q: Array) -> Shapes:
        """Return the shape functions over the (exposed) span at q, (n,)."""
        return self.beam.at_length(self.part.span_length(q)).shapes

    def span_at(self, q: Array) -> Span:
        """Return the span of the beam at q, (n,); for a sliding beam, the exposed span."""
        return self.beam.at_length(self.part.span_length(q)).span


def hidden_points(part: LinkModel, own: Expr) -> list[MaterialPoints]:
    """Return the mass points of the beam's straight part inside its hub."""
    new, k, hidden = type(own), own.shape[0], part.length - own[0]
    none, still = new(0, 1), new(2, 1)
    out = Field(new(ca.DM([1, 0])), none, none)
    columns = (out, *[Field(still, none, none)] * (k - 1))
    place = Field(ca.vertcat(new(1, 1), -hidden), none, none)
    field, found = MovingField(place, columns, Field(still, none, none)), list[MaterialPoints]()
    for n, mass in enumerate(part.sliding_beam.shapes.inside("mass_per_length", own[0])):
        # Integrals of z^n times products of 1 and z over z = 0 to 1.
        along = 1 / (1 + n + np.add.outer(range(2), range(2)))
        gram = {(a, b): along if a == b == "x" else np.zeros((2 * (a == "x"), 2 * (b == "x")))
                for a in AXES for b in AXES}  # fmt: skip
        mean = {a: along[0] if a == "x" else np.zeros(0) for a in AXES}
        found.append(MaterialPoints(field, Basis(gram, mean, along[0, 0]), mass * hidden))
    return found


def hidden_element(part: LinkModel, own: Expr, count: int) -> ElementSection:
    """Return the beam's part inside its hub as one element with ``count`` mass points."""
    shapes, hidden, new = part.sliding_beam.shapes, part.length - own[0], type(own)
    none, along = new(3, own.shape[0]), new(3, own.shape[0])
    along[0, 0] = 1.0
    mass, first, second = (shapes.hidden("mass_per_length", own[0], order) for order in range(3))
    centre = ca.vertcat(-hidden * (first / mass), 0, 0)
    rotary = [shapes.hidden(name, own[0]) if count == 1 else 0 for name in ("Jx", "Jy", "Jz")]
    about = (second - first * first / mass) * hidden**3
    inertia = ca.vertcat(*rotary) * hidden + ca.vertcat(0, about, about)
    return ElementSection(mass * hidden, inertia, centre, along, new(3, 1), none)


def mouth_terms(speed: Expr, rates: Expr, mass: Scalar) -> Terms:
    """Compute force and generalised force of material that passes the mouth of a hub.

    A beam stretches only outside the mouth, so that the velocity of its material jumps there. The
    mass flow ``mu l'`` times this jump makes Lagrange's equations valid for the changing domain,
    and conserves energy. ``speed`` is the velocity at the mouth per rate of the length, (3,), and
    ``mass`` the mass per length mu there [kg/m].
    """
    push = mass * rates[0] ** 2
    effort = ca.SX(rates.shape[0], 1)
    effort[0] = push * (ca.sumsqr(speed) - 1) / 2
    return replace(no_terms(rates), force=push * (speed - ca.DM([1, 0, 0])), effort=effort)


def sliding_rotary(part: LinkModel, own: Expr, rates: Expr, omega: Expr) -> Terms:
    """Compute the inertia terms of a sliding link's rotating sections, exposed and inside the hub.

    All components are in link axes. Material starts to rotate at the mouth of the hub, where the
    curvature begins.
    """
    total, shapes = no_terms(rates), part.sliding_beam.shapes
    names = ("Jx", "Jy", "Jz")
    if not any(any(shapes.per_length(name)) for name in names):
        return total
    motion, effort = SlidingMotion(shapes, own, rates), ca.SX(rates.shape[0], 1)
    rotation = motion.rotation()
    for k, taper in enumerate(shapes.span.tapers):
        inertia = constant(np.array([taper.table[name][0] for name in names]))
        scaled, basis = inertia * motion.length ** (k + 1), motion.rotation_basis(k)
        total = add(total, _first_order_terms(rotation, basis, rates, omega, scaled, 1 / (k + 1)))
    inertia = ca.vertcat(*[shapes.inside(name, own[0])[0] for name in names])
    angle, push = motion.angles(0.0)[1][:, 0], rates[0] ** 2
    effort[0] = push * ca.dot(angle, inertia * angle) / 2
    total = add(total, replace(no_terms(rates), torque=push * (inertia * angle), effort=effort))
    hidden = ca.vertcat(*[shapes.hidden(name, own[0]) for name in names])
    second = ca.diag(hidden) * (part.length - motion.length)
    inside = replace(no_terms(rates), second=second, torque=ca.cross(omega, second @ omega))
    return add(total, inside)


def _first_order_terms(
    moving: MovingField, basis: Basis, rates: Expr, omega: Expr, inertia: Expr, whole: float
) -> Terms:
    """Return the inertia terms of sections with first-order angles and inertia in link axes.

    ``inertia`` is a constant (3,) per axis [kg m], ``whole`` the integral of its weight function
    along the span.
    """
    k = len(moving.columns)
    means = ca.horzcat(*[inertia * basis.integral(c) for c in moving.columns])
    modal, effort = ca.SX(k, k), ca.SX(k, 1)
    for i, a in enumerate(moving.columns):
        effort[i] = _product(basis, inertia, a, moving.bias)
        for j, b in enumerate(moving.columns[: i + 1]):
            modal[i, j] = modal[j, i] = _product(basis, inertia, a, b)
    momentum = whole * inertia * omega + means @ rates
    torque = ca.cross(omega, momentum) + inertia * basis.integral(moving.bias)
    return turning_terms(ca.diag(whole * inertia), means, modal, torque, effort)


def _product(basis: Basis, inertia: Expr, a: Field, b: Field) -> Expr:
    """Return the integral over the span of two angle fields' scalar product, weighted by inertia.

    ``inertia`` is the rotary inertia per length about each of the three axes, (3,).
    """
    parts = [
        inertia[n] * ca.dot(constant(basis.gram[axis, axis]) @ a.of(axis), b.of(axis))
        for n, axis in enumerate(AXES)
    ]
    return sum(parts[1:], parts[0])
