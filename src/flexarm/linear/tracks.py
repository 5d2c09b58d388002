"""Results of mode sweeps over positions or speeds of joints, and their figures."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from flexarm.arguments import require_count, require_kind
from flexarm.arm.summary import Summarised, Summary
from flexarm.errors import FlexarmError
from flexarm.figures import curve_look, drawable, panels
from flexarm.linear.constants import (
    CURVE_POINTS,
    EXCITATION_ORDERS,
    LOGARITHMIC_RATIO,
    MOST_MAPS,
    SHOWN_MODES,
    SHOWN_NOTES,
)
from flexarm.model import Model
from flexarm.spatial import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Track:
    """Eigenvalues of one mode over a sweep.

    Attributes
    ----------
    name
        The mode's name at the first point where it exists; its character may change later.
    eigenvalue
        Eigenvalues [1/s], one per point, complex; NaN where the mode does not exist.
    """

    name: str
    eigenvalue: np.ndarray[tuple[int, ...], np.dtype[np.complex128]]

    @property
    def frequency_hz(self) -> Array:
        """Natural frequency at every point [Hz]."""
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
        ``at``, positions, or ``speeds``.
    values
        Values of the positions or speeds, one array per joint.
    tracks
        The modes without rigid-body motions; eigenvalues have one axis per varied joint.
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
        for track in self.tracks:
            if track.name == name:
                return track
        raise FlexarmError(
            f"there is no mode '{name}'. The modes are "
            f"{', '.join(track.name for track in self.tracks)}."
        )

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
            Number of modes, slowest first; as many as can be read if None.

        Returns
        -------
        Figure
            Matplotlib's.
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
