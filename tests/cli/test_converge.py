"""`flexarm converge`: the text, the JSON document, what is refused."""

import json
from pathlib import Path

import pytest

from flexarm import build, load
from flexarm.cli import main
from tests.patience import without_progress

ARM = """\
flexarm: 1
name: turned link
gravity: [0, 0, 0]
links:
  - joint: {kind: revolute, actuation: prescribed, motion: {kind: spin-up, rate: 3, duration: 0.4}}
    length: 1
    section: {mass_per_length: 1, EIz: 10}
    shapes: {kind: clamped-free, bending_y: 1}
payload: {mass: 1}
"""


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write the arm into a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.yaml").write_text(ARM, encoding="utf-8")
    return "arm.yaml"


def test_the_document_has_the_estimate_a_row_per_basis_and_advice(
    arm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["converge", arm, "--t-end", "0.4", "--wish", "0.004", "--json"]) == 0
    text, errors = capsys.readouterr()
    assert without_progress(errors) == ""
    found = json.loads(text)
    assert 0.005 < found["estimate"] < 0.1
    assert found["rows"][0]["basis"] == "as given: clamped-free, 1 bending y"
    bases = [row["basis"] for row in found["rows"]]
    assert {"enriched", "one more", "loaded, root held"} <= set(bases)
    assert found["rows"][bases.index("loaded, root held")]["run_error"] < 0.5 * found["estimate"]
    assert found["advice"]
    assert found["answer"]["within"]
    assert found["answer"]["estimate"] <= 0.004
    assert found["answer"]["shapes"]["link1"]["kind"]


def test_the_text_says_what_to_do(arm: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["converge", arm, "--t-end", "0.4", "--given-only"]) == 0
    text = capsys.readouterr().out
    assert "given shapes cause an error of about" in text
    assert "RK4 step [s]" in text
    assert "reference" in text


def test_a_rigid_arm_and_a_wrong_wish_are_refused(
    arm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["converge", "puma-560"]) == 1
    assert "no link has shapes whose number can be raised" in capsys.readouterr().err
    assert main(["converge", arm, "--wish", "0"]) == 2
    assert main(["converge", arm, "--trials", "0"]) == 2


@pytest.mark.campaign
def test_the_model_file_with_the_shapes_that_were_wanted_is_written_once(
    arm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["converge", arm, "--t-end", "0.4", "--want", "2%", "--out", "changed.yaml"]
    assert main([*command, "--json"]) == 0
    text, told = capsys.readouterr()
    answer = json.loads(text)["answer"]
    assert answer["within"]
    assert f"{answer['coordinates']} coordinates written to changed.yaml" in told
    changed = load("changed.yaml")
    assert build(changed).size == answer["coordinates"]
    assert changed.payload == load(arm).payload
    assert f"--rtol {answer['rtol']:g}" in (tmp_path / "changed.yaml").read_text(encoding="utf-8")
    assert main(command) == 1
    assert "Use force (--force) to overwrite" in capsys.readouterr().err
    assert main([*command[:-1], arm]) == 1


def test_what_cannot_be_reached_is_not_written(
    arm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["converge", arm, "--t-end", "0.4", "--want", "0.0001 %", "--trials", "1"]
    assert main([*command, "--out", "no.yaml"]) == 1
    said = "no.yaml is not written. An error of 0.0001 % was not reached in 1 trial"
    assert said in capsys.readouterr().err
    assert not (tmp_path / "no.yaml").exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--want", "much"], ["--want", "200%"], ["--want", "0"], ["--want", "1%", "--given-only"],
        ["--want", "1%", "--wish", "0.1"], ["--out", "changed.yaml"],
    ],
)  # fmt: skip
def test_what_cannot_be_wanted_is_refused(arm: str, options: list[str]) -> None:
    assert main(["converge", arm, *options]) == 2
