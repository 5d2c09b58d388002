"""Progress on standard error: a line that changes on a terminal, a line now and then elsewhere."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

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
