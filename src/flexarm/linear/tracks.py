"""Modes over positions or speeds of joints: sweeps that track them, results and figures."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from flexarm.arguments import (
    in_unit,
    is_number,
    listed,
    refused,
    renamed,
    require_count,
    require_flag,
    require_kind,
    require_known,
    require_mapping,
)
from flexarm.arm import Arm
from flexarm.arm.summary import Summarised, Summary
from flexarm.constants import CURVE_POINTS
from flexarm.errors import FlexarmError
from flexarm.figures import curve_look, drawable, panels
from flexarm.linear.constants import (
    EXCITATION_ORDERS,
    HALVINGS,
    LOGARITHMIC_RATIO,
    MATCH_ASSURANCE,
    MOST_MAPS,
    SHOWN_MODES,
    SHOWN_NOTES,
)
from flexarm.linear.equilibrium import settle_down
from flexarm.linear.modes import (
    Mode,
    Modes,
    State,
    equal_frequencies,
    joint_states,
    modes_about,
    shapes_following,
)
from flexarm.linear.tangent import DryFriction, FrictionChoice, Tangent
from flexarm.model import Model, build
from flexarm.spatial import Array
from flexarm.threads import one_blas_thread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Track:
    """Eigenvalues of one mode over a sweep.

    Attributes
    ----------
    name
        The mode's name at the first sweep point where it exists. The kind of deformation may change
        along the sweep.
    eigenvalue
        Complex eigenvalues [1/s], one per sweep point; NaN where the mode does not exist.
    """

    name: str
    eigenvalue: np.ndarray[tuple[int, ...], np.dtype[np.complex128]]

    @property
    def frequency_hz(self) -> Array:
        """Natural frequency at every sweep point [Hz]."""
        return np.abs(self.eigenvalue) / (2 * np.pi)

    @property
    def damping_ratio(self) -> Array:
        """Damping ratio of the mode at every point of the sweep."""
        return -self.eigenvalue.real / np.maximum(np.abs(self.eigenvalue), 1e-300) + 0.0


@dataclass(frozen=True, repr=False)
class Sweep(Summarised):
    """Modes over positions or speeds of one joint, or over positions of two joints.

    Attributes
    ----------
    names, units
        Names and units of the varied positions or speeds.
    kind
        What varies: ``at`` for positions, ``speeds`` for speeds.
    values
        Values of the positions or speeds, one array per joint.
    tracks
        All modes except rigid-body motions; their eigenvalue arrays have one axis per varied joint.
    notes
        Notes on the equilibria of all points.
    notices
        Sentences on the treatment of Coulomb friction at all points.
    """

    model: Model
    names: tuple[str, ...]
    units: tuple[str, ...]
    kind: Literal["at", "speeds"]
    values: tuple[Array, ...]
    tracks: tuple[Track, ...]
    notes: tuple[str, ...]
    notices: tuple[str, ...]

    def _summary(self) -> Summary:
        rows = [
            (track.name, *(f"{f(track.frequency_hz):.6g}" for f in (np.nanmin, np.nanmax)))
            for track in self.tracks
        ]
        quantity = "speed" if self.kind == "speeds" else "position"
        ranges = " and ".join(
            f"{name} {values[0]:g} to {values[-1]:g} {unit}, {len(values)} points"
            for name, values, unit in zip(self.names, self.values, self.units, strict=True)
        )
        title = f"Modes of {self.model.arm.name} over the {quantity} of {ranges}"
        sentences = [*self.notes, *self.notices]
        lines = (
            *sentences[:SHOWN_NOTES],
            *([f"... {len(sentences) - SHOWN_NOTES} more"] if len(sentences) > SHOWN_NOTES else []),
        )
        return Summary(title, lines, ("mode", "least [Hz]", "greatest [Hz]"), rows)

    def __getitem__(self, name: str) -> Track:
        """Return a track by its name; raise an error for an unknown name."""
        tracks = {track.name: track for track in self.tracks}
        require_known(name, tracks, "mode")
        return tracks[name]

    def named_at(self, track: Track) -> str:
        """Return as text the sweep point at which a track starts, where its name was chosen."""
        require_kind("track", track, Track, "a Track, one of the sweep's tracks")
        exists = np.isfinite(track.eigenvalue)
        point = np.unravel_index(int(np.argmax(exists)), exists.shape)
        word = "speed of " if self.kind == "speeds" else ""
        return ", ".join(
            f"{word}{name} {values[i]:.4g} {unit}"
            for name, unit, values, i in zip(
                self.names, self.units, self.values, point, strict=True
            )
        )

    def plot(self, count: int | None = None) -> "Figure":
        """Return a figure of frequencies over the sweep: lines, a Campbell diagram, or maps.

        Parameters
        ----------
        count
            Number of modes to draw, slowest first; if None, as many as remain legible.

        Returns
        -------
        Figure
            A figure of Matplotlib.
        """
        if count is not None:
            require_count("count", count, 1)
        return plot_sweep(self, count)


def plot_sweep(sweep: Sweep, count: int | None = None) -> "Figure":
    """Return a figure of a sweep's frequencies: lines over one joint, maps over two joints."""
    order = sorted(sweep.tracks, key=lambda track: np.nanmin(track.frequency_hz))
    if len(sweep.values) == 2:
        return _maps(sweep, order[: count or MOST_MAPS])
    figure, ((panel,),) = panels((9, 6))
    _lines(sweep, order[: count or SHOWN_MODES], panel)
    figure.suptitle(drawable(sweep.model.arm.name))
    return figure


def _lines(sweep: Sweep, tracks: list[Track], panel: "Axes") -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    x, label = _axis(sweep, 0)
    for k, track in enumerate(tracks):
        oscillates = np.abs(track.eigenvalue.imag) > 1e-9 * np.abs(track.eigenvalue)
        values = np.where(oscillates, track.frequency_hz, np.nan)
        if np.any(oscillates):
            panel.plot(x, values, label=_label(sweep, track), **curve_look(k))
    panel.set_xlabel(label)
    panel.set(ylabel="natural frequency [Hz]", ylim=(0, None))
    frequencies = (
        np.concatenate([track.frequency_hz for track in tracks]) if tracks else np.zeros(0)
    )
    positive = frequencies[frequencies > 0]
    if len(positive) and positive.max() > LOGARITHMIC_RATIO * positive.min():
        panel.set(yscale="log", ylim=(0.7 * float(positive.min()), None))
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panel.yaxis.set_minor_formatter(NullFormatter())
    if sweep.kind == "speeds" and sweep.units[0] == "rad/s":
        panel.set_title("Campbell diagram; grey: multiples of the speed")
        low, top = panel.get_ylim()
        speeds = np.linspace(
            x[0], x[-1], CURVE_POINTS
        )  # straight lines are curves on a logarithmic axis
        orders_hz = np.abs(speeds) / (2 * np.pi)
        for order in range(1, EXCITATION_ORDERS + 1):
            panel.plot(speeds, order * orders_hz, color="0.8", lw=1, zorder=0)
            panel.annotate(f"{order}x", (x[-1], order * orders_hz[-1]), color="0.5", clip_on=True)
        panel.set_ylim(low, top)
    panel.grid(color="0.92")
    if not panel.get_legend_handles_labels()[0]:
        return
    panel.legend(
        frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1),
        title=f"modes, named at\n{drawable(sweep.named_at(sweep.tracks[0]))}",
        title_fontsize="small", alignment="left",
    )  # fmt: skip


def _label(sweep: Sweep, track: Track) -> str:
    """Return a track's legend text, with its starting point unless that is the sweep's first."""
    origin = "" if np.isfinite(track.eigenvalue[0]) else f" (named at {sweep.named_at(track)})"
    return drawable(track.name + origin)


def _maps(sweep: Sweep, tracks: list[Track]) -> "Figure":
    columns = min(3, len(tracks))
    rows = -(-len(tracks) // columns)
    figure, maps = panels((4 * columns + 1, 3.4 * rows + 0.5), rows, columns)
    naming = f"modes named at {sweep.named_at(tracks[0])}" if tracks else "no modes"
    title = f"{sweep.model.arm.name}: natural frequency [Hz], {naming}"
    figure.suptitle(drawable(title))
    (x, xlabel), (y, ylabel) = _axis(sweep, 0), _axis(sweep, 1)
    for track, panel in zip(tracks, maps.ravel(), strict=False):
        contours = panel.contourf(x, y, track.frequency_hz.T, levels=12, cmap="viridis")
        figure.colorbar(contours, ax=panel)
        panel.set_title(drawable(track.name), fontsize="medium")
        panel.set_xlabel(xlabel)
        panel.set_ylabel(ylabel)
    for panel in maps.ravel()[len(tracks) :]:
        panel.set_visible(False)
    return figure


def _axis(sweep: Sweep, k: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], str]:
    """Return values and label of one sweep axis, with angles in degrees."""
    values, unit = sweep.values[k], sweep.units[k]
    if unit == "rad":
        values, unit = np.degrees(values), "deg"
    word = "speed of " if sweep.kind == "speeds" else ""
    return values, f"{word}{drawable(sweep.names[k])} [{unit}]"


MISSING = complex(np.nan, np.nan)
Solve = Callable[[Array], Modes]


@renamed({"positions": "at"})
@one_blas_thread
def sweep(
    arm: Arm | Model,
    *,
    at: Mapping[str, float | Sequence[float] | Array] | None = None,
    speeds: Mapping[str, float | Sequence[float] | Array] | None = None,
    joints: State | Literal["auto"] | Mapping[str, State] = "auto",
    straight: bool = False,
    friction: FrictionChoice = "off",
    friction_speed: float | None = None,
    following: bool = False,
) -> Sweep:
    """Track the modes of an arm over positions or speeds of its joints.

    Parameters
    ----------
    arm
        The arm, or its model.
    at, speeds
        Positions and speeds by joint name, as for `modes`. The varied joint has a sequence of
        speeds or positions; two joints may have sequences of positions.
    joints, straight, friction, friction_speed, following
        As for `modes`.

    Returns
    -------
    Sweep
        One track per mode: frequency and damping at all sweep points.

    Notes
    -----
    Modes of neighbouring points are matched by the modal assurance criterion in the inner product
    of the mass matrix, with the best sum over all modes (Kuhn-Munkres). If a match is poor the step
    is halved. Modes are thus tracked through crossings; where frequency curves veer, a track's mode
    shape changes gradually.
    """
    model = arm if isinstance(arm, Model) else build(arm)
    require_flag("straight", straight)
    units = model.axis_units
    at = {
        name: in_unit(f"at: {name}", entry, units.get(name, "1"))
        for name, entry in require_mapping("at", at, "positions by joint").items()
    }
    speeds = {
        name: in_unit(f"speeds: {name}", entry, f"{units.get(name, '1')}/s")
        for name, entry in require_mapping("speeds", speeds, "speeds by joint").items()
    }
    ranges = [
        (kind, name, _range(f"{kind}: {name}", values))
        for kind, by_joint in (("at", at), ("speeds", speeds))
        for name, values in by_joint.items()
        if not is_number(values)
    ]
    kinds = {kind for kind, _, _ in ranges}
    if not ranges or len(ranges) > 2 or len(kinds) > 1 or (kinds == {"speeds"} and len(ranges) > 1):
        raise FlexarmError(
            "sweep: must give a range of speeds for one joint, or ranges of positions for one "
            "or two joints"
        )
    for _, name, values in ranges:
        if len(values) < 2:
            raise FlexarmError(f"sweep: {name} must have at least 2 values, got {len(values)}")
    states = joint_states(model, joints, given=True)
    require_flag("following", following)
    dry_friction = DryFriction(friction, friction_speed)
    fixed_tangent = None if following else Tangent(model, friction=dry_friction)
    notes: dict[str, None] = {}
    notices: dict[str, None] = {}

    def solve(point: Array) -> Modes:
        joints_at: dict[str, Any] = {"at": dict(at), "speeds": dict(speeds)}
        for (kind, name, _), value in zip(ranges, point, strict=True):
            joints_at[kind][name] = float(value)
        tangent = fixed_tangent or Tangent(
            build(shapes_following(model.arm, joints_at["at"])), friction=dry_friction
        )
        equilibrium = settle_down(tangent, joints_at["at"], joints_at["speeds"], straight=straight)
        notes.update(dict.fromkeys(equilibrium.notes))
        point_modes = modes_about(tangent, equilibrium, states)
        notices.update(dict.fromkeys(point_modes.notices))
        return point_modes

    axes = [values for _, _, values in ranges]
    tracks = _line(solve, axes[0]) if len(axes) == 1 else _map(solve, axes[0], axes[1])
    units = {axis.name: axis.unit for axis in model.axes}
    kind: Literal["at", "speeds"] = "speeds" if kinds == {"speeds"} else "at"
    rate_unit = "/s" if kind == "speeds" else ""
    names = tuple(name for _, name, _ in ranges)
    return Sweep(
        model, names, tuple(units[name] + rate_unit for name in names), kind, tuple(axes),
        tuple(tracks), tuple(notes), tuple(notices),
    )  # fmt: skip


def _range(name: str, values: object) -> Array:
    """Return the P values of a joint's sequence as a validated array, (P,)."""
    numbers = list(values) if isinstance(values, np.ndarray) else listed(values)
    if numbers is None or not all(is_number(number) for number in numbers):
        raise refused(name, values, "a number, or a list of finite numbers")
    return np.array(numbers, dtype=float)


class _Follower:
    """Named modes at the current point of a sweep; None for modes that have ended."""

    def __init__(self, solve: Solve, place: Array) -> None:
        self.solve, self.place, self.last = solve, place, solve(place)
        self.modes: list[Mode | None] = list(self.last.elastic())
        self.names = [mode.name for mode in self.last.elastic()]

    def copy(self) -> "_Follower":
        """Return an independent copy of the tracked modes at the current point."""
        follower = copy(self)
        follower.modes, follower.names = list(self.modes), list(self.names)
        return follower

    def go(self, place: Array, depth: int = 0) -> None:
        """Track the modes to another point, in halved steps if the mode shapes change much."""
        from scipy.optimize import linear_sum_assignment  # takes long to import

        modes_there = self.solve(place)
        indices = [k for k, mode in enumerate(self.modes) if mode is not None]
        old_modes = [mode for mode in self.modes if mode is not None]
        masses = self.last.mass, modes_there.mass
        new_modes = _rotated_towards(old_modes, modes_there.elastic(), masses)
        assurance = _assurance(old_modes, new_modes, masses)
        rows, columns = linear_sum_assignment(-assurance)
        is_poor = bool(np.any(assurance[rows, columns] < MATCH_ASSURANCE)) and len(
            new_modes
        ) == len(old_modes)
        if is_poor and depth < HALVINGS:
            self.go((self.place + place) / 2, depth + 1)
            self.go(place, depth + 1)
            return
        tracked: list[Mode | None] = [None] * len(self.modes)
        for row, column in zip(rows, columns, strict=True):
            tracked[indices[row]] = new_modes[column]
        for k, mode in enumerate(new_modes):
            if k not in columns:
                tracked.append(mode)
                namesakes = sum(name.startswith(mode.name) for name in self.names)
                self.names.append(f"{mode.name} ({namesakes + 1})" if namesakes else mode.name)
        self.place, self.last, self.modes = place, modes_there, tracked

    def values(self) -> list[complex]:
        """Return the tracked eigenvalues at the current point; NaN for modes that have ended."""
        return [MISSING if mode is None else mode.eigenvalue for mode in self.modes]


def _line(solve: Solve, axis: Array) -> list[Track]:
    """Return the tracks of the modes over the values of one joint."""
    follower = _Follower(solve, axis[:1])
    rows = [follower.values()]
    for value in axis[1:]:
        follower.go(np.array([value]))
        rows.append(follower.values())
    count = len(follower.names)
    table = np.array([row + [MISSING] * (count - len(row)) for row in rows])
    return [Track(name, table[:, k]) for k, name in enumerate(follower.names)]


def _map(solve: Solve, first_values: Array, second_values: Array) -> list[Track]:
    """Return the tracks of the modes over a grid of the values of two joints.

    Modes are tracked over the first joint's values, and from each of these over the second joint's.
    """
    follower = _Follower(solve, np.array([first_values[0], second_values[0]]))
    count = len(follower.names)
    table = np.full((len(first_values), len(second_values), count), MISSING)
    for i, value in enumerate(first_values):
        if i:
            follower.go(np.array([value, second_values[0]]))
        runner = follower.copy()
        table[i, 0] = runner.values()[:count]
        for j, second_value in enumerate(second_values[1:], 1):
            runner.go(np.array([value, second_value]))
            table[i, j] = runner.values()[:count]
    return [Track(name, table[:, :, k]) for k, name in enumerate(follower.names[:count])]


def _assurance(old: Sequence[Mode], new: Sequence[Mode], masses: tuple[Array, Array]) -> Array:
    """Compute the modal assurance criterion of old and new modes in the mass matrix, (old, new).

    Values are from 0 to 1. Mode shapes are orthogonal to rigid-body motions in the mass matrix of
    their own sweep point only. The criterion is computed so that rigid-body parts, which are often
    large in the other point's mass matrix, have no effect.
    """
    if not old or not new:
        return np.zeros((len(old), len(new)))
    a, b = (np.array([mode.shape for mode in modes]).T for modes in (old, new))
    cross = [np.abs(a.conj().T @ mass @ b) for mass in masses]
    sizes = [
        np.real(np.einsum("im,ij,jm->m", x.conj(), mass, x))
        for x, mass in zip((a, b), masses, strict=True)
    ]
    return np.asarray(cross[0] * cross[1] / np.outer(*sizes))


def _rotated_towards(
    old: Sequence[Mode], new: Sequence[Mode], masses: tuple[Array, Array]
) -> list[Mode]:
    """Return new modes with shapes of equal frequencies rotated towards the old shapes."""
    result, sizes = list(new), np.abs([mode.eigenvalue for mode in new])
    for equal in equal_frequencies(sizes):
        group = [new[k] for k in equal]
        block = np.array([mode.shape for mode in group]).T
        assurance = _assurance(old, group, masses).sum(axis=1)
        targets = np.array([old[k].shape for k in np.argsort(-assurance)[: len(group)]]).T
        if targets.shape != block.shape:
            continue
        left_vectors, _, right_vectors = np.linalg.svd(block.conj().T @ masses[0] @ targets)
        for k, shape in zip(equal, (block @ left_vectors @ right_vectors).T, strict=True):
            result[k] = replace(new[k], shape=shape)
    return result
