"""The command line: exit statuses, and where messages go."""

import argparse
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import flexarm
from flexarm import cli
from flexarm.errors import FlexarmError, ModelError, ShapeError
from tests.physics.cases import campaign_if

COMMAND = "import sys; from flexarm.cli import main; sys.exit(main(sys.argv[1:]))"


class Raising:
    """A command that raises what it is given."""

    SUMMARY = "raise an error"
    ARGUMENTS = ()

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def run(self, args: argparse.Namespace) -> int:
        """Raise the error."""
        raise self.error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ModelError("arm.yaml:12:7: links[1].length: must be > 0, got -1"), 3),
        (ShapeError("link 2: 3 shapes but 2 masses"), 3),
        (FlexarmError("out of luck"), 1),
    ],
)
def test_an_error_of_flexarm_is_one_line_on_stderr(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: FlexarmError,
    status: int,
) -> None:
    monkeypatch.setitem(cli.COMMANDS, "fail", Raising(error))
    assert cli.main(["fail"]) == status
    assert capsys.readouterr() == ("", f"flexarm: error: {error}\n")


def test_an_option_that_a_command_does_not_have_is_told_with_its_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["shape-inputs", "driven-link", "--t-end", "3"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("usage: flexarm shape-inputs ")
    assert "--kind {zv,zvd,zvdd,ei}" in said
    assert said.endswith("flexarm shape-inputs: error: unrecognized arguments: --t-end 3\n")


def test_an_interrupt_exits_130_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(cli.COMMANDS, "fail", Raising(KeyboardInterrupt()))
    assert cli.main(["fail"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_defect_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.COMMANDS, "fail", Raising(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        cli.main(["fail"])


@pytest.mark.parametrize("argv", [[], ["samlpes"], ["arms", "--jsno"], ["arms", "a", "b"]])
def test_wrong_usage_exits_2_and_says_so_on_stderr(
    capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: flexarm ")


@pytest.mark.parametrize(
    "argv",
    [
        *(["simulate", "driven-link", option] for option in ("--out", "--csv", "--plot", "--html")),
        *(["modes", "driven-link", option] for option in ("--plot", "--html")),
        ["equations", "driven-link", "--out"],
        ["reproduce", "--out"],
        ["view", "run.nc", "--movie"],
        ["check", "driven-link", "--allow-files"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("path", ["", "a\0b.png"])
def test_what_can_be_no_path_is_refused_in_a_line(
    capsys: pytest.CaptureFixture[str], argv: list[str], path: str
) -> None:
    assert cli.main([*argv, path]) == 2
    said = f"error: argument {argv[-1]}: a path: must be the path of a file, got {path!r}"
    assert capsys.readouterr().err.endswith(said + "\n")


def test_version_is_that_of_the_installed_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"flexarm {version('flexarm')}\n"


def test_help_names_every_command_with_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    for name, command in cli.COMMANDS.items():
        assert f"{name} {command.SUMMARY}" in words


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_every_command_has_help_of_its_own(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert cli.main([name, "--help"]) == 0
    assert re.match(rf"usage: flexarm {name} ", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("unbuffered", "command"),
    [
        ("", "arms"),  # by Rich
        ("1", "--version"),  # by Python
        pytest.param("1", "modes driven-link", marks=pytest.mark.campaign),
        pytest.param("", "--version", marks=pytest.mark.campaign),
    ],
)
def test_a_reader_that_goes_away_ends_the_command_quietly(unbuffered: str, command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(
        [sys.executable, "-c", COMMAND, *command.split()],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    told = [line for line in result.stderr.splitlines() if not line.endswith("so far")]
    assert (result.returncode, told) == (141, [])


COMMAND = "import sys; from flexarm.cli import main; sys.exit(main(sys.argv[1:]))"
SMALL = {
    "arms": [], "check": ["puma-560"], "modes": ["driven-link"], "count": ["driven-link"],
    "simulate": ["driven-link", "--t-end", "0.01"], "cache": [], "--help": [], "--version": [],
    "simulate --json": ["driven-link", "--t-end", "0.01"],
}  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(name, marks=campaign_if(bool(arm)))  # the same, seconds later
        for name, arm in SMALL.items()
    ],
)
def test_an_output_that_is_full_is_one_line_and_a_status(command: str) -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-c", COMMAND, *command.split(), *SMALL[command]],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    said = "flexarm: error: standard output: No space left on device\n"
    assert (result.returncode, result.stderr) == (1, said)


@pytest.mark.campaign
def test_an_output_that_is_full_does_not_hide_what_was_wrong() -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-c", COMMAND, "check", "no-such-arm"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert result.returncode == 3
    assert result.stderr.startswith(
        "flexarm: error: no file and no sample arm is called 'no-such-arm'"
    )
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("closed", "said"), [(1, "standard output is closed"), (2, "")])
def test_an_output_that_is_closed_leaves_no_traceback(closed: int, said: str) -> None:
    shell = f'exec "$0" "$@" {closed}>&-'
    result = subprocess.run(
        ["sh", "-c", shell, sys.executable, "-c", COMMAND, "arms"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == (1 if said else 0)
    assert said in result.stderr
    assert result.stderr.count("\n") == (1 if said else 0)


def test_a_reader_of_one_line_ends_a_command_quietly() -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)  # less than is written
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, "completion", "bash"],
        stdout=writer, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONUNBUFFERED": ""},  # which writes what fits, and no more
    ) as process:  # fmt: skip
        os.close(writer)
        assert os.read(reader, 1)
        os.close(reader)
        assert process.communicate()[1] == ""
    assert process.returncode == 141


def test_a_request_to_terminate_exits_143(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminated(Raising):
        def run(self, args: argparse.Namespace) -> int:
            signal.raise_signal(signal.SIGTERM)
            return 0

    monkeypatch.setitem(cli.COMMANDS, "fail", Terminated(KeyboardInterrupt()))
    before = signal.getsignal(signal.SIGTERM)
    assert cli.main(["fail"]) == 143
    assert capsys.readouterr() == ("", "")
    assert signal.getsignal(signal.SIGTERM) is before


CHANGED = """\
flexarm: 1
name: arm
links:
  - joint: {kind: revolute}
    length: 1
    section: {mass_per_length: 2, EIz: 50}
    shapes: {kind: clamped-free, bending_y: 1}
"""


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "argv",
    [
        ["check"], ["modes"], ["count"], ["equations"], ["simulate", "--t-end", "0.01"],
        ["converge", "--t-end", "0.01", "--given-only"],
    ],
)  # fmt: skip
def test_every_command_on_an_arm_can_change_its_file(
    argv: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text(CHANGED, encoding="utf-8")
    command = [argv[0], str(path), *argv[1:]]
    assert cli.main([*command, "--set", "name=changed", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "changed" in (found.get("arm"), found.get("name"))
    assert cli.main([*command, "--set", "links.1.length=-1"]) == 3
    assert "links[1].length" in capsys.readouterr().err
    assert cli.main([*command, "--set", "length"]) == 2


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flexarm", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"flexarm {version('flexarm')}\n"


def test_old_names_of_commands_still_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["samples", "driven-link"]) == 0
    assert "'samples' is 'arms' now" in capsys.readouterr().err
    with pytest.deprecated_call(match=r"flexarm\.sample is flexarm\.example_arm now"):
        arm = flexarm.sample("driven-link")  # type: ignore[attr-defined]
    assert arm == flexarm.example_arm("driven-link")
