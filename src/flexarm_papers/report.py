"""Report of a reproduction: one HTML page per paper, figures, and tables as CSV."""

import csv
import html
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flexarm.io.whole_file import require_writable, write_whole
from flexarm_papers.base import Figure, Result, Table
from flexarm_papers.picture import draw, inline
from flexarm_papers.verdicts import Statement, Verdict

NAMES = {
    "korayem-2009": "Korayem & Shafei 2009",
    "graves-1989": "Graves 1989",
    "theodore-1995": "Theodore & Ghosal 1995",
    "chu": "Chu et al.",
    "chen-2012": "Chen, Zhang & Liu 2012",
}
MOST_WORDS = 3000  # of a page, folded tables left out
MOST_ROWS = 60  # of a folded table; all are in its CSV
LINES = 10  # of a summary
LISTED = {
    Verdict.REFUTED: "Not reproduced",
    Verdict.DEPENDS: "Depends on what the paper leaves open",
    Verdict.CORRECTED: "Reproduced after correcting a misprint",
    Verdict.REPRODUCED: "Reproduced",
    Verdict.UNTESTED: "Cannot be tested",
}
MARKS = {verdict: verdict.name.lower() for verdict in Verdict}


def statements(results: Sequence[Result]) -> list[Statement]:
    """Return all statements of results."""
    return [each for result in results for each in result.found.statements]


def totals(results: Sequence[Result]) -> dict[Verdict, int]:
    """Return the number of statements by verdict."""
    found = [each.verdict for each in statements(results)]
    return {verdict: found.count(verdict) for verdict in Verdict}


def by_paper(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return results by paper."""
    papers = dict.fromkeys(result.item.paper for result in results)
    return {paper: [x for x in results if x.item.paper == paper] for paper in papers}


def headlines(results: Sequence[Result]) -> list[str]:
    """Return the findings of one paper and the numbers of its statements by verdict."""
    counted = {verdict: n for verdict, n in totals(results).items() if n}
    numbers = ", ".join(f"{n} {verdict.value}" for verdict, n in counted.items())
    return [*(result.found.finding for result in results if result.found.finding),
            f"{sum(counted.values())} statements: {numbers}."]  # fmt: skip


def summary(results: Sequence[Result]) -> list[str]:
    """Return the summary of one paper, at most ten lines: headlines, and lists by verdict."""
    lines = headlines(results)
    for verdict, head in LISTED.items():
        named = dict.fromkeys(x.says for x in statements(results) if x.verdict is verdict)
        if verdict not in (Verdict.REFUTED, Verdict.CORRECTED):  # by item: they are many
            by_item = [(x.item.title, totals([x])[verdict]) for x in results]
            named = dict.fromkeys(f"{title} ({n})" for title, n in by_item if n)
        if named:
            lines.append(f"{head}: {'; '.join(named)}.")
    return lines[:LINES]


def markdown(results: Sequence[Result], figures: str, folder: Path) -> str:
    """Return the findings of a paper for its page of the docs, and write the first figures.

    Parameters
    ----------
    results
        Results of all items of the paper.
    figures
        Folder of the figures, relative to the page.
    folder
        The same folder on disk.
    """
    lines = [*headlines(results), "Shares count readings or cases that hold."]
    parts = ["## Findings", "\n".join(f"- {line}" for line in lines)]
    for result in results:
        parts.append(f"### {result.item.title}")
        for name, figure in list(result.figures())[:1]:
            write_whole(folder / f"{name}.png", draw(figure), force=True)
            parts.append(f"![{figure.title}]({figures}/{name}.png)")
        parts += [result.found.text] if result.found.text else []
        parts += ["\n".join(map(_listed, result.found.statements)), f"`{command(result)}`"]
    return "\n\n".join(parts) + "\n"


def _listed(statement: Statement) -> str:
    found = f" ({statement.kind.number}: {statement.ours})" if statement.ours else ""  # type: ignore[union-attr]
    text = f"- **{statement.short}**: {statement.says}{found}"
    return text.replace("_", "\\_")


def document(results: Sequence[Result]) -> dict[str, Any]:
    """Return the JSON document: every statement with its verdict and trials."""
    return {
        "totals": {paper: {x.value: n for x, n in totals(own).items()}
                   for paper, own in by_paper(results).items()},
        "items": [
            {"paper": x.item.paper, "item": x.item.name, "title": x.item.title,
             "statements": [_described(each) for each in x.found.statements],
             "text": x.found.text, "seconds": round(x.seconds, 3)}
            for x in results
        ],
    }  # fmt: skip


def _described(statement: Statement) -> dict[str, Any]:
    kind, (held, tried) = statement.kind, statement.share
    return {
        "says": statement.says, "at": statement.at, "verdict": statement.verdict.value,
        "sentence": statement.sentence, "printed": statement.printed, "ours": statement.ours,
        "kind": kind.name if kind else "", "measure": kind.number if kind else "",
        "needed": str(kind.limit) if kind else "", "holds_in": held, "tried": tried,
        "trials": [{"reading": dict(x.reading.taken), "value": _finite(x.value),
                    "holds": statement.holds(x), "beside": {k: _finite(y) for k, y in x.beside}}
                   for x in statement.trials],
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def command(result: Result) -> str:
    """Return the command that computes an item."""
    return f"flexarm reproduce {result.item.paper} --item {result.item.name}"


def check_report(papers: Sequence[str], folder: Path, *, force: bool = False) -> None:
    """Raise FlexarmError if a page exists and `force` is false, or cannot be written."""
    for paper in papers if folder.exists() else ():
        require_writable(folder / f"{paper}.html", force=force)


def write_report(results: Sequence[Result], folder: Path, *, force: bool = False) -> list[Path]:
    """Write one page per paper, a PNG and a CSV per figure, a CSV per table; return the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = []
    for paper, own in by_paper(results).items():
        for result in own:
            for name, figure in result.figures():
                write_whole(folder / f"{name}.png", draw(figure), force=force)
                write_whole(folder / f"{name}.csv", _curves(figure), force=force)
            for name, table in result.tables():
                write_whole(folder / f"{name}.csv", _rows(table), force=force)
        pages.append(folder / f"{paper}.html")
        write_whole(pages[-1], page(own).encode(), force=force)
    return pages


def page(results: Sequence[Result]) -> str:
    """Return the page of one paper, figures inside, in the reader's light or dark colours."""
    title = NAMES[results[0].item.paper]
    parts = [f"<h1>{_e(title)}, computed again</h1>",
             "<ul>", *(f"<li>{_e(line)}</li>" for line in summary(results)), "</ul>"]  # fmt: skip
    for result in results:
        parts += _section(result)
    style = (Path(__file__).parent / "report.css").read_text("utf-8")
    head = (
        "<meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{_e(title)}</title><style>{style}</style>"
    )
    return f"<!doctype html>\n<html lang=en>{head}\n" + "\n".join(parts) + "\n</html>\n"


def words(text: str) -> int:
    """Return the number of words that a page shows without folded tables and pictures."""
    body = text.partition("</style>")[2]
    for tag in ("details", "svg"):
        body = re.sub(f"<{tag}.*?</{tag}>", " ", body, flags=re.DOTALL)
    return len(re.sub("<[^>]*>", " ", body).split())


def _section(result: Result) -> list[str]:
    """Return the section of an item: figures, text, verdicts, command, folded tables."""
    parts = [f'<h2 id="{result.key}">{_e(result.item.title)}</h2>']
    for name, figure in result.figures():
        caption = f"<details><summary>reading</summary>{_e(figure.reading)}</details>"
        parts.append(_card(f"<figure>{inline(figure, name)}{caption if figure.reading else ''}"
                           "</figure>"))  # fmt: skip
    if result.found.text:
        parts.append(f"<p>{_e(result.found.text)}</p>")
    for each in result.found.statements:
        printed = f" The paper prints {_e(each.printed)}." if each.printed else ""
        parts.append(
            f'<p><q>{_e(each.says)}</q> <span class="soft">[{_e(each.at)}]</span>{printed} '
            f'<span class="{MARKS[each.verdict]}">{_e(each.sentence)}</span></p>'
        )
    parts.append(f'<p class="soft"><code>{_e(command(result))}</code>, {result.seconds:.1f} s</p>')
    for name, table in result.tables():
        short = Table(table.title, table.head, table.rows[:MOST_ROWS])
        parts.append(_card(f"<details><summary>{_e(table.title)} (<a href='{name}.csv'>CSV</a>)"
                           f"</summary>{_html(short)}</details>"))  # fmt: skip
    return parts


def lined(table: Table) -> str:
    """Return a table as Markdown."""
    rows = [[cell.replace("|", "\\|") for cell in row] for row in (table.head, *table.rows)]
    rows.insert(1, ["--"] * len(table.head))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _html(table: Table) -> str:
    first = "".join(f"<th>{_e(cell)}</th>" for cell in table.head)
    rest = "\n".join("<tr>" + "".join(f"<td>{_e(c)}</td>" for c in row) + "</tr>"
                     for row in table.rows)  # fmt: skip
    return f"<table><tr>{first}</tr>\n{rest}</table>"


def _card(inside: str) -> str:
    return f'<div class="card">{inside}</div>'


def _e(text: str) -> str:
    return html.escape(text)


def _rows(table: Table) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([table.head, *table.rows])
    return buffer.getvalue().encode()


def _curves(figure: Figure) -> bytes:
    """Return curves as rows of a table: name, x, y."""
    rows = [(each.label, f"{x:.9g}", f"{y:.9g}") for each in figure.curves
            for x, y in zip(each.x.tolist(), each.y.tolist(), strict=True)]  # fmt: skip
    return _rows(Table("", ("curve", figure.x_label, figure.y_label), tuple(rows)))
