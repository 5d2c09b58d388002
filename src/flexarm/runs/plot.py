"""Figures of a run."""

from textwrap import fill
from typing import TYPE_CHECKING, TypedDict

import casadi as ca
import numpy as np
import numpy.typing as npt

from flexarm.links.base import Array
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.deformed import along, flexible_links
from flexarm.mechanics.kinematics import end_frame, frames
from flexarm.model import LinkModel, Model
from flexarm.runs.between import fill_in
from flexarm.runs.data import RunData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

NOTE = 120  # characters of a line under all panels
ROW = 56  # characters that a line of a legend has room for
BELOW = 0.45  # [in] from a panel to its legend: the room of the numbers and the label of the axis
FLAT = 1e-3  # of the largest deflection: curves below that cannot be seen, and are left out
INSTANTS = 9  # at which the arm is drawn
# Those of Okabe and Ito, which the colour-blind tell apart too, with two for yellow and black.
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#22262b",
)  # fmt: skip
# Of curves beyond the colours: dashes are for another kind of curve in the same panel.
STYLES = ("-", ":", "-.", (0, (6, 2)), (0, (1, 3)), (0, (6, 2, 1, 2, 1, 2)))
DASHED = ("--", (0, (4, 2, 1, 2)), (0, (2, 2)), (0, (6, 4)), (0, (4, 2, 1, 2, 1, 2)), (0, (2, 5)))


class Look(TypedDict):
    """How a curve is drawn."""

    color: str
    linestyle: str | tuple[int, tuple[int, ...]]


def plot_run(run: RunData) -> "Figure":
    """Draw joints, tip deflections, the arm in motion and the energy balance of a run."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 8), layout="constrained")
    axes = figure.subplots(2, 2)
    ended = "" if run.status == "finished" else f" ({run.status} at t = {run.t[-1]:.4g} s)"
    figure.suptitle(drawable(run.model.arm.name) + ended, parse_math=False)
    if run.missed:
        figure.supxlabel(fill(drawable(run.missed), NOTE), fontsize="small", color=COLOURS[1],
                         parse_math=False)  # fmt: skip
    smooth = fill_in(run)
    _joints(smooth, axes[0, 0])
    _deflections(smooth, axes[1, 0])
    _snapshots(smooth, axes[0, 1])
    _energy(run, axes[1, 1])
    for panel in (axes[0, 0], axes[1, 0], axes[1, 1]):
        for t in sorted({each.t for each in run.happenings}):
            panel.axvline(t, color="0.6", linewidth=0.8, linestyle=":", zorder=0)
    for panel in axes.ravel():
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(color="0.92")
        panel.set_axisbelow(True)
    return figure


def curve_look(k: int, *, dashed: bool = False) -> Look:
    """Choose colour and line style of the k-th curve of a panel: no two are alike up to 48."""
    styles = DASHED if dashed else STYLES
    return {
        "color": COLOURS[k % len(COLOURS)],
        "linestyle": styles[k // len(COLOURS) % len(styles)],
    }


def drawable(text: str) -> str:
    """Put an empty square for every character of a user's text that the font of figures lacks."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties()))
    return "".join(c if font.get_char_index(ord(c)) else "\N{WHITE SQUARE}" for c in text)


def legend_below(panel: "Axes", lines: "Sequence[Line2D]") -> None:
    """List lines under a panel, where the list covers none of them."""
    from matplotlib.transforms import ScaledTranslation

    lines = [line for line in lines if np.isfinite(np.asarray(line.get_ydata())).sum() > 1]
    if not lines:
        return
    labels = [drawable(str(line.get_label())) for line in lines]
    figure = panel.get_figure(root=True)
    assert figure is not None
    shown = panel.legend(
        lines, labels, fontsize="small", frameon=False, loc="upper center",
        ncols=max(1, min(len(labels), ROW // (max(map(len, labels)) + 6))),
        bbox_to_anchor=(0.5, 0.0), borderaxespad=0.0,
        bbox_transform=panel.transAxes + ScaledTranslation(0, -BELOW, figure.dpi_scale_trans),
    )  # fmt: skip
    for text in shown.get_texts():
        text.set_parse_math(False)  # names are the user's


def arm_outline(run: RunData, samples: npt.NDArray[np.int_], points: int = 25) -> Array:
    """Trace the deformed axis of all links at samples, in the world [m], (samples, points, 3)."""
    return outline(run.model, run.q[samples], run.anchors[samples], points)


def outline(model: Model, states: Array, anchors: Array, points: int) -> Array:
    """Trace the deformed axis of all links at coordinates (T, n), (T, points, 3) [m]."""
    q, anchor = ca.SX.sym("q", model.size), ca.SX.sym("anchor", *model.start_anchors.shape)
    model = model.anchored(anchor) if model.attitudes else model
    rows = []
    for part, frame in zip(model.links, frames(model, q), strict=True):
        body = body_of(model, part)
        for x in np.linspace(0.0, 1.0, points if part.flexible else 2):
            local = body.at_fraction(q, float(x))
            rows.append((frame.p_WL + frame.R_WL @ local.position).T)
    rows.append(end_frame(model, q)[1].T)
    trace = ca.Function("outline", [q, anchor], [ca.vertcat(*rows)])
    return np.array([np.array(trace(*pair)) for pair in zip(states, anchors, strict=True)])


def tip_deflection(run: RunData, part: LinkModel) -> Array:
    """Give the tip's displacement from the undeformed link in its root frame [m], (T, 3)."""
    if not part.flexible:
        return np.zeros((len(run.t), 3))
    return along(run.model, part, run.q, np.array([1.0])).deflection[:, 0]


def _joints(run: RunData, panel: "Axes") -> None:
    """Draw joints over time: those that turn in degrees, those that slide in metres."""
    panel.set(title="joints", xlabel="time [s]")
    moving = run.model.drawn_axes
    turning = [axis for axis in moving if axis.turns]
    panel.set_ylabel("[deg]" if turning else "[m]")
    other = panel.twinx() if 0 < len(turning) < len(moving) else panel
    if other is not panel:
        other.set_ylabel("[m], dashed")
        other.spines["top"].set_visible(False)
    lines = []
    for k, axis in enumerate(moving):
        values = run.q[:, axis.index]
        look = curve_look(k, dashed=not axis.turns and other is not panel)
        if axis.turns:
            lines += panel.plot(run.t, np.degrees(values), label=axis.name, **look)
        else:
            lines += other.plot(run.t, values, label=axis.name, **look)
    legend_below(panel, lines)


def _deflections(run: RunData, panel: "Axes") -> None:
    """Draw where the tips of flexible links are from where they were if straight."""
    moved = {part.name: tip_deflection(run, part) for part in flexible_links(run.model)}
    largest = max((float(np.abs(each).max()) for each in moved.values()), default=0.0)
    factor, unit = next(
        ((f, u) for f, u in ((1.0, "m"), (1e3, "mm"), (1e6, "µm")) if f * largest >= 0.5),
        (1e6, "µm"),
    )
    for k, (name, each) in enumerate(moved.items()):
        for axis, letter in ((1, "y"), (2, "z")):
            if np.abs(each[:, axis]).max() > FLAT * largest:
                look = curve_look(k, dashed=letter == "z")
                panel.plot(run.t, factor * each[:, axis], label=f"{name} {letter}", **look)
    title = "tip deflection of each link" if moved else "no link is flexible"
    panel.set(title=title, xlabel="time [s]", ylabel=f"[{unit}]")
    legend_below(panel, panel.lines)


def _snapshots(run: RunData, panel: "Axes") -> None:
    """Draw the arm at a few instants in the plane in which its tip moves most."""
    lines = arm_outline(
        run, np.unique(np.linspace(0, len(run.t) - 1, INSTANTS).round().astype(int))
    )
    spread = np.ptp(lines.reshape(-1, 3), axis=0)
    first, second = sorted(np.argsort(spread)[-2:])
    for i, line in enumerate(lines):
        shade = 0.15 + 0.85 * (i + 1) / len(lines)
        panel.plot(line[:, first], line[:, second], color=COLOURS[0], alpha=shade, lw=2)
    panel.lines[-1].set_label("arm, last darkest")
    panel.plot(run.tip[:, first], run.tip[:, second], color=COLOURS[1], lw=1, label="path of tip")
    names = "xyz"
    panel.set(
        title=f"the arm at {len(lines)} instants",
        xlabel=f"{names[first]} [m]",
        ylabel=f"{names[second]} [m]",
    )
    panel.set_aspect("equal", adjustable="datalim")
    legend_below(panel, panel.lines[-2:])


def _energy(run: RunData, panel: "Axes") -> None:
    for k, name in enumerate(("kinetic", "elastic", "gravitational")):
        values = run.energy[:, k] - (run.energy[0, k] if k == 2 else 0.0)
        if np.any(values):
            panel.plot(run.t, values, color=COLOURS[k], label=name)
    if np.any(run.work):
        panel.plot(run.t, run.work, "--", color=COLOURS[3], label="put in less lost")
    panel.plot(run.t, run.balance, color="0.2", lw=1, label="error of the balance")
    panel.set(
        title=f"energy (balance closed to {run.energy_balance:.0e})",
        xlabel="time [s]",
        ylabel="[J]",
    )
    legend_below(panel, panel.lines)
