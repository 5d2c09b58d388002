"""Default shape functions of links, extracted from the arm's mode shapes.

The arm is first discretised with many basis functions per link, so that its modes are accurate to
0.01 %. Modes are scaled to unit strain energy. On each link and in each direction, a mode is a
curve whose squared norm is its share of the mode's strain energy. The n shape functions of a
direction follow from a proper orthogonal decomposition of the curves of all modes: the n dominant
left singular vectors. A mode of angular frequency w is weighted by

    1 / (1 + (w / w2)^3 / 2),

with w2 the arm's second elastic frequency, so that the weight falls with frequency. Prescribed
joints are fixed in the modes, and driven and free joints move. For three or more shape functions,
modes with driven joints locked are added, as if position controllers held the joints. In torsion,
the static twist by a torque at the tip is always among the shape functions, because it hardly
occurs in the modes of a link with a light tip.

The modes of an arm with a rail depend on the station of the link that rides on the rail. Shape
functions of a rail are computed from the modes at the initial station and the modes at further
stations along the rail, with equal total weights. At the further stations along a rail, a mode has
the weight 1 / (1 + (w / w2) / 2), because a moving load excites more modes.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm.arm import Arm, Section
from flexarm.arm.shapes import ArmModes, Counted
from flexarm.constants import DIGITS, SINGULAR
from flexarm.links.base import Counts, Direction, Shapes, Span
from flexarm.links.basis import blocks, requested_directions
from flexarm.links.beams.finite import Conditions, require_modes
from flexarm.links.end_loads import loaded_ends
from flexarm.links.families.spans import combined_shapes, moment_shapes
from flexarm.links.remembered import remembered
from flexarm.links.shape_counts import counts
from flexarm.links.tree import tree
from flexarm.model.assemble import ShapesOf, assemble
from flexarm.model.constants import (
    BASIS_FUNCTIONS,
    EXCESS_FUNCTIONS,
    FILLING_WEIGHT,
    LOCKED_MODES_FROM,
    LOCKED_WEIGHT,
    RIDER_POSITIONS,
)
from flexarm.model.elastic import Theory, link_shapes, naming_link
from flexarm.model.parts import Model
from flexarm.model.small_motions import mass_matrix, stiffness_matrix
from flexarm.model.state import start_state
from flexarm.spatial import Array


def chosen_shapes(arm: Arm) -> ShapesOf:
    """Return a function that builds the shape functions of a link from its index and span.

    The model file selects the family of shapes of each link; shapes of the family ``arm modes`` are
    computed once for the whole arm.
    """
    extracted = on_arm_modes(arm)
    shapes: dict[int, Shapes] = {}

    def shapes_of(index: int, span: Span) -> Shapes:
        if index not in extracted:
            return link_shapes(arm, index, span)
        if not shapes:
            key = ("arm modes", arm.model_dump_json())
            shapes.update(remembered(key, lambda: _arm_shapes(arm, extracted)))
        return shapes[index]

    return shapes_of


def on_arm_modes(arm: Arm) -> list[int]:
    """Return the indices of the links whose shape functions are computed from the arm's modes."""
    beams = [(i, link.shapes) for i, link in enumerate(arm.links) if link.beam]
    return [i for i, shapes in beams if isinstance(shapes, ArmModes)]


def includes_locked_modes(arm: Arm, count: int) -> bool:
    """Return whether ``count`` shape functions also represent modes with driven joints locked."""
    axes = [axis for link in arm.links for axis in link.joint.axes.values()]
    return count >= LOCKED_MODES_FROM and any(axis.actuation == "torque" for axis in axes)


def _arm_shapes(arm: Arm, indices: list[int]) -> dict[int, Shapes]:
    """Return the shape functions of the links ``indices``, extracted from the arm's modes."""
    spans: dict[int, Span] = {}
    basis: dict[int, Shapes] = {}

    def shapes_of(index: int, span: Span) -> Shapes:
        if index not in indices:
            return link_shapes(arm, index, span)
        with naming_link(arm, index):
            spans[index], basis[index] = span, basis_shapes(arm, index, span)
        return basis[index]

    linear = Theory(stiffening=False, exact=False, nodes=None)
    model = assemble(bare_arm(arm, indices), linear, "cayley", shapes_of)
    initial, result = SmallMotions.of(model), {}
    for index in indices:
        rider = tree(arm).rider[index]
        motions = initial if rider is None else initial.with_carriage(rider)
        with naming_link(arm, index):
            result[index] = _shapes(arm, index, spans[index], basis[index], motions)
    return result


def bare_arm(arm: Arm, indices: list[int]) -> Arm:
    """Return the arm without entries of given links that have no influence on the arm's modes.

    The removed entries are damping, start values, shear flexibility, nonlinear elasticity and
    quadratic shapes.
    """
    update: dict[str, Any] = {
        "damping": 0.0, "material_damping": None, "start": {}, "start_speed": {},
        "start_curve": None, "elastic_energy": (), "elastic_force": (), "quadratic_shapes": (),
    }  # fmt: skip
    links = [
        link.model_copy(update=update | {"section": _unsheared(link.section)})
        if i in indices
        else link
        for i, link in enumerate(arm.links)
    ]
    return arm.model_copy(update={"links": type(arm.links)(links)})


def _unsheared(section: Section | None) -> Section | None:
    """Return a section without shear flexibility, which is added to the shape functions later."""
    if section is None or not section.shears:
        return section
    return section.model_copy(update={"shear": False, "GAy": None, "GAz": None})


def basis_shapes(arm: Arm, index: int, span: Span) -> Shapes:
    """Build the basis functions of a link from which its shape functions are combined.

    Raises
    ------
    ShapeError
        If more shape functions are requested for a direction than the link has modes in it.
    """
    ends, number = loaded_ends(arm, index), _counts(arm, index)
    for motion, count in requested_directions(span, number):
        require_modes(span, motion, Conditions.of(ends, motion), count)
    sizes = zip(BASIS_FUNCTIONS.values(), number, strict=True)
    basis_counts = Counts(
        *(max(basis_count, n + EXCESS_FUNCTIONS) if n else 0 for basis_count, n in sizes)
    )
    return remembered(
        ("moments", span.contents, basis_counts), lambda: moment_shapes(span, basis_counts)
    )


def _shapes(arm: Arm, index: int, span: Span, basis: Shapes, motions: "SmallMotions") -> Shapes:
    choice = arm.links[index].shapes
    assert isinstance(choice, Counted)
    number = _counts(arm, index)
    return combined_shapes(choice, span, basis, motions.columns(index, basis, number))


def _counts(arm: Arm, index: int) -> Counts:
    choice = arm.links[index].shapes
    assert isinstance(choice, Counted)
    return counts(arm, index, choice)


@dataclass(frozen=True)
class SmallMotions:
    """Weighted modes and stiffness matrix of an arm with many basis functions per link."""

    model: Model
    q: Array  # posture, (n,)
    stiffness: Array  # stiffness matrix of the arm, (n, n)
    free: Array  # weighted modes with driven joints free, one column each, (n, modes)
    locked: Array  # weighted modes with driven joints locked, (n, modes); empty if not used

    @classmethod
    def of(cls, model: Model) -> "SmallMotions":
        """Compute the weighted modes of an arm at the initial posture of its model file."""
        q = start_state(model)[0]
        for index, low, high in model.sliding_ranges:
            q[index] = np.clip(q[index], low, high)
        return cls.at(model, q)

    @classmethod
    def at(cls, model: Model, q: Array, power: int = 3) -> "SmallMotions":
        """Compute the weighted modes of an arm at posture q, (n,).

        ``power`` is the exponent of the frequency in the weights.
        """
        mass, stiffness = mass_matrix(model, q), stiffness_matrix(model, q)
        prescribed = set(model.prescribed)
        driven = {a.index if a.motor is None else a.motor for a in model.axes if a.driven}
        linked = _coupling(mass) | _coupling(stiffness)
        free = _weighted_modes(mass, stiffness, linked, prescribed, power)
        locked, arm = free[..., :0], model.arm
        if any(includes_locked_modes(arm, max(_counts(arm, i))) for i in on_arm_modes(arm)):
            locked = _weighted_modes(mass, stiffness, linked, prescribed | driven, power)
        return cls(model, q, stiffness, free, locked)

    def with_carriage(self, index: int) -> "SmallMotions":
        """Return the modes at this posture and those with a carriage at stations along its rail.

        ``index`` is the index of the link that rides.
        """
        rider = self.model.links[index]
        assert rider.range is not None
        low, high = rider.range
        sets = [(self.free, self.locked)]
        for share in (np.arange(RIDER_POSITIONS) + 0.5) / RIDER_POSITIONS:
            q = self.q.copy()
            q[rider.exposed] = low + share * (high - low)
            at_station = SmallMotions.at(self.model, q, power=1)
            sets.append(
                (at_station.free / RIDER_POSITIONS**0.5, at_station.locked / RIDER_POSITIONS**0.5)
            )
        free, locked = (np.concatenate(modes, axis=-1) for modes in zip(*sets, strict=True))
        return replace(self, free=free, locked=locked)

    def columns(self, index: int, basis: Shapes, number: Counts) -> dict[Direction, Array]:
        """Compute the coefficients of a link's shape functions in its basis functions.

        The matrix of each direction has one row per basis function and one column per shape
        function.
        """
        first, coefficients = self.model.links[index].modes.start, dict[Direction, Array]()
        for direction in dict.fromkeys(basis.directions):
            rows = [first + i for i in basis.moving(direction)]
            twists = direction == "twist"
            coefficients[direction] = self.main_curves(rows, number.of(direction), static=twists)
        return coefficients

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
            Whether the first basis function, which in torsion is the static twist by a torque at
            the tip, must be a linear combination of the returned combinations.

        Returns
        -------
        ndarray
            Coefficients of the basis functions, one column per combination, (rows, count).
        """
        factor = np.linalg.cholesky(self.stiffness[np.ix_(rows, rows)])
        modes = [self.free[rows]]
        if includes_locked_modes(self.model.arm, count):
            modes.append(np.sqrt(LOCKED_WEIGHT) * self.locked[rows])
        strained = factor.T @ np.concatenate(modes, axis=-1)
        fill = FILLING_WEIGHT * np.diag(1 / np.arange(1.0, len(rows) + 1) ** 2)
        strained = np.hstack([strained, fill * (np.linalg.norm(strained) or 1.0)])
        if static:
            static_twist = np.eye(len(rows))[:, :1]
            filling = FILLING_WEIGHT / np.linalg.norm(strained) * strained
            strained = np.hstack([_dominant(strained)[:, : count - 1], static_twist, filling])
        return np.linalg.solve(factor.T, _dominant(strained)[:, :count])


def _dominant(columns: NDArray[Any]) -> NDArray[Any]:
    """Return the left singular vectors of a matrix as columns, largest singular value first."""
    # Reduce the number of columns; left singular vectors are unchanged.
    if columns.shape[1] > columns.shape[0]:
        columns = np.asarray(np.linalg.qr(columns.T, mode="r")).T
    vectors, _, _ = np.linalg.svd(columns, full_matrices=False)
    return vectors


def _weighted_modes(
    mass: Array, stiffness: Array, coupled: NDArray[np.bool_], fixed: set[int], power: int
) -> Array:
    """Return the weighted modes of unit strain energy as columns, (n, modes).

    Coordinates with an index in ``fixed`` do not move. A mode of angular frequency w has the weight
    ``1 / (1 + (w / w2)^power / 2)``, with w2 the second elastic frequency.
    """
    groups = []
    free = np.array([i for i in range(len(coupled)) if i not in fixed], dtype=int)
    for group in blocks(coupled[np.ix_(free, free)]):
        block_indices = free[group]
        block = np.ix_(block_indices, block_indices)
        groups.append((block_indices, *_modes(mass[block], stiffness[block])))
    periods = np.concatenate([np.zeros(0), *(block_periods for _, _, block_periods in groups)])
    result = np.zeros((len(stiffness), len(periods)))
    oscillation_periods = np.sort(periods[periods > 0])[::-1]
    weights = np.ones(len(periods))
    if len(oscillation_periods):
        powers = periods**power
        weights = powers / (powers + oscillation_periods[:2][-1] ** power / 2)
    column = 0
    for block_indices, modes, block_periods in groups:
        columns = np.arange(column, column + len(block_periods))
        result[block_indices[:, None], columns] = modes * weights[columns]
        column += len(columns)
    return result


def _modes(mass: Array, stiffness: Array) -> tuple[Array, Array]:
    """Return modes of unit strain energy as columns, and their inverse angular frequencies [s]."""
    size = np.sqrt(np.diag(stiffness))
    size = np.where(size == 0, 1.0, size)
    values, vectors = _eigen(stiffness / np.outer(size, size))
    is_rigid, vectors = values <= SINGULAR, vectors / size[:, None]
    rigid, strained = vectors[:, is_rigid], vectors[:, ~is_rigid] / np.sqrt(values[~is_rigid])
    momentum = mass @ strained
    modal_mass = strained.T @ momentum
    if rigid.shape[1]:  # the condition of zero momentum removes rigid-body motions
        rigid_momentum = rigid.T @ momentum
        inverse = np.linalg.pinv(rigid.T @ mass @ rigid, hermitian=True)
        modal_mass = modal_mass - rigid_momentum.T @ inverse @ rigid_momentum
    squares, combination = _eigen((modal_mass + modal_mass.T) / 2)
    return strained @ combination, np.sqrt(np.maximum(squares, 0.0))


def _eigen(matrix: Array) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of a symmetric matrix, computed per decoupled block."""
    values, vectors = np.zeros(len(matrix)), np.zeros_like(matrix)
    for indices in blocks(_coupling(matrix)):
        block = np.ix_(indices, indices)
        values[indices], vectors[block] = np.linalg.eigh(matrix[block])
    return values, vectors


def _coupling(matrix: Array) -> NDArray[np.bool_]:
    """Return a Boolean matrix (n, n) that is true where ``matrix`` couples two coordinates.

    Entries at rounding level do not count.
    """
    size = np.sqrt(np.abs(np.diag(matrix)))
    return np.asarray(np.abs(matrix) > DIGITS * np.outer(size, size))
