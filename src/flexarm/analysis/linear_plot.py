"""Figures of modes: participation, Campbell diagrams, frequency maps."""

from typing import TYPE_CHECKING

import numpy as np

from flexarm.analysis.modes import Modes
from flexarm.analysis.sweep import Sweep, Track
from flexarm.integrate.plot import COLOURS, curve_look, drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 12  # modes in a figure, if nobody says how many
MAPS = 6
ORDERS = 4  # excitation lines of a Campbell diagram
SMOOTH = 200  # points of such a line
TAKES_PART = 0.02
WIDE = 20  # range of frequencies from which on their axis is logarithmic


def plot_modes(modes: Modes, count: int = SHOWN) -> "Figure":
    """Draw the frequencies of modes, slowest first, and who takes part in each."""
    from matplotlib.figure import Figure

    listed = (modes.elastic() or modes.modes)[:count]
    figure = Figure(figsize=(9, 1.6 + 0.35 * max(len(listed), 3)), layout="constrained")
    panel = figure.subplots()
    panel.set_title(f"{drawable(modes.model.arm.name)}: {_joints(modes)}", parse_math=False)
    names = [
        name
        for name in modes.model.names
        if any(mode.participation.get(name, 0.0) > TAKES_PART for mode in listed)
    ]
    rows = np.arange(len(listed))
    left = np.zeros(len(listed))
    for k, name in enumerate(names):
        shares = np.array([mode.participation.get(name, 0.0) for mode in listed])
        hatch = ("", "//", "..", "xx")[k // len(COLOURS) % 4]
        panel.barh(
            rows, shares, left=left, color=COLOURS[k % len(COLOURS)], label=drawable(name),
            hatch=hatch, edgecolor="white", linewidth=0.5,
        )  # fmt: skip
        left += shares
    panel.set_yticks(
        rows, [f"{drawable(mode.name)}, {_hertz(mode.frequency_hz)}" for mode in listed]
    )
    for label in panel.get_yticklabels():
        label.set_parse_math(False)
    panel.invert_yaxis()
    panel.set(xlim=(0, 1), xlabel="share of each coordinate in the mode's energy")
    panel.spines[["top", "right"]].set_visible(False)
    if names:
        shown = panel.legend(frameon=False, fontsize="small", loc="upper left",
                             bbox_to_anchor=(1.0, 1.0))  # fmt: skip
        for text in shown.get_texts():
            text.set_parse_math(False)  # names are the user's
    return figure


def plot_sweep(sweep: Sweep, count: int | None = None) -> "Figure":
    """Draw the frequencies of a sweep: lines over one joint, maps over two."""
    from matplotlib.figure import Figure

    order = sorted(sweep.tracks, key=lambda track: np.nanmin(track.frequency_hz))
    if len(sweep.values) == 2:
        return _maps(sweep, order[: count or MAPS])
    figure = Figure(figsize=(9, 6), layout="constrained")
    panel = figure.subplots()
    _lines(sweep, order[: count or SHOWN], panel)
    figure.suptitle(drawable(sweep.model.arm.name), parse_math=False)
    return figure


def _lines(sweep: Sweep, tracks: list[Track], panel: "Axes") -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    x, label = _axis(sweep, 0)
    for k, track in enumerate(tracks):
        oscillates = np.abs(track.eigenvalue.imag) > 1e-9 * np.abs(track.eigenvalue)
        values = np.where(oscillates, track.frequency_hz, np.nan)
        if np.any(oscillates):
            panel.plot(x, values, label=_label(sweep, track), **curve_look(k))
    panel.set_xlabel(label, parse_math=False)
    panel.set(ylabel="natural frequency [Hz]", ylim=(0, None))
    found = np.concatenate([track.frequency_hz for track in tracks]) if tracks else np.zeros(0)
    seen = found[found > 0]
    if len(seen) and seen.max() > WIDE * seen.min():
        panel.set(yscale="log", ylim=(0.7 * float(seen.min()), None))
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        panel.yaxis.set_minor_formatter(NullFormatter())
    if sweep.kind == "speeds" and sweep.units[0] == "rad/s":
        panel.set_title("Campbell diagram; grey: multiples of the speed")
        low, top = panel.get_ylim()
        speeds = np.linspace(x[0], x[-1], SMOOTH)  # straight lines are curves on a logarithmic axis
        turns = np.abs(speeds) / (2 * np.pi)
        for order in range(1, ORDERS + 1):
            panel.plot(speeds, order * turns, color="0.8", lw=1, zorder=0)
            panel.annotate(f"{order}x", (x[-1], order * turns[-1]), color="0.5", clip_on=True)
        panel.set_ylim(low, top)
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(color="0.92")
    if not panel.get_legend_handles_labels()[0]:
        return
    shown = panel.legend(
        frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1),
        title=f"modes, named at\n{drawable(sweep.named_at(sweep.tracks[0]))}",
        title_fontsize="small", alignment="left",
    )  # fmt: skip
    for text in (shown.get_title(), *shown.get_texts()):
        text.set_parse_math(False)


def _label(sweep: Sweep, track: Track) -> str:
    """Write a track's name, and where it got it unless that is where the sweep begins."""
    late = "" if np.isfinite(track.eigenvalue[0]) else f" (named at {sweep.named_at(track)})"
    return drawable(track.name + late)


def _maps(sweep: Sweep, tracks: list[Track]) -> "Figure":
    from matplotlib.figure import Figure

    columns = min(3, len(tracks))
    rows = -(-len(tracks) // columns)
    figure = Figure(figsize=(4 * columns + 1, 3.4 * rows + 0.5), layout="constrained")
    named = f"modes named at {sweep.named_at(tracks[0])}" if tracks else "no modes"
    title = f"{sweep.model.arm.name}: natural frequency [Hz], {named}"
    figure.suptitle(drawable(title), parse_math=False)
    panels = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
    (x, xlabel), (y, ylabel) = _axis(sweep, 0), _axis(sweep, 1)
    for track, panel in zip(tracks, panels, strict=False):
        drawn = panel.contourf(x, y, track.frequency_hz.T, levels=12, cmap="viridis")
        figure.colorbar(drawn, ax=panel)
        panel.set_title(drawable(track.name), parse_math=False, fontsize="medium")
        panel.set_xlabel(xlabel, parse_math=False)
        panel.set_ylabel(ylabel, parse_math=False)
    for panel in panels[len(tracks) :]:
        panel.set_visible(False)
    return figure


def _axis(sweep: Sweep, k: int) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], str]:
    """Give values and label of an axis; angles in degrees."""
    values, unit = sweep.values[k], sweep.units[k]
    if unit == "rad":
        values, unit = np.degrees(values), "deg"
    word = "speed of " if sweep.kind == "speeds" else ""
    return values, f"{word}{drawable(sweep.names[k])} [{unit}]"


def _joints(modes: Modes) -> str:
    words = set(modes.states.values())
    return f"joints {words.pop()}" if len(words) == 1 else "joints as given"


def _hertz(value: float) -> str:
    return f"{value:.4g} Hz"
