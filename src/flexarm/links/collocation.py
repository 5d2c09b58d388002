"""Nodes along a span at which tangents are evaluated, and integrals of their interpolation.

A section's bending rotation vector is the sum of its slope shapes, so the axis of a bent span is
``r(x) = int_0^x (1 + eps) t(angle)``.  The tangents ``P = (1 + eps) t`` are taken at a few nodes
and interpolated in a space that holds 1 and the slopes of the shapes, so that whatever is linear in
the amplitudes is exact however few nodes there are, then the principal parts of the slopes'
products: ``r(x) = sum_g I_g(x) P_g``, and integrals over the mass are constant matrices between
tangents.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from flexarm.links.base import Array, Direction, Shapes
from flexarm.links.curves import polynomials
from flexarm.links.node_spaces import AXES, Fine, axis_slopes, chosen_spaces, gauss_nodes
from flexarm.links.span import Span
from flexarm.spatial import settled

SAME = 1e-12  # between functions, and of their products from 0 or 1
FAR = 16.0  # up to which nodes follow others, at which shapes are told apart
UNEVEN = 1e4  # of a sum, what its terms may add up to
# and what stands for those left out
STIFFNESSES = (("EIz", "EIy"), ("EIy", "EIz"), ("GJ",), ("GAy", "GAz"), ("GAz", "GAy"))


@dataclass(frozen=True)
class Collocation:
    """Shapes of a span at G nodes, and integrals of what the nodes' tangents span; m amplitudes."""

    x: Array  # distance of the nodes from the root [m], (G,)
    # bend, curve: first and second derivatives of the displacements along y and z, (2, G, m); where
    # sections shear, the slopes of the axis, and the first derivatives of the sections' turn.
    bend: Array
    curve: Array
    lean: Array  # slopes of the axis less the sections' turn, (2, G, m)
    # stretch, straight: the tangent's length is ``straight + stretch d``: 1 and the derivative of
    # the displacement along x, (G,) and (G, m); where that displacement jumps, 0 and the jump.
    stretch: Array
    straight: Array
    # twist, torsion: rotation about x and its derivative, (G, m).
    twist: Array
    torsion: Array
    # EIz, EIy and GJ that a node stands for [N m^3], and GAy and GAz [N m], (5, G).
    stiffness: Array
    # Rotary inertia [kg m^2] that a node's section has about its own axes beyond ``point``, (3, G).
    rotary: Array
    # Rotary inertia [kg m^2] of a node's section about every axis across its tangent, that of a
    # mass at the tip of the tangent, (G,).
    point: Array
    # ``int mu I^a I^b`` for two of the axes x, y, z, and ``point`` on the diagonals, (3, 3, G, G).
    gram: Array
    mean: Array  # ``int mu I^a``, (3, G)
    # ``gram[a, a] = factor[a].T @ factor[a]``, the first row along ``mean[a]``, (3, G, G).
    factor: Array
    tip: Array  # ``I^a`` at the tip, (3, G)
    # tip_bend, tip_twist: slopes along y and z and rotation about x at the tip, (2, m) and (m,).
    tip_bend: Array
    tip_twist: Array
    # edges, series: panels [m], and Legendre series of ``I^a`` on each, (3, panels, order, G).
    edges: Array
    series: Array
    common: bool  # whether the three axes have one space
    more: int  # how many nodes there are beyond the number of shapes

    @property
    def count(self) -> int:
        """Number of nodes."""
        return len(self.x)

    @cached_property
    def bends(self) -> tuple[bool, bool]:
        """Whether shapes bend the span along y, along z."""
        return bool(np.any(self.bend[0])), bool(np.any(self.bend[1]))

    @cached_property
    def leaning(self) -> bool:
        """Whether sections shear."""
        return bool(np.any(self.lean))

    @property
    def turn(self) -> Array:
        """Angles by which sections turn along y and z per amplitude, (2, G, m)."""
        return self.bend - self.lean if self.leaning else self.bend

    @cached_property
    def stretches(self) -> bool:
        """Whether shapes stretch the span."""
        return bool(np.any(self.stretch))

    @cached_property
    def twists(self) -> bool:
        """Whether shapes twist the span."""
        return bool(np.any(self.twist))

    @property
    def degree(self) -> int:
        """Degree of products of two of ``I^a`` between edges, but for rounding."""
        size = np.abs(self.series).max(axis=(0, 1, 3))
        both = np.argwhere(np.outer(size, size) > SAME * size.max() ** 2)
        return int(both.sum(axis=1).max())

    @cached_property
    def basis(self) -> Array | None:
        """Sums of amplitudes that turn or stretch single nodes, (m, m), if those are shorter."""
        parts = [*self.bend, self.stretch, *([self.twist] if np.any(self.rotary) else [])]
        if not any(self.bends):
            return None  # what moves nodes is constant
        moved = [np.flatnonzero(np.any(part, axis=0)) for part in parts]
        if np.bincount(np.concatenate(moved), minlength=1).max(initial=0) > 1:
            return None  # some move nodes in several ways
        singles = [_single(part[:, own]) for part, own in zip(parts, moved, strict=True)]
        if all(each is None for each in singles):
            return None
        basis = np.eye(self.stretch.shape[1])
        for own, single in zip(moved, singles, strict=True):
            if single is not None:
                basis[np.ix_(own, own)] = single
        return basis

    @cached_property
    def combined(self) -> "Collocation":
        """Motion of the nodes per combined amplitude of `basis`."""
        basis = self.basis
        if basis is None:
            return self
        moved = ("bend", "lean", "stretch", "twist", "tip_bend", "tip_twist")
        update: dict[str, Any] = {name: settled(getattr(self, name) @ basis) for name in moved}
        found = replace(self, **update)
        vars(found)["basis"] = None  # its amplitudes are such sums already
        return found

    @cached_property
    def spaces(self) -> tuple[int, ...]:
        """For each axis the first one that has its space."""
        gram, found = self.gram, list[int]()
        for a in range(3):
            same = [s for s in found if all(np.array_equal(gram[s, s], gram[x, a]) for x in (s, a))]
            found.append(same[0] if same else a)
        return tuple(found)

    @cached_property
    def even(self) -> bool:
        """Whether sums of products of tangents at two nodes are free of large cancellation.

        Where nodes hardly tell functions apart, these are large between the nodes, and digits of
        `gram` are lost that `factor` and `cross` have.
        """
        sizes = np.abs(np.einsum("aagh->agh", self.gram)).sum(axis=(1, 2))
        return bool(sizes.max() <= UNEVEN * self.gram[0, 0].sum())

    @cached_property
    def cross(self) -> Array | None:
        """``int mu psi^a psi^b`` between functions that are orthonormal per axis, (3, 3, G, G).

        None where `gram` is enough: it is `even`.
        """
        if self.even:
            return None
        inverse = np.linalg.pinv(self.factor)
        # axes of one space have the same functions
        return settled(inverse.mT[:, None] @ self.gram @ inverse, 1.0)

    @cached_property
    def lever(self) -> Array:
        """``mean[a] = lever[a] factor[a][0]``, (3,)."""
        return settled(np.sum(self.mean * np.linalg.pinv(self.factor)[..., 0], axis=-1))

    @cached_property
    def few(self) -> bool:
        """Whether there are so few shapes that using roots of their mass takes fewer operations.

        Counted are the operations of ``N^T N`` with the roots ``N = factor (tangents shapes)`` of
        each axis, whose first rows are momenta, and those of momenta and of ``shapes^T K shapes``
        with the products K of the tangents at two nodes.
        """
        G, axes = self.count, [0, *(k for k, bends in enumerate(self.bends, 1) if bends)]
        every = [*self.bend, self.stretch]
        ways = [one for one in every if np.any(one)]
        if not (self.even and ways):
            return True
        moved = [int(np.count_nonzero(way.any(axis=0))) for way in ways]
        entries = [int(np.count_nonzero(way)) for way in ways]
        entry = 2 * len(axes) - 1 + len({self.spaces[a] for a in axes})
        roots, nodes, k = 0.0, 0.0, sum(moved)
        for i, way in enumerate(ways):
            sums = 2 * entries[i] - moved[i]
            short = sums - int(np.count_nonzero(way == 1.0))
            after = sum(moved[i + 1 :])
            nodes += len(axes) * sums + G * (i + 1) * short + ((moved[i] + 1) / 2 + after) * short
            nodes += entry * (G * (G + 1) / 2 + G * G * i)
        for a in axes:
            factor = (self.factor[a] != 0.0).astype(int)
            met = factor @ (np.hstack(ways) != 0.0)
            roots += k + np.sum(np.maximum(2 * met - 1, 0)) + factor.any(axis=1).sum() * k * (k + 1)
        return bool(roots - k * (k + 1) / 2 < nodes)

    def reach(self, x: Array) -> Array:
        """Evaluate ``I_g^a``, (3, len(x), G)."""
        panel = self.edges[1:-1].searchsorted(x, side="right")
        low, high = self.edges[panel], self.edges[panel + 1]
        powers = polynomials((2 * x - low - high) / (high - low), self.series.shape[2] - 1)
        return np.asarray(np.einsum("sk,askg->asg", powers, self.series[:, panel]))


@dataclass(frozen=True)
class Cardinals:
    """Functions that interpolate between G nodes."""

    # nodes, weights: where the nodes are [m], and how long each stands for [m], (G,).
    nodes: Array
    weights: Array
    # counts, edges: numbers of nodes, and the places [m] between which they are.
    counts: list[int]
    edges: Array
    cards: list[Array]  # the functions at fine points, per axis x, y, z, (p, G)
    common: bool  # whether the three axes have one space

    @classmethod
    def of(cls, fine: Fine, more: int) -> "Cardinals":
        """Choose nodes, so many of them beyond the number of shapes."""
        counts, edges, spaces = chosen_spaces(fine, more)
        nodes, weights = gauss_nodes(edges, counts)
        to_nodes = fine.to(nodes)
        cards = [space @ np.linalg.inv(to_nodes @ space) for space in spaces]
        if np.abs(cards[2] - cards[1]).max(initial=0.0) <= SAME:
            cards[2] = cards[1]  # what rounding keeps apart would be computed twice
        common = all(space is spaces[0] for space in spaces)
        return cls(nodes, weights, counts, edges, cards, common)


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
    found = Cardinals.of(fine, more)
    nodes, weights, cards = found.nodes, found.weights, found.cards
    where, jumps = _jumps(fine, shapes)
    beyond = np.where(fine.x[:, None] > where, 1.0, 0.0)
    reach = np.stack([np.hstack([fine.running @ card, beyond]) for card in cards])
    tip = np.stack([np.append(fine.weights @ card, np.ones(len(where))) for card in cards])
    heavy = reach * fine.mass[:, None]
    gram = heavy.mT[:, None] @ reach
    gram = settled((gram + gram.transpose(1, 0, 3, 2)) / 2)
    mean, end = settled(heavy.sum(axis=1)), np.array([span.length])
    # a tangent at an edge is that of the panel which the edge opens
    x, weights = np.append(nodes, where), np.append(weights, 0 * where)
    inside = np.append(nodes, where + 1e-9 * span.length)

    def of(direction: Direction, nu: int, places: Array = inside) -> Array:
        return settled(shapes.values(direction, places, nu))

    slopes = _merged(*(axis_slopes(shapes, d, inside) for d in AXES[1:]))
    lean = _merged(*(shapes.shear_angle(d, inside) for d in AXES[1:]))
    twist = of("twist", 0)
    inertia = weights * np.stack([span.at(name, x) for name in ("Jx", "Jy", "Jz")])
    stretch = np.concatenate([of("x", 1, nodes), jumps])
    unit = not (np.any(stretch) or np.any(lean))
    rotary, point = _rotary(inertia, slopes, twist, unit=unit)
    gram = gram + np.diag(point)
    return Collocation(
        x=x,
        bend=slopes,
        curve=_merged(of("y", 2), of("z", 2)),
        lean=lean,
        stretch=stretch,
        straight=np.append(0 * nodes + 1, 0 * where),
        twist=twist,
        torsion=of("twist", 1),
        stiffness=weights * np.stack([_stiffness(span, n, x) for n in STIFFNESSES]),
        rotary=rotary,
        point=point,
        gram=gram,
        mean=mean,
        factor=settled(np.stack([_factor(gram[a, a], mean[a]) for a in range(3)])),
        tip=settled(tip),
        tip_bend=_merged(of("y", 1, end), of("z", 1, end))[:, 0],
        tip_twist=of("twist", 0, end)[0],
        edges=fine.edges,
        series=settled(fine.series(reach)),
        common=found.common,
        more=more,
    )


def _merged(y: Array, z: Array) -> Array:
    """Stack the values of shapes along y and z, (G, m) each, in one array, (2, G, m)."""
    return settled(np.stack([y, z]))


def _jumps(fine: Fine, shapes: Shapes) -> tuple[Array, Array]:
    """Return where displacements along x jump [m], (J,), and by how much, (J, m)."""
    inner = fine.edges[1:-1]
    step = 1e-9 * fine.edges[-1]
    jumps = shapes.values("x", inner + step) - shapes.values("x", inner - step)
    if not len(inner):
        return inner, jumps
    size = np.abs(shapes.values("x", fine.x)).max(initial=0.0)
    found = np.abs(jumps).max(axis=1, initial=0.0) > 1e-3 * size
    return inner[found], settled(np.where(np.abs(jumps) > 1e-3 * size, jumps, 0.0)[found])


def _rotary(inertia: Array, bend: Array, twist: Array, *, unit: bool) -> tuple[Array, Array]:
    """Split sections' rotary inertia about their own axes, (3, G), into `rotary` and `point`.

    In a plane ``point`` is the inertia about the axis of bending, else the smaller one of the two.
    Where sections shear or the axis stretches, its derivative is not the ``unit`` normal of the
    sections, and ``point`` is 0. Inertia that bending and twist leave unchanged is in neither.
    """
    along_y, along_z = np.any(bend[0]), np.any(bend[1])
    none = 0 * inertia[0]
    if not (along_y or along_z or (np.any(twist) and np.any(inertia[1] != inertia[2]))):
        return 0 * inertia, none
    if not unit or not (along_y or along_z):
        return inertia, none
    point = np.minimum(*inertia[1:]) if along_y and along_z else inertia[2 if along_y else 1]
    return inertia - np.outer([0, 1, 1], point), point


def _single(rows: Array) -> Array | None:
    """Solve for sums of k amplitudes that each move another one of k nodes, (k, k).

    None if that does not make numbers at all nodes, (G, k), fewer.  Where the nodes are does not
    depend on numbers, so that arms which differ in these alone have the same operations.
    """
    count, k = rows.shape
    if not 1 < k <= count or k + (count - k) * k >= np.count_nonzero(rows):
        return None
    places = [(2 * j + 1) * count // (2 * k) for j in range(k)]
    if count - k < 2:  # the first one turns least
        places = list(range(count - k, count))
    if np.linalg.matrix_rank(rows[places]) < k:
        return None
    single = np.asarray(np.linalg.inv(rows[places]), dtype=np.float64)
    return single if np.abs(rows @ single).max() < FAR else None


def _factor(gram: Array, mean: Array) -> Array:
    """Factor a Gram matrix into ``F^T F``, the first row of F along the mean."""
    values, vectors = np.linalg.eigh(gram)
    rank, factor = int(np.sum(values > 1e-15 * max(values[-1], 0.0))), np.zeros_like(gram)
    if not rank:
        return factor
    rows, sizes = vectors.T[-rank:], np.sqrt(values[-rank:])[:, None]
    first = rows @ mean[:, None] / sizes
    turned = np.linalg.qr(np.hstack([first, np.eye(rank)]))[0]
    turned = turned * np.sign(turned[:, :1].T @ first)
    rows = turned.T @ (sizes * rows)
    factor[0], factor[1:rank] = rows[0], np.linalg.qr(rows[1:])[1]
    return factor


def _stiffness(span: Span, names: tuple[str, ...], x: Array) -> Array:
    """Evaluate the first of some stiffnesses that the section has, or 0."""
    return next((span.at(name, x) for name in names if span.has(name)), 0 * x)
