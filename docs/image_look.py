"""The look that all figures of the documentation share."""

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS = ("#0b6e99", "#d1495b", "#66a182", "#edae49", "#5f4b8b")


def tidy(axes: Iterable[Axes]) -> None:
    """Give panels the look that all figures share."""
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(color="0.92")
        panel.set_axisbelow(True)


def single(title: str) -> tuple[Figure, Axes]:
    """Make a figure of one panel."""
    figure = Figure(figsize=(6.5, 3.6), layout="constrained")
    panel = figure.subplots()
    panel.set_title(title, fontsize=10)
    tidy([panel])
    return figure, panel
