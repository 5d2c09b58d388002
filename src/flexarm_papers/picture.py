"""Figures of the report: as PNG files, and as SVG that takes the colours of its page."""

import io
import re

import numpy as np

from flexarm_papers.base import Figure

DENSE = 1500  # points of a curve from which on lines are thin
# The viewer's colours for curves on a light page; a dark page has others under the same names.
CURVES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#22262b")
INK, LINE = "#16202b", "#e3e7ec"


def draw(figure: Figure, form: str = "png", *, key: str = "") -> bytes:
    """Draw a figure as png or svg.

    Parameters
    ----------
    figure
        The figure.
    form
        What to write it as.
    key
        Makes the names inside an svg its own, so that many may stand on one page.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas
    from matplotlib.ticker import MaxNLocator

    settings = {"svg.fonttype": "none", "svg.hashsalt": key, "text.color": INK,
                "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK,
                "ytick.color": INK, "grid.color": LINE, "font.size": 9.0}  # fmt: skip
    with mpl.rc_context(settings):  # type: ignore[arg-type]
        canvas = Canvas(figsize=(7.4, 3.6), layout="constrained")
        FigureCanvasAgg(canvas)
        axes = canvas.add_subplot()
        dense = max((len(each.x) for each in figure.curves), default=0) > DENSE
        for k, each in enumerate(figure.curves):
            style = ("o", "s", "^")[k % 3] if each.points else ("-", "--", ":", "-.")[k % 4]
            axes.plot(each.x, each.y, style, label=each.label, color=CURVES[k % len(CURVES)],
                      linewidth=0.7 if dense else 1.4, markersize=4.5,
                      markerfacecolor="none")  # fmt: skip
        axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
        if figure.log:
            axes.set_yscale("log")
        if not figure.log:
            axes.ticklabel_format(axis="y", useOffset=False)
        counted = all(np.all(each.x == np.round(each.x)) for each in figure.curves)
        if counted:  # numbers of modes, links, elements
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.margins(x=0.05 if any(each.points for each in figure.curves) else 0.01)
        axes.grid(linewidth=0.7)
        axes.set_axisbelow(True)
        if len(figure.curves) > 1:
            canvas.legend(loc="outside lower center", ncols=2, fontsize="small", frameon=False)
        buffer = io.BytesIO()
        more = {"metadata": {"Date": None}} if form == "svg" else {"dpi": 120}
        canvas.savefig(buffer, format=form, transparent=form == "svg", **more)
    return buffer.getvalue()


def inline(figure: Figure, key: str) -> str:
    """Draw a figure as SVG to stand in a page, its colours those of the page."""
    text = draw(figure, "svg", key=key).decode()
    text = text[text.index("<svg") :]
    names = {INK: "--ink", LINE: "--line"} | {c: f"--curve{k}" for k, c in enumerate(CURVES)}
    for colour, name in names.items():
        text = text.replace(colour, f"var({name})")
    return re.sub(r"<svg [^>]*viewBox=", '<svg role="img" viewBox=', text, count=1)
