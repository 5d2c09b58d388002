"""Style of figures: colours and line styles of curves, legends, and display of users' texts."""

from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np

from flexarm.constants import LEGEND_GAP, LEGEND_WIDTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Colours of Okabe and Ito for colour-blind readers, with yellow and black replaced.
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#22262b",
)  # fmt: skip


class CurveStyle(TypedDict):
    """Colour and line style of a curve, with Matplotlib's argument names."""

    color: str
    linestyle: str | tuple[int, tuple[int, ...]]


def panels(
    size: tuple[float, float],
    rows: int = 1,
    columns: int = 1,
    *,
    shared: Literal["", "x", "both"] = "",
) -> tuple["Figure", Any]:
    """Return a figure of given size [inches], and its panels as an array (rows, columns)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex="col" if shared else "none",
                           sharey="row" if shared == "both" else "none")  # fmt: skip
    for panel in axes.ravel():
        panel.spines[["top", "right"]].set_visible(False)
    return figure, axes


def curve_look(k: int, *, dashed: bool = False) -> CurveStyle:
    """Return colour and line style of the k-th curve of a panel; no two are alike.

    After all colours are used, lines get one more dot between their dashes each time. ``dashed``
    marks a second kind of curve in a panel.
    """
    dots = k // len(COLOURS)
    style = (0, (4 if dashed else 8, 2) + dots * (1, 2))
    return {
        "color": COLOURS[k % len(COLOURS)],
        "linestyle": style if dots else "--" if dashed else "-",
    }


def drawable(text: str) -> str:
    """Return a user's text for a figure: never a formula, with squares for missing characters."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties()))
    shown = (c if font.get_char_index(ord(c)) else "\N{WHITE SQUARE}" for c in text)
    return "".join(shown).replace("$", r"\$")


def legend_below(panel: "Axes", lines: "Sequence[Line2D]") -> None:
    """List curves in a legend under a panel, where the legend covers no curve."""
    from matplotlib.transforms import ScaledTranslation

    lines = [line for line in lines if np.isfinite(np.asarray(line.get_ydata())).sum() > 1]
    if not lines:
        return
    labels = [drawable(str(line.get_label())) for line in lines]
    figure = panel.get_figure(root=True)
    assert figure is not None
    panel.legend(
        lines, labels, fontsize="small", frameon=False, loc="upper center",
        ncols=max(1, min(len(labels), LEGEND_WIDTH // (max(map(len, labels)) + 6))),
        bbox_to_anchor=(0.5, 0.0), borderaxespad=0.0,
        bbox_transform=panel.transAxes + ScaledTranslation(0, -LEGEND_GAP, figure.dpi_scale_trans),
    )  # fmt: skip
