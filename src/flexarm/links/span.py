"""The flexible span of a link: its section properties along its length."""

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from flexarm.arm.section import Box, IBeam, Material, Properties, Rectangle, Section, Tube

Array = npt.NDArray[np.float64]
PROPERTIES = ("mass_per_length", "EIy", "EIz", "GJ", "EA", "Jx", "Jy", "Jz")


def rectangle_torsion(width: float, height: float) -> float:
    """Saint-Venant torsion constant [m^4] of a solid rectangle.

    Notes
    -----
    Timoshenko & Goodier, Theory of Elasticity: the series in odd n of tanh(n pi a/2b)/n^5, summed
    as its limit 31 zeta(5)/32 and what tanh falls short of 1.
    """
    a, b = max(width, height), min(width, height)
    odd = np.arange(1, 41, 2)
    short = np.sum((np.tanh(odd * math.pi * a / (2 * b)) - 1) / odd**5)
    series = 31 / 32 * 1.0369277551433699 + float(short)
    return a * b**3 / 3 * (1 - 192 / math.pi**5 * b / a * series)


def section_numbers(
    shape: Rectangle | Tube | Box | IBeam,
) -> tuple[float, float, float, float]:
    """Area [m^2], second moments about y and z and torsion constant [m^4] of a shape."""
    if isinstance(shape, Rectangle):
        b, h = shape.width, shape.height
        return b * h, b * h**3 / 12, h * b**3 / 12, rectangle_torsion(b, h)
    if isinstance(shape, Tube):
        outer = shape.diameter
        inner = 0.0 if shape.thickness is None else outer - 2 * shape.thickness
        second = math.pi / 64 * (outer**4 - inner**4)
        return math.pi / 4 * (outer**2 - inner**2), second, second, 2 * second
    if isinstance(shape, Box):
        b, h, t = shape.width, shape.height, shape.thickness
        bi, hi = b - 2 * t, h - 2 * t
        bm, hm = b - t, h - t
        torsion = 2 * t * (bm * hm) ** 2 / (bm + hm)  # Bredt, thin closed wall
        return b * h - bi * hi, (b * h**3 - bi * hi**3) / 12, (h * b**3 - hi * bi**3) / 12, torsion
    b, h, f, w = shape.width, shape.height, shape.flange, shape.web
    web_height = h - 2 * f
    area = 2 * b * f + web_height * w
    about_y = (b * h**3 - (b - w) * web_height**3) / 12
    about_z = (2 * f * b**3 + web_height * w**3) / 12
    torsion = (2 * b * f**3 + web_height * w**3) / 3  # thin open wall
    return area, about_y, about_z, torsion


def shape_properties(
    material: Material, shape: Rectangle | Tube | Box | IBeam, *, rotary: bool
) -> Properties:
    """Section properties of a material and a shape."""
    area, about_y, about_z, torsion = section_numbers(shape)
    shear = material.G
    if shear is None:
        shear = material.E / (2 * (1 + (0.3 if material.nu is None else material.nu)))
    return Properties(
        mass_per_length=material.density * area,
        EIy=material.E * about_y,
        EIz=material.E * about_z,
        GJ=shear * torsion,
        EA=material.E * area,
        Jx=material.density * (about_y + about_z),
        Jy=material.density * about_y if rotary else 0.0,
        Jz=material.density * about_z if rotary else 0.0,
    )


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
                    section.material, section.shape, rotary=section.rotary_inertia
                )
            rows, stations = (uniform, uniform), np.array([0.0, length])
        given = [n for n in PROPERTIES if getattr(rows[0], n) is not None]
        table = {n: np.array([getattr(r, n) for r in rows], dtype=float) for n in given}
        return cls(length, stations, table)

    @cached_property
    def edges(self) -> Array:
        """Panel edges [m] between which all properties are smooth."""
        return np.unique(self.stations)

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
        joined = self.edges if edges is None else np.union1d(self.edges, edges)
        keep = np.concatenate(([True], np.diff(joined) > 1e-12 * self.length))
        joined = joined[keep]
        node, weight = gauss_points(points)
        half = np.diff(joined) / 2
        middle = joined[:-1] + half
        return (middle[:, None] + half[:, None] * node).ravel(), (half[:, None] * weight).ravel()


@cache
def gauss_points(count: int) -> tuple[Array, Array]:
    """Points and weights of Gauss and Legendre on (-1, 1); not to be written to."""
    node, weight = np.polynomial.legendre.leggauss(count)
    return node, weight
