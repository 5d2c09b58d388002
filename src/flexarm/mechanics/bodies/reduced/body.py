"""Body of any shape whose deformation is a sum of nodal mode shapes times amplitudes.

If known, and if stiffening is on, second-order displacements add geometric stiffness.
"""

from typing import final

import numpy as np

from flexarm.arm import Arm
from flexarm.links.imported.body import ReducedBody
from flexarm.links.imported.file import inspect_body
from flexarm.links.imported.second_order import SecondOrder
from flexarm.mechanics.bodies.base import LinkBody, cayley_spin
from flexarm.mechanics.bodies.deformed import Along
from flexarm.mechanics.bodies.reduced.moments import reduced_terms
from flexarm.mechanics.bodies.terms import SectionMotion, Terms, add, rigid_terms
from flexarm.mechanics.sections import Local, own_values, quadratic_section
from flexarm.model.elastic.part import reduced_part
from flexarm.spatial import Array, Expr, cayley, constant


@final
class Reduced(LinkBody):
    """Body with the hub as root and the next joint at the tip.

    L and T have the axes of the hub; the rotation of the tip frame is part of the next link's
    frames.
    """

    @property
    def of(self) -> ReducedBody:
        """Moments, matrices and interface data of the body."""
        return self.part.imported

    @property
    def drawn_in(self) -> SecondOrder | None:
        """Second-order displacements if stiffening is on and they are known, else None."""
        return self.of.second_order if self.model.stiffening else None

    def linear_tip(self) -> tuple[Array, Array] | None:
        """Return the tip's rotation and displacement per amplitude, (3, m) each, or None.

        None means that second-order displacements are included.
        """
        return None if self.drawn_in is not None else (self.of.tip_angle, self.of.tip_shape)

    def turned(self, angle: Expr) -> tuple[Expr, Expr]:
        """Return the exact rotation by the tip's angles (3,), and its angular Jacobian (3, 3)."""
        return cayley(angle)

    def spun(self, angle: Expr, rate: Expr, bias: Expr) -> tuple[Expr, Expr]:
        """Return the angular velocity of the exact rotation by the tip's angles, and its rate."""
        return cayley_spin(angle, rate, bias)

    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Compute the motion of the tip relative to the root."""
        of, x = self.of, self.drawn_in
        none = np.zeros((3, len(of.names), len(of.names)))
        quadratic = (none, none) if x is None else (x.tip, x.tip_angle)
        return self.tabled(q, v, of.tip.position, (of.tip_shape, of.tip_angle), quadratic)

    def section(self, q: Expr, x: float) -> Local:
        """Compute a point of the line from hub to tip, at a distance x [m] along the chord."""
        return self.at_fraction(q, x / self.part.length)

    def at_fraction(self, q: Expr, fraction: float) -> Local:
        """Compute a point of the line that represents the body; at fraction 1 it is the tip."""
        if fraction >= 1:
            return self.tip(q)
        (place,), (shape,) = self.of.drawn.line(np.array([fraction]))
        x, m = self.drawn_in, shape.shape[1]
        drawn = np.zeros((3, m, m)) if x is None else fraction * x.tip
        moved, columns = quadratic_section(self.amplitudes(q), shape, drawn)
        return Local(constant(place) + moved, type(q).eye(3), columns, type(q)(3, m))

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Compute the inertia terms of the body and of rigid bodies at its root."""
        terms = rigid_terms(self.part.root_body, omega, len(self.part.own))
        d, rates = self.amplitudes(q), own_values(self.part, v)
        return add(terms, reduced_terms(self.of.integrals, self.drawn_in, d, rates, omega))

    def along(self, q: Array, stations: Array) -> Along:
        """Compute the deformed line from hub to tip at q, (T, n).

        Slopes are NaN, and so is the twist except at the tip.
        """
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
        """Return the rotation angle [rad] of the tip at q, (T, n): (T,)."""
        return np.asarray(np.linalg.norm(q[:, self.part.modes] @ self.of.tip_angle.T, axis=1))

    def largest_strain(self, q: Array) -> Array:
        """Return the largest strain defined by the body's file at q, (T, n): (T,), else NaN."""
        return self.of.largest_strain(q[:, self.part.modes])

    def ratio_damping(self, q: Array, arm: Arm, index: int) -> Array:
        """Return the damping matrix, (m, m), of the body of another arm's link."""
        damping = reduced_part(arm, index).damping
        assert damping is not None
        return damping

    def mode_names(self, q: Array, strains: Array) -> list[str]:
        """Return the names of the amplitudes as names of the modes."""
        return [*self.of.names]

    def described(self) -> tuple[str, str]:
        """Return the kind of the body's shape functions, and a one-line description."""
        first = " to first order" if self.of.first_order else ""
        return "modal body", f"a body of any shape{first}, by the modes of its file"

    def file_report(self) -> list[str]:
        """Return the lines of a report on the body's file."""
        modal = self.part.link.modal
        return [] if modal is None else list(inspect_body(modal.side_file)[0].lines())
