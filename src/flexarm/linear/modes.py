"""Modes of vibration of the whole arm: frequency, damping, participation, names and figures."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import scipy.linalg

from flexarm.accuracy.frequencies import FrequencyErrors
from flexarm.arguments import (
    WithUnit,
    is_word,
    refused,
    renamed,
    require_flag,
    require_known,
    require_mapping,
)
from flexarm.arm import Arm
from flexarm.arm.shapes import ClampedMass
from flexarm.arm.summary import Summarised, Summary
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.figures import COLOURS, drawable, panels
from flexarm.linear.constants import (
    EQUAL_FREQUENCIES,
    SECOND_LINK_SHARE,
    SHOWN_MODES,
    SHOWN_PARTICIPATION,
    SWING_SHARE,
)
from flexarm.linear.equilibrium import (
    Equilibrium,
    frequency_errors,
    positions_and_speeds,
    settle_down,
)
from flexarm.linear.tangent import DryFriction, FrictionChoice, Tangent, moves
from flexarm.linear_model import Complex, LinearModel, energy_shares
from flexarm.links.base import Direction
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.loads import hub_row
from flexarm.mechanics.weightless import require_inertia
from flexarm.model import Axis, LinkModel, Model, build
from flexarm.model.spans import whole_name
from flexarm.spatial import Array
from flexarm.threads import one_blas_thread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS: dict[Direction, str] = {
    "y": "bending y", "z": "bending z", "twist": "torsion", "x": "stretch",
}  # fmt: skip
BODY = "deformation"  # direction name of a flexible body without a beam axis
LINKS = (*WORDS.values(), BODY)
ENDINGS = {"vibration": "swing", "decay": "decay", "growth": "fall"}


@dataclass(frozen=True)
class Group:
    """A store of strain energy: a link in one direction, a transmission or a spring."""

    owner: str  # component, such as ``link 2``
    what: str  # kind of deformation, such as ``bending y``
    energy: Array  # contribution of the component to the elastic stiffness, (n, n)
    amplitudes: tuple[int, ...] = ()  # indices of a link's coordinates in that direction


@dataclass(frozen=True)
class Title:
    """Name of a mode without its number, such as ``link 2 bending y``."""

    places: frozenset[int]  # indices of the energy-storing groups named in the title
    what: str  # kind of deformation, such as ``bending y``
    words: str  # whole title, such as ``link 2 bending y``


def strain_groups(model: Model, elastic: Array, q: Array) -> list[Group]:
    """Split an elastic stiffness matrix (n, n) at q by the component that stores the energy."""
    groups = dict[tuple[str, str], Group]()

    def add(group: Group) -> None:
        """Add a group; segments of one link share one group per direction."""
        key = group.owner, group.what
        if key in groups:
            same = groups[key]
            amplitudes = same.amplitudes + group.amplitudes
            group = replace(group, energy=same.energy + group.energy, amplitudes=amplitudes)
        groups[key] = group

    for link in model.links:
        for axis in link.axes:
            hub, drive, title = hub_row(model, axis), 0.0, axis_title(axis)
            if axis.motor is not None:
                drive = float(elastic[axis.motor, axis.motor])
                twist = hub - np.eye(model.size)[axis.motor]
                add(Group(title, "wind-up", drive * np.outer(twist, twist)))
            if axis.acts.spring is not None:
                stiffness = float(elastic[axis.index, axis.index]) - drive
                add(Group(title, "spring", stiffness * np.outer(hub, hub)))
        for direction, columns in _directions(model, link, q).items():
            energy = np.zeros_like(elastic)
            block = np.ix_(columns, columns)
            energy[block] = elastic[block]
            add(Group(link_title(link), direction, energy, tuple(columns)))
    return list(groups.values())


def place_energies(
    groups: Sequence[Group],
    values: Complex,
    shapes: Complex,
    mass: Array,
    coordinates: Sequence[int],
) -> Array:
    """Compute the energy of k modes in each energy-storing component, (groups, k).

    Parameters
    ----------
    groups, values, shapes
        The energy-storing components, and the modes' eigenvalues (k,) and shapes (n, k).
    mass
        Mass matrix of the coordinates that are free to move, (r, r).
    coordinates
        Indices of the coordinates that are free to move, (r,).

    Notes
    -----
    The energy of a link in one direction is the kinetic energy of the link's coordinates i, the sum
    of ``|lambda|^2 q_i (M q)_i`` with eigenvalue lambda, mode shape q and mass matrix M. About rest
    without loads it equals the strain energy.  About a stretched, loaded or rotating state it
    includes the stiffness by tension and rotation, but not the strain by Coriolis forces in a
    direction that hardly moves. For motions without oscillation, strain energy is returned instead.
    """
    strain = np.zeros((len(groups), len(values)))
    for k, group in enumerate(groups):
        strain[k] = np.real(np.einsum("im,ij,jm->m", shapes.conj(), group.energy, shapes))
    moving = shapes[coordinates]
    kinetic = np.zeros(shapes.shape)
    kinetic[coordinates] = np.abs(values) ** 2 * np.real(moving.conj() * (mass @ moving))
    energies = strain.copy()
    for k, group in enumerate(groups):
        if group.amplitudes:
            energies[k] = kinetic[list(group.amplitudes)].sum(axis=0)
    vibrates = (np.abs(values.imag) > NEGLIGIBLE * np.abs(values)) & np.any(energies > 0, axis=0)
    return np.where(vibrates, energies, strain)


def mode_names(
    model: Model,
    groups: Sequence[Group],
    energies: Array,
    values: Complex,
    shapes: Complex,
    mass: Array,
) -> list[str]:
    """Return the names of modes, whose shapes are the columns of ``shapes`` (n, k).

    Modes are in the order of frequencies. `place_energies` computes ``energies`` (groups, k). A
    mode of links is numbered among all modes whose name contains one of its links.
    """
    titles = [
        _title(groups, energy)
        if is_strained(model, groups, value, shape, mass)
        else _swing(model, value, shape, mass)
        for energy, value, shape in zip(energies.T, values, shapes.T, strict=True)
    ]
    names = []
    for k, title in enumerate(titles):
        same_name = [another.words == title.words for another in titles]
        if title.what in LINKS:
            same_name = [bool(another.places & title.places) for another in titles]
        numbered = title.what in LINKS or sum(same_name) > 1
        names.append(f"{title.words} {sum(same_name[: k + 1])}" if numbered else title.words)
    return names


def is_strained(
    model: Model, groups: Sequence[Group], value: complex, shape: Complex, mass: Array
) -> bool:
    """Return whether a mode stores strain energy, rather than moving joints alone."""
    kinetic = _kinetic(shape, mass)
    total = float(kinetic.sum())
    stored = sum(float(np.real(shape.conj() @ group.energy @ shape)) for group in groups)
    strain_share = stored / (abs(value) ** 2 * total)
    joint_share = sum(float(kinetic[i]) for i in rigid_coordinates(model)) / total
    return bool(groups) and (strain_share >= SWING_SHARE or joint_share <= SWING_SHARE)


def kinetic_shares(mass: Array, shapes: Complex) -> Array:
    """Return each coordinate's share of the kinetic energy of k motions, (n, k)."""
    kinetic = np.real(np.einsum("ik,ij,jk->k", shapes.conj(), mass, shapes))
    return energy_shares([mass], kinetic[None, :], shapes)


def rigid_names(model: Model, pivots: Sequence[int], count: int) -> list[str]:
    """Return names of rigid-body motions by the coordinates in which the motions differ."""
    if len(pivots) < count:
        return [f"rigid body {k + 1}" for k in range(count)]
    return [f"{_coordinate_title(model, i)} rigid body" for i in pivots]


def link_title(part: LinkModel) -> str:
    """Return the display name of a link: ``link 2`` for the default name ``link2``."""
    name = whole_name(part.name)
    return f"link {part.number}" if name == f"link{part.number}" else name


def axis_title(axis: Axis) -> str:
    """Return the display name of a joint's axis: ``joint 2`` for the default name ``joint2``."""
    default, number = f"joint{axis.number}", f"joint {axis.number}"
    name = axis.name.removesuffix(f".{axis.label}")
    return " ".join(filter(None, (number if name == default else name, axis.label)))


def _title(groups: Sequence[Group], energies: Array) -> Title:
    """Return a mode's title from the component with the most energy, or from two links."""
    dominant, *lower = (int(k) for k in np.argsort(-energies))
    direction, places = groups[dominant].what, [dominant]
    if lower and direction in LINKS and groups[lower[0]].what == direction:
        energy_pair = energies[[dominant, lower[0]]]
        if (
            energy_pair[1] >= SECOND_LINK_SHARE * energy_pair[0]
            and energy_pair.sum() > SWING_SHARE * energies.sum()
        ):
            places = sorted((dominant, lower[0]))
    owners = [groups[k].owner for k in places]
    numbers = [owner.removeprefix("link ") for owner in owners]
    if len(owners) > 1 and all(number.isdecimal() for number in numbers):
        owners = [f"links {numbers[0]}", numbers[1]]
    return Title(frozenset(places), direction, f"{'+'.join(owners)} {direction}")


def _swing(model: Model, value: complex, shape: Complex, mass: Array) -> Title:
    """Return a mode's title from the joint or base coordinate with the most kinetic energy."""
    kind = "vibration" if abs(value.imag) > 0 else "growth" if value.real > 0 else "decay"
    kinetic = _kinetic(shape, mass)
    coordinate = max(rigid_coordinates(model), key=lambda i: abs(kinetic[i]))
    ending = ENDINGS[kind]
    return Title(frozenset(), ending, f"{_coordinate_title(model, coordinate)} {ending}")


def _kinetic(shape: Complex, mass: Array) -> Array:
    return np.asarray(np.real(shape.conj() * (mass @ shape)))


def rigid_coordinates(model: Model) -> list[int]:
    """Return the indices of the coordinates of joints, motors and the base."""
    amplitudes = {i for part in model.links for i in range(part.modes.start, part.modes.stop)}
    return [i for i in range(model.size) if i not in amplitudes]


def _coordinate_title(model: Model, i: int) -> str:
    """Return the display name of a coordinate of a joint, motor or base."""
    for axis in model.axes:
        if i in (axis.index, axis.motor):
            return axis_title(axis)
    return model.names[i].replace(".", " ")


def _directions(model: Model, part: LinkModel, q: Array) -> dict[str, list[int]]:
    """Return the indices of a link's amplitudes by direction of deformation.

    A flexible body without a beam axis has a single direction, ``deformation``.
    """
    by_direction: dict[str, list[int]] = {}
    for k, direction in enumerate(body_of(model, part).directions(q)):
        words = BODY if direction is None else WORDS[direction]
        by_direction.setdefault(words, []).append(part.modes.start + k)
    return by_direction


Kind = Literal["vibration", "rigid", "decay", "growth"]
State = Literal["free", "locked"]


@dataclass(frozen=True)
class Mode:
    """A mode of vibration, rigid-body motion, decay or growth of an arm.

    Attributes
    ----------
    name
        Name by the component with most energy: ``link 2 bending y 1``, ``links 1+2 bending z 2``,
        ``joint 1 wind-up``, ``joint 1 rigid body``.
    kind
        ``vibration``; ``rigid``, a motion without a restoring force; ``decay`` or ``growth``
        without oscillation.
    eigenvalue
        Eigenvalue [1/s]; for a conjugate pair, the one with positive imaginary part.
    participation
        Share of each moving coordinate in the mode's energy. Shares are not negative and add up to
        1. The energy is that of `place_energies`, or the kinetic energy for a motion without
        strain, such as a rigid-body motion.
    shape
        Mode shape in all coordinates, (n,); complex if coordinates move with different phases.
    """

    name: str
    kind: Kind
    eigenvalue: complex
    participation: dict[str, float]
    shape: Complex

    @property
    def frequency_rad_s(self) -> float:
        """Natural frequency, the magnitude of the eigenvalue [rad/s]."""
        return abs(self.eigenvalue)

    @property
    def frequency_hz(self) -> float:
        """Natural frequency, the magnitude of the eigenvalue over 2 pi [Hz]."""
        return abs(self.eigenvalue) / (2 * math.pi)

    @property
    def damping_ratio(self) -> float:
        """Damping relative to critical damping; negative if the motion grows, 1 for pure decay."""
        size = abs(self.eigenvalue)
        return -self.eigenvalue.real / size + 0.0 if size else 0.0


@dataclass(frozen=True, repr=False)
class Modes(Summarised):
    """The modes of an arm about an equilibrium or a steady motion.

    Attributes
    ----------
    equilibrium
        The equilibrium or steady motion about which the modes are computed, with its notes.
    states
        State of each joint, ``free`` or ``locked``, by name; prescribed joints are locked.
    modes
        The modes: rigid-body motions first, then all others from the slowest to the fastest.
    mass
        Mass matrix at the equilibrium, (n, n).
    notices
        Treatment of Coulomb friction by joint.
    """

    model: Model
    equilibrium: Equilibrium
    states: dict[str, State]
    modes: tuple[Mode, ...]
    mass: Array
    notices: tuple[str, ...]

    def _summary(self) -> Summary:
        rows = [
            (str(k), mode.name, mode.kind, f"{mode.frequency_hz:.6g}", f"{mode.damping_ratio:.4g}")
            for k, mode in enumerate(self.modes, 1)
        ]
        return Summary(
            f"{len(rows)} modes of {self.model.arm.name}",
            (self.posture, *self.notes, *self.notices),
            ("#", "mode", "kind", "[Hz]", "damping ratio"), rows,
        )  # fmt: skip

    @property
    def posture(self) -> str:
        """Text with position and state (free, held or locked) of each joint and motor."""
        texts, q = [], self.equilibrium.point.q
        for axis in self.model.axes:
            if axis.name in self.states:
                position = float(q[axis.index if axis.motor is None else axis.motor])
                text = f"{math.degrees(position):.6g} deg" if axis.turns else f"{position:.6g} m"
                at_text = f" at {text}" if abs(position) > NEGLIGIBLE else ""
                texts.append(f"{axis.name} {self.states[axis.name]}{at_text}")
        return f"joints: {', '.join(texts) or 'none'}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on unbalanced loads, unsteady motion and exceeded limits of the equilibrium."""
        return self.equilibrium.notes

    @cached_property
    def errors(self) -> tuple[FrequencyErrors | None, ...]:
        """Error estimates of the frequencies, in the order of ``modes``.

        Errors are None for motions without oscillation, and for all modes if the arm moves or
        cannot be refined.
        """
        locked = {name for name, state in self.states.items() if state == "locked"}
        pairs = [(mode.eigenvalue, mode.shape) for mode in self.modes]
        equilibrium = self.equilibrium
        return frequency_errors(
            self.model, equilibrium.point, locked, pairs, balanced=not equilibrium.straight
        )

    def __getitem__(self, name: str) -> Mode:
        """Return a mode by its name; raise an error for an unknown name."""
        modes = {mode.name: mode for mode in self.modes}
        require_known(name, modes, "mode")
        return modes[name]

    def elastic(self) -> tuple[Mode, ...]:
        """Return all modes except rigid-body motions."""
        return tuple(mode for mode in self.modes if mode.kind != "rigid")

    def plot(self) -> "Figure":
        """Return a figure of the frequencies and of the coordinates' participation in each mode."""
        return plot_modes(self)


@renamed({"positions": "at"})
@one_blas_thread
def modes(
    arm: Arm | Model,
    *,
    joints: State | Literal["auto"] | Mapping[str, State] = "auto",
    at: Mapping[str, WithUnit] | None = None,
    speeds: Mapping[str, WithUnit] | None = None,
    straight: bool = False,
    friction: FrictionChoice = "off",
    friction_speed: WithUnit | None = None,
    following: bool = False,
) -> Modes:
    """Compute the modes of an arm about its equilibrium, or about steady rotation.

    Parameters
    ----------
    arm
        The arm, or its model.
    joints
        ``free``: driven joints move under the constant torque that holds the equilibrium.
        ``locked``: all joints are locked, elastic joints at their motor; a joint in ``speeds``
        keeps its speed. A mapping sets ``free`` or ``locked`` by joint name; other joints are free.
        ``auto``: joints with closed brakes are locked; all joints are locked if ``at`` or
        ``speeds`` is given.
    at
        Positions of joints [rad], [m], by name; joints without a value keep their initial position.
    speeds
        Speeds of joints in steady motion [rad/s], [m/s], by name.
    straight
        Whether to keep the links straight instead of deflected by gravity, loads and rotation.
    friction, friction_speed
        Treatment of Coulomb friction in the linear model: ``off``, ``secant`` (describing function
        at that amplitude of a joint's speed [rad/s], [m/s]; 0.1 if None) or ``tangent`` (slope of
        the smoothed friction at the state).  See `DryFriction`.
    following
        Whether clamped-mass shapes are computed for the posture of the modes, instead of for the
        ``configuration`` that the model file states.

    Returns
    -------
    Modes
        The modes, with gyroscopic forces and the stiffness due to gravity, loads and rotation.

    Raises
    ------
    FlexarmError
        If a name is wrong or there is no equilibrium; a `SimulationError` if a motion has no
        inertia.
    """
    model = arm if isinstance(arm, Model) else build(arm)
    positions, rates = positions_and_speeds(model, at, speeds)
    require_flag("straight", straight)
    require_flag("following", following)
    if following:
        model = build(shapes_following(model.arm, positions))
    tangent = Tangent(model, friction=DryFriction(friction, friction_speed))
    states = joint_states(model, joints, given=bool(positions) or bool(rates))
    rest_state = settle_down(tangent, positions, rates, straight=straight)
    return modes_about(tangent, rest_state, states)


def shapes_following(arm: Arm, at: Mapping[str, float]) -> Arm:
    """Return an arm whose clamped-mass shapes are computed for a given posture.

    Joints absent from ``at`` are at their initial positions. The inertia that a link carries at
    its tip changes as the arm outboard of it folds (Theodore & Ghosal 1995). In a simulation the
    shapes are those of one configuration: if they changed, the motion of an outboard joint would
    displace points inboard of it.

    Raises
    ------
    FlexarmError
        If no link has such shapes.
    """
    posture = {
        name: float(at.get(name, axis.start.position or 0.0))
        for index, link in enumerate(arm.links)
        for name, axis in zip(arm.axis_names(index), link.joint.axes.values(), strict=True)
    }
    links, followed = list(arm.links), False
    for index, link in enumerate(links):
        shapes = link.shapes
        if isinstance(shapes, ClampedMass) and shapes.tip == "auto" and not shapes.follow:
            outboard = {n for k in range(index + 1, len(links)) for n in arm.axis_names(k)}
            configuration = {name: value for name, value in posture.items() if name in outboard}
            shapes = shapes.model_copy(update={"configuration": configuration})
            links[index], followed = link.model_copy(update={"shapes": shapes}), True
    if not followed:
        raise FlexarmError(
            "following: no link has shapes that depend on the joints outboard. Give a link "
            "shapes of kind clamped-mass with 'tip: auto'."
        )
    return arm.model_copy(update={"links": tuple(links)})


def joint_states(
    model: Model, joints: State | Literal["auto"] | Mapping[str, State], *, given: bool
) -> dict[str, State]:
    """Return ``free`` or ``locked`` for each joint by name.

    With ``auto``, all joints are locked if the user states a position or speed (``given``).
    """
    word: State = "free"
    by_name: Mapping[str, State] = {}
    if isinstance(joints, Mapping):
        by_name = require_mapping("joints", joints, "free or locked by joint")
    elif not is_word(joints, ("free", "locked", "auto")):
        raise refused("joints", joints, "free, locked, or a mapping from names of joints to these")
    elif joints == "locked" or (joints == "auto" and given):
        word = "locked"
    states = {axis.name: word for axis in model.axes}
    if joints == "auto":
        states |= {axis.name: "locked" for axis in model.axes if axis.is_braked}
    for name, state in by_name.items():
        require_known(name, states)
        if not is_word(state, ("free", "locked")):
            raise refused(name, state, "free or locked")
        states[name] = state
    for axis in model.axes:
        if axis.index in model.prescribed:
            states[axis.name] = "locked"
    return states


def modes_about(
    tangent: Tangent,
    equilibrium: Equilibrium,
    states: dict[str, State],
    full: LinearModel | None = None,
) -> Modes:
    """Compute the modes about an equilibrium from compiled equations of motion.

    ``full`` replaces the linear model of the arm itself, for example by one with servos.
    """
    model, point = tangent.model, equilibrium.point
    coordinates, columns = moves(
        model, {name for name, state in states.items() if state == "locked"}
    )
    full = full or tangent.matrices(point, np.zeros(model.size))
    linear = full.along(coordinates, columns)
    require_inertia(model, linear.mass, linear.names, when="in this posture")
    elastic = tangent.elastic(point)
    groups = strain_groups(model, elastic, point.q)
    solution = linear.modes()
    shapes = columns @ solution.vectors
    if not np.any(shapes.imag):
        shapes = _planes(np.abs(solution.values), shapes, groups)
    energies_by_group = [columns.T @ group.energy @ columns for group in groups]
    strained = np.array(
        [
            is_strained(model, groups, *pair, full.mass)
            for pair in zip(solution.values, shapes.T, strict=True)
        ],
        dtype=bool,
    )
    energies = place_energies(groups, solution.values, shapes, linear.mass, coordinates)
    shares = np.zeros((len(coordinates), len(strained)))
    shares[:, strained] = energy_shares(
        energies_by_group, energies[:, strained], shapes[coordinates][:, strained]
    )
    shares[:, ~strained] = kinetic_shares(linear.mass, shapes[coordinates][:, ~strained])
    labels = mode_names(model, groups, energies, solution.values, shapes, full.mass)
    result = _rigid(model, coordinates, columns, solution.rigid, linear.mass)
    for label, value, shape, share in zip(labels, solution.values, shapes.T, shares.T, strict=True):
        participation = dict(zip(linear.names, share.tolist(), strict=True))
        result.append(Mode(label, _kind(value), complex(value), participation, shape))
    notices = tangent.friction.notices(model, point.v, columns)
    return Modes(model, equilibrium, states, tuple(result), full.mass, notices)


def _kind(value: complex) -> Kind:
    if abs(value.imag) > NEGLIGIBLE * abs(value):
        return "vibration"
    return "growth" if value.real > 0 else "decay"


def _planes(sizes: Array, shapes: Complex, groups: Sequence[Group]) -> Complex:
    """Return mode shapes; modes of equal frequency are rotated so that each bends in one plane."""
    result = shapes.copy()
    bending = sum(
        (group.energy for group in groups if group.what == "bending y"),
        np.zeros((len(shapes), len(shapes))),
    )
    for equal in equal_frequencies(sizes):
        block = shapes[:, equal].real
        _, turn = np.linalg.eigh(block.T @ bending @ block)
        result[:, equal] = block @ turn[:, ::-1]
    return result


def equal_frequencies(sizes: Array) -> list[npt.NDArray[np.int_]]:
    """Return groups of indices of modes with equal frequencies, slowest group first."""
    breaks = np.flatnonzero(np.diff(sizes) > EQUAL_FREQUENCIES * sizes[:-1]) + 1
    return [group for group in np.split(np.arange(len(sizes)), breaks) if len(group) > 1]


def _rigid(
    model: Model, coordinates: list[int], columns: Array, rigid: Array, mass: Array
) -> list[Mode]:
    """Return rigid-body modes combined so that each moves as few joints as possible."""
    if not rigid.shape[1]:
        return []
    movers = rigid_coordinates(model)
    rows = [k for k, i in enumerate(coordinates) if i in movers]
    pivots = rows
    if len(rows) >= rigid.shape[1]:
        order = scipy.linalg.qr(rigid[rows].T, mode="economic", pivoting=True)[2]
        pivots = sorted(rows[int(k)] for k in order[: rigid.shape[1]])
        if np.linalg.cond(rigid[pivots]) < 1e8:
            rigid = rigid @ np.linalg.inv(rigid[pivots])
    names = rigid_names(model, [coordinates[k] for k in pivots[: rigid.shape[1]]], rigid.shape[1])
    labels = [model.names[i] for i in coordinates]
    shares = kinetic_shares(mass, rigid.astype(complex))
    return [
        Mode(
            name, "rigid", 0j, dict(zip(labels, share.tolist(), strict=True)),
            (columns @ vector).astype(complex),
        )
        for name, vector, share in zip(names, rigid.T, shares.T, strict=True)
    ]  # fmt: skip


def plot_modes(modes: Modes) -> "Figure":
    """Return a figure of mode frequencies, slowest first, and of participation in each mode."""
    plotted = (modes.elastic() or modes.modes)[:SHOWN_MODES]
    figure, ((panel,),) = panels((9, 1.6 + 0.35 * max(len(plotted), 3)))
    panel.set_title(f"{drawable(modes.model.arm.name)}: {_joints(modes)}")
    names = [
        name
        for name in modes.model.names
        if any(mode.participation.get(name, 0.0) > SHOWN_PARTICIPATION for mode in plotted)
    ]
    rows = np.arange(len(plotted))
    stacked = np.zeros(len(plotted))
    for k, name in enumerate(names):
        shares = np.array([mode.participation.get(name, 0.0) for mode in plotted])
        hatch = ("", "//", "..", "xx")[k // len(COLOURS) % 4]
        panel.barh(
            rows, shares, left=stacked, color=COLOURS[k % len(COLOURS)], label=drawable(name),
            hatch=hatch, edgecolor="white", linewidth=0.5,
        )  # fmt: skip
        stacked += shares
    panel.set_yticks(
        rows, [f"{drawable(mode.name)}, {mode.frequency_hz:.4g} Hz" for mode in plotted]
    )
    panel.invert_yaxis()
    panel.set(xlim=(0, 1), xlabel="share of each coordinate in the mode's energy")
    if names:
        panel.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _joints(modes: Modes) -> str:
    words = set(modes.states.values())
    return f"joints {words.pop()}" if len(words) == 1 else "joints as given"
