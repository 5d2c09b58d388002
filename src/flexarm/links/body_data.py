"""Numbers of a link's body: inertia and tip motion of its amplitudes, and their stiffness."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from flexarm.links.base import Array
from flexarm.links.collocation import Collocation
from flexarm.links.integrals import Integrals
from flexarm.spatial import Inertia


@dataclass(frozen=True)
class StraightBody:
    """An undeformed body of m amplitudes, to first order."""

    integrals: Integrals  # moments, modal mass and stiffness, without the root's rigid body
    tip: Array  # the tip from the root [m], (3,)
    tip_angle: Array  # rotation of the tip per amplitude, (3, m)
    tip_shape: Array  # displacement of the tip per amplitude, (3, m)
    retracted: Inertia | None = None  # the part of a sliding beam inside its hub, else None


class BodyData(ABC):
    """Numbers of the body of a link between its root L and its flexible tip T."""

    names: tuple[str, ...]  # of its amplitudes within the link

    @property
    @abstractmethod
    def kind(self) -> str:
        """Name of the class in `flexarm.mechanics.bodies` that has its equations."""

    @property
    def exact(self) -> Collocation | None:
        """Nodes of a geometrically exact beam, else None."""
        return None

    @property
    def range(self) -> tuple[float, float] | None:
        """Least and largest length [m] with known shapes, where the length changes."""
        return None

    @property
    def root_turn(self) -> Array:
        """First-order rotation of the root per amplitude, (3, m); not 0 for pinned shapes."""
        return np.zeros((3, len(self.names)))

    @property
    def sectioned(self) -> bool:
        """Whether it is a beam, with sections along its axis."""
        return True

    @property
    def stiffens(self) -> bool:
        """Whether loads stiffen a body that is no beam, by displacements of second order."""
        return False

    @property
    def tip_slopes(self) -> Array:
        """Rotations of the tip per amplitude that bending limits, (k, m); none if they change."""
        return np.zeros((0, len(self.names)))

    @property
    def measured(self) -> bool:
        """Whether its modal mass was measured or computed elsewhere."""
        return False

    one_length = False  # whether it is a beam whose shapes are functions of the place alone

    @property
    def length_terms(self) -> int:
        """Number of terms of the series by which shapes change with the exposed length."""
        return 1

    @property
    def draws(self) -> bool:
        """Whether points have displacements quadratic in the amplitudes."""
        return False

    def linear(self) -> "BodyData":
        """Return the body by linear theory."""
        return self

    def bare(self, *, stiffening: bool = False, twists: bool = False) -> "BodyData":
        """Return the body with a tip linear in its amplitudes, without rotary inertia of sections.

        Points are shortened axially where ``stiffening`` is on; the inertia of their twist within
        the link may stay.
        """
        return self

    def span_length(self, whole: float, own: Array) -> float:
        """Return the length of the (exposed) span [m] at own coordinates, (k,)."""
        return whole

    @abstractmethod
    def straight(self, length: float) -> StraightBody:
        """Return the undeformed body at a length [m] of its (exposed) span."""


@dataclass(frozen=True)
class RigidData(BodyData):
    """A body that does not deform."""

    names: tuple[str, ...] = ()
    kind = "rigid"

    def straight(self, length: float) -> StraightBody:
        """Return a body without amplitudes."""
        none = np.zeros((3, 0))
        return StraightBody(Integrals.none(), along_x(length), none, none)


def along_x(length: float) -> Array:
    """Return the point at a distance [m] along x, (3,)."""
    return np.array([length, 0.0, 0.0])
