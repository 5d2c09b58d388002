"""Summaries of arms and results: short text, and HTML for notebooks."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from flexarm.arm.constants import HTML_ROWS, TEXT_ROWS

WIDTH, HEIGHT = 640, 64  # size of a picture [px]
ROUND = ("revolute", "universal", "spherical", "screw")  # joints that are drawn as circles
CELL = "padding:2px 10px;text-align:left"


@dataclass(frozen=True)
class Summary:
    """Summary of an arm or a result: a title, lines of text, and a table."""

    title: str
    lines: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()  # headers of the table
    rows: Sequence[Sequence[str]] = ()
    most: int = TEXT_ROWS  # largest number of rows in text; the number of omitted rows is printed

    def text(self) -> str:
        """Return the summary as text for a terminal."""
        text = [self.title, *(f"  {line}" for line in self.lines)]
        if self.rows:
            text += [f"  {line}" for line in table_lines(self.columns, self.rows[: self.most])]
        if len(self.rows) > self.most:
            text.append(f"  ... {len(self.rows) - self.most} more")
        return "\n".join(text)

    def html(self, picture: str = "") -> str:
        """Return the summary as HTML for a notebook; ``picture`` is HTML that it includes."""
        lines = "".join(f"<div>{escape(line)}</div>" for line in self.lines)
        return f"<div><b>{escape(self.title)}</b>{lines}{picture}{self._table()}</div>"

    def _table(self) -> str:
        if not self.rows:
            return ""
        hidden_rows = len(self.rows) - HTML_ROWS
        footer = f"<div>... {hidden_rows} more</div>" if hidden_rows > 0 else ""
        return html_table(self.columns, self.rows[:HTML_ROWS]) + footer


class Summarised(ABC):
    """Base class of objects that print a summary; derived dataclasses have ``repr=False``."""

    def __repr__(self) -> str:
        """Return the object's summary as text."""
        return self._summary().text()

    def _repr_html_(self) -> str:
        return self._summary().html()

    @abstractmethod
    def _summary(self) -> Summary:
        """Return the summary of this object."""


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a text table with headers; cells of a column have equal width."""
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (columns, *rows)
    ]


def html_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with headers as HTML."""
    body = "".join(_row("td", row) for row in rows)
    return f"<table>{_row('th', columns)}{body}</table>"


def _row(tag: str, cells: Sequence[str]) -> str:
    cells_html = [f'<{tag} style="{CELL}">{escape(cell)}</{tag}>' for cell in cells]
    return f"<tr>{''.join(cells_html)}</tr>"


def draw_chain(parts: Sequence[tuple[str, str, float, bool]]) -> str:
    """Return an SVG picture of links stretched out in a line.

    ``parts`` contains for each link its name, kind of joint, length [m], and whether it is
    flexible.
    """
    total = sum(length for _, _, length, _ in parts) or 1.0
    scale = (WIDTH - 40) / total
    x, y = 20.0, HEIGHT / 2 - 6
    elements = []
    for name, kind, length, flexible in parts:
        x_end = x + scale * length
        stroke = ("#2f80ab", 5) if flexible else ("#6d7884", 9)
        elements.append(
            f'<line x1="{x:.1f}" y1="{y}" x2="{x_end:.1f}" y2="{y}" stroke="{stroke[0]}" '
            f'stroke-width="{stroke[1]}"/>'
        )
        elements.append(_joint(kind, x, y))
        if scale * length > 7 * len(name):
            elements.append(
                f'<text x="{(x + x_end) / 2:.1f}" y="{y + 24}" text-anchor="middle" '
                f'font-size="12" fill="currentColor">{escape(name)}</text>'
            )
        x = x_end
    elements.append(f'<circle cx="{x:.1f}" cy="{y}" r="4" fill="#e11d74"/>')
    return f'<svg width="{WIDTH}" height="{HEIGHT}" role="img">{"".join(elements)}</svg>'


def _joint(kind: str, x: float, y: float) -> str:
    style = 'fill="white" stroke="#6d7884" stroke-width="3"'
    if kind in ROUND:
        return f'<circle cx="{x:.1f}" cy="{y}" r="8" {style}/>'
    if kind == "fixed":
        return f'<rect x="{x - 2:.1f}" y="{y - 8}" width="4" height="16" fill="#6d7884"/>'
    return f'<rect x="{x - 9:.1f}" y="{y - 7}" width="18" height="14" {style}/>'
