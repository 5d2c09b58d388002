"""Text and tables on standard output: folded on a terminal, plain elsewhere; numbers of JSON."""

import math
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from flexarm.errors import LongRun

if TYPE_CHECKING:
    from rich.console import Console


PLAIN_WIDTH = 250  # nothing is folded where nobody knows the width
LEAST_WIDTH = 80  # in less, numbers would be cut
FIRST = 10.0  # [s] before the first line; the next come at twice, four times, ... the time
# By package, the innermost of those that are at work: what it does.
WORK = {
    "io": "reading files",
    "links": "computing shape functions",
    "model": "building the model",
    "mechanics": "deriving the equations",
    "formulations": "deriving the equations",
    "closed_forms": "deriving the equations",
    "engine": "compiling the equations",
    "loops": "compiling the equations",
    "linear": "computing modes or an equilibrium",
    "accuracy": "estimating errors",
    "integrate.choice": "choosing a method",
    "integrate": "solving the motion",
    "gradients": "computing derivatives",
    "check": "checking the arm",
    "studies": "computing runs",
    "control": "computing a control law",
    "exports": "writing the export",
    "planning": "planning",
    "fitting": "fitting",
    "viewer.movie": "drawing",
    "viewer.page": "writing the page",
}


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


class _Latest:
    """The latest words of the command, and whether a terminal shows them."""

    words = ""
    shown = False


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Let a command say how far it is; `heartbeat` prints that where there is no terminal."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:

        def note(text: str) -> None:
            _Latest.words = text

        try:
            yield note
        finally:
            _Latest.words = ""
        return
    with console.status("preparing") as status:
        _Latest.shown = True
        try:
            yield lambda text: status.update(escape(text))
        finally:
            _Latest.shown = False


@contextmanager
def heartbeat(command: str, first: float = FIRST) -> Iterator[None]:
    """Print what a command is at, whenever the time since its beginning has doubled.

    Parameters
    ----------
    command
        Its name.
    first
        Time before the first line [s].
    """
    worker, begun, stop = threading.get_ident(), time.monotonic(), threading.Event()

    def beat() -> None:
        wait = first
        while not stop.wait(wait):
            wait = max(time.monotonic() - begun, first)
            words = _Latest.words or work_of(worker)
            if words and not _Latest.shown:
                with suppress(OSError, ValueError):  # standard error was closed
                    print(f"flexarm {command}: {words}, {wait:.0f} s so far", file=sys.stderr,
                          flush=True)  # fmt: skip

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=1.0)


def work_of(worker: int) -> str:
    """Return what a thread is doing, by the innermost package that it is in; empty if unknown."""
    frame = sys._current_frames().get(worker)
    while frame is not None:
        top, *package = str(frame.f_globals.get("__name__")).split(".")
        for depth in (2, 1) if top == "flexarm" else ():
            if words := WORK.get(".".join(package[:depth])):
                return words
        frame = frame.f_back
    return ""
