"""A beam that slides out of its hub."""

from typing import Literal, final

import casadi as ca
import numpy as np

from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.links.base import DIRECTIONS, Array, Shapes
from flexarm.links.fields import evaluate
from flexarm.links.growing.fields import (
    SlidingMotion,
    chebyshev_series,
    exposed_points,
    length_factor,
)
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.links.span import Span
from flexarm.mechanics.bodies.base import LinkBody, given_energy
from flexarm.mechanics.bodies.deformed import Deformed, parent_amplitudes
from flexarm.mechanics.bodies.elements import CUBIC, ROD, ElementSection, Spin, element_points
from flexarm.mechanics.bodies.growing_motion import GrowingMotion
from flexarm.mechanics.bodies.growing_terms import (
    hidden_points,
    sliding_effort,
    sliding_energy,
    sliding_terms,
    sliding_turning,
)
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.mechanics.bodies.terms import SectionMotion, Terms
from flexarm.mechanics.sections import Local, own_values, picked
from flexarm.model import SlidingBeam
from flexarm.model.elastic.sliding import sliding_damping
from flexarm.spatial import Expr, constant


@final
class Growing(LinkBody):
    """The exposed part of a beam, and the straight part in its hub."""

    @property
    def beam(self) -> SlidingBeam:
        """Its numbers."""
        return self.part.sliding_beam

    @property
    def shapes(self) -> SlidingShapes:
        """Shape functions of place and exposed length."""
        return self.beam.shapes

    def tip(self, q: Expr) -> Local:
        """See the flexible tip from the mouth of the hub."""
        return self.at_fraction(q, 1.0)

    def cayley_angles(self, q: Expr) -> Expr:
        """Return the first-order angles of the tip of a linear beam, (3,)."""
        if self.part.exact is not None:
            return ca.SX(3, 1)
        own = own_values(self.part, q)
        return ca.sparsify(GrowingMotion.of(self.part, own, 0 * own).angles(1.0)[0])

    def section(self, q: Expr, x: float) -> Local:
        """See the section at material distance x from the inner end; numbers only."""
        if not isinstance(q, ca.DM):
            raise FlexarmError("a material section of a sliding link needs numbers, not symbols")
        exposed = float(q[self.part.exposed])
        beyond = x - (self.part.length - exposed)
        if beyond < 0:
            raise FlexarmError(
                f"{self.part.name}: the section at {x:g} m is inside the hub, "
                f"which has let out {exposed:g} m of {self.part.length:g} m"
            )
        return self.at_fraction(q, beyond / exposed)

    def at_fraction(self, q: Expr, fraction: float) -> Local:
        """See a section at a fraction of the exposed length."""
        own = own_values(self.part, q)
        return GrowingMotion.of(self.part, own, 0 * own).section(self.model, fraction).local

    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Follow the flexible tip."""
        own, rates = own_values(self.part, q), own_values(self.part, v)
        return GrowingMotion.of(self.part, own, rates).section(self.model, 1.0)

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Weigh the beam, exposed and inside."""
        return sliding_terms(self.part, q, v, omega)

    def points(self, own: Expr, rates: Expr) -> list[MaterialPoints]:
        """Return the points of the exposed part, and those of the straight part in the hub."""
        mu, motion = self.shapes.mass_per_length, GrowingMotion.of(self.part, own, rates)
        moved = MaterialPoints(motion.displacement(), motion.displacement_basis(), mu * own[0])
        return [moved, hidden_points(self.part.length - own[0], mu, own.shape[0])]

    def turning(self, own: Expr, rates: Expr, omega: Expr) -> Terms:
        """Compute the rotary inertia of the sections, and what material takes up at the mouth."""
        return sliding_turning(self.part, own, rates, omega)

    @property
    def points_per_element(self) -> int:
        """Gauss points in each element that integrate its inertia exactly.

        Tangents reach as three slopes do, and what passes the hub is a product of two.
        """
        nodes = self.part.exact
        if nodes is None:
            return super().points_per_element
        return max(CUBIC, -(-nodes.count // (len(nodes.edges) - 1)) + 4)

    def elements(self, own: Expr, count: int) -> list[ElementSection]:
        """Return the points in the elements of the exposed part, and the straight rest."""
        mu, J = self.shapes.mass_per_length, self.shapes.rotary
        motion, new = GrowingMotion.of(self.part, own, 0 * own), type(own)
        moved = motion.displacement()
        sections = []
        for xi, weight in zip(*element_points(self.shapes.edges, count), strict=True):
            at = np.array([xi])
            place, columns, _ = evaluate(moved, motion.displacement_functions(at))
            angle, by, _ = motion.angles(xi)
            length = own[0] * weight
            inertia = constant(J) * length
            if count == 1:
                inertia = inertia + constant(ROD) * mu * length**3
            sections.append(ElementSection(mu * length, inertia, place, columns, angle, by))
        hidden, none = self.part.length - own[0], new(3, own.shape[0])
        along = new(3, own.shape[0])
        along[0, 0] = 1.0
        centre = ca.vertcat(-hidden / 2, 0, 0)
        inertia = constant(J) * hidden + constant(ROD) * mu * hidden**3
        return [*sections, ElementSection(mu * hidden, inertia, centre, along, new(3, 1), none)]

    def spins(self, own: Expr) -> list[Spin]:
        """Return what turns sections' inertia about the link's x into one about their own axes."""
        nodes, found = self.beam.nodes, list[Spin]()
        if nodes is None or nodes.polar is None:
            return found
        motion = GrowingMotion.of(self.part, own, 0 * own)
        along = type(own)(constant(np.array([[1.0, 0.0, 0.0]])))
        for J, left in zip(nodes.polar.inertia.tolist(), nodes.polar.left.tolist(), strict=True):
            at, straight = motion.section(self.model, 1 - left).local, motion.angles(1 - left)[1]
            axis = at.rotation[:, 0].T
            found.append(Spin(J * own[0], axis, axis @ at.angular))
            found.append(Spin(-J * own[0], along, straight[0, :]))
        return found

    def energy(self, q: Expr) -> Expr:
        """Give the elastic energy [J]."""
        return sliding_energy(self.part, q) + self._given(q)

    def effort(self, q: Expr) -> Expr:
        """Differentiate the elastic energy by exposed length and amplitudes, (k,)."""
        effort, link = sliding_effort(self.part, q), self.part.link
        if link.elastic_energy or link.elastic_force:
            effort += picked(ca.gradient(self._given(q), q), self.part.own)
        return effort

    def damping(self, q: Expr) -> Expr | None:
        """Give the damping matrix of the amplitudes at the exposed length, (m, m), or None."""
        series = self.beam.damping
        if series is None:
            return None
        return chebyshev_series(series, self.shapes.range, q[self.part.exposed])

    def deformed(self, q: Array) -> Deformed:
        """Take the deformation out of coordinates q, (T, n)."""
        length = q[:, self.part.exposed]
        amplitudes = parent_amplitudes(self.shapes, length, q[:, self.part.modes])
        points, weights = exposed_points(self.shapes)
        return Deformed(
            self.shapes.parent_shapes(), amplitudes, length, length, 1.0, self.shapes.span, points,
            weights, grows=True, nodes=self.part.exact,
        )  # fmt: skip

    def traced_amplitudes(self, q: Expr) -> Expr:
        """Trace the amplitudes of the parent curves, (K,)."""
        d, length = q[self.part.modes], q[self.part.exposed]
        return ca.vertcat(*[length_factor(self.shapes, axis, length) @ d for axis in DIRECTIONS])

    def slope_amounts(self, q: Expr) -> tuple[Expr, str]:
        """Return the parent curves' amounts in the angles, (K,), and the unit of their places."""
        own = own_values(self.part, q)
        return SlidingMotion(self.shapes, own, 0 * own).slopes().value, "exposed lengths"

    def ratio_damping(self, q: Array, arm: Arm, index: int) -> Array:
        """Return the damping matrix at q that a link of another arm would have."""
        series = sliding_damping(arm, index, self.shapes)
        assert series is not None
        return np.array(chebyshev_series(series, self.shapes.range, ca.DM(q[self.part.exposed])))

    def curvature(self, q: Expr, axis: Literal["y", "z"], fraction: float) -> Expr:
        """Return a section's curvature [1/m] per amplitude, (1, m)."""
        length = q[self.part.exposed]
        parents = self.shapes.values(axis, np.array([fraction]), 2)[:, 0]
        return (constant(parents).T @ length_factor(self.shapes, axis, length)) / length**2

    def shapes_at(self, q: Array) -> Shapes:
        """Give the shapes over the exposed length."""
        return self.shapes.at(float(q[self.part.exposed]))

    def span_at(self, q: Array) -> Span:
        """Give what is exposed."""
        section = self.part.link.section
        assert section is not None
        return Span.of(section, float(q[self.part.exposed]))

    def _given(self, q: Expr) -> Expr:
        """Give the nonlinear elastic energy of the model file [J]."""
        d = q[self.part.modes.start : self.part.modes.stop]
        return given_energy(self.part, self.shapes.names, d)
