"""Operations on shape functions common to all families: scaling, joining, diagonalisation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from flexarm.arm.shapes import Counted, Normalise, ShapeChoice
from flexarm.errors import ShapeError
from flexarm.links.base import (
    DIRECTIONS,
    LABELS,
    Counts,
    Direction,
    Shapes,
    Span,
    SpanCurves,
    union,
)
from flexarm.links.constants import DEPENDENT, EQUAL_VALUES
from flexarm.spatial import Array


def requested_directions(span: Span, counts: Counts) -> list[tuple["BeamDirection", int]]:
    """Return the directions with at least one shape, each with its number of shapes.

    Raises
    ------
    ShapeError
        If the section lacks the stiffness of a direction with a nonzero count.
    """
    requested = []
    for direction in DIRECTIONS:
        motion, count = MOTIONS[direction], counts.of(direction)
        if count == 0:
            continue
        if not span.has(motion.stiffness):
            raise ShapeError(
                f"{motion.key}: {count} needs {motion.stiffness} in the section. Give it, or "
                f"set '{motion.key}: 0'."
            )
        requested.append((motion, count))
    return requested


def normalisation(choice: ShapeChoice) -> Normalise:
    """Return the scaling of modes that a shape choice requests; "none" by default."""
    return choice.normalise if isinstance(choice, Counted) else "none"


def family(
    direction: Direction,
    curves: SpanCurves,
    edges: Array,
    stiffness: Array | None = None,
    *,
    first: int = 1,
) -> Shapes:
    """Build the shapes of one direction from their curves, named ``y1``, ``y2``, ...

    Parameters
    ----------
    direction
        Direction in which the curves displace (or twist) the span.
    curves
        Shape functions, one per amplitude.
    edges
        Panel edges [m] between which the curves are smooth.
    stiffness
        Stiffness matrix of the amplitudes (m, m), or its diagonal (m,); None for zeros.
    first
        Number that ends the name of the first shape, such as 1 for ``y1``.
    """
    matrix = np.zeros(curves.count) if stiffness is None else stiffness
    matrix = np.diag(matrix) if matrix.ndim == 1 else matrix
    names = tuple(f"{LABELS[direction]}{first + i}" for i in range(curves.count))
    return Shapes(names, {direction: (curves,)}, edges, matrix)


def join(parts: Sequence[Shapes], span: Span) -> Shapes:
    """Join several sets of shapes into one set.

    Shapes of different sets are not coupled in the stiffness matrix.
    """
    names = tuple(name for part in parts for name in part.names)
    edges, first = union(np.array([0.0, span.length]), *(part.edges for part in parts)), 0
    stiffness, unit_columns = np.zeros((len(names), len(names))), np.eye(len(names))
    curves: dict[Direction, tuple[SpanCurves, ...]] = {}
    for part in parts:
        rows = slice(first, first + part.count)
        stiffness[rows, rows] = part.stiffness
        for direction, sets in part.curves.items():
            moved_sets = tuple(set_of_curves.times(unit_columns[rows]) for set_of_curves in sets)
            curves[direction] = curves.get(direction, ()) + moved_sets
        first = rows.stop
    return Shapes(names, curves, edges, stiffness)


def normalise(shapes: Shapes, scaling: Normalise, span: Span) -> Shapes:
    """Return shapes scaled to unit tip displacement, to unit mass, or unchanged.

    With ``tip``, the tip displacement [m] (or twist [rad]) is 1. If the tip moves less than 1e-3 of
    the largest displacement, the largest displacement is 1 instead. With ``mass``, the modal mass
    of the span alone, with rotary inertia, is 1, and the sign is as for ``tip``. With ``none``,
    shapes are unchanged.
    """
    if scaling == "none" or not shapes.names:
        return shapes
    scale = 1 / _largest(shapes, span.length)
    if scaling == "mass":
        mass = np.diag(own_mass(shapes, span))
        for name, value in zip(shapes.names, mass, strict=True):
            if value == 0:
                raise ShapeError(
                    f"normalise: 'mass' is not possible, since shape {name} moves no mass of "
                    "the link. Use 'normalise: tip', or give Jx in the section."
                )
        scale = np.sign(scale) / np.sqrt(mass)
    return shapes.changed(np.diag(scale))


def strained(shapes: Shapes, span: Span) -> Shapes:
    """Return the shapes with a stiffness matrix computed from the section of their span."""
    return replace(shapes, stiffness=own_stiffness(shapes, span))


def own_stiffness(shapes: Shapes, span: Span) -> Array:
    """Compute the stiffness matrix (m, m) of shapes from the section of a span."""
    x, weight = product_points(shapes, span)
    total = np.zeros((shapes.count, shapes.count))
    for motion in MOTIONS.values():
        if span.has(motion.stiffness):
            strain = shapes.values(motion.direction, x, motion.order)
            total += strain.T @ ((weight * span.at(motion.stiffness, x))[:, None] * strain)
    return total


def own_mass(shapes: Shapes, span: Span) -> Array:
    """Compute the mass matrix (m, m) of shapes from the span alone, rotary inertia included."""
    x, weight = product_points(shapes, span)
    density = [weight * span.at("mass_per_length", x)] * 3
    density += [weight * span.at(n, x) if span.has(n) else 0 * x for n in ("Jx", "Jy", "Jz")]
    columns = np.concatenate([shapes.displacement(x), shapes.rotation(x)], axis=1)
    rows = np.sqrt(np.stack(density, axis=1))[:, :, None] * columns
    columns_of_mass = rows.reshape(6 * len(x), shapes.count)
    return np.asarray(columns_of_mass.T @ columns_of_mass)


def product_points(shapes: Shapes, span: Span) -> tuple[Array, Array]:
    """Return quadrature points and weights [m] that integrate products of two shapes exactly."""
    all_curves = [curves for sets in shapes.curves.values() for curves in sets]
    points = max([4, *(curves.degree + 2 for curves in all_curves)])
    return span.quadrature(points, union(shapes.edges, *(curves.edges for curves in all_curves)))


def diagonalise(shapes: Shapes, span: Span) -> Shapes:
    """Return shapes that span the same space with diagonal stiffness and mass matrices.

    The shapes are sorted by frequency and scaled to unit tip displacement [m], or to unit tip twist
    [rad] if a shape only twists. Only shapes with a common direction are combined with each other.
    The names of the amplitudes are unchanged, so that ``y1`` becomes the shape along y with the
    lowest frequency.

    Raises
    ------
    ShapeError
        If the shapes are linearly dependent.
    """
    groups = _groups(shapes)
    columns, modal_transform = np.zeros_like(shapes.stiffness), np.zeros_like(shapes.stiffness)
    for group in groups:
        block = np.ix_(group, group)
        names = [shapes.names[i] for i in group]
        columns[block] = orthonormal_columns(shapes.stiffness[block], names)
    orthonormal = shapes.changed(columns)
    # Integrate the mass of the new shapes, because that of the given shapes may be nearly singular.
    mass = own_mass(orthonormal, span) if orthonormal.mass is None else orthonormal.mass
    for group in groups:
        block = np.ix_(group, group)
        modal_transform[block] = slowest_first(mass[block])
    scaled = normalise(orthonormal.changed(modal_transform), "tip", span)
    return replace(
        scaled,
        stiffness=np.diag(np.diag(scaled.stiffness)),
        mass=None if scaled.mass is None else np.diag(np.diag(scaled.mass)),
    )


def orthonormal_columns(stiffness: Array, names: Sequence[str]) -> Array:
    """Return combinations of shapes whose stiffness matrix is the identity, one per column (m, m).

    Raises
    ------
    ShapeError
        If the stiffness matrix is singular to working precision; the message names the shapes.
    """
    size = np.sqrt(np.maximum(np.diag(stiffness), 0.0))
    smallest = 0.0
    if np.all(size > 0):
        scaled = stiffness / np.outer(size, size)
        smallest = float(np.linalg.eigvalsh(scaled)[0])
    if not smallest > DEPENDENT:
        raise ShapeError(
            f"shapes {', '.join(names)} are linearly dependent, or have no stiffness (smallest "
            f"eigenvalue of the scaled stiffness matrix {smallest:.1e}). Leave some of them out."
        )
    return _unit_columns(stiffness)


def _unit_columns(stiffness: Array) -> Array:
    """Return stiffness-orthonormal columns (m, m), computed by Cholesky factorisation."""
    size = np.sqrt(np.diag(stiffness))
    factor = np.linalg.cholesky(stiffness / np.outer(size, size))
    return np.asarray((np.linalg.inv(factor) / size).T)


def left_over(modes: Array, remainder: Array, stiffness: Array) -> Array:
    """Return the columns ``remainder`` without their part in the modes, orthonormalised, (n, k).

    The returned columns and the modes (n, m) are orthonormal with respect to the stiffness. No
    column is returned if only rounding errors remain.
    """
    projection = modes.T @ stiffness
    initial_energy = np.sum(remainder * (stiffness @ remainder), axis=0)
    for is_second in (False, True):  # project twice, against rounding errors
        remainder = remainder - modes @ (projection @ remainder)
        energy = np.sum(remainder * (stiffness @ remainder), axis=0)
        if not is_second and np.all(energy < DEPENDENT**2 * initial_energy):
            return remainder[:, :0]
        remainder = remainder @ _unit_columns(remainder.T @ stiffness @ remainder)
    return remainder


def slowest_first(mass: Array) -> Array:
    """Return columns (m, m) that combine shapes of unit stiffness into modes, slowest first.

    ``mass`` is the mass matrix of the shapes, (m, m).
    """
    _, vectors = np.linalg.eigh(mass)
    return np.asarray(vectors[:, ::-1])  # at unit stiffness, the slowest mode has the largest mass


def _groups(shapes: Shapes) -> list[list[int]]:
    """Return groups of shape indices such that shapes of different groups are uncoupled.

    Uncoupled shapes have no common direction and no common entry of the stiffness matrix.
    """
    coupled = shapes.stiffness != 0
    for direction in shapes.curves:
        indices = shapes.moving(direction)
        coupled[np.ix_(indices, indices)] = True
    return blocks(coupled)


def blocks(coupled: npt.NDArray[np.bool_]) -> list[list[int]]:
    """Return the connected components of a graph with a symmetric adjacency matrix (n, n)."""
    components: list[list[int]] = []
    remaining = np.ones(len(coupled), dtype=bool)
    while remaining.any():
        group = np.arange(len(coupled)) == np.argmax(remaining)
        while (neighbourhood := coupled[group].any(axis=0) & remaining | group).sum() > group.sum():
            group = neighbourhood
        remaining &= ~group
        components.append(np.flatnonzero(group).tolist())
    return components


def _largest(shapes: Shapes, length: float) -> Array:
    """Return the divisors that normalise m shapes: each shape's value at the tip, or its peak."""
    x, indices = np.linspace(0, length, 401), np.arange(shapes.count)
    values, slopes, curvatures = (
        np.array([shapes.values(d, x, nu) for d in DIRECTIONS]) for nu in range(3)
    )
    # If several extremes are equal, select the one nearest to the root.
    peak_indices = np.argmax(np.abs(values) * (1 - EQUAL_VALUES * x / length)[:, None], axis=1)
    slope, curvature = (
        np.take_along_axis(derivative, peak_indices[:, None], 1)[:, 0]
        for derivative in (slopes, curvatures)
    )
    is_inner = (curvature != 0) & (peak_indices > 0) & (peak_indices < len(x) - 1)
    # Refine the largest of 401 sampled values by one Newton step to the zero of the slope.
    step = np.where(is_inner, np.clip(slope / np.where(is_inner, curvature, 1.0), -x[1], x[1]), 0.0)
    positions = (x[peak_indices] - step).ravel()
    peak_values = np.array([shapes.values(d, positions) for d in DIRECTIONS]).reshape(
        4, *peak_indices.shape, -1
    )
    tip_values, peak_table = values[:, -1].copy(), np.einsum("kkjj->kj", peak_values).copy()
    # A shape with both displacement and twist is scaled by its displacement.
    twist = DIRECTIONS.index("twist")
    displaced = [j for d in DIRECTIONS if d != "twist" for j in shapes.moving(d)]
    tip_values[twist, displaced] = peak_table[twist, displaced] = 0.0
    tip, peak = (
        derivative[np.argmax(np.abs(derivative), axis=0), indices]
        for derivative in (tip_values, peak_table)
    )
    return np.asarray(np.where(np.abs(tip) >= EQUAL_VALUES * np.abs(peak), tip, peak))


@dataclass(frozen=True)
class BeamDirection:
    """A direction of deformation of a span, with the names of its section properties."""

    direction: Direction  # direction of the displacement or twist
    key: str  # key of the number of shapes in a shape choice
    stiffness: str  # section property for the stiffness
    inertia: str  # section property for the inertia per unit displacement or twist
    rotary: str | None  # section property for the rotary inertia, which the slope moves
    order: int  # order of the displacement derivative that is the strain: 2 for a beam, 1 for a rod
    axis: int | None  # axis (0, 1, 2) of rotation of the ends; None for stretch
    shear: str | None = None  # section property for the shear stiffness, in bending


MOTIONS: dict[Direction, BeamDirection] = {
    "y": BeamDirection("y", "bending_y", "EIz", "mass_per_length", "Jz", 2, 2, "GAy"),
    "z": BeamDirection("z", "bending_z", "EIy", "mass_per_length", "Jy", 2, 1, "GAz"),
    "twist": BeamDirection("twist", "torsion", "GJ", "Jx", None, 1, 0),
    "x": BeamDirection("x", "stretch", "EA", "mass_per_length", None, 1, None),
}
