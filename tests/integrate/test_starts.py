"""Runs that begin in equilibrium: nothing accelerates, by the arm's own equations."""

import json
from pathlib import Path

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.check.check import check
from flexarm.cli import main
from flexarm.io.model_file import dumps, loads
from flexarm.linear.equilibrium import Equilibrium
from flexarm.model import start_state
from flexarm.runs.run import Run

LINK = (
    "    length: 1\n    section: {{mass_per_length: 1, EIz: 20}}\n"
    "    shapes: {{kind: clamped-free, bending_y: 2}}\n"
)


def arm(joint: str = "", *, top: str = "", gravity: float = -9.81) -> Arm:
    """Make a soft link that starts in equilibrium."""
    return loads(
        f"flexarm: 1\nname: soft\ngravity: [0, {gravity}, 0]\nstart: equilibrium\n{top}links:\n"
        f"  - joint: {{kind: revolute, start: {{position: 0.3}}{joint}}}\n" + LINK.format()
    )


def stays(arm: Arm, *, start: Equilibrium | None = None) -> Run:
    """Run it; tell that no coordinate moves."""
    run = flexarm.simulate(arm, t_end=0.5, rtol=1e-6, start=start)
    assert run.status == "finished", run.reason
    np.testing.assert_allclose(run.q, np.broadcast_to(run.q[0], run.q.shape), atol=2e-8)
    assert np.abs(run.v).max() < 1e-6
    return run


@pytest.mark.parametrize(
    "joint",
    [
        ", servo: {stiffness: 300, damping: 20}",
        ", servo: {stiffness: 300, damping: 20, integral_time: 0.5}",
        ", brake: {closed: true}",
        ", drive: {rotor_inertia: 0.1, stiffness: 200}, servo: {stiffness: 300, damping: 20}",
        ", actuation: free, spring: {stiffness: 80}",
    ],
    ids=["servo", "integral", "brake", "elastic", "free"],
)
def test_an_arm_under_gravity_stays_where_it_starts(joint: str) -> None:
    run = stays(arm(joint))
    assert run.q[0, -2] < -0.05  # the link sags
    stated = flexarm.simulate(arm(joint), t_end=0.5, start="stated")
    assert np.abs(stated.q - stated.q[0]).max() > 0.01


def test_a_servo_gives_way_by_its_load_over_its_stiffness() -> None:
    run = stays(arm(", servo: {stiffness: 300, damping: 20}"))
    moment = flexarm.formulation("composite", run.model).gravity(run.q[0])[0]
    assert run.q[0, 0] == pytest.approx(0.3 - moment / 300, rel=1e-9)
    assert moment > 3


def test_an_input_holds_a_joint_where_it_balances() -> None:
    """A rigid pendulum under a constant torque: sin of its angle from below."""
    pendulum = loads(
        "flexarm: 1\nname: pendulum\ngravity: [0, -9.81, 0]\nstart: equilibrium\nlinks:\n"
        "  - joint: {kind: revolute, start: {position: -1.3},"
        " input: {kind: constant, value: 2}}\n"
        "    length: 1\n    body: {mass: 1, com: [0.5, 0, 0]}"
    )
    run = stays(pendulum)
    assert np.cos(run.q[0, 0]) == pytest.approx(2 / (0.5 * 9.81), rel=1e-9)


def test_a_turning_arm_is_steadily_stretched_and_bent() -> None:
    """The root's strain carries the centrifugal force of all beyond it."""
    turning = loads(
        "flexarm: 1\nname: rotor\ngravity: [0, 0, 0]\nstart: equilibrium\nlinks:\n"
        "  - joint: {kind: revolute, start: {speed: 20}}\n"
        "    length: 1\n    section: {mass_per_length: 2, EIz: 400, EA: 1e6}\n"
        "    shapes: {kind: clamped-free, bending_y: 1, stretch: 2}\n"
        "    tip_piece: {length: 0.01, body: {mass: 0.5, com: [0, 0.05, 0]}}"
    )
    run = flexarm.simulate(turning, t_end=0.3, rtol=1e-6)
    assert run.status == "finished", run.reason
    np.testing.assert_allclose(run.v[:, 0], 20.0, rtol=1e-7)
    assert np.abs(run.q[:, 1:] - run.q[0, 1:]).max() < 1e-7
    assert abs(run.q[0, 1]) > 1e-4
    force = 20**2 * (2 * 0.99**2 / 2 + 0.5 * 0.99)
    found = float(run.section_forces([0.0]).force.sel(axis="x")[0, 0, 0])
    assert found == pytest.approx(force, rel=0.15)


def test_a_law_begins_with_its_joints_where_they_are_stated() -> None:
    run = flexarm.simulate(arm(), t_end=0.01, control=flexarm.Sampled(lambda t, q, v: [0.0], 0.01))
    assert run.q[0, 0] == 0.3
    still = np.zeros(3)
    force = flexarm.formulation("composite", run.model).inverse_dynamics(run.q[0], still, still)
    assert np.abs(force[1:]).max() < 1e-9 * abs(force[0])


def test_an_equilibrium_that_was_found_is_a_start() -> None:
    held = arm(top="", joint=", brake: {closed: true}")
    found = flexarm.equilibrium(held, joints={"joint1": 0.5})
    run = stays(held, start=found)
    np.testing.assert_array_equal(run.q[0], found.point.q)


def test_where_nothing_balances_it_is_said() -> None:
    pushed = arm(", input: {kind: constant, value: 100}")
    with pytest.raises(flexarm.SimulationError, match="start: no equilibrium was found"):
        flexarm.simulate(pushed, t_end=0.1)
    with pytest.raises(flexarm.SimulationError, match=r"start: must be a Run.*got 'rest'"):
        flexarm.simulate(pushed, t_end=0.1, start="rest")  # type: ignore[arg-type]


def test_the_command_line_begins_there_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text(dumps(arm(", brake: {closed: true}")), encoding="utf-8")
    found = []
    for word in ("equilibrium", "stated"):
        assert main(["simulate", str(file), "--t-end", "0.03", "--start", word, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out)["q"]["link1.y1"])
    assert found[0] == pytest.approx(stays(arm(", brake: {closed: true}")).q[0, 1], rel=1e-6)
    assert abs(found[1] - found[0]) > 0.01


CURVED = LINK.format() + "    start_curve: {stations: [0, 0.25, 0.5, 0.75, 1], y: %s}\n"


def curved(values: list[float]) -> Arm:
    """Make a link that starts in a curve."""
    return loads(
        "flexarm: 1\nname: curved\ngravity: [0, 0, 0]\nlinks:\n"
        "  - joint: {kind: revolute, brake: {closed: true}}\n" + CURVED % values
    )


def test_a_link_starts_in_a_curve_that_its_shapes_have() -> None:
    """The first clamped-free mode, from its formula: the link vibrates at its frequency alone."""
    root = 1.8751040687119611
    x = np.linspace(0, 1, 5)
    mixed = (np.cosh(root) + np.cos(root)) / (np.sinh(root) + np.sin(root))
    shape = np.cosh(root * x) - np.cos(root * x) - mixed * (np.sinh(root * x) - np.sin(root * x))
    run = flexarm.simulate(curved((0.01 / shape[-1] * shape).tolist()), t_end=0.5)
    tip = run.dataset.deflection.sel(station=1, axis="y")
    assert float(tip[0, 0]) == pytest.approx(0.01, rel=1e-4)
    assert abs(run.q[0, 2]) < 1e-9 * abs(run.q[0, 1])
    notices = check(curved((0.01 * shape).tolist())).notices
    assert not any(each.code == "start-curve" for each in notices)


def test_what_the_shapes_leave_of_a_curve_is_told() -> None:
    arm = curved([0.0, 0.01, -0.01, 0.01, -0.01])
    wanted, stations = (0.0, 0.01, -0.01, 0.01, -0.01), np.linspace(0, 1, 5)
    found = flexarm.fit_curve(flexarm.build(arm), "link1", y=wanted, stations=stations)
    assert found.residual > 0.1
    notice = next(each for each in check(arm).notices if each.code == "start-curve")
    assert f"leave {found.residual:.1%} of the curve" in notice.message
    start = start_state(flexarm.build(arm))[0]
    np.testing.assert_allclose(start[1:], list(found.amplitudes.values()))
    smooth = flexarm.fit_curve(flexarm.build(arm), "link1", y=lambda x: 0.01 * x**2)
    assert 0 < smooth.residual < 0.05
