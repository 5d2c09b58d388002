"""Beam that slides out of its hub, by linear theory: exposed part and straight part in the hub.

Inertia forces are computed for the material points (d'Alembert). The inertia forces include the
rate of the beam's axial momentum and the inertia force along the deflected axis. All mass integrals
are quadratic forms, with constant matrices, of the coefficients in `flexarm.links.growing.fields`.
"""

from collections.abc import Iterator
from typing import final

import casadi as ca
import numpy as np

from flexarm.links.fields import evaluate
from flexarm.links.growing.fields import SlidingMotion
from flexarm.mechanics.bodies.beam import BeamBody
from flexarm.mechanics.bodies.material import MaterialPoints
from flexarm.mechanics.sections import Local, SectionMotion, own_values
from flexarm.spatial import Array, Expr


@final
class Growing(BeamBody):
    """Sliding beam: an exposed part that bends by linear theory, and a straight part in a hub."""

    def motion(self, own: Expr, rates: Expr) -> SlidingMotion:
        """Return the motion of the exposed part at link coordinates and rates, (k,) each."""
        return SlidingMotion(self.part.sliding_beam.shapes, own, rates)

    def cayley_angles(self, q: Expr) -> Expr:
        """Return the first-order angles of the tip, (3,), at coordinates q."""
        own = own_values(self.part, q)
        return ca.sparsify(self.motion(own, 0 * own).angles(1.0)[0])

    def stations(self, own: Expr, s: Array) -> Iterator[Local]:
        """Yield poses and Jacobians of the sections at fractions s of the exposed length."""
        for motion in self.sections(own, 0 * own, s):
            yield motion.local

    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Compute pose, velocity and acceleration bias of the tip relative to the hub's mouth."""
        own, rates = own_values(self.part, q), own_values(self.part, v)
        return next(self.sections(own, rates, np.ones(1)))

    def sections(self, own: Expr, rates: Expr, xi: Array) -> Iterator[SectionMotion]:
        """Yield the motion of the material sections currently at fractions xi of the span."""
        motion = self.motion(own, rates)
        moved = motion.displacement()
        for at in xi:
            functions = motion.displacement_functions(np.array([at]))
            yield self.angled(evaluate(moved, functions), motion.angles(at), rates)

    def material(self, own: Expr, rates: Expr) -> list[MaterialPoints]:
        """Return the mass points of the exposed part, one entry per mass distribution."""
        motion = self.motion(own, rates)
        moving, masses = motion.displacement(), motion.shapes.masses(own[0])
        return [MaterialPoints(moving, motion.displacement_basis(k), mass) for k, mass in masses]
