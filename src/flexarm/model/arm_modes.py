"""Default shapes: curves into which the modes of the arm bend its links.

An arm with many curves per link has modes that are accurate to 0.01 %. Scaled to unit strain
energy, each mode has on a link, in each direction, a curve whose squared norm is its share of that
energy. The n shapes of the direction are the n that keep most of all these curves, the modes
weighed by

    1 / (1 + (w / w2)^3 / 2),

with w2 the arm's second elastic frequency: the first two modes count nearly alike, faster ones less
and less. Modes are those of the joints as they are: driven and free ones move, prescribed ones do
not. With three shapes or more, the modes with driven joints held are included too, as under a
position controller. One shape of torsion is the static twist by a torque at the tip, which hardly
any mode of a link with a light tip has; the others keep most of the modes.

Modes of an arm with a rail change with the station of what rides on it.  Shapes of the rail are of
the start and, weighed as much all together, of stations along the rail; there modes are weighed by
1 / (1 + (w / w2) / 2): what rides by bends the rail by more of them.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm.arm import Arm, Section
from flexarm.arm.shapes import ArmModes, Counted
from flexarm.linear_model import SINGULAR
from flexarm.links.base import Array, Counts, Direction, Shapes
from flexarm.links.basis import blocks, wanted
from flexarm.links.beams.finite import Conditions, require_modes
from flexarm.links.ends import loaded_ends
from flexarm.links.families.arm_modes import combined_shapes, moment_shapes
from flexarm.links.remembered import remembered
from flexarm.links.shape_counts import counts
from flexarm.links.span import Span
from flexarm.model.assemble import ShapesOf, assemble
from flexarm.model.elastic.part import Theory, link_shapes, naming_link
from flexarm.model.parts import Model
from flexarm.model.small_motions import mass_matrix, stiffness_matrix
from flexarm.model.state import start_state

CURVES = {"y": 10, "z": 10, "twist": 6, "x": 6}  # of which shapes are combined
MORE = 4  # curves than shapes, at least
ROOM = 3  # shapes, from which on those of held joints are weighed in
HELD = 0.3  # share of their energy
STATIONS = 9  # along a rail, at which something rides on it
FILL = 1e-3  # of the lowest curves, which come where no mode bends a link
DUST = 1e-15  # of motions that are not coupled


def chosen_shapes(arm: Arm) -> ShapesOf:
    """Choose the shapes of each link, by the file or by the arm's modes."""
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
    """List the links whose shapes come from the arm's modes."""
    beams = [(i, link.shapes) for i, link in enumerate(arm.links) if link.beam]
    return [i for i, choice in beams if isinstance(choice, ArmModes)]


def weighs_held(arm: Arm, count: int) -> bool:
    """Return whether the modes with driven joints held are included for this many shapes."""
    axes = [axis for link in arm.links for axis in link.joint.axes.values()]
    return count >= ROOM and any(axis.actuation == "torque" for axis in axes)


def _arm_shapes(arm: Arm, own: list[int]) -> dict[int, Shapes]:
    """Find the shapes of some links by the modes of the arm."""
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
    """Remove from some links all that their modes do not depend on, and names of shapes."""
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
    """Remove the shear of a section: shapes are chosen by bending, and shear is added to them."""
    if section is None or not section.shears:
        return section
    return section.model_copy(update={"shear": False, "GAy": None, "GAz": None})


def many_curves(arm: Arm, index: int, span: Span) -> Shapes:
    """Return the curves of a link from which its shapes are combined.

    Raises
    ------
    ShapeError
        If it is to have more shapes of a direction than modes.
    """
    ends, number = loaded_ends(arm, index), _counts(arm, index)
    for motion, count in wanted(span, number):
        require_modes(span, motion, Conditions.of(ends, motion), count)
    each = zip(CURVES.values(), number, strict=True)
    many = Counts(*(max(most, n + MORE) if n else 0 for most, n in each))
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
    """An arm on many curves: its stiffness matrix, and weighed modes of unit strain energy."""

    # model, q, stiffness: the arm, its posture (n,), and its stiffness matrix (n, n).
    model: Model
    q: Array
    stiffness: Array
    # own, held: modes with joints as they are, and with driven ones held, a column each.
    own: Array
    held: Array

    @classmethod
    def of(cls, model: Model) -> "SmallMotions":
        """Compute the modes of an arm as it starts."""
        q = start_state(model)[0]
        for index, low, high in model.sliding_ranges:
            q[index] = np.clip(q[index], low, high)
        return cls.at(model, q)

    @classmethod
    def at(cls, model: Model, q: Array, power: int = 3) -> "SmallMotions":
        """Compute the modes of an arm at a posture q (n,)."""
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
        """Add the modes of the arm with the riding link at stations all along its rail."""
        rider = self.model.links[index + 1]
        assert rider.range is not None
        low, high = rider.range
        found = [(self.own, self.held)]
        for share in (np.arange(STATIONS) + 0.5) / STATIONS:
            q = self.q.copy()
            q[rider.exposed] = low + share * (high - low)
            there = SmallMotions.at(self.model, q, power=1)
            found.append((there.own / STATIONS**0.5, there.held / STATIONS**0.5))
        own, held = (np.concatenate(each, axis=-1) for each in zip(*found, strict=True))
        return replace(self, own=own, held=held)

    def columns(self, index: int, many: Shapes, number: Counts) -> dict[Direction, Array]:
        """Combine the curves of a link, by direction, into so many shapes."""
        first, found = self.model.links[index].modes.start, dict[Direction, Array]()
        for direction in dict.fromkeys(many.directions):
            rows = [first + i for i in many.moving(direction)]
            twists = direction == "twist"
            found[direction] = self.main_curves(rows, number.of(direction), static=twists)
        return found

    def main_curves(self, rows: list[int], count: int, *, static: bool) -> Array:
        """Combine a direction's curves, by rows, to represent the modes best, (rows, count).

        Parameters
        ----------
        rows
            Where the curves stand, lowest degree of the moment first.
        count
            How many combinations.
        static
            Whether they span the first curve, of a torque at the tip of a rod.
        """
        lower = np.linalg.cholesky(self.stiffness[np.ix_(rows, rows)])
        modes = [self.own[rows]]
        if weighs_held(self.model.arm, count):
            modes.append(np.sqrt(HELD) * self.held[rows])
        strained = lower.T @ np.concatenate(modes, axis=-1)
        fill = FILL * np.diag(1 / np.arange(1.0, len(rows) + 1) ** 2)
        strained = np.hstack([strained, fill * (np.linalg.norm(strained) or 1.0)])
        if static:
            first = np.eye(len(rows))[:, :1]
            rest = FILL / np.linalg.norm(strained) * strained
            strained = np.hstack([_main(strained)[:, : count - 1], first, rest])
        return np.linalg.solve(lower.T, _main(strained)[:, :count])


def _main(columns: NDArray[Any]) -> NDArray[Any]:
    """Return the left singular vectors of columns, the largest first."""
    if columns.shape[1] > columns.shape[0]:  # of the same left vectors, and fewer
        columns = np.asarray(np.linalg.qr(columns.T, mode="r")).T
    vectors, _, _ = np.linalg.svd(columns, full_matrices=False)
    return vectors


def _weighed_modes(
    mass: Array, stiffness: Array, linked: NDArray[np.bool_], still: set[int], power: int
) -> Array:
    """Compute modes of unit strain energy, with some coordinates fixed, times their weights.

    These fall with a power of the frequency.
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
    """Compute modes of unit strain energy, a column each, and their periods over 2 pi."""
    size = np.sqrt(np.diag(stiffness))
    size = np.where(size == 0, 1.0, size)
    values, vectors = _eigen(stiffness / np.outer(size, size))
    loose, vectors = values <= SINGULAR, vectors / size[:, None]
    rigid, strained = vectors[:, loose], vectors[:, ~loose] / np.sqrt(values[~loose])
    moved = mass @ strained
    moving = strained.T @ moved
    if rigid.shape[1]:  # what moves without strain moves so that it has no momentum
        pull = rigid.T @ moved
        moving = moving - pull.T @ np.linalg.pinv(rigid.T @ mass @ rigid, hermitian=True) @ pull
    squares, turn = _eigen((moving + moving.T) / 2)
    return strained @ turn, np.sqrt(np.maximum(squares, 0.0))


def _eigen(matrix: Array) -> tuple[Array, Array]:
    """Compute eigenvalues and vectors of a symmetric matrix, block by block."""
    values, vectors = np.zeros(len(matrix)), np.zeros_like(matrix)
    for own in blocks(_linked(matrix)):
        block = np.ix_(own, own)
        values[own], vectors[block] = np.linalg.eigh(matrix[block])
    return values, vectors


def _linked(matrix: Array) -> NDArray[np.bool_]:
    """Return which pairs of coordinates a symmetric matrix couples."""
    size = np.sqrt(np.abs(np.diag(matrix)))
    return np.asarray(np.abs(matrix) > DUST * np.outer(size, size))
