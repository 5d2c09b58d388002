"""The flexible span of a link: its section properties along its length."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from flexarm.arm.section import Properties, Section, shape_properties
from flexarm.spatial import Array

PROPERTIES = ("mass_per_length", "EIy", "EIz", "GJ", "EA", "GAy", "GAz", "Jx", "Jy", "Jz")


@dataclass(frozen=True)
class Span:
    """A flexible span of given length [m] and its properties at stations, linear in between.

    ``table[name]`` holds the property at each of ``stations``; a stiffness that the section
    leaves out is absent: rigid in that direction.
    """

    length: float
    stations: Array
    table: dict[str, Array]

    @classmethod
    def of(cls, section: Section, length: float) -> "Span":
        """Read a section over a span of the given length."""
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
        given = [n for n in PROPERTIES if getattr(rows[0], n) is not None]
        table = {n: np.array([getattr(r, n) for r in rows]) for n in given}
        return cls(length, stations, table)

    @cached_property
    def contents(self) -> tuple[object, ...]:
        """All numbers, to compare spans by."""
        columns = tuple((name, values.tobytes()) for name, values in self.table.items())
        return (self.length, self.stations.tobytes(), *columns)

    @cached_property
    def edges(self) -> Array:
        """Panel edges [m] between which all properties are smooth."""
        return union(self.stations)

    @property
    def uniform(self) -> bool:
        """Whether every property is constant along the span."""
        return all(bool(np.all(v == v[0])) for v in self.table.values())

    def has(self, name: str) -> bool:
        """Whether a property is given."""
        return name in self.table

    def at(self, name: str, x: Array) -> Array:
        """Evaluate a property inside the panels (a jump belongs to the panel it opens)."""
        values = self.table[name]
        if np.all(values == values[0]):
            return np.full(np.shape(x), values[0])
        left = np.clip(np.searchsorted(self.stations, x, side="right") - 1, 0, None)
        left = np.minimum(left, len(self.stations) - 2)
        x0, x1 = self.stations[left], self.stations[left + 1]
        width = np.where(x1 > x0, x1 - x0, 1.0)
        t = np.where(x1 > x0, (x - x0) / width, 0.0)
        return np.asarray(values[left] * (1 - t) + values[left + 1] * t)

    def quadrature(self, points: int, edges: Array | None = None) -> tuple[Array, Array]:
        """Gauss-Legendre points [m] and weights [m] on every panel of the span.

        Parameters
        ----------
        points
            Number of points per panel.
        edges
            Further panel edges [m], joined with those of the properties.
        """
        joined = self.edges if edges is None else union(self.edges, edges)
        keep = np.concatenate(([True], np.diff(joined) > 1e-12 * self.length))
        joined = joined[keep]
        node, weight = gauss_points(points)
        half = np.diff(joined) / 2
        middle = joined[:-1] + half
        return (middle[:, None] + half[:, None] * node).ravel(), (half[:, None] * weight).ravel()


def union(*edges: Array) -> Array:
    """Merge edges of panels in rising order; `numpy.union1d` takes ten times as long for so few."""
    found = sorted(x for each in edges for x in each.tolist())
    return np.array([x for x, before in zip(found, [None, *found], strict=False) if x != before])


@cache
def gauss_points(count: int) -> tuple[Array, Array]:
    """Points and weights of Gauss and Legendre on (-1, 1); not to be written to."""
    node, weight = np.polynomial.legendre.leggauss(count)
    return node, weight
