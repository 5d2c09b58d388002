"""Displacement fields of a sliding link as functions of xi = x/l, with l the exposed length.

A material section moves out with the beam, so that its xi changes by ``d xi/dt = (1 - xi) l'/l``.
This rate is the time derivative of Theodore & Ghosal 1995, equations 19 to 21, at a fixed material
point; primes of l and of the amplitudes d are time derivatives. Displacement, velocity per
coordinate rate and acceleration are therefore linear combinations of the functions ``P, (1 - xi)
P', (1 - xi)^2 P''`` of the parent curves P. If the factor of a parent curve is proportional to the
length, the second function is ``(1 - xi) P' + P``, since these two terms have the same coefficient.
Mass integrals of products of two such fields are constant matrices between their coefficients.

Geometrically exact links have collocation nodes at fixed xi. Sections rotate by the angles ``sum_k
chi_k'(xi) e_k`` with the parent curves chi and ``e = a(l) d/l``. With the axis tangents P_g at the
nodes, the cardinal functions l_g and their integrals I_g, a section is at ``r = l sum_g I_g(xi)
P_g``. A material section has the velocity (primes are time derivatives)

    ``sum_g I_g (l P_g)' + l' (1 - xi) sum_g l_g P_g``,

and, at constant l', the acceleration

    ``sum_g I_g (l P_g)'' + 2 l' (1 - xi) sum_g l_g P_g' + (l'^2/l) (1 - xi)^2 sum_g dl_g/dxi P_g``.

Interpolated tangents may jump between panels. Integrating the last term of this acceleration by
parts includes the momentum that sections gain as they pass a jump. Properties of a linearly tapered
section are ``c_0 + c_1 (1 - xi) l``; their integrals are sums of integrals with the weights ``(1 -
xi)^k``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.polynomial import chebyshev

from flexarm.links.base import DIRECTIONS, Direction, Span
from flexarm.links.basis import own_stiffness
from flexarm.links.collocation import Collocation, collocate
from flexarm.links.constants import FIT_ERROR, SERIES_POINTS
from flexarm.links.fields import AXES, Amounts, Axis, Basis, Field, Functions, MovingField, evaluate
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.links.integrals import settled_pairs
from flexarm.spatial import Array, Expr, constant, settled


@dataclass(frozen=True)
class ParentFactors:
    """Factors A(l) of the curves of a link of length l, times amplitudes d and their rates."""

    matrix: Expr
    value: Expr  # A d
    slope: Expr  # A' d
    rate: Expr  # A d'
    bend: Expr  # A'' d l'^2 + 2 A' d' l'
    scales: Array  # 1 for each curve whose factor is proportional to the length, else 0


class SlidingMotion:
    """Motion of a sliding link's material points as a function of the link coordinates.

    Parameters
    ----------
    shapes
        The m shape functions of the link.
    own, rates
        Exposed length and amplitudes, shape (1 + m,), and their time derivatives.
    """

    def __init__(self, shapes: SlidingShapes, own: Expr, rates: Expr) -> None:
        self.shapes = shapes
        self.length, self.out = own[0], rates[0]
        self.d, self.d_rate = own[1:], rates[1:]
        plain = {d: self._factors(d) for d in shapes.factors}
        self._plain = plain
        self._divided = {d: self._over_length(f) for d, f in plain.items()}

    def displacement(self) -> MovingField:
        """Return the positions of the exposed part, measured from the hub's mouth, as a field."""
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

    def amounts(self) -> Amounts:
        """Return the variables on which section angles depend linearly, and their rates.

        The variables are the amplitudes of the curves over xi, divided by the exposed length.
        """
        parts = [self._plain[d] if d == "twist" else self._divided[d] for d in DIRECTIONS]
        slope = ca.vertcat(*[f.slope for f in parts])
        columns = ca.horzcat(slope, ca.vertcat(*[f.matrix for f in parts]))
        rate = slope * self.out + ca.vertcat(*[f.rate for f in parts])
        value, bias = ca.vertcat(*[f.value for f in parts]), ca.vertcat(*[f.bend for f in parts])
        return Amounts(value, rate, bias, columns.shape[1], columns, self.length, self.out)

    def rotation(self) -> MovingField:
        """Return the first-order section angles, twist, -dz/dx and dy/dx, as a field."""
        x = self._direction(self._plain["twist"])
        y = self._direction(self._divided["z"])
        z = self._direction(self._divided["y"])
        columns = [Field(a, -b, c) for a, b, c in zip(x[1], y[1], z[1], strict=True)]
        return MovingField(Field(x[0], -y[0], z[0]), tuple(columns), Field(x[2], -y[2], z[2]))

    def angles(self, xi: float) -> tuple[Expr, Expr, Expr]:
        """Return the angles (3,) of the section at xi, with their Jacobian (3, k) and bias (3,).

        The angles are of first order. The bias is their second time derivative at zero
        accelerations of the link coordinates.
        """
        return evaluate(self.rotation(), self.rotation_functions(np.array([xi])))

    def displacement_functions(self, xi: Array) -> Functions:
        """Evaluate the basis functions of the `displacement` field at xi."""
        x = [np.ones_like(xi)[None], xi[None], _moved_rows(self.shapes, "x", xi)]
        functions: dict[Axis, Array] = {"x": np.concatenate(x)}
        functions["y"], functions["z"] = (_moved_rows(self.shapes, d, xi) for d in ("y", "z"))
        return functions

    def rotation_functions(self, xi: Array) -> Functions:
        """Evaluate the basis functions of the `rotation` field at xi."""
        return {
            "x": _moved_rows(self.shapes, "twist", xi),
            "y": _rows(self.shapes, "z", 1, xi),
            "z": _rows(self.shapes, "y", 1, xi),
        }

    def displacement_basis(self, k: int) -> Basis:
        """Integrate the functions of the `displacement` field with the weight ``(1 - xi)^k``."""
        return integrated(self.shapes.edges, self.displacement_functions, k, {"x": 2})

    def rotation_basis(self, k: int) -> Basis:
        """Integrate the functions of the `rotation` field with the weight ``(1 - xi)^k``."""
        return integrated(self.shapes.edges, self.rotation_functions, k, {})

    def _factors(self, direction: Direction) -> ParentFactors:
        series = self.shapes.factors[direction]
        low, high = range_ = self.shapes.range
        derived = (chebyshev.chebder(series, nu) / ((high - low) / 2) ** nu for nu in range(3))
        a, a1, a2 = (chebyshev_series(np.asarray(d), range_, self.length) for d in derived)
        bend = a2 @ self.d * self.out**2 + 2 * (a1 @ self.d_rate) * self.out
        scales = _scales(self.shapes, direction)
        return ParentFactors(a, a @ self.d, a1 @ self.d, a @ self.d_rate, bend, scales)

    def _over_length(self, f: ParentFactors) -> ParentFactors:
        """Return the factors divided by the exposed length, for slopes d/dx instead of d/dxi."""
        l, out = self.length, self.out
        value = f.value / l
        slope = f.slope / l - value / l
        rate = f.rate / l
        bend = f.bend / l - 2 * out * (f.slope * out + f.rate) / l**2 + 2 * value * out**2 / l**2
        return ParentFactors(f.matrix / l, value, slope, rate, bend, 0 * f.scales)

    def _direction(self, f: ParentFactors) -> tuple[Expr, list[Expr], Expr]:
        """Return position, Jacobian and acceleration bias in one direction, as coefficients.

        The basis functions are ``P, (1 - xi) P', (1 - xi)^2 P''`` with the curves P. For factors
        proportional to the length, ``A = A' l``, the second function is ``(1 - xi) P' + P``.
        """
        none = type(f.value)(f.value.shape[0], 1)
        turn = self.out / self.length
        value = ca.vertcat(f.value, none, none)
        scales, other = constant(f.scales), constant(1 - f.scales)
        along = scales * f.slope + other * (f.value / self.length)
        columns: list[Expr] = [ca.vertcat(other * f.slope, along, none)]
        columns += [ca.vertcat(f.matrix[:, j], none, none) for j in range(self.d.shape[0])]
        moving = f.slope * self.out + f.rate
        along = scales * f.bend + other * (2 * turn * moving - 2 * turn**2 * f.value)
        bias = ca.vertcat(other * f.bend, along, turn**2 * f.value)
        return value, columns, bias


def exposed_stiffness(shapes: SlidingShapes, length: Expr) -> list[tuple[Expr, Array]]:
    """Return stiffness matrices (K, K) of slopes and twists, one per section of `Span.tapers`.

    Each matrix is paired with exponents e, (K,): its row i is proportional to the power e_i of the
    exposed length. Entries between different directions are 0.
    """
    sizes = [np.full(len(shapes.parents[d]), 1.0 if d == "x" else -1.0) for d in DIRECTIONS]
    powers, matrices = np.concatenate(sizes), list[tuple[Expr, Array]]()
    for k, taper in enumerate(shapes.span.tapers):
        form = own_stiffness(shapes.parent_shapes(), taper)
        form = settled_pairs(form, FIT_ERROR * form)
        stretched, bent = (constant(chosen * form) for chosen in (powers > 0, powers < 0))
        matrices.append((length**k * (stretched * length + bent / length), powers + k))
    return matrices


def parent_amplitudes(shapes: SlidingShapes, length: Array, d: Array) -> Array:
    """Compute the K amplitudes of a sliding link's curves over xi at T lengths, (T, K)."""
    amounts = [(shapes.factor(axis, length) @ d[:, :, None])[:, :, 0] for axis in DIRECTIONS]
    return np.concatenate(amounts, axis=1)


def length_factor(shapes: SlidingShapes, direction: Direction, length: Expr) -> Expr:
    """Evaluate the factors a(l) of the curves of a direction at a length l [m], (K, m)."""
    return chebyshev_series(shapes.factors[direction], shapes.range, length)


def chebyshev_series(series: Array, range_: tuple[float, float], length: Expr) -> Expr:
    """Evaluate a Chebyshev series with matrix coefficients (R, a, b) at a length [m], (a, b).

    The series is over the interval ``range_`` of lengths [m].
    """
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
    """Return start and slope of a two-term Chebyshev series (2, a, b): ``start + slope l``.

    A start at rounding level is set to 0, so that the series is proportional to the length.
    """
    low, high = range_
    slope = series[1] / ((high - low) / 2)
    start = series[0] - slope * ((low + high) / 2)
    # bound on rounding errors relative to the first coefficient
    rounding = 4 * np.finfo(float).eps * np.abs(series[0])
    return np.where(np.abs(start) <= rounding, 0.0, start), slope


def _scales(shapes: SlidingShapes, direction: Direction) -> Array:
    """Return 1 for each curve over xi whose factor is proportional to the length, else 0, (K,)."""
    series = shapes.factors[direction]
    if len(series) != 2:
        return np.zeros(series.shape[1])
    start, slope = _line(series, shapes.range)
    return np.where(np.any(slope, axis=1) & ~np.any(start, axis=1), 1.0, 0.0)


def _moved_rows(shapes: SlidingShapes, direction: Direction, xi: Array) -> Array:
    """Evaluate the basis functions of a displacement or twist at g values of xi, (3 K, g)."""
    rows = _rows(shapes, direction, 0, xi)
    count = len(rows) // 3
    rows[count : 2 * count] += _scales(shapes, direction)[:, None] * rows[:count]
    return rows


def _rows(shapes: SlidingShapes, direction: Direction, nu: int, xi: Array) -> Array:
    """Evaluate ``P, (1 - xi) P', (1 - xi)^2 P''`` for nu-th derivatives P of curves, (3 K, g)."""
    left = 1 - xi
    return np.concatenate([left**k * shapes.values(direction, xi, nu + k) for k in range(3)])


def integrated(
    edges: Array, functions: Callable[[Array], Functions], power: int, before: Mapping[Axis, int]
) -> Basis:
    """Return integrals over xi of curves P, ``(1 - xi) P'`` and ``(1 - xi)^2 P''``, per axis.

    The integrand has the weight ``(1 - xi)^power``. The curves P are smooth between ``edges``;
    ``before`` is the number of other functions that precede P on each axis.

    At edges the functions with P' jump, so that the functions with P'' have a pulse. The pulse
    times the mean of a jumping function is the momentum that sections gain as they pass the edge.
    """
    places, weights = Span(1.0, edges[[0, -1]], {}).quadrature(SERIES_POINTS, edges)
    weights = weights * (1 - places) ** power
    inner, pulses = edges[1:-1], []
    low, high = functions(np.nextafter(inner, 0.0)), functions(inner)
    for b in AXES:
        start = before.get(b, 0)
        count = (len(high[b]) - start) // 3
        pulse = ((1 - inner) ** (power + 1) * (high[b] - low[b]))[start + count : start + 2 * count]
        size = np.abs(high[b]).max(initial=0.0)
        pulses += [0 * high[b][: start + 2 * count]]
        pulses += [np.where(np.abs(pulse) > 1e-10 * size, pulse, 0.0)]
    middle = np.concatenate([(low[a] + high[a]) / 2 for a in AXES])
    return Basis.of(functions(places), weights, (middle, np.concatenate(pulses)))


@dataclass(frozen=True)
class GrowingNodes(Collocation):
    """Collocation data of a sliding link's parent curves over xi = x/l, for unit length.

    The mass per unit of xi is ``w = (1 - xi)^power``; stiffness and rotary inertia are those of the
    section of this power in `Span.tapers`. ``l^a`` is the vector of the G cardinal functions for
    axis a, and ``I^a`` the vector of their integrals from 0 to xi.
    """

    passing: Array  # ``int w I^a (1 - xi) l^b`` for axes a and b, (3, 3, G, G)
    passed: Array  # ``int w (1 - xi)^2 l^a l^b``, (3, 3, G, G)
    gain: Array  # ``int w (1 - xi) l^a``, (3, G)
    power: int
    # Data of the same nodes for the higher powers of 1 - xi.
    further: tuple["GrowingNodes", ...] = ()

    # Sums over nodes always use `gram`; the mass matrix of the amplitudes always uses `factor`.
    basis: ClassVar[None] = None  # link coordinates are not combined
    even: ClassVar[bool] = True
    uses_roots: ClassVar[bool] = True

    @classmethod
    def of(cls, shapes: SlidingShapes, excess: int, power: int = 0) -> "GrowingNodes":
        """Select nodes: ``excess`` more than shapes, and at least one more than parent curves.

        The returned data belong to the exponent ``power``; their attribute ``further`` contains the
        data of higher exponents.
        """
        further = max(
            len(curves) - int(np.any(shapes.factors[direction], axis=(0, 1)).sum())
            for direction, curves in shapes.parents.items()
        )
        asked, excess = max(excess, 1 + further), max(excess - further, 1)
        taper, *others = shapes.span.tapers[power:]
        mass = {"mass_per_length": np.array([1.0, 0.0**power])}
        span, parents = replace(taper, table=taper.table | mass), shapes.parent_shapes()
        nodes = collocate(span, parents, excess, points=False)
        x, weights = span.quadrature(nodes.curves[0].degree + 2, nodes.edges)
        reach = np.stack([curves(x) for curves in nodes.curves])
        past = np.stack([curves(x, 1) for curves in nodes.curves]) * (1 - x)[:, None]
        heavy = past * (weights * (1 - x) ** power)[:, None]
        rotary = nodes.rotary * bool(np.any(nodes.bend))
        return cls(
            **vars(replace(nodes, excess=asked, rotary=rotary)),
            passing=settled(np.einsum("apg,bph->abgh", reach, heavy)),
            passed=settled(np.einsum("apg,bph->abgh", past, heavy)),
            gain=settled(heavy.sum(axis=1)),
            power=power,
            further=tuple(cls.of(shapes, asked, power + k) for k in range(1, 1 + len(others))),
        )

    @property
    def powers(self) -> "tuple[GrowingNodes, ...]":
        """Collocation data per section of `Span.tapers`: these and those of higher powers."""
        return (self, *self.further)

    def functions(self, xi: Array) -> Functions:
        """Evaluate ``I, (1 - xi) l, (1 - xi)^2 dl/dxi`` at xi, shape (3 G, len(xi)) per axis.

        Here l are the cardinal functions of the G nodes, and I their integrals from 0 to xi.
        """
        left = 1 - xi
        return {
            axis: np.vstack([(left**nu * curves(xi, nu).T) for nu in range(3)])
            for axis, curves in zip(AXES, self.curves, strict=True)
        }

    def integrals(self) -> Basis:
        """Compute the integrals over xi of the `functions` and of their products."""
        return integrated(self.edges, self.functions, self.power, {})
