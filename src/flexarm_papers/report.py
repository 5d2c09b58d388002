"""The report of a reproduction: Markdown, one HTML page with the figures, and data as CSV."""

import csv
import html
import io
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.io.whole_file import require_writable, write_whole
from flexarm_papers.base import Figure, Result, Table, totals
from flexarm_papers.picture import draw, inline
from flexarm_papers.statements import NEVER, VERDICTS, Statement

NAMES = {
    "korayem-2009": "Korayem & Shafei 2009",
    "graves-1989": "Graves 1989",
    "theodore-1995": "Theodore & Ghosal 1995",
    "chu": "Chu et al.",
    "chen-2012": "Chen, Zhang & Liu 2012",
}
# Figures and tables of which the text says nothing that could be decided.
WITHOUT = {
    "korayem-2009": "Figs. 1-3 (frames, deflections, the start), Table 3 (data)",
    "graves-1989": "Figs. 1, 2 (parameters of a link, vectors of influence)",
    "theodore-1995": "Figs. 1-3 (frames, an element, the arm), Table 3 (data)",
    "chu": "Figs. 1-3, 9, 15 (second of that number), 16 (drawings and photographs), "
    "Figs. 4, 5, 10, 11, 17, 18 (inputs, without values in the text)",
    "chen-2012": "Figs. 1, 3 (a link, the arm), Table 1 (data)",
}
MOST_ROWS = 60  # of readings that stand in a page; all are in its CSV
WORDS = dict(zip(VERDICTS, (
    ("holds for every reading", "hold for every reading"),
    ("says what may be, which is so for some", "say what may be, which is so for some"),
    ("holds if something is read in one way", "hold if something is read in one way"),
    ("hangs on our limit", "hang on our limits"),
    ("is contradicted by every reading", "are contradicted by every reading"),
    ("cannot be decided", "cannot be decided"),
), strict=True))  # fmt: skip
MARKS = dict(zip(VERDICTS, ("every", "may", "some", "hangs", "never", "nothing"), strict=True))
_ABOUT = (
    "Statements of papers, computed anew by flexarm. The papers' curves are not at hand "
    "as numbers: figures show ours, with the values that a text has. What a paper rules out is "
    "tried as well, told as such, and decides nothing. What a paper leaves open (a "
    "tip body, a direction, damping, what is plotted) is varied, and each statement is searched "
    "over these readings: it holds for every one of them, holds if something is read in one way, "
    "or is contradicted by every one. Words such as 'close' need a limit, which is ours: a verdict "
    "that another limit, a tenth looser or stricter, would change hangs on it, and is counted by "
    "itself. What the paper prints as a number stands in a column of its "
    "own, and what we looked at besides in a table of its own, which decides nothing. Equations "
    "are taken as they are right: what is misprinted is run beside it by `flexarm reproduce "
    "--errata`.",
)


def document(results: Sequence[Result]) -> dict[str, Any]:
    """Make the JSON document: every statement with its verdict, and what was tried."""
    return {
        "totals": {paper: dict(totals(own)) for paper, own in _by_paper(results).items()},
        "items": [
            {
                "paper": result.item.paper,
                "item": result.item.name,
                "title": result.item.title,
                "statements": [_described(result, *each) for each in result.said],
                "checks": [
                    {"says": each.says, "holds": bool(each.holds), "because": each.because}
                    for each in result.found.checks
                ],
                "seconds": round(result.seconds, 3),
            }
            for result in results
        ],
    }


def _described(result: Result, at: str, statement: Statement) -> dict[str, Any]:
    return {
        "says": statement.says,
        "at": at,
        "verdict": statement.verdict,
        "sentence": statement.sentence,
        "note": statement.note,
        "printed": statement.printed,
        "ours": statement.ours,
        "needed": str(statement.limit or ""),
        "conditions": [{k: list(v) for k, v in each.items()} for each in statement.conditions],
        "command": command(result, statement),
        **{key: [
            {"reading": dict(each.reading.taken), "holds": each.holds, "near": each.near,
             "outcome": each.outcome, "value": each.value if np.isfinite(each.value) else None}
            for each in some
        ] for key, some in (("tried", statement.tried), ("beside", statement.beside))},
    }  # fmt: skip


def command(result: Result, statement: Statement | None = None) -> str:
    """Write the command that computes an item, or shows that a statement holds."""
    parts = ["flexarm", "reproduce", result.item.paper, "--item", result.item.name]
    for condition in statement.conditions[:1] if statement else ():
        for name, ways in condition.items():
            parts += ["--reading", f"{name}={ways[0]}"]
    return shlex.join(parts)


def check_report(folder: Path, *, force: bool = False) -> None:
    """Refuse a folder where a report is, before anything is computed.

    Raises
    ------
    FlexarmError
        If there is one and `force` is false, or the folder cannot be written.
    """
    if folder.exists():
        for name in ("report.md", "report.html"):
            require_writable(folder / name, force=force)


def write_report(results: Sequence[Result], folder: Path, *, force: bool = False) -> None:
    """Write the report into a folder: Markdown, HTML, a PNG and a CSV per figure, CSV per table."""
    folder.mkdir(parents=True, exist_ok=True)
    for result in results:
        for name, figure in _named(result):
            write_whole(folder / f"{name}.png", draw(figure), force=force)
            write_whole(folder / f"{name}.csv", _curves(figure), force=force)
        for k, table in enumerate(_all_tables(result), 1):
            write_whole(folder / f"{_key(result)}-table-{k}.csv", _rows(table), force=force)
    write_whole(folder / "report.md", markdown(results).encode(), force=force)
    write_whole(folder / "report.html", page(results).encode(), force=force)


def markdown(results: Sequence[Result]) -> str:
    """Write the report as Markdown."""
    parts = ["# The papers, argued", *_ABOUT, lined(summary(results))]
    for paper, own in _by_paper(results).items():
        parts += [f"## {NAMES[paper]}", in_words(own), lined(statements(own))]
        if paper in WITHOUT:
            parts.append(f"Without a statement: {WITHOUT[paper]}.")
        for result in own:
            parts.append(f"### {result.item.title}\n\n`{command(result)}`, {result.seconds:.1f} s")
            parts.append(result.found.because)
            parts += [f"**{each.title}**\n\n{lined(each)}" for each in _all_tables(result)]
            parts += [
                f"![{figure.title}]({name}.png)\n\n{figure.reading}"
                for name, figure in _named(result)
            ]
    return "\n\n".join(part for part in parts if part) + "\n"


def page(results: Sequence[Result]) -> str:
    """Write the report as one HTML file, pictures inside, light or dark as the reader has it."""
    parts = ["<h1>The papers, argued</h1>", *(f"<p>{_e(each)}</p>" for each in _ABOUT)]
    parts.append(_card(_html(summary(results))))
    for paper, own in _by_paper(results).items():
        parts.append(f'<h2 id="{paper}">{_e(NAMES[paper])}</h2>')
        parts.append(f"<p>{_e(in_words(own))}</p>")
        parts.append(_card(_html_statements(own)))
        if paper in WITHOUT:
            parts.append(f'<p class="soft">Without a statement: {_e(WITHOUT[paper])}.</p>')
        for result in own:
            parts += _section(result)
    style = (Path(__file__).parent / "report.css").read_text("utf-8")
    head = (
        "<meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>The papers, argued</title><style>{style}</style>"
    )
    return f"<!doctype html>\n<html lang=en>{head}\n" + "\n".join(parts) + "\n</html>\n"


def _section(result: Result) -> list[str]:
    """Write what an item has, for the page: its words, tables folded, figures."""
    parts = [
        f'<h3 id="{_key(result)}">{_e(result.item.title)}</h3>',
        f'<p class="soft"><code>{_e(command(result))}</code>, {result.seconds:.1f} s</p>',
    ]
    if result.found.because:
        parts.append(f"<p>{_e(result.found.because)}</p>")
    for table in _all_tables(result):
        short = Table(table.title, table.head, table.rows[:MOST_ROWS])
        parts.append(
            _card(f"<details><summary>{_e(table.title)}</summary>{_html(short)}</details>")
        )
    for key, figure in _named(result):
        words = f"Read as: {figure.reading}" if figure.reading else ""
        parts.append(_card(f"<figure>{inline(figure, key)}<figcaption>{_e(words)}</figcaption>"
                           "</figure>"))  # fmt: skip
    return parts


def summary(results: Sequence[Result]) -> Table:
    """Count the statements of each paper by verdict."""
    counted = {NAMES[paper]: totals(own) for paper, own in _by_paper(results).items()}
    counted["all"] = totals(results)
    rows = tuple(
        (name, str(sum(each.values())), *(str(each[verdict]) for verdict in VERDICTS))
        for name, each in counted.items()
    )
    return Table("Statements", ("paper", "statements", *VERDICTS), rows)


def in_words(results: Sequence[Result]) -> str:
    """Sum a paper up: how many of its statements have which verdict, and which are contradicted."""
    counted = {verdict: n for verdict, n in totals(results).items() if n}
    found = [each for result in results for each in result.found.statements]
    parts = ", ".join(f"{n} {WORDS[verdict][n > 1]}" for verdict, n in counted.items())
    text = f"{len(found)} statement{'s' if len(found) > 1 else ''}: {parts}."
    where: dict[str, list[str]] = {}
    for result in results:
        for each in result.found.statements:
            if each.verdict == NEVER:
                where.setdefault(each.says, []).append(result.item.name)
    against = "; ".join(f"{says} ({', '.join(names)})" for says, names in where.items())
    return f"{text} Contradicted: {against}." if against else text


def statements(results: Sequence[Result]) -> Table:
    """List every statement with its verdict, what the paper prints and what came out."""
    rows = tuple(
        (result.item.name, each.says, at, f"{each.sentence} {each.note}".strip(), each.printed,
         each.ours, str(each.limit or ""))
        for result in results
        for at, each in result.said
    )  # fmt: skip
    head = ("item", "the paper says", "where", "verdict", "the paper prints", "ours", "needed")
    return Table("Statements", head, rows)


def _html_statements(results: Sequence[Result]) -> str:
    """Write the statements with a link to every item, verdicts coloured, commands beside them."""
    rows = []
    for result in results:
        for at, each in result.said:
            name = f'<a href="#{_key(result)}">{_e(result.item.name)}</a>'
            verdict = f'<span class="{MARKS[each.verdict]}">{_e(each.sentence)}</span>'
            verdict += f' <span class="soft">{_e(each.note)}</span>' if each.note else ""
            if each.conditions:
                verdict += (f"<details><summary>shown by</summary><code>"
                            f"{_e(command(result, each))}</code></details>")  # fmt: skip
            rows.append((name, _e(each.says), _e(at), verdict, _e(each.printed), _e(each.ours),
                         _e(str(each.limit or ""))))  # fmt: skip
    return _html_rows(statements(results).head, rows)


def _by_paper(results: Sequence[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result.item.paper, []).append(result)
    return found


def _all_tables(result: Result) -> Iterator[Table]:
    """List an item's tables: its own, our checks, and all readings that were tried."""
    yield from result.found.tables
    if result.found.checks:
        rows = tuple((each.says, "yes" if each.holds else "no", each.because)
                     for each in result.found.checks)  # fmt: skip
        yield Table("Our own checks, which decide nothing", ("we looked at", "", "because"), rows)
    for each in result.found.statements:
        if len(each.tried) + len(each.beside) > 1:
            yield _tried(each)


def _tried(statement: Statement) -> Table:
    """Tabulate readings, in columns what differs among them."""
    assert statement.limit is not None  # only numbers are searched
    every = (*statement.tried, *statement.beside)
    names = [
        name for k, (name, _) in enumerate(every[0].reading.taken)
        if len({each.reading.taken[k] for each in every}) > 1
    ]  # fmt: skip
    rows = tuple(
        (*(each.reading[name] for name in names), statement.limit.text(each.value),
         each.outcome + (", not as the paper has it" if each.reading.against else ""))
        for each in every
    )  # fmt: skip
    return Table(f"Readings: {statement.says}", (*names, statement.of, str(statement.limit)), rows)


def _key(result: Result) -> str:
    return f"{result.item.paper}-{result.item.name}"


def _named(result: Result) -> Iterator[tuple[str, Figure]]:
    for k, figure in enumerate(result.found.figures, 1):
        yield f"{_key(result)}-{k}", figure


def lined(table: Table) -> str:
    """Write a table as Markdown."""
    rows = [[cell.replace("|", "\\|") for cell in row] for row in (table.head, *table.rows)]
    rows.insert(1, ["--"] * len(table.head))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _html(table: Table) -> str:
    return _html_rows(table.head, [[_e(cell) for cell in row] for row in table.rows])


def _html_rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first = "".join(f"<th>{_e(cell)}</th>" for cell in head)
    rest = "\n".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
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
    """Write curves as a table: over one x where they share it, each with its own x elsewhere."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["curve", figure.x_label, figure.y_label])
    for each in figure.curves:
        for x, y in np.stack([each.x, each.y], axis=1).tolist():
            writer.writerow([each.label, f"{x:.9g}", f"{y:.9g}"])
    return buffer.getvalue().encode()
