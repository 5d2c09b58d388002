"""Progress on standard error: words of the command, or what the program is doing."""

import io
import re
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

import flexarm.cli
from flexarm.cli.console import heartbeat, progress, work_of
from tests.patience import HANGS


class Listener(io.StringIO):
    """A stream that is no terminal, and lets others wait for its first lines."""

    def __init__(self, lines: int) -> None:
        super().__init__()
        self.lines, self.heard = lines, threading.Event()

    def write(self, text: str) -> int:
        """Count the lines."""
        written = super().write(text)
        if self.getvalue().count("\n") >= self.lines:
            self.heard.set()
        return written


def listening(monkeypatch: pytest.MonkeyPatch, lines: int = 1) -> Listener:
    """Put a listener in the place of standard error."""
    listener = Listener(lines)
    monkeypatch.setattr(sys, "stderr", listener)
    return listener


def in_module(name: str, work: Callable[[], Any]) -> Any:
    """Call a function from a function of a module of some name."""
    return eval("work()", {"__name__": name, "work": work})


def test_words_of_the_command_are_printed_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stderr = listening(monkeypatch, lines=2)
    with heartbeat("study", first=1e-3), progress() as tell:
        tell("3 of 8 designs [2/s]")
        assert stderr.heard.wait(HANGS)
    assert re.match(r"flexarm study: 3 of 8 designs \[2/s\], \d+ s so far\n", stderr.getvalue())


@pytest.mark.parametrize(
    ("modules", "said"),
    [
        (["flexarm.cli.simulate", "flexarm.integrate.simulate"], "solving the motion"),
        (["flexarm.integrate.task", "flexarm.engine.compile", "numpy"], "compiling the equations"),
        (["flexarm.integrate.simulate", "flexarm.integrate.choice.choose"], "choosing a method"),
        (["flexarm.cli.pages.view", "flexarm.viewer.serve"], ""),
        (["flexarm.cli.new", "io"], ""),
    ],
)
def test_what_is_at_work_is_known_by_its_package(modules: list[str], said: str) -> None:
    def work() -> str:
        return work_of(threading.get_ident())

    for name in reversed(modules):
        work = partial(in_module, name, work)
    assert work() == said


def test_a_command_that_takes_long_says_what_it_is_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = listening(monkeypatch)

    def run(_: object) -> int:
        wait = partial(stderr.heard.wait, HANGS)
        return 0 if in_module("flexarm.formulations.articulated", wait) else 1

    command = SimpleNamespace(run=run, SUMMARY="", ARGUMENTS=())
    monkeypatch.setitem(flexarm.cli.COMMANDS, "check", command)
    monkeypatch.setattr(flexarm.cli, "heartbeat", partial(heartbeat, first=1e-3))
    assert flexarm.cli.main(["check"]) == 0
    assert re.match(r"flexarm check: deriving the equations, \d+ s so far\n", stderr.getvalue())


def test_a_command_that_waits_for_its_user_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = listening(monkeypatch)
    with heartbeat("view", first=1e-3):
        assert not in_module("flexarm.viewer.serve", partial(stderr.heard.wait, 0.05))
    assert stderr.getvalue() == ""
