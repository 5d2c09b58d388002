"""A sliding link's shapes at one place as CasADi expressions of its exposed length.

Derivatives by the length are material: a section moves out with the beam, and so along the shapes,
``d xi/dl = (1 - xi)/l`` with xi = x/l (the derivative of Theodore & Ghosal 1995, eqs 19-21, taken
at a fixed material point).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.polynomial import chebyshev

from flexarm.links.base import Array, Direction
from flexarm.links.sliding import SlidingShapes
from flexarm.spatial import Expr, constant

BENDING: tuple[Direction, Direction] = ("y", "z")


@dataclass(frozen=True)
class SlidingCurves:
    """Rows of a section of a sliding link with m amplitudes.

    Attributes
    ----------
    shape, shape_l
        Displacement per amplitude, (3, m), and its material derivative by the exposed length.
    angle, angle_l
        First-order section angles per amplitude, (3, m), and the same derivative.
    drawn, drawn_l
        Quadratic form of the axial shortening, (m, m), and the same derivative.
    """

    shape: Expr
    shape_l: Expr
    angle: Expr
    angle_l: Expr
    drawn: Expr
    drawn_l: Expr


@dataclass(frozen=True)
class Factors:
    """Factors a(l) of the parent curves per direction, (K, m), and two derivatives by l."""

    value: dict[Direction, Expr]
    rate: dict[Direction, Expr]
    second: dict[Direction, Expr]


def length_factors(shapes: SlidingShapes, length: Expr) -> Factors:
    """Evaluate the factors of a sliding link's parent curves at an exposed length [m]."""
    low, high = shapes.range
    order = max(len(f) for f in shapes.factors.values())
    powers = _chebyshev((2 * length - low - high) / (high - low), order)
    derived: list[dict[Direction, Expr]] = []
    for nu in range(3):
        scale = (2 / (high - low)) ** nu
        derived.append(
            {
                direction: _mix(
                    powers, np.asarray(chebyshev.chebder(series, nu) * scale, dtype=np.float64)
                )
                for direction, series in shapes.factors.items()
            }
        )
    return Factors(*derived)


def chebyshev_series(series: Array, range_: tuple[float, float], length: Expr) -> Expr:
    """Evaluate a Chebyshev series of matrices (R, a, b) over a range of lengths."""
    low, high = range_
    powers = _chebyshev((2 * length - low - high) / (high - low), len(series))
    return _mix(powers, series)


def symbolic_factors(shapes: SlidingShapes) -> Factors:
    """Make symbols that stand for the factors, with the same structural zeros."""
    derived: list[dict[Direction, Expr]] = []
    for nu in range(3):
        named = {}
        for direction, series in shapes.factors.items():
            used = ca.DM(chebyshev.chebder(series, nu).any(axis=0).astype(float))
            named[direction] = ca.SX.sym(f"a{nu}{direction}", ca.sparsify(used).sparsity())
        derived.append(named)
    return Factors(*derived)


def sliding_curves(
    shapes: SlidingShapes,
    length: Expr,
    factors: Factors,
    xi: float,
    *,
    shift: Expr | float = 0.0,
    drawn: bool = True,
) -> SlidingCurves:
    """Evaluate a sliding link's shapes at xi + shift, the shift to first order.

    Parameters
    ----------
    shapes
        The link's shapes.
    length
        Exposed length [m].
    factors
        What `length_factors` gives at that length.
    xi
        Place x/l, a number.
    shift
        An expression whose value is 0: differentiating by it follows the material.
    drawn
        Whether the shortening is wanted; its forms are zero otherwise.
    """
    left = (1 - xi - shift) / length

    def row(direction: Direction, nu: int) -> tuple[Expr, Expr]:
        """Give a direction's nu-th derivative by x and its material derivative by the length."""
        here, next_, after = (_parent_row(shapes, direction, xi, nu + k) for k in range(3))
        parent, slope = here + shift * next_, next_ + shift * after
        scale = 1 / length**nu
        value = parent @ factors.value[direction]
        change = slope @ factors.value[direction] * left + parent @ factors.rate[direction]
        return value * scale, (change - nu * value / length) * scale

    u, v, w, twist = (row(direction, 0) for direction in ("x", "y", "z", "twist"))
    slope_v, slope_w = row("y", 1), row("z", 1)
    m = len(shapes.names)
    form = form_l = type(length).zeros(m, m)
    if drawn:
        form, form_l = _drawn(shapes, length, factors, xi, shift)
        squares = slope_v[0].T @ slope_v[0] + slope_w[0].T @ slope_w[0]
        form_l = form_l + squares * left * length
    return SlidingCurves(
        shape=ca.vertcat(u[0], v[0], w[0]),
        shape_l=ca.vertcat(u[1], v[1], w[1]),
        angle=ca.vertcat(twist[0], -slope_w[0], slope_v[0]),
        angle_l=ca.vertcat(twist[1], -slope_w[1], slope_v[1]),
        drawn=form,
        drawn_l=form_l,
    )


def curvature_forms(shapes: SlidingShapes, length: Expr) -> list[tuple[float, Expr, Expr, Expr]]:
    """List, per quadrature point in xi, its weight and what bends, twists and stretches there.

    Each entry is ``(weight, slopes, curvatures, strains)``: slopes and curvatures along y and z,
    (2, m), and the rates of twist and stretch along x, (2, m).
    """
    factors = length_factors(shapes, length)
    result = []
    for xi, weight in zip(*sliding_points(shapes), strict=True):

        def rows(directions: tuple[Direction, Direction], nu: int, at: float = xi) -> Expr:
            values = [_parent_row(shapes, d, at, nu) @ factors.value[d] for d in directions]
            return ca.vertcat(*values) / length**nu

        strains = rows(("twist", "x"), 1)
        result.append((float(weight), rows(BENDING, 1), rows(BENDING, 2), strains))
    return result


def sliding_points(shapes: SlidingShapes) -> tuple[Array, Array]:
    """Place Gauss-Legendre points in xi: enough for products of four of the shapes."""
    degree = 0
    for curves in shapes.parents.values():
        used = np.flatnonzero(np.abs(curves).max(axis=(0, 1), initial=0.0) > 1e-15)
        degree = max(degree, int(used.max(initial=0)))
    return unit_points(shapes.edges, min(2 * degree + 2, 24))


def unit_points(edges: Array, count: int) -> tuple[Array, Array]:
    """Place Gauss-Legendre points with their weights on every panel of xi."""
    node, weight = np.polynomial.legendre.leggauss(count)
    half = np.diff(edges) / 2
    return (
        ((edges[:-1] + half)[:, None] + half[:, None] * node).ravel(),
        (half[:, None] * weight).ravel(),
    )


def _drawn(
    shapes: SlidingShapes, length: Expr, factors: Factors, xi: float, shift: Expr | float
) -> tuple[Expr, Expr]:
    """Form ``int_0^x`` of squared slopes and its derivative by the length at fixed xi."""
    m = len(shapes.names)
    form, change = type(length).zeros(m, m), type(length).zeros(m, m)
    edges = np.concatenate([shapes.edges[shapes.edges < xi - 1e-12], [xi]])
    places, weight = unit_points(edges, 40)
    for direction in BENDING:
        slopes = shapes.values(direction, places, 1)
        here = shapes.values(direction, np.array([xi]), 1)
        table = constant(slopes * weight @ slopes.T) + shift * constant(here @ here.T)
        value, rate = factors.value[direction], factors.rate[direction]
        pulled = table @ value
        form += value.T @ pulled
        cross = rate.T @ pulled
        change += cross + cross.T
    return form / length, change / length - form / length**2


def _parent_row(shapes: SlidingShapes, direction: Direction, xi: float, nu: int) -> Expr:
    return constant(shapes.values(direction, np.array([xi]), nu).T)


def _chebyshev(t: Expr, count: int) -> list[Expr]:
    """Evaluate Chebyshev polynomials T_0.. at t."""
    values = [type(t)(1), t]
    for _ in range(count - 2):
        values.append(2 * t * values[-1] - values[-2])
    return values[:count]


def _mix(weights: Sequence[Expr], series: Array) -> Expr:
    """Sum a series of (K, m) matrices with scalar weights."""
    total = weights[0] * constant(series[0])
    for weight, term in zip(weights[1:], series[1:], strict=False):
        total = total + weight * constant(term)
    return total
