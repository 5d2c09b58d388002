"""What a discretisation is: facts and one method that turns a link's span into shape functions."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from flexarm.arm.shapes import ShapeChoice
from flexarm.errors import ShapeError
from flexarm.links.span import Span

Array = npt.NDArray[np.float64]
Direction = Literal["x", "y", "z", "twist"]
DIRECTIONS: tuple[Direction, ...] = ("y", "z", "twist", "x")
LABELS: Mapping[Direction, str] = {"x": "stretch", "y": "y", "z": "z", "twist": "twist"}


class Curve(Protocol):
    """A function of the distance x [m] from the span's root, with its derivatives."""

    def __call__(self, x: Array, nu: int = 0) -> Array:
        """Return the ``nu``-th derivative (0 to 3) at every x, one-sided inside a panel."""
        ...


@dataclass(frozen=True)
class Shape:
    """One elastic coordinate: its name and what it moves along the span.

    Displacement per unit amplitude along x, y, z [m] and rotation about x [rad].  The other two
    rotations of a section are the slopes: ``theta_z = y'``, ``theta_y = -z'``.
    """

    name: str
    curves: Mapping[Direction, Curve]


@dataclass(frozen=True)
class Shapes:
    """The shape functions of a link."""

    shapes: tuple[Shape, ...]  # one per elastic coordinate, in the order of the coordinates
    edges: Array  # panel edges [m] from 0 to the span's length between which every curve is smooth
    stiffness: Array  # linear stiffness matrix (m, m) of the amplitudes
    # Modal mass matrix (m, m) where it is measured rather than integrated, else None.
    mass: Array | None = None
    damping: Array | None = None  # modal damping matrix (m, m) where it is measured, else None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates, such as ``y1``."""
        return tuple(shape.name for shape in self.shapes)

    def values(self, direction: Direction, x: Array, nu: int = 0) -> Array:
        """Evaluate all shapes in one direction, (len(x), m)."""
        columns = [
            shape.curves[direction](x, nu) if direction in shape.curves else np.zeros_like(x)
            for shape in self.shapes
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(x), 0))

    def displacement(self, x: Array, nu: int = 0) -> Array:
        """Displacement columns Phi(x), (len(x), 3, m), or their x-derivative."""
        return np.stack([self.values(d, x, nu) for d in ("x", "y", "z")], axis=-2)

    def rotation(self, x: Array) -> Array:
        """First-order section angles per amplitude, (len(x), 3, m)."""
        return np.stack(
            [self.values("twist", x), -self.values("z", x, 1), self.values("y", x, 1)], axis=-2
        )

    def motion(self, x: Array) -> Array:
        """First-order section angles over displacements per amplitude, (len(x), 6, m)."""
        return np.concatenate([self.rotation(x), self.displacement(x)], axis=-2)


@dataclass(frozen=True)
class Ends:
    """What a link's modes are computed with at its two ends.

    Inertias [kg m^2] are per axis of rotation x (twist), y (bending along z), z (bending along y);
    ``math.inf`` at the root means held.
    """

    root_inertia: tuple[float, float, float]  # what the root's rotation has to turn, about the root
    tip_mass: float  # mass [kg] carried by the tip
    tip_inertia: tuple[float, float, float]  # inertia about the tip, its mass's offset included
    tip_offset: float = 0.0  # distance [m] of the tip mass's centre beyond the tip along x


class Counts(NamedTuple):
    """How many shapes (elements, pieces) each direction gets, in the order of `DIRECTIONS`."""

    y: int
    z: int
    twist: int
    x: int

    def of(self, direction: Direction) -> int:
        """Return the count of one direction."""
        return self[DIRECTIONS.index(direction)]


class Discretisation(ABC):
    """A way to describe a link's deflection by amplitudes.

    A final class declares the facts and implements `shapes`.
    """

    name: str
    summary: str
    citation: str

    def loaded(self, choice: ShapeChoice) -> bool:
        """Tell whether shapes depend on what hangs on the link's ends."""
        return False

    @abstractmethod
    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the shape functions of a span."""

    def rest(self, span: Span, ends: Ends, direction: Direction, count: int) -> Sequence[Curve]:
        """Make curves of what forces at the tip do beside so many modes of a direction.

        They have unit stiffness, and none couples with another one or with a mode.
        """
        raise ShapeError(
            f"static: {self.name} shapes have the static ones already, or their family has no "
            "'rest': leave it out"
        )
