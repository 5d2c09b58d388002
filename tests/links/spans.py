"""Spans, ends and independent solutions that the tests of the discretisations share."""

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy.linalg

from flexarm.links.base import DIRECTIONS, Direction, Ends, Shapes, Span, SpanCurves
from flexarm.links.beams.finite import Conditions

Array = npt.NDArray[np.float64]
HELD = (math.inf, math.inf, math.inf)
BARE = Ends(HELD, 0.0, (0.0, 0.0, 0.0))
PROPERTIES = {
    "mass_per_length": 1.0,
    "EIy": 1.0,
    "EIz": 1.0,
    "GJ": 1.0,
    "EA": 1.0,
    "Jx": 1.0,
    "Jy": 0.0,
    "Jz": 0.0,
}


def uniform(length: float = 1.0, **properties: float) -> Span:
    """Make a uniform span; properties that are not given are 1, bending rotary inertia 0."""
    table = {n: np.full(2, v) for n, v in (PROPERTIES | properties).items()}
    return Span(length, np.array([0.0, length]), table)


def stationed(stations: npt.ArrayLike, **properties: npt.ArrayLike) -> Span:
    """Make a span from a table of stations; properties that are not given are as in `uniform`."""
    x = np.asarray(stations, dtype=float)
    table = {n: np.full(len(x), v) for n, v in PROPERTIES.items()}
    table |= {n: np.asarray(v, dtype=float) for n, v in properties.items()}
    return Span(float(x[-1]), x, table)


def without(span: Span, *names: str) -> Span:
    """Leave properties out of a span."""
    kept = {n: v for n, v in span.table.items() if n not in names}
    return Span(span.length, span.stations, kept)


def tapered() -> Span:
    """Make a span that tapers in all properties, with a jump and a slim end."""
    return stationed(
        [0.0, 0.5, 0.5, 1.4],
        mass_per_length=[3.0, 2.0, 1.5, 0.5],
        EIy=[9.0, 5.0, 4.0, 0.3],
        EIz=[5.0, 4.0, 2.0, 0.2],
        GJ=[4.0, 3.0, 2.5, 0.4],
        EA=[900.0, 800.0, 500.0, 100.0],
        Jx=[0.05, 0.04, 0.03, 0.01],
        Jy=[0.02, 0.02, 0.01, 0.004],
        Jz=[0.03, 0.02, 0.02, 0.006],
    )


def measured_order(errors: list[float], refinement: float) -> float:
    """Measure the order of convergence from errors on successively refined meshes."""
    return math.log(errors[-2] / errors[-1]) / math.log(refinement)


def frequencies(shapes: Shapes, span: Span, ends: Ends = BARE) -> Array:
    """Angular frequencies [rad/s] of a held link from its shapes, with the tip body of its ends."""
    x, weight = span.quadrature(30, shapes.edges)
    moved, turned = shapes.displacement(x), shapes.rotation(x)
    mass = np.einsum("g,gai,gaj->ij", weight * span.at("mass_per_length", x), moved, moved)
    for axis, name in enumerate(("Jx", "Jy", "Jz")):
        angle = turned[:, axis]
        mass += np.einsum("g,gi,gj->ij", weight * span.at(name, x), angle, angle)
    tip = np.array([span.length])
    moved, turned = shapes.displacement(tip)[0], shapes.rotation(tip)[0]
    lever = np.array([np.zeros(turned.shape[1]), turned[2], -turned[1]]) * ends.tip_offset
    mass += ends.tip_mass * (moved + lever).T @ (moved + lever)
    own = np.diag(ends.tip_inertia) - ends.tip_mass * ends.tip_offset**2 * np.diag([0, 1, 1])
    mass += turned.T @ own @ turned
    return np.sqrt(scipy.linalg.eigh(shapes.stiffness, mass, eigvals_only=True))


def ended(hub: float, mass: float = 0.0, inertia: float = 0.0, offset: float = 0.0) -> Conditions:
    """Clamp the root if the hub is infinite, else pin it."""
    if math.isinf(hub):
        return Conditions("clamped-free", 0.0, mass, inertia, offset)
    return Conditions("pinned-free", hub, mass, inertia, offset)


def sign_changes(function: Callable[[float], float], low: float, high: float, count: int) -> int:
    """Count the sign changes of a function on a grid."""
    values = np.array([function(x) for x in np.linspace(low, high, count)])
    return int(np.sum(values[:-1] * values[1:] < 0))


class Curve(Protocol):
    """A function of the distance along a span, or its ``nu``-th derivative."""

    def __call__(self, x: Array, nu: int = 0) -> Array: ...


def columns_of(curves: SpanCurves) -> list[Curve]:
    """List the functions one by one."""
    return [lambda x, nu=0, k=k: curves(x, nu)[:, k] for k in range(curves.count)]


def curves_of(shapes: Shapes) -> list[dict[Direction, Curve]]:
    """List the curves of each shape by their directions."""

    def curve(direction: Direction, k: int) -> Curve:
        return lambda x, nu=0: shapes.values(direction, x, nu)[:, k]

    return [
        {d: curve(d, k) for d in DIRECTIONS if k in shapes.moving(d)} for k in range(shapes.count)
    ]


def fitted(edges: Array, functions: Sequence[Curve]) -> SpanCurves:
    """Fit functions and each of their derivatives by polynomials between edges."""
    node, degree = np.polynomial.legendre.leggauss(30)[0], 29
    back: Array = np.asarray(np.linalg.inv(np.polynomial.legendre.legvander(node, degree)), float)
    x = (edges[:-1, None] + edges[1:, None]) / 2 + np.diff(edges)[:, None] / 2 * node
    series = [
        np.asarray(back @ np.stack([f(x.ravel(), nu).reshape(x.shape) for f in functions], axis=-1))
        for nu in range(4)
    ]
    return SpanCurves(edges, tuple(series), np.eye(len(functions)))
