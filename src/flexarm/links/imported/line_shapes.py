"""Shapes given at stations, the curves through them, and their mass matrices."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

Array = npt.NDArray[np.float64]

ROOT_AT_REST = 1e-9  # of a shape's size: below it the root does not move


def rigid_motions(x: Array) -> tuple[Array, Array]:
    """Displacement and rotation along the axis per unit rigid motion of the root, (p, 3, 6) each.

    Three translations [m], then three rotations [rad].
    """
    displacement, rotation = np.zeros((len(x), 3, 6)), np.zeros((len(x), 3, 6))
    displacement[:, :, :3] = rotation[:, :, 3:] = np.eye(3)
    displacement[:, 2, 4], displacement[:, 1, 5] = -x, x
    return displacement, rotation


@dataclass(frozen=True)
class Masses:
    """Bodies on a link's axis that stand for its mass: at stations or at quadrature points."""

    x: Array  # distance from the root [m], (p,)
    mass: Array  # [kg], (p,)
    inertia: Array  # rotary inertia in the link's axes [kg m^2], (p, 3, 3)

    def matrix(self, displacement: Array, rotation: Array) -> Array:
        """Mass matrix of the six rigid motions of the root and m shapes, (6 + m, 6 + m).

        Parameters
        ----------
        displacement, rotation
            Of the shapes at `x` [m, rad], (p, 3, m).

        Notes
        -----
        Graves 1989, eq 25, at zero deflection.
        """
        rigid = rigid_motions(self.x)
        u = np.concatenate((rigid[0], displacement), axis=2)
        theta = np.concatenate((rigid[1], rotation), axis=2)
        translations = np.einsum("p,pai,paj->ij", self.mass, u, u)
        return np.asarray(translations + np.einsum("pab,pai,pbj->ij", self.inertia, theta, theta))

    @property
    def total(self) -> float:
        """Total mass [kg]."""
        return float(self.mass.sum())

    @property
    def centre(self) -> Array:
        """Centre of mass [m], (3,): on the axis."""
        return np.array([float(self.mass @ self.x) / self.total, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class ShapeTable:
    """Shapes at stations, with curves through them."""

    x: Array  # distance of the stations from the root [m], (n,)
    # displacement, rotation: at an amplitude of 1, in the axes of the root [m, rad], (n, 3, m).
    displacement: Array
    rotation: Array

    @cached_property
    def splines(self) -> "dict[str, PPoly]":
        """Piecewise cubics by direction, all shapes at once.

        Along y and z through displacement and slope (Hermite); stretch and twist, whose slopes are
        not measured, with a continuous second derivative.
        """
        from scipy.interpolate import CubicHermiteSpline, CubicSpline

        u, theta = self.displacement, self.rotation
        return {
            "y": CubicHermiteSpline(self.x, u[:, 1], theta[:, 2]),
            "z": CubicHermiteSpline(self.x, u[:, 2], -theta[:, 1]),
            "twist": CubicSpline(self.x, theta[:, 0]),
            "x": CubicSpline(self.x, u[:, 0]),
        }

    def at(self, x: Array) -> tuple[Array, Array]:
        """Displacement and rotation at any places, (len(x), 3, m) each."""
        s = self.splines
        displacement = np.stack([s["x"](x), s["y"](x), s["z"](x)], axis=1)
        return displacement, np.stack([s["twist"](x), -s["z"](x, 1), s["y"](x, 1)], axis=1)


@dataclass(frozen=True, eq=False)
class HeldShapes:
    """Shapes with the rigid motion of the root taken out, and their mass matrices."""

    given: ShapeTable  # the shapes as they were given
    # own, section: the masses that came with them, and those of the link's section, where known.
    own: Masses | None
    section: Masses | None

    @cached_property
    def root(self) -> Array:
        """Displacement [m] and rotation [rad] of the root in the given shapes, (6, m)."""
        return np.concatenate((self.given.displacement[0], self.given.rotation[0]))

    @cached_property
    def shapes(self) -> ShapeTable:
        """The shapes with the root at rest."""
        u, theta = rigid_motions(self.given.x)
        return ShapeTable(
            self.given.x,
            self.given.displacement - u @ self.root,
            self.given.rotation - theta @ self.root,
        )

    @cached_property
    def by_own(self) -> Array | None:
        """Mass matrix of rigid motions and shapes by the own masses, (6 + m, 6 + m)."""
        return self._matrix(self.own)

    @cached_property
    def by_section(self) -> Array | None:
        """Mass matrix of rigid motions and shapes by the section, (6 + m, 6 + m)."""
        return self._matrix(self.section)

    @property
    def weighed(self) -> bool:
        """Whether there are masses at all."""
        return self.own is not None or self.section is not None

    @cached_property
    def motion(self) -> Array:
        """How far the root moves, relative to the size of each given shape, (m,)."""
        length = self.given.x[-1]
        moved = np.abs(self.given.displacement).max(axis=(0, 1))
        turned = length * np.abs(self.given.rotation).max(axis=(0, 1))
        reach = np.abs(self.root) * np.array([1, 1, 1, length, length, length])[:, None]
        return np.asarray(reach.max(axis=0) / np.maximum(moved, turned))

    @property
    def moved(self) -> bool:
        """Whether the root moves in any shape."""
        return bool(np.any(self.motion > ROOT_AT_REST))

    @property
    def integrated(self) -> Array:
        """Modal mass with the root at rest, as dynamics integrate it, (m, m)."""
        matrix = self.by_section if self.by_section is not None else self.by_own
        assert matrix is not None
        return matrix[6:, 6:]

    @property
    def whole(self) -> Array:
        """Modal mass of the given shapes, root motion included, (m, m)."""
        matrix = self.by_section if self.by_section is not None else self.by_own
        return self.integrated + self._root_share(matrix)

    @property
    def carried(self) -> Array | float:
        """What the root motion adds to the modal mass that came with the shapes, (m, m)."""
        matrix = self.by_own if self.by_own is not None else self.by_section
        return self._root_share(matrix) if self.moved else 0.0

    def _root_share(self, matrix: Array | None) -> Array:
        assert matrix is not None
        coupling = self.root.T @ matrix[:6, 6:]
        return np.asarray(coupling + coupling.T + self.root.T @ matrix[:6, :6] @ self.root)

    def _matrix(self, masses: Masses | None) -> Array | None:
        return None if masses is None else masses.matrix(*self.shapes.at(masses.x))
