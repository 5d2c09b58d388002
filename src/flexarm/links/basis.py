"""What the discretisations share: directions, scaling, joining, and diagonal bases."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexarm.arm.shapes import Counted, Normalise, ShapeChoice
from flexarm.errors import ShapeError
from flexarm.links.base import DIRECTIONS, LABELS, Array, Counts, Curve, Direction, Shape, Shapes
from flexarm.links.curves import Piecewise, combine, parts
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
                f"{motion.key}: {count} needs {motion.stiffness} in the section: "
                f"give it, or set {motion.key}: 0"
            )
        chosen.append((motion, count))
    return chosen


def normalisation(choice: ShapeChoice) -> Normalise:
    """Say how a choice wants its modes scaled."""
    return choice.normalise if isinstance(choice, Counted) else "none"


def family(
    direction: Direction, curves: Sequence[Curve], stiffness: Array, edges: Array, *, first: int = 1
) -> Shapes:
    """Name the curves of one direction ``y1``, ``y2``, ...

    Parameters
    ----------
    direction
        What the curves measure.
    curves
        One per coordinate.
    stiffness
        Their stiffness matrix (m, m), or its diagonal (m,).
    edges
        Panel edges [m] between which the curves are smooth.
    first
        Number of the first one.
    """
    matrix = np.diag(stiffness) if stiffness.ndim == 1 else stiffness
    shapes = tuple(
        Shape(f"{LABELS[direction]}{first + i}", {direction: curve})
        for i, curve in enumerate(curves)
    )
    return Shapes(shapes, edges, matrix)


def join(parts: Sequence[Shapes], span: Span) -> Shapes:
    """Put families that do not share strain energy side by side."""
    edges = np.array([0.0, span.length])
    for part in parts:
        edges = union(edges, part.edges)
    shapes = tuple(shape for part in parts for shape in part.shapes)
    stiffness, first = np.zeros((len(shapes), len(shapes))), 0
    for part in parts:
        block = slice(first, first + len(part.shapes))
        stiffness[block, block] = part.stiffness
        first = block.stop
    return Shapes(shapes, edges, stiffness)


def normalise(shapes: Shapes, how: Normalise, span: Span) -> Shapes:
    """Scale shapes.

    ``tip``: unit tip displacement [m] (twist [rad]), positive; where the tip moves less than 1e-3
    of the largest displacement, that one is 1.  ``mass``: unit mass integral of the span alone,
    translation and rotary inertia, with the sign of ``tip``.  ``none``: as they are.
    """
    if how == "none" or not shapes.shapes:
        return shapes
    scale = np.array([1 / _largest(shape, span.length) for shape in shapes.shapes])
    if how == "mass":
        mass = np.diag(own_mass(shapes, span))
        for shape, value in zip(shapes.shapes, mass, strict=True):
            if value == 0:
                raise ShapeError(
                    f"normalise: mass, but shape {shape.name} moves no mass of the link: "
                    "use normalise: tip, or give Jx in the section"
                )
        scale = np.sign(scale) / np.sqrt(mass)
    return transform(shapes, np.diag(scale))


def transform(shapes: Shapes, columns: Array) -> Shapes:
    """Replace shapes by their linear combinations, one per column (m, m); names stay in order."""
    new = []
    for name, weights in zip(shapes.names, columns.T, strict=True):
        curves: dict[Direction, Curve] = {}
        for direction in DIRECTIONS:
            terms = [
                (shape.curves[direction], weight)
                for shape, weight in zip(shapes.shapes, weights, strict=True)
                if weight != 0 and direction in shape.curves
            ]
            if terms:
                curves[direction] = combine([c for c, _ in terms], np.array([w for _, w in terms]))
        new.append(Shape(name, curves))
    matrices = [
        None if matrix is None else columns.T @ matrix @ columns
        for matrix in (shapes.mass, shapes.damping)
    ]
    stiffness = columns.T @ shapes.stiffness @ columns
    return Shapes(tuple(new), shapes.edges, stiffness, matrices[0], matrices[1])


def strain_matrix(
    curves: Sequence[Curve], span: Span, motion: "BeamDirection", edges: Array, *, points: int = 4
) -> Array:
    """Integrate the stiffness matrix (m, m) of curves with so many points between edges [m]."""
    x, weight = span.quadrature(points, edges)
    strain = np.stack([curve(x, motion.order) for curve in curves], axis=1)
    return np.asarray(strain.T @ ((weight * span.at(motion.stiffness, x))[:, None] * strain))


def own_stiffness(shapes: Shapes, span: Span, points: int | None = None) -> Array:
    """Integrate the stiffness matrix (m, m) that the section of a span gives its shapes.

    With so many points between edges, or as many as products of two shapes take.
    """
    at = _quadrature(shapes, span) if points is None else span.quadrature(points, shapes.edges)
    x, weight = at
    total = np.zeros((len(shapes.shapes), len(shapes.shapes)))
    for motion in MOTIONS.values():
        if span.has(motion.stiffness):
            strain = shapes.values(motion.direction, x, motion.order)
            total += strain.T @ ((weight * span.at(motion.stiffness, x))[:, None] * strain)
    return total


def own_mass(shapes: Shapes, span: Span) -> Array:
    """Integrate the mass matrix (m, m) of the span alone: translation and rotary inertia."""
    x, weight = _quadrature(shapes, span)
    density = [weight * span.at("mass_per_length", x)] * 3
    density += [weight * span.at(n, x) if span.has(n) else 0 * x for n in ("Jx", "Jy", "Jz")]
    columns = np.concatenate([shapes.displacement(x), shapes.rotation(x)], axis=1)
    rows = np.sqrt(np.stack(density, axis=1))[:, :, None] * columns
    flat = rows.reshape(6 * len(x), len(shapes.shapes))
    return np.asarray(flat.T @ flat)


def _quadrature(shapes: Shapes, span: Span) -> tuple[Array, Array]:
    """Give points and weights for products of two shapes."""
    # Exact for series; of other curves, products of m modes have 2 m half waves at most.
    edges, points = shapes.edges, 4
    curves = [curve for shape in shapes.shapes for curve in shape.curves.values()]
    for part in {id(p): p for curve in curves for p, _ in parts(curve)}.values():
        if isinstance(part, Piecewise):
            points = max(points, part.degree + 2)
            edges = union(edges, part.edges)
        else:
            points = max(points, 16 + 2 * len(shapes.shapes))
    return span.quadrature(points, edges)


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
    unit = transform(shapes, columns)
    # Integrated again, because the mass of the shapes as given may be close to singular.
    mass = own_mass(unit, span) if unit.mass is None else unit.mass
    for group in groups:
        block = np.ix_(group, group)
        turn[block] = slowest_first(mass[block])
    scaled = normalise(transform(unit, turn), "tip", span)
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
            f"eigenvalue of the scaled stiffness matrix {least:.1e}): leave some out"
        )
    import scipy.linalg

    lower = np.linalg.cholesky(scaled)
    return np.asarray(scipy.linalg.solve_triangular(lower, np.diag(1 / size), lower=True).T)


def unit_columns(columns: Array, stiffness: Array) -> Array:
    """Combine columns (n, m) so that each has unit stiffness and no two couple."""
    shared = columns.T @ stiffness @ columns
    size = np.sqrt(np.diag(shared))
    lower = np.linalg.cholesky(shared / np.outer(size, size))
    return np.asarray(columns @ (np.linalg.inv(lower) / size).T)


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
        more = unit_columns(more, stiffness)
    return more


def slowest_first(mass: Array) -> Array:
    """Rotate shapes of unit stiffness into modes, one per column (m, m)."""
    _, turn = np.linalg.eigh(mass)
    return np.asarray(turn[:, ::-1])  # the slowest mode has the largest mass


def _groups(shapes: Shapes) -> list[list[int]]:
    """Split shapes into groups that share no direction and no stiffness."""
    linked = shapes.stiffness != 0
    for i, a in enumerate(shapes.shapes):
        for j, b in enumerate(shapes.shapes):
            linked[i, j] |= bool(a.curves.keys() & b.curves.keys())
    groups: list[list[int]] = []
    left = set(range(len(shapes.shapes)))
    while left:
        group = {min(left)}
        while grown := {j for i in group for j in left if linked[i, j]} - group:
            group |= grown
        groups.append(sorted(group))
        left -= group
    return groups


def _largest(shape: Shape, length: float) -> float:
    """Signed value that `tip` scaling makes 1."""
    directions: list[Direction] = [d for d in shape.curves if d != "twist"]
    directions = directions or ["twist"]
    tips = {d: float(shape.curves[d](np.array([length]))[0]) for d in directions}
    peaks = {d: _peak(shape.curves[d], length) for d in directions}
    tip = max(tips.values(), key=abs)
    peak = max(peaks.values(), key=abs)
    return tip if abs(tip) >= SMALL_TIP * abs(peak) else peak


def _peak(curve: Curve, length: float) -> float:
    """Return the signed largest value of a curve; of equal ones that nearest to the root."""
    x = np.linspace(0, length, 401)
    i = int(np.argmax(np.abs(curve(x)) * (1 - NEARER * x / length)))
    at = x[i : i + 1]
    if 0 < i < len(x) - 1 and (bend := float(curve(at, 2)[0])) != 0:
        # One Newton step from the nearest of 401 places to where the slope is zero.
        at = at - np.clip(curve(at, 1) / bend, -x[1], x[1])
    return float(curve(at)[0])


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
