"""`flexarm check`: the text, the JSON document, and what it takes for an arm."""

import dataclasses
import json
import os
import pty
import re
import sys
import threading
import types
import typing
from contextlib import suppress
from pathlib import Path

import pytest

from flexarm.check import report
from flexarm.cli import main
from tests.patience import without_progress

DOCS = Path(__file__).parents[2] / "docs" / "check.md"
ARM = """\
flexarm: 1
name: '[red]two links[/red] :smile:'
gravity: [0, -9.81, 0]
links:
  - joint: {kind: revolute, name: shoulder, drive: {rotor_inertia: 1, gear_ratio: 0.5}}
    length: 1
    section: {mass_per_length: 5, EIz: 1000}
    damping: 0.02
  - joint: {kind: fixed}
    length: 0.5
    body: {mass: 2, com: [0.25, 0, 0], inertia: [0, 0, 0.04]}
payload: {mass: 0.5}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def out(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Run a command that must succeed and say nothing but its result."""
    assert main(["check", *argv]) == 0
    text, errors = capsys.readouterr()
    assert without_progress(errors) == ""
    return text


def squeezed(text: str) -> list[str]:
    """Give the lines of a text, blanks joined."""
    return [re.sub(r" +", " ", line).strip() for line in text.splitlines()]


@pytest.mark.usefixtures("without_costs")
def test_all_of_the_text_has_frequencies_reasons_coordinates_step_and_verdict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = squeezed(out(capsys, "korayem-two-link", "--all"))
    assert "bending_y 1 yes 7.9138148 49.723965 2.7070141 17.008671" in lines
    assert any(line.startswith("bending_y 3 138.86752 872.53037") for line in lines)
    assert "bending_y: 1 mode: the file says so" in lines
    assert "3 joint2 joint rad 0.0872665 0" in lines
    assert any(line.startswith("Highest mode: 62.9642 Hz") for line in lines)
    assert any(line.startswith("Recommended step for fixed-step RK4: 0.00657 s") for line in lines)
    assert "Nothing looks wrong." in lines


def test_a_first_look_is_a_screenful_with_the_verdict_links_their_shapes_and_the_slowest_modes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = squeezed(out(capsys, "korayem-two-link"))
    assert "Nothing looks wrong." in lines[:6]
    assert "link2 joint2 revolute about z 1 5 clamped-free: y 1 7.91381" in lines
    assert "1 36.5118 link1.y1 (83 %) 2.13216 link1.y1 (94 %)" in lines
    assert lines[-2:] == [
        "Estimated cost of 1 s of a run: 0.0015 s of CPU (390 steps of dop853).",
        "--all prints every link, mode and coordinate, and the reasons for the shapes.",
    ]
    assert not any("bending_y" in line or "Recommended step" in line for line in lines)
    other = squeezed(out(capsys, "chen-two-link"))  # 24 coordinates
    shapes = "clamped-free: y 3, z 3, torsion 2, stretch 2 3.24254"
    assert f"link1 joint1 revolute about z 7.11 314.88 {shapes}" in other
    (own,) = [line for line in other if line.startswith("Estimated cost of 1 s of a run: ")]
    assert re.search(r": 0\.0\d+ s of CPU \([\d,]+ steps of etd4\)\.$", own)
    (half,) = [line for line in other if line.startswith("With half the shapes (link1 bending_y 2")]
    assert re.search(r"CPU, and an error of the slowest frequency of 1\.\d %\.$", half)


BOOM = """\
x, y1.y, y1.rz
0, 0, 0
0.5, 0.08228, 0.31924
1, 0.30707, 0.56537
1.5, 0.63093, 0.7116
2, 1, 0.74881
"""
MODES = """\
modal_data: 1
name: tapered boom, clamped
units: {length: m, mass: kg, time: s}
table: boom.csv
modes: [{name: y1}]
M: [0.55447]
frequencies: [7.2799]
total_mass: 3.2
"""
TAPERED = """\
flexarm: 1
name: boom from elsewhere
gravity: [0, 0, 0]
links:
  - joint: {kind: revolute, hub: {outboard: {inertia: [0, 0, 0.5]}}}
    length: 2
    section:
      stations:
        - {at: 0, mass_per_length: 2, EIz: 4000}
        - {at: 2, mass_per_length: 1, EIz: 500}
    shapes: {kind: table, file: modes.yaml}
"""


@pytest.mark.usefixtures("without_costs")
def test_a_first_look_has_what_is_odd_about_a_file_of_shapes(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    for name, text in (("boom.csv", BOOM), ("modes.yaml", MODES), ("arm.yaml", TAPERED)):
        (folder / name).write_text(text)
    lines = squeezed(out(capsys, "arm.yaml"))
    assert any(line.startswith("note: link1: total_mass: ") for line in lines)
    assert "Nothing looks wrong." not in lines
    (folder / "modes.yaml").write_text(MODES.replace("3.2", "3"))
    assert "Nothing looks wrong." in squeezed(out(capsys, "arm.yaml"))


@pytest.mark.usefixtures("without_costs")
def test_text_is_plain_and_never_folded_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "arm.yaml").write_text(ARM)
    text = out(capsys, "arm.yaml")
    assert "\x1b" not in text
    assert text.startswith("[red]two links[/red] :smile:\n")
    gear, damping = [line for line in text.splitlines() if line.startswith("note: ")]
    assert gear.startswith(
        "note: links[1].joint.drive.gear_ratio (line 5): the rotor of shoulder turns"
    )
    assert gear.endswith("[gear-speeds-up]")
    assert damping.endswith("[less-damping]")


@pytest.mark.usefixtures("without_costs")
def test_text_fits_a_terminal_of_80_columns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "arm.yaml").write_text(ARM)
    inside, outside = pty.openpty()
    written: list[bytes] = []

    def read() -> None:
        with suppress(OSError):  # how Linux tells the end of a terminal
            while block := os.read(inside, 10_000):
                written.append(block)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(outside, "w") as terminal, monkeypatch.context() as patch:
        patch.setenv("TERM", "xterm")
        patch.setenv("COLUMNS", "80")
        patch.setattr(sys, "stdout", terminal)
        assert main(["check", "arm.yaml"]) == 0
    reader.join()
    os.close(inside)
    text = b"".join(written).decode()
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r", "").splitlines()
    assert "\x1b[" in text
    assert 60 < max(map(len, lines)) <= 80
    assert {"shoulder", "revolute", "rigid"} <= set(" ".join(lines).split())  # no word is broken


def keys(kind: object, value: object, path: str = "report") -> None:
    """Compare the keys of a JSON value with the fields of a dataclass, all the way down."""
    if isinstance(kind, types.UnionType):
        kinds = [each for each in typing.get_args(kind) if each is not type(None)]
        if value is not None:
            keys(kinds[0], value, path)
        return
    if typing.get_origin(kind) is tuple and isinstance(value, list):
        for k, each in enumerate(value):
            keys(typing.get_args(kind)[0], each, f"{path}[{k}]")
        return
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        assert isinstance(value, dict), path
        assert list(value) == list(hints), path
        for name, hint in hints.items():
            keys(hint, value[name], f"{path}.{name}")


@pytest.mark.parametrize("name", ["korayem-two-link", "spin-up-beam", "puma-560", "tg-rp"])
def test_json_is_one_document_of_the_documented_form(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text = out(capsys, name, "--json")
    assert text.count("\n") == 1
    document = json.loads(text, parse_constant=lambda word: pytest.fail(word))
    assert document["check"] == 1
    keys(report.Report, document)


def test_json_names_have_not_changed() -> None:
    # A new name is no break; a name that goes, or means something else, needs a new version.
    fields = {
        name: [field.name for field in dataclasses.fields(kind)]
        for name, kind in vars(report).items()
        if dataclasses.is_dataclass(kind) and isinstance(kind, type)
    }
    assert fields == {
        "Notice": ["severity", "code", "place", "message", "remedy", "line"],
        "Frequency": ["hz", "rad_s"],
        "JointReport": [
            "name", "kind", "on", "axis", "turns", "actuation", "elastic", "reflected_inertia",
        ],
        "DirectionReport": [
            "direction", "stiffness", "count", "coordinates", "why", "clamped", "loaded",
        ],
        "ShapeMode": ["frequency", "damping", "coordinate"],
        "FlexibleReport": [
            "span", "shapes", "summary", "root", "why_root", "tip_mass", "tip_inertia",
            "directions", "modes", "modal_data",
        ],
        "LinkReport": ["name", "joint", "length", "mass", "hub_mass", "flexible"],
        "CoordinateReport": ["name", "kind", "unit", "prescribed", "start", "start_speed"],
        "ArmMode": ["frequency", "coordinate", "share"],
        "StepReport": ["rk4", "rate", "limited_by", "coordinate"],
        "CostReport": [
            "coordinates", "method", "steps", "seconds", "frequency_change", "shapes",
        ],
        "Report": [
            "check", "arm", "gravity", "stiffening", "base", "links", "coordinates",
            "degrees_of_freedom", "mass", "base_mass", "payload_mass", "centre_of_mass",
            "rigid_motions", "modes_free", "modes_held", "step", "costs", "notices",
        ],
    }  # fmt: skip


def test_documentation_names_every_field_and_every_code() -> None:
    text = DOCS.read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w-]+)`", text))
    fields = {
        field.name
        for kind in vars(report).values()
        if dataclasses.is_dataclass(kind) and isinstance(kind, type)
        for field in dataclasses.fields(kind)
    }
    assert fields - named == set()
    source = "".join(path.read_text() for path in Path(report.__file__).parent.glob("*.py"))
    codes = set(re.findall(r'"(?:warning|note)",\s*"([\w-]+)"', source))
    assert len(codes) >= 14
    assert codes - named == set()


@pytest.mark.usefixtures("without_costs")
def test_a_file_wins_over_a_sample_of_its_name(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "telescope").mkdir()
    assert json.loads(out(capsys, "telescope", "--json"))["arm"] == "Telescope"
    (folder / "telescope").rmdir()
    (folder / "telescope").write_text(ARM)
    assert json.loads(out(capsys, "telescope", "--json"))["arm"] == "[red]two links[/red] :smile:"


@pytest.mark.parametrize(
    ("given", "meant"),
    [("koraym-two-link", "korayem-two-link"), ("my-amr.yaml", "my-arm.yaml"), ("zzz", None)],
)
def test_an_arm_that_is_not_there_is_an_invalid_model_and_the_near_one_is_named(
    capsys: pytest.CaptureFixture[str], folder: Path, given: str, meant: str | None
) -> None:
    (folder / "my-arm.yaml").write_text(ARM)
    assert main(["check", given, "--json"]) == 3
    text, errors = capsys.readouterr()
    assert text == ""
    assert f"no file and no sample arm is called '{given}'. " in errors
    assert ("Did you mean" in errors) == (meant is not None)
    assert meant is None or f"Did you mean '{meant}'?" in errors


def test_an_invalid_file_has_a_line_per_mistake_and_no_report(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    wrong = ARM.replace("length: 1\n", "length: -1\n").replace("mass: 0.5", "mas: 0.5")
    (folder / "arm.yaml").write_text(wrong)
    assert main(["check", "arm.yaml"]) == 3
    text, errors = capsys.readouterr()
    assert text == ""
    assert "arm.yaml:6:13: links[1].length" in errors
    assert "arm.yaml:12:11: payload" in errors


def test_shapes_that_cannot_be_built_are_an_invalid_model(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    shapes = "    shapes: {kind: loaded, torsion: 1}\n    damping: 0.02\n"
    (folder / "arm.yaml").write_text(ARM.replace("    damping: 0.02\n", shapes))
    assert main(["check", "arm.yaml", "--json"]) == 3
    text, errors = capsys.readouterr()
    assert text == ""
    assert "torsion: 1 needs GJ in the section" in errors


def test_checking_an_arm_compiles_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object, **more: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr("flexarm.engine.compile.machine", refuse)
    out(capsys, "korayem-two-link")


def test_a_folder_to_allow_files_of_must_be_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "driven-link", "--allow-files", "nope"]) == 3
    assert "there is no folder nope" in capsys.readouterr().err
