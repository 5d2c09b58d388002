"""Operations on shapes that the families share: scaling, joining, diagonal bases."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from flexarm.arm.shapes import Counted, Normalise, ShapeChoice
from flexarm.errors import ShapeError
from flexarm.links.base import DIRECTIONS, LABELS, Array, Counts, Direction, Shapes
from flexarm.links.curves import SpanCurves
from flexarm.links.span import Span, union

SMALL_TIP = 1e-3
NEARER = 1e-3  # relative difference below which two extremes of a curve count as equal
# Relative size of what is left of a shape beside others, below which rounding (10^-16) leaves it
# fewer than four digits.
DEPENDENT = 1e-12


def wanted(span: Span, counts: Counts) -> list[tuple["BeamDirection", int]]:
    """List the directions that get shapes, with their counts, in the order of the coordinates.

    Raises
    ------
    ShapeError
        If the section lacks the stiffness of one of them.
    """
    chosen = []
    for direction in DIRECTIONS:
        motion, count = MOTIONS[direction], counts.of(direction)
        if count == 0:
            continue
        if not span.has(motion.stiffness):
            raise ShapeError(
                f"{motion.key}: {count} needs {motion.stiffness} in the section. Give "
                f"it, or set {motion.key}: 0."
            )
        chosen.append((motion, count))
    return chosen


def normalisation(choice: ShapeChoice) -> Normalise:
    """Return the scaling of the modes that a choice of shapes asks for."""
    return choice.normalise if isinstance(choice, Counted) else "none"


def family(
    direction: Direction, curves: SpanCurves, stiffness: Array, edges: Array, *, first: int = 1
) -> Shapes:
    """Name the curves of one direction ``y1``, ``y2``, ...

    Parameters
    ----------
    direction
        What the curves measure.
    curves
        One function per coordinate.
    stiffness
        Their stiffness matrix (m, m), or its diagonal (m,).
    edges
        Panel edges [m] between which the curves are smooth.
    first
        Number of the first one.
    """
    matrix = np.diag(stiffness) if stiffness.ndim == 1 else stiffness
    names = tuple(f"{LABELS[direction]}{first + i}" for i in range(curves.count))
    return Shapes(names, {direction: (curves,)}, edges, matrix)


def join(parts: Sequence[Shapes], span: Span) -> Shapes:
    """Join shapes that do not share strain energy into one set."""
    names = tuple(name for part in parts for name in part.names)
    edges, first = union(np.array([0.0, span.length]), *(part.edges for part in parts)), 0
    stiffness, every = np.zeros((len(names), len(names))), np.eye(len(names))
    curves: dict[Direction, tuple[SpanCurves, ...]] = {}
    for part in parts:
        own = slice(first, first + part.count)
        stiffness[own, own] = part.stiffness
        for direction, each in part.curves.items():
            placed = tuple(one.times(every[own]) for one in each)
            curves[direction] = curves.get(direction, ()) + placed
        first = own.stop
    return Shapes(names, curves, edges, stiffness)


def normalise(shapes: Shapes, how: Normalise, span: Span) -> Shapes:
    """Scale shapes.

    ``tip``: unit tip displacement [m] (twist [rad]), positive; where the tip moves less than 1e-3
    of the largest displacement, that one is 1.  ``mass``: unit mass integral of the span alone,
    translation and rotary inertia, with the sign of ``tip``.  ``none``: as they are.
    """
    if how == "none" or not shapes.names:
        return shapes
    scale = 1 / _largest(shapes, span.length)
    if how == "mass":
        mass = np.diag(own_mass(shapes, span))
        for name, value in zip(shapes.names, mass, strict=True):
            if value == 0:
                raise ShapeError(
                    f"normalise: mass, but shape {name} moves no mass of the link: "
                    "use normalise: tip, or give Jx in the section"
                )
        scale = np.sign(scale) / np.sqrt(mass)
    return shapes.changed(np.diag(scale))


def strain_matrix(
    curves: SpanCurves, span: Span, motion: "BeamDirection", edges: Array, *, points: int = 4
) -> Array:
    """Integrate the stiffness matrix (m, m) of curves with so many points between edges [m]."""
    x, weight = span.quadrature(points, edges)
    strain = curves(x, motion.order)
    return np.asarray(strain.T @ ((weight * span.at(motion.stiffness, x))[:, None] * strain))


def own_stiffness(shapes: Shapes, span: Span) -> Array:
    """Integrate the stiffness matrix (m, m) that the section of a span gives its shapes."""
    x, weight = product_points(shapes, span)
    total = np.zeros((shapes.count, shapes.count))
    for motion in MOTIONS.values():
        if span.has(motion.stiffness):
            strain = shapes.values(motion.direction, x, motion.order)
            total += strain.T @ ((weight * span.at(motion.stiffness, x))[:, None] * strain)
    return total


def own_mass(shapes: Shapes, span: Span) -> Array:
    """Integrate the mass matrix (m, m) of the span alone: translation and rotary inertia."""
    x, weight = product_points(shapes, span)
    density = [weight * span.at("mass_per_length", x)] * 3
    density += [weight * span.at(n, x) if span.has(n) else 0 * x for n in ("Jx", "Jy", "Jz")]
    columns = np.concatenate([shapes.displacement(x), shapes.rotation(x)], axis=1)
    rows = np.sqrt(np.stack(density, axis=1))[:, :, None] * columns
    flat = rows.reshape(6 * len(x), shapes.count)
    return np.asarray(flat.T @ flat)


def product_points(shapes: Shapes, span: Span) -> tuple[Array, Array]:
    """Return points [m] and weights [m] that integrate products of two shapes exactly."""
    every = [curves for each in shapes.curves.values() for curves in each]
    points = max([4, *(curves.degree + 2 for curves in every)])
    return span.quadrature(points, union(shapes.edges, *(curves.edges for curves in every)))


def diagonalise(shapes: Shapes, span: Span) -> Shapes:
    """Change any basis into one with diagonal stiffness and mass that spans the same.

    Orthonormalised by the stiffness, then turned to diagonal mass; in order of frequency, scaled
    to tip metres (radians where a shape only twists).  Shapes that share no direction are not
    mixed, and names stay: ``y1`` is then the slowest shape along y.

    Raises
    ------
    ShapeError
        If shapes depend on each other.
    """
    groups = _groups(shapes)
    columns, turn = np.zeros_like(shapes.stiffness), np.zeros_like(shapes.stiffness)
    for group in groups:
        block = np.ix_(group, group)
        names = [shapes.names[i] for i in group]
        columns[block] = orthonormal_columns(shapes.stiffness[block], names)
    unit = shapes.changed(columns)
    # Integrated again, because the mass of the shapes as given may be close to singular.
    mass = own_mass(unit, span) if unit.mass is None else unit.mass
    for group in groups:
        block = np.ix_(group, group)
        turn[block] = slowest_first(mass[block])
    scaled = normalise(unit.changed(turn), "tip", span)
    return replace(
        scaled,
        stiffness=np.diag(np.diag(scaled.stiffness)),
        mass=None if scaled.mass is None else np.diag(np.diag(scaled.mass)),
    )


def orthonormal_columns(stiffness: Array, names: Sequence[str]) -> Array:
    """Combine shapes so that each has unit stiffness and no two couple, one per column (m, m).

    Raises
    ------
    ShapeError
        If the stiffness matrix is singular to working precision; it names the shapes.
    """
    size = np.sqrt(np.maximum(np.diag(stiffness), 0.0))
    least = 0.0
    if np.all(size > 0):
        scaled = stiffness / np.outer(size, size)
        least = float(np.linalg.eigvalsh(scaled)[0])
    if not least > DEPENDENT:
        raise ShapeError(
            f"shapes {', '.join(names)} depend on each other or have no stiffness (least "
            f"eigenvalue of the scaled stiffness matrix {least:.1e}). Leave some out."
        )
    return _unit(stiffness)


def _unit(stiffness: Array) -> Array:
    """Return columns (m, m) of unit stiffness of which no two couple, by a Cholesky factor."""
    size = np.sqrt(np.diag(stiffness))
    lower = np.linalg.cholesky(stiffness / np.outer(size, size))
    return np.asarray((np.linalg.inv(lower) / size).T)


def left_over(modes: Array, more: Array, stiffness: Array) -> Array:
    """Subtract the modes' part from more columns (n, k); scale the rest to unit stiffness.

    Modes (n, m) have unit stiffness.  Return no column if only rounding is left of each.
    """
    back = modes.T @ stiffness
    whole = np.sum(more * (stiffness @ more), axis=0)
    for again in (False, True):  # because little is left, and that is much alike
        more = more - modes @ (back @ more)
        energy = np.sum(more * (stiffness @ more), axis=0)
        if not again and np.all(energy < DEPENDENT**2 * whole):
            return more[:, :0]
        more = more @ _unit(more.T @ stiffness @ more)
    return more


def slowest_first(mass: Array) -> Array:
    """Rotate shapes of unit stiffness into modes, one per column (m, m)."""
    _, turn = np.linalg.eigh(mass)
    return np.asarray(turn[:, ::-1])  # the slowest mode has the largest mass


def _groups(shapes: Shapes) -> list[list[int]]:
    """Split shapes into groups that share no direction and no stiffness."""
    linked = shapes.stiffness != 0
    for direction in shapes.curves:
        own = shapes.moving(direction)
        linked[np.ix_(own, own)] = True
    return blocks(linked)


def blocks(linked: npt.NDArray[np.bool_]) -> list[list[int]]:
    """Split indices into groups that no chain of links (n, n) connects."""
    found: list[list[int]] = []
    left = np.ones(len(linked), dtype=bool)
    while left.any():
        group = np.arange(len(linked)) == np.argmax(left)
        while (grown := linked[group].any(axis=0) & left | group).sum() > group.sum():
            group = grown
        left &= ~group
        found.append(np.flatnonzero(group).tolist())
    return found


def _largest(shapes: Shapes, length: float) -> Array:
    """Return the signed values that `tip` scaling makes 1, (m,)."""
    x, every = np.linspace(0, length, 401), np.arange(shapes.count)
    values, slopes, bends = (
        np.array([shapes.values(d, x, nu) for d in DIRECTIONS]) for nu in range(3)
    )
    # Of equal extremes that nearest to the root.
    at = np.argmax(np.abs(values) * (1 - NEARER * x / length)[:, None], axis=1)
    slope, bend = (np.take_along_axis(each, at[:, None], 1)[:, 0] for each in (slopes, bends))
    inner = (bend != 0) & (at > 0) & (at < len(x) - 1)
    # One Newton step from the nearest of 401 places to where the slope is zero.
    step = np.where(inner, np.clip(slope / np.where(inner, bend, 1.0), -x[1], x[1]), 0.0)
    places = (x[at] - step).ravel()
    tops = np.array([shapes.values(d, places) for d in DIRECTIONS]).reshape(4, *at.shape, -1)
    tips, peaks = values[:, -1].copy(), np.einsum("kkjj->kj", tops).copy()
    # A shape that moves sections is scaled by that, whatever it twists them by.
    twist = DIRECTIONS.index("twist")
    moving = [j for d in DIRECTIONS if d != "twist" for j in shapes.moving(d)]
    tips[twist, moving] = peaks[twist, moving] = 0.0
    tip, peak = (each[np.argmax(np.abs(each), axis=0), every] for each in (tips, peaks))
    return np.asarray(np.where(np.abs(tip) >= SMALL_TIP * np.abs(peak), tip, peak))


@dataclass(frozen=True)
class BeamDirection:
    """A direction in which a span deforms, with its section properties."""

    direction: Direction  # what the curves measure
    key: str  # the choice's name for its number of shapes
    # stiffness, inertia, rotary: names of the section's properties: stiffness, inertia of the
    # displacement (of the twist), inertia of the slope.
    stiffness: str
    inertia: str
    rotary: str | None
    order: int  # which derivative is the strain: 2 for a beam, 1 for a rod
    axis: int | None  # index of the axis (x, y, z) that its ends turn about; None for stretch
    shear: str | None = None  # name of the section's shear stiffness along it, if it bends


MOTIONS: dict[Direction, BeamDirection] = {
    "y": BeamDirection("y", "bending_y", "EIz", "mass_per_length", "Jz", 2, 2, "GAy"),
    "z": BeamDirection("z", "bending_z", "EIy", "mass_per_length", "Jy", 2, 1, "GAz"),
    "twist": BeamDirection("twist", "torsion", "GJ", "Jx", None, 1, 0),
    "x": BeamDirection("x", "stretch", "EA", "mass_per_length", None, 1, None),
}
