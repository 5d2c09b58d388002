"""`flexarm identify`, and what it tells of servos beside measured inputs."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.signal import lsim

import flexarm
from flexarm.cli import main
from flexarm.fitting.identify import _warn_of_servos
from flexarm.io.model_file import read_value
from tests.fitting.pendulum import OFFSET, TRUTH, noisy

MASS = [
    "--fit", "links.1.body.mass", "--input", "shoulder=torque", "--output", "angle=shoulder",
]  # fmt: skip


@pytest.fixture(scope="module")
def csv(exact: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What perfect sensors would have measured, in a file."""
    path = tmp_path_factory.mktemp("measured") / "run.csv"
    table, header = np.column_stack(list(exact.values())), ",".join(exact)
    np.savetxt(path, table, delimiter=",", header=header, comments="")
    return path


def test_the_command_line_writes_model_report_and_numbers(
    file: Path, exact: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = noisy(exact, 0)
    table = np.column_stack(list(data.values()))
    path = tmp_path / "run.csv"
    np.savetxt(path, table, delimiter=",", header=",".join(data), comments="")
    status = main([
        "identify", str(file), str(path), "--fit", "links.1.body.mass=0.5:3",
        "links.1.joint.friction.viscous", "--input", "shoulder=torque", "--output",
        "angle=shoulder", "--adjust", "angle=offset", "--step", "0.004", "--predict", str(path),
        "--out", str(tmp_path / "fitted.yaml"), "--report", str(tmp_path / "report.html"), "--json",
    ])  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert status == 0
    assert found["estimates"]["links.1.body.mass"]["value"] == pytest.approx(1.3, rel=0.05)
    assert found["predicted"][0]["error"] < 0.1
    assert "data:image/png" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert flexarm.load(tmp_path / "fitted.yaml").name == "pendulum"


@pytest.mark.campaign
def test_the_command_line_knows_filters_of_second_order(
    file: Path, exact: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    t, clean = exact["time_s"], exact["angle_deg"] - np.degrees(OFFSET)
    _, read, _ = lsim(([1.0], [0.1**2, 2 * 0.1, 1.0]), clean, t)
    path = tmp_path / "run.csv"
    table, header = np.column_stack([t, exact["torque_Nm"], read]), ",".join(exact)
    np.savetxt(path, table, delimiter=",", header=header, comments="")
    command = [
        "identify", str(file), str(path), "--fit", *TRUTH, "--input", "shoulder=torque",
        "--output", "angle=shoulder", "--step", "0.004", "--json", "--poles",
    ]  # fmt: skip
    assert main([*command, "angle=2", "--adjust", "angle=lag"]) == 0
    found = json.loads(capsys.readouterr().out)["estimates"]
    for name, value in {**TRUTH, "angle: lag": 0.1}.items():
        assert found[name]["value"] == pytest.approx(value, rel=0.01)
    for wrong, said in {
        ("angle=2",): "--adjust angle=lag",
        ("angle=0", "--adjust", "angle=lag"): "whole number >= 1, got '0'",
        ("angel=2", "--adjust", "angle=lag"): "--poles: there is no output 'angel'",
    }.items():
        assert main([*command, *wrong]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("twice", "said"),
    [
        (
            ["--fit", "links.1.body.mass=1:2"],
            "--fit: links.1.body.mass is given twice: give it once",
        ),
        (["--fit", "links.1.body.mass"], "--fit: links.1.body.mass is given twice: give it once"),
        (["--input", "shoulder=other"], "--input: shoulder is given twice: give it once"),
        (["--output", "angle=shoulder.rate"], "--output: angle is given twice"),
        (["--adjust", "angle=gain", "angle=lag"], "angle is given twice: write angle=gain,lag"),
        (["--poles", "angle=2", "angle=2"], "--poles: angle is given twice"),
        (["--noise", "angle=0.1", "angle=0.2"], "--noise: angle is given twice: give it once"),
        (["--valid", "angle=0:1", "angle=2:3"], "--valid: angle is given twice"),
        (["--input-offset", "shoulder", "shoulder"], "input_offsets: shoulder is named twice"),
    ],
)
def test_what_is_given_twice_is_refused(
    file: Path, csv: Path, capsys: pytest.CaptureFixture[str], twice: list[str], said: str
) -> None:
    assert main(["identify", str(file), str(csv), *MASS, *twice])
    assert said in capsys.readouterr().err


def test_runs_to_predict_that_cannot_be_read_are_told_before_the_fit(
    file: Path, csv: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flexarm.fitting.identify.identify", None)
    assert main(["identify", str(file), str(csv), *MASS, "--predict", "none.csv"]) != 0
    assert "none.csv" in capsys.readouterr().err


def test_a_terminal_is_told_how_far_a_search_is(
    file: Path, csv: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["identify", str(file), str(csv), *MASS, "--step", "0.004", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["converged"]
    # A terminal is written to some times a second, and at the end: not of every run.
    assert re.search(r"whole runs, search \d: run \d+, residual ", err)


@pytest.mark.campaign
def test_a_measured_input_comes_on_top_of_a_servo_which_is_told(
    file: Path, exact: dict[str, Any]
) -> None:
    """A torque that was added to a servo gives the truth, all that the motor did does not."""
    servo = {"links.1.joint.servo": {"stiffness": 20.0, "damping": 2.0}}
    guess = flexarm.change_arm(flexarm.load(file), servo)
    t, torque = exact["time_s"], exact["torque_Nm"]
    table = {"kind": "table", "times": t.tolist(), "values": torque.tolist()}
    run = flexarm.simulate(flexarm.change_arm(guess, TRUTH), t_end=4.0, dt=0.02, rtol=1e-6,
                           inputs={"shoulder": table})  # fmt: skip
    for added, right in ((torque, True), (run.u[:, 0], False)):
        data = {"time_s": t, "torque_Nm": added, "angle_rad": run.q[:, 0]}
        with pytest.warns(UserWarning, match=r"shoulder: the servo.*--set links.1.joint.servo="):
            found = flexarm.identify(guess, data, fit=["links.1.body.mass"],
                                     inputs={"shoulder": "torque"},
                                     outputs={"angle": "shoulder"})  # fmt: skip
        assert (abs(found.values["links.1.body.mass"] - 1.3) < 0.1) == right


def test_a_servo_of_one_of_two_axes_is_told_by_its_own_key() -> None:
    arm = flexarm.Arm.model_validate({"flexarm": 1, "name": "cross", "links": [
        {"joint": {"kind": "universal", "second": {"servo": {"stiffness": 5.0, "damping": 1.0}}},
         "length": 0.5, "body": {"mass": 1.0}}]})  # fmt: skip
    with pytest.warns(UserWarning, match=r"--set links\.1\.joint\.second\.servo=") as told:
        _warn_of_servos(flexarm.build(arm), {"joint1.second": "torque"})
    key = str(told[0].message).partition("--set ")[2].partition("=)")[0]
    assert read_value(flexarm.change_arm(arm, {key: None}), key) is None


@pytest.mark.filterwarnings("default")
def test_the_command_line_tells_of_a_servo_in_a_line(
    file: Path, csv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servo = ["--set", "links.1.joint.servo={stiffness: 2, damping: 1}"]
    assert main(["identify", str(file), str(csv), *servo, *MASS, "--step", "0.004", "--json"]) == 0
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("warning: shoulder: the servo of the model file acts beside")
