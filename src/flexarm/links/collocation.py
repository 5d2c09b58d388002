"""Nodes along a span at which tangents are taken, and what their interpolation weighs.

A section's bending rotation vector is the sum of its slope shapes, so the axis of a bent span is
``r(x) = int_0^x (1 + eps) t(angle)``.  The tangents ``P = (1 + eps) t`` are taken at a few nodes
and interpolated in a space that holds 1 and the slopes of the shapes, so that whatever is linear in
the amplitudes is exact however few nodes there are, then the principal parts of the slopes'
products: ``r(x) = sum_g I_g(x) P_g``, and integrals over the mass are constant matrices between
tangents.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import legendre

from flexarm.links.base import Array, Direction, Shapes
from flexarm.links.span import Span, gauss_points

FINE = 64  # points of a single panel
FINE_OF_MANY = 20  # of each of several
# Slopes of shapes fall off so: the higher one is, the less its products matter.
FALL = 1.5
RANK = 1e-9
UNSOLVABLE = 1e4  # condition of a space at nodes that are not those of all its functions
DUST = 1e-6  # weight of polynomials, which fill a space where products do not
STIFFNESSES = (("EIz", "EIy"), ("EIy", "EIz"), ("GJ",))  # and what stands for those left out
TRIPLE, STRETCHED = 0.2, 0.1  # weights of products of three slopes, and of a slope and a stretch
LOCAL = 1.6  # panels are collocated one by one if that takes no more nodes than this


@dataclass(frozen=True)
class Collocation:
    """Shapes of a span at G nodes, and integrals of what the nodes' tangents span; m amplitudes.

    Attributes
    ----------
    x
        Distance of the nodes from the root [m], (G,).
    bend, curve
        First and second derivatives of the displacements along y and z, (2, G, m).
    stretch, straight
        The tangent's length is ``straight + stretch d``: 1 and the derivative of the displacement
        along x, (G,) and (G, m); where that displacement jumps, 0 and the jump.
    twist, torsion
        Rotation about x and its derivative, (G, m).
    stiffness
        EIz, EIy and GJ that a node stands for [N m^3], (3, G).
    polar
        Where sections' rotary inertia about their axes is taken, of a span that twists.
    gram
        ``int mu I^a I^b`` for two of the axes x, y, z, (3, 3, G, G).
    mean
        ``int mu I^a``, (3, G).
    factor
        ``gram[a, a] = factor[a].T @ factor[a]``, the first row along ``mean[a]``, (3, G, G).
    tip
        ``I^a`` at the tip, (3, G).
    tip_bend, tip_twist
        Slopes along y and z and rotation about x at the tip, (2, m) and (m,).
    edges, series
        Panels [m], and Legendre series of ``I^a`` on each, (3, panels, order, G).
    common
        Whether the three axes have one space.
    more
        How many nodes there are beyond the number of shapes.
    """

    x: Array
    bend: Array
    curve: Array
    stretch: Array
    straight: Array
    twist: Array
    torsion: Array
    stiffness: Array
    polar: "Polar | None"
    gram: Array
    mean: Array
    factor: Array
    tip: Array
    tip_bend: Array
    tip_twist: Array
    edges: Array
    series: Array
    common: bool
    more: int

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self.x)

    @cached_property
    def bends(self) -> tuple[bool, bool]:
        """Whether shapes bend the span along y, along z."""
        return bool(np.any(self.bend[0])), bool(np.any(self.bend[1]))

    @cached_property
    def stretches(self) -> bool:
        """Whether shapes stretch the span."""
        return bool(np.any(self.stretch))

    @cached_property
    def twists(self) -> bool:
        """Whether shapes twist the span."""
        return bool(np.any(self.twist))

    @cached_property
    def cross(self) -> Array:
        """``int mu psi^a psi^b`` between functions that are orthonormal per axis, (3, 3, G, G)."""
        inverse = [np.linalg.pinv(factor) for factor in self.factor]
        return np.array(
            [[inverse[a].T @ self.gram[a, b] @ inverse[b] for b in range(3)] for a in range(3)]
        )

    def reach(self, x: Array) -> Array:
        """Evaluate ``I_g^a``, (3, len(x), G)."""
        panel = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.edges) - 2)
        low, high = self.edges[panel], self.edges[panel + 1]
        powers = legendre.legvander((2 * x - low - high) / (high - low), self.series.shape[2] - 1)
        return np.asarray(np.einsum("sk,askg->asg", powers, self.series[:, panel]))


def collocate(span: Span, shapes: Shapes, more: int) -> Collocation:
    """Choose nodes for the shapes of a span.

    Parameters
    ----------
    span, shapes
        The span and its shape functions.
    more
        How many nodes there are beyond the number of shapes in the direction that has most.
    """
    fine = Fine.of(span, shapes, more)
    counts, edges, spaces = _by_panels(fine, more) or _at_once(fine, more)
    nodes, weights = _gauss(edges, counts)
    to_nodes = fine.to(nodes)
    cards = [space @ np.linalg.inv(to_nodes @ space) for space in spaces]
    reach = np.stack([fine.running @ card for card in cards])
    where, jumps = _jumps(fine, shapes)
    beyond = np.where(fine.x[:, None] > where, 1.0, 0.0)
    reach = np.concatenate([reach, np.stack([beyond] * 3)], axis=2)
    tip = np.stack([np.append(fine.weights @ card, np.ones(len(where))) for card in cards])
    heavy = reach * fine.mass[:, None]
    gram = np.einsum("apg,bph->abgh", heavy, reach)
    gram = (gram + gram.transpose(1, 0, 3, 2)) / 2
    mean, end = heavy.sum(axis=1), np.array([span.length])
    # a tangent at an edge is that of the panel which the edge opens
    x, weights = np.append(nodes, where), np.append(weights, 0 * where)
    inside = np.append(nodes, where + 1e-9 * span.length)

    def of(direction: Direction, nu: int, places: Array = inside) -> Array:
        return _clean(shapes.values(direction, places, nu))

    return Collocation(
        x=x,
        bend=np.stack([of("y", 1), of("z", 1)]),
        curve=np.stack([of("y", 2), of("z", 2)]),
        stretch=np.concatenate([of("x", 1, nodes), jumps]),
        straight=np.append(0 * nodes + 1, 0 * where),
        twist=of("twist", 0),
        torsion=of("twist", 1),
        stiffness=weights * np.stack([_stiffness(span, n, x) for n in STIFFNESSES]),
        polar=_polar(span, shapes, *_gauss(edges, _polar_counts(counts))),
        gram=gram,
        mean=mean,
        factor=np.stack([_factor(gram[a, a], mean[a]) for a in range(3)]),
        tip=tip,
        tip_bend=np.stack([of("y", 1, end)[0], of("z", 1, end)[0]]),
        tip_twist=of("twist", 0, end)[0],
        edges=fine.edges,
        series=np.stack([fine.series(part) for part in reach]),
        common=all(space is spaces[0] for space in spaces),
        more=more,
    )


def _jumps(fine: "Fine", shapes: Shapes) -> tuple[Array, Array]:
    """Find where displacements along x jump [m], (J,), and by how much, (J, m)."""
    inner = fine.edges[1:-1]
    step = 1e-9 * fine.edges[-1]
    jumps = shapes.values("x", inner + step) - shapes.values("x", inner - step)
    size = np.abs(shapes.values("x", fine.x)).max(initial=0.0)
    found = np.abs(jumps).max(axis=1, initial=0.0) > 1e-3 * size
    return inner[found], _clean(np.where(np.abs(jumps) > 1e-3 * size, jumps, 0.0)[found])


@dataclass(frozen=True)
class Polar:
    """Sections that stand for a span's rotary inertia about its axis, p of them.

    Attributes
    ----------
    inertia
        Inertia of each [kg m^2], (p,).
    bend
        Derivatives of the displacements along y and z, (2, p, m).
    twist
        Rotation about x, (p, m).
    """

    inertia: Array
    bend: Array
    twist: Array


def _polar_counts(counts: list[int]) -> list[int]:
    """Take fewer sections than nodes along a whole span, of which little depends."""
    return [max(counts[0] - 2, 1)] if len(counts) == 1 else counts


def _polar(span: Span, shapes: Shapes, x: Array, weights: Array) -> Polar | None:
    """Take sections for the rotary inertia, if it is there and sections turn."""
    inertia, twist = weights * span.at("Jx", x), _clean(shapes.values("twist", x))
    if not np.any(inertia) or not np.any(twist):
        return None
    bend = np.stack([_clean(shapes.values("y", x, 1)), _clean(shapes.values("z", x, 1))])
    return Polar(inertia, bend, twist)


@dataclass(frozen=True)
class Fine:
    """Points close enough that functions of a span are known between them; p points in n panels.

    Attributes
    ----------
    edges
        Panels [m], (n + 1,).
    x, weights, mass
        Points [m], quadrature weights [m] and the mass that each stands for [kg], (p,).
    slopes
        Derivatives of the displacements along x, y, z, of those shapes that have any, (p, k) each.
    """

    edges: Array
    x: Array
    weights: Array
    mass: Array
    slopes: tuple[Array, Array, Array]

    @classmethod
    def of(cls, span: Span, shapes: Shapes, more: int) -> "Fine":
        """Take the slopes of shapes, at more points than there will be nodes."""
        edges = np.union1d(span.edges, shapes.edges)
        edges = edges[np.concatenate(([True], np.diff(edges) > 1e-9 * span.length))]
        edges[-1] = span.length
        x, weights = span.quadrature(more + (FINE if len(edges) == 2 else FINE_OF_MANY), edges)
        slopes = [_live(shapes.values(d, x, 1)) for d in ("x", "y", "z")]
        mass = weights * span.at("mass_per_length", x)
        return cls(edges, x, weights, mass, (slopes[0], slopes[1], slopes[2]))

    @property
    def panels(self) -> int:
        """Number of panels."""
        return len(self.edges) - 1

    @property
    def order(self) -> int:
        """Points of a panel."""
        return len(self.x) // self.panels

    @cached_property
    def running(self) -> Array:
        """Integrate from the root up to each point, (p, p)."""
        matrix = np.zeros((len(self.x), len(self.x)))
        node, _ = gauss_points(self.order)
        integrals = np.stack(
            [legendre.Legendre.basis(k).integ(lbnd=-1)(node) for k in range(self.order)], axis=1
        )
        inside = integrals @ np.linalg.inv(legendre.legvander(node, self.order - 1))
        for panel, half in enumerate(np.diff(self.edges) / 2):
            rows = self.of_panel(panel)
            matrix[rows, rows] = half * inside
            matrix[rows, : rows.start] = self.weights[: rows.start]
        return matrix

    def of_panel(self, panel: int) -> slice:
        """Tell where the points of a panel stand."""
        return slice(panel * self.order, (panel + 1) * self.order)

    def to(self, places: Array) -> Array:
        """Interpolate from the points to places [m], (len(places), p)."""
        node, _ = gauss_points(self.order)
        back = np.linalg.inv(legendre.legvander(node, self.order - 1))
        panel = np.clip(np.searchsorted(self.edges, places, side="right") - 1, 0, self.panels - 1)
        matrix = np.zeros((len(places), len(self.x)))
        for row, (x, k) in enumerate(zip(places.tolist(), panel.tolist(), strict=True)):
            low, high = self.edges[k : k + 2]
            t = np.array([(2 * x - low - high) / (high - low)])
            matrix[row, self.of_panel(k)] = legendre.legvander(t, self.order - 1)[0] @ back
        return matrix

    def series(self, values: Array) -> Array:
        """Write functions at the points, (p, G), as Legendre series of each panel."""
        node, _ = gauss_points(self.order)
        back = np.linalg.inv(legendre.legvander(node, self.order - 1))
        parts = [back @ values[self.of_panel(k)] for k in range(self.panels)]
        return np.stack(parts)


# Numbers of nodes, the edges between which they stand, and a space for each of x, y, z.
Choice = tuple[list[int], Array, list[Array]]


def _by_panels(fine: Fine, more: int) -> Choice | None:
    """Take nodes in each panel, for shapes that are short there; None if that takes many."""
    counts, blocks, held_by_all = [], [], 0
    for panel in range(fine.panels):
        rows = fine.of_panel(panel)
        w = fine.weights[rows]
        linear = np.hstack([np.ones((fine.order, 1)), *[s[rows] for s in fine.slopes]])
        held = _orthonormal(linear, w)
        held_by_all += held.shape[1]
        counts.append(held.shape[1] + more - 1)
        low, high = fine.edges[panel : panel + 2]
        fill = legendre.legvander((2 * fine.x[rows] - low - high) / (high - low), counts[-1])
        blocks.append(_filled(held, fill, w, counts[-1]))
    shapes = 1 + max(s.shape[1] for s in fine.slopes)
    if fine.panels == 1 or held_by_all > LOCAL * shapes:
        return None
    space, column = np.zeros((len(fine.x), sum(counts))), 0
    for panel, block in enumerate(blocks):
        space[fine.of_panel(panel), column : column + block.shape[1]] = block
        column += block.shape[1]
    return counts, fine.edges, [space] * 3


def _at_once(fine: Fine, more: int) -> Choice:
    """Take nodes over the whole span: one space for all axes in a plane, else one for each."""
    stretch, *bends = fine.slopes
    one = np.ones((len(fine.x), 1))
    s, a, b = _falling(stretch), *(_falling(bend) for bend in bends)
    squares = _products(a, a) + _products(b, b)
    square = np.stack(squares, axis=1) if squares else np.zeros((len(fine.x), 0))
    flat = not stretch.shape[1] and not (bends[0].shape[1] and bends[1].shape[1])
    if flat:
        bend, slope = (bends[0], a) if bends[0].shape[1] else (bends[1], b)
        count = bend.shape[1] + more
        held = [np.hstack([one, bend])]
        further = [squares + _products(square, slope, TRIPLE)]
    else:
        most = max(bends[0].shape[1], bends[1].shape[1], stretch.shape[1])
        count = most + more
        held = [np.hstack([one, stretch]), bends[0], bends[1]]
        further = [squares + _products(square, s, STRETCHED)]
        further += [
            _products(square, slope, TRIPLE) + _products(s, slope, STRETCHED) for slope in (a, b)
        ]
    whole = ([count], fine.edges[[0, -1]])
    for counts, edges in ((_shared_out(fine, count), fine.edges), whole):
        if len(counts) != len(edges) - 1:
            continue
        fill, spaces = _polynomials(fine.x, edges, counts), []
        for linear, products in zip(held, further, strict=True):
            start = _orthonormal(linear if linear.shape[1] else one, fine.weights)
            rest = np.stack([*products, *(DUST * fill.T)], axis=1)
            spaces.append(_filled(start, rest, fine.weights, count))
        at_nodes = fine.to(_gauss(edges, counts)[0])
        if max(np.linalg.cond(at_nodes @ space) for space in spaces) < UNSOLVABLE:
            break
    return counts, edges, spaces * (3 if flat else 1)


def _shared_out(fine: Fine, count: int) -> list[int]:
    """Share nodes out among panels by their lengths, if each gets two."""
    if fine.panels == 1 or count < 2 * fine.panels:
        return [count]
    counts = np.full(fine.panels, 2)
    for _ in range(count - counts.sum()):
        counts[np.argmax(np.diff(fine.edges) / counts)] += 1
    return [int(n) for n in counts]


def _polynomials(x: Array, edges: Array, counts: list[int]) -> Array:
    """Evaluate polynomials between edges, one more than nodes, (p, k)."""
    rows = []
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        inside = (x > low) & (x < high)
        values = legendre.legvander((2 * x - low - high) / (high - low), count)
        rows.append(np.where(inside[:, None], values, 0.0))
    return np.concatenate(rows, axis=1)


def _gauss(edges: Array, counts: list[int]) -> tuple[Array, Array]:
    """Place Gauss points between edges [m], with their weights [m]."""
    half = np.diff(edges) / 2
    points = [gauss_points(count) for count in counts]
    x = [low + h * (1 + node) for low, h, (node, _) in zip(edges, half, points, strict=False)]
    return np.concatenate(x), np.concatenate(
        [h * weight for h, (_, weight) in zip(half, points, strict=True)]
    )


def _orthonormal(functions: Array, weights: Array) -> Array:
    """Span functions, (p, k), by orthonormal ones."""
    root = np.sqrt(weights)[:, None]
    sizes = np.linalg.norm(root * functions, axis=0)
    scaled = (root * functions)[:, sizes > 0] / sizes[sizes > 0]
    left, values, _ = np.linalg.svd(scaled, full_matrices=False)
    return np.asarray(left[:, values > RANK * values[0]] / root)


def _filled(held: Array, further: Array, weights: Array, count: int) -> Array:
    """Add the principal parts of further functions up to a count."""
    root = np.sqrt(weights)[:, None]
    start, rest = root * held, root * further
    for _ in range(2):
        rest = rest - start @ (start.T @ rest)
    found = np.linalg.svd(rest, full_matrices=False)[0]
    return np.hstack([held, found[:, : max(count - held.shape[1], 0)] / root])


def _falling(slopes: Array) -> Array:
    """Scale slopes to what they amount to in smooth motions."""
    sizes = np.abs(slopes).max(axis=0, initial=0.0)
    return np.asarray(slopes / (sizes * np.arange(1, slopes.shape[1] + 1) ** FALL))


def _products(a: Array, b: Array, factor: float = 1.0) -> list[Array]:
    return [factor * x * y for x in a.T for y in b.T]


def _factor(gram: Array, mean: Array) -> Array:
    """Factor a Gram matrix into ``F^T F``, the first row of F along the mean."""
    values, vectors = np.linalg.eigh(gram)
    top = values.max(initial=0.0)
    if top <= 0:
        return np.zeros_like(gram)
    kept = values > 1e-15 * top
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    first = np.linalg.lstsq(root.T, mean, rcond=None)[0]
    turned = np.linalg.qr(np.column_stack([first, np.eye(len(first))]))[0]
    turned = turned * np.sign(turned[:, 0] @ first)
    factor = np.zeros_like(gram)
    rows = turned.T @ root
    factor[0] = rows[0]
    below = np.linalg.qr(rows[1:])[1]
    factor[1 : 1 + len(below)] = below
    return factor


def _stiffness(span: Span, names: tuple[str, ...], x: Array) -> Array:
    """Evaluate the first of some stiffnesses that the section has, or 0."""
    return next((span.at(name, x) for name in names if span.has(name)), 0 * x)


def _live(slopes: Array) -> Array:
    """Keep the columns that are not zero."""
    cleaned = _clean(slopes)
    return np.asarray(cleaned[:, np.any(cleaned != 0, axis=0)])


def _clean(values: Array) -> Array:
    """Set rounding dust to zero, so that traced equations skip it."""
    size = np.abs(values).max(initial=0.0)
    return np.where(np.abs(values) <= 1e-13 * size, 0.0, values)
