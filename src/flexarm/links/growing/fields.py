"""Motion of a sliding link's material: fields of xi = x/l, linear in coefficients.

A section moves out with the beam and so along the shapes, ``d xi/dt = (1 - xi) l'/l`` (the time
derivative of Theodore & Ghosal 1995, eqs 19-21, taken at a fixed material point).  Displacement,
velocity per coordinate and acceleration are then combinations of a few functions of xi,
``P, (1 - xi) P', (1 - xi)^2 P''`` with the parent curves P (where a factor is the length itself,
``(1 - xi) P' + P`` in the middle, whose two parts come with one coefficient).  Integrals over the
exposed part are constant matrices between the coefficients.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.polynomial import chebyshev

from flexarm.links.base import DIRECTIONS, Array, Direction
from flexarm.links.fields import AXES, Axis, Basis, Field, Functions, MovingField, evaluate
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.links.span import gauss_points
from flexarm.spatial import Expr, constant

_POINTS = 48


@dataclass(frozen=True)
class ParentFactors:
    """A direction's parent factors times amplitudes and rates at the current length."""

    matrix: Expr
    value: Expr  # A d
    slope: Expr  # A' d
    rate: Expr  # A d'
    bend: Expr  # A'' d l'^2 + 2 A' d' l'
    scales: Array  # 1 where A is a multiple of the length, else 0


class SlidingMotion:
    """The motion of a sliding link's material in terms of its own coordinates.

    Parameters
    ----------
    shapes
        The link's shapes, m of them.
    own, rates
        Exposed length and amplitudes, and their rates, (1 + m,).
    """

    def __init__(self, shapes: SlidingShapes, own: Expr, rates: Expr) -> None:
        self.shapes = shapes
        self.length, self.out = own[0], rates[0]
        self.d, self.d_rate = own[1:], rates[1:]
        plain = {d: self._factors(d) for d in shapes.factors}
        self._plain = plain
        self._divided = {d: self._over_length(f) for d, f in plain.items()}

    def displacement(self) -> MovingField:
        """Return the displacement field of the exposed part, from the hub's mouth."""
        x, y, z = (self._direction(self._plain[d]) for d in AXES)
        columns = [Field(*c) for c in zip(x[1], y[1], z[1], strict=True)]
        new = type(self.length)
        one, xi = new(ca.DM([1, 0])), new(ca.DM([0, 1]))
        value = Field(ca.vertcat(xi * self.length, x[0]), y[0], z[0])
        columns = [
            Field(ca.vertcat(one if k == 0 else new(2, 1), c.x), c.y, c.z)
            for k, c in enumerate(columns)
        ]
        bias = Field(ca.vertcat(new(2, 1), x[2]), y[2], z[2])
        return MovingField(value, tuple(columns), bias)

    def slopes(self) -> ParentFactors:
        """Return each parent curve's part of the angles: slopes by x, and twist itself."""
        parts = [self._plain[d] if d == "twist" else self._divided[d] for d in DIRECTIONS]
        return ParentFactors(
            matrix=ca.vertcat(*[f.matrix for f in parts]),
            value=ca.vertcat(*[f.value for f in parts]),
            slope=ca.vertcat(*[f.slope for f in parts]),
            rate=ca.vertcat(*[f.rate for f in parts]),
            bend=ca.vertcat(*[f.bend for f in parts]),
            scales=np.concatenate([f.scales for f in parts]),
        )

    def rotation(self) -> MovingField:
        """Return the first-order angles of the sections: twist, -z', y'."""
        x = self._direction(self._plain["twist"])
        y = self._direction(self._divided["z"])
        z = self._direction(self._divided["y"])
        columns = [Field(a, -b, c) for a, b, c in zip(x[1], y[1], z[1], strict=True)]
        return MovingField(Field(x[0], -y[0], z[0]), tuple(columns), Field(x[2], -y[2], z[2]))

    def angles(self, xi: float) -> tuple[Expr, Expr, Expr]:
        """Return a section's first-order angles (3,), their columns (3, k) and second rate (3,)."""
        return evaluate(self.rotation(), self.rotation_functions(np.array([xi])))

    def displacement_functions(self, xi: Array) -> Functions:
        """Evaluate the functions of the displacement at places xi."""
        x = [np.ones_like(xi)[None], xi[None], _moved_rows(self.shapes, "x", xi)]
        functions: dict[Axis, Array] = {"x": np.concatenate(x)}
        functions["y"], functions["z"] = (_moved_rows(self.shapes, d, xi) for d in ("y", "z"))
        return functions

    def rotation_functions(self, xi: Array) -> Functions:
        """Evaluate the functions of the section angles at places xi."""
        return {
            "x": _moved_rows(self.shapes, "twist", xi),
            "y": _rows(self.shapes, "z", 1, xi),
            "z": _rows(self.shapes, "y", 1, xi),
        }

    def displacement_basis(self) -> Basis:
        """Integrate the functions of the displacement over xi."""
        return _integrated(self.shapes, self.displacement_functions, {"x": 2})

    def rotation_basis(self) -> Basis:
        """Integrate the functions of the section angles over xi."""
        return _integrated(self.shapes, self.rotation_functions, {})

    def _factors(self, direction: Direction) -> ParentFactors:
        series = self.shapes.factors[direction]
        low, high = range_ = self.shapes.range
        derived = (chebyshev.chebder(series, nu) / ((high - low) / 2) ** nu for nu in range(3))
        a, a1, a2 = (chebyshev_series(np.asarray(d), range_, self.length) for d in derived)
        bend = a2 @ self.d * self.out**2 + 2 * (a1 @ self.d_rate) * self.out
        scales = _scales(self.shapes, direction)
        return ParentFactors(a, a @ self.d, a1 @ self.d, a @ self.d_rate, bend, scales)

    def _over_length(self, f: ParentFactors) -> ParentFactors:
        """Divide factors by the length, which slopes by x are more than slopes by xi."""
        l, out = self.length, self.out
        value = f.value / l
        slope = f.slope / l - value / l
        rate = f.rate / l
        bend = f.bend / l - 2 * out * (f.slope * out + f.rate) / l**2 + 2 * value * out**2 / l**2
        return ParentFactors(f.matrix / l, value, slope, rate, bend, 0 * f.scales)

    def _direction(self, f: ParentFactors) -> tuple[Expr, list[Expr], Expr]:
        """Coefficients of ``P, (1 - xi) P', (1 - xi)^2 P''``: value, columns, bias.

        Where A grows with the length, ``A = A' l``, the second function is ``(1 - xi) P' + P``.
        """
        none = type(f.value)(f.value.shape[0], 1)
        turn = self.out / self.length
        value = ca.vertcat(f.value, none, none)
        scales, other = constant(f.scales), constant(1 - f.scales)
        along = scales * f.slope + other * (f.value / self.length)
        columns = [ca.vertcat(other * f.slope, along, none)]
        columns += [ca.vertcat(f.matrix[:, j], none, none) for j in range(self.d.shape[0])]
        moving = f.slope * self.out + f.rate
        along = scales * f.bend + other * (2 * turn * moving - 2 * turn**2 * f.value)
        bias = ca.vertcat(other * f.bend, along, turn**2 * f.value)
        return value, columns, bias


def exposed_points(shapes: SlidingShapes) -> tuple[Array, Array]:
    """Place Gauss-Legendre points with their weights on every panel of xi."""
    node, weight = gauss_points(_POINTS)
    half = np.diff(shapes.edges) / 2
    return (
        ((shapes.edges[:-1] + half)[:, None] + half[:, None] * node).ravel(),
        (half[:, None] * weight).ravel(),
    )


def length_factor(shapes: SlidingShapes, direction: Direction, length: Expr) -> Expr:
    """Evaluate the factors of a direction's parent curves at an exposed length [m], (K, m)."""
    return chebyshev_series(shapes.factors[direction], shapes.range, length)


def chebyshev_series(series: Array, range_: tuple[float, float], length: Expr) -> Expr:
    """Evaluate a Chebyshev series of matrices (R, a, b) over a range of lengths."""
    low, high = range_
    if len(series) == 1:
        return constant(series[0]) * type(length)(1)
    if len(series) == 2:
        start, slope = _line(series, range_)
        return constant(start) + length * constant(slope)
    t = (2 * length - low - high) / (high - low)
    values = [type(t)(1), t]
    total = constant(series[0]) + t * constant(series[1])
    for term in series[2:]:
        values.append(2 * t * values[-1] - values[-2])
        total = total + values[-1] * constant(term)
    return total


def _line(series: Array, range_: tuple[float, float]) -> tuple[Array, Array]:
    """Write a series (2, a, b) as ``start + slope l``; start is 0 for multiples of the length."""
    low, high = range_
    slope = series[1] / ((high - low) / 2)
    start = series[0] - slope * ((low + high) / 2)
    # three roundings of numbers of the first coefficient's size
    rounding = 4 * np.finfo(float).eps * np.abs(series[0])
    return np.where(np.abs(start) <= rounding, 0.0, start), slope


def _scales(shapes: SlidingShapes, direction: Direction) -> Array:
    """Mark the parents whose factors are multiples of the length by 1, others by 0, (K,)."""
    series = shapes.factors[direction]
    if len(series) != 2:
        return np.zeros(series.shape[1])
    start, slope = _line(series, shapes.range)
    return np.where(np.any(slope, axis=1) & ~np.any(start, axis=1), 1.0, 0.0)


def _moved_rows(shapes: SlidingShapes, direction: Direction, xi: Array) -> Array:
    """Stack the functions of a displacement or twist, (3 K, g)."""
    rows = _rows(shapes, direction, 0, xi)
    count = len(rows) // 3
    rows[count : 2 * count] += _scales(shapes, direction)[:, None] * rows[:count]
    return rows


def _rows(shapes: SlidingShapes, direction: Direction, nu: int, xi: Array) -> Array:
    """Stack ``P, (1 - xi) P', (1 - xi)^2 P''`` of the nu-th derivatives, (3 K, g)."""
    left = 1 - xi
    return np.concatenate([left**k * shapes.values(direction, xi, nu + k) for k in range(3)])


def _integrated(
    shapes: SlidingShapes, functions: Callable[[Array], Functions], before: Mapping[Axis, int]
) -> Basis:
    """Integrate functions that are stacked by `_rows`, after some others per axis.

    Where elements meet the second third jumps, so the last has a pulse there, which weighs what
    jumps too by its mean: momentum that sections take up as they pass such places.
    """
    places, weights = exposed_points(shapes)
    inner, pulses = shapes.edges[1:-1], []
    low, high = functions(np.nextafter(inner, 0.0)), functions(inner)
    for b in AXES:
        start = before.get(b, 0)
        count = (len(high[b]) - start) // 3
        pulse = ((1 - inner) * (high[b] - low[b]))[start + count : start + 2 * count]
        size = np.abs(high[b]).max(initial=0.0)
        pulses += [0 * high[b][: start + 2 * count]]
        pulses += [np.where(np.abs(pulse) > 1e-10 * size, pulse, 0.0)]
    middle = np.concatenate([(low[a] + high[a]) / 2 for a in AXES])
    return Basis.of(functions(places), weights, (middle, np.concatenate(pulses)))
