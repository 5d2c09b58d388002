"""A run, or several compared, as a film: gif, or by ffmpeg webm and mp4."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm.arguments import WithUnit, listed, refused, require_names, require_number, require_path
from flexarm.errors import FlexarmError
from flexarm.figures import COLOURS, drawable
from flexarm.io.whole_file import require_writable, write_figure, write_whole
from flexarm.links.base import Array
from flexarm.runs.between import fill_in, pick
from flexarm.runs.data import RunData
from flexarm.runs.plot import arm_outline
from flexarm.viewer.outlook import Outlook, outlook, scaled
from flexarm.viewer.page import run_labels
from flexarm.viewer.surroundings import body_places, obstacles

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CODECS = {".gif": "", ".webm": "libvpx-vp9", ".mp4": "libx264"}
RATE = 20  # pictures a second
PLEASANT = (3.0, 30.0, 8.0)  # [s]: between the first two a film lasts as long as the run, else this
MOST = 2400  # pictures
SECTIONS = 15  # along a flexible link
SIZE, DPI = (6.4, 4.8), 100
BEFORE = "0.72"  # grey of what is not the arm


def save_movie(
    runs: Sequence[RunData], path: str | Path, labels: Sequence[str] = (), *, force: bool = False
) -> None:
    """Write runs as a film, whole or not at all; they are looked at as in their page.

    Parameters
    ----------
    runs
        One run, or more to be compared.
    path
        The file: gif, or webm and mp4, which need the program ffmpeg.
    labels
        What to call the runs; by what differs if left out.
    force
        Whether to overwrite a file that is there.

    Raises
    ------
    FlexarmError
        If the file is of another kind, ffmpeg is missing, or the file cannot be written.
    """
    labels = _require_runs(runs, labels)
    kind = require_movie(path)
    require_writable(path, force=force)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"film{kind}"
        _draw(Film.of(runs, labels), made, CODECS[kind])
        write_whole(path, made.read_bytes(), force=force)


def save_picture(
    runs: Sequence[RunData],
    path: str | Path,
    labels: Sequence[str] = (),
    *,
    at: WithUnit | None = None,
    force: bool = False,
) -> None:
    """Write one picture of the film of runs, with the ways of their tips, whole or not at all.

    Parameters
    ----------
    runs, labels
        As of `save_movie`.
    path
        The file; its suffix says which kind (png, svg, pdf).
    at
        When [s], of which the nearest samples are shown; at the end if None.
    force
        Whether to overwrite a file that is there.

    Raises
    ------
    FlexarmError
        If that is before or after the runs, or the file cannot be written.
    """
    labels = _require_runs(runs, labels)
    begin, end = min(float(run.t[0]) for run in runs), max(float(run.t[-1]) for run in runs)
    t = end if at is None else require_number("at", at, least=begin, largest=end, unit="s")
    film = replace(Film.of(runs, labels, t), speed=1.0)  # which a picture does not have
    shown = int(np.searchsorted(film.times, t))
    film.times[shown] = min((run.t[shown] for run in film.runs), key=lambda own: abs(own - t))
    figure, show = _stage(film)
    show(shown)
    write_figure(path, figure, force=force)


def _require_runs(runs: Sequence[RunData], labels: Sequence[str]) -> Sequence[str]:
    """Refuse what are no runs, or not as many labels; give labels if there are none."""
    given = listed(runs)
    if not given or not all(isinstance(each, RunData) for each in given):
        raise refused("runs", runs, "a list of runs, one at least")
    if require_names("labels", labels, "texts") and len(labels) != len(runs):
        raise refused("labels", labels, f"{len(runs)} texts, or none")
    return labels or run_labels(runs)


def require_movie(path: str | Path) -> str:
    """Refuse a film that cannot be made; else give its kind, such as ``.gif``."""
    kind = require_path("path", path).suffix.lower()
    if kind not in CODECS:
        raise refused("path", str(path), f"a file that ends in one of {', '.join(CODECS)}")
    if CODECS[kind] and shutil.which("ffmpeg") is None:
        raise FlexarmError(
            f"{path}: a film of this kind needs the program ffmpeg, which is not installed: "
            "install it, or name a file that ends in .gif"
        )
    return kind


@dataclass(frozen=True)
class Film:
    """What is drawn, projected into the picture."""

    seen: Outlook  # from where it is looked at, and at which scale of deformation
    times: Array  # of the pictures [s], (F,)
    speed: float  # of the film, over that of the run
    runs: Sequence[RunData]  # the runs at the pictures
    labels: Sequence[str]  # what they are called
    lines: Sequence[Array]  # by run: all sections in the picture [m], (F, P, 2)
    # By run: centres of its free bodies in the picture [m], each (F, 2).
    bodies: Sequence[Sequence[Array]]

    @classmethod
    def of(
        cls, runs: Sequence[RunData], labels: Sequence[str], also: float | None = None
    ) -> "Film":
        """Choose pictures, one at a time [s] among them if that is given, and project them."""
        seen, begin = outlook(runs), min(float(run.t[0]) for run in runs)
        duration = max(max(float(run.t[-1]) for run in runs) - begin, 1e-9)
        least, most, usual = PLEASANT
        seconds = duration if least <= duration <= most else usual
        count = min(round(RATE * seconds) + 1, MOST)
        times = begin + np.linspace(0.0, duration, count)
        times = times if also is None else np.union1d(times, [also])
        taken = [_at(run, times) for run in runs]
        lines = [_outline(run, seen) for run in taken]
        bodies = [_bodies(run, seen, line[:, -1]) for run, line in zip(taken, lines, strict=True)]
        return cls(seen, times, duration / seconds, taken, labels, lines, bodies)

    @property
    def room(self) -> tuple[Array, Array]:
        """The corners of all that is drawn [m], (2,) each, in the shape of the picture."""
        points = np.concatenate([line.reshape(-1, 2) for line in self.lines])
        low, high = points.min(axis=0), points.max(axis=0)
        half = max((high - low) @ np.diag([1.0, SIZE[0] / SIZE[1]])) * np.array([0.6, 0.45])
        middle = (low + high) / 2
        return middle - half, middle + half


def _at(run: RunData, times: Array) -> RunData:
    """Take the samples of a run that are nearest to times; it stands at its end."""
    close = fill_in(run)
    after = np.clip(np.searchsorted(close.t, times), 1, max(len(close.t) - 1, 1))
    after = np.minimum(after, len(close.t) - 1)
    before = np.maximum(after - 1, 0)
    nearer = times - close.t[before] < close.t[after] - times
    return pick(close, np.where(nearer, before, after))


def _outline(run: RunData, seen: Outlook) -> Array:
    points = arm_outline(scaled(run, seen.scale), np.arange(len(run.t)), SECTIONS)
    return np.asarray(points @ seen.axes.T)


def _bodies(run: RunData, seen: Outlook, tip: Array) -> list[Array]:
    """Project the centres of free bodies; those that are held go with the tip as it is drawn."""
    found = []
    for _, _, places in body_places(run):
        arm = np.einsum("tij,tj->ti", run.tip_rotation, places[:, 3:6]) @ seen.axes.T
        free = places[:, 3:6] @ seen.axes.T
        found.append(np.where(places[:, 6:] == 1, tip + arm, free))
    return found


def _draw(film: Film, path: Path, codec: str) -> None:
    """Draw picture after picture into a file."""
    from matplotlib.animation import FFMpegWriter, PillowWriter

    figure, show = _stage(film)
    args = ["-pix_fmt", "yuv420p"] if codec == "libx264" else []
    writer = FFMpegWriter(RATE, codec=codec, extra_args=args) if codec else PillowWriter(RATE)
    try:
        with writer.saving(figure, str(path), DPI):
            for i in range(len(film.times)):
                show(i)
                writer.grab_frame()
    except (OSError, subprocess.CalledProcessError) as error:
        raise FlexarmError(
            f"ffmpeg could not write the film ({codec or 'gif'}): {error}: try a .gif"
        ) from None


def _stage(film: Film) -> "tuple[Figure, Callable[[int], None]]":
    """Draw what stands still; the function draws the i-th picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=DPI)
    panel = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    panel.axis("off")
    (left, bottom), (right, top) = film.room
    panel.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    _draw_obstacles(film, panel)
    _write(film, figure, panel)
    moving = [_Arm(film, k, panel) for k in range(len(film.runs))]
    clock = figure.text(0.98, 0.96, "", ha="right", va="top")

    def show(i: int) -> None:
        for each in moving:
            each.go_to(i)
        clock.set_text(f"{film.times[i]:.3f} s")

    return figure, show


class _Arm:
    """One run in the picture."""

    def __init__(self, film: Film, run: int, panel: "Axes") -> None:
        self.film, self.run = film, run
        colour, model = COLOURS[run % len(COLOURS)], film.runs[run].model
        counts = [SECTIONS if part.flexible else 2 for part in model.links]
        ends = np.cumsum(counts)
        self.joints = np.array([0, *ends[:-1]])
        tip = film.lines[run][:, -1].T
        panel.plot(*tip, color=colour, lw=0.8, alpha=0.35)
        (self.gone,) = panel.plot([], [], color=colour, lw=1.5, alpha=0.8)
        (self.line,) = panel.plot([], [], color=colour, lw=4, solid_capstyle="round")
        (self.dots,) = panel.plot([], [], "o", color="0.35", ms=7)
        (self.held,) = panel.plot([], [], "o", color="#c88a2d", ms=11)
        (self.mark,) = panel.plot([], [], "o", color=colour, mec="white", ms=6)

    def go_to(self, i: int) -> None:
        """Draw the i-th picture."""
        points = self.film.lines[self.run][i]
        self.line.set_data(*points.T)
        self.dots.set_data(*points[self.joints].T)
        self.mark.set_data(*points[-1:].T)
        self.gone.set_data(*self.film.lines[self.run][: i + 1, -1].T)
        bodies = [each[i] for each in self.film.bodies[self.run]]
        self.held.set_data(*(np.transpose(bodies) if bodies else ([], [])))


def _write(film: Film, figure: "Figure", panel: "Axes") -> None:
    """Write what the picture is of, its scale, and by how much deformation is enlarged."""
    said = [drawable(film.runs[0].model.arm.name)]
    if film.seen.scale != 1:
        said.append(f"deformation drawn ×{film.seen.scale:g}")
    if abs(film.speed - 1) > 1e-3:
        said.append(f"{film.speed:.2g} times as fast as it is")
    figure.text(0.02, 0.96, "\n".join(said), ha="left", va="top")
    (left, bottom), (right, top) = film.room
    most = 0.2 * (right - left)
    power = 10 ** np.floor(np.log10(most))
    length = float(max(k * power for k in (1, 2, 5) if k * power <= most))
    x, y = left + 0.03 * (right - left), bottom + 0.05 * (top - bottom)
    panel.plot([x, x + length], [y, y], color="0.3", lw=2)
    said_length = f"{length:g} m" if length >= 1 else f"{1e3 * length:g} mm"
    panel.text(x, y + 0.015 * (top - bottom), said_length, va="bottom")
    if len(film.runs) > 1:
        handles: list[Artist] = [
            panel.plot([], [], color=COLOURS[k % len(COLOURS)], lw=4)[0]
            for k in range(len(film.runs))
        ]
        names = [drawable(label) for label in film.labels]
        panel.legend(handles, names, loc="lower right", frameon=False)


def _draw_obstacles(film: Film, panel: "Axes") -> None:
    """Draw spheres and boxes as they are seen, and planes that are seen from their edge."""
    from matplotlib.patches import Circle, Polygon

    axes = film.seen.axes
    look: dict[str, Any] = {"color": BEFORE, "alpha": 0.5, "zorder": 0}
    for each in [found for run in film.runs for found in obstacles(run.model)]:
        place = axes @ each["point"]
        if each["kind"] == "sphere":
            panel.add_patch(Circle(tuple(place), each["radius"], fill=not each["inside"], **look))
        elif each["kind"] == "box":
            panel.add_patch(Polygon(place + _corners(each) @ axes.T, **look))
        else:
            normal = axes @ each["normal"] / np.linalg.norm(each["normal"])
            if np.linalg.norm(normal) > 0.5:
                along = np.array([-normal[1], normal[0]])
                panel.axline(tuple(place), tuple(place + along), color=BEFORE)


def _corners(box: dict[str, Any]) -> Array:
    """Go around the faces of a box, from its centre [m]: they cover what is seen of it."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    tour = [0, 1, 3, 2, 6, 7, 5, 4, 0, 2, 6, 4, 5, 1, 3, 7]
    rotation = np.reshape(box["R"], (3, 3))
    return np.asarray((signs * np.array(box["size"]) / 2)[tour] @ rotation.T)
