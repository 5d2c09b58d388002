"""Servos against closed forms: first principles of a joint of known inertia."""

from typing import Any

import numpy as np
import pytest
from scipy.linalg import expm

import flexarm
from flexarm.errors import ModelError, SimulationError
from tests.integrate.mission_arms import flexible_arm, one_joint

TIGHT = (1e-3, 1e-9)


def linear_answer(A: np.ndarray, b: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Solve x' = A x + b from 0."""
    rest = np.linalg.solve(A, -b)
    return np.array([rest - expm(A * each) @ rest for each in t])


@pytest.mark.parametrize("rtol", TIGHT)
@pytest.mark.parametrize("method", ["auto", "dop853", "etd4", "rodas4"])
def test_a_servo_is_a_spring_and_damper_to_its_target(method: str, rtol: float) -> None:
    arm = one_joint(servo={"stiffness": 4.0, "damping": 1.0, "target": step(1.0)})
    run = flexarm.simulate(arm, t_end=5.0, rtol=rtol, method=method)
    wanted = linear_answer(np.array([[0.0, 1.0], [-4.0, -1.0]]), np.array([0.0, 4.0]), run.t)
    assert np.abs(run.q[:, 0] - wanted[:, 0]).max() <= rtol
    assert run.u[0, 0] == pytest.approx(4.0)
    assert run.energy_balance <= max(10 * rtol, 1e-8)


@pytest.mark.parametrize("rtol", TIGHT)
@pytest.mark.parametrize("method", ["auto", "dop853", "etd4", "rk4"])
def test_an_integral_takes_away_a_load(method: str, rtol: float) -> None:
    arm = one_joint(
        servo={"stiffness": 4.0, "damping": 3.0, "integral_time": 1.5},
        input={"kind": "constant", "value": -2.0},
    )
    run = flexarm.simulate(arm, t_end=12.0, rtol=rtol, method=method)
    A = np.array([[0.0, 1.0, 0.0], [-4.0, -3.0, 1.0], [-4 / 1.5, -2.0, 0.0]])
    wanted = linear_answer(A, np.array([0.0, -2.0, 0.0]), run.t)
    assert np.abs(run.q[:, 0] - wanted[:, 0]).max() <= rtol
    assert np.abs(run.u[:, 0] - (A[1] @ wanted.T - 2.0)).max() <= 20 * rtol


def test_rodas4_refuses_an_integral_in_words() -> None:
    arm = one_joint(servo={"stiffness": 4.0, "damping": 3.0, "integral_time": 1.5})
    with pytest.raises(SimulationError, match="rodas4 cannot integrate integral_time"):
        flexarm.simulate(arm, t_end=1.0, method="rodas4")


@pytest.mark.parametrize("rtol", TIGHT)
def test_effort_saturates(rtol: float) -> None:
    """Far from its target it pushes with all it has: q = L t^2/2 until error and rate balance."""
    arm = one_joint(servo={"stiffness": 100.0, "damping": 20.0, "effort": 0.5, "target": step(9.0)})
    run = flexarm.simulate(arm, t_end=3.0, rtol=rtol)
    assert np.allclose(run.u, 0.5)
    assert np.abs(run.q[:, 0] - 0.25 * run.t**2).max() <= rtol * run.q.max()


def test_the_effort_of_the_joints_limits_saturates_too() -> None:
    servo = {"stiffness": 100.0, "damping": 20.0, "target": step(9.0)}
    run = flexarm.simulate(one_joint(servo=servo, limits={"effort": 0.5}), t_end=1.0)
    assert np.allclose(run.u, 0.5)


@pytest.mark.parametrize("rtol", TIGHT)
def test_the_rate_that_it_asks_for_saturates(rtol: float) -> None:
    """Far from its target a cascade follows its largest rate: v = s (1 - exp(-kd t/I))."""
    servo = {"stiffness": 8.0, "damping": 2.0, "speed": 0.3, "target": step(50.0)}
    run = flexarm.simulate(one_joint(servo=servo), t_end=4.0, rtol=rtol)
    assert np.abs(run.v[:, 0] - 0.3 * (1 - np.exp(-2 * run.t))).max() <= rtol


def test_a_rate_is_followed() -> None:
    servo = {"rate": {"kind": "constant", "value": 0.7}, "damping": 5.0}
    run = flexarm.simulate(one_joint(servo=servo), t_end=4.0, rtol=1e-9)
    assert np.abs(run.v[:, 0] - 0.7 * (1 - np.exp(-5 * run.t))).max() <= 1e-9


def test_an_integral_does_not_wind_up() -> None:
    """It stays within the effort that saturates, and there is no long overshoot."""
    servo = {"stiffness": 10.0, "damping": 8.0, "integral_time": 1.0, "effort": 0.5}
    run = flexarm.simulate(one_joint(servo=servo | {"target": step(2.0)}), t_end=30.0)
    assert run.q[-1, 0] == pytest.approx(2.0, abs=1e-3)
    assert run.q.max() < 2.6


@pytest.mark.few(1)
@pytest.mark.parametrize("side", ["motor", "link"])
def test_both_sides_of_an_elastic_joint_hold_a_flexible_arm(side: str) -> None:
    """At rest the side that is measured is at its target less the load over the stiffness."""
    arm = flexible_arm(servo={"stiffness": 100.0, "damping": 20.0, "side": side})
    run = flexarm.simulate(arm, t_end=20.0, rtol=1e-6)
    hub = run.q[-1, run.model.names.index("hinge")]
    motor = run.q[-1, run.model.names.index("hinge.motor")]
    effort = run.u[-1, 0]
    assert effort == pytest.approx(-100.0 * (motor if side == "motor" else hub), rel=1e-3)
    assert motor - hub == pytest.approx(effort / 900.0, rel=1e-3)
    assert run.energy_balance < 1e-6


def test_methods_and_formulations_agree_on_a_servoed_flexible_arm() -> None:
    arm = flexible_arm(servo={"stiffness": 400.0, "damping": 60.0, "integral_time": 0.5})
    runs = [
        flexarm.simulate(arm, t_end=0.3, rtol=1e-9, dt=0.05, method=method, formulation=name)
        for method, name in (("dop853", "articulated"), ("dop853", "composite"),
                             ("etd4", "articulated"), ("rk4", "articulated"))
    ]  # fmt: skip
    for other in runs[1:]:
        assert np.abs(other.q - runs[0].q).max() <= 1e-7 * np.abs(runs[0].q).max()


def test_a_law_takes_the_place_of_servos() -> None:
    import casadi as ca

    arm = one_joint(servo={"stiffness": 4.0, "damping": 1.0, "target": step(1.0)})
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q"), ca.SX.sym("v")
    run = flexarm.simulate(arm, t_end=1.0, control=ca.Function("law", [t, q, v], [ca.SX(2.0)]))
    assert run.q[-1, 0] == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize(
    ("servo", "said"),
    [
        ({"damping": 1.0}, "needs a stiffness, or a rate"),
        ({"stiffness": -1.0}, "must be > 0"),
        ({"stiffness": 1.0, "speed": 1.0}, "Give damping too"),
        ({"rate": {"kind": "constant", "value": 1.0}}, "needs a gain. Give damping"),
        (
            {"rate": {"kind": "constant", "value": 1.0}, "stiffness": 2.0, "damping": 1.0},
            "Leave 'stiffness' or 'rate' out",
        ),
    ],
)
def test_a_servo_that_is_none_is_refused(servo: dict[str, object], said: str) -> None:
    with pytest.raises(ModelError, match=said):
        one_joint(servo=servo)


def test_a_servo_needs_a_driven_joint() -> None:
    with pytest.raises(ModelError, match="actuation: torque"):
        one_joint(servo={"stiffness": 1.0}, actuation="free")
    with pytest.raises(ModelError, match="it belongs in 'first' or 'second'"):
        one_joint(servo={"stiffness": 1.0}, kind="universal")
    with pytest.raises(
        ModelError, match=r"joint\.servo: .* Use a universal joint .* and a revolute"
    ):
        one_joint(servo={"stiffness": 1.0}, kind="spherical")


def step(value: float) -> dict[str, object]:
    return {"kind": "constant", "value": value}


def test_servos_hold_both_axes_of_a_universal_joint_and_an_event_moves_one() -> None:
    servo = {"stiffness": 200.0, "damping": 60.0}
    to = {"kind": "constant", "value": 0.4}
    joint: dict[str, Any] = {"kind": "universal", "first": {"servo": servo | {"target": to}},
             "second": {"servo": servo}}  # fmt: skip
    aside = {"at": 0.5, "servo": {"hinge.second": {"target": to | {"value": 0.1}}}}
    arm = flexarm.change_arm(one_joint(events=[aside], **joint), {"gravity": [0, 0, -9.81]})
    run = flexarm.simulate(arm, t_end=4.0, rtol=1e-6)
    first, second = run.q[-1]
    assert first == pytest.approx(0.4, abs=1e-5)
    sagging = 3.0 * 9.81 * 0.5 * np.cos(second) / 200.0
    assert second == pytest.approx(0.1 + sagging, abs=1e-5)
