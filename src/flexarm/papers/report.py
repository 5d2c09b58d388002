"""The report of a reproduction: Markdown, one HTML file with the figures, and data as CSV."""

import base64
import csv
import html
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.io.whole_file import require_writable, write_whole
from flexarm.papers.base import Claim, Figure, Result, Table

NAMES = {
    "korayem-2009": "Korayem & Shafei 2009",
    "graves-1989": "Graves 1989",
    "theodore-1995": "Theodore & Ghosal 1995",
    "chu": "Chu et al.",
    "chen-2012": "Chen, Zhang & Liu 2012",
}
DECIDED = ("says", "outcome", "because")
DENSE = 1500  # points of a curve from which on lines are thin
_STYLE = """body{font:16px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}
div{overflow-x:auto}table{border-collapse:collapse;margin:1em 0;font-size:.9em}
td,th{border:1px solid #bbb;padding:.2em .6em;text-align:left}img{max-width:100%}
.reproduced{color:#060}.differs{color:#a30}.not-reproducible{color:#555}"""
_ABOUT = (
    "Every table and figure of five papers, computed anew by flexarm. The papers' curves are not "
    "at hand as numbers: what a paper's text says of a figure is listed, and each statement is "
    "decided by a computation.",
    "*Reproduced*: every statement that can be decided holds, and one of them at least is a number "
    "or an inequality. *Differs*: one fails, and the reason is given. *Not reproducible*: what "
    "fails, or cannot be decided, depends on something that the paper does not say; a table "
    "'Missing' has the outcome over the range that it may have. *Difference* is the one number "
    "that tells most of an item; it says what it is of.",
)


def document(results: Sequence[Result]) -> dict[str, Any]:
    """Make the JSON document: every item with its verdict and why."""
    return {
        "items": [
            {
                "paper": result.item.paper,
                "item": result.item.name,
                "title": result.item.title,
                "verdict": result.verdict,
                "reason": result.reason,
                "difference": result.found.difference.value,
                "difference_of": result.found.difference.of,
                **{
                    kind: [dict(zip(DECIDED, row, strict=True)) for row in _decided(claims)]
                    for kind, claims in (("claims", result.found.claims),
                                         ("checks", result.found.checks))
                },
                "missing": [
                    {"datum": m.datum, "outcome": m.outcome, "values": list(m.values),
                     "outcomes": list(m.outcomes), "limit": m.limit, "matters": m.matters,
                     "decides": list(m.decides)}
                    for m in result.found.missing
                ],
                "seconds": round(result.seconds, 2),
            }
            for result in results
        ]
    }  # fmt: skip


def check_report(results: Path, *, force: bool) -> None:
    """Refuse a folder that already has a report, before anything is computed.

    Raises
    ------
    FlexarmError
        If there is one and `force` is false, or the folder cannot be written.
    """
    if results.exists():
        for name in ("report.md", "report.html"):
            require_writable(results / name, force=force)


def write_report(results: Sequence[Result], folder: Path, *, force: bool = False) -> None:
    """Write ``report.md``, ``report.html``, figures as PNG and data as CSV into a folder.

    Raises
    ------
    FlexarmError
        If files are there and `force` is false, or cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    check_report(folder, force=force)
    pictures: dict[str, bytes] = {}
    for result in results:
        for name, figure in _named(result):
            pictures[name] = draw(figure)
            write_whole(folder / f"{name}.png", pictures[name], force=force)
            write_whole(folder / f"{name}.csv", _curves(figure), force=force)
        for k, table in enumerate(_all_tables(result), 1):
            name = f"{_key(result)}-table-{k}.csv"
            write_whole(folder / name, _rows(table), force=force)
    write_whole(folder / "report.md", markdown(results).encode(), force=force)
    write_whole(folder / "report.html", page(results, pictures).encode(), force=force)


def draw(figure: Figure) -> bytes:
    """Draw a figure as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(8.0, 4.6), layout="constrained")
    FigureCanvasAgg(canvas)
    axes = canvas.add_subplot()
    dense = max((len(each.x) for each in figure.curves), default=0) > DENSE
    for k, each in enumerate(figure.curves):
        style = ("o", "s", "^")[k % 3] if each.points else ("-", "-", "--", ":")[k % 4]
        # the first is wide and pale and marks are hollow, so that what coincides is seen
        width = (0.6 if dense else 1.2) * (1 if k else 3)
        axes.plot(each.x, each.y, style, label=each.label, linewidth=width,
                  alpha=1.0 if k else 0.45, markersize=4.5, markerfacecolor="none")  # fmt: skip
    axes.set(title=figure.title, xlabel=figure.x_label, ylabel=figure.y_label)
    if figure.log:
        axes.set_yscale("log")
    if figure.log_x:
        axes.set_xscale("log")
    axes.grid(alpha=0.3)
    if len(figure.curves) > 1:
        canvas.legend(loc="outside lower center", ncols=2, fontsize="small")
    buffer = io.BytesIO()
    canvas.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def markdown(results: Sequence[Result]) -> str:
    """Write the report as Markdown."""
    parts = ["# The papers, reproduced", *_ABOUT, _aligned(_overview(results))]
    for result in results:
        parts += [
            f"## {NAMES[result.item.paper]}: {result.item.title}",
            f"**{result.verdict}** (`{_command(result)}`, {result.seconds:.1f} s): {result.reason}",
            f"*The paper:* {result.item.says}",
            f"*Difference:* {_difference(result)}",
            *(f"### {each.title}\n\n{_aligned(each)}" for each in _all_tables(result)),
            *(f"![{figure.title}]({name}.png)" for name, figure in _named(result)),
        ]
    return "\n\n".join(parts) + "\n"


def page(results: Sequence[Result], pictures: dict[str, bytes]) -> str:
    """Write the report as one HTML file, pictures inside."""
    about = [re.sub(r"\*([^*]+)\*", r"<i>\1</i>", f"<p>{_e(each)}</p>") for each in _ABOUT]
    parts = ["<h1>The papers, reproduced</h1>", *about, _html_overview(results)]
    for result in results:
        name, kind = NAMES[result.item.paper], result.verdict
        parts += [
            f'<h2 id="{_key(result)}">{_e(name)}: {_e(result.item.title)}</h2>',
            f'<p><b class="{kind}">{kind}</b>: {_e(result.reason)}</p>',
            f"<p><i>The paper:</i> {_e(result.item.says)}</p>",
            f"<p><i>Difference:</i> {_e(_difference(result))}</p>",
            f"<p><code>{_e(_command(result))}</code>, {result.seconds:.1f} s</p>",
        ]
        for table in _all_tables(result):
            cells = [[_e(cell) for cell in row] for row in table.rows]
            parts += [f"<h4>{_e(table.title)}</h4>", _html_rows(table.head, cells)]
        for key, figure in _named(result):
            data = base64.b64encode(pictures[key]).decode()
            parts.append(f'<img alt="{_e(figure.title)}" src="data:image/png;base64,{data}">')
    head = (
        "<meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>The papers, reproduced</title><style>{_STYLE}</style>"
    )
    return f"<!doctype html>\n<html lang=en>{head}\n" + "\n".join(parts) + "\n</html>\n"


def _key(result: Result) -> str:
    return f"{result.item.paper}-{result.item.name}"


def _command(result: Result) -> str:
    return f"flexarm reproduce {result.item.paper} --item {result.item.name}"


def _html_overview(results: Sequence[Result]) -> str:
    """Write the overview with a link to every item, its verdict coloured."""
    table = _overview(results)
    rows = tuple(
        (
            _e(paper),
            f'<a href="#{_key(result)}">{_e(name)}</a>',
            _e(title),
            f'<span class="{kind}">{kind}</span>',
            _e(difference),
        )
        for result, (paper, name, title, kind, difference) in zip(results, table.rows, strict=True)
    )
    return _html_rows(table.head, rows)


def _overview(results: Sequence[Result]) -> Table:
    rows = tuple(
        (NAMES[r.item.paper], r.item.name, r.item.title, r.verdict, _difference(r)) for r in results
    )
    return Table("Items", ("paper", "item", "what", "verdict", "difference"), rows)


def _difference(result: Result) -> str:
    found = result.found.difference
    return found.of if found.value is None else f"{found.value:.3g}: {found.of}"


def _all_tables(result: Result) -> Iterator[Table]:
    yield from result.found.tables
    head = ("statement", "outcome", "because")
    yield Table("What the paper says", head, _decided(result.found.claims))
    if result.found.checks:
        checks = _decided(result.found.checks)
        yield Table("What it does not say, and we looked at", head, checks)
    for each in result.found.missing:
        rows = tuple(
            (f"{value:g}" if isinstance(value, float | int) else value, f"{outcome:.4g}")
            for value, outcome in zip(each.values, each.outcomes, strict=True)
        )
        yield Table(f"Missing: {each.datum}", (each.datum, each.outcome), rows)


def _decided(claims: Sequence[Claim]) -> tuple[tuple[str, ...], ...]:
    return tuple((each.says, each.outcome, each.because) for each in claims)


def _named(result: Result) -> Iterator[tuple[str, Figure]]:
    for k, figure in enumerate(result.found.figures, 1):
        yield f"{_key(result)}-{k}", figure


def _aligned(table: Table) -> str:
    lines = [[cell.replace("|", "\\|") for cell in row] for row in (table.head, *table.rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(table.head))]
    padded = [[c.ljust(w) for c, w in zip(line, widths, strict=True)] for line in lines]
    padded.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(line)} |" for line in padded)


def _html_rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first = "".join(f"<th>{_e(cell)}</th>" for cell in head)
    rest = "\n".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    return f"<div><table><tr>{first}</tr>\n{rest}</table></div>"


def _e(text: str) -> str:
    return html.escape(text)


def _rows(table: Table) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([table.head, *table.rows])
    return buffer.getvalue().encode()


def _curves(figure: Figure) -> bytes:
    """Write curves as a table: over one x where they share it, each with its own x elsewhere."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["curve", figure.x_label, figure.y_label])
    for each in figure.curves:
        for x, y in np.stack([each.x, each.y], axis=1).tolist():
            writer.writerow([each.label, f"{x:.9g}", f"{y:.9g}"])
    return buffer.getvalue().encode()
