"""`flexarm modes`: the text, the JSON document, ranges, figures, what is refused."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from flexarm.cli import main
from tests.patience import without_progress

ARM = """\
flexarm: 1
name: two links
gravity: [0, -9.81, 0]
links:
  - joint: {kind: revolute, start: {position: -90 deg}}
    length: 1
    section: {mass_per_length: 5, EIz: 1000}
    damping: 0.01
    shapes: {kind: loaded, root: held, bending_y: 2}
  - joint: {kind: revolute, name: elbow}
    name: forearm
    length: 1
    section: {mass_per_length: 5, EIz: 1000}
    shapes: {kind: loaded, root: held, bending_y: 2}
"""


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write the arm into a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.yaml").write_text(ARM, encoding="utf-8")
    return "arm.yaml"


def document(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    """Run the command and read its one document."""
    assert main(["modes", *argv, "--json"]) == 0
    text, errors = capsys.readouterr()
    assert without_progress(errors) == ""
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_document_names_every_mode_with_its_numbers(
    arm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = document(capsys, arm, "--joints", "locked")
    assert found["joints"] == {"joint1": "locked", "elbow": "locked"}
    names = [mode["name"] for mode in found["modes"]]
    assert names[0] == "link 1 bending y 1"
    assert names[1:] == [
        "link 1+forearm bending y 2", "link 1+forearm bending y 3", "forearm bending y 3",
    ]  # fmt: skip
    for mode in found["modes"]:
        assert mode["frequency_rad_s"] == pytest.approx(2 * math.pi * mode["frequency_hz"])
        assert sum(mode["participation"].values()) == pytest.approx(1)
        assert set(mode["participation"]) == {"link1.y1", "link1.y2", "forearm.y1", "forearm.y2"}
    # The link's ratio is at the frequency of its own mode: slower ones of the arm have less.
    assert 0 < found["modes"][0]["damping_ratio"] < 0.01


def test_joints_are_free_unless_said_or_placed(
    arm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    free = document(capsys, arm)
    assert set(free["joints"].values()) == {"free"}
    assert free["modes"][0]["name"] == "joint 1 swing"
    placed = document(capsys, arm, "--joints", "elbow=90 deg", "--set", "gravity=[0,0,0]")
    assert set(placed["joints"].values()) == {"locked"}
    assert placed["q"]["elbow"] == pytest.approx(math.pi / 2)
    assert placed["modes"][0]["frequency_hz"] == pytest.approx(2.6374331, rel=1e-4)
    mixed = document(capsys, arm, "--joints", "free", "elbow=locked", "joint1=0")
    assert mixed["joints"] == {"joint1": "free", "elbow": "locked"}
    assert mixed["u"]["joint1"] == pytest.approx(10 * 9.81, rel=1e-3)


def test_a_range_follows_the_modes_and_draws_them(
    arm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [arm, "--joints", "locked", "elbow=0:90deg:4", "--plot", "map.svg"]
    found = document(capsys, *argv)
    swept = found["sweep"]
    assert (swept["of"], swept["joints"], swept["units"]) == ("position", ["elbow"], ["rad"])
    assert swept["values"][0] == pytest.approx([0, math.pi / 6, math.pi / 3, math.pi / 2])
    assert [len(track["frequency_hz"]) for track in swept["modes"]] == [4] * 4
    assert Path("map.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert main(["modes", *argv]) == 1
    assert "map.svg: the file exists already" in capsys.readouterr().err
    speeds = document(capsys, arm, "--speed", "joint1=0:5:3", "--set", "gravity=[0,0,0]")["sweep"]
    assert speeds["units"] == ["rad/s"]
    first = speeds["modes"][0]["frequency_hz"]
    assert first[0] < first[1] < first[2]


def test_the_text_has_a_line_per_mode(arm: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["modes", arm, "--joints", "locked", "elbow=0:1:3"]) == 0
    text = capsys.readouterr().out
    assert "1 link 1 bending y 1 vibration" in " ".join(text.split())
    assert "Modes followed" in text
    assert "elbow [rad]" in text


def test_the_text_says_where_joints_are_and_that_servos_are_left_out(
    arm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    servo = ("--set", "links.1.joint.servo={stiffness: 100, damping: 10}")
    assert main(["modes", arm, *servo, "--joints", "free", "elbow=0.5rev"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "joints: joint1 free at -90 deg, elbow free at 180 deg about: rest" in text
    assert "note: servos are left out (joint1); --joints locked" in text
    assert main(["modes", arm, *servo, "--joints", "free", "--json"]) == 0
    (note,) = json.loads(capsys.readouterr().out)["notes"]
    assert note.startswith("servos are left out (joint1)")
    assert main(["modes", arm, *servo, "--joints", "locked", "joint1=0"]) == 0
    text = capsys.readouterr().out
    assert "joints: joint1 locked, elbow locked\n" in text
    assert "servos" not in text


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--joints", "loose"], "--joints: must be free, locked or NAME=ANGLE, got 'loose'"),
        (["--joints", "wrist=1"], "there is no joint 'wrist'. The joints are joint1, elbow"),
        (["--joints", "elbow=3 kg"], "elbow"),
        (["--joints", "elbow=0:1:x"], "a range must be FROM:TO or FROM:TO:COUNT"),
        (["--joints", "elbow=0:1:1"], "a range must have 2 to 10000 points, got 1"),
        (
            ["--speed", "joint1=0:1", "--joints", "elbow=0:1"],
            "the modes can be computed over a range of one speed (--speed)",
        ),
        (["--joints", "free", "locked"], "--joints: the joints cannot be both free and locked"),
        (["--joints", "elbow=0", "--joints", "elbow=1"], "--joints: elbow is given twice"),
        (["--joints", "elbow=free", "elbow=locked"], "--joints: elbow is given twice"),
        (["--speed", "joint1=1", "joint1=2"], "--speed: joint1 is given twice"),
        (["--plot", "modes.txt"], "--plot: must end in .png, .svg, .pdf"),
    ],
)
def test_wrong_usage_exits_2_and_says_why(
    arm: str, capsys: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    assert main(["modes", arm, *argv]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("options", "damps", "says"),
    [
        ([], False, "left out"),
        (["--friction", "secant", "--friction-speed", "2"], True, "counts as 0.1273 N m s/rad"),
        (["--friction", "tangent"], True, "counts as 200 N m s/rad"),
    ],
)
def test_coulomb_friction_is_as_asked_and_told(
    options: list[str], damps: bool, says: str, arm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rubbing = (arm, "--set", "links.forearm.joint.friction={coulomb: 0.2}", *options)
    found = document(capsys, *rubbing)
    assert len(found["notices"]) == 1
    assert found["notices"][0].startswith("elbow: Coulomb friction of 0.2 N m")
    assert says in found["notices"][0]
    smooth = document(capsys, arm)
    assert smooth["notices"] == []
    pairs = zip(found["modes"], smooth["modes"], strict=False)
    changed = [a["eigenvalue"] != pytest.approx(b["eigenvalue"], rel=1e-9) for a, b in pairs]
    assert any(changed) == damps
    assert main(["modes", *rubbing]) == 0
    assert says in capsys.readouterr().out
