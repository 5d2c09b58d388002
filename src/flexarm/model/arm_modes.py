"""Default shape functions of links, extracted from the arm's mode shapes.

The arm is first discretised with many basis functions per link, so that its modes are accurate to
0.01 %.  On each link and in each direction, a mode of unit strain energy is a curve whose squared
norm is the curve's share of the strain energy.  The n shape functions of a direction follow from a
proper orthogonal decomposition of the curves of all modes: the n dominant left singular vectors.
A mode of angular frequency w is weighted by

    1 / (1 + (w / w2)^3 / 2),

with w2 the arm's second elastic frequency, so that the weight falls with frequency.  Prescribed
joints are fixed in the modes; driven and free joints move.  With three shape functions or more,
the modes with driven joints locked are included too, as under a position controller.  In torsion
the last shape function is the static twist by a torque at the tip, a deformation that hardly
occurs in the modes of a link with a light tip.

The modes of an arm with a rail depend on the station of the link that rides on the rail.  Shape
functions of a rail combine the modes at the start with the modes at stations along the rail, of
equal total weight; at the stations the weight is 1 / (1 + (w / w2) / 2), because a moving load
excites more modes.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm.arm import Arm, Section
from flexarm.arm.shapes import ArmModes, Counted
from flexarm.constants import DIGITS, SINGULAR
from flexarm.links.base import Counts, Direction, Shapes
from flexarm.links.basis import blocks, wanted
from flexarm.links.beams.finite import Conditions, require_modes
from flexarm.links.ends import loaded_ends
from flexarm.links.families.arm_modes import combined_shapes, moment_shapes
from flexarm.links.remembered import remembered
from flexarm.links.shape_counts import counts
from flexarm.links.span import Span
from flexarm.model.assemble import ShapesOf, assemble
from flexarm.model.constants import (
    BASIS_FUNCTIONS,
    EXCESS_FUNCTIONS,
    FILLING_WEIGHT,
    LOCKED_MODES_FROM,
    LOCKED_WEIGHT,
    RIDER_POSITIONS,
)
from flexarm.model.elastic.part import Theory, link_shapes, naming_link
from flexarm.model.parts import Model
from flexarm.model.small_motions import mass_matrix, stiffness_matrix
from flexarm.model.state import start_state
from flexarm.spatial import Array


def chosen_shapes(arm: Arm) -> ShapesOf:
    """Return a function that builds the shape functions of a link from its index and span.

    The model file selects the family of shapes of each link; the family ``arm modes`` is computed
    once for the whole arm.
    """
    own = on_arm_modes(arm)
    found: dict[int, Shapes] = {}

    def shapes_of(index: int, span: Span) -> Shapes:
        if index not in own:
            return link_shapes(arm, index, span)
        if not found:
            known = ("arm modes", arm.model_dump_json())
            found.update(remembered(known, lambda: _arm_shapes(arm, own)))
        return found[index]

    return shapes_of


def on_arm_modes(arm: Arm) -> list[int]:
    """Return the indices of the links whose shape functions are computed from the arm's modes."""
    beams = [(i, link.shapes) for i, link in enumerate(arm.links) if link.beam]
    return [i for i, choice in beams if isinstance(choice, ArmModes)]


def weighs_held(arm: Arm, count: int) -> bool:
    """Return whether modes with driven joints locked are used for ``count`` shape functions."""
    axes = [axis for link in arm.links for axis in link.joint.axes.values()]
    return count >= LOCKED_MODES_FROM and any(axis.actuation == "torque" for axis in axes)


def _arm_shapes(arm: Arm, own: list[int]) -> dict[int, Shapes]:
    """Return the shape functions of the links ``own``, extracted from the arm's modes."""
    spans: dict[int, Span] = {}
    many: dict[int, Shapes] = {}

    def shapes_of(index: int, span: Span) -> Shapes:
        if index not in own:
            return link_shapes(arm, index, span)
        with naming_link(arm, index):
            spans[index], many[index] = span, many_curves(arm, index, span)
        return many[index]

    linear = Theory(stiffening=False, exact=False, nodes=None)
    model = assemble(bare_arm(arm, own), linear, "cayley", shapes_of)
    start, found = SmallMotions.of(model), {}
    for index in own:
        motions = start.ridden(index) if model.carries(index) else start
        with naming_link(arm, index):
            found[index] = _shapes(arm, index, spans[index], many[index], motions)
    return found


def bare_arm(arm: Arm, own: list[int]) -> Arm:
    """Return the arm without those entries of the links ``own`` that do not affect the modes.

    Removed are damping, start values, shear flexibility, nonlinear elasticity and quadratic shapes.
    """
    update: dict[str, Any] = {
        "damping": 0.0, "material_damping": None, "start": {}, "start_speed": {},
        "start_curve": None, "elastic_energy": (), "elastic_force": (), "quadratic_shapes": (),
    }  # fmt: skip
    links = [
        link.model_copy(update=update | {"section": _unsheared(link.section)}) if i in own else link
        for i, link in enumerate(arm.links)
    ]
    return arm.model_copy(update={"links": type(arm.links)(links)})


def _unsheared(section: Section | None) -> Section | None:
    """Return a section without shear flexibility; shear is added to the shape functions later."""
    if section is None or not section.shears:
        return section
    return section.model_copy(update={"shear": False, "GAy": None, "GAz": None})


def many_curves(arm: Arm, index: int, span: Span) -> Shapes:
    """Build the basis functions of a link from which its shape functions are combined.

    Raises
    ------
    ShapeError
        If more shape functions of a direction are requested than the link has modes there.
    """
    ends, number = loaded_ends(arm, index), _counts(arm, index)
    for motion, count in wanted(span, number):
        require_modes(span, motion, Conditions.of(ends, motion), count)
    each = zip(BASIS_FUNCTIONS.values(), number, strict=True)
    many = Counts(*(max(most, n + EXCESS_FUNCTIONS) if n else 0 for most, n in each))
    return remembered(("moments", span.contents, many), lambda: moment_shapes(span, many))


def _shapes(arm: Arm, index: int, span: Span, many: Shapes, motions: "SmallMotions") -> Shapes:
    choice = arm.links[index].shapes
    assert isinstance(choice, Counted)
    number = _counts(arm, index)
    return combined_shapes(choice, span, many, motions.columns(index, many, number))


def _counts(arm: Arm, index: int) -> Counts:
    choice = arm.links[index].shapes
    assert isinstance(choice, Counted)
    return counts(arm, index, choice)


@dataclass(frozen=True)
class SmallMotions:
    """Stiffness matrix and weighted modes of an arm with many basis functions per link."""

    # model, q, stiffness: the arm, its posture (n,), and its stiffness matrix (n, n).
    model: Model
    q: Array
    stiffness: Array
    # own, held: modes with driven joints free, and with driven joints locked, one column each.
    own: Array
    held: Array

    @classmethod
    def of(cls, model: Model) -> "SmallMotions":
        """Compute the modes of an arm at the initial posture of its model file."""
        q = start_state(model)[0]
        for index, low, high in model.sliding_ranges:
            q[index] = np.clip(q[index], low, high)
        return cls.at(model, q)

    @classmethod
    def at(cls, model: Model, q: Array, power: int = 3) -> "SmallMotions":
        """Compute the modes at posture q, shape (n,); ``power`` is the exponent of the weights."""
        mass, stiffness = mass_matrix(model, q), stiffness_matrix(model, q)
        still = set(model.prescribed)
        driven = {a.index if a.motor is None else a.motor for a in model.axes if a.driven}
        linked = _linked(mass) | _linked(stiffness)
        own = _weighed_modes(mass, stiffness, linked, still, power)
        held, arm = own[..., :0], model.arm
        if any(weighs_held(arm, max(_counts(arm, i))) for i in on_arm_modes(arm)):
            held = _weighed_modes(mass, stiffness, linked, still | driven, power)
        return cls(model, q, stiffness, own, held)

    def ridden(self, index: int) -> "SmallMotions":
        """Return the modes at this posture, extended by the modes at stations along a rail.

        ``index`` is the index of the rail's link.
        """
        rider = self.model.links[index + 1]
        assert rider.range is not None
        low, high = rider.range
        found = [(self.own, self.held)]
        for share in (np.arange(RIDER_POSITIONS) + 0.5) / RIDER_POSITIONS:
            q = self.q.copy()
            q[rider.exposed] = low + share * (high - low)
            there = SmallMotions.at(self.model, q, power=1)
            found.append((there.own / RIDER_POSITIONS**0.5, there.held / RIDER_POSITIONS**0.5))
        own, held = (np.concatenate(each, axis=-1) for each in zip(*found, strict=True))
        return replace(self, own=own, held=held)

    def columns(self, index: int, many: Shapes, number: Counts) -> dict[Direction, Array]:
        """Compute the coefficients of a link's shape functions in its basis functions.

        Each direction has a matrix with one row per basis function and one column per shape
        function.
        """
        first, found = self.model.links[index].modes.start, dict[Direction, Array]()
        for direction in dict.fromkeys(many.directions):
            rows = [first + i for i in many.moving(direction)]
            twists = direction == "twist"
            found[direction] = self.main_curves(rows, number.of(direction), static=twists)
        return found

    def main_curves(self, rows: list[int], count: int, *, static: bool) -> Array:
        """Compute the combinations of basis functions that best represent the modes.

        Parameters
        ----------
        rows
            Indices in q of the basis functions of one direction, lowest polynomial degree of the
            bending or torsional moment first.
        count
            Number of combinations.
        static
            Whether the combinations must span the first basis function, for torsion the static
            twist by a torque at the tip.

        Returns
        -------
        ndarray
            Coefficients of the basis functions, one column per combination, (rows, count).
        """
        lower = np.linalg.cholesky(self.stiffness[np.ix_(rows, rows)])
        modes = [self.own[rows]]
        if weighs_held(self.model.arm, count):
            modes.append(np.sqrt(LOCKED_WEIGHT) * self.held[rows])
        strained = lower.T @ np.concatenate(modes, axis=-1)
        fill = FILLING_WEIGHT * np.diag(1 / np.arange(1.0, len(rows) + 1) ** 2)
        strained = np.hstack([strained, fill * (np.linalg.norm(strained) or 1.0)])
        if static:
            first = np.eye(len(rows))[:, :1]
            rest = FILLING_WEIGHT / np.linalg.norm(strained) * strained
            strained = np.hstack([_main(strained)[:, : count - 1], first, rest])
        return np.linalg.solve(lower.T, _main(strained)[:, :count])


def _main(columns: NDArray[Any]) -> NDArray[Any]:
    """Return the left singular vectors of a matrix as columns, by decreasing singular value."""
    if columns.shape[1] > columns.shape[0]:  # fewer columns, same left singular vectors
        columns = np.asarray(np.linalg.qr(columns.T, mode="r")).T
    vectors, _, _ = np.linalg.svd(columns, full_matrices=False)
    return vectors


def _weighed_modes(
    mass: Array, stiffness: Array, linked: NDArray[np.bool_], still: set[int], power: int
) -> Array:
    """Return the weighted modes of unit strain energy, shape (n, modes), one column per mode.

    Coordinates with an index in ``still`` are fixed.  The weight of a mode of angular frequency w
    is ``1 / (1 + (w / w2)^power / 2)``, with w2 the second elastic frequency.
    """
    groups = []
    free = np.array([i for i in range(len(linked)) if i not in still], dtype=int)
    for part in blocks(linked[np.ix_(free, free)]):
        own = free[part]
        block = np.ix_(own, own)
        groups.append((own, *_modes(mass[block], stiffness[block])))
    periods = np.concatenate([np.zeros(0), *(mine for _, _, mine in groups)])
    found = np.zeros((len(stiffness), len(periods)))
    slow = np.sort(periods[periods > 0])[::-1]
    weights = np.ones(len(periods))
    if len(slow):
        raised = periods**power
        weights = raised / (raised + slow[:2][-1] ** power / 2)
    at = 0
    for own, modes, mine in groups:
        columns = np.arange(at, at + len(mine))
        found[own[:, None], columns] = modes * weights[columns]
        at += len(columns)
    return found


def _modes(mass: Array, stiffness: Array) -> tuple[Array, Array]:
    """Return modes of unit strain energy as columns, and their inverse angular frequencies [s]."""
    size = np.sqrt(np.diag(stiffness))
    size = np.where(size == 0, 1.0, size)
    values, vectors = _eigen(stiffness / np.outer(size, size))
    loose, vectors = values <= SINGULAR, vectors / size[:, None]
    rigid, strained = vectors[:, loose], vectors[:, ~loose] / np.sqrt(values[~loose])
    moved = mass @ strained
    moving = strained.T @ moved
    if rigid.shape[1]:  # rigid-body motions are removed by the condition of zero momentum
        pull = rigid.T @ moved
        moving = moving - pull.T @ np.linalg.pinv(rigid.T @ mass @ rigid, hermitian=True) @ pull
    squares, turn = _eigen((moving + moving.T) / 2)
    return strained @ turn, np.sqrt(np.maximum(squares, 0.0))


def _eigen(matrix: Array) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of a symmetric matrix, solved per decoupled block."""
    values, vectors = np.zeros(len(matrix)), np.zeros_like(matrix)
    for own in blocks(_linked(matrix)):
        block = np.ix_(own, own)
        values[own], vectors[block] = np.linalg.eigh(matrix[block])
    return values, vectors


def _linked(matrix: Array) -> NDArray[np.bool_]:
    """Return a Boolean matrix (n, n), true where a symmetric matrix couples two coordinates."""
    size = np.sqrt(np.abs(np.diag(matrix)))
    return np.asarray(np.abs(matrix) > DIGITS * np.outer(size, size))
