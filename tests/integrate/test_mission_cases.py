"""Missions at their edges: what holds through events, impulses on brakes, names, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import SimulationError
from flexarm.io.model_file import load
from flexarm.runs.plot import pick
from tests.integrate.mission_arms import one_joint, parsed


def constant(value: float) -> dict[str, Any]:
    return {"kind": "constant", "value": value}


BALL = {"name": "ball", "body": {"mass": 2.0}, "position": [1, 0, 0], "velocity": [0, -3, 0],
        "reach": 5.0}  # fmt: skip


def test_a_servo_without_a_target_holds_its_start_through_all_events() -> None:
    arm = one_joint(
        servo={"stiffness": 10.0, "damping": 5.0}, input=constant(1.0), brake={"closed": False},
        events=[{"at": t, "release": ["hinge"]} for t in (5.0, 10.0, 15.0)],
    )  # fmt: skip
    assert flexarm.simulate(arm, t_end=20.0).q[-1, 0] == pytest.approx(0.1, rel=1e-3)


def test_a_brake_that_slips_is_closed_from_the_start() -> None:
    run = flexarm.simulate(one_joint(start={"speed": 2.0}, brake={"effort": 0.5}), t_end=8.0)
    assert run.q[-1, 0] == pytest.approx(4.0)
    assert [each.t for each in run.event_records] == pytest.approx([4.0])


@pytest.mark.parametrize("speed", [0.0, 0.5])
def test_a_brake_that_slips_holds_no_impulse(speed: float) -> None:
    """The joint leaves a capture as if it were free, and slips from there."""
    run = flexarm.simulate(
        one_joint(
            start={"speed": speed}, brake={"effort": 0.1}, bodies=[BALL],
            events=[{"at": 0.01, "capture": "ball"}],
        ),
        t_end=0.02, dt=0.01, rtol=1e-8,
    )  # fmt: skip
    place, rate = speed * 0.01 - 0.05 * (0.01**2 if speed else 0.0), run.v[1, 0]
    height = -0.03
    momentum = (speed - (0.1 * 0.01 if speed else 0.0)) * 1.0 - 2.0 * 3.0
    assert rate == pytest.approx(momentum / (1.0 + 2.0 * (1 + height**2)), rel=1e-3)
    assert abs(place) < 0.01
    assert run.v[-1, 0] > rate
    assert run.energy_balance < 1e-8


def test_joints_may_have_the_names_of_quantities() -> None:
    ends = []
    for name in ("tip", "distance", "payload"):
        data = {
            "flexarm": 1, "name": "names", "gravity": [0, 0, 0], "payload": {"mass": 0.5},
            "links": [{"joint": {"kind": "revolute", "name": name, "brake": {"effort": 0.5},
                                 "input": {"kind": "step", "value": 0.0, "time": 0.5,
                                           "before": 1.0}},
                       "length": 1.0, "body": {"mass": 3.0, "inertia": [0.1, 0.1, 0.5]}}],
        }  # fmt: skip
        ends.append(flexarm.simulate(parsed(data), t_end=3.0).v[-1, 0])
    assert ends == [0.0, 0.0, 0.0]


def test_a_joint_called_payload_is_looked_out_for() -> None:
    data = {
        "flexarm": 1, "name": "names", "gravity": [0, 0, 0], "payload": {"mass": 0.5},
        "links": [{"joint": {"kind": "revolute", "name": "payload", "start": {"speed": 1.0}},
                   "length": 1.0, "body": {"mass": 3.0, "inertia": [0.1, 0.1, 0.5]}}],
        "events": [{"when": {"quantity": "payload", "above": 0.5}, "end": True}],
    }  # fmt: skip
    assert flexarm.simulate(parsed(data), t_end=3.0).t[-1] == pytest.approx(0.5)


def test_the_limit_of_a_servo_is_on_the_motors_side_of_a_gear_with_its_inputs() -> None:
    arm = one_joint(
        drive={"rotor_inertia": 1e-4, "gear_ratio": 100.0, "motor_torque": True},
        limits={"effort": 10.0},
        servo={"stiffness": 1e4, "damping": 100.0, "target": constant(1.0)},
    )
    run = flexarm.simulate(arm, t_end=0.1)
    assert np.abs(run.u).max() == pytest.approx(0.1)
    assert not run.validity.warnings


def test_a_lock_holds_a_joint_with_a_servo_and_a_brake() -> None:
    servo, brake = {"stiffness": 10.0, "damping": 1.0}, {"effort": 0.2, "closed": False}
    arm = one_joint(servo=servo, brake=brake, start={"speed": 1.0})
    run = flexarm.simulate(arm, t_end=1.0, locks={"hinge": [(0.2, 0.6)]}, dt=0.1)
    assert np.ptp(run.q[3:6]) == 0.0
    assert run.energy_balance < 1e-6


def test_a_servo_follows_a_rate_and_a_position_again() -> None:
    arm = one_joint(
        servo={"stiffness": 40.0, "damping": 20.0},
        events=[
            {"at": 0.5, "servo": {"hinge": {"rate": constant(0.1)}}},
            {"at": 2.0, "servo": {"hinge": {"target": constant(0.3)}}},
        ],
    )
    run = flexarm.simulate(arm, t_end=6.0, dt=0.1)
    assert run.v[19, 0] == pytest.approx(0.1, rel=1e-3)
    assert run.q[-1, 0] == pytest.approx(0.3, rel=1e-3)


def test_a_body_captured_by_its_distance_is_let_go() -> None:
    near = BALL | {"position": [np.cos(1), np.sin(1), 0.0], "velocity": [0, 0, 0]}
    arm = one_joint(
        start={"speed": 1.0}, bodies=[near],
        events=[{"when": {"quantity": "distance.ball", "below": 0.05}, "capture": "ball"},
                {"at": 1.5, "let_go": "ball"}],
    )  # fmt: skip
    run = flexarm.simulate(arm, t_end=2.0)
    assert run.status == "finished"
    assert [each.what for each in run.event_records] == ["capture ball", "let go ball"]
    assert run.energy_balance < 1e-9


def test_a_table_of_an_event_counts_from_it() -> None:
    table = {"kind": "table", "times": [0.0, 0.5], "values": [0.0, 0.5]}
    arm = one_joint(
        servo={"stiffness": 10.0, "damping": 5.0},
        events=[{"at": 1.6, "servo": {"hinge": {"target": table}}}],
    )
    assert flexarm.simulate(arm, t_end=2.0).status == "finished"


def test_gains_of_a_servo_with_a_csv_target_change(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("time,value\n0,0\n5,0.5\n")
    (tmp_path / "arm.yaml").write_text(
        "flexarm: 1\nname: csv\ngravity: [0, 0, 0]\nlinks:\n  - joint:\n      kind: revolute\n"
        "      name: hinge\n      servo:\n        stiffness: 10\n        damping: 5\n"
        "        target: {kind: csv, file: p.csv}\n    length: 1\n"
        "    body: {mass: 3, inertia: [0.1, 0.1, 0.5]}\n"
        "events:\n  - {at: 1 s, servo: {hinge: {stiffness: 40}}}\n"
    )
    run = flexarm.simulate(load(tmp_path / "arm.yaml"), t_end=4.0)
    assert run.q[-1, 0] == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize("before", [1e-12, 5e-13])
def test_what_is_seen_at_an_instant_loses_nothing(before: float) -> None:
    arm = one_joint(
        start={"speed": 1.0}, brake={"closed": False},
        events=[{"when": {"quantity": "hinge", "above": 1.0 - before}, "release": ["hinge"]},
                {"at": 1.0, "brake": ["hinge"]}],
    )  # fmt: skip
    assert flexarm.simulate(arm, t_end=2.0).v[-1, 0] == 0.0
    assert flexarm.simulate(arm, t_end=1.0).status == "finished"


def test_what_a_later_leg_cannot_do_keeps_the_run() -> None:
    arm = one_joint(
        servo={"stiffness": 10.0, "damping": 5.0},
        events=[{"at": 0.5, "servo": {"hinge": {"stiffness": 1e7, "damping": 1e4}}}],
    )
    run = flexarm.simulate(arm, t_end=1.0, method="rk4", step=0.01)
    assert run.status == "stopped"
    assert run.reason.startswith("at t = 0.5 s: step: 0.01 s is too large")
    assert run.t[-1] == 0.5


def test_refusals() -> None:
    with pytest.raises(SimulationError, match="ends the run at time 0"):
        flexarm.simulate(one_joint(events=[{"at": 0.0, "end": True}]), t_end=1.0)
    empty = {"mass": 0.0, "inertia": [0.1, 0.1, 0.1]}
    arm = one_joint(events=[{"at": 0.5, "let_go": "payload"}])
    arm = arm.model_copy(update={"payload": flexarm.arm.Payload.model_validate(empty)})
    assert flexarm.simulate(arm, t_end=1.0).energy_balance < 1e-9


def test_picked_samples_keep_their_legs() -> None:
    arm = one_joint(
        start={"speed": 1.0}, brake={"closed": False},
        events=[{"at": 0.5, "brake": ["hinge"]}, {"at": 1.0, "release": ["hinge"]}],
    )  # fmt: skip
    run = flexarm.simulate(arm, t_end=2.0)
    few = pick(run, np.arange(0, len(run.t), 10))
    assert [float(few.t[phase.first]) for phase in few.phases] == pytest.approx(
        [0.0, 0.5, 1.0], abs=0.05
    )


def test_an_end_with_a_capture_is_after_the_impact() -> None:
    arm = flexarm.example_arm("driven-link")
    place = flexarm.simulate(arm, t_end=0.2, rtol=1e-6).tip[-1].tolist()
    body = {"name": "sat", "body": {"mass": 1.0}, "position": place, "reach": 0.1}
    ends, goes_on = (
        flexarm.simulate(
            flexarm.change_arm(
                arm,
                {"bodies": [body], "events": [{"at": 0.2, "capture": "sat", "end": end}]},
            ),
            t_end=0.25,
            dt=0.05,
            rtol=1e-6,
        )
        for end in (True, False)
    )
    at = int(np.argmin(np.abs(goes_on.t - 0.2)))
    assert ends.status == "finished"
    assert ends.t[-1] == pytest.approx(0.2)
    np.testing.assert_allclose(ends.v[-1], goes_on.v[at], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        ends.work_integrals[-1], goes_on.work_integrals[at], rtol=1e-9, atol=1e-12
    )
    assert ends.event_records[-1].lost == pytest.approx(ends.work_integrals[-1][3])
    with pytest.raises(SimulationError, match="the tip holds bodies that are not"):
        flexarm.simulate(arm, t_end=0.1, start=ends)


def test_a_tolerance_may_be_a_text() -> None:
    run = flexarm.simulate(flexarm.example_arm("driven-link"), t_end=0.01, rtol="2 %")
    assert run.rtol == 0.02
