"""Refined arms: arms with more shape functions, optionally with complete beam theory."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm.accuracy.constants import (
    CANDIDATES,
    DEPENDENT_ENERGY,
    LAST_SHAPES,
)
from flexarm.accuracy.slender import complete_section, turning_section
from flexarm.arm.shapes import Lumped
from flexarm.links.base import DIRECTIONS, Direction, Shapes, Span, SpanCurves
from flexarm.links.basis import MOTIONS, BeamDirection, join, own_stiffness
from flexarm.links.families.spans import moment_curves
from flexarm.mechanics.deformed import flexible_links
from flexarm.model import LinkModel, Model
from flexarm.model.arm_modes import chosen_shapes
from flexarm.model.assemble import assemble
from flexarm.model.elastic import Theory
from flexarm.model.numbers import freeze
from flexarm.model.parts import Flexible, TipRotation
from flexarm.spatial import Array


@dataclass(frozen=True)
class Richer:
    """An arm with additional shapes, and the indices of the original coordinates in it."""

    model: Model  # the arm with added shapes
    kept: list[int]  # index of each coordinate of the given arm in the richer arm, (n,)
    more: list[int]  # indices of shapes added in directions that have shapes already
    left_out: list[int]  # indices of shapes added in elastic directions without shapes
    last: list[int]  # indices of the last ``LAST_SHAPES`` shapes added in each direction

    @classmethod
    def of(cls, given: Model, model: Model, added: Mapping[int, Shapes]) -> "Richer":
        """Find the coordinates of the given arm and of the added shapes in a refined arm."""
        more, left_out, last = list[int](), list[int](), list[int]()
        for index, shapes in added.items():
            part = given.links[index]
            for direction in DIRECTIONS:
                names = (f"{part.name}.{shapes.names[k]}" for k in shapes.moving(direction))
                indices = [model.names.index(name) for name in names]
                (more if part.beam.shapes.moving(direction) else left_out).extend(indices)
                last += indices[-LAST_SHAPES:]
        return cls(model, [model.names.index(name) for name in given.names], more, left_out, last)

    def placed(self, values: NDArray[Any]) -> NDArray[Any]:
        """Rearrange values by coordinate of the given arm, (n, ..), for the refined arm."""
        result = np.zeros((self.model.size, *values.shape[1:]), dtype=values.dtype)
        result[self.kept] = values
        return result


def can_grow(part: LinkModel) -> bool:
    """Return whether shape functions can be added to a link."""
    return part.flexible and not why_fixed(part)


def why_fixed(part: LinkModel) -> str:
    """Return why no shape functions can be added to a flexible link; '' if they can."""
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


def enriched(
    model: Model,
    counts: Mapping[int, int],
    unloaded: Set[tuple[str, Direction]] = frozenset(),
    *,
    complete: bool = False,
) -> Richer:
    """Build an arm with added shape functions in every elastic direction.

    Parameters
    ----------
    model
        The given arm, whose shapes come first in the links of the refined arm.
    counts
        Number of shapes to add per deformation direction, from the softest direction to the
        stiffest.
    unloaded
        Links and deformation directions to which no shapes are added.
    complete
        Whether links become geometrically exact beams, with shear and rotary inertia as far as
        these are known. Otherwise links keep their beam theory.
    """
    own_shapes, added = chosen_shapes(model.chain), dict[int, Shapes]()
    for index, part in enumerate(model.links):
        if can_grow(part):
            still = {direction for name, direction in unloaded if name == part.name}
            added[index] = _added(part, counts, still)

    def shapes_of(index: int, span: Span) -> Shapes:
        shapes = own_shapes(index, span)
        return _joined(shapes, added[index], span) if index in added else shapes

    tip_rotation: TipRotation = "cayley" if complete else model.tip_rotation
    own_theory = tip_rotation == "cayley" and not model.series
    theory = Theory(complete or model.stiffening, exact=complete or own_theory, nodes=model.nodes)
    links = list(model.arm.links)
    for index in added:
        section = links[index].section
        assert section is not None
        section = turning_section(complete_section(section) if complete else section,
                                  links[index].length)  # fmt: skip
        links[index] = links[index].model_copy(update={"section": section})
    arm = model.arm.model_copy(update={"links": type(model.arm.links)(links)})
    rich = assemble(arm, theory, tip_rotation, shapes_of)
    rich = replace(rich, series=model.series and not complete)
    freeze(rich)
    return Richer.of(model, rich, added)


def _joined(shapes_before: Shapes, added: Shapes, span: Span) -> Shapes:
    """Return a link's shapes together with added shapes, and their common strain energy."""
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
    """Return the most useful shapes of a deformation direction that a link does not have.

    First come the static deflections under loads at the tip, then the modes with the lowest
    frequencies of the link with the tip's mass. Each shape is made independent of all previous
    ones. The bending moments of these shapes (for rods their axial forces) are polynomials, like
    those of tip loads and distributed loads on any beam.
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
    inertia = np.where(np.any(inertia), inertia, weight)  # twist without inertia: uniform weight
    inertia[-1] = 0.0 if direction == "twist" else tip_mass
    _, modes_ = np.linalg.eigh(
        (lacking_displacement @ dynamic_shapes).T
        @ (inertia[:, None] * (lacking_displacement @ dynamic_shapes))
    )
    columns = np.hstack([static_shapes, dynamic_shapes @ modes_[:, ::-1]])[:, :count]
    columns /= np.abs(lacking_displacement @ columns).max(axis=0)
    return curves.times(columns)


def _independent(columns: Array, gram: Array) -> Array:
    """Return combinations of columns that are orthonormal with respect to a Gram matrix."""
    values, vectors = np.linalg.eigh(columns.T @ gram @ columns)
    independent = values > DEPENDENT_ENERGY
    return np.asarray(columns @ vectors[:, independent] / np.sqrt(values[independent]))


def is_complete(model: Model) -> bool:
    """Return whether a model already has the beam theory of a refined arm with `complete`."""
    sections = (part.link.section for part in model.links if can_grow(part))
    return model.link_theory == "exact" and all(
        section is None or complete_section(section).model_dump() == section.model_dump()
        for section in sections
    )


def why_not_refined(model: Model) -> str:
    """Return why an arm cannot be refined; '' if it can."""
    for part in flexible_links(model):
        reason = why_fixed(part)
        if not reason and (part.link.elastic_energy or part.link.elastic_force):
            reason = "its elasticity is given by amplitudes: flexarm converge compares other shapes"
        if reason:
            return f"{part.name}: {reason}"
    return ""
