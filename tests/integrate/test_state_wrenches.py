"""Wrenches that follow time and state: against the same in the model file, and closed forms."""

from typing import Any

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.errors import FlexarmError, SimulationError
from flexarm.io.model_file import loads

ARM = """
flexarm: 1
name: pushed
stiffening: false
links:
  - name: boom
    joint: {kind: revolute, axis: [0, 1, 0], actuation: free}
    length: 1
    section: {mass_per_length: 2, EIz: 50, EIy: 40}
    shapes: {kind: clamped-free, bending_y: 1, bending_z: 1}
  - joint: {kind: prismatic, axis: [1, 0, 0], actuation: free}
    body: {mass: 3, inertia: [0.1, 0.1, 0.1]}
"""
POINT = (0.6, 0.05, -0.1)
SYMBOLS = t, q, v = (ca.SX.sym("t"), ca.SX.sym("q", 4), ca.SX.sym("v", 4))


def law(wrench: Any) -> ca.Function:
    return ca.Function("wrench", list(SYMBOLS), [wrench])


@pytest.mark.few(1)
@pytest.mark.parametrize("frame", ["world", "link"])
def test_a_function_of_time_is_the_wrench_of_the_file(frame: Any) -> None:
    arm = loads(ARM)
    kind = {"kind": "sine", "amplitude": 1, "frequency": 0.5}
    plain = {"at": list(POINT), "frame": frame, "force": [3, -2, 1], "torque": [0.1, 0.2, 0.3]}
    given = flexarm.change_arm(arm, {"links.1.wrenches": [plain | {"factor": kind}]})
    wave = ca.sin(2 * np.pi * 0.5 * t)
    wrench = law(wave * ca.DM([3, -2, 1, 0.1, 0.2, 0.3]))
    options: dict[str, Any] = {"t_end": 1.5, "rtol": 1e-9, "method": "dop853", "dt": 0.05}
    wanted = flexarm.simulate(given, **options)
    found = flexarm.simulate(
        arm, wrenches=[flexarm.StateWrench(wrench, "boom", POINT, frame)], **options
    )
    assert np.abs(found.q - wanted.q).max() < 1e-8 * np.abs(wanted.q).max()
    assert found.work_integrals == pytest.approx(wanted.work_integrals, abs=1e-8)
    # what joints transmit knows it too, and the run can be run again from its own arm
    joints = found.joint_wrenches().torque, wanted.joint_wrenches().torque
    assert np.abs(joints[0].values - joints[1].values).max() < 1e-6
    assert found.model.arm.links[0].wrenches[0].factor is not None


@pytest.mark.few(1)
@pytest.mark.parametrize("method", ["dop853", "rodas4", "etd4"])
def test_a_spring_of_the_state_is_the_joints_own(method: str) -> None:
    arm = flexarm.change_arm(loads(ARM), {"links.2.joint.start": {"position": 0.1}})
    stiff, slow = 40.0, 2.0
    spring = {"spring": {"stiffness": stiff, "damping": slow}, "friction": None}
    wanted = flexarm.simulate(
        flexarm.change_arm(arm, {"links.2.joint.spring": spring["spring"]}), t_end=1, rtol=1e-8
    )
    push = -stiff * q[3] - slow * v[3]
    # along the sliding link's own axis at its root, and back on the boom's tip
    here = flexarm.StateWrench(law(ca.vertcat(push, 0, 0, 0, 0, 0)), "link2", 0.0, "link")
    back = flexarm.StateWrench(law(ca.vertcat(-push, 0, 0, 0, -0.0, 0)), "boom", "tip", "link")
    found = flexarm.simulate(arm, t_end=1, rtol=1e-8, wrenches=[back, here], method=method)
    assert np.abs(found.q[-1] - wanted.q[-1]).max() < 1e-6 * np.abs(wanted.q).max()
    assert found.energy_balance < 1e-6


def test_a_wrench_of_the_base_and_of_events_legs() -> None:
    arm: Arm = flexarm.change_arm(
        loads(ARM),
        {
            "gravity": [0, 0, 0],
            "base": {"kind": "free", "body": {"mass": 5, "inertia": [1, 1, 1]}},
            "events": [{"at": 0.3, "attach": {"name": "line", "stiffness": 10}}],
        },
    )
    symbols = [ca.SX.sym("t"), ca.SX.sym("q", 10), ca.SX.sym("v", 10)]
    drag = ca.Function("drag", symbols, [ca.vertcat(-3 * symbols[2][:3] + 1, 0, 0, 0)])
    run = flexarm.simulate(
        arm, t_end=0.6, rtol=1e-8, wrenches=[flexarm.StateWrench(drag, "base")], energy_audit=True
    )
    assert run.status == "finished"
    assert run.energy_balance < 1e-8
    assert np.abs(run.work_integrals[-1, 1]) > 1e-3  # of wrenches


@pytest.mark.parametrize(("given", "said"), [
    ({"law": None, "link": "boom"}, "law must be a CasADi function"),
    ({"law": law(ca.SX(6, 1)), "link": 3}, "link: must be the name of a link"),
    ({"law": law(ca.SX(6, 1)), "link": "boom", "at": "eye"}, "no place 'eye' on this link"),
    ({"law": law(ca.SX(6, 1)), "link": "boom", "at": (1, 2)}, "at: must be a distance"),
    ({"law": law(ca.SX(6, 1)), "link": "boom", "frame": "tip"}, "frame: must be 'world' or 'link'"),
    ({"law": law(ca.SX(6, 1)), "link": "base"}, "no link 'base'. The links are boom, link2"),
    ({"law": law(ca.SX(3, 1)), "link": "boom"}, r"returns \[\(3, 1\)\]"),
    ({"law": law(ca.SX(3, 2)), "link": "boom"}, "as one column of 6"),
    ({"law": ca.Function("two", [t, q, v], [ca.SX(6, 1), t]), "link": "boom"}, "one column of 6"),
    ({"law": law(ca.SX(6, 1)), "link": "boom", "at": 4.0}, "beyond the link's length"),
])  # fmt: skip
def test_what_is_no_wrench_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(FlexarmError, match=said):
        flexarm.simulate(loads(ARM), t_end=1, wrenches=[flexarm.StateWrench(**given)])


@pytest.mark.parametrize("until", [0.05, -1.0])
def test_a_law_that_has_no_value_ends_the_run_which_is_kept(until: float) -> None:
    force = ca.vertcat(ca.log(until - t), 0, 0, 0, 0, 0)
    run = flexarm.simulate(
        loads(ARM), t_end=0.1, dt=0.01, wrenches=[flexarm.StateWrench(law(force), "boom")]
    )
    assert run.status == "stopped"
    assert run.t[-1] == pytest.approx(max(until, 0.0), abs=0.011)


def test_wrenches_are_listed() -> None:
    with pytest.raises(SimulationError, match=r"wrenches: must be a list of flexarm.StateWrench"):
        flexarm.simulate(loads(ARM), t_end=1, wrenches=law(ca.SX(6, 1)))  # type: ignore[arg-type]


@pytest.mark.campaign
def test_many_runs_feel_it_too() -> None:
    arm = loads(ARM)
    push = [flexarm.StateWrench(law(ca.vertcat(-3 * q[0], 1, 0, 0, 0, -v[0])), "boom", POINT)]
    starts = [{"joint1": 0.1 * k} for k in range(3)]
    options: dict[str, Any] = {"t_end": 0.4, "method": "dop853", "dt": 0.1, "rtol": 1e-8}
    runs = flexarm.simulate_many(arm, starts=starts, wrenches=push, **options)
    for k, run in enumerate(runs):
        begun = flexarm.change_arm(arm, {"links.1.joint.start": {"position": 0.1 * k}})
        alone = flexarm.simulate(begun, wrenches=push, **options)
        assert np.abs(run.q - alone.q).max() < 1e-7
        assert run.model.arm.links[0].wrenches[0].factor is not None
