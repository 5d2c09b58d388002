"""A link of any shape that deforms by shapes of its nodes times amplitudes.

Displacements of second order stiffen it under loads, where they are known and stiffening is on.
"""

from typing import final

import casadi as ca
import numpy as np

from flexarm.arm import Arm
from flexarm.links.base import Array
from flexarm.links.imported.body import ReducedBody
from flexarm.links.imported.file import inspect_body
from flexarm.links.imported.second_order import SecondOrder
from flexarm.mechanics.bodies.base import LinkBody, cayley_spin, given_energy
from flexarm.mechanics.bodies.deformed import Along
from flexarm.mechanics.bodies.reduced.moments import reduced_terms, second_rates
from flexarm.mechanics.bodies.terms import SectionMotion, Terms, add, rigid_terms
from flexarm.mechanics.sections import Local, own_values, quadratic_section
from flexarm.model.elastic.part import reduced_part
from flexarm.spatial import Expr, cayley, constant


@final
class Reduced(LinkBody):
    """A body whose root is its hub and whose tip carries the next joint.

    L and T have the hub's axes; the turn of the tip frame is in what follows it.
    """

    @property
    def of(self) -> ReducedBody:
        """The body's moments, matrices and interfaces."""
        return self.part.imported

    @property
    def drawn_in(self) -> SecondOrder | None:
        """Displacements of second order that count, or None."""
        return self.of.second_order if self.model.stiffening else None

    def linear_tip(self) -> tuple[Array, Array] | None:
        """Return the tip's rotation and displacement per amplitude if they are linear, (3, m)."""
        return None if self.drawn_in is not None else (self.of.tip_angle, self.of.tip_shape)

    def turned(self, angle: Expr) -> tuple[Expr, Expr]:
        """Return an exact rotation by the tip's angles (3,), and its angular columns (3, 3)."""
        return cayley(angle)

    def amplitudes(self, q: Expr) -> Expr:
        """Pick the amplitudes out of q, (m,)."""
        return q[self.part.modes.start : self.part.modes.stop]

    def tip(self, q: Expr) -> Local:
        """Compute the tip frame, turned by an exact rotation of the tip's angles."""
        moved, linear, angle, turns = self._tip(q)
        rotation, rate = cayley(angle)
        return Local(constant(self.of.tip.position) + moved, rotation, linear, rate @ turns)

    def _tip(self, q: Expr) -> tuple[Expr, Expr, Expr, Expr]:
        """Return the tip's displacement and angles (3,), and their columns (3, m)."""
        d, of, x = self.amplitudes(q), self.of, self.drawn_in
        if x is None:
            shape, angle = constant(of.tip_shape), constant(of.tip_angle)
            return shape @ d, type(q)(shape), angle @ d, type(q)(angle)
        moved, turned = (
            quadratic_section(d, linear, quadratic)
            for linear, quadratic in ((of.tip_shape, x.tip), (of.tip_angle, x.tip_angle))
        )
        return *moved, *turned

    def section(self, q: Expr, x: float) -> Local:
        """Compute a point of the line from hub to tip, by its distance along their chord [m]."""
        return self.at_fraction(q, x / self.part.length)

    def at_fraction(self, q: Expr, fraction: float) -> Local:
        """Compute a point of the line that represents the body; the last one is the tip."""
        if fraction >= 1:
            return self.tip(q)
        (place,), (shape,) = self.of.drawn.line(np.array([fraction]))
        x, m = self.drawn_in, shape.shape[1]
        drawn = np.zeros((3, m, m)) if x is None else fraction * x.tip
        moved, columns = quadratic_section(self.amplitudes(q), shape, drawn)
        return Local(constant(place) + moved, type(q).eye(3), columns, type(q)(3, m))

    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Follow the tip."""
        local, rates, x = self.tip(q), own_values(self.part, v), self.drawn_in
        _, _, angle, turns = self._tip(q)
        moved = turned = type(q).zeros(3, 1)
        if x is not None:
            moved, turned = (second_rates(list(each), rates) for each in (x.tip, x.tip_angle))
        spin, spin_bias = cayley_spin(angle, turns @ rates, turned)
        return SectionMotion(local, spin, local.linear @ rates, spin_bias, moved)

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of the body and of rigid bodies at its root."""
        terms = rigid_terms(self.part.root_body, omega, len(self.part.own))
        d, rates = self.amplitudes(q), own_values(self.part, v)
        return add(terms, reduced_terms(self.of.integrals, self.drawn_in, d, rates, omega))

    def energy(self, q: Expr) -> Expr:
        """Compute the elastic energy [J]."""
        d = self.amplitudes(q)
        energy = ca.dot(d, constant(self.of.integrals.stiffness) @ d) / 2
        return energy + given_energy(self.part, self.of.names, d)

    def effort(self, q: Expr) -> Expr:
        """Differentiate the elastic energy by the amplitudes, (m,)."""
        d, link = self.amplitudes(q), self.part.link
        effort = constant(self.of.integrals.stiffness) @ d
        if link.elastic_energy or link.elastic_force:
            effort = effort + ca.gradient(given_energy(self.part, self.of.names, d), d)
        return effort

    def along(self, q: Array, stations: Array) -> Along:
        """Follow the line from hub to tip: it has no slope, and its tip alone twists."""
        d, drawn = q[:, self.part.modes], self.drawn_in
        moved = np.einsum("saj,tj->tsa", self.of.drawn.line(stations)[1], d, optimize=True)
        turned = d @ self.of.tip_angle[0]
        if drawn is not None:
            tip = np.einsum("aij,ti,tj->ta", drawn.tip, d, d, optimize=True) / 2
            moved = moved + stations[:, None] * tip[:, None]
            turned = turned + np.einsum("ij,ti,tj->t", drawn.tip_angle[0], d, d, optimize=True) / 2
        twist = np.where(stations >= 1, turned[:, None], np.nan)
        return Along(moved, np.full_like(moved, np.nan), twist)

    def tip_angles(self, q: Array) -> Array:
        """Return how far the tip turns at q, (T, n) [rad]: (T,)."""
        return np.asarray(np.linalg.norm(q[:, self.part.modes] @ self.of.tip_angle.T, axis=1))

    def largest_strain(self, q: Array) -> Array:
        """Return the largest strain that its file tells of, at q, (T, n): (T,), NaN if unknown."""
        return self.of.largest_strain(q[:, self.part.modes])

    def ratio_damping(self, q: Array, arm: Arm, index: int) -> Array:
        """Return the damping matrix at q that a link of another arm would have."""
        damping = reduced_part(arm, index).damping
        assert damping is not None
        return damping

    def mode_names(self, q: Array, strains: Array) -> list[str]:
        """Return the names of the amplitudes."""
        return [*self.of.names]

    def described(self) -> tuple[str, str]:
        """Return the kind of its shapes, and a line about them."""
        first = " to first order" if self.of.first_order else ""
        return "modal body", f"a body of any shape{first}, by the modes of its file"

    def file_report(self) -> list[str]:
        """Return what an examination of its file says, by line."""
        modal = self.part.link.modal
        return [] if modal is None else list(inspect_body(modal.side_file)[0].lines())

    def damping(self, q: Expr) -> Expr | None:
        """Return the damping matrix of the amplitudes, (m, m), or None."""
        damping = self.of.damping
        return None if damping is None or not np.any(damping) else constant(damping)
