"""Flexible spans of links, curves along spans, shape functions, and families of shapes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.polynomial import legendre

from flexarm.arm.section import Properties, Section, shape_properties
from flexarm.arm.shapes import ShapeChoice
from flexarm.errors import ShapeError
from flexarm.links.constants import POLYNOMIAL_TABLES
from flexarm.spatial import Array

DERIVATIVES = 4  # stored series: the function and its first three derivatives
# Cached tables of Legendre polynomials; keys are the positions of evaluation.
_tables: dict[bytes, Array] = {}


@dataclass(frozen=True, eq=False)
class SpanCurves:
    """Functions of the distance along a span: Legendre series on each panel of the span.

    Each of the n functions is a linear combination of k series. Where a function jumps at a panel
    edge, its value on the outboard panel is used.
    """

    edges: Array  # panel edges [m], (p + 1,)
    # Legendre coefficients on each of p panels, (p, degree + 1, k), of the k series and of their
    # first three derivatives. Derivatives are stored because differentiating a series of high
    # degree amplifies rounding errors.
    series: tuple[Array, ...]
    weights: Array  # weight of each of k series in each of n functions, (k, n)

    @classmethod
    def from_values(cls, edges: Array, values: Array) -> Self:
        """Return the functions with Legendre coefficients ``values``, (p, degree + 1, k).

        The functions have p panels. Derivatives are computed by differentiating the series, which
        is accurate for low degrees.
        """
        half = np.diff(edges)[:, None, None] / 2
        return cls(edges, tuple(_derivatives(values, half, DERIVATIVES)), np.eye(values.shape[2]))

    def times(self, columns: Array) -> Self:
        """Return linear combinations of the n functions, one per column of a matrix (n, r)."""
        return replace(self, weights=self.weights @ columns)

    def __call__(self, x: Array, nu: int = 0) -> Array:
        """Evaluate the functions, or their ``nu``-th derivatives (0 to 3), at x [m]: (len(x), n).

        At panel edges the value is that from the outboard side.
        """
        panel = self.edges[1:-1].searchsorted(x, side="right")
        left, right = self.edges[panel], self.edges[panel + 1]
        series = self.series[nu]
        table = polynomials((2 * x - left - right) / (right - left), series.shape[1] - 1)
        has_one_panel = len(series) == 1
        values = (
            table @ series[0] if has_one_panel else np.einsum("gd,gdk->gk", table, series[panel])
        )
        return np.asarray(values @ self.weights)

    @property
    def degree(self) -> int:
        """Degree of the Legendre series."""
        return int(self.series[0].shape[1]) - 1

    @property
    def count(self) -> int:
        """Number n of functions along the span."""
        return int(self.weights.shape[1])


def integrate_strain(edges: Array, strain: Array, root: Array) -> SpanCurves:
    """Integrate strains from the root of a span to obtain displacement curves.

    Parameters
    ----------
    edges
        Panel edges [m], (p + 1,).
    strain
        Legendre coefficients on each panel, (p, degree + 1, k), of k strains: the curvature (second
        derivative) of beams, the first derivative of rods.
    root
        Values of the k curves at the first edge and, for beams, their slopes there, (order, k);
        order is 2 for beams and 1 for rods.
    """
    half = np.diff(edges)[:, None, None] / 2
    series = _derivatives(strain, half, DERIVATIVES - len(root))
    for start in root[::-1]:
        integral = half * (_integration(series[0].shape[1]) @ series[0])
        rise = integral.sum(axis=1)  # every Legendre polynomial is 1 at a panel's end
        integral[:, 0] += start + np.cumsum(rise, axis=0) - rise
        series.insert(0, integral)
    return SpanCurves(edges, tuple(series), np.eye(strain.shape[2]))


@cache
def legendre_fit(count: int) -> Array:
    """Return the matrix from values at Gauss points in (-1, 1) to Legendre coefficients."""
    node, _ = gauss_points(count)
    return np.asarray(np.linalg.inv(legendre.legvander(node, count - 1)), dtype=np.float64)


def fitted(values: Callable[[Array], Array], edges: Array, count: int) -> Array:
    """Fit functions on each of p panels by Legendre series through Gauss points.

    ``values`` evaluates n functions at g positions, shape (g, n). The resulting Legendre
    coefficients have shape (p, count, n).
    """
    x, _ = panel_points(edges, count)
    return np.asarray(legendre_fit(count) @ values(x.ravel()).reshape(*x.shape, -1))


def _derivatives(values: Array, half: Array, count: int) -> list[Array]:
    """Return Legendre series on each panel, followed by their first ``count - 1`` derivatives."""
    series = [values]
    for _ in range(count - 1):
        series.append(derivative(series[-1]) / half)
    return series


def derivative(series: Array) -> Array:
    """Differentiate Legendre series, whose coefficients are along the last but one axis."""
    return np.asarray(_differentiation(series.shape[-2]) @ series)


@cache
def _differentiation(count: int) -> Array:
    """Return the matrix from ``count`` Legendre coefficients to those of the derivative."""
    return np.asarray(legendre.legder(np.eye(count)), dtype=np.float64)


@cache
def _integration(count: int) -> Array:
    """Return the matrix from ``count`` Legendre coefficients to those of the integral from -1."""
    return np.asarray(legendre.legint(np.eye(count), lbnd=-1), dtype=np.float64)


def polynomials(positions: Array, degree: int) -> Array:
    """Return Legendre polynomials at positions in (-1, 1), shape (len(positions), degree + 1).

    The returned table is cached and shared by all curves of a link: callers must not modify it.
    """
    key = positions.tobytes()
    table = _tables.pop(key, None)
    if table is None or table.shape[1] <= degree:
        table = np.asarray(legendre.legvander(positions, degree))
        table.flags.writeable = False  # several callers share it
    _tables[key] = table  # most recently used last
    if len(_tables) > POLYNOMIAL_TABLES:
        _tables.pop(next(iter(_tables)), None)
    return table[:, : degree + 1]


PROPERTIES = ("mass_per_length", "EIy", "EIz", "GJ", "EA", "GAy", "GAz", "Jx", "Jy", "Jz")


@dataclass(frozen=True)
class Span:
    """Flexible part of a link, of given length [m]; section properties are linear between stations.

    The dictionary ``table`` contains each section property, by name, at ``stations`` [m]. If a
    stiffness is missing from it, the span is rigid in that direction.
    """

    length: float
    stations: Array
    table: dict[str, Array]

    @classmethod
    def of(cls, section: Section, length: float) -> "Span":
        """Build a span of a given length [m] from the section of a model file."""
        if section.stations is not None:
            rows: tuple[Properties, ...] = section.stations
            stations = np.array([s.at for s in section.stations])
            stations[-1] = length
        else:
            uniform: Properties = section
            if section.material is not None and section.shape is not None:
                uniform = shape_properties(
                    section.material,
                    section.shape,
                    rotary=section.rotary_inertia,
                    shear=section.shear,
                )
            rows, stations = (uniform, uniform), np.array([0.0, length])
        names = [n for n in PROPERTIES if getattr(rows[0], n) is not None]
        table = {n: np.array([getattr(r, n) for r in rows]) for n in names}
        return cls(length, stations, table)

    @cached_property
    def contents(self) -> tuple[object, ...]:
        """All numbers of the span as a hashable tuple, so that spans can be compared."""
        columns = tuple((name, values.tobytes()) for name, values in self.table.items())
        return (self.length, self.stations.tobytes(), *columns)

    @cached_property
    def edges(self) -> Array:
        """Panel edges [m] of a span, between which shapes and section properties are smooth."""
        return union(self.stations)

    @property
    def uniform(self) -> bool:
        """Whether every section property is constant along the span."""
        return all(bool(np.all(v == v[0])) for v in self.table.values())

    @cached_property
    def tapers(self) -> tuple["Span", ...]:
        """Polynomials T_k on (0, 1): the outer l metres have the section ``sum l^k T_k(x/l)``.

        T_0 is the section at the tip. For a tapered span, T_1 is ``1 - x/l`` times the increase of
        each section property per metre towards the root. Section properties must be linear along
        the span.
        """
        ends, table = np.array([0.0, 1.0]), self.table
        tip = Span(1.0, ends, {name: np.full(2, float(v[-1])) for name, v in table.items()})
        if self.uniform:
            return (tip,)
        rise = {name: np.array([(v[0] - v[-1]) / self.length, 0.0]) for name, v in table.items()}
        return tip, Span(1.0, ends, rise)

    def outer(self, length: float) -> "Span":
        """Return the outermost part, of given length [m], of a span with linear properties."""
        powers = [length**k for k in range(len(self.tapers))]
        table = {n: powers @ np.stack([t.table[n] for t in self.tapers]) for n in self.table}
        return Span(length, np.array([0.0, length]), table)

    def has(self, name: str) -> bool:
        """Return whether a section property, such as ``EA``, is given."""
        return name in self.table

    def at(self, name: str, x: Array, nu: int = 0) -> Array:
        """Evaluate a section property or its first derivative at x [m], at a jump from outboard."""
        values = self.table[name]
        if np.all(values == values[0]):
            return np.full(np.shape(x), 0.0 if nu else values[0])
        left = np.clip(np.searchsorted(self.stations, x, side="right") - 1, 0, None)
        left = np.minimum(left, len(self.stations) - 2)
        x0, x1 = self.stations[left], self.stations[left + 1]
        width = np.where(x1 > x0, x1 - x0, 1.0)
        if nu:
            return np.asarray(np.where(x1 > x0, (values[left + 1] - values[left]) / width, 0.0))
        t = np.where(x1 > x0, (x - x0) / width, 0.0)
        return np.asarray(values[left] * (1 - t) + values[left + 1] * t)

    def quadrature(self, points: int, edges: Array | None = None) -> tuple[Array, Array]:
        """Return Gauss-Legendre points [m] and weights [m] on all panels of the span.

        Parameters
        ----------
        points
            Number of points per panel.
        edges
            Additional panel edges [m], merged with the edges of the properties.
        """
        edges_of_panels = self.edges if edges is None else union(self.edges, edges)
        is_distinct = np.concatenate(([True], np.diff(edges_of_panels) > 1e-12 * self.length))
        edges_of_panels = edges_of_panels[is_distinct]
        x, weights = panel_points(edges_of_panels, points)
        return x.ravel(), weights.ravel()


def union(*edges: Array) -> Array:
    """Return the sorted union of panel edges."""
    positions = sorted(x for array in edges for x in array.tolist())
    return np.array(
        [x for x, previous in zip(positions, [None, *positions], strict=False) if x != previous]
    )


@cache
def gauss_points(count: int) -> tuple[Array, Array]:
    """Return Gauss-Legendre points and weights on (-1, 1).

    Both arrays are cached: callers must not modify them.
    """
    node, weight = np.polynomial.legendre.leggauss(count)
    return node, weight


def panel_points(edges: Array, count: int) -> tuple[Array, Array]:
    """Return positions and weights of Gauss points on p panels between edges, (p, count) each."""
    node, weight = gauss_points(count)
    half = np.diff(edges)[:, None] / 2
    return edges[:-1, None] + half + half * node, half * weight


Direction = Literal["x", "y", "z", "twist"]
DIRECTIONS: tuple[Direction, ...] = ("y", "z", "twist", "x")
LABELS: Mapping[Direction, str] = {"x": "stretch", "y": "y", "z": "z", "twist": "twist"}


@dataclass(frozen=True)
class Shapes:
    """Shape functions of a link: displacement and rotation of sections per unit of m amplitudes.

    Displacements per unit amplitude are along x, y, z [m], the twist is about x [rad]. Rotations of
    a section about y and z are slopes of the displacements: ``theta_z = y'``, ``theta_y = -z'``.
    """

    names: tuple[str, ...]  # names of the amplitudes, such as ``y1``
    # Components of the m shapes in each direction; a direction in which every shape is zero is
    # absent.
    curves: Mapping[Direction, tuple[SpanCurves, ...]]
    edges: Array  # panel edges [m] from 0 to the span's length between which every curve is smooth
    stiffness: Array  # linear stiffness matrix (m, m) of the amplitudes
    # Modal mass matrix (m, m) if measured; None if it is to be integrated over the span.
    mass: Array | None = None
    damping: Array | None = None  # modal damping matrix (m, m) if measured, else None
    # Bending stiffness EI divided by the shear stiffness [m^2], per direction in which sections
    # shear.
    shear: Mapping[Direction, float] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number m of amplitudes, one per shape."""
        return len(self.names)

    def moving(self, direction: Direction) -> list[int]:
        """Return the indices of the amplitudes whose shape has a component in a direction."""
        is_moving = np.zeros(self.count, dtype=bool)
        for curves in self.curves.get(direction, ()):
            is_moving |= np.any(curves.weights != 0, axis=0)
        return [int(k) for k in np.flatnonzero(is_moving)]

    @property
    def directions(self) -> tuple[Direction, ...]:
        """Main direction per amplitude: the first of `DIRECTIONS` in which its shape is nonzero."""
        amplitudes_of = {direction: self.moving(direction) for direction in DIRECTIONS}
        return tuple(
            next(d for d in DIRECTIONS if k in amplitudes_of[d]) for k in range(self.count)
        )

    def changed(self, transform: Array) -> "Shapes":
        """Return shapes for new amplitudes d_new with ``d = transform d_new``, transform (m, k).

        The names of the amplitudes are unchanged.
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
        """Return the shapes with the given indices."""
        selected = self.changed(np.eye(self.count)[:, indices])
        return replace(selected, names=tuple(self.names[k] for k in indices))

    def values(self, direction: Direction, x: Array, nu: int = 0) -> Array:
        """Evaluate m shapes, or their ``nu``-th derivatives, in one direction at x: (len(x), m)."""
        total = np.zeros((len(x), self.count))
        for curves in self.curves.get(direction, ()):
            total += curves(x, nu)
        return total

    def shear_angle(self, direction: Direction, x: Array) -> Array:
        """Evaluate the shear angle per amplitude, (len(x), m).

        The shear angle is the slope of the axis minus the rotation of the section.
        """
        if direction not in self.shear:
            return np.zeros((len(x), self.count))
        return -self.shear[direction] * self.values(direction, x, 3)

    def displacement(self, x: Array, nu: int = 0) -> Array:
        """Evaluate displacements per amplitude, or their nu-th x-derivative, (len(x), 3, m)."""
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
    """Bodies and support at the two ends of a link: boundary conditions of the link's modes.

    Inertias [kg m^2] are about the axes x (twist), y (bending along z) and z (bending along y).
    ``math.inf`` at the root means a clamped root.
    """

    root_inertia: tuple[float, float, float]  # rotary inertia attached to the root
    tip_mass: float  # mass [kg] attached to the tip
    tip_inertia: tuple[float, float, float]  # inertia about the tip, offset mass included
    tip_offset: float = 0.0  # distance [m] of the tip mass's centre beyond the tip along x


class Counts(NamedTuple):
    """Number of shapes, elements or springs in each direction, in the order of `DIRECTIONS`."""

    y: int
    z: int
    twist: int
    x: int

    def of(self, direction: Direction) -> int:
        """Return the number of shapes, elements or springs in one direction."""
        return self[DIRECTIONS.index(direction)]


class Discretisation(ABC):
    """Interface of a family of shape functions, such as modes or finite elements.

    Each subclass sets ``name``, ``summary`` and ``citation``, and implements `shapes`.
    """

    name: str
    summary: str
    citation: str

    def loaded(self, choice: ShapeChoice) -> bool:
        """Return whether the shapes depend on the inertia at the ends of the link."""
        return False

    @abstractmethod
    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the shape functions of a span; ``counts`` is their number per direction."""

    def rest(self, span: Span, ends: Ends, direction: Direction, count: int) -> SpanCurves:
        """Return static shapes of tip loads in one direction, orthogonal to its first modes.

        The shapes have unit stiffness. The static shapes are orthogonal in strain energy to each
        other and to the first ``count`` modes.

        Raises
        ------
        ShapeError
            If the family does not override this method.
        """
        raise ShapeError(
            f"static: {self.name} shapes include static shapes already, or take no static "
            "shapes because they have no key 'rest'. Leave 'static' out."
        )
