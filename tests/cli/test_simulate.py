"""`flexarm simulate`: exit statuses, the JSON document, changed values, files, interruption."""

import json
import os
import pty
import re
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

from flexarm.cli import main
from flexarm.integrate.choice import choose as effort
from flexarm.integrate.methods import METHODS
from flexarm.io.model_file import loads
from flexarm.runs.read import load_run
from tests.full_disk import full_disk
from tests.patience import without_progress

ARM = """\
flexarm: 1
name: '[red]two links[/red]'
gravity: [0, -9.81, 0]
links:
  - name: upper
    joint: {kind: revolute, name: shoulder, limits: {lower: -90 deg}}
    length: 1
    section: {mass_per_length: 5, EIz: 1000}
    shapes: {kind: loaded, bending_y: 1}
  - name: forearm
    joint: {kind: fixed}
    length: 0.5
    body: {mass: 2, com: [0.25, 0, 0], inertia: [0, 0, 0.04]}
"""
QUICK = ("--t-end", "0.1", "--dt", "0.05")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with one model file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.yaml").write_text(ARM)
    return tmp_path


def simulate(capsys: pytest.CaptureFixture[str], *argv: str, status: int = 0) -> tuple[str, str]:
    """Run the command; return what it printed and said."""
    assert main(["simulate", *argv]) == status
    text, errors = capsys.readouterr()
    return text, errors


def test_methods_are_those_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    _, errors = simulate(capsys, "arm.yaml", "--method", "euler", status=2)
    names = ", ".join(f"'{name}'" for name in ("auto", *METHODS))
    assert f"--method: invalid choice: 'euler' (choose from {names})" in errors


def test_json_is_one_document_with_the_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    text, errors = simulate(capsys, "arm.yaml", *QUICK, "--json")
    assert (text.count("\n"), errors) == (1, "")
    document = json.loads(text, parse_constant=lambda word: pytest.fail(word))
    assert set(document) == {
        "arm", "status", "reason", "t_end", "samples", "method", "why", "rtol", "steps",
        "rejections", "evaluations", "cpu_seconds", "preparation_cpu_seconds", "energy_balance",
        "momentum_balance", "unbalanced", "pending",
        "missed", "q", "validity", "errors", "formulation", "paper", "tip_rotation", "nodes",
        "event_records", "lost", "settling",
    }  # fmt: skip
    assert document["status"] == "finished"
    assert (document["t_end"], document["samples"]) == (0.1, 3)
    assert list(document["q"])[:2] == ["shoulder", "upper.y1"]
    # a rod let go falls freely at first: the angle is about -(3/2)(g/L) t^2/2 of a like rod
    assert -0.12 < document["q"]["shoulder"] < -0.05
    assert set(document["validity"]) == {
        "slope", "strain", "shortening", "quartic_share", "links", "warnings",
    }  # fmt: skip
    assert document["validity"]["strain"] is None


def test_text_says_how_it_went_in_plain_words(capsys: pytest.CaptureFixture[str]) -> None:
    text, errors = simulate(capsys, "arm.yaml", *QUICK, "--method", "dop853")
    assert without_progress(errors) == ""
    assert "\x1b" not in text
    assert text.startswith("[red]two links[/red]: finished at t = 0.1 s\n")
    assert re.search(r"^  tip: +at \(\S+, \S+, 0\) m, 0\.\d+ m from its start$", text, re.MULTILINE)
    assert re.search(
        r"^  deflection: +\S+ mm at most, at the tip of upper, at t = ", text, re.MULTILINE
    )
    assert re.search(r"^  method: +dop853, asked for$", text, re.MULTILINE)
    assert re.search(r"^  cost: .* in \d+ steps, \d+ more rejected; ", text, re.MULTILINE)
    assert re.search(
        r"^  energy: +balance closed to \S+ of the energy exchanged", text, re.MULTILINE
    )
    assert "against" not in text
    text, _ = simulate(capsys, "arm.yaml", *QUICK, "--all")
    assert re.search(r"^upper +\S+ +unknown +\S+ +\S+ *$", text, re.MULTILINE)
    assert re.search(r"^shoulder +-\S+ +rad *$", text, re.MULTILINE)
    assert ", against beams with every stiffness" in text


def test_stopped_run_is_kept_and_exits_with_4(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    argv = ("arm.yaml", "--t-end", "2", "--dt", "0.1", "--out", "run.nc", "--csv", "run.csv")
    document = json.loads(simulate(capsys, *argv, "--json", status=4)[0])
    assert document["status"] == "stopped"
    assert "shoulder: its position reached -1.571" in document["reason"]
    kept = load_run(folder / "run.nc")
    assert (kept.status, kept.reason) == ("stopped", document["reason"])
    assert kept.t[-1] == document["t_end"] < 2
    assert kept.q[-1, 0] == pytest.approx(-1.5707963, abs=1e-6)
    assert len((folder / "run.csv").read_text().splitlines()) == len(kept.t) + 1


def test_set_changes_values_by_name_and_by_number(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    changes = ("upper.section.EIz=0.9 kN m^2", "2.body.mass=3", "1.damping=0.01")
    argv = [word for change in changes for word in ("--set", f"links.{change}")]
    argv += ["--set", "gravity[2]=-1.62", "--set", "payload={mass: 0.5}"]
    simulate(capsys, "arm.yaml", *QUICK, *argv, "--out", "run.nc")
    expected = (
        ARM.replace("EIz: 1000", "EIz: 900").replace("mass: 2", "mass: 3")
        .replace("    length: 1\n", "    length: 1\n    damping: 0.01\n").replace("9.81", "1.62")
    )  # fmt: skip
    assert load_run(folder / "run.nc").model.arm == loads(expected + "payload: {mass: 0.5}\n")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("links.upper.section.EIz=-4", "links[1].section.EIz: must be > 0, got -4"),
        ("links.upper.section.EIx=4", "links[1].section.EIx: unknown key"),
        ("links.upper.length=1 kg", "links[1].length: "),
        (
            "links.elbow.length=1",
            "there is no 'elbow' in links. There are upper, forearm; or 1 to 2",
        ),
        ("links.3.length=1", "there is no '3' in links. There are upper, forearm; or 1 to 2"),
        ("links.upper.length.x=1", "the value of links[1].length is 1.0, which has no 'x' in it"),
        ("links.upper.section.shape={kind: tube, diameter: 1}", "links[1].section"),
    ],
)
def test_set_to_what_no_file_could_say_is_an_invalid_model_that_names_the_key(
    capsys: pytest.CaptureFixture[str], change: str, said: str
) -> None:
    text, errors = simulate(capsys, "arm.yaml", "--set", change, status=3)
    assert text == ""
    assert errors.startswith(f"flexarm: error: --set {change}: {said}")


def test_set_is_blamed_for_what_it_breaks_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    change = "links.forearm.joint.name=shoulder"
    _, errors = simulate(capsys, "arm.yaml", "--set", change, status=3)
    assert f"--set {change}: links[2].name: the name 'shoulder' is used twice" in errors


@pytest.mark.parametrize(
    "argv",
    [
        ["--t-end", "0"],
        ["--t-end", "nan"],
        ["--dt", "2"],
        ["--t-end", "1e-300"],
        ["--dt", "1e-9"],
        ["--rtol", "-1"],
        ["--rtol", "0"],
        ["--rtol", "1e-20"],
        ["--step", "1e-12", "--method", "rk4"],
        ["--method", "euler"],
        ["--step", "1e-3"],
        ["--set", "links"],
        ["--set", "=5"],
        ["--export", "run.txt"],
        ["--set", "gravity=[1, 2"],
        ["--plot", "run.txt"],
    ],
)
def test_wrong_usage_exits_with_2_before_anything_is_read(
    capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    text, errors = simulate(capsys, "no-such-arm", *argv, status=2)
    assert text == ""
    assert f"{argv[0]}" in errors


def test_two_outputs_cannot_be_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = ("--out", "same.nc", "--csv", "./same.nc")
    text, errors = simulate(capsys, "no-such-arm", *outputs, status=2)
    assert text == ""
    assert "same.nc: two outputs have this path" in errors


@pytest.mark.parametrize("value", ["0", "1e-20", "nan", "0.5", "50 %"])
def test_a_tolerance_out_of_range_is_told_the_range(
    capsys: pytest.CaptureFixture[str], value: str
) -> None:
    _, errors = simulate(capsys, "arm.yaml", "--rtol", value, status=2)
    assert "error: --rtol: must be between 1e-12 and 0.1, got " in errors


def test_a_full_disk_does_not_swallow_the_summary(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    argv = ("arm.yaml", *QUICK, "--out", "run.nc", "--csv", "run.csv")
    with full_disk(4000):
        document = json.loads(simulate(capsys, *argv, "--json", status=1)[0])
        (folder / "run.csv").unlink()
        text, errors = simulate(capsys, *argv, status=1)
    assert document["status"] == "finished"
    assert errors.startswith("flexarm: error: run.nc: the file cannot be written: ")
    assert "finished at t = 0.1 s" in text
    assert "run.nc" not in text
    assert "run.csv" in text
    assert [path.name for path in folder.iterdir() if path.name.startswith("run")] == ["run.csv"]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--out", "kept.nc"),
        ("--csv", "kept.csv"),
        pytest.param("--plot", "kept.png", marks=pytest.mark.campaign),
    ],
)
def test_existing_file_is_refused_before_the_run_and_overwritten_if_forced(
    capsys: pytest.CaptureFixture[str], folder: Path, option: str, name: str
) -> None:
    path = folder / name
    path.write_text("mine")
    _, errors = simulate(capsys, "arm.yaml", "--t-end", "1e9", option, name, status=1)
    assert errors.startswith(f"flexarm: error: {name}: the file exists already")
    assert path.read_text() == "mine"
    text, _ = simulate(capsys, "arm.yaml", *QUICK, option, name, "--force")
    assert name in text
    assert path.read_bytes() != b"mine"


def test_a_run_is_not_kept_under_the_ending_of_another_kind(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    _, errors = simulate(capsys, "arm.yaml", "--t-end", "1e9", "--out", "run.mat", status=1)
    assert "'run.mat': runs are stored as NetCDF. Let the name end in .nc" in errors
    assert not (folder / "run.mat").exists()


def test_missing_folder_is_refused_before_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    _, errors = simulate(capsys, "arm.yaml", "--t-end", "1e9", "--out", "no/run.nc", status=1)
    assert errors.startswith("flexarm: error: no/run.nc: there is no folder ")


def test_a_live_run_is_bit_for_bit_the_same(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    argv = ("arm.yaml", "--t-end", "0.2", "--rtol", "1e-8", "--method", "dop853")
    simulate(capsys, *argv, "--out", "plain.nc")
    simulate(capsys, *argv, "--out", "live.nc", "--live")
    plain, live = (load_run(folder / name) for name in ("plain.nc", "live.nc"))
    assert live.status == plain.status == "finished"
    for name in ("t", "q", "v", "u", "tip", "energy", "work_integrals"):
        assert getattr(live, name).tobytes() == getattr(plain, name).tobytes()


def test_live_needs_a_file_and_overwrites_none_unasked(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    _, errors = simulate(capsys, "arm.yaml", *QUICK, "--live", status=2)
    assert "--live: needs --out" in errors
    (folder / "run.nc").write_bytes(b"mine")
    _, errors = simulate(capsys, "arm.yaml", *QUICK, "--out", "run.nc", "--live", status=1)
    assert "--force" in errors
    assert (folder / "run.nc").read_bytes() == b"mine"
    simulate(capsys, "arm.yaml", *QUICK, "--out", "run.nc", "--live", "--force")
    assert load_run(folder / "run.nc").status == "finished"


@pytest.mark.parametrize(
    ("number", "status", "name"),
    [
        (signal.SIGINT, 130, "Ctrl-C"),
        pytest.param(signal.SIGTERM, 143, "SIGTERM", marks=pytest.mark.campaign),
    ],
)
def test_interrupted_run_is_kept_and_says_so(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    number: signal.Signals,
    status: int,
    name: str,
) -> None:
    argv = ("korayem-two-link", "--t-end", "2e4", "--dt", "1", "--rtol", "1e-6", "--out", "run.nc")
    inside, outside = pty.openpty()

    def watch() -> None:
        shown, reached = "", 0.0
        while reached < 10.0 or "times real time" not in shown:  # the progress, on a terminal only
            shown += os.read(inside, 10_000).decode()
            found = re.findall(r"t = (\S+) of 20000 s", shown)
            reached = float(found[-1]) if found else 0.0
        os.kill(os.getpid(), number)
        with suppress(OSError):  # how Linux tells the end of a terminal
            while os.read(inside, 10_000):
                pass

    # Where tests run in the background, this signal may be ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with os.fdopen(outside, "w") as terminal, monkeypatch.context() as patch:
            patch.setenv("TERM", "xterm")
            patch.setenv("COLUMNS", "100")
            patch.setattr(sys, "stderr", terminal)
            # however long it seems to a busy machine
            assert main(["simulate", *argv, "--json", "--yes"]) == status
    finally:
        signal.signal(signal.SIGINT, before)
    watcher.join()
    os.close(inside)
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == "interrupted"
    assert document["reason"].startswith(f"by {name} at t = ")
    kept = load_run(folder / "run.nc")
    assert kept.status == "interrupted"
    assert 10 <= len(kept.t) < 20_000
    assert kept.energy_balance < 1e-3


def test_what_the_samples_miss_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    text, _ = simulate(capsys, "korayem-two-link", "--t-end", "5", "--dt", "0.03")
    assert re.search(r"warning: the deflection of link\d vibrates at about \d+ Hz", text)
    assert "warning" not in simulate(capsys, "korayem-two-link", "--t-end", "1")[0]


def test_what_would_take_hours_needs_a_yes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effort, "NOTED_CPU_TIME", 0.0)
    monkeypatch.setattr(effort, "MOST_CPU_TIME", 1e-9)
    assert main(["simulate", "driven-link", "--t-end", "0.1"]) == 4
    assert "the run would take about" in capsys.readouterr().err
    assert main(["simulate", "driven-link", "--t-end", "0.1", "--yes", "--json"]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("warning: the run would take about")
    assert json.loads(said.out)["status"] == "finished"


@pytest.mark.parametrize(
    ("kind", "package"), [("xlsx", "openpyxl"), ("parquet", "pyarrow"), ("xlsx", "pandas")]
)
def test_a_package_that_an_export_needs_is_told_before_the_run(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    kind: str,
    package: str,
) -> None:
    for name in ("openpyxl", "pyarrow", "pandas"):
        monkeypatch.setitem(sys.modules, name, None if name == package else ModuleType(name))
    monkeypatch.setattr("flexarm.integrate.simulate.simulate", None)
    assert main(["simulate", "driven-link", "--export", f"run.{kind}"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("flexarm simulate: error: --export: ")
    assert (
        f"need the package {package}, which is not installed. Run 'pip install {package}'" in said
    )
    assert not (folder / f"run.{kind}").exists()
