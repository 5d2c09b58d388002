"""Flexible link as a rail for carriages: shape functions as Legendre series of the station."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from flexarm.constants import ACCUMULATED, DUST
from flexarm.errors import ShapeError
from flexarm.links.base import Direction, Shapes, Span, derivative, fitted, union
from flexarm.links.collocation import Collocation
from flexarm.links.constants import JUMP_SIZE, RAIL_POINTS
from flexarm.spatial import Array, settled


@dataclass(frozen=True)
class Rail:
    """Legendre series of the shapes of a link on which a carriage rides.

    The link has m amplitudes and p panels.
    """

    # Distance [m] from the link's root, which is station 0, to the flexible span's root.
    root: float
    range: tuple[float, float]  # first and last station [m]
    edges: Array  # panels of the span [m], (p + 1,)
    # Legendre series of the displacements and of the rotation about x, and of their first to third
    # derivatives, (4, p, terms, m) each.
    x: Array
    y: Array
    z: Array
    twist: Array
    # For an exact beam with G nodes: series of the integrated cardinal functions along x, y, z, and
    # of their first two derivatives, (3, 3, p, terms, G); else None.
    reach: Array | None
    jumps: Array  # stations [m] at which curvature, torsion or axial strain jumps

    @classmethod
    def of(cls, span: Span, shapes: Shapes, nodes: Collocation | None, root: float) -> "Rail":
        """Build the rail of a span whose root is ``root`` [m] beyond the root of the link.

        Raises
        ------
        ShapeError
            If the displacements or the slopes of a shape jump somewhere along the span.
        """
        edges = union(span.edges, shapes.edges)
        if nodes is not None:
            edges = union(edges, nodes.edges)
        edges = edges[np.append(True, np.diff(edges) > 1e-12 * span.length)]
        x, y, z, twist = (_curves(shapes, d, edges) for d in ("x", "y", "z", "twist"))
        functions = ((y, 1), (z, 1), (twist, 0), (x, 0))
        for series, order in functions:
            for station in _jumps(series[order], edges):
                raise ShapeError(
                    f"a carriage cannot pass the kink of its rail's shapes at {station:g} m. "
                    "Choose other shapes for the rail."
                )
        jumps = [_jumps(series[order + 1], edges) for series, order in functions]
        reach, half = None, np.diff(edges)[:, None, None] / 2
        if nodes is not None:
            orders = [stacked([_series(curves, edges, ACCUMULATED) for curves in nodes.curves])]
            for _ in range(2):
                orders.append(derivative(orders[-1]) / half)
            reach = stacked(orders)
        ends = (root, root + span.length)
        return cls(
            root, ends, edges, x, y, z, twist, reach, root + np.unique(np.concatenate(jumps))
        )


def _curves(shapes: Shapes, direction: Direction, edges: Array) -> Array:
    """Return Legendre series of one direction's shapes and their derivatives, (4, p, terms, m)."""
    # Bending rotations are slopes, which need one more derivative.
    extra_derivatives = 0 if direction in ("x", "twist") else 1
    series = [
        _series(partial(shapes.values, direction, nu=nu), edges)
        for nu in range(3 + extra_derivatives)
    ]
    return stacked(series + [0 * series[0]] * (1 - extra_derivatives), axis=0)


def _series(values: Callable[[Array], Array], edges: Array, threshold: float = DUST) -> Array:
    """Return m functions as Legendre series on p panels, (p, terms, m)."""
    for count in RAIL_POINTS:
        fit = fitted(lambda x: settled(values(x)), edges, count)
        size = np.abs(fit).max(axis=(0, 2), initial=0.0)
        significant = np.flatnonzero(size > threshold * size.max(initial=0.0))
        if not len(significant) or significant[-1] < count - 2:
            break
    return np.asarray(fit[:, : int(significant[-1]) + 1 if len(significant) else 1])


def stacked(series: list[Array], axis: int = 0) -> Array:
    """Stack Legendre series of different lengths, padded with zero coefficients."""
    length = max(part.shape[-2] for part in series)
    no_padding = [(0, 0)] * (series[0].ndim - 2)
    padded = [np.pad(part, [*no_padding, (0, length - part.shape[-2]), (0, 0)]) for part in series]
    return np.stack(padded, axis)


def _jumps(series: Array, edges: Array) -> Array:
    """Return the inner panel edges [m] at which functions with series (p, terms, m) jump."""
    sign = (-1.0) ** np.arange(series.shape[1])
    ends, starts = series.sum(axis=1), np.einsum("k,pkm->pm", sign, series)
    size = np.abs(series).sum(axis=1).max(initial=0.0)
    difference = np.abs(ends[:-1] - starts[1:]).max(axis=1, initial=0.0)
    return np.asarray(edges[1:-1][difference > JUMP_SIZE * size])
