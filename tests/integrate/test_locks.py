"""Joints that are locked and released."""

from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.io.model_file import loads
from tests.integrate.arms import fall


def carousel() -> Arm:
    """Make two wheels, one on the other, of inertia 2 and 1 about the same axis."""
    body = "body: {mass: 1, com: [0, 0, 0], inertia: [1, 1, %g]}"
    return loads(
        "flexarm: 1\nname: carousel\ngravity: [0, 0, 0]\nlinks:\n"
        f"  - joint: {{kind: revolute, start: {{speed: 1}}}}\n    length: 0\n    {body % 2}\n"
        f"  - joint: {{kind: revolute, start: {{speed: 3}}}}\n    length: 0\n    {body % 1}\n"
    )


def test_a_joint_that_is_locked_stops_at_once_and_momentum_stays() -> None:
    run = flexarm.simulate(carousel(), t_end=2.0, dt=0.25, locks={"joint2": [(0.5, 1.5)]})
    momentum = 2 * 1 + 1 * (1 + 3)
    assert run.t.tolist() == np.arange(0, 2.1, 0.25).tolist()
    after = run.t >= 0.5
    assert run.v[~after] == pytest.approx(np.tile([1.0, 3.0], (2, 1)))
    assert run.v[after, 0] == pytest.approx(momentum / 3)
    assert run.v[after, 1] == pytest.approx(0.0)
    assert run.q[after, 1] == pytest.approx(1.5)
    before, later = (2 * 1 + 16) / 2, momentum**2 / 3 / 2
    assert run.work_integrals[-1, 3] == pytest.approx(before - later)
    assert run.energy_balance < 1e-12


def test_an_arm_released_after_a_while_falls_as_from_rest() -> None:
    options = {"dt": 0.1, "method": "dop853", "rtol": 1e-9}
    locked = {"joint1": [(0.0, 0.4)], "joint2": [(0.0, 0.4)]}
    run = flexarm.simulate(fall(), t_end=0.6, locks=locked, **options)  # type: ignore[arg-type]
    held = run.t <= 0.4
    assert run.q[held][:, [0, 2]] == pytest.approx(0.0, abs=1e-14)
    assert np.abs(run.q[held][:, 1]).max() > 1e-3  # links sag and swing while the joints hold
    assert run.q[-1, 0] < -0.1
    assert run.energy_balance < 1e-7
    assert run.model.prescribed == ()


def test_locked_joints_need_no_input_and_inputs_come_back() -> None:
    run = flexarm.simulate(
        carousel(), t_end=1.0, dt=0.25, locks={"joint1": [(0.0, 0.5)]}, inputs={"joint1": 6.0}
    )
    assert run.u[:, 0].tolist() == [0, 0, 6, 6, 6]
    assert run.q[2, 0] == pytest.approx(0.0)
    assert run.v[-1, 0] == pytest.approx(6.0 / 2 * 0.5)


@pytest.mark.parametrize(
    ("locks", "message"),
    [
        ({"elbow": [(0, 1)]}, "no joint 'elbow'. The joints are joint1, joint2"),
        ({"joint1": [(1, 1)]}, "from 1 s to 1 s is empty"),
    ],
)
def test_wrong_locks_are_refused(locks: dict[str, list[tuple[float, float]]], message: str) -> None:
    with pytest.raises(flexarm.SimulationError, match=message):
        flexarm.simulate(carousel(), t_end=2.0, locks=locks)


def test_what_is_prescribed_to_move_goes_on_when_a_joint_is_locked() -> None:
    """Of two wheels the first turns as told: stopping the second takes no speed from it."""
    told = {"kind": "spin-up", "rate": 1.0, "duration": 0.125}
    joint = {"kind": "revolute", "actuation": "prescribed", "motion": told}
    arm = flexarm.change_arm(carousel(), {"links.1.joint": joint})
    run = flexarm.simulate(arm, t_end=2.0, dt=0.25, rtol=1e-9, locks={"joint2": [(0.5, 1.5)]})
    assert run.v[1:, 0] == pytest.approx(1.0)
    assert run.v[run.t >= 0.5, 1] == pytest.approx(0.0, abs=1e-12)
    assert run.work_integrals[-1, 3] == pytest.approx(2.0**2 / 2)  # it had gone 3 - 1 faster
    assert run.energy_balance < 1e-9


@pytest.mark.parametrize("end", [0.11666666666666665, 0.11666666666666668])
def test_a_lock_that_ends_beside_a_sample_doubles_no_time(end: float) -> None:
    run = flexarm.simulate(fall(), t_end=1 / 3, dt=1 / 1500, locks={"joint1": [(0, end)]})
    assert np.diff(run.t).min() > 1e-6
    assert len(run.t) == 501


def test_inputs_of_a_joint_that_is_locked_at_first_are_read_before_the_run() -> None:
    def refusal(given: Any) -> str:
        with pytest.raises(flexarm.SimulationError) as caught:
            flexarm.simulate(
                carousel(), t_end=1.0, inputs={"joint1": given}, locks={"joint1": [(0, 0.5)]}
            )
        return str(caught.value)

    table = {"kind": "table", "times": [0, 0.7], "values": [0, 1], "interpolation": "linear"}
    assert refusal("nonsense").startswith("inputs: joint1: ")
    assert "the table ends at t = 0.7 s" in refusal(table)


def test_a_table_may_end_when_its_joint_is_locked_for_good() -> None:
    table = {"kind": "table", "times": [0, 0.5], "values": [0, 1], "interpolation": "linear"}
    run = flexarm.simulate(
        carousel(), t_end=1.0, inputs={"joint1": table}, locks={"joint1": [(0.5, 1.0)]}
    )
    assert run.status == "finished"
