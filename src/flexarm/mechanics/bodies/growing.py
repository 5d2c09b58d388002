"""Beam that slides out of its hub, by linear theory: exposed part and straight part in the hub.

Inertia forces are those of the material points (d'Alembert), so that the beam's axial momentum and
its inertia force along the deflected axis are included.  All integrals are constant matrices
between coefficients of `flexarm.links.growing.fields`.
"""

from dataclasses import replace
from typing import Literal

import casadi as ca
import numpy as np

from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.links.base import DIRECTIONS, Array, Direction, Shapes
from flexarm.links.fields import AXES, Basis, Field, MovingField, evaluate
from flexarm.links.growing.fields import (
    SlidingMotion,
    chebyshev_series,
    exposed_points,
    length_factor,
)
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.links.integrals import settled_pairs
from flexarm.links.span import Span
from flexarm.mechanics.bodies.base import LinkBody, given_energy, section_spin
from flexarm.mechanics.bodies.deformed import Deformed, parent_amplitudes
from flexarm.mechanics.bodies.elements import ROD, ElementSection, element_points
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.mechanics.bodies.terms import (
    SectionMotion,
    Terms,
    add,
    no_terms,
    rigid_terms,
    turning_terms,
)
from flexarm.mechanics.sections import Local, own_values, picked, turned_section
from flexarm.model import SlidingBeam
from flexarm.model.elastic.sliding import sliding_damping
from flexarm.spatial import Expr, constant

# By direction: stiffness, which derivative of its curves is strained, and the power of the length
# that its energy goes with: stretch is a slope, curvature and torsion are derivatives of one.
STIFFNESS: dict[Direction, tuple[str, int, float]] = {
    "y": ("EIz", 2, -1.0), "z": ("EIy", 2, -1.0), "twist": ("GJ", 1, -1.0), "x": ("EA", 1, 1.0)
}  # fmt: skip
FITTED = 100.0  # amplification of rounding errors in second derivatives of fitted curves


class Growing(LinkBody):
    """Sliding beam: an exposed part that bends by linear theory, and a straight part in its hub.

    `ExactGrowing` overrides the motion of points, the rotation of sections and the elastic energy.
    """

    @property
    def beam(self) -> SlidingBeam:
        """Elastic part of the sliding beam."""
        return self.part.sliding_beam

    @property
    def shapes(self) -> SlidingShapes:
        """Shape functions of position and exposed length."""
        return self.beam.shapes

    def motion(self, own: Expr, rates: Expr) -> SlidingMotion:
        """Return the motion of the exposed part at own coordinates and rates, (k,)."""
        return SlidingMotion(self.shapes, own, rates)

    def tip(self, q: Expr) -> Local:
        """Return the pose of the flexible tip relative to the mouth of the hub."""
        return self.at_fraction(q, 1.0)

    def cayley_angles(self, q: Expr) -> Expr:
        """Return the first-order angles of the tip, (3,)."""
        own = own_values(self.part, q)
        return ca.sparsify(self.motion(own, 0 * own).angles(1.0)[0])

    def section(self, q: Expr, x: float) -> Local:
        """Return the section at distance x [m] from the beam's inner end; q must be numeric."""
        if not isinstance(q, ca.DM):
            raise FlexarmError("a material section of a sliding link needs numbers, not symbols")
        exposed = float(q[self.part.exposed])
        beyond = x - (self.part.length - exposed)
        if beyond < 0:
            raise FlexarmError(
                f"{self.part.name}: the section at {x:g} m is inside the hub; "
                f"{exposed:g} m of {self.part.length:g} m are out"
            )
        return self.at_fraction(q, beyond / exposed)

    def at_fraction(self, q: Expr, fraction: float) -> Local:
        """Return the section at a fraction of the exposed length."""
        return self.section_motion(q, 0 * q, fraction).local

    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Compute pose, velocity and acceleration bias of the tip relative to the hub's mouth."""
        return self.section_motion(q, v, 1.0)

    def section_motion(self, q: Expr, v: Expr, xi: float) -> SectionMotion:
        """Return the motion of the material section currently at x = xi l from the hub's mouth."""
        own, rates = own_values(self.part, q), own_values(self.part, v)
        motion, at = self.motion(own, rates), np.array([xi])
        place, columns, bias = evaluate(motion.displacement(), motion.displacement_functions(at))
        angle, by, gained = motion.angles(xi)
        local, spin, spin_bias = self.rotated((place, columns), (angle, by, gained), by @ rates)
        return SectionMotion(local, spin, columns @ rates, spin_bias, bias)

    def rotated(
        self, moved: tuple[Expr, Expr], angles: tuple[Expr, Expr, Expr], rate: Expr
    ) -> tuple[Local, Expr, Expr]:
        """Return a section rotated by its first-order angles.

        Parameters
        ----------
        moved
            Position (3,) of the section, and its velocity per rate of own coordinate (3, k).
        angles
            The angles (3,), their Jacobian (3, k) and their second rate at zero accelerations (3,).
        rate
            Rate of the angles, (3,).

        Returns
        -------
        The section, its angular velocity and the velocity-dependent angular acceleration, (3,).
        """
        angle, by, gained = angles
        spin, bias = section_spin(self.model, angle, rate, gained)
        return turned_section(self.model, *moved, angle, by), spin, bias

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of the beam, both exposed and inside the hub."""
        own, rates = own_values(self.part, q), own_values(self.part, v)
        total = rigid_terms(self.part.root_body, omega, len(self.part.own))
        total = add(total, self._hidden(own).terms(rates, omega))
        return add(total, self.exposed_terms(own, rates, omega))

    def exposed_terms(self, own: Expr, rates: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of the exposed part, and the rotary inertia of all sections."""
        total = self._exposed(own, rates).terms(rates, omega)
        return add(total, self.turning(own, rates, omega))

    def points(self, own: Expr, rates: Expr) -> list[MaterialPoints]:
        """Return the mass points of the exposed part, and of the straight part in the hub."""
        return [self._exposed(own, rates), self._hidden(own)]

    def _exposed(self, own: Expr, rates: Expr) -> MaterialPoints:
        motion, mass = self.motion(own, rates), self.shapes.mass_per_length * own[0]
        return MaterialPoints(motion.displacement(), motion.displacement_basis(), mass)

    def _hidden(self, own: Expr) -> MaterialPoints:
        """Return the mass points of the straight part in the hub, which moves with the length."""
        new, k, hidden = type(own), own.shape[0], self.part.length - own[0]
        along = np.array([[1.0, 1 / 2], [1 / 2, 1 / 3]])  # of 1 and s = 0 to 1
        gram = {(a, b): along if a == b == "x" else np.zeros((2 * (a == "x"), 2 * (b == "x")))
                for a in AXES for b in AXES}  # fmt: skip
        mean = {a: along[0] if a == "x" else np.zeros(0) for a in AXES}
        none, still = new(0, 1), new(2, 1)
        out = Field(new(ca.DM([1, 0])), none, none)
        columns = (out, *[Field(still, none, none)] * (k - 1))
        place = Field(ca.vertcat(new(1, 1), -hidden), none, none)
        field = MovingField(place, columns, Field(still, none, none))
        return MaterialPoints(field, Basis(gram, mean, 1.0), self.shapes.mass_per_length * hidden)

    def turning(self, own: Expr, rates: Expr, omega: Expr) -> Terms:
        """Compute the rotary inertia of sections, and the momentum of material at the hub's mouth.

        Stretch begins at the mouth, so velocities jump there; with the momentum of the passing
        material, ``mu l'`` times the jump, Lagrange's equations of the changing domain and energy
        conservation are satisfied.
        """
        motion = self.motion(own, rates)
        at = motion.displacement_functions(np.zeros(1))
        speed = evaluate(motion.displacement(), at)[1][:, 0]
        none, push = no_terms(rates), self.shapes.mass_per_length * rates[0] ** 2
        effort = ca.SX(rates.shape[0], 1)
        effort[0] = push * (ca.sumsqr(speed) - 1) / 2
        jump = replace(none, force=push * (speed - ca.DM([1, 0, 0])), effort=effort)
        return add(jump, self.rotary_terms(motion, rates, omega))

    def rotary_terms(self, motion: SlidingMotion, rates: Expr, omega: Expr) -> Terms:
        """Compute the rotary inertia of the sections, exposed and in the hub, in link axes.

        Curvature begins at the mouth of the hub, where passing material starts to rotate.
        """
        none = no_terms(rates)
        if not np.any(self.shapes.rotary):
            return none
        inertia = constant(self.shapes.rotary)
        rotation, basis = motion.rotation(), motion.rotation_basis()
        total = _first_order_terms(rotation, basis, rates, omega, inertia * motion.length)
        angle, push = motion.angles(0.0)[1][:, 0], rates[0] ** 2
        effort = ca.SX(rates.shape[0], 1)
        effort[0] = push * ca.dot(angle, inertia * angle) / 2
        total = add(total, replace(none, torque=push * (inertia * angle), effort=effort))
        second = ca.diag(inertia) * (self.part.length - motion.length)
        inside = replace(none, second=second, torque=ca.cross(omega, second @ omega))
        return add(total, inside)

    def elements(self, own: Expr, count: int) -> list[ElementSection]:
        """Return the mass points in the elements of the exposed part, and the part in the hub."""
        mu, J = self.shapes.mass_per_length, self.shapes.rotary
        motion, new = self.motion(own, 0 * own), type(own)
        moved = motion.displacement()
        sections = []
        for xi, weight in zip(*element_points(self.shapes.edges, count), strict=True):
            at = np.array([xi])
            place, columns, _ = evaluate(moved, motion.displacement_functions(at))
            angle, by, _ = motion.angles(xi)
            length = own[0] * weight
            inertia = constant(J) * length + constant(ROD) * mu * length**3
            inertia = inertia if count == 1 else new(3, 1)
            sections.append(ElementSection(mu * length, inertia, place, columns, angle, by))
        hidden, none = self.part.length - own[0], new(3, own.shape[0])
        along = new(3, own.shape[0])
        along[0, 0] = 1.0
        centre = ca.vertcat(-hidden / 2, 0, 0)
        inertia = constant(J if count == 1 else 0 * J) * hidden + constant(ROD) * mu * hidden**3
        return [*sections, ElementSection(mu * hidden, inertia, centre, along, new(3, 1), none)]

    def energy(self, q: Expr) -> Expr:
        """Return the elastic energy [J]."""
        own = own_values(self.part, q)
        e = self.motion(own, 0 * own).slopes().value
        energy = ca.dot(e, self._stiffness(own[0]) @ e) / 2 + self.strained(own[0], e)[0]
        return energy + self._given(q)

    def effort(self, q: Expr) -> Expr:
        """Compute the gradient (k,) of the elastic energy in exposed length and amplitudes.

        Theodore & Ghosal 1995, eqs. 26-31, omit the force on the joint due to the change of
        stiffness with length (erratum).
        """
        own, link = own_values(self.part, q), self.part.link
        slopes, length = self.motion(own, 0 * own).slopes(), own[0]
        e, parents = slopes.value, self.shapes.parents
        effort = self._stiffness(length) @ e
        powers = np.concatenate([np.full(len(parents[d]), STIFFNESS[d][2]) for d in DIRECTIONS])
        energy, gradient = self.strained(length, e)
        grown = ca.dot(constant(powers) * e, effort) / (2 * length) - energy / length
        effort += gradient
        effort = ca.vertcat(grown + ca.dot(slopes.slope, effort), slopes.matrix.T @ effort)
        if link.elastic_energy or link.elastic_force:
            effort += picked(ca.gradient(self._given(q), q), self.part.own)
        return effort

    def strained(self, length: Expr, e: Expr) -> tuple[Expr, Expr]:
        """Return the elastic energy beyond linear theory, proportional to 1/l, and its gradient.

        Both are functions of the K amplitudes ``e`` of the parent curves in the section angles.
        """
        return type(e)(1, 1), 0 * e

    def _stiffness(self, length: Expr) -> Expr:
        """Return the stiffness matrix of slopes and twists, in blocks per direction."""
        shapes = self.shapes
        xi, weight = exposed_points(shapes)
        form, places = np.zeros((0, 0)), list[tuple[slice, float]]()
        for direction, (name, order, power) in STIFFNESS.items():
            rows, known = shapes.values(direction, xi, order), shapes.span.has(name)
            value, start = float(shapes.span.table[name][0]) if known else 0.0, len(form)
            form = np.pad(form, (0, len(rows)))
            form[start:, start:] = value * ((weight * rows) @ rows.T)
            places.append((slice(start, len(form)), power))
        form = settled_pairs(form, FITTED * form)
        blocks = [(constant(form[block, block]), power) for block, power in places]
        return ca.diagcat(*[k * length if power > 0 else k / length for k, power in blocks])

    def damping(self, q: Expr) -> Expr | None:
        """Return the damping matrix of the amplitudes at the exposed length, (m, m), or None."""
        series = self.beam.damping
        if series is None:
            return None
        return chebyshev_series(series, self.shapes.range, q[self.part.exposed])

    def deformed(self, q: Array) -> Deformed:
        """Return shape functions and amplitudes at coordinates q, (T, n)."""
        length = q[:, self.part.exposed]
        amplitudes = parent_amplitudes(self.shapes, length, q[:, self.part.modes])
        points, weights = exposed_points(self.shapes)
        return Deformed(
            self.shapes.parent_shapes(), amplitudes, length, length, 1.0, self.shapes.span, points,
            weights, grows=True, nodes=self.part.exact,
        )  # fmt: skip

    def traced_amplitudes(self, q: Expr) -> Expr:
        """Return the amplitudes of the K parent curves symbolically, (K,)."""
        d, length = q[self.part.modes], q[self.part.exposed]
        return ca.vertcat(*[length_factor(self.shapes, axis, length) @ d for axis in DIRECTIONS])

    def slope_amounts(self, q: Expr) -> tuple[Expr, str]:
        """Return the amplitudes (K,) of parent curves in section angles, and a unit of length."""
        own = own_values(self.part, q)
        return self.motion(own, 0 * own).slopes().value, "exposed lengths"

    def ratio_damping(self, q: Array, arm: Arm, index: int) -> Array:
        """Return the damping matrix at q, (m, m), for the damping data of another arm's link."""
        series = sliding_damping(arm, index, self.shapes)
        assert series is not None
        return np.array(chebyshev_series(series, self.shapes.range, ca.DM(q[self.part.exposed])))

    def curvature(self, q: Expr, axis: Literal["y", "z"], fraction: float) -> Expr:
        """Return a section's curvature [1/m] per amplitude, (1, m)."""
        length = q[self.part.exposed]
        parents = self.shapes.values(axis, np.array([fraction]), 2)[:, 0]
        return (constant(parents).T @ length_factor(self.shapes, axis, length)) / length**2

    def shapes_at(self, q: Array) -> Shapes:
        """Return the shape functions over the exposed length at q, (n,)."""
        return self.shapes.at(float(q[self.part.exposed]))

    def span_at(self, q: Array) -> Span:
        """Return the exposed span at q, (n,)."""
        section = self.part.link.section
        assert section is not None
        return Span.of(section, float(q[self.part.exposed]))

    def _given(self, q: Expr) -> Expr:
        """Return the nonlinear elastic energy of the model file [J]."""
        return given_energy(self.part, self.shapes.names, q[self.part.modes])


def _first_order_terms(
    moving: MovingField, basis: Basis, rates: Expr, omega: Expr, inertia: Expr
) -> Terms:
    """Return the inertia terms of sections with first-order angles and inertia in link axes."""
    k = len(moving.columns)
    means = ca.horzcat(*[inertia * basis.integral(c) for c in moving.columns])
    modal, effort = ca.SX(k, k), ca.SX(k, 1)
    for i, a in enumerate(moving.columns):
        effort[i] = _product(basis, inertia, a, moving.bias)
        for j, b in enumerate(moving.columns[: i + 1]):
            modal[i, j] = modal[j, i] = _product(basis, inertia, a, b)
    momentum = inertia * omega + means @ rates
    torque = ca.cross(omega, momentum) + inertia * basis.integral(moving.bias)
    return turning_terms(ca.diag(inertia), means, modal, torque, effort)


def _product(basis: Basis, inertia: Expr, a: Field, b: Field) -> Expr:
    """Return the integral of the product of two angle fields, weighted by inertia per axis."""
    parts = [
        inertia[n] * ca.dot(constant(basis.gram[axis, axis]) @ a.of(axis), b.of(axis))
        for n, axis in enumerate(AXES)
    ]
    return sum(parts[1:], parts[0])
