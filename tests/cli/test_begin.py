"""`flexarm new` and `flexarm completion`: files to begin with, words that a shell completes."""

import shutil
import subprocess
from pathlib import Path
from typing import get_args

import pytest

import flexarm
from flexarm.arguments import FormulationName, MethodName
from flexarm.check.check import check
from flexarm.cli import COMMANDS, main
from flexarm.formulations import FORMULATIONS
from flexarm.integrate.methods import METHODS


@pytest.mark.few(1)
@pytest.mark.usefixtures("without_costs")
@pytest.mark.parametrize("plane", ["upright", "level"])
def test_new_writes_a_model_file_in_which_nothing_looks_wrong(
    plane: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = ["--links", "2", "--length", "1m", "--payload", "500 g", "--plane", plane]
    assert main(["new", "two-link", *given]) == 0
    assert capsys.readouterr().out == "model file: two-link.yaml\n"
    arm = flexarm.load("two-link.yaml")
    assert arm.name == "two-link"
    assert [link.length for link in arm.links] == [1.0, 1.0]
    assert arm.payload is not None
    assert arm.payload.mass == 0.5
    assert {(each.severity, each.code) for each in check(arm).notices} == {("note", "less-damping")}
    assert main(["new", "12: yes", "--out", "odd.yaml"]) == 0
    assert flexarm.load("odd.yaml").name == "12: yes"
    capsys.readouterr()
    assert main(["new", "n.yaml"]) == 0
    assert flexarm.load("n.yaml").name == "n"
    capsys.readouterr()
    assert main(["new", "two-link"]) == 1
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--links", "0"], "--links: must be 1 to 30, got 0"),
        (["--length", "1 kg"], "links[1].length"),
        (["--wall", "30 mm"], "thickness"),
        ([""], "NAME: must be the name of an arm or the path of its file, got ''"),
        (["."], "NAME: must be the name of an arm or the path of its file, got '.'"),
    ],
)
def test_new_writes_nothing_that_is_not_valid(
    argv: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["new", *(argv if len(argv) == 1 else ["arm", *argv])]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def completed(script: str, *words: str) -> list[str]:
    """Ask bash what it would make of the last word."""
    given = " ".join(f"'{word}'" for word in ("flexarm", *words))
    asked = f"{script}\nCOMP_WORDS=({given}); COMP_CWORD={len(words)}; _flexarm; "
    asked += 'echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_commands_options_and_choices(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    assert completed(script, "") == list(COMMANDS)
    assert completed(script, "simulate", "--rig") == ["--rigid"]
    assert completed(script, "new", "arm", "--material", "t") == ["titanium"]
    assert completed(script, "completion", "f") == ["fish"]
    assert completed(script, "modes", "kor") == ["korayem-two-link"]
    assert completed(script, "arms", "puma") == ["puma-560"]
    assert completed(script, "modes", "count") == []  # arms to count on are for those who look
    assert completed(script, "simulate", "puma-560", "--method", "rod") == ["rodas4"]
    assert completed(script, "simulate", "puma-560", "--formulation", "l") == ["lagrange"]


def test_names_that_are_completed_are_those_of_the_registries() -> None:
    assert get_args(MethodName) == ("auto", *METHODS)
    assert get_args(FormulationName) == tuple(FORMULATIONS)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_every_command_and_option(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for name in COMMANDS:
        assert name in script
    assert "energy-audit" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)
