"""`check` reports what `simulate` refuses, in the same words, with the line of the model file."""

from pathlib import Path

import pytest

import flexarm
from flexarm.check.check import check
from flexarm.cli import main
from flexarm.errors import SimulationError
from flexarm.io.model_file import loads

ARM = """\
flexarm: 1
name: arm
gravity: [0, -9.81, 0]
{top}
links:
  - name: boom
    joint: {{name: shoulder, kind: revolute{joint}}}
    length: 1
    body: {{mass: 2, com: [0.5, 0, 0], inertia: [0, 0, 0.2]}}
{events}
"""
SERVO = ", servo: {stiffness: 300, damping: 20, integral_time: 1, effort: 2}"
SATELLITE = (
    "bodies: [{name: sat, body: {mass: 5, com: [1, 0, 0], inertia: [2, 3, 4]}, "
    "position: [3, 0, 0], spin: [1.0e-9, 1, 1.0e-9]}]"
)
LIMITED = ", start: {position: 2}, limits: {upper: 1}"
WEAK = ("start: equilibrium", SERVO, "")
NEAR = ("", "", f"{SATELLITE}\nevents: [{{when: {{quantity: distance.sat, below: 1}}, end: true}}]")
REFUSED = {
    "beyond a limit": (("", LIMITED, ""), "links[1].joint"),
    "no equilibrium": (WEAK, "start"),
    "an end at 0": (("", "", "events: [{at: 0, end: true}]"), "events[1]"),
    "out of reach": (("", "", f"{SATELLITE}\nevents: [{{at: 0, capture: sat}}]"), "bodies[1]"),
    "no path": (NEAR, "events[1].when"),
}


def text(top: str, joint: str, events: str) -> str:
    """Write a model file."""
    return ARM.format(top=top, joint=joint, events=events)


@pytest.mark.few(3)
@pytest.mark.parametrize("case", REFUSED)
def test_what_simulate_refuses_is_a_notice(case: str) -> None:
    parts, place = REFUSED[case]
    arm = loads(text(*parts))
    with pytest.raises(SimulationError) as error:
        flexarm.simulate(arm, t_end=0.1)
    (notice,) = [each for each in check(arm).notices if each.code == "refused"]
    assert notice.place == place
    said = str(error.value).removeprefix(f"{place}: ")
    assert f"{notice.message}. {notice.remedy}" == f"simulate refuses the arm: {said}"


def test_an_arm_that_simulates_is_not_refused() -> None:
    arm = loads(text("start: equilibrium", SERVO.replace("effort: 2", "effort: 20"), ""))
    assert flexarm.simulate(arm, t_end=0.1).status == "finished"
    assert not [each for each in check(arm).notices if each.code == "refused"]


def test_the_command_names_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text(text(*REFUSED["no path"][0]))
    assert main(["check", str(file)]) == 0
    line = 1 + file.read_text().splitlines().index(NEAR[2].splitlines()[1])
    assert f"warning: events[1].when (line {line}): simulate refuses" in capsys.readouterr().out
