"""Summaries of commands fit on a screen of 25 lines, for every sample."""

from pathlib import Path

import pytest

from flexarm.cli import main
from flexarm.samples import example_arm_names

SCREEN = 25  # lines
pytestmark = pytest.mark.usefixtures("little_effort")


def cases(*quick: str) -> list[object]:
    """List the samples, those that are not quick for campaigns."""
    marks = {name: () if name in quick else pytest.mark.campaign for name in example_arm_names()}
    return [pytest.param(name, marks=mark) for name, mark in marks.items()]


def lines_of(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    """List the lines that a command prints."""
    assert main(list(argv)) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", cases("korayem-two-link", "puma-560"))
@pytest.mark.parametrize("command", ["check", "modes"])
def test_checks_and_modes_fit_on_a_screen(
    capsys: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    assert len(lines_of(capsys, command, name)) <= SCREEN


@pytest.mark.parametrize("name", cases("korayem-two-link", "puma-560"))
def test_runs_fit_on_a_screen(capsys: pytest.CaptureFixture[str], name: str) -> None:
    lines = lines_of(capsys, "simulate", name, "--t-end", "0.05", "--dt", "0.01")
    assert len(lines) <= SCREEN
    assert " finished at t = 0.05 s" in lines[0]


@pytest.mark.campaign
def test_convergence_and_plans_fit_on_a_screen(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    converge = ("converge", "driven-link", "--t-end", "0.2", "--given-only")
    assert len(lines_of(capsys, *converge)) <= SCREEN
    plan = ("plan", "driven-link", "--to", "joint1=0.5", "--duration", "0.8")
    assert len(lines_of(capsys, *plan)) <= SCREEN
