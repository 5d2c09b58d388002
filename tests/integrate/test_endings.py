"""A run that cannot go on stops, keeps its data, and says when, what and what to try."""

from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.io.model_file import loads


def one(joint: str, rest: str = "body: {mass: 1, com: [0.5, 0, 0]}", gravity: float = 0.0) -> Arm:
    return loads(
        f"flexarm: 1\nname: one\ngravity: [0, {gravity}, 0]\nlinks:\n"
        f"  - joint: {{{joint}}}\n    length: 1\n    {rest}\n"
    )


@pytest.mark.parametrize("method", ["dop853", "etd4", "rodas4", "auto"])
def test_a_joint_at_its_limit_stops_the_run_when_it_gets_there(method: str) -> None:
    """From rest under a constant torque the angle is a parabola of time."""
    torque = "kind: revolute, limits: {upper: 0.5}, input: {kind: constant, value: 0.25}"
    body = "body: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 0.25]}"
    run = flexarm.simulate(one(torque, body), t_end=2.0, dt=0.3, method=method)
    assert run.status == "stopped"
    assert run.t[-1] == pytest.approx(1.0, abs=1e-9)
    assert run.q[-1, 0] == pytest.approx(0.5, abs=1e-9)
    assert run.reason.startswith("joint1: its position reached 0.5 at t = 1 s")
    assert run.t[:-1] == pytest.approx([0, 0.3, 0.6, 0.9])
    assert run.q[:-1, 0] == pytest.approx(0.5 * run.t[:-1] ** 2)


def test_a_speed_limit_too() -> None:
    torque = "kind: revolute, limits: {speed: 0.5}, input: {kind: constant, value: -0.25}"
    body = "body: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 0.25]}"
    run = flexarm.simulate(one(torque, body), t_end=2.0)
    assert run.t[-1] == pytest.approx(0.5, abs=1e-9)
    assert "joint1: its speed reached -0.5" in run.reason


def test_a_sliding_link_that_is_drawn_in_stops_the_run() -> None:
    arm = one(
        "kind: sliding, start: {position: 0.5, speed: -1}, limits: {lower: 0.2}",
        "section: {mass_per_length: 1, EIz: 100}\n    shapes: {kind: clamped-free, bending_y: 1}",
    )
    run = flexarm.simulate(arm, t_end=1.0)
    assert run.status == "stopped"
    assert run.t[-1] == pytest.approx(0.3, abs=1e-3)
    assert "0.2 at t = 0.3" in run.reason


@pytest.mark.parametrize(
    ("speed", "limit", "key"), [(-1, 0.05, "limits.lower"), (1, 1, "limits.upper or the length")]
)
def test_a_sliding_link_at_the_end_of_its_range_names_that_end(
    speed: float, limit: float, key: str
) -> None:
    arm = one(
        f"kind: sliding, start: {{position: 0.5, speed: {speed}}}",
        "section: {mass_per_length: 1, EIz: 100}\n    shapes: {kind: clamped-free, bending_y: 1}",
    )
    run = flexarm.simulate(arm, t_end=1.0)
    assert run.status == "stopped"
    assert run.reason.startswith(f"link1: its exposed length reached {limit:g} at t = 0.")
    assert run.reason.endswith(f"Change the drive, or {key}.")
    assert run.q[-1, 0] == pytest.approx(limit, rel=1e-6)


def test_a_start_drawn_in_to_nothing_names_the_length_and_not_the_masses() -> None:
    arm = one(
        "kind: sliding, actuation: prescribed, motion: {kind: spin-up, rate: 0.1, duration: 1}",
        "section: {mass_per_length: 1, EIz: 100}\n    shapes: {kind: elements, bending_y: 1}",
    )
    message = "its exposed length is 0 at the start, beyond the limit 0.05"
    with pytest.raises(flexarm.SimulationError, match=message):
        flexarm.simulate(arm, t_end=1.0)


def test_a_link_that_bends_too_far_stops_the_run() -> None:
    soft = "section: {mass_per_length: 1, EIz: 0.5}\n    shapes: {kind: loaded, bending_y: 1}"
    run = flexarm.simulate(one("kind: fixed", soft, gravity=-9.81), t_end=2.0)
    assert run.status == "stopped"
    assert "link1: the slope of its tip [rad] reached -2.5" in run.reason
    assert "Give link1 more spans" in run.reason
    assert 0 < run.t[-1] < 1


@pytest.mark.parametrize("method", ["dop853", "etd4", "rodas4"])
def test_a_motion_that_runs_away_in_finite_time_stops(method: str) -> None:
    """A nonlinear spring that pushes harder the farther it is out has no motion beyond a time."""
    import casadi as ca

    t, q, v = ca.SX.sym("t"), ca.SX.sym("q"), ca.SX.sym("v")
    law = ca.Function("law", [t, q, v], [10 * (q + 0.1) ** 3])
    body = "body: {mass: 1, com: [0, 0, 0], inertia: [1, 1, 0.25]}"
    run = flexarm.simulate(
        one("kind: revolute, start: {speed: 1}", body), t_end=50.0, method=method, control=law
    )
    assert run.status == "stopped"
    assert 0 < run.t[-1] < 50
    assert "at t = " in run.reason
    assert np.all(np.isfinite(run.q))


def test_a_free_base_may_tumble_through_the_singularity_of_its_angles() -> None:
    arm = loads(
        "flexarm: 1\nname: tumbler\ngravity: [0, 0, 0]\n"
        "base: {kind: free, body: {mass: 2, inertia: [1, 2, 3]}, spin: [0.1, 4, 0.2]}\n"
        "links:\n  - joint: {kind: fixed}\n    length: 0.1\n"
        "    body: {mass: 1, com: [0.05, 0, 0]}\n"
    )
    run = flexarm.simulate(arm, t_end=5.0, rtol=1e-8)
    assert run.status == "finished"
    assert run.energy_balance < 1e-7
    assert len({reference_attitude.tobytes() for reference_attitude in run.reference_attitudes}) > 5
    heading = np.einsum("tij,tkj->tik", run.tip_rotation, run.tip_rotation)
    assert np.abs(heading - np.eye(3)).max() < 1e-12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"t_end": 0.0}, "t_end: must be between 1e-12 and 1e"),
        ({"t_end": float("nan")}, "t_end: must be between 1e-12 and 1e"),
        ({"t_end": "1 m"}, "t_end: .*a time"),
        ({"t_end": None}, "t_end: must be between 1e-12 and 1e.*, got None"),
        ({"t_end": 1e-300}, "t_end: must be between 1e-12 and 1e.*, got 1e-300"),
        ({"t_end": 1.0, "dt": 2.0}, "dt: must be at most the duration, 1 s, got 2"),
        ({"t_end": 1.0, "dt": "x"}, 'dt: "x" is not a number with a unit; a time'),
        ({"t_end": 1.0, "dt": 1e-9}, r"dt: 1e-09 s makes 1e\+09 samples, more than 1e\+07. Take"),
        ({"t_end": 1.0, "rtol": 1.0}, "rtol: must be between 1e-12 and 0.1, got 1.0"),
        ({"t_end": 1.0, "rtol": "x"}, 'rtol: "x" is not a number with a unit'),
        ({"t_end": 1.0, "method": "rk4", "step": 1e-12}, r"step: 1e-12 s makes 1e\+12 steps"),
        ({"t_end": 1.0, "method": "rk4", "step": -1.0}, "step: must be > 0"),
        ({"t_end": 1.0, "step": 1e-3}, "step: is used only with method rk4, got auto"),
        ({"t_end": 1.0, "method": "euler"}, "method: must be one of auto, etd4"),
    ],
)
def test_what_cannot_begin_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(flexarm.SimulationError, match=message):
        flexarm.simulate(one("kind: revolute"), **options)


def test_a_name_is_no_arm() -> None:
    with pytest.raises(flexarm.ModelError, match=r"arm: must be an Arm, .* flexarm.example_arm"):
        flexarm.simulate("driven-link", t_end=1.0)  # type: ignore[arg-type]


def test_the_shortest_run_is_one() -> None:
    torque = "kind: revolute, start: {speed: 2}"
    run = flexarm.simulate(one(torque), t_end=1e-12)
    assert run.status == "finished"
    assert run.q[-1, 0] == pytest.approx(2e-12, rel=1e-9)


def test_a_start_beyond_a_limit_is_refused() -> None:
    limited = {"links.1.joint.limits": {"upper": 1.0}}
    outside = limited | {"links.1.joint.start": {"position": 2.0}}
    arm = flexarm.example_arm("driven-link")
    with pytest.raises(
        flexarm.SimulationError, match=r"position is 2 at the start, beyond the limit 1. "
    ):
        flexarm.simulate(flexarm.change_arm(arm, outside), t_end=0.1)
    with pytest.raises(flexarm.SimulationError, match=r"^run 1 of 1: .*position is 2 at the"):
        flexarm.simulate_many(flexarm.change_arm(arm, limited), t_end=0.1, starts=[{"joint1": 2.0}])


@pytest.mark.parametrize("place", [1e15, -1e15, 1e11])
def test_a_joint_too_far_away_for_its_digits_is_refused(place: float) -> None:
    arm = one(f"kind: revolute, start: {{position: {place:g}}}", gravity=-9.81)
    with pytest.raises(
        flexarm.SimulationError, match=r"joint1: its position is .* double precision"
    ):
        flexarm.simulate(arm, t_end=1.0)
    nearer = one("kind: revolute, start: {position: 1e4}", gravity=-9.81)
    assert flexarm.simulate(nearer, t_end=1.0).energy_balance < 1e-5


def test_what_the_digits_are_to_keep_is_the_tolerance() -> None:
    arm = one("kind: revolute, start: {position: 1e8}", gravity=-9.81)
    run = flexarm.simulate(arm, t_end=1.0, rtol=1e-3)
    turned = one(f"kind: revolute, start: {{position: {1e8 % (2 * np.pi)!r}}}", gravity=-9.81)
    same = flexarm.simulate(turned, t_end=1.0, rtol=1e-3)
    assert run.tip == pytest.approx(same.tip, abs=1e-5)
    with pytest.raises(flexarm.SimulationError, match="cannot meet rtol"):
        flexarm.simulate(arm, t_end=1.0, rtol=1e-7)
    with pytest.raises(flexarm.SimulationError, match=r"^run 1 of 1: joint1: its position"):
        flexarm.simulate_many(one("kind: revolute"), t_end=1.0, starts=[{"joint1": 1e15}])


@pytest.mark.campaign
def test_a_motion_that_loses_its_digits_stops() -> None:
    run = flexarm.simulate(one("kind: revolute, start: {speed: 1e8}"), t_end=100.0)
    assert run.status == "stopped"
    assert "joint1: its position reached 4.504e+09 at t = 45.0" in run.reason
    driven = one("kind: prismatic, actuation: prescribed, motion: {kind: spin-up, rate: 1e12, "
                 "duration: 1}")  # fmt: skip
    assert flexarm.simulate(driven, t_end=2.0).status == "stopped"
