"""A body that is put into a copy of the package: two rigid halves with a spring between."""

from dataclasses import dataclass
from typing import ClassVar, final

import casadi as ca
import numpy as np

from flexarm.links.body_data import BodyData, StraightBody, along_x
from flexarm.links.integrals import Integrals
from flexarm.mechanics.bodies.base import LinkBody
from flexarm.mechanics.sections import (
    Local,
    SectionMotion,
    Terms,
    attach,
    beyond,
    own_values,
    rigid_section,
    rigid_terms,
)
from flexarm.spatial import Expr, Inertia, turn_z


@dataclass(frozen=True)
class FoldingData(BodyData):
    """Numbers of two equal halves that fold about z against a spring [N m/rad]."""

    half: Inertia  # of either half, about its inner end
    stiffness: float
    names: tuple[str, ...] = ("fold",)
    kind: ClassVar[str] = "folding"
    sectioned = False

    def straight(self, length: float) -> StraightBody:
        """Return the undeformed body, of which only the tip is known."""
        angle, shape = np.array([[0.0], [0.0], [1.0]]), np.array([[0.0], [length / 2], [0.0]])
        return StraightBody(Integrals.none(), along_x(length), angle, shape)


@final
class Folding(LinkBody):
    """Two halves that fold about z in the middle."""

    @property
    def folding(self) -> FoldingData:
        """Numbers of the body."""
        assert isinstance(self.part.body, FoldingData)
        return self.part.body

    def fold(self, q: Expr, v: Expr) -> SectionMotion:
        """Follow the outer half at the fold."""
        angle, rate = (own_values(self.part, values) for values in (q, v))
        none, axis = type(q)(3, 1), type(q)(ca.DM([0, 0, 1]))
        local = Local(type(q)(ca.DM([self.part.length / 2, 0, 0])), turn_z(angle), none, axis)
        return SectionMotion(local, axis * rate, none, none, none)

    def section(self, q: Expr, x: float) -> Local:
        """See a section from the root."""
        past = x - self.part.length / 2
        return rigid_section(q, x, 1) if past <= 0 else beyond(self.fold(q, 0 * q).local, past)

    def at_fraction(self, q: Expr, fraction: float) -> Local:
        """See a section from the root."""
        return self.section(q, fraction * self.part.length)

    def tip(self, q: Expr) -> Local:
        """See the tip from the root."""
        return self.section(q, self.part.length)

    def tip_motion(self, q: Expr, v: Expr) -> SectionMotion:
        """Follow the tip relative to the root."""
        tip, fold = self.tip(q), self.fold(q, v)
        speed = ca.cross(fold.spin, tip.position - fold.local.position)
        return SectionMotion(tip, fold.spin, speed, fold.spin_bias, ca.cross(fold.spin, speed))

    def terms(self, q: Expr, v: Expr, omega: Expr) -> Terms:
        """Compute inertia and velocity-dependent forces of both halves."""
        half = self.folding.half
        return attach(rigid_terms(half, omega, 1), half, self.fold(q, v), omega)

    def energy(self, q: Expr) -> Expr:
        """Return the energy of the spring [J]."""
        return self.folding.stiffness * own_values(self.part, q) ** 2 / 2

    def effort(self, q: Expr) -> Expr:
        """Return the torque of the spring [N m]."""
        return self.folding.stiffness * own_values(self.part, q)
