"""Modes of vibration of the whole arm, with frequency, damping, participation and name."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy.linalg

from flexarm.accuracy.frequencies import FrequencyErrors
from flexarm.arguments import (
    WithUnit,
    is_word,
    refused,
    renamed,
    require_flag,
    require_mapping,
)
from flexarm.arm import Arm
from flexarm.arm.summary import Summarised, Summary
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.figures import COLOURS, drawable, panels
from flexarm.linear.constants import EQUAL_FREQUENCIES, SHOWN_MODES, SHOWN_PARTICIPATION
from flexarm.linear.elastic import moves
from flexarm.linear.equilibrium import Equilibrium, positions_and_speeds, settle_down
from flexarm.linear.following import shapes_following
from flexarm.linear.friction import DryFriction, FrictionChoice
from flexarm.linear.names import (
    Group,
    is_strained,
    kinetic_shares,
    mode_names,
    place_energies,
    rigid_coordinates,
    rigid_names,
    strain_groups,
)
from flexarm.linear.refined import frequency_errors
from flexarm.linear.tangent import Tangent
from flexarm.linear_model import Complex, energy_shares
from flexarm.mechanics.weightless import require_inertia
from flexarm.model import Model, build
from flexarm.spatial import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Kind = Literal["vibration", "rigid", "decay", "growth"]
State = Literal["free", "locked"]


@dataclass(frozen=True)
class Mode:
    """A mode of vibration, rigid-body motion, decay or growth of an arm.

    Attributes
    ----------
    name
        Name by the part with most energy: ``link 2 bending y 1``, ``links 1+2 bending z 2``,
        ``joint 1 wind-up``, ``joint 1 rigid body``.
    kind
        ``vibration``; ``rigid``, a motion without a restoring force; ``decay`` or ``growth``
        without oscillation.
    eigenvalue
        Eigenvalue [1/s]; of a conjugate pair the eigenvalue with positive imaginary part.
    participation
        Share of each moving coordinate in the mode's energy; shares are not negative and add up to
        1.  The energies are those of `place_energies`; of a motion without strain (a swing, a
        rigid-body motion) the kinetic energy.
    shape
        Mode shape in all coordinates, (n,), complex if phases differ.
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
        The state, with notes on it.
    states
        State of each joint, ``free`` or ``locked``, by name; prescribed ones are locked.
    modes
        The modes: rigid-body motions first, then slowest first.
    mass
        Mass matrix at that state, (n, n).
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
        """Text with state and position of each joint; for elastic joints the motor's position."""
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

        They are None for motions without oscillation, and for all modes if the arm moves or cannot
        be refined.
        """
        locked = {name for name, state in self.states.items() if state == "locked"}
        pairs = [(mode.eigenvalue, mode.shape) for mode in self.modes]
        equilibrium = self.equilibrium
        return frequency_errors(
            self.model, equilibrium.point, locked, pairs, balanced=not equilibrium.straight
        )

    def __getitem__(self, name: str) -> Mode:
        """Return a mode by its name; raise an error for an unknown name."""
        for mode in self.modes:
            if mode.name == name:
                return mode
        raise FlexarmError(
            f"there is no mode '{name}'. The modes are "
            f"{', '.join(mode.name for mode in self.modes)}."
        )

    def elastic(self) -> tuple[Mode, ...]:
        """Return all modes except rigid-body motions."""
        return tuple(mode for mode in self.modes if mode.kind != "rigid")

    def plot(self) -> "Figure":
        """Return a figure of the frequencies and of the coordinates' participation in each mode."""
        return plot_modes(self)


@renamed({"positions": "at"})
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
        ``free``: driven joints move, under the constant torque that holds the equilibrium;
        ``locked``: all joints are locked (of an elastic joint the motor), but a joint with a speed
        keeps it. A mapping sets joints by name; other joints are free. ``auto``: joints with closed
        brakes are locked, all other joints too if a position or a speed is given.
    at
        Positions of joints [rad], [m], by name; the others are at their start.
    speeds
        Speeds of joints in steady motion [rad/s], [m/s], by name.
    straight
        Whether to keep the links straight instead of deflected by gravity, loads and rotation.
    friction, friction_speed
        Treatment of Coulomb friction in the linear model: ``off``, ``secant`` (describing function
        at that amplitude of a joint's speed [rad/s], [m/s]; 0.1 if None) or ``tangent`` (slope of
        the smoothed friction at the state).  See `DryFriction`.
    following
        Whether clamped-mass shapes are computed for the present posture of the outboard joints,
        instead of for their ``configuration``.

    Returns
    -------
    Modes
        The modes, which include stiffness by gravity, loads and rotation, and gyroscopic forces.

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


def joint_states(
    model: Model, joints: State | Literal["auto"] | Mapping[str, State], *, given: bool
) -> dict[str, State]:
    """Return ``free`` or ``locked`` for each joint by name.

    ``given`` says whether any position or speed is given, so that ``auto`` locks the joints.
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
        if name not in states:
            raise FlexarmError(
                f"there is no joint '{name}'. The joints are {', '.join(states) or 'none'}."
            )
        if not is_word(state, ("free", "locked")):
            raise refused(name, state, "free or locked")
        states[name] = state
    for axis in model.axes:
        if axis.index in model.prescribed:
            states[axis.name] = "locked"
    return states


def modes_about(tangent: Tangent, equilibrium: Equilibrium, states: dict[str, State]) -> Modes:
    """Compute the modes about an equilibrium, from compiled equations."""
    model, point = tangent.model, equilibrium.point
    coordinates, columns = moves(
        model, {name for name, state in states.items() if state == "locked"}
    )
    full = tangent.matrices(point, np.zeros(model.size))
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
    result, i = shapes.copy(), 0
    bending = sum(
        (group.energy for group in groups if group.what == "bending y"),
        np.zeros((len(shapes), len(shapes))),
    )
    while i < len(sizes):
        j = i + 1
        while j < len(sizes) and sizes[j] - sizes[i] <= EQUAL_FREQUENCIES * sizes[i]:
            j += 1
        if j - i > 1:
            block = shapes[:, i:j].real
            _, turn = np.linalg.eigh(block.T @ bending @ block)
            result[:, i:j] = block @ turn[:, ::-1]
        i = j
    return result


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
