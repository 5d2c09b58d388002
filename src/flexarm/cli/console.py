"""Text and tables on standard output: folded on a terminal, plain elsewhere; numbers of JSON."""

import math
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from flexarm.errors import LongRun

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 250  # nothing is folded where nobody knows the width
LEAST_WIDTH = 80  # in less, numbers would be cut


def open_console() -> "Console":
    """Open standard output for text."""
    from rich.console import Console

    # Names come from the user: nothing in them is markup, an emoji or worth a colour.
    console = Console(file=sys.stdout, markup=False, emoji=False, highlight=False)
    console.width = max(console.width, LEAST_WIDTH) if console.is_terminal else PLAIN_WIDTH
    return console


def print_line(console: "Console", text: str, *, indent: int = 2, style: str = "") -> None:
    """Print a line of prose, folded behind its indent on a terminal."""
    from rich.padding import Padding
    from rich.text import Text

    if console.is_terminal:
        console.print(Padding(Text(text, style=style), (0, 0, 0, indent)))
    else:
        console.print(" " * indent + text, soft_wrap=True)


def print_table(
    console: "Console", title: str, columns: Mapping[str, str], rows: Sequence[Sequence[str]]
) -> None:
    """Print a table; columns give their headers and whether they are ``left`` or ``right``."""
    from rich import box
    from rich.table import Table

    console.print()
    console.print(title, style="bold")
    style = box.SIMPLE_HEAD if console.is_terminal else None
    table = Table(box=style, pad_edge=False, header_style="bold")
    for header, side in columns.items():
        if side == "right":
            table.add_column(header, justify="right", no_wrap=True)
        else:
            table.add_column(header, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def finite(value: Any) -> Any:
    """Replace what JSON has no number for by None, all the way down."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def warnings_in_a_line() -> Iterator[None]:
    """Say on stderr in a line what takes long, or is doubtful."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", LongRun)
        warnings.showwarning = lambda message, *_: print(f"warning: {message}", file=sys.stderr)
        yield
