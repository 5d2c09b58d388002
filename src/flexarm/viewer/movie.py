"""Movies and pictures of one simulation or of several: gif, or webm and mp4 by ffmpeg."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arguments import WithUnit, refused, require_number, require_path
from flexarm.errors import FlexarmError
from flexarm.figures import COLOURS, drawable
from flexarm.io.whole_file import require_writable, write_figure, write_whole
from flexarm.runs.data import RunData
from flexarm.runs.plot import arm_outline, fill_in, pick
from flexarm.spatial import Array
from flexarm.viewer.constants import (
    FILM_DPI,
    FILM_DURATIONS,
    FILM_POINTS,
    FILM_SIZE,
    MOST_PICTURES,
    PICTURE_RATE,
)
from flexarm.viewer.outlook import Outlook, outlook, scaled
from flexarm.viewer.page import require_runs
from flexarm.viewer.scene import body_places, obstacles

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

CODECS = {".gif": "", ".webm": "libvpx-vp9", ".mp4": "libx264"}
BEFORE = "0.72"  # grey of obstacles


def save_movie(
    runs: Sequence[RunData], path: str | Path, labels: Sequence[str] = (), *, force: bool = False
) -> None:
    """Write runs as a movie file, in the view of their HTML page.

    Parameters
    ----------
    runs
        One run, or several runs to compare.
    path
        Path of the movie: gif, or webm and mp4, which need the program ffmpeg.
    labels
        Names of the runs; None for the parameter values that differ between them.
    force
        Whether to overwrite an existing file.

    Raises
    ------
    FlexarmError
        If the file is of another type, if ffmpeg is missing, or if the file cannot be written.
    """
    labels = require_runs(runs, labels)
    kind = require_movie(path)
    require_writable(path, force=force)
    with tempfile.TemporaryDirectory() as folder:
        film_file = Path(folder) / f"film{kind}"
        _draw(Film.of(runs, labels), film_file, CODECS[kind])
        write_whole(path, film_file.read_bytes(), force=force)


def save_picture(
    runs: Sequence[RunData],
    path: str | Path,
    labels: Sequence[str] = (),
    *,
    at: WithUnit | None = None,
    force: bool = False,
) -> None:
    """Write a picture of runs at one time, with the paths of their tips.

    Parameters
    ----------
    runs, labels
        Runs and their names, as for `save_movie`.
    path
        Path of the picture, whose suffix selects the format (png, svg, pdf).
    at
        Time [s] of the picture, which shows the nearest sample of each run; None for the end.
    force
        Whether to overwrite an existing file.

    Raises
    ------
    FlexarmError
        If the time is outside the runs, or the file cannot be written.
    """
    labels = require_runs(runs, labels)
    begin, end = min(float(run.t[0]) for run in runs), max(float(run.t[-1]) for run in runs)
    t = end if at is None else require_number("at", at, least=begin, largest=end, unit="s")
    film = replace(Film.of(runs, labels, t), speed=1.0)  # a picture shows no speed
    picture = int(np.searchsorted(film.times, t))
    film.times[picture] = min(
        (run.t[picture] for run in film.runs), key=lambda sample_time: abs(sample_time - t)
    )
    figure, show = _stage(film)
    show(picture)
    write_figure(path, figure, force=force)


def require_movie(path: str | Path) -> str:
    """Return the suffix of a movie file, such as ``.gif``; raise an error if it is unusable."""
    kind = require_path("path", path).suffix.lower()
    if kind not in CODECS:
        raise refused("path", str(path), f"a file that ends in one of {', '.join(CODECS)}")
    if CODECS[kind] and shutil.which("ffmpeg") is None:
        raise FlexarmError(
            f"{path}: a film of this kind needs the program ffmpeg, which is not installed. "
            "Install it, or name a file that ends in .gif."
        )
    return kind


@dataclass(frozen=True)
class Film:
    """Several runs, projected for the F pictures of a movie."""

    seen: Outlook  # view, with the enlargement of deformation
    times: Array  # times of the pictures [s], (F,)
    speed: float  # duration of the run over duration of the film
    runs: Sequence[RunData]  # samples of the runs at the pictures
    labels: Sequence[str]  # names of the runs
    lines: Sequence[Array]  # by run: sections in the picture [m], (F, P, 2)
    bodies: Sequence[Sequence[Array]]  # by run and free body: centres in the picture [m], (F, 2)

    @classmethod
    def of(
        cls, runs: Sequence[RunData], labels: Sequence[str], extra_time: float | None = None
    ) -> "Film":
        """Build a film of runs with equally spaced pictures and, if given, one more time [s]."""
        view, begin = outlook(runs), min(float(run.t[0]) for run in runs)
        duration = max(max(float(run.t[-1]) for run in runs) - begin, 1e-9)
        shortest, longest, default_duration = FILM_DURATIONS
        seconds = duration if shortest <= duration <= longest else default_duration
        count = min(round(PICTURE_RATE * seconds) + 1, MOST_PICTURES)
        times = begin + np.linspace(0.0, duration, count)
        times = times if extra_time is None else np.union1d(times, [extra_time])
        samples = [_at(run, times) for run in runs]
        lines = [
            np.asarray(
                arm_outline(scaled(run, view.scale), np.arange(len(run.t)), FILM_POINTS)
                @ view.axes.T
            )
            for run in samples
        ]
        bodies = [_bodies(run, view, line[:, -1]) for run, line in zip(samples, lines, strict=True)]
        return cls(view, times, duration / seconds, samples, labels, lines, bodies)

    @property
    def room(self) -> tuple[Array, Array]:
        """Lower left and upper right corner of the drawn area [m], (2,) each."""
        points = np.concatenate([line.reshape(-1, 2) for line in self.lines])
        low, high = points.min(axis=0), points.max(axis=0)
        aspect = np.diag([1.0, FILM_SIZE[0] / FILM_SIZE[1]])
        half_size = max((high - low) @ aspect) * np.array([0.6, 0.45])
        middle = (low + high) / 2
        return middle - half_size, middle + half_size


def _at(run: RunData, times: Array) -> RunData:
    """Return the samples of a run nearest to given times; after its end, the last sample."""
    dense = fill_in(run)
    next_sample = np.clip(np.searchsorted(dense.t, times), 1, max(len(dense.t) - 1, 1))
    next_sample = np.minimum(next_sample, len(dense.t) - 1)
    previous_sample = np.maximum(next_sample - 1, 0)
    is_previous_nearer = times - dense.t[previous_sample] < dense.t[next_sample] - times
    return pick(dense, np.where(is_previous_nearer, previous_sample, next_sample))


def _bodies(run: RunData, view: Outlook, tip: Array) -> list[Array]:
    """Return the projected centres of free bodies, (F, 2) each; captured ones are at the tip."""
    centres = []
    for _, _, places in body_places(run):
        in_tip_frame = np.einsum("tij,tj->ti", run.tip_rotation, places[:, 3:6]) @ view.axes.T
        in_world = places[:, 3:6] @ view.axes.T
        centres.append(np.where(places[:, 6:] == 1, tip + in_tip_frame, in_world))
    return centres


def _draw(film: Film, path: Path, codec: str) -> None:
    """Write all pictures of a film to a movie file."""
    from matplotlib.animation import FFMpegWriter, PillowWriter

    figure, show = _stage(film)
    args = ["-pix_fmt", "yuv420p"] if codec == "libx264" else None
    rate = PICTURE_RATE
    writer = FFMpegWriter(rate, codec=codec, extra_args=args) if codec else PillowWriter(rate)
    try:
        with writer.saving(figure, str(path), FILM_DPI):
            for i in range(len(film.times)):
                show(i)
                writer.grab_frame()
    except (OSError, subprocess.CalledProcessError) as error:
        raise FlexarmError(
            f"ffmpeg could not write the film ({codec or 'gif'}): {error}. Try a file that ends "
            "in .gif."
        ) from None


def _stage(film: Film) -> "tuple[Figure, Callable[[int], None]]":
    """Return a figure with all parts that do not move, and a function that draws picture i."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=FILM_SIZE, dpi=FILM_DPI)
    panel = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    panel.axis("off")
    (left, bottom), (right, top) = film.room
    panel.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    _draw_obstacles(film, panel)
    _write_texts(film, figure, panel)
    moving_lines = [line_ for k in range(len(film.runs)) for line_ in _moving_lines(film, k, panel)]
    clock = figure.text(0.98, 0.96, "", ha="right", va="top")

    def show(i: int) -> None:
        for line, points in moving_lines:
            line.set_data(*points(i).T)
        clock.set_text(f"{film.times[i]:.3f} s")

    return figure, show


def _moving_lines(
    film: Film, run: int, panel: "Axes"
) -> "Iterator[tuple[Line2D, Callable[[int], Array]]]":
    """Yield the moving lines of a run, each with a function for its points in picture i."""
    lines, bodies = film.lines[run], film.bodies[run]
    colour = COLOURS[run % len(COLOURS)]
    counts = [FILM_POINTS if part.flexible else 2 for part in film.runs[run].model.links]
    joints = np.cumsum([0, *counts[:-1]])
    panel.plot(*lines[:, -1].T, color=colour, lw=0.8, alpha=0.35)
    styles: list[tuple[str, dict[str, Any], Callable[[int], Array]]] = [
        ("-", {"color": colour, "lw": 1.5, "alpha": 0.8}, lambda i: lines[: i + 1, -1]),
        ("-", {"color": colour, "lw": 4, "solid_capstyle": "round"}, lambda i: lines[i]),
        ("o", {"color": "0.35", "ms": 7}, lambda i: lines[i, joints]),
        ("o", {"color": "#c88a2d", "ms": 11},
         lambda i: np.reshape([body[i] for body in bodies], (-1, 2))),
        ("o", {"color": colour, "mec": "white", "ms": 6}, lambda i: lines[i, -1:]),
    ]  # fmt: skip
    for marker, style, points in styles:
        yield panel.plot([], [], marker, **style)[0], points


def _write_texts(film: Film, figure: "Figure", panel: "Axes") -> None:
    """Draw the arm's name, a scale bar, the enlargement of deflections, and the legend."""
    texts = [drawable(film.runs[0].model.arm.name)]
    if film.seen.scale != 1:
        texts.append(f"deformation drawn ×{film.seen.scale:g}")
    if abs(film.speed - 1) > 1e-3:
        texts.append(f"{film.speed:.2g} times real time")
    figure.text(0.02, 0.96, "\n".join(texts), ha="left", va="top")
    (left, bottom), (right, top) = film.room
    longest = 0.2 * (right - left)
    power = 10 ** np.floor(np.log10(longest))
    length = float(max(k * power for k in (1, 2, 5) if k * power <= longest))
    x, y = left + 0.03 * (right - left), bottom + 0.05 * (top - bottom)
    panel.plot([x, x + length], [y, y], color="0.3", lw=2)
    label = f"{length:g} m" if length >= 1 else f"{1e3 * length:g} mm"
    panel.text(x, y + 0.015 * (top - bottom), label, va="bottom")
    if len(film.runs) > 1:
        handles: list[Artist] = [
            panel.plot([], [], color=COLOURS[k % len(COLOURS)], lw=4)[0]
            for k in range(len(film.runs))
        ]
        names = [drawable(name) for name in film.labels]
        panel.legend(handles, names, loc="lower right", frameon=False)


def _draw_obstacles(film: Film, panel: "Axes") -> None:
    """Draw spheres and boxes in projection, and planes seen edge-on as lines."""
    from matplotlib.patches import Circle, Polygon
    from scipy.spatial import ConvexHull

    axes = film.seen.axes
    style: dict[str, Any] = {"color": BEFORE, "alpha": 0.5, "zorder": 0}
    for body in [obstacle for run in film.runs for obstacle in obstacles(run.model)]:
        centre = axes @ body["point"]
        if body["kind"] == "sphere":
            panel.add_patch(Circle(tuple(centre), body["radius"], fill=not body["inside"], **style))
        elif body["kind"] == "box":
            signs = np.array(list(product((-0.5, 0.5), repeat=3)))
            corners = signs * body["size"] @ np.reshape(body["R"], (3, 3)).T @ axes.T
            panel.add_patch(Polygon(centre + corners[ConvexHull(corners).vertices], **style))
        else:
            normal = axes @ body["normal"] / np.linalg.norm(body["normal"])
            if np.linalg.norm(normal) > 0.5:
                direction = np.array([-normal[1], normal[0]])
                panel.axline(tuple(centre), tuple(centre + direction), color=BEFORE)
