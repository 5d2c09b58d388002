"""What README.md tells a reader to type works."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import flexarm
from flexarm.cli import main
from tests.docs_blocks import ROOT, blocks, commands, write_files
from tests.physics.cases import campaign_if

README = ROOT / "README.md"
LINES = [line for line, _ in commands(README)]
MAKE = [command for command in LINES if command.startswith("make ")]
FLEXARM = [command for command in LINES if command.startswith("flexarm ")]

# Run by tests/cli and on pages of docs/.
ELSEWHERE = (
    "flexarm compare korayem-two-link",
    "flexarm count count-2-2-2",
    "flexarm live driven-link --html arm.html",
    "flexarm reproduce theodore-1995 --item li-sankar",
)


def run(arguments: list[str], folder: Path) -> None:
    """Run a program in a folder, with the output in the message if it fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        arguments,
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_a_newcomer_is_told_to_run_the_demo_and_then_the_tests() -> None:
    assert MAKE == ["make demo", "make test"]


def test_every_shell_command_is_one_that_is_checked() -> None:
    assert sorted(LINES) == sorted(MAKE + FLEXARM)


@pytest.mark.parametrize("command", MAKE)
def test_every_make_command_is_a_target(command: str) -> None:
    # They are run for real, in a fresh clone, by .ci/run.
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(command.split()[1:]) <= set(targets)


def test_the_program_is_installed(tmp_path: Path) -> None:
    run(["flexarm", "--version"], tmp_path)


@pytest.mark.parametrize(
    "command",
    [pytest.param(command, marks=campaign_if(command in ELSEWHERE)) for command in FLEXARM],
)
def test_every_flexarm_command_runs(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(README, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) == 0


@pytest.mark.parametrize("code", [block.content for block in blocks(README, "python")])
def test_every_python_block_runs(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(README, tmp_path)
    monkeypatch.chdir(tmp_path)
    if Path("arm.yaml").exists():  # with one shape per link, in a hundredth of the time
        shapes = {"kind": "loaded", "bending_y": 1, "bending_z": 0, "torsion": 0}
        changes = {f"links.{k}.shapes": shapes for k in (1, 2)}
        flexarm.save(flexarm.change_arm(flexarm.load("arm.yaml"), changes), "arm.yaml", force=True)
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})


def test_the_message_about_a_mistake_is_the_one_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(README, tmp_path)
    monkeypatch.chdir(tmp_path)
    text = Path("arm.yaml").read_text(encoding="utf-8")
    Path("arm.yaml").write_text(text.replace("length: 1.2", "length: -1.2"), encoding="utf-8")
    with pytest.raises(flexarm.ModelError) as error:
        flexarm.load("arm.yaml")
    assert [f"{error.value}\n"] == [block.content for block in blocks(README, "text")]
