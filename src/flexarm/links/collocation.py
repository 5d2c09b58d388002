"""Collocation nodes along a span: interpolation of the bent axis, and its mass integrals.

The bending rotation vector of a section is a sum of slope shapes, so the axis of a bent span is
``r(x) = int_0^x (1 + eps) t(angle)``. The tangents ``P = (1 + eps) t`` are evaluated at G nodes and
interpolated: ``r(x) = sum_g I_g(x) P_g``. The interpolation functions are chosen from a space that
contains 1 and the slopes of the shapes, so that terms linear in the amplitudes are exact for any
number of nodes. The space is completed by the dominant singular vectors of products of slopes. Mass
integrals are quadratic forms of the tangents at the nodes, with constant matrices.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from flexarm.constants import ACCUMULATED
from flexarm.links.base import Shapes, Span, SpanCurves, integrate_strain
from flexarm.links.constants import LARGEST_AMPLIFICATION, LARGEST_COMBINATION
from flexarm.links.fields import AXES, Functions
from flexarm.links.node_spaces import (
    Fine,
    axis_slopes,
    gauss_nodes,
    spaces_by_panels,
    spaces_by_span,
)
from flexarm.spatial import Array, settled

# Names of the stiffness of each row of `Collocation.stiffness`: the first that the section gives.
STIFFNESSES = (("EIz", "EIy"), ("EIy", "EIz"), ("GJ",), ("GAy", "GAz"), ("GAz", "GAy"))


@dataclass(frozen=True)
class Collocation:
    """Values of m shape functions at G collocation nodes, and integrals of the interpolation.

    The attributes use these symbols: ``I_g^a`` is the integral from the root of the cardinal
    function of node g for axis a (x, y or z), ``I^a`` the vector of these G functions, and mu the
    mass per length.
    """

    x: Array  # distance of the nodes from the root [m], (G,)
    # bend, curve: first and second derivatives of the displacements along y and z, (2, G, m) each.
    # For sections that shear, these are slopes of the axis and derivatives of the section
    # rotations.
    bend: Array
    curve: Array
    shear_slope: Array  # slopes of the axis minus rotations of the sections, (2, G, m)
    # The tangent's length is ``straight + stretch d`` at amplitudes d, with shapes (G, m) and (G,):
    # ``stretch`` is the derivative of the displacement along x, and ``straight`` is 1. At a node
    # where the displacement jumps, ``stretch`` is the jump and ``straight`` is 0.
    stretch: Array
    straight: Array
    twist: Array  # rotation about x, (G, m)
    torsion: Array  # derivative of ``twist``, (G, m)
    # EIz, EIy, GJ [N m^3], GAy and GAz [N m], times the quadrature weight of each node, (5, G).
    stiffness: Array
    # Rotary inertia [kg m^2] of a node's section about its own axes, minus ``point``, (3, G).
    rotary: Array
    # Part of the rotary inertia [kg m^2] that is equal about every axis across the tangent, (G,).
    # This part is modelled by a mass at the end of the tangent vector.
    point: Array
    # Mass integrals ``int mu I^a I^b`` for axes a and b, with ``point`` added on the diagonals,
    # (3, 3, G, G).
    gram: Array
    mean: Array  # ``int mu I^a``, (3, G)
    # ``gram[a, a] = factor[a].T @ factor[a]``, the first row along ``mean[a]``, (3, G, G).
    factor: Array
    tip: Array  # ``I^a`` at the tip, (3, G)
    tip_bend: Array  # slopes along y and z at the tip, (2, m)
    tip_twist: Array  # rotation about x at the tip, (m,)
    curves: tuple[SpanCurves, ...]  # ``I_g^a`` along the span, for each axis a
    common: bool  # whether the three axes have the same interpolation space
    excess: int  # number of nodes beyond the number of shapes

    @property
    def count(self) -> int:
        """Number G of collocation nodes."""
        return len(self.x)

    @property
    def edges(self) -> Array:
        """Panel edges [m] between which the functions are smooth."""
        return self.curves[0].edges

    @property
    def powers(self) -> "tuple[Collocation, ...]":
        """Collocation data per power of the exposed length; one entry for constant length."""
        return (self,)

    @cached_property
    def bends(self) -> tuple[bool, bool]:
        """Whether any shape bends the span along y, and whether any bends it along z."""
        return bool(np.any(self.bend[0])), bool(np.any(self.bend[1]))

    @cached_property
    def shears(self) -> bool:
        """Whether sections shear, so that section normals differ from tangents of the axis."""
        return bool(np.any(self.shear_slope))

    @property
    def turn(self) -> Array:
        """Rotations of the sections at the nodes per amplitude, along y and z, (2, G, m)."""
        return self.bend - self.shear_slope if self.shears else self.bend

    @cached_property
    def stretches(self) -> bool:
        """Whether any shape stretches the span."""
        return bool(np.any(self.stretch))

    @cached_property
    def twists(self) -> bool:
        """Whether any shape twists the span."""
        return bool(np.any(self.twist))

    @property
    def degree(self) -> int:
        """Largest polynomial degree, on a panel, of a product of two functions ``I_g^a``.

        Coefficients at rounding level do not count.
        """
        size = np.abs([curves.series[0] for curves in self.curves]).max(axis=(0, 1, 3))
        degrees = np.argwhere(np.outer(size, size) > ACCUMULATED * size.max() ** 2)
        return int(degrees.sum(axis=1).max())

    @cached_property
    def basis(self) -> Array | None:
        """Change of amplitudes, (m, m), after which each amplitude acts at few nodes, or None.

        The matrix is None if the change would not reduce the number of nonzero shape values at the
        nodes.
        """
        parts = [*self.bend, self.stretch, *([self.twist] if np.any(self.rotary) else [])]
        if not any(self.bends):
            return None  # tangents are linear in the amplitudes
        amplitudes_of = [np.flatnonzero(np.any(part, axis=0)) for part in parts]
        if np.bincount(np.concatenate(amplitudes_of), minlength=1).max(initial=0) > 1:
            return None  # an amplitude acts in several directions
        singles = [
            _local_combinations(part[:, indices])
            for part, indices in zip(parts, amplitudes_of, strict=True)
        ]
        if all(combination is None for combination in singles):
            return None
        basis = np.eye(self.stretch.shape[1])
        for indices, single in zip(amplitudes_of, singles, strict=True):
            if single is not None:
                basis[np.ix_(indices, indices)] = single
        return basis

    @cached_property
    def combined(self) -> "Collocation":
        """Collocation data for the combined amplitudes, which are the columns of `basis`."""
        basis = self.basis
        if basis is None:
            return self
        names = ("bend", "shear_slope", "stretch", "twist", "tip_bend", "tip_twist")
        update: dict[str, Any] = {name: settled(getattr(self, name) @ basis) for name in names}
        combined = replace(self, **update)
        vars(combined)["basis"] = None  # the amplitudes are already combined
        return combined

    @cached_property
    def spaces(self) -> tuple[int, ...]:
        """For each axis x, y, z, the first axis that has the same interpolation functions."""
        gram, result = self.gram, list[int]()
        for a in range(3):
            equal_axes = [
                s for s in result if all(np.array_equal(gram[s, s], gram[x, a]) for x in (s, a))
            ]
            result.append(equal_axes[0] if equal_axes else a)
        return tuple(result)

    @cached_property
    def even(self) -> bool:
        """Whether sums of `gram` times tangents over pairs of nodes are free of cancellation.

        If interpolation functions are nearly dependent at the nodes, the entries of `gram` are
        large and their sums cancel. The matrices `factor` and `cross` avoid this loss of accuracy.
        """
        sizes = np.abs(np.einsum("aagh->agh", self.gram)).sum(axis=(1, 2))
        return bool(sizes.max() <= LARGEST_AMPLIFICATION * self.gram[0, 0].sum())

    @cached_property
    def cross(self) -> Array | None:
        """Mass integrals ``int mu psi^a psi^b`` of functions orthonormal per axis, (3, 3, G, G).

        The value is None if `gram` is accurate enough, as `even` states.
        """
        if self.even:
            return None
        inverse = np.linalg.pinv(self.factor)
        # Axes with the same interpolation space share their functions.
        return settled(inverse.mT[:, None] @ self.gram @ inverse, 1.0)

    @cached_property
    def lever(self) -> Array:
        """Factors (3,) that relate `mean` to `factor`: ``mean[a] = lever[a] factor[a][0]``."""
        return settled(np.sum(self.mean * np.linalg.pinv(self.factor)[..., 0], axis=-1))

    @cached_property
    def uses_roots(self) -> bool:
        """Whether `factor`, a square root of `gram`, takes fewer operations than `gram`.

        The mass matrix is either ``N^T N`` with ``N = factor (tangents shapes)`` per axis, whose
        first row is the momentum, or ``shapes^T K shapes`` with the matrix K of products of
        tangents at two nodes, with the momentum computed separately. The operation counts of both
        ways are compared.
        """
        G, axes = self.count, [0, *(k for k, bends in enumerate(self.bends, 1) if bends)]
        all_columns = [*self.bend, self.stretch]
        columns = [column_set for column_set in all_columns if np.any(column_set)]
        if not (self.even and columns):
            return True
        active = [int(np.count_nonzero(column_set.any(axis=0))) for column_set in columns]
        nonzero = [int(np.count_nonzero(column_set)) for column_set in columns]
        entry = 2 * len(axes) - 1 + len({self.spaces[a] for a in axes})
        roots, nodes, k = 0.0, 0.0, sum(active)
        for i, column_set in enumerate(columns):
            additions = 2 * nonzero[i] - active[i]
            multiplications = additions - int(np.count_nonzero(column_set == 1.0))
            later = sum(active[i + 1 :])
            nodes += (
                len(axes) * additions
                + G * (i + 1) * multiplications
                + ((active[i] + 1) / 2 + later) * multiplications
            )
            nodes += entry * (G * (G + 1) / 2 + G * G * i)
        for a in axes:
            factor = (self.factor[a] != 0.0).astype(int)
            products = factor @ (np.hstack(columns) != 0.0)
            roots += (
                k + np.sum(np.maximum(2 * products - 1, 0)) + factor.any(axis=1).sum() * k * (k + 1)
            )
        return bool(roots - k * (k + 1) / 2 < nodes)

    def reach(self, x: Array) -> Array:
        """Evaluate the integrated cardinal functions ``I_g^a`` at x [m], shape (3, len(x), G)."""
        return np.stack([curves(x) for curves in self.curves])

    def functions(self, s: Array) -> Functions:
        """Evaluate the integrated cardinal functions at positions s, (G, len(s)) per axis."""
        return {axis: rows.T for axis, rows in zip(AXES, self.reach(s), strict=True)}


def collocate(span: Span, shapes: Shapes, excess: int, *, points: bool = True) -> Collocation:
    """Select collocation nodes for the shapes of a span, and compute the mass integrals.

    Parameters
    ----------
    span, shapes
        The span and its shape functions.
    excess
        Number of nodes beyond the largest number of shapes in one direction.
    points
        Whether a part of the sections' rotary inertia is represented by `Collocation.point`.
    """
    fine = Fine.of(span, shapes, excess)
    counts, edges, spaces = spaces_by_panels(fine, excess) or spaces_by_span(fine, excess)
    nodes, weights = gauss_nodes(edges, counts)
    # Cardinal functions: 1 at one node, 0 at the others.
    cards = [space @ np.linalg.inv(fine.at(nodes, space)) for space in spaces]
    if np.abs(cards[2] - cards[1]).max(initial=0.0) <= ACCUMULATED:
        cards[2] = cards[1]  # spaces that differ only by rounding are made identical
    jump_positions, jumps = _jumps(fine, shapes)
    curves = tuple(_integrated(fine, card, jump_positions) for card in cards)
    reach, tip = (
        np.stack([each(places) for each in curves]) for places in (fine.x, fine.edges[-1:])
    )
    weighted = reach * fine.mass[:, None]
    gram = weighted.mT[:, None] @ reach
    gram = settled((gram + gram.transpose(1, 0, 3, 2)) / 2)
    mean, tip_position = settled(weighted.sum(axis=1)), np.array([span.length])
    # A tangent at a panel edge is evaluated on the outboard panel.
    x, weights = np.append(nodes, jump_positions), np.append(weights, 0 * jump_positions)
    positions = np.append(nodes, jump_positions + 1e-9 * span.length)

    slopes = settled(np.stack([axis_slopes(shapes, d, positions) for d in AXES[1:]]))
    shear_slope = settled(np.stack([shapes.shear_angle(d, positions) for d in AXES[1:]]))
    twist = settled(shapes.values("twist", positions))
    inertia = weights * np.stack([span.at(name, x) for name in ("Jx", "Jy", "Jz")])
    stretch = np.concatenate([settled(shapes.values("x", nodes, 1)), jumps])
    unit_tangents = points and not (np.any(stretch) or np.any(shear_slope))
    stiffnesses = [
        next((span.at(name, x) for name in names if span.has(name)), 0 * x) for names in STIFFNESSES
    ]
    rotary, point = _rotary(inertia, slopes, twist, unit_tangents=unit_tangents)
    gram = gram + np.diag(point)
    return Collocation(
        x=x,
        bend=slopes,
        curve=settled(np.stack([shapes.values(d, positions, 2) for d in AXES[1:]])),
        shear_slope=shear_slope,
        stretch=stretch,
        straight=np.append(0 * nodes + 1, 0 * jump_positions),
        twist=twist,
        torsion=settled(shapes.values("twist", positions, 1)),
        stiffness=weights * np.stack(stiffnesses),
        rotary=rotary,
        point=point,
        gram=gram,
        mean=mean,
        factor=settled(np.stack([_factor(gram[a, a], mean[a]) for a in range(3)])),
        tip=settled(tip[:, 0]),
        tip_bend=settled(np.stack([shapes.values(d, tip_position, 1)[0] for d in AXES[1:]])),
        tip_twist=settled(shapes.values("twist", tip_position)[0]),
        curves=curves,
        common=all(space is spaces[0] for space in spaces),
        excess=excess,
    )


def _integrated(fine: Fine, card: Array, jump_positions: Array) -> SpanCurves:
    """Integrate functions (p, G), given at p points, and append a unit step at each jump [m]."""
    series = fine.series(card)
    integrals = integrate_strain(fine.edges, series, np.zeros((1, series.shape[2])))
    steps = np.where(fine.edges[:-1, None] >= jump_positions, 1.0, 0.0)
    parts = []
    for nu, terms in enumerate(integrals.series):
        added = np.zeros((*terms.shape[:2], len(jump_positions)))
        added[:, 0] = steps * (nu == 0)
        parts.append(np.concatenate([terms, added], axis=2))
    return SpanCurves(fine.edges, tuple(parts), np.eye(parts[0].shape[2]))


def _jumps(fine: Fine, shapes: Shapes) -> tuple[Array, Array]:
    """Return J positions [m] at which displacements along x jump, (J,), and the jumps, (J, m)."""
    inner_edges = fine.edges[1:-1]
    step = 1e-9 * fine.edges[-1]
    jumps = shapes.values("x", inner_edges + step) - shapes.values("x", inner_edges - step)
    if not len(inner_edges):
        return inner_edges, jumps
    size = np.abs(shapes.values("x", fine.x)).max(initial=0.0)
    is_jump = np.abs(jumps).max(axis=1, initial=0.0) > 1e-3 * size
    return inner_edges[is_jump], settled(np.where(np.abs(jumps) > 1e-3 * size, jumps, 0.0)[is_jump])


def _rotary(
    inertia: Array, bend: Array, twist: Array, *, unit_tangents: bool
) -> tuple[Array, Array]:
    """Split sections' rotary inertia, (3, G), into `rotary` and `point` of `Collocation`.

    For bending in one plane, ``point`` is the inertia about the axis of bending, otherwise the
    smaller of the inertias about the two transverse axes. If sections shear or the axis stretches,
    the tangent is not a unit normal of the section (``unit_tangents`` is false), and ``point`` is
    0. Rotary inertia that does not change under bending and twist is in neither part.
    """
    along_y, along_z = np.any(bend[0]), np.any(bend[1])
    zeros = 0 * inertia[0]
    if not (along_y or along_z or (np.any(twist) and np.any(inertia[1] != inertia[2]))):
        return 0 * inertia, zeros
    if not unit_tangents or not (along_y or along_z):
        return inertia, zeros
    point = np.minimum(*inertia[1:]) if along_y and along_z else inertia[2 if along_y else 1]
    return inertia - np.outer([0, 1, 1], point), point


def _local_combinations(rows: Array) -> Array | None:
    """Return combinations (k, k) of k amplitudes, each 1 at one of k nodes and 0 at the others.

    Return None if the combinations do not reduce the number of nonzero entries of ``rows``, (G, k).
    The choice of nodes depends on G and k alone, so that the equations of arms that differ only in
    numerical values have the same operations.
    """
    count, k = rows.shape
    if not 1 < k <= count or k + (count - k) * k >= np.count_nonzero(rows):
        return None
    node_indices = [(2 * j + 1) * count // (2 * k) for j in range(k)]
    if count - k < 2:  # with the last nodes, the combinations have the smallest values elsewhere
        node_indices = list(range(count - k, count))
    if np.linalg.matrix_rank(rows[node_indices]) < k:
        return None
    single = np.asarray(np.linalg.inv(rows[node_indices]), dtype=np.float64)
    return single if np.abs(rows @ single).max() < LARGEST_COMBINATION else None


def _factor(gram: Array, mean: Array) -> Array:
    """Return a factor F of a Gram matrix ``F^T F``; the first row of F is parallel to ``mean``."""
    values, vectors = np.linalg.eigh(gram)
    rank, factor = int(np.sum(values > 1e-15 * max(values[-1], 0.0))), np.zeros_like(gram)
    if not rank:
        return factor
    rows, sizes = vectors.T[-rank:], np.sqrt(values[-rank:])[:, None]
    first = rows @ mean[:, None] / sizes
    rotation = np.linalg.qr(np.hstack([first, np.eye(rank)]))[0]
    rotation = rotation * np.sign(rotation[:, :1].T @ first)
    rows = rotation.T @ (sizes * rows)
    factor[0], factor[1:rank] = rows[0], np.linalg.qr(rows[1:])[1]
    return factor
