"""A link of any shape that deforms by shapes of its nodes times amplitudes, to first order."""

from typing import final

import casadi as ca
import numpy as np

from flexarm.links.reduced.body import ReducedBody
from flexarm.mechanics.bodies.base import Body, cayley_spin, given_energy
from flexarm.mechanics.bodies.reduced.moments import reduced_terms
from flexarm.mechanics.bodies.terms import Motion, Terms, add, rigid_terms
from flexarm.mechanics.sections import Local, own_values
from flexarm.spatial import Expr, cayley, constant


@final
class Reduced(Body):
    """A body whose hub is the root and whose tip carries what follows.

    L and T have the hub's axes; the turn of the tip frame is in what follows it.
    """

    @property
    def of(self) -> ReducedBody:
        """The body's moments, matrices and interfaces."""
        assert self.part.reduced is not None
        return self.part.reduced

    def amplitudes(self, q: Expr) -> Expr:
        """Pick the amplitudes out of q, (m,)."""
        return q[self.part.modes.start : self.part.modes.stop]

    def tip(self, q: Expr) -> Local:
        """See the tip frame's origin, turned by an exact rotation of the tip's angles."""
        d, angle = self.amplitudes(q), constant(self.of.tip_angle)
        rotation, rate = cayley(angle @ d)
        position = constant(self.of.tip.position) + constant(self.of.tip_shape) @ d
        return Local(position, rotation, type(q)(constant(self.of.tip_shape)), rate @ angle)

    def section(self, q: Expr, x: float) -> Local:
        """See a point of the line from hub to tip, by its distance along their chord [m]."""
        return self.at_fraction(q, x / self.part.length)

    def at_fraction(self, q: Expr, fraction: float) -> Local:
        """See a point of the line that stands for the body; the last one is the tip."""
        if fraction >= 1:
            return self.tip(q)
        (place,), (moved,) = self.of.drawn.line(np.array([fraction]))
        position = constant(place) + constant(moved) @ self.amplitudes(q)
        none = type(q)(3, moved.shape[1])
        return Local(position, type(q).eye(3), type(q)(constant(moved)), none)

    def tip_motion(self, q: Expr, v: Expr) -> Motion:
        """Follow the tip."""
        local, rates = self.tip(q), own_values(self.part, v)
        turns, none = constant(self.of.tip_angle), type(q).zeros(3, 1)
        spin, spin_bias = cayley_spin(turns @ self.amplitudes(q), turns @ rates, none)
        return Motion(local, spin, local.linear @ rates, spin_bias, none)

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Weigh the body, and what is rigid at its root."""
        terms = rigid_terms(self.part.root_body, omega, len(self.part.own))
        d, rates = self.amplitudes(q), own_values(self.part, v)
        return add(terms, reduced_terms(self.of.integrals, d, rates, omega))

    def energy(self, q: Expr) -> Expr:
        """Give the elastic energy [J]."""
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

    def damping(self, q: Expr) -> Expr | None:
        """Give the damping matrix of the amplitudes, (m, m), or None."""
        damping = self.of.damping
        return None if damping is None or not np.any(damping) else constant(damping)
