"""Refined arms: reference models with more shapes in every elastic direction."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flexarm.accuracy.constants import LAST_SHAPES, MORE_SHAPES
from flexarm.accuracy.richer import why_fixed
from flexarm.arm import Arm
from flexarm.arm.shapes import Polynomials
from flexarm.links.base import DIRECTIONS, Counts, Direction, Shapes
from flexarm.links.basis import MOTIONS
from flexarm.links.families.arm_modes import moment_shapes
from flexarm.links.span import Span
from flexarm.mechanics.constants import SHAPE_STATIONS
from flexarm.mechanics.deformed import flexible_links
from flexarm.mechanics.drives import hub_row
from flexarm.model import LinkModel, Model
from flexarm.model.assemble import assemble
from flexarm.model.elastic.part import Theory, link_shapes
from flexarm.spatial import Array


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
