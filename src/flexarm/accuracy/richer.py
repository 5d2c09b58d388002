"""Arms with more shapes than a given model: by linear theory, by its own theory, or refined."""

from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from flexarm.accuracy.constants import (
    ADDED_SHAPES,
    CANDIDATES,
    DEPENDENT_ENERGY,
    LAST_SHAPES,
    MORE_SHAPES,
)
from flexarm.arm import Arm
from flexarm.arm.shapes import Lumped, Polynomials
from flexarm.errors import ModelError
from flexarm.links.base import DIRECTIONS, Counts, Direction, Shapes, Span, SpanCurves
from flexarm.links.basis import MOTIONS, BeamDirection, join, own_stiffness
from flexarm.links.body_data import BodyData
from flexarm.links.families.arm_modes import moment_curves, moment_shapes
from flexarm.mechanics.constants import SHAPE_STATIONS
from flexarm.mechanics.deformed import flexible_links
from flexarm.mechanics.drives import hub_row
from flexarm.model import LinkModel, Model
from flexarm.model.arm_modes import chosen_shapes
from flexarm.model.assemble import assemble
from flexarm.model.elastic import Theory, link_damping, link_shapes
from flexarm.model.numbers import freeze
from flexarm.model.parts import Flexible
from flexarm.spatial import Array


@dataclass(frozen=True)
class Richer:
    """Linear-theory model of an arm with added shapes, and the indices of its coordinates."""

    model: Model  # the arm
    kept: tuple[int, ...]  # index of each coordinate of the given arm in the richer arm, (n,)
    more: tuple[int, ...]  # indices of shapes added in directions that have shapes already
    left_out: tuple[int, ...]  # indices of shapes added in elastic directions without shapes


def can_grow(part: LinkModel) -> bool:
    """Return whether shapes can be added to a link."""
    return part.flexible and not why_fixed(part)


def why_fixed(part: LinkModel) -> str:
    """Return why no shapes can be added to a flexible link; empty if they can be added."""
    if not part.body.sectioned:
        return "its modes come with its body, so reduce the body with more modes"
    if part.body.range is not None:
        return "its length changes, so run flexarm converge, which compares more shapes"
    if part.body.measured:
        return "its modes were measured or computed elsewhere, so take more of them there"
    if isinstance(part.link.shapes, Lumped):
        return "it is lumped, so run flexarm converge, which compares more pieces"
    if part.link.quadratic_shapes:
        return "it has quadratic_shapes, which must be left out"
    return ""


def richer(model: Model) -> Richer:
    """Build an arm with added shapes in every elastic direction, by linear beam theory."""
    added = {k: _added(part, ADDED_SHAPES) for k, part in enumerate(model.links) if can_grow(part)}

    def body_of(arm: Arm, index: int, *_: object) -> BodyData:
        part = model.links[index]
        return _grown(arm, index, part, added[index]) if index in added else part.body.linear()

    theory = Theory(stiffening=False, exact=False, nodes=None)
    rich = assemble(
        model.arm, theory, "cayley", lambda index, _: model.links[index].beam.shapes, body_of
    )
    more, left_out = list[int](), list[int]()
    for index, shapes in added.items():
        shapes_before = model.links[index].beam.shapes
        for name, direction in zip(shapes.names, shapes.directions, strict=True):
            group = more if shapes_before.moving(direction) else left_out
            group.append(rich.names.index(f"{model.links[index].name}.{name}"))
    indices = tuple(map(rich.names.index, model.names))
    return Richer(rich, indices, tuple(more), tuple(left_out))


def enriched(
    model: Model, counts: Mapping[int, int], unloaded: Set[tuple[str, Direction]]
) -> Model:
    """Build an arm with added shapes in every elastic direction, by the beam theory of the model.

    Parameters
    ----------
    model
        The arm as given; its shapes are the first ones of the links.
    counts
        Number of shapes to add, by the order of the direction's stiffness.
    unloaded
        Links and directions to which no shapes are added.
    """
    own_shapes = chosen_shapes(model.arm)

    def shapes_of(index: int, span: Span) -> Shapes:
        part, shapes = model.links[index], own_shapes(index, span)
        if not can_grow(part):
            return shapes
        return _joined(
            shapes, _added(part, counts, {d for name, d in unloaded if name == part.name}), span
        )

    exact = model.tip_rotation == "cayley" and not model.series
    theory = Theory(model.stiffening, exact=exact, nodes=model.nodes)
    rich = assemble(model.arm, theory, model.tip_rotation, shapes_of)
    rich = replace(rich, series=model.series)
    freeze(rich)
    return rich


def _joined(shapes_before: Shapes, added: Shapes, span: Span) -> Shapes:
    """Return a link's shapes joined with added shapes, with their common strain energy."""
    shapes, m = join([shapes_before, added], span), shapes_before.count
    shapes.stiffness[:] = own_stiffness(shapes, span)
    shapes.stiffness[:m, :m] = shapes_before.stiffness
    return shapes


def _added(
    part: LinkModel, counts: Mapping[int, int], unloaded: Set[Direction] = frozenset()
) -> Shapes:
    """Return the softest shapes that a link lacks, except in ``unloaded`` directions."""
    elastic = part.beam.linear()
    span, groups = elastic.span, list[Shapes]()
    for direction in DIRECTIONS:
        motion = MOTIONS[direction]
        if span.has(motion.stiffness) and direction not in unloaded:
            curves = _lacking(elastic, motion, part.tip_body.mass, counts[motion.order])
            names = tuple(f"more.{direction}{k}" for k in range(1, curves.count + 1))
            no_stiffness = np.zeros((curves.count, curves.count))
            groups.append(Shapes(names, {direction: (curves,)}, span.edges, no_stiffness))
    return join(groups, span)


def _lacking(elastic: Flexible, motion: BeamDirection, tip_mass: float, count: int) -> SpanCurves:
    """Return the most useful shapes in a direction that a link's own shapes cannot represent.

    First come the static shapes of loads at the tip, then the shapes with the lowest frequencies
    with the tip's mass. Each is made independent of all previous shapes. The bending moments (axial
    forces of rods) of these shapes are polynomials, like the moments of tip loads and distributed
    loads on any beam.
    """
    span, direction = elastic.span, motion.direction
    own_indices = elastic.shapes.moving(direction)
    curves = moment_curves(span, motion, len(own_indices) + CANDIDATES)
    x, weight = span.quadrature(12 + 2 * curves.count, elastic.shapes.edges)
    x, weight = np.append(x, span.length), np.append(weight, 0.0)
    stiffness = weight * span.at(motion.stiffness, x)
    own_strain, own_displacement = (
        elastic.shapes.values(direction, x, nu)[:, own_indices] for nu in (motion.order, 0)
    )
    strain_of_candidates = curves(x, motion.order)
    projection = np.linalg.lstsq(
        own_strain.T @ (stiffness[:, None] * own_strain),
        own_strain.T @ (stiffness[:, None] * strain_of_candidates),
    )[0]
    lacking_strain, lacking_displacement = (
        strain_of_candidates - own_strain @ projection,
        curves(x) - own_displacement @ projection,
    )
    gram = lacking_strain.T @ (stiffness[:, None] * lacking_strain)
    candidates = np.diag(
        1 / np.sqrt(np.einsum("g,gi,gi->i", stiffness, strain_of_candidates, strain_of_candidates))
    )
    static_shapes = _independent(candidates[:, : motion.order], gram)
    dynamic_shapes = _independent(
        candidates - static_shapes @ (static_shapes.T @ gram @ candidates), gram
    )
    inertia = weight * span.at(motion.inertia, x)
    inertia = np.where(np.any(inertia), inertia, weight)  # a twist without inertia
    inertia[-1] = 0.0 if direction == "twist" else tip_mass
    _, modes_ = np.linalg.eigh(
        (lacking_displacement @ dynamic_shapes).T
        @ (inertia[:, None] * (lacking_displacement @ dynamic_shapes))
    )
    columns = np.hstack([static_shapes, dynamic_shapes @ modes_[:, ::-1]])[:, :count]
    columns /= np.abs(lacking_displacement @ columns).max(axis=0)
    return curves.times(columns)


def _independent(columns: Array, gram: Array) -> Array:
    """Return combinations of columns that are orthonormal by a Gram matrix."""
    values, vectors = np.linalg.eigh(columns.T @ gram @ columns)
    independent = values > DEPENDENT_ENERGY
    return np.asarray(columns @ vectors[:, independent] / np.sqrt(values[independent]))


def _grown(arm: Arm, index: int, part: LinkModel, added: Shapes) -> Flexible:
    """Return a link's beam with added shapes, by linear theory."""
    elastic = part.beam.linear()
    span, m = elastic.span, elastic.shapes.count
    shapes = _joined(elastic.shapes, added, span)
    total = shapes.count
    beam = Flexible.of(span, shapes)
    integrals = beam.integrals
    # Added shapes stay at rest, so that terms linear in their amplitudes need not be traced.
    products = integrals.shape_shape.copy()
    products[m:] = 0.0
    integrals = replace(integrals, shape_shape=products)
    root = np.hstack([elastic.root_angle, np.zeros((3, added.count))])
    damping = np.zeros((total, total))
    if part.link.damped:
        # A shape without mass is not damped, since it follows quasi-statically.
        with suppress(ModelError):
            damping += link_damping(arm, index, beam)
    damping[:m, :m] = elastic.damping
    return replace(beam, integrals=integrals, root_angle=root, damping=damping)


@dataclass(frozen=True)
class Refined:
    """A refined arm, whose additional shapes have polynomial bending moments.

    Attributes
    ----------
    given, model
        The given arm and the refined arm.
    added, last
        Indices of the amplitudes in directions without shapes in the given arm, and of the last
        ``LAST_SHAPES`` in each direction.
    """

    given: Model
    model: Model
    added: frozenset[int]
    last: frozenset[int]

    @cached_property
    def joints(self) -> Array:
        """Matrix from base and joint coordinates of the refined arm to the given arm's, (n, r)."""
        pairs = [(k, k) for k in range(6 if self.given.base_moves else 0)]
        for axis, refined_axis in zip(self.given.axes, self.model.axes, strict=True):
            pairs.append((axis.index, refined_axis.index))
            if axis.motor is not None and refined_axis.motor is not None:
                pairs.append((axis.motor, refined_axis.motor))
        matrix = np.zeros((self.given.size, self.model.size))
        matrix[tuple(np.array(pairs, dtype=int).reshape(-1, 2).T)] = 1.0
        return matrix

    @cached_property
    def fit(self) -> Array:
        """Matrix from coordinates of the given arm to coordinates of the refined arm, (r, n)."""
        fit = self.joints.T.copy()
        for axis, refined_axis in zip(self.given.axes, self.model.axes, strict=True):
            fit[refined_axis.index] = hub_row(self.given, axis)
        for part, refined_part in zip(self.given.links, self.model.links, strict=True):
            if part.flexible:
                fit[refined_part.modes, part.modes] = _fitted(part, refined_part)
        return fit


def why_not_refined(model: Model) -> str:
    """Return why an arm cannot be refined; empty if it can be refined."""
    for part in flexible_links(model):
        reason = why_fixed(part)
        if not reason and (part.link.elastic_energy or part.link.elastic_force):
            reason = "its elasticity is given by amplitudes: flexarm converge compares other shapes"
        if reason:
            return f"{part.name}: {reason}"
    return ""


def refine(model: Model, *, exact: bool) -> Refined:
    """Build a refined arm, with more shapes in every elastic direction of its sections.

    Parameters
    ----------
    model
        An arm that can be refined, for which `why_not_refined` returns an empty text.
    exact
        Whether links are geometrically exact beams; else the model's theory is used.
    """
    counts = {index: _counts(part) for index, part in enumerate(model.links) if part.flexible}

    def shapes_of(index: int, span: Span) -> Shapes:
        return (
            moment_shapes(span, counts[index])
            if index in counts
            else link_shapes(model.arm, index, span)
        )

    theory = Theory(exact or model.stiffening, exact=exact or not model.series, nodes=None)
    refined = assemble(_plain(model.arm, counts), theory, "cayley", shapes_of)
    added, last = set[int](), set[int]()
    for part, refined_part in zip(model.links, refined.links, strict=True):
        for direction, indices in _by_direction(refined_part).items():
            last.update(indices[-LAST_SHAPES:])
            if not _by_direction(part)[direction]:
                added.update(indices)
    return Refined(model, refined, frozenset(added), frozenset(last))


def _counts(part: LinkModel) -> Counts:
    span, shapes_of = part.beam.span, _by_direction(part)
    return Counts(
        *(
            len(shapes_of[d]) + MORE_SHAPES if span.has(MOTIONS[d].stiffness) else 0
            for d in DIRECTIONS
        )
    )


def _by_direction(part: LinkModel) -> dict[Direction, list[int]]:
    """Return the coordinate indices of a link's amplitudes, by direction."""
    shapes, first = part.beam.shapes if part.flexible else None, part.modes.start
    return {d: [first + k for k in shapes.moving(d)] if shapes else [] for d in DIRECTIONS}


def _plain(arm: Arm, counts: dict[int, Counts]) -> Arm:
    """Return the arm without start values and shape settings of links that get more shapes."""
    update: dict[str, Any] = {"start": {}, "start_speed": {}, "start_curve": None,
              "shapes": Polynomials(kind="polynomials", normalise="none")}  # fmt: skip
    links = [
        link.model_copy(update=update) if index in counts else link
        for index, link in enumerate(arm.links)
    ]
    return arm.model_copy(update={"links": type(arm.links)(links)})


def _fitted(part: LinkModel, refined: LinkModel) -> Array:
    """Return the least-squares fit of a link's shapes by the refined link's shapes, (r, m).

    Shapes are taken relative to their slope at the root.
    """
    x = np.linspace(0.0, part.beam.span.length, SHAPE_STATIONS)
    points = np.stack([x, 0 * x, 0 * x], axis=1)
    root = part.beam.root_angle
    rotated_points = np.stack([np.cross(column, points) for column in root.T], axis=2)
    pairs = []
    for elastic, tilt, lift in ((refined.beam, 0.0, 0.0), (part.beam, root[None], rotated_points)):
        displacement = (elastic.shapes.displacement(x) - lift) / elastic.span.length
        pairs.append(np.concatenate([displacement, elastic.shapes.rotation(x) - tilt]))
    columns, targets = (stack.reshape(-1, stack.shape[-1]) for stack in pairs)
    return np.asarray(np.linalg.lstsq(columns, targets)[0])
