"""A beam that slides out of its hub."""

from typing import final

import casadi as ca

from flexarm.errors import FlexarmError
from flexarm.links.base import Array, Shapes
from flexarm.links.growing.fields import SlidingMotion, chebyshev_series, exposed_points
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.links.span import Span
from flexarm.mechanics.bodies.base import Body, given_energy, section_spin
from flexarm.mechanics.bodies.deformed import Deformed, parents
from flexarm.mechanics.bodies.growing_terms import sliding_energy, sliding_place, sliding_terms
from flexarm.mechanics.bodies.terms import Motion, Terms
from flexarm.mechanics.sections import Local, own_values, picked
from flexarm.spatial import Expr


@final
class Growing(Body):
    """The exposed part of a beam, and the straight part in its hub."""

    @property
    def shapes(self) -> SlidingShapes:
        """Shape functions of place and exposed length."""
        assert self.part.sliding is not None
        return self.part.sliding

    def tip(self, q: Expr) -> Local:
        """See the flexible tip from the mouth of the hub."""
        return self.at_fraction(q, 1.0)

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
        return sliding_place(self.model, self._motion(own, 0 * own), fraction)[0]

    def tip_motion(self, q: Expr, v: Expr) -> Motion:
        """Follow the flexible tip."""
        rates = own_values(self.part, v)
        motion = self._motion(own_values(self.part, q), rates)
        local, bias, angle, angle_bias = sliding_place(self.model, motion, 1.0)
        spin, spin_bias = section_spin(self.model, angle[0], angle[1] @ rates, angle_bias)
        return Motion(local, spin, local.linear @ rates, spin_bias, bias)

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Weigh the beam, exposed and inside."""
        return sliding_terms(self.model, self.part, q, v, omega)

    def energy(self, q: Expr) -> Expr:
        """Give the elastic energy [J]."""
        d = q[self.part.modes.start : self.part.modes.stop]
        given = given_energy(self.part, self.shapes.names, d)
        return sliding_energy(self.model, self.part, q) + given

    def effort(self, q: Expr) -> Expr:
        """Differentiate the elastic energy by exposed length and amplitudes, (k,)."""
        return picked(ca.gradient(self.energy(q), q), self.part.own)

    def damping(self, q: Expr) -> Expr | None:
        """Give the damping matrix of the amplitudes at the exposed length, (m, m), or None."""
        series = self.part.sliding_damping
        if series is None:
            return None
        return chebyshev_series(series, self.shapes.range, q[self.part.exposed])

    def deformed(self, q: Array) -> Deformed:
        """Take the deformation out of coordinates q, (T, n)."""
        length = q[:, self.part.exposed]
        shapes, amplitudes = parents(self.shapes, length, q[:, self.part.modes])
        points, weights = exposed_points(self.shapes)
        return Deformed(
            shapes, amplitudes, length, length, 1.0, self.shapes.span, points, weights, grows=True
        )

    def shapes_at(self, q: Array) -> Shapes:
        """Give the shapes over the exposed length."""
        return self.shapes.at(float(q[self.part.exposed]))

    def span_at(self, q: Array) -> Span:
        """Give what is exposed."""
        section = self.part.link.section
        assert section is not None
        return Span.of(section, float(q[self.part.exposed]))

    def _motion(self, own: Expr, rates: Expr) -> SlidingMotion:
        return SlidingMotion(self.shapes, own, rates, stiffening=self.model.stiffening)
