"""Interrupts: Ctrl-C, and signals that ask a process to end."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

SIGNALS = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP


@contextmanager
def signals_interrupt() -> Iterator[list[int]]:
    """Convert SIGTERM and SIGHUP into KeyboardInterrupt, so that results can be saved.

    Signals are converted in the main thread only, unless the process already handles or ignores
    them, as under ``nohup``. If the interrupt leaves the block unhandled, the signal is sent again
    and ends the process as by default.

    Yields
    ------
    list of int
        Numbers of the signals that have arrived.
    """
    noted: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        noted.append(number)
        raise KeyboardInterrupt(signal.Signals(number).name)

    numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    caught = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]
    for number in caught:
        signal.signal(number, stop)
    interrupted = False
    try:
        yield noted
    except KeyboardInterrupt:
        interrupted = True
        raise
    finally:
        for number in caught:
            signal.signal(number, signal.SIG_DFL)
        for number in noted[:1] if interrupted else ():
            signal.raise_signal(number)


def finish(work: Callable[[], T]) -> tuple[T, KeyboardInterrupt | None]:
    """Return the result of a short computation, which is repeated after an interrupt.

    Returns
    -------
    tuple
        The result, and the interrupt or None.
    """
    try:
        return work(), None
    except KeyboardInterrupt as stop:
        return work(), stop


def interrupt_name(stop: KeyboardInterrupt) -> str:
    """Return the name of an interrupt: the name of its signal, or Ctrl-C."""
    return str(stop.args[0]) if stop.args else "Ctrl-C"
