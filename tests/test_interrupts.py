"""Signals that end a process are interrupts while a run may be kept, and end it otherwise."""

import os
import signal
import subprocess
import sys

import pytest

from flexarm.interrupts import finish, interrupt_name, signals_interrupt

ENDING = [signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_is_an_interrupt_with_its_name(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with signals_interrupt() as noted:
        with pytest.raises(KeyboardInterrupt) as stop:
            signal.raise_signal(number)
        assert interrupt_name(stop.value) == number.name
    assert noted == [number]
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", ENDING)
def test_what_is_ignored_or_handled_stays_so(number: signal.Signals) -> None:
    """As ``nohup`` ignores SIGHUP."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with signals_interrupt() as noted:
            signal.raise_signal(number)
        assert noted == []
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", ENDING)
def test_where_nothing_is_kept_the_signal_ends_the_process(number: signal.Signals) -> None:
    code = (
        "import signal\nfrom flexarm.interrupts import signals_interrupt\n"
        f"with signals_interrupt():\n    signal.raise_signal({int(number)})\n"
    )
    path = os.pathsep.join(each for each in sys.path if each)
    ended = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path})
    assert ended.returncode == -number


def test_a_short_computation_is_done_again_after_an_interrupt() -> None:
    interrupts = [KeyboardInterrupt()]

    def work() -> int:
        if interrupts:
            raise interrupts.pop()
        return 3

    result, stop = finish(work)
    assert result == 3
    assert stop is not None
    assert interrupt_name(stop) == "Ctrl-C"
    assert finish(work) == (3, None)
