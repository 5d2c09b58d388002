"""Shape functions of a link, and the abstract class of the discretisations that build them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from flexarm.arm.shapes import ShapeChoice
from flexarm.errors import ShapeError
from flexarm.links.curves import SpanCurves
from flexarm.links.span import Span
from flexarm.spatial import Array

Direction = Literal["x", "y", "z", "twist"]
DIRECTIONS: tuple[Direction, ...] = ("y", "z", "twist", "x")
LABELS: Mapping[Direction, str] = {"x": "stretch", "y": "y", "z": "z", "twist": "twist"}


@dataclass(frozen=True)
class Shapes:
    """Shape functions of a link: displacement and rotation of the span per amplitude, m amplitudes.

    Displacements per unit amplitude are along x, y, z [m], rotations about x [rad].  The other two
    rotations of a section are the slopes: ``theta_z = y'``, ``theta_y = -z'``.
    """

    names: tuple[str, ...]  # names of the amplitudes, such as ``y1``
    # Sets of m functions per direction, whose sum is the m shapes; absent for directions in which
    # no shape has a component.
    curves: Mapping[Direction, tuple[SpanCurves, ...]]
    edges: Array  # panel edges [m] from 0 to the span's length between which every curve is smooth
    stiffness: Array  # linear stiffness matrix (m, m) of the amplitudes
    # Modal mass matrix (m, m) if measured, else None: it is then integrated.
    mass: Array | None = None
    damping: Array | None = None  # modal damping matrix (m, m) if measured, else None
    # EI over the shear stiffness [m^2], for the directions in which sections shear.
    shear: Mapping[Direction, float] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of amplitudes m."""
        return len(self.names)

    def moving(self, direction: Direction) -> list[int]:
        """Return the indices of the amplitudes whose shape has a component in a direction."""
        is_moving = np.zeros(self.count, dtype=bool)
        for curves in self.curves.get(direction, ()):
            is_moving |= np.any(curves.weights != 0, axis=0)
        return [int(k) for k in np.flatnonzero(is_moving)]

    @property
    def directions(self) -> tuple[Direction, ...]:
        """For each amplitude, the first of `DIRECTIONS` in which the shape has a component."""
        amplitudes_of = {direction: self.moving(direction) for direction in DIRECTIONS}
        return tuple(
            next(d for d in DIRECTIONS if k in amplitudes_of[d]) for k in range(self.count)
        )

    def changed(self, transform: Array) -> "Shapes":
        """Return shapes for new amplitudes d_new with ``d = transform d_new``, transform (m, m).

        Names are unchanged.
        """
        mass, damping = (
            None if matrix is None else transform.T @ matrix @ transform
            for matrix in (self.mass, self.damping)
        )
        curves = {
            d: tuple(set_of_curves.times(transform) for set_of_curves in sets)
            for d, sets in self.curves.items()
        }
        stiffness = transform.T @ self.stiffness @ transform
        return replace(self, curves=curves, stiffness=stiffness, mass=mass, damping=damping)

    def some(self, indices: Sequence[int]) -> "Shapes":
        """Return a selection of the shapes, by index."""
        selected = self.changed(np.eye(self.count)[:, indices])
        return replace(selected, names=tuple(self.names[k] for k in indices))

    def values(self, direction: Direction, x: Array, nu: int = 0) -> Array:
        """Evaluate shapes, or their ``nu``-th derivatives, in one direction at x: (len(x), m)."""
        total = np.zeros((len(x), self.count))
        for curves in self.curves.get(direction, ()):
            total += curves(x, nu)
        return total

    def shear_angle(self, direction: Direction, x: Array) -> Array:
        """Evaluate the slope of the axis minus the rotation of the section, (len(x), m)."""
        if direction not in self.shear:
            return np.zeros((len(x), self.count))
        return -self.shear[direction] * self.values(direction, x, 3)

    def displacement(self, x: Array, nu: int = 0) -> Array:
        """Evaluate the displacement per amplitude or the nu-th x-derivative, (len(x), 3, m)."""
        return np.stack([self.values(d, x, nu) for d in ("x", "y", "z")], axis=-2)

    def rotation(self, x: Array) -> Array:
        """Evaluate the first-order rotation vector of sections per amplitude, (len(x), 3, m)."""
        return np.stack(
            [self.values("twist", x), -self.values("z", x, 1), self.values("y", x, 1)], axis=-2
        )

    def motion(self, x: Array) -> Array:
        """Evaluate rotations, then displacements, of sections per amplitude, (len(x), 6, m)."""
        return np.concatenate([self.rotation(x), self.displacement(x)], axis=-2)


@dataclass(frozen=True)
class Ends:
    """Inertia and support at the two ends of a link: boundary conditions of the link's modes.

    Inertias [kg m^2] are per axis of rotation x (twist), y (bending along z), z (bending along y);
    ``math.inf`` at the root means a clamped root.
    """

    root_inertia: tuple[float, float, float]  # inertia that rotates with the root
    tip_mass: float  # mass [kg] attached to the tip
    tip_inertia: tuple[float, float, float]  # about the tip, offset of the mass included
    tip_offset: float = 0.0  # distance [m] of the tip mass's centre beyond the tip along x


class Counts(NamedTuple):
    """Number of shapes, elements or pieces per direction, in the order of `DIRECTIONS`."""

    y: int
    z: int
    twist: int
    x: int

    def of(self, direction: Direction) -> int:
        """Return the count of one direction."""
        return self[DIRECTIONS.index(direction)]


class Discretisation(ABC):
    """Interface of a family of shape functions that describe a link's deflection by amplitudes.

    Each subclass sets ``name``, ``summary`` and ``citation``, and implements `shapes`.
    """

    name: str
    summary: str
    citation: str

    def loaded(self, choice: ShapeChoice) -> bool:
        """Return whether the shapes depend on the inertia at the link's ends."""
        return False

    @abstractmethod
    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the shape functions of a span."""

    def rest(self, span: Span, ends: Ends, direction: Direction, count: int) -> SpanCurves:
        """Return the static tip shapes of a direction, with its first ``count`` modes removed.

        The shapes have unit stiffness and are orthogonal in strain energy to each other and to the
        modes.

        Raises
        ------
        ShapeError
            If the family does not override this method.
        """
        raise ShapeError(
            f"static: {self.name} shapes include static shapes already, or have none because "
            "they have no 'rest'. Leave 'static' out."
        )
