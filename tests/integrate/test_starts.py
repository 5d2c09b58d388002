"""Runs that begin in equilibrium: nothing accelerates, by the arm's own equations."""

import json
from pathlib import Path

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.check.check import check
from flexarm.cli import main
from flexarm.control import start_at
from flexarm.io.model_file import dumps, loads
from flexarm.linear.equilibrium import Equilibrium
from flexarm.model import start_state
from flexarm.runs.run import Run
from flexarm.spatial import base_rotation_matrix

LINK = (
    "    length: 1\n    section: {{mass_per_length: 1, EIz: 20}}\n"
    "    shapes: {{kind: clamped-free, bending_y: 2}}\n"
)


def arm(joint: str = "", *, top: str = "", gravity: float = -9.81) -> Arm:
    """Make a soft link that starts in equilibrium."""
    return loads(
        f"flexarm: 1\nname: soft\ngravity: [0, {gravity}, 0]\nstiffening: false\n"
        f"start: equilibrium\n{top}links:\n"
        f"  - joint: {{kind: revolute, start: {{position: 0.3}}{joint}}}\n" + LINK.format()
    )


def stays(arm: Arm, *, start: Equilibrium | None = None) -> Run:
    """Run it; tell that no coordinate moves."""
    run = flexarm.simulate(arm, t_end=0.5, rtol=1e-6, start=start)
    assert run.status == "finished", run.reason
    np.testing.assert_allclose(run.q, np.broadcast_to(run.q[0], run.q.shape), atol=2e-8)
    assert np.abs(run.v).max() < 1e-6
    return run


@pytest.mark.few(2)
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


def test_a_target_that_moves_off_at_time_0_starts_as_one_that_stands() -> None:
    ramp = "{{kind: table, times: [0, 1], values: [0.3, {}]}}"
    servo = ", servo: {{stiffness: 300, damping: 20, target: {}}}"
    moves, stands = (
        flexarm.simulate(arm(servo.format(ramp.format(end))), t_end=0.01, rtol=1e-6)
        for end in (1.3, 0.3)
    )
    assert moves.q[0] == pytest.approx(stands.q[0], abs=1e-12)
    assert moves.u[0, 0] == pytest.approx(stands.u[0, 0] + 20 * 1.0, rel=1e-9)


def test_a_joint_that_turns_is_held_at_its_speed_by_its_integral() -> None:
    """Its target stands, and is where the joint starts: the integral makes up for the damping."""
    turning = loads(
        "flexarm: 1\nname: turns\ngravity: [0, 0, 0]\nstart: equilibrium\nlinks:\n"
        "  - joint: {kind: revolute, start: {speed: 0.5},"
        " servo: {stiffness: 300, damping: 20, integral_time: 0.5}}\n"
        "    length: 1\n    body: {mass: 1, com: [0.5, 0, 0]}"
    )
    run = flexarm.simulate(turning, t_end=0.01, rtol=1e-6)
    assert run.v[0, 0] == 0.5
    assert run.u[0, 0] == pytest.approx(0.0, abs=1e-9)


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
    found = flexarm.equilibrium(held, at={"joint1": 0.5})
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
        "flexarm: 1\nname: curved\ngravity: [0, 0, 0]\nstiffening: false\nlinks:\n"
        "  - joint: {kind: revolute, brake: {closed: true}}\n" + CURVED % values
    )


@pytest.mark.usefixtures("without_costs")
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


@pytest.mark.usefixtures("without_costs")
def test_what_the_shapes_leave_of_a_curve_is_told() -> None:
    arm = curved([0.0, 0.01, -0.01, 0.01, -0.01])
    wanted, stations = (0.0, 0.01, -0.01, 0.01, -0.01), np.linspace(0, 1, 5)
    found = flexarm.fit_curve(flexarm.build(arm), "link1", y=wanted, stations=stations)
    assert found.residual > 0.1
    notice = next(each for each in check(arm).notices if each.code == "start-curve")
    assert f"cannot represent {found.residual:.1%} of the curve" in notice.message
    start = start_state(flexarm.build(arm))[0]
    np.testing.assert_allclose(start[1:], list(found.amplitudes.values()))
    smooth = flexarm.fit_curve(flexarm.build(arm), "link1", y=lambda x: 0.01 * x**2)
    assert 0 < smooth.residual < 0.05


GEAR = "rotor_inertia: 2e-5, gear_ratio: 100"
VOLTAGE = "motor: {input: voltage, torque_constant: 0.05, resistance: 1"
SERVO = "servo: {stiffness: 300, damping: 20"
GAP = f"{SERVO}}}, drive: {{{GEAR}, stiffness: 3000, damping: 4, backlash: 0.01}}"
WOUND = f"drive: {{{GEAR}, {VOLTAGE}, inductance: 5e-3}}}}, {SERVO}}}"
WEIGHT = 9.81  # N m, of the rigid link about its joint while it is level


def level(joint: str, *, kind: str = "revolute", gravity: str = "[0, -9.81, 0]") -> Arm:
    """Make a rigid link that starts level, in equilibrium if there is one."""
    return loads(
        f"flexarm: 1\nname: level\ngravity: {gravity}\nstart: equilibrium\nlinks:\n"
        f"  - joint: {{kind: {kind}, name: j, {joint}}}\n    length: 1\n"
        "    body: {mass: 2, com: [0.5, 0, 0], inertia: [0.01, 0.2, 0.2]}\n"
    )


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("joint", "angle"),
    [
        ("input: {kind: constant, value: 5}", -np.arccos(5 / WEIGHT)),
        ("actuation: free", -np.pi / 2),
        ("actuation: free, start: {position: 0.5}", -np.pi / 2),
        ("actuation: free, start: {position: -0.1}", -np.pi / 2),
        (f"{SERVO}, effort: 5}}", -np.arccos(5 / WEIGHT)),
        (f"drive: {{{GEAR}, {VOLTAGE}, current_limit: 1}}}}, {SERVO}}}", -np.arccos(5 / WEIGHT)),
        (f"{SERVO}, integral_time: 0.5, period: 0.002, delay: 0.003}}", 0.0),
        (WOUND.replace("damping: 20", "damping: 20, integral_time: 0.5"), 0.0),
    ],
)
def test_joints_go_downhill_to_the_nearest_stable_place(joint: str, angle: float) -> None:
    run = stays(level(joint))
    assert run.q[0, 0] == pytest.approx(angle, abs=1e-8)


def test_a_pendulum_does_not_start_on_its_head() -> None:
    run = stays(level(f"actuation: free, start: {{position: {np.pi / 2}}}"))
    assert abs(run.q[0, 0] - np.pi / 2) == pytest.approx(np.pi, abs=1e-8)


@pytest.mark.parametrize(
    "joint", [GAP, WOUND, f"{SERVO}, period: 0.002, delay: 0.003}}"], ids=["gap", "coil", "delay"]
)
def test_a_servo_balances_the_load_from_the_first_instant(joint: str) -> None:
    run = stays(level(joint))
    motor, link = run.q[0, 0], run.q[0, -1]
    assert 300 * -motor == pytest.approx(WEIGHT * np.cos(link), rel=1e-7)
    if joint == WOUND:
        assert run.drives is not None
        amperes = WEIGHT * np.cos(link) / (0.05 * 100)
        assert run.drives.states["j.current"][0] == pytest.approx(amperes, rel=1e-7)


def test_a_servo_that_integrates_holds_what_it_sees_at_its_target() -> None:
    """Its motor is ahead by what the transmission gives way; a closed brake keeps it away."""
    drive = f"drive: {{{GEAR}, stiffness: 3000, damping: 4}}"
    servo = f"{SERVO}, integral_time: 0.5, side: link, target: {{kind: constant, value: 0.4}}}}"
    run = stays(level(f"{drive}, {servo}"))
    np.testing.assert_allclose(run.q[0], [0.4 + WEIGHT * np.cos(0.4) / 3000, 0.4], atol=1e-10)
    assert stays(level(f"{servo}, brake: {{closed: true}}")).q[0, 0] == 0


def test_a_gap_closes_on_the_side_that_the_load_presses() -> None:
    found = flexarm.equilibrium(level(GAP))
    angle = found.deflections()["j"]
    assert 3000 * (-angle - 0.005) == pytest.approx(WEIGHT * np.cos(angle), rel=1e-9)
    assert found.holding()["j"] == pytest.approx(WEIGHT * np.cos(angle), rel=1e-9)


def test_what_falls_or_is_too_weak_is_refused() -> None:
    falls = level("actuation: free", kind="prismatic", gravity="[0, 0, -9.81]")
    with pytest.raises(flexarm.SimulationError, match="start: no equilibrium was found"):
        flexarm.simulate(falls, t_end=0.1)
    motor = f"drive: {{{GEAR}, {VOLTAGE}, current_limit: 1}}}}"
    weak = level(f"{motor}, {SERVO}, integral_time: 0.5}}")
    with pytest.raises(flexarm.SimulationError, match=r"j needs 1\.962 .* current_limit is 1"):
        flexarm.simulate(weak, t_end=0.1)
    weak = level(f"{SERVO}, integral_time: 0.5, effort: 5}}")
    with pytest.raises(flexarm.SimulationError, match=r"j needs 9\.81 .* servo's limit is 5"):
        flexarm.simulate(weak, t_end=0.1)


def test_currents_and_bristles_go_on_with_a_run() -> None:
    lugre = "friction: {kind: lugre, coulomb: 3, bristle_stiffness: 1000, bristle_damping: 1}"
    target = f"{SERVO}, target: {{kind: constant, value: 0}}"
    arm = level(f"{WOUND}, {lugre}".replace(SERVO, target))
    whole = flexarm.simulate(arm, t_end=0.04, dt=0.02, rtol=1e-8, start="stated")
    half = flexarm.simulate(arm, t_end=0.02, dt=0.02, rtol=1e-8, start="stated")
    second = flexarm.simulate(arm, t_end=0.02, dt=0.02, rtol=1e-8, start=half)
    assert whole.drives is not None
    assert second.drives is not None
    assert set(second.drives.states) == {"j.current", "j.bristle"}
    for name, values in second.drives.states.items():
        assert abs(values[0]) > 1e-5
        np.testing.assert_allclose(values, whole.drives.states[name][1:], rtol=1e-4)


def test_start_at_replaces_the_equilibrium_of_the_file() -> None:
    """Explicit coordinates count, whatever ``start`` says."""
    here = arm(", brake: {closed: true}")
    model = flexarm.build(here)
    q = np.array([0.7, 0.02, -0.001])
    run = flexarm.simulate(start_at(here, model, q), t_end=0.01)
    np.testing.assert_array_equal(run.q[0], q)
    assert not run.v[0].any()


def test_start_at_turns_a_spherical_joint() -> None:
    """The link points as its angles say, and its spin is 0."""
    ball = loads(
        "flexarm: 1\nname: ball\nlinks:\n  - name: a\n"
        "    joint: {kind: spherical, start: {rotation: [0.5, 0.2, 0.1], spin: [0, 1, 2]}}\n"
        + LINK.format()
    )
    model, q = flexarm.build(ball), np.array([0.4, -0.9, 1.2, 0.01, 0.0])
    there = flexarm.build(start_at(ball, model, q))
    first, v = start_state(there)
    assert not v.any()
    wanted = model.start_references @ base_rotation_matrix(q[:3])
    np.testing.assert_allclose(there.start_references, wanted, atol=1e-15)
    np.testing.assert_array_equal(first, [0, 0, 0, 0.01, 0.0])
