"""The flexible span of a link: section properties as functions of the position along the span."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from flexarm.arm.section import Properties, Section, shape_properties
from flexarm.spatial import Array

PROPERTIES = ("mass_per_length", "EIy", "EIz", "GJ", "EA", "GAy", "GAz", "Jx", "Jy", "Jz")


@dataclass(frozen=True)
class Span:
    """A flexible span of given length [m], with section properties linear between stations.

    ``table[name]`` is the array of a property at ``stations`` [m]; a stiffness that the section
    omits is absent from the table, and the span is rigid in that direction.
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
        """All numerical values of the span as a hashable tuple, to compare spans."""
        columns = tuple((name, values.tobytes()) for name, values in self.table.items())
        return (self.length, self.stations.tobytes(), *columns)

    @cached_property
    def edges(self) -> Array:
        """Panel edges [m] between which all properties are smooth."""
        return union(self.stations)

    @property
    def uniform(self) -> bool:
        """Return whether every property is constant along the span."""
        return all(bool(np.all(v == v[0])) for v in self.table.values())

    @cached_property
    def tapers(self) -> tuple["Span", ...]:
        """Sections T_k over 0 to 1: the outer l metres of the span have ``sum l^k T_k(x/l)``.

        T_0 is the section at the tip; T_1, of a span that tapers, is its rise per metre towards
        the root times ``1 - x/l``.  Sections between the ends are assumed to be linear.
        """
        ends, table = np.array([0.0, 1.0]), self.table
        tip = Span(1.0, ends, {name: np.full(2, float(v[-1])) for name, v in table.items()})
        if self.uniform:
            return (tip,)
        rise = {name: np.array([(v[0] - v[-1]) / self.length, 0.0]) for name, v in table.items()}
        return tip, Span(1.0, ends, rise)

    def outer(self, length: float) -> "Span":
        """Return the part of a linear span that ends at its tip and has a given length [m]."""
        powers = [length**k for k in range(len(self.tapers))]
        table = {n: powers @ np.stack([t.table[n] for t in self.tapers]) for n in self.table}
        return Span(length, np.array([0.0, length]), table)

    def has(self, name: str) -> bool:
        """Return whether the section gives a property."""
        return name in self.table

    def at(self, name: str, x: Array, nu: int = 0) -> Array:
        """Evaluate a property, or its first derivative, at x [m]; at a jump just beyond it."""
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
        node, weight = gauss_points(points)
        half = np.diff(edges_of_panels) / 2
        centres = edges_of_panels[:-1] + half
        return (centres[:, None] + half[:, None] * node).ravel(), (half[:, None] * weight).ravel()


def union(*edges: Array) -> Array:
    """Return the sorted union of panel edges.

    For few edges `numpy.union1d` takes ten times as long.
    """
    positions = sorted(x for array in edges for x in array.tolist())
    return np.array(
        [x for x, previous in zip(positions, [None, *positions], strict=False) if x != previous]
    )


@cache
def gauss_points(count: int) -> tuple[Array, Array]:
    """Return Gauss-Legendre points and weights on (-1, 1), cached: callers must not modify them."""
    node, weight = np.polynomial.legendre.leggauss(count)
    return node, weight
