"""Everything that can drive an arm: profiles, numbers, control laws in CasADi and in Python."""

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.integrate.solve import Sampled
from flexarm.io.model_file import loads
from flexarm.links.base import Array

INERTIA = 3.0


def wheel(given: str = "") -> Arm:
    """Make one rigid body on one axis: its angle answers torques in closed form."""
    return loads(
        "flexarm: 1\nname: wheel\ngravity: [0, 0, 0]\nlinks:\n"
        f"  - joint: {{kind: revolute{given}}}\n    length: 1\n"
        f"    body: {{mass: 1, com: [0, 0, 0], inertia: [1, 1, {INERTIA}]}}\n"
    )


PROFILES: dict[str, tuple[dict[str, object], Callable[[Array], Array]]] = {
    "constant": ({"kind": "constant", "value": 0.6}, lambda t: 0.3 * t**2 / INERTIA),
    "step": (
        {"kind": "step", "value": 0.6, "time": 0.5},
        lambda t: np.where(t > 0.5, 0.3 * (t - 0.5) ** 2 / INERTIA, 0.0),
    ),
    "sine": (
        {"kind": "sine", "amplitude": 0.6, "frequency": 0.5},
        lambda t: 0.6 / INERTIA * (t / np.pi - np.sin(np.pi * t) / np.pi**2),
    ),
    "bang-bang": (
        {"kind": "bang-bang", "amplitude": 0.6, "times": [0.25, 1.0, 1.75]},
        lambda t: 0.3 / INERTIA * (
            np.maximum(t - 0.25, 0) ** 2
            - 2 * np.maximum(t - 1, 0) ** 2
            + np.maximum(t - 1.75, 0) ** 2
        ),
    ),
    "ramp": (
        {"kind": "table", "times": [0, 2], "values": [0, 1.2]},
        lambda t: 0.1 * t**3 / INERTIA,
    ),
    "cubic": (
        {
            "kind": "table",
            "times": np.linspace(0, 2, 81).tolist(),
            "values": (0.6 * np.sin(np.pi * np.linspace(0, 2, 81))).tolist(),
            "interpolation": "cubic",
        },
        lambda t: 0.6 / INERTIA * (t / np.pi - np.sin(np.pi * t) / np.pi**2),
    ),
    "stairs": (
        {"kind": "table", "times": [0, 0.7], "values": [0, 0.6], "interpolation": "hold"},
        lambda t: np.where(t > 0.7, 0.3 * (t - 0.7) ** 2 / INERTIA, 0.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("method", ["dop853", "rk4", "rodas4", "etd4"])
@pytest.mark.parametrize("kind", PROFILES)
def test_a_wheel_turns_as_its_torque_says(kind: str, method: str) -> None:
    profile, angle = PROFILES[kind]
    options = {"t_end": 2.0, "dt": 0.1, "method": method, "inputs": {"joint1": profile}}
    run = flexarm.simulate(wheel(), **options)  # type: ignore[arg-type]
    assert run.q[:, 0] == pytest.approx(
        angle(run.t), abs=2e-5 if kind in ("sine", "cubic") else 1e-12
    )
    run = flexarm.simulate(wheel(), rtol=1e-8, **options)  # type: ignore[arg-type]
    assert run.energy_balance < (1e-7 if method in ("dop853", "rk4") else 1e-4)


def test_inputs_are_kept_and_take_the_place_of_the_file() -> None:
    arm = wheel(", input: {kind: constant, value: 100}")
    run = flexarm.simulate(arm, t_end=1.0, inputs={"joint1": 0.6})
    assert run.q[-1, 0] == pytest.approx(0.3 / INERTIA)
    assert run.u[:, 0].tolist() == [0.6] * len(run.t)


def test_a_law_in_casadi_is_part_of_the_equations() -> None:
    """A spring and a damper of control make a damped oscillator."""
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q"), ca.SX.sym("v")
    law = ca.Function("law", [t, q, v], [-12 * q - 3 * v + 12])
    for method in ("dop853", "rodas4", "etd4", "auto"):
        run = flexarm.simulate(wheel(), t_end=3.0, method=method, rtol=1e-6, control=law)
        decay, rate = 0.5, np.sqrt(4 - 0.25)
        expected = 1 - np.exp(-decay * run.t) * (
            np.cos(rate * run.t) + decay / rate * np.sin(rate * run.t)
        )
        assert run.q[:, 0] == pytest.approx(expected, abs=1e-6)
        assert run.u[:, 0] == pytest.approx(-12 * run.q[:, 0] - 3 * run.v[:, 0] + 12)


def test_a_law_in_python_is_asked_at_its_rate_and_held_between() -> None:
    """Sampled feedback of a double integrator is a linear recurrence."""
    asked: list[float] = []

    def law(t: float, q: Array, v: Array) -> Array:
        asked.append(t)
        return np.array([-2.0 * q[0] - 1.5 * v[0] + 1.0])

    run = flexarm.simulate(wheel(), t_end=2.0, dt=0.05, control=Sampled(law, 0.1))
    assert asked == pytest.approx(np.arange(20) * 0.1)
    angle, rate = 0.0, 0.0
    for k in range(20):
        assert run.q[2 * k, 0] == pytest.approx(angle, abs=1e-12)
        push = (-2.0 * angle - 1.5 * rate + 1.0) / INERTIA
        assert run.u[2 * k + 1, 0] == pytest.approx(push * INERTIA, abs=1e-12)
        angle, rate = angle + 0.1 * rate + 0.005 * push, rate + 0.1 * push


@pytest.mark.parametrize("period", [0.0, -1.0])
def test_a_law_needs_a_period(period: float) -> None:
    with pytest.raises(flexarm.SimulationError, match="must be > 0"):
        flexarm.simulate(wheel(), t_end=1.0, control=Sampled(lambda t, q, v: q, period))


def test_a_law_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(flexarm.SimulationError, match=r"must give 1 inputs \(joint1\)"):
        flexarm.simulate(wheel(), t_end=1.0, control=Sampled(lambda t, q, v: np.zeros(2), 0.1))


def test_a_law_in_casadi_that_does_not_fit_is_refused() -> None:
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q"), ca.SX.sym("v")
    law = ca.Function("law", [t, q, v], [ca.vertcat(q, v)])
    with pytest.raises(flexarm.SimulationError, match=r"must give 1 inputs \(joint1\), got 2"):
        flexarm.simulate(wheel(), t_end=1.0, control=law)
    with pytest.raises(flexarm.SimulationError, match=r"of 1, 1 and 1 numbers, got \[1, 1\]"):
        flexarm.simulate(wheel(), t_end=1.0, control=ca.Function("law", [q, v], [q]))


def test_a_law_in_casadi_that_gives_no_number_stops_the_run() -> None:
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q"), ca.SX.sym("v")
    law = ca.Function("law", [t, q, v], [ca.sqrt(0.5 - t)])
    run = flexarm.simulate(wheel(), t_end=1.0, method="dop853", control=law)
    assert run.status == "stopped"
    assert "the control law may be infinite or not a number" in run.reason
    assert run.t[-1] == pytest.approx(0.5, abs=0.01)


def test_a_law_that_gives_no_number_stops_the_run_there() -> None:
    def law(t: float, q: Array, v: Array) -> Array:
        return np.array([np.nan if t > 0.45 else 1.0])

    run = flexarm.simulate(wheel(), t_end=1.0, dt=0.1, control=Sampled(law, 0.1))
    assert run.status == "stopped"
    assert "gave no number for joint1 at t = 0.5 s" in run.reason
    assert run.t[-1] == pytest.approx(0.5)


def test_an_unknown_joint_is_refused() -> None:
    with pytest.raises(flexarm.SimulationError, match="no driven joint 'elbow': there are joint1"):
        flexarm.simulate(wheel(), t_end=1.0, inputs={"elbow": 1.0})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"kind": "steps"}, "much"])
def test_an_input_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(flexarm.SimulationError, match="inputs: joint1"):
        flexarm.simulate(wheel(), t_end=1.0, inputs={"joint1": value})


def test_a_table_that_ends_early_is_refused() -> None:
    table = {"kind": "table", "times": [0, 1], "values": [0, 1]}
    with pytest.raises(flexarm.SimulationError, match="joint1: its table ends at t = 1 s"):
        flexarm.simulate(wheel(), t_end=1.5, inputs={"joint1": table})


def test_a_prescribed_joint_moves_as_given_and_its_work_is_in_the_balance() -> None:
    spin = ", actuation: prescribed, motion: {kind: spin-up, rate: 4, duration: 1}"
    run = flexarm.simulate(wheel(spin), t_end=2.0, dt=0.1, rtol=1e-7)
    assert run.v[-1, 0] == pytest.approx(4.0)
    assert run.works[-1, 2] == pytest.approx(0.5 * INERTIA * 16, rel=1e-8)
    assert run.energy_balance < 1e-8
