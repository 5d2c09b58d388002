"""Reports of a fit: text, tables and figures."""

import base64
import io
import math
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flexarm.figures import COLOURS, drawable, panels
from flexarm.fitting.fit import Fit
from flexarm.fitting.problem import MeasuredRun
from flexarm.fitting.responses import unstacked
from flexarm.io.whole_file import write_whole
from flexarm.links.base import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure


def estimate_rows(fit: Fit) -> list[tuple[str, ...]]:
    """Return the rows of the table of fitted numbers."""
    return [
        (e.name, f"{e.before:.5g}", e.fitted, e.interval,
         "at its bound" if e.at_bound else "")
        for e in fit.estimates
    ]  # fmt: skip


def residual_rows(fit: Fit) -> list[tuple[str, ...]]:
    """Return the rows of the table of residuals."""
    return [
        (each.run, each.sensor, f"{each.error:.3g}", f"{each.rms:.3g}",
         "noise" if each.white else "correlated in time",
         f"{each.from_inputs:.2g}")
        for each in fit.residuals
    ]  # fmt: skip


NOTED = 0.2  # shift by the runs' steps in standard errors from which on it is reported
ESTIMATES = ("number", "before", "fitted", "95 % interval", "")
RESIDUALS = ("run", "sensor", "rms over std", "rms [SI]", "what is left", "from inputs (chance 1)")


def judgement(fit: Fit) -> list[str]:
    """Return sentences on how reliable the fit is."""
    said = [f"The search {'arrived' if fit.converged else 'did NOT arrive'}: {fit.message}"]
    if not fit.converged:
        said.append(
            "Let it go on (most_evaluations, --most) from these numbers, begin with short pieces "
            "(horizon, --horizon), or fit fewer numbers: first those that the data tell best."
        )
    without = [each.name for each in fit.estimates if math.isinf(each.error)]
    if without:
        said.append(f"Without an effect on the readings: {', '.join(without)}. Leave it out.")
    if fit.unclear:
        said.append("The data do not tell: " + "; ".join(fit.unclear) + ".")
    else:
        worst = fit.combinations[0].words()
        said.append(f"The data tell all numbers apart; worst: {worst}.")
    if fit.correlated:
        said.append(
            "What is left is correlated in time: the model does not explain all of it. Intervals "
            "count that correlation, but not that the model may be wrong."
        )
    moved = [(each.by_steps / each.error, each.name) for each in fit.estimates if each.error > 0]
    if moved and max(moved)[0] > NOTED:
        said.append(
            f"The steps of the runs may move {max(moved)[1]} by {max(moved)[0]:.2g} standard "
            "errors. Intervals count that. Give a smaller step (step, --step)."
        )
    bound = [each.name for each in fit.estimates if each.at_bound]
    if bound:
        said.append(f"At a bound, so without a proper interval: {', '.join(bound)}.")
    return said


def text(fit: Fit) -> str:
    """Write a fit as text."""
    count = len(fit.problem.runs)
    lines = [f"{fit.arm.name}: fitted to {count} measured run{'s' * (count > 1)}", ""]
    lines += _columns(ESTIMATES, estimate_rows(fit))
    lines += ["", *_columns(RESIDUALS, residual_rows(fit)), "", *judgement(fit)]
    return "\n".join(lines)


def _columns(head: "Sequence[str]", rows: "list[tuple[str, ...]]") -> list[str]:
    table = [tuple(head), *rows]
    widths = [max(len(row[k]) for row in table) for k in range(len(head))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def draw(fit: Fit) -> "Figure":
    """Draw measured and fitted readings of every sensor, and the residuals, by run."""
    names, runs = list(fit.problem.sensors), fit.problem.runs
    size = (5.5 * len(runs) + 1, 2.2 * len(names) + 1)
    figure, axes = panels(size, len(names), len(runs), shared=True)
    for r, (run, model) in enumerate(zip(runs, fit.readings(), strict=True)):
        t = run.recording.t
        if run.recording.is_response:
            _draw_response(axes[:, r], fit, run, model)
            continue
        axes[0, r].set_title(drawable(Path(run.recording.name).name))
        axes[-1, r].set_xlabel("time [s]")
        for s, name in enumerate(names):
            axis = axes[s, r]
            axis.plot(t, run.outputs[:, s], color=COLOURS[7], linewidth=1.0, label="measured")
            axis.plot(t, model[:, s], color=COLOURS[1], linewidth=1.0, label="model")
            left = run.outputs[:, s] - model[:, s]
            axis.plot(t, left, color=COLOURS[0], linewidth=0.7, label="left over")
            axis.set_ylabel(drawable(name))
            axis.grid(visible=True, alpha=0.3)
    axes[0, 0].legend(loc="upper right", fontsize="small")
    return figure


def _draw_response(axes: Any, fit: Fit, run: MeasuredRun, model: Array) -> None:
    """Draw magnitudes over frequency by input: measured ones as points, computed as lines."""
    axes[0].set_title(drawable(Path(run.recording.name).name))
    axes[-1].set_xlabel("frequency [Hz]")
    measured, found, counts = (
        unstacked(each, len(run.columns)) for each in (run.outputs, model, run.counts)
    )
    for s, name in enumerate(fit.problem.sensors):
        for k, joint in enumerate(run.columns):
            if counts[k, :, s].any():
                colour, t = COLOURS[k % len(COLOURS)], run.recording.t
                axes[s].loglog(t, abs(measured[k, :, s]), ".", color=colour, label=f"from {joint}")
                axes[s].loglog(t, abs(found[k, :, s]), color=colour, linewidth=1.0)
        axes[s].set_ylabel(drawable(name))
        axes[s].grid(visible=True, alpha=0.3)
    axes[0].legend(loc="upper right", fontsize="small")


def write_report(fit: Fit, path: str | Path, *, force: bool = False) -> None:
    """Write an HTML page with tables and a figure, whole or not at all."""
    picture = io.BytesIO()
    draw(fit).savefig(picture, format="png", dpi=110)
    image = base64.b64encode(picture.getvalue()).decode("ascii")
    title = f"{fit.arm.name}: fitted to measured runs"
    said = "".join(f"<p>{escape(each)}</p>" for each in judgement(fit))
    known = [(each.words(),) for each in fit.combinations]
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        "<style>body{font-family:sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
        "td,th{padding:.2em .8em;text-align:left;border-bottom:1px solid #ccc}"
        "img{max-width:100%}</style>"
        f"<h1>{escape(title)}</h1>{said}<h2>Numbers</h2>{_table(ESTIMATES, estimate_rows(fit))}"
        f"<h2>What is left</h2>{_table(RESIDUALS, residual_rows(fit))}"
        f'<p><img alt="measured and fitted readings" src="data:image/png;base64,{image}"></p>'
        f"<h2>What the data know, worst first</h2>{_table(('combination',), known)}</html>\n"
    )
    write_whole(path, page.encode("utf-8"), force=force)


def _table(head: "Sequence[str]", rows: "Sequence[Sequence[str]]") -> str:
    def line(tag: str, cells: "Sequence[str]") -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line('th', head)}{''.join(line('td', row) for row in rows)}</table>"
