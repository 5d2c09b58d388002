"""Families of shape functions: modes, static shapes, finite elements, polynomials, springs."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import legendre

from flexarm.arm import shapes as choices
from flexarm.arm.shapes import Counted, ShapeChoice
from flexarm.links.base import (
    DIRECTIONS,
    LABELS,
    Counts,
    Direction,
    Discretisation,
    Ends,
    Shapes,
    Span,
    SpanCurves,
    fitted,
    integrate_strain,
    union,
)
from flexarm.links.basis import (
    MOTIONS,
    BeamDirection,
    diagonalise,
    family,
    join,
    left_over,
    normalisation,
    normalise,
    orthonormal_columns,
    own_mass,
    requested_directions,
    slowest_first,
    strained,
)
from flexarm.links.beams.finite import Conditions, SpanModes, Support, constraint_shapes, modes
from flexarm.links.constants import RATIONAL_DEGREES
from flexarm.spatial import Array


def moment_curves(span: Span, motion: BeamDirection, count: int) -> SpanCurves:
    """Return curves whose bending moments (for rods, axial forces) are Legendre polynomials of x.

    Tip loads and polynomial distributed loads cause such moments in any section.
    """
    edges = span.edges
    values = span.table[motion.stiffness]
    degree = count - 1 + (0 if np.all(values == values[0]) else RATIONAL_DEGREES)

    def strain(x: Array) -> Array:
        moment = legendre.legvander(2 * x / span.length - 1, count - 1)
        return np.asarray(moment * (values.max() / span.at(motion.stiffness, x))[:, None])

    series = fitted(strain, edges, degree + 1)
    return integrate_strain(edges, series, np.zeros((motion.order, count)))


def moment_shapes(span: Span, counts: Counts) -> Shapes:
    """Return moment curves of each direction as shapes, in order of increasing degree."""
    parts = []
    for motion, count in requested_directions(span, counts):
        curves = moment_curves(span, motion, count)
        parts.append(family(motion.direction, curves, span.edges))
    return strained(join(parts, span), span)


def combined_shapes(
    choice: Counted, span: Span, curves: Shapes, columns: dict[Direction, Array]
) -> Shapes:
    """Build shapes of the span from combinations of moment curves, one per column and direction.

    The combined shapes of each direction are diagonalised. If the shape choice requests static
    shapes of tip loads, which are the moment curves of the lowest degrees, they are added.
    """

    def combine(direction: Direction, weights: Array) -> SpanCurves:
        (basis,) = curves.curves[direction]
        all_weights = np.zeros((curves.count, weights.shape[1]))
        all_weights[curves.moving(direction)] = weights
        return basis.times(all_weights)

    def stiffness(direction: Direction) -> Array:
        indices = curves.moving(direction)
        return curves.stiffness[np.ix_(indices, indices)]

    def rest(motion: BeamDirection, _: int) -> SpanCurves:
        weights = columns[motion.direction]
        static = np.eye(len(weights))[:, : motion.order]
        return combine(motion.direction, left_over(weights, static, stiffness(motion.direction)))

    parts = []
    for direction, weights in columns.items():
        coupled = weights.T @ stiffness(direction) @ weights
        part = family(direction, combine(direction, weights), span.edges, coupled)
        parts.append(diagonalise(part, span))
    shapes = normalise(join(parts, span), choice.normalise, span)
    if not choice.static:
        return shapes
    counts = Counts(*(columns[d].shape[1] if d in columns else 0 for d in DIRECTIONS))
    return add_static(shapes, span, counts, rest)


@dataclass(frozen=True)
class Assumed(Discretisation):
    """Family of modes of a span, defined by boundary conditions in each direction."""

    name: str
    summary: str
    citation: str
    # Function of the inertia at the link's ends and a direction that returns the boundary
    # conditions.
    conditions: Callable[[Ends, BeamDirection], Conditions]
    keep_root: bool = False  # whether bending shapes have a root slope, which rotates the hub
    with_body: bool = False  # whether the boundary conditions depend on the inertia at the ends
    # Whether the eigenproblem of bending includes the rotary inertia Jy, Jz of the sections, as the
    # mass matrix of the amplitudes always does.
    rotary: bool = False

    def loaded(self, choice: ShapeChoice) -> bool:
        """Return whether the shapes depend on the inertia of the bodies at the link's ends."""
        return self.with_body

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the mode shapes of a span in all directions."""
        parts = []
        for motion, count in requested_directions(span, counts):
            elastic = self._modes(span, ends, motion, count)
            curves = elastic.raw if self.keep_root else elastic.curves
            parts.append(family(motion.direction, curves, span.edges, elastic.stiffness))
        return normalise(join(parts, span), normalisation(choice), span)

    def rest(self, span: Span, ends: Ends, direction: Direction, count: int) -> SpanCurves:
        """Return the static shapes of tip loads in one direction, orthogonal to its first modes."""
        return self._modes(span, ends, MOTIONS[direction], count).rest

    def _modes(self, span: Span, ends: Ends, motion: BeamDirection, count: int) -> SpanModes:
        if not self.rotary:
            table = {n: v for n, v in span.table.items() if n not in ("Jy", "Jz")}
            span = replace(span, table=table)
        return modes(span, motion, self.conditions(ends, motion), count)


def _clamped(ends: Ends, motion: BeamDirection) -> Conditions:
    """Return the boundary conditions of a clamped root and a rigid body at the tip.

    The tip load has mass, inertia and an axial offset for bending, inertia about the link's axis
    for torsion, and mass for stretch. Inertia at the root has no effect.
    """
    return Conditions.of(replace(ends, root_inertia=(math.inf, math.inf, math.inf)), motion)


def _beams(support: Support) -> Callable[[Ends, BeamDirection], Conditions]:
    """Return a function for boundary conditions: ``support`` for bending, else clamped-free."""
    return lambda ends, motion: Conditions(support if motion.order == 2 else "clamped-free")


# Modes of the span between the inertia at its root and the body at its tip. The root slope (for a
# rod in torsion, the root twist) is subtracted, so that the joint coordinate is the angle of the
# root. The rigid-body mode that a finite root inertia permits is excluded. Stretch shapes have a
# fixed root.
LOADED = Assumed(
    "loaded",
    "modes with the inertia at the root and the body at the tip",
    "interface-loaded component modes: Benfield & Hruda 1971",
    Conditions.of,
    with_body=True,
    rotary=True,
)
ASSUMED = (
    # In an arm, `flexarm.model.arm_modes` replaces these shapes by shapes from the modes of the
    # arm; for a single link they are its loaded modes.
    replace(
        LOADED,
        name="arm-modes",
        summary="curves into which the modes of the arm at its start bend the link",
        citation="this project: proper orthogonal decomposition of the arm's modes",
    ),
    LOADED,
    Assumed(
        "clamped-free",
        "modes of the bare link, clamped at its root",
        "Korayem & Shafei 2009; Chen, Zhang & Liu 2012",
        _beams("clamped-free"),
    ),
    Assumed(
        "clamped-mass",
        "modes of the link clamped at its root with a body at its tip",
        "De Luca & Siciliano 1991; Theodore & Ghosal 1995, eqs 9-11",
        _clamped,
        with_body=True,
    ),
    Assumed(
        "pinned-free",
        "modes of the bare link on a pin, with their root slope",
        "Cannon & Schmitz 1984",
        _beams("pinned-free"),
        keep_root=True,
    ),
    # The shapes vanish at root and tip, so that the x axis is the chord between the ends.
    Assumed(
        "pinned-pinned",
        "modes between two pins; the x axis is the chord",
        "Asada, Ma & Tokumaru 1990",
        _beams("pinned-pinned"),
        keep_root=True,
    ),
    # Root displacement and slope are subtracted: the root stays at the joint and tangent to x.
    Assumed(
        "free-free",
        "modes of the floating link, root displacement and slope taken out",
        "Meirovitch 1986",
        _beams("free-free"),
    ),
)


class CraigBamptonShapes(Discretisation):
    """Constraint shapes of the tip, and ``count`` fixed-interface modes in each direction.

    In bending, ``y1`` is the static shape of unit tip displacement [m] at zero tip slope, and
    ``y2`` that of unit tip slope [rad] (dy/dx or dz/dx) at zero tip displacement. ``y3`` and higher
    are the modes with both ends clamped. In torsion and stretch, ``twist1`` and ``x1`` are the
    static shapes of unit tip twist and displacement, the others the modes with both ends fixed.
    Constraint shapes are never rescaled. A direction with a count of 0 has no constraint shapes
    either.

    The stiffness matrix couples neither constraint shapes with modes nor modes with each other.
    Static deflections under any force and moment at the tip are exact.
    """

    name = "craig-bampton"
    summary = "static tip shapes and modes with the tip held"
    citation = "Craig & Bampton 1968"

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the constraint shapes and fixed-interface modes of a span."""
        parts = []
        for motion, count in requested_directions(span, counts):
            curves, stiffness = constraint_shapes(span, motion)
            parts.append(family(motion.direction, curves, span.edges, stiffness))
            fixed_modes = modes(span, motion, Conditions("clamped-clamped"), count)
            mode_shapes = family(
                motion.direction,
                fixed_modes.curves,
                span.edges,
                fixed_modes.stiffness,
                first=curves.count + 1,
            )
            parts.append(normalise(mode_shapes, normalisation(choice), span))
        return join(parts, span)


# Legendre coefficients on an element per unit displacement and slope of its right node; the left
# node's are mirrored. Slopes are with respect to half the element length.
HERMITE = ((0.5, 0.6, 0.0, -0.1), (-1 / 6, -0.1, 1 / 6, 0.1))
LINEAR = ((0.5, 0.5),)


def nodal_shapes(span: Span, motion: BeamDirection, count: int) -> Shapes:
    """Build the shape functions of finite elements in one direction, with a clamped root node."""
    edges, order = np.linspace(0.0, span.length, count + 1), motion.order
    factors = (span.length / count / 2) ** np.arange(order)
    right_functions = np.array(HERMITE if order == 2 else LINEAR)
    mirror_signs = (-1.0) ** np.add.outer(np.arange(order), np.arange(2 * order))
    right, left = right_functions.T * factors, (mirror_signs * right_functions).T * factors
    values = np.zeros((count, 2 * order, count * order))
    for element in range(count):
        columns = slice(element * order, (element + 1) * order)
        values[element, :, columns] = right
        values[element + 1 :, :, columns][:1] = left
    curves = SpanCurves.from_values(edges, values)
    kinds = ("", "slope_")[:order]
    names = [f"node{k}.{kind}{LABELS[motion.direction]}" for k in range(1, count + 1)
             for kind in kinds]  # fmt: skip
    shapes = replace(family(motion.direction, curves, edges), names=tuple(names))
    return strained(shapes, span)


def _reduced(
    nodal: Shapes, span: Span, motion: BeamDirection, conditions: Conditions, count: int
) -> Shapes:
    """Return the first ``count`` modes of finite elements in one direction, with a tip body."""
    (curves,) = nodal.curves[motion.direction]
    tip = np.array([span.length])
    tip_motion = np.vstack([curves(tip, nu) for nu in range(motion.order)])
    body = conditions.tip_factor(motion) @ tip_motion
    mass = own_mass(nodal, span) + body.T @ body
    orthonormal = orthonormal_columns(nodal.stiffness, nodal.names)
    modes = curves.times(orthonormal @ slowest_first(orthonormal.T @ mass @ orthonormal)[:, :count])
    return family(motion.direction, modes, nodal.edges, np.ones(modes.count))


class ElementShapes(Discretisation):
    """Finite elements of equal length, as many as the counts; the root node is clamped.

    Coordinates are the displacements and slopes of the nodes; of n nodes, node k is at a distance k
    L/n from the root. The order of the coordinates is ``node1.y``, ``node1.slope_y`` (dy/dx),
    ``node2.y``, ...; then ``node1.z``, ``node1.slope_z`` (dz/dx), ...; ``node1.twist``, ...;
    ``node1.stretch``, ... Section properties may vary inside an element, and are integrated without
    approximation.

    With ``reduce`` = r, the coordinates ``y1``, ``y2``, ... are instead the amplitudes of the first
    r modes of the elements in each direction, with a clamped root and the tip body attached. If the
    elements have fewer than r modes, all of them are used.
    """

    name = "elements"
    summary = "Hermite beam elements, linear in twist and stretch"
    citation = "Theodore & Ghosal 1995, eqs 12-15"

    def loaded(self, choice: ShapeChoice) -> bool:
        """Return whether the shapes are modes of the finite elements with the tip body."""
        return isinstance(choice, choices.Elements) and choice.reduce is not None

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the nodal shapes of a span or, with ``reduce``, the modes of its elements."""
        parts = [
            nodal_shapes(span, motion, count)
            for motion, count in requested_directions(span, counts)
        ]
        reduce = choice.reduce if isinstance(choice, choices.Elements) else None
        if reduce is None:
            return join(parts, span)
        motions = [motion for motion, _ in requested_directions(span, counts)]
        modal = [
            _reduced(part, span, motion, Conditions.of(ends, motion), reduce)
            for part, motion in zip(parts, motions, strict=True)
        ]
        return normalise(join(modal, span), normalisation(choice), span)


def _springs(span: Span, motion: BeamDirection, count: int) -> Shapes:
    """Return the shapes of lumped springs in one direction, each for a unit spring deflection."""
    segments = np.linspace(0.0, span.length, count + 1)
    centres = (segments[:-1] + segments[1:]) / 2
    edges = np.concatenate(([0.0], centres, [span.length]))
    half = np.diff(edges)[:, None] / 2
    is_outboard = np.where(np.arange(count + 1)[:, None] > np.arange(count), 1.0, 0.0)
    series = [is_outboard]
    if motion.order == 2:
        series = [is_outboard * (edges[:-1, None] + half - centres), is_outboard * half]
    curves = SpanCurves.from_values(edges, np.stack(series, axis=1))
    return family(motion.direction, curves, edges, 1 / _compliance(span, motion, segments))


def _compliance(span: Span, motion: BeamDirection, segments: Array) -> Array:
    """Return the compliance ``int dx/E`` of each segment of a span.

    The stiffness E is linear between the stations of the section.
    """
    edges = union(segments, span.edges)
    width = np.diff(edges)
    left = span.at(motion.stiffness, edges[:-1])
    growth = 2 * (span.at(motion.stiffness, edges[:-1] + width / 2) / left - 1)
    # The factor is ln(1 + g)/g, with the limit 1 for a uniform panel.
    is_uniform = np.abs(growth) < 1e-12
    factor = np.where(is_uniform, 1.0, np.log1p(growth) / np.where(is_uniform, 1.0, growth))
    starts = np.searchsorted(edges, segments[:-1])
    return np.asarray(np.add.reduceat(width / left * factor, starts))


class LumpedShapes(Discretisation):
    """Rigid straight pieces connected by springs at the centres of equal segments.

    Amplitudes are the deflections of the springs: in bending the angle between the two pieces [rad]
    (a jump of the slope dy/dx, dz/dx), in torsion the jump of the twist [rad], in stretch the jump
    of the displacement [m]. A spring has the compliance of its segment: ``1/k = int dx/EI``. Only
    the springs deform, so the curves' second derivatives are zero.
    """

    name = "lumped"
    summary = "rigid pieces with springs between them"
    citation = "Yoshikawa & Hosoda 1996"

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the shapes of the spring deflections of a span."""
        parts = [
            _springs(span, motion, count) for motion, count in requested_directions(span, counts)
        ]
        return join(parts, span)


class PolynomialShapes(Discretisation):
    """Polynomials up to a given degree, clamped at the root, combined into modes.

    The n shapes are combinations of x^2 to x^(n + 1) for beams and of x to x^n for rods. The shapes
    approximate the modes with a free tip; ``y1`` has the lowest frequency. Polynomials converge
    fast for a uniform or smoothly tapered span whose deflection differs from its modes because of
    rotation or loads. Polynomials converge slowly at a step of the section, where the curvature
    jumps.
    """

    name = "polynomials"
    summary = "polynomials up to a degree, clamped at the root"
    citation = "Ritz 1909"

    def shapes(self, choice: ShapeChoice, span: Span, ends: Ends, counts: Counts) -> Shapes:
        """Build the polynomial shapes of a span, diagonalised in each direction."""
        edges = np.array([0.0, span.length])
        parts = []
        for motion, count in requested_directions(span, counts):
            # Strains are Legendre polynomials, because powers of x above the ninth would be
            # linearly dependent to working precision.
            root = np.zeros((motion.order, count))
            curves = integrate_strain(edges, np.eye(count)[None], root)
            part = strained(family(motion.direction, curves, edges), span)
            parts.append(diagonalise(part, span))
        return normalise(join(parts, span), normalisation(choice), span)


def add_static(
    shapes: Shapes,
    span: Span,
    counts: Counts,
    remaining_shapes: Callable[[BeamDirection, int], SpanCurves],
) -> Shapes:
    """Return modes and static shapes of tip loads, orthogonal to the modes in strain energy.

    Parameters
    ----------
    shapes
        Modes, each in a single direction.
    span, counts
        The span, and the number of modes in each direction.
    remaining_shapes
        Function of a direction and its number of modes. The function returns the static shapes with
        their projection on the modes subtracted, as curves whose stiffness matrix is the identity.

    Returns
    -------
    Shapes
        In each direction the unchanged modes, then two static shapes for a beam or one for a rod.
        Together with the modes of a uniform beam, they represent x^2 and x^3 exactly. Static shapes
        that are linear combinations of the modes are omitted.
    """
    parts: list[Shapes] = []
    for motion, count in requested_directions(span, counts):
        own_modes, curves = (
            shapes.some(shapes.moving(motion.direction)),
            remaining_shapes(motion, count),
        )
        unit_stiffness = np.ones(curves.count)
        static_shapes = family(
            motion.direction, curves, shapes.edges, unit_stiffness, first=own_modes.count + 1
        )
        parts += [own_modes, diagonalise(static_shapes, span)]
    return join(parts, span)
