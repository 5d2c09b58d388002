"""Selection of collocation nodes along a bent span, and of interpolation functions.

The space of interpolation functions contains 1 and the slopes of the shapes. The space is completed
by the dominant singular vectors of products of slopes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import legendre

from flexarm.constants import NEGLIGIBLE
from flexarm.errors import ShapeError
from flexarm.links.base import (
    Direction,
    Shapes,
    Span,
    SpanCurves,
    legendre_fit,
    panel_points,
    union,
)
from flexarm.links.constants import (
    COMPLETION_WEIGHT,
    FINE_POINTS,
    FINE_POINTS_PER_PANEL,
    LARGEST_AMPLIFICATION,
    MOST_EXACT_SHAPES,
    MOST_FUNCTIONS_PER_SHAPE,
    SLOPE_DECAY,
    STRETCH_WEIGHT,
    TRIPLE_WEIGHT,
)
from flexarm.links.fields import AXES
from flexarm.spatial import Array, settled


@dataclass(frozen=True)
class Fine:
    """Quadrature points that resolve a span's functions finely: p points on n panels."""

    edges: Array  # panels [m], (n + 1,)
    # Points [m], quadrature weights [m], and weights times mass per length [kg], (p,) each.
    x: Array
    weights: Array
    mass: Array
    # Derivatives of the displacements along x, y and z, (p, k) each, for the k shapes with a
    # displacement along this axis.
    slopes: tuple[Array, Array, Array]
    panels: int  # number of panels of the span
    order: int  # number of quadrature points per panel

    @classmethod
    def of(cls, span: Span, shapes: Shapes, excess: int) -> "Fine":
        """Sample the slopes of shapes at more points than there will be collocation nodes."""
        edges = union(span.edges, shapes.edges)
        edges = edges[np.concatenate(([True], np.diff(edges) > 1e-9 * span.length))]
        edges[-1] = span.length
        points = FINE_POINTS_PER_PANEL
        if len(edges) == 2:  # as many as resolve products of three slopes
            degrees = [curves.degree for axis in AXES for curves in shapes.curves.get(axis, ())]
            points = min(3 * max(degrees, default=0) + 1, FINE_POINTS)
        x, weights = span.quadrature(excess + points, edges)
        slopes = [live(axis_slopes(shapes, d, x)) for d in AXES]
        mass = weights * span.at("mass_per_length", x)
        panels = len(edges) - 1
        all_slopes = (slopes[0], slopes[1], slopes[2])
        return cls(edges, x, weights, mass, all_slopes, panels, len(x) // panels)

    def of_panel(self, panel: int) -> slice:
        """Return the slice of point indices that belong to a panel."""
        return slice(panel * self.order, (panel + 1) * self.order)

    def series(self, values: Array) -> Array:
        """Return the Legendre coefficients on each panel, (n, order, k), of k functions (p, k)."""
        return np.asarray(legendre_fit(self.order) @ values.reshape(self.panels, self.order, -1))

    def at(self, positions: Array, values: Array) -> Array:
        """Interpolate k functions, (p, k) at the points, to P positions [m], (P, k)."""
        return SpanCurves.from_values(self.edges, self.series(values))(positions)


# Numbers of nodes per interval, the edges of the intervals, and a space for each of x, y, z.
Choice = tuple[list[int], Array, list[Array]]


def spaces_by_panels(fine: Fine, excess: int) -> Choice | None:
    """Select nodes and interpolation functions panel by panel; None if that is impossible.

    Selection by panels is impossible for a single panel, or if the panels need too many functions
    per shape.
    """
    if fine.panels == 1:
        return None
    counts, blocks, required = [], [], 0
    for panel in range(fine.panels):
        rows = fine.of_panel(panel)
        w = fine.weights[rows]
        linear = np.hstack([np.ones((fine.order, 1)), *[s[rows] for s in fine.slopes]])
        required_functions = _orthonormal(linear, w)
        required += required_functions.shape[1]
        counts.append(required_functions.shape[1] + excess - 1)
        low, high = fine.edges[panel : panel + 2]
        polynomials = legendre.legvander((2 * fine.x[rows] - low - high) / (high - low), counts[-1])
        blocks.append(_extended_space(required_functions, polynomials, w, counts[-1]))
    shapes = 1 + max(s.shape[1] for s in fine.slopes)
    if required > MOST_FUNCTIONS_PER_SHAPE * shapes:
        return None
    space, column = np.zeros((len(fine.x), sum(counts))), 0
    for panel, block in enumerate(blocks):
        space[fine.of_panel(panel), column : column + block.shape[1]] = block
        column += block.shape[1]
    return counts, fine.edges, [space] * 3


def spaces_by_span(fine: Fine, excess: int) -> Choice:
    """Select nodes and interpolation functions for the whole span, per axis unless planar."""
    stretch, *bends = fine.slopes
    constant = np.ones((len(stretch), 1))
    s, a, b = _scaled_slopes(stretch), *(_scaled_slopes(bend) for bend in bends)
    squares = _squares(a) + _squares(b)
    square = np.stack(squares, axis=-1) if squares else constant[:, :0]
    shape_counts = [slope.shape[-1] for slope in fine.slopes]
    if fine.panels == 1 and max(shape_counts) > MOST_EXACT_SHAPES:
        raise ShapeError(
            f"an exact link takes at most {MOST_EXACT_SHAPES} shapes in a direction, got "
            f"{max(shape_counts)}. Take fewer, or use linear theory ('stiffening: false')."
        )
    in_plane = not shape_counts[0] and not (shape_counts[1] and shape_counts[2])
    count = max(shape_counts) + excess
    if in_plane:
        bend, slope = (bends[0], a) if shape_counts[1] else (bends[1], b)
        required = [np.concatenate([constant, bend], axis=-1)]
        candidates = [squares + _products(square, slope, TRIPLE_WEIGHT)]
    else:
        required = [np.concatenate([constant, stretch], axis=-1), bends[0], bends[1]]
        candidates = [squares + _products(square, s, STRETCH_WEIGHT)]
        candidates += [
            _products(square, slope, TRIPLE_WEIGHT) + _products(s, slope, STRETCH_WEIGHT)
            for slope in (a, b)
        ]
    whole_span = ([count], fine.edges[[0, -1]])
    for counts, edges in ((_nodes_per_panel(fine, count), fine.edges), whole_span):
        if len(counts) != len(edges) - 1:
            continue
        polynomials, spaces = _polynomials(fine.x, edges, counts), []
        for linear, products in zip(required, candidates, strict=True):
            orthonormal = _orthonormal(linear if linear.shape[1] else constant, fine.weights)
            remaining = np.column_stack([*products, COMPLETION_WEIGHT * polynomials])
            spaces.append(_extended_space(orthonormal, remaining, fine.weights, count))
        if fine.panels == 1:
            break
        nodes = gauss_nodes(edges, counts)[0]
        if max(np.linalg.cond(fine.at(nodes, space)) for space in spaces) < LARGEST_AMPLIFICATION:
            break
    return counts, edges, spaces * (3 if in_plane else 1)


def _nodes_per_panel(fine: Fine, count: int) -> list[int]:
    """Return the numbers of nodes per panel, proportional to panel lengths, or only their total.

    Only the total is returned if there is one panel or fewer than two nodes per panel.
    """
    if fine.panels == 1 or count < 2 * fine.panels:
        return [count]
    counts = np.full(fine.panels, 2)
    for _ in range(count - counts.sum()):
        counts[np.argmax(np.diff(fine.edges) / counts)] += 1
    return [int(n) for n in counts]


def _polynomials(x: Array, edges: Array, counts: list[int]) -> Array:
    """Evaluate Legendre polynomials on each interval between edges at p positions, (p, k).

    An interval with n nodes has polynomials of degrees 0 to n, which are zero outside the interval.
    """
    rows = []
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        inside = (x > low) & (x < high)
        values = legendre.legvander((2 * x - low - high) / (high - low), count)
        rows.append(np.where(inside[:, None], values, 0.0))
    return np.concatenate(rows, axis=1)


def gauss_nodes(edges: Array, counts: list[int]) -> tuple[Array, Array]:
    """Return Gauss points [m] and weights [m] on all intervals, ``counts[i]`` in interval i."""
    rules = [panel_points(edges[k : k + 2], count) for k, count in enumerate(counts)]
    x, weights = (np.concatenate([rule[i].ravel() for rule in rules]) for i in range(2))
    return x, weights


def _orthonormal(functions: Array, weights: Array) -> Array:
    """Orthonormalise functions (p, k) in the inner product with the given weights."""
    root = np.sqrt(weights)[:, None]
    sizes = np.linalg.norm(root * functions, axis=0)
    scaled = (root * functions)[:, sizes > 0] / sizes[sizes > 0]
    vectors, values, _ = np.linalg.svd(scaled, full_matrices=False)
    return np.asarray(vectors[:, : int(np.sum(values > NEGLIGIBLE * values[0]))] / root)


def _extended_space(space: Array, candidates: Array, weights: Array, count: int) -> Array:
    """Return orthonormal functions ``space``, extended to ``count`` functions.

    The added functions are the left singular vectors, with the largest singular values, of the part
    of ``candidates`` orthogonal to ``space``.
    """
    root = np.sqrt(weights)[:, None]
    weighted_space, remainder = root * space, root * candidates
    for _ in range(2):
        remainder = remainder - weighted_space @ (weighted_space.T @ remainder)
    missing = min(max(count - space.shape[1], 0), *remainder.shape)
    if not missing:
        return space
    squares, vectors = np.linalg.eigh(remainder @ remainder.T)
    # The remaining eigenvalues are only rounding errors.
    if LARGEST_AMPLIFICATION * squares[-missing] < squares[-1]:
        vectors = np.linalg.svd(remainder, full_matrices=False)[0][:, ::-1]
    return np.hstack([space, vectors[:, : -missing - 1 : -1] / root])


def _scaled_slopes(slopes: Array) -> Array:
    """Return slopes scaled to unit size, with column k = 1, 2, ... divided by k^SLOPE_DECAY."""
    sizes = np.abs(slopes).max(axis=0, initial=0.0)
    return np.asarray(slopes / (sizes * np.arange(1, slopes.shape[1] + 1) ** SLOPE_DECAY))


def _products(a: Array, b: Array, factor: float = 1.0) -> list[Array]:
    return [factor * p * r for p in a.T for r in b.T]


def _squares(a: Array) -> list[Array]:
    """Return products of all pairs of columns; products of two unequal columns times sqrt(2)."""
    pairs = zip(*np.triu_indices(a.shape[1]), strict=True)
    return [(1.0 if i == j else 2**0.5) * a[:, i] * a[:, j] for i, j in pairs]


def live(slopes: Array) -> Array:
    """Return the columns of ``slopes`` that are nonzero beyond rounding."""
    snapped = settled(slopes)
    return np.asarray(snapped[:, np.any(snapped != 0, axis=0)])


def axis_slopes(shapes: Shapes, direction: Direction, x: Array) -> Array:
    """Evaluate the slope of the beam axis per amplitude, shear included, (len(x), m)."""
    return shapes.values(direction, x, 1) + shapes.shear_angle(direction, x)
