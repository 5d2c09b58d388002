"""Numerical data of a link's body: inertia, tip motion and stiffness of its amplitudes."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flexarm.links.collocation import Collocation
from flexarm.links.fields import Amounts
from flexarm.links.integrals import Integrals
from flexarm.spatial import Array, Expr, Inertia, constant


@dataclass(frozen=True)
class StraightBody:
    """First-order data of an undeformed body with m amplitudes."""

    # Mass integrals, modal mass and stiffness, without rigid bodies at the root.
    integrals: Integrals
    tip: Array  # undeformed position of the tip relative to the root [m], (3,)
    tip_angle: Array  # rotation of the tip per amplitude, (3, m)
    tip_shape: Array  # displacement of the tip per amplitude, (3, m)
    retracted: Inertia | None = None  # the part of a sliding beam inside its hub, else None


class BodyData(ABC):
    """Numerical data of a link's body between the root frame L and the flexible tip frame T."""

    names: tuple[str, ...]  # names of the body's amplitudes within the link
    integrals: Integrals  # mass integrals, modal mass and stiffness of a body of constant length

    @property
    @abstractmethod
    def kind(self) -> str:
        """Name of the class in `flexarm.mechanics.bodies` that implements the body's equations."""

    nodes: Collocation | None = None  # collocation nodes of a geometrically exact beam
    # Minimum and maximum length [m] for which shapes are known; None for a constant length.
    range: ClassVar[tuple[float, float] | None] = None

    @property
    def root_turn(self) -> Array:
        """First-order rotation of the root per amplitude, (3, m); nonzero for a pinned root."""
        return np.zeros((3, len(self.names)))

    sectioned = True  # whether the body is a beam, with cross-sections along its axis

    @property
    def stiffens(self) -> bool:
        """Whether loads stiffen the body, through second-order displacements."""
        return False

    @property
    def tip_slopes(self) -> Array:
        """Rotations of the tip per amplitude, (k, m), for which a simulation checks an upper limit.

        The number k of rotations is 0 if the tip's rotations depend on the coordinates.
        """
        return np.zeros((0, len(self.names)))

    @property
    def measured(self) -> bool:
        """Whether the modal mass was measured or computed by another program."""
        return False

    one_length = False  # whether the body is a beam whose shapes depend on position alone

    @property
    def length_terms(self) -> int:
        """Number of terms in the series of shapes in the exposed length; 1 for constant length."""
        return 1

    @property
    def draws(self) -> bool:
        """Whether displacements of the body's points have terms quadratic in the amplitudes."""
        return False

    def linear(self) -> "BodyData":
        """Return a copy of the body data that deforms by linear theory."""
        return self

    def bare(self, *, stiffening: bool = False, twists: bool = False) -> "BodyData":
        """Return body data with linear tip motion and without the sections' rotary inertia.

        With ``stiffening``, bending shortens the body axially, as a second-order displacement. With
        ``twists``, the rotary inertia of the sections' twist is retained.
        """
        return self

    def amounts(self, own: Expr, rates: Expr) -> Amounts:
        """Return the variables (K,) on which section angles depend linearly, and their rates."""
        return Amounts.fixed(own, rates)

    def stiffness_at(self, length: Expr) -> list[tuple[Expr, Array]]:
        """Return matrices (K, K) whose sum is the stiffness of the section-angle variables.

        Each matrix is paired with exponents e, (K,): its row i is proportional to the power e_i of
        the exposed length.
        """
        return [(constant(self.integrals.stiffness), np.zeros(len(self.names)))]

    def damping_at(self, own: Expr) -> Expr | None:
        """Return the damping matrix of the amplitudes at link coordinates, (m, m), or None."""
        return None

    def panels(self) -> tuple[Array, int]:
        """Return panels of the span on which its shapes are smooth, and Gauss points per panel.

        The boundaries of the panels are fractions of the span. Forces per length act at the points.
        """
        return np.array([0.0, 1.0]), 1

    def span_length(self, whole: float, own: Array) -> float:
        """Return the length of the (exposed) span [m] at link coordinates ``own``, (k,)."""
        return whole

    @abstractmethod
    def straight(self, length: float) -> StraightBody:
        """Return the undeformed body with an (exposed) span of a given length [m]."""


@dataclass(frozen=True)
class RigidData(BodyData):
    """Data of a rigid body, without amplitudes."""

    names: tuple[str, ...] = ()
    kind = "rigid"
    integrals = Integrals.none()

    def straight(self, length: float) -> StraightBody:
        """Return the data of the rigid body, whose tip is at a given distance [m] from its root."""
        no_columns = np.zeros((3, 0))
        return StraightBody(self.integrals, along_x(length), no_columns, no_columns)


def along_x(length: float) -> Array:
    """Return the point at a distance [m] along x, shape (3,)."""
    return np.array([length, 0.0, 0.0])
