"""An interrupt in any phase of a simulation keeps the motion that was computed before it."""

import signal
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.cli import main
from flexarm.integrate import simulate as module
from flexarm.integrate.choice import halving
from flexarm.integrate.options import RunOptions
from flexarm.integrate.simulate import run_whole
from flexarm.io.model_file import loads
from flexarm.planning import problem
from flexarm.runs.read import load_run
from flexarm.runs.run import Run
from flexarm.studies import bases, compare

ARM = """
flexarm: 1
name: braked link
links:
  - joint: {kind: revolute, start: {speed: 1}, brake: {closed: false}}
    length: 1
    body: {mass: 1, com: [0.5, 0, 0], inertia: [0, 0, 0.1]}
events:
  - {name: hold, at: 0.2, brake: [joint1]}
  - {name: go, at: 0.3, release: [joint1]}
"""


def arm() -> Arm:
    """Make a rigid link that a brake holds from 0.2 to 0.3 s: three phases."""
    return loads(ARM)


def interrupt(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, *, call: int) -> None:
    """Interrupt a function on one of its calls, counted from 1."""
    calls, function = count(1), getattr(owner, name)

    def called(*args: Any, **options: Any) -> Any:
        if next(calls) == call:
            raise KeyboardInterrupt
        return function(*args, **options)

    monkeypatch.setattr(owner, name, called)


@pytest.mark.parametrize("phase", ["phase_problem", "solve", "after"])
def test_between_legs_what_was_computed_is_kept(
    monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    """`phase_problem` traces a phase, `solve` begins by compiling it, `after` reads the state."""
    whole = flexarm.simulate(arm(), t_end=0.5, dt=0.01)
    interrupt(monkeypatch, module, phase, call=2)
    run = flexarm.simulate(arm(), t_end=0.5, dt=0.01)
    end = 0.3 if phase == "after" else 0.2
    assert (run.status, run.reason) == ("interrupted", f"by Ctrl-C at t = {end:g} s")
    assert run.t[-1] == end
    before = len(run.t) - 1  # the last sample is before what happens there
    np.testing.assert_array_equal(run.q[:before], whole.q[:before])


@pytest.mark.parametrize("call", [1, 2, 3])
def test_while_samples_are_evaluated_they_are_kept(
    monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    interrupt(monkeypatch, module, "run_of", call=call)
    run = flexarm.simulate(arm(), t_end=0.5, dt=0.01)
    assert run.status == "interrupted"
    assert run.t[-1] == (0.2, 0.3, 0.5)[call - 1]


def test_before_the_first_leg_the_interrupt_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, module, "solve", call=1)
    with pytest.raises(KeyboardInterrupt):
        flexarm.simulate(arm(), t_end=0.5)


def test_between_two_equal_steps_the_longer_ones_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, halving, "solve", call=2)
    link = flexarm.change_arm(arm(), {"events": []})
    run = flexarm.simulate(link, t_end=0.5, method="rk4")
    assert (run.status, run.t[-1]) == ("interrupted", 0.5)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_that_end_a_process_keep_the_run_in_python(number: signal.Signals) -> None:
    def stop(t: float) -> None:
        if t > 0.2:
            signal.raise_signal(number)

    run = flexarm.simulate(arm(), t_end=0.5, progress=stop)
    assert run.status == "interrupted"
    assert run.reason.startswith(f"by {number.name} at t = ")
    assert signal.getsignal(number) == signal.SIG_DFL


def test_files_are_written_before_the_command_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "arm.yaml").write_text(ARM)
    monkeypatch.chdir(tmp_path)
    interrupt(monkeypatch, Run, "save", call=1)
    command = ["simulate", "arm.yaml", "--t-end", "0.1", "--out", "run.nc", "--csv", "run.csv"]
    assert main(command) == 130
    assert load_run(tmp_path / "run.nc").t[-1] == 0.1
    assert (tmp_path / "run.csv").exists()


@pytest.mark.parametrize("user", [problem, compare, bases])
def test_who_needs_the_whole_motion_is_interrupted(user: Any) -> None:
    """A plan or a study must not go on with a part of a motion."""

    def stop(t: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="by Ctrl-C"):
        user.simulate_whole(arm(), t_end=0.5, progress=stop)
    with pytest.raises(KeyboardInterrupt, match="by Ctrl-C"):
        run_whole(arm(), RunOptions(t_end=0.5, progress=stop))
