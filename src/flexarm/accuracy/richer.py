"""An arm with additional shapes that the given model lacks, by linear or by its own theory."""

from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from flexarm.accuracy.constants import ADDED_SHAPES, CANDIDATES, DEPENDENT_ENERGY
from flexarm.arm import Arm
from flexarm.arm.shapes import Lumped
from flexarm.errors import ModelError
from flexarm.links.base import DIRECTIONS, Direction, Shapes
from flexarm.links.basis import MOTIONS, BeamDirection, join, own_stiffness
from flexarm.links.body_data import BodyData
from flexarm.links.curves import SpanCurves
from flexarm.links.families.arm_modes import moment_curves
from flexarm.links.span import Span
from flexarm.model import LinkModel, Model
from flexarm.model.arm_modes import chosen_shapes
from flexarm.model.assemble import assemble
from flexarm.model.contents import freeze
from flexarm.model.elastic.damping import link_damping
from flexarm.model.elastic.part import Theory
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
    return part.flexible and not whats_fixed(part)


def whats_fixed(part: LinkModel) -> str:
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
    """Build an arm by linear theory, with added shapes in every elastic direction."""
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
        own = model.links[index].beam.shapes
        for name, direction in zip(shapes.names, shapes.directions, strict=True):
            group = more if own.moving(direction) else left_out
            group.append(rich.names.index(f"{model.links[index].name}.{name}"))
    kept = tuple(map(rich.names.index, model.names))
    return Richer(rich, kept, tuple(more), tuple(left_out))


def enriched(model: Model, number: Mapping[int, int], still: Set[tuple[str, Direction]]) -> Model:
    """Build an arm by its own theory, with added shapes in every elastic direction.

    Parameters
    ----------
    model
        The arm as given; its shapes are the first ones of the links.
    number
        Number of shapes to add, by the order of the direction's stiffness.
    still
        Links and directions that get none.
    """
    own = chosen_shapes(model.arm)

    def shapes_of(index: int, span: Span) -> Shapes:
        part, shapes = model.links[index], own(index, span)
        if not can_grow(part):
            return shapes
        return _joined(shapes, _added(part, number, {d for name, d in still if name == part.name}),
                       span)  # fmt: skip

    exact = model.tip_rotation == "cayley" and not model.series
    theory = Theory(model.stiffening, exact=exact, nodes=model.nodes)
    rich = assemble(model.arm, theory, model.tip_rotation, shapes_of)
    rich = replace(rich, series=model.series)
    freeze(rich)
    return rich


def _joined(own: Shapes, added: Shapes, span: Span) -> Shapes:
    """Return shapes of a link and those added to it, with their common strain energy."""
    shapes, m = join([own, added], span), own.count
    shapes.stiffness[:] = own_stiffness(shapes, span)
    shapes.stiffness[:m, :m] = own.stiffness
    return shapes


def _added(
    part: LinkModel, number: Mapping[int, int], still: Set[Direction] = frozenset()
) -> Shapes:
    """Return the softest shapes that a link lacks, in its elastic directions but ``still``."""
    elastic = part.beam.linear()
    span, parts = elastic.span, list[Shapes]()
    for direction in DIRECTIONS:
        motion = MOTIONS[direction]
        if span.has(motion.stiffness) and direction not in still:
            curves = _lacking(elastic, motion, part.tip_body.mass, number[motion.order])
            names = tuple(f"more.{direction}{k}" for k in range(1, curves.count + 1))
            none = np.zeros((curves.count, curves.count))
            parts.append(Shapes(names, {direction: (curves,)}, span.edges, none))
    return join(parts, span)


def _lacking(elastic: Flexible, motion: BeamDirection, tip_mass: float, number: int) -> SpanCurves:
    """Return the shapes in a direction that a link's own shapes do not span, most useful first.

    They are the static shapes of loads at the tip, then those with the lowest frequencies with the
    tip's mass, once all before them are projected out.  The bending moments (axial forces of rods)
    of these shapes are polynomials, like the moments of tip loads and distributed loads on any
    beam.
    """
    span, direction = elastic.span, motion.direction
    own = elastic.shapes.moving(direction)
    curves = moment_curves(span, motion, len(own) + CANDIDATES)
    x, weight = span.quadrature(12 + 2 * curves.count, elastic.shapes.edges)
    x, weight = np.append(x, span.length), np.append(weight, 0.0)
    stiff = weight * span.at(motion.stiffness, x)
    old, there = (elastic.shapes.values(direction, x, nu)[:, own] for nu in (motion.order, 0))
    new = curves(x, motion.order)
    taken = np.linalg.lstsq(old.T @ (stiff[:, None] * old), old.T @ (stiff[:, None] * new))[0]
    strain, moved = new - old @ taken, curves(x) - there @ taken
    gram = strain.T @ (stiff[:, None] * strain)
    every = np.diag(1 / np.sqrt(np.einsum("g,gi,gi->i", stiff, new, new)))
    static = _independent(every[:, : motion.order], gram)
    free = _independent(every - static @ (static.T @ gram @ every), gram)
    heavy = weight * span.at(motion.inertia, x)
    heavy = np.where(np.any(heavy), heavy, weight)  # a twist without inertia
    heavy[-1] = 0.0 if direction == "twist" else tip_mass
    _, turn = np.linalg.eigh((moved @ free).T @ (heavy[:, None] * (moved @ free)))
    columns = np.hstack([static, free @ turn[:, ::-1]])[:, :number]
    columns /= np.abs(moved @ columns).max(axis=0)
    return curves.times(columns)


def _independent(columns: Array, gram: Array) -> Array:
    """Return combinations of columns that are orthonormal by a Gram matrix."""
    values, vectors = np.linalg.eigh(columns.T @ gram @ columns)
    apart = values > DEPENDENT_ENERGY
    return np.asarray(columns @ vectors[:, apart] / np.sqrt(values[apart]))


def _grown(arm: Arm, index: int, part: LinkModel, added: Shapes) -> Flexible:
    """Return a link's beam with added shapes, by linear theory."""
    elastic = part.beam.linear()
    span, m = elastic.span, elastic.shapes.count
    shapes = _joined(elastic.shapes, added, span)
    total = shapes.count
    grown = Flexible.of(span, shapes)
    integrals = grown.integrals
    # Added shapes stay at rest, so that terms linear in their amplitudes need not be traced.
    products = integrals.shape_shape.copy()
    products[m:] = 0.0
    integrals = replace(integrals, shape_shape=products)
    root = np.hstack([elastic.root_angle, np.zeros((3, added.count))])
    damping = np.zeros((total, total))
    if part.link.damped:
        # A shape that moves no mass is not damped: it follows at once.
        with suppress(ModelError):
            damping += link_damping(arm, index, grown)
    damping[:m, :m] = elastic.damping
    return replace(grown, integrals=integrals, root_angle=root, damping=damping)
