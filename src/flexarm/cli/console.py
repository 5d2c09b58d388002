"""Output of commands: text and tables, wrapped on a terminal and plain elsewhere, and JSON."""

import json
import math
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from flexarm.cli.constants import FIRST_PROGRESS, LEAST_WIDTH, PLAIN_WIDTH
from flexarm.errors import LongRun

if TYPE_CHECKING:
    from rich.console import Console


NUMBER = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?$")  # a cell that is aligned to the right
# Activity of each package, printed for the innermost one that is running.
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
    """Return a console on standard output, without markup or colouring of users' names."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            """Pass the pipe error on to `flexarm.cli.main`, which sets the exit status."""
            raise

    # Users' names must not be read as markup or emoji codes, nor be coloured.
    console = Output(file=sys.stdout, markup=False, emoji=False, highlight=False)
    console.width = max(console.width, LEAST_WIDTH) if console.is_terminal else PLAIN_WIDTH
    return console


def print_line(console: "Console", text: str, *, indent: int = 2, style: str = "") -> None:
    """Print a line of text with an indent, wrapped on a terminal."""
    from rich.padding import Padding
    from rich.text import Text

    if console.is_terminal:
        console.print(Padding(Text(text, style=style), (0, 0, 0, indent)))
    else:
        console.print(" " * indent + text, soft_wrap=True)


def print_table(console: "Console", title: str, rows: Sequence[Mapping[str, str]]) -> None:
    """Print a table of rows, with numbers aligned to the right; nothing if there are no rows."""
    from rich import box
    from rich.table import Table

    if not rows:
        return
    console.print()
    console.print(title, style="bold")
    style = box.SIMPLE_HEAD if console.is_terminal else None
    table = Table(box=style, pad_edge=False, header_style="bold")
    for header in rows[0]:
        if any(map(NUMBER.match, (row[header] for row in rows))):
            table.add_column(header, justify="right", no_wrap=True)
        else:
            table.add_column(header, overflow="fold")
    for row in rows:
        table.add_row(*row.values())
    console.print(table)


def print_json(document: Any) -> None:
    """Print one JSON document; infinite numbers and NaN become null."""
    print(json.dumps(_finite(document), allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def warnings_in_a_line() -> Iterator[None]:
    """Print each warning on standard error as one line, within a ``with`` block."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", LongRun)
        warnings.showwarning = lambda message, *_: print(f"warning: {message}", file=sys.stderr)
        yield


class _Latest:
    """The most recent progress message of the running command."""

    words = ""
    shown = False  # whether a terminal shows it


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a progress message.

    A terminal shows the message at once; elsewhere `heartbeat` prints the latest message.
    """
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
def heartbeat(command: str, first: float = FIRST_PROGRESS) -> Iterator[None]:
    """Print the current activity of a command each time its running time has doubled.

    Parameters
    ----------
    command
        Name of the command.
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
    """Return a text on a thread's activity, by the innermost package in its call stack.

    The text is empty if the activity is unknown.
    """
    frame = sys._current_frames().get(worker)
    while frame is not None:
        top, *package = str(frame.f_globals.get("__name__")).split(".")
        for depth in (2, 1) if top == "flexarm" else ():
            if words := WORK.get(".".join(package[:depth])):
                return words
        frame = frame.f_back
    return ""
