"""Everything that can drive an arm: profiles, numbers, control laws in CasADi and in Python."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.io.model_file import loads
from flexarm.spatial import Array

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


@pytest.mark.few(12)
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

    run = flexarm.simulate(wheel(), t_end=2.0, dt=0.05, control=flexarm.Sampled(law, 0.1))
    assert asked == pytest.approx(np.arange(20) * 0.1)
    angle, rate = 0.0, 0.0
    for k in range(20):
        assert run.q[2 * k, 0] == pytest.approx(angle, abs=1e-12)
        push = (-2.0 * angle - 1.5 * rate + 1.0) / INERTIA
        assert run.u[2 * k + 1, 0] == pytest.approx(push * INERTIA, abs=1e-12)
        angle, rate = angle + 0.1 * rate + 0.005 * push, rate + 0.1 * push


@pytest.mark.parametrize("period", [0.0, -1.0, float("nan"), float("inf"), "-1 ms", None])
def test_a_law_needs_a_period(period: float) -> None:
    with pytest.raises(flexarm.SimulationError, match="period: must be > 0"):
        flexarm.Sampled(lambda t, q, v: q, period)


def test_a_sampled_law_is_a_function_asked_not_too_often() -> None:
    with pytest.raises(flexarm.SimulationError, match=r"law must be a function .*, got 3"):
        flexarm.Sampled(3, 1e-3)  # type: ignore[arg-type]
    often = flexarm.Sampled(lambda t, q, v: q, 1e-9)
    with pytest.raises(flexarm.SimulationError, match=r"makes 1e\+09 calls, more than 1e\+07"):
        flexarm.simulate(wheel(), t_end=1.0, control=often)


@pytest.mark.parametrize("control", [lambda t, q, v: [0.0], "abc", 3])
def test_what_is_no_control_law_is_refused_with_the_way(control: Any) -> None:
    with pytest.raises(flexarm.SimulationError, match=r"Python function as Sampled\(law, period\)"):
        flexarm.simulate(wheel(), t_end=0.5, control=control)


@pytest.mark.parametrize(
    "value", [lambda t: 1.0, ca.Function("f", [ca.SX.sym("t")], [1.0]), ca.SX.sym("t")]
)
def test_a_function_as_the_input_of_a_joint_is_refused_with_the_way(value: Any) -> None:
    with pytest.raises(flexarm.SimulationError, match=r"inputs: joint1.* control=.*Sampled\(law"):
        flexarm.simulate(wheel(), t_end=0.5, inputs={"joint1": value})


def test_inputs_beside_a_control_law_are_refused() -> None:
    law = flexarm.Sampled(lambda t, q, v: [0.0], 0.1)
    with pytest.raises(flexarm.SimulationError, match="inputs: cannot be combined with cont"):
        flexarm.simulate(wheel(), t_end=0.5, inputs={"joint1": 1.0}, control=law)


def test_a_control_law_takes_the_place_of_the_inputs_of_the_file() -> None:
    arm = wheel(", input: {kind: constant, value: 100}")
    law = flexarm.Sampled(lambda t, q, v: [0.6], 0.1)
    run = flexarm.simulate(arm, t_end=1.0, control=law)
    assert run.q[-1, 0] == pytest.approx(0.3 / INERTIA)


@pytest.mark.parametrize("answer", ["x", ["x"], [1j], np.array([1j]), None, [[1.0], 2.0]])
def test_an_answer_that_is_no_real_number_is_refused(answer: object) -> None:
    law = flexarm.Sampled(lambda t, q, v: answer, 0.1)
    with pytest.raises(flexarm.SimulationError, match=r"1 inputs \(joint1\) as real numbers, got"):
        flexarm.simulate(wheel(), t_end=1.0, control=law)


def test_a_later_answer_that_is_no_real_number_stops_the_run() -> None:
    law = flexarm.Sampled(lambda t, q, v: [0.6 if t < 0.45 else 1j], 0.1)
    run = flexarm.simulate(wheel(), t_end=1.0, dt=0.1, control=law)
    assert (run.status, len(run.t)) == ("stopped", 6)
    assert "as real numbers, got [1j] at t = 0.5 s" in run.reason
    assert run.q[-1, 0] == pytest.approx(0.3 * 0.5**2 / INERTIA)


class Foreign:
    """What can be neither converted nor shown."""

    def __array__(self, *_: object, **__: object) -> None:
        raise KeyError

    def __repr__(self) -> str:
        raise KeyError


class Untold(Exception):
    """An error without words."""

    def __str__(self) -> str:
        raise KeyError


@pytest.mark.parametrize("answer", [[10**400], [10**5000], Foreign(), Untold()])
def test_answers_and_errors_that_cannot_be_told_stop_the_run(answer: object) -> None:
    def law(t: float, q: Array, v: Array) -> object:
        if t > 0.45 and isinstance(answer, Exception):
            raise answer
        return [0.6] if t < 0.45 else answer

    run = flexarm.simulate(wheel(), t_end=1.0, dt=0.1, control=flexarm.Sampled(law, 0.1))
    assert (run.status, len(run.t)) == ("stopped", 6)
    assert type(answer).__name__ in run.reason


def test_a_law_that_raises_stops_the_run_and_is_named() -> None:
    def law(t: float, q: Array, v: Array) -> list[float]:
        if t > 0.45:
            raise ValueError("sensor\nlost")
        return [0.6]

    run = flexarm.simulate(wheel(), t_end=1.0, dt=0.1, control=flexarm.Sampled(law, 0.1))
    assert (run.status, len(run.t)) == ("stopped", 6)
    assert "the control law raised ValueError: sensor lost (test_inputs.py, line" in run.reason
    assert "at t = 0.5 s" in run.reason
    assert run.u[:5, 0].tolist() == [0.6] * 5


def test_a_law_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(flexarm.SimulationError, match=r"must return 1 inputs \(joint1\)"):
        flexarm.simulate(
            wheel(), t_end=1.0, control=flexarm.Sampled(lambda t, q, v: np.zeros(2), 0.1)
        )


def test_a_law_in_casadi_that_does_not_fit_is_refused() -> None:
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q"), ca.SX.sym("v")
    law = ca.Function("law", [t, q, v], [ca.vertcat(q, v)])
    with pytest.raises(flexarm.SimulationError, match=r"must return 1 inputs \(joint1\), got 2"):
        flexarm.simulate(wheel(), t_end=1.0, control=law)
    with pytest.raises(flexarm.SimulationError, match=r"with 1, 1 and 1 numbers, got \[1, 1\]"):
        flexarm.simulate(wheel(), t_end=1.0, control=ca.Function("law", [q, v], [q]))


@pytest.mark.parametrize("method", ["dop853", "etd4", "rodas4", "auto"])
@pytest.mark.parametrize("of", ["time", "angle"])
def test_a_law_in_casadi_that_gives_no_number_stops_the_run(of: str, method: str) -> None:
    """A torque of 0.6 turns the wheel to 0.025 rad in half a second."""
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q"), ca.SX.sym("v")
    bad = ca.sqrt(0.5 - t) if of == "time" else ca.sqrt(0.3 * 0.25 / INERTIA - q)
    law = ca.Function("law", [t, q, v], [0.6 + 1e-9 * bad])
    run = flexarm.simulate(wheel(), t_end=1.0, method=method, control=law)
    assert run.status == "stopped"
    assert "the control law returned no number for joint1 at t = 0.5 s" in run.reason
    assert run.t[-1] == pytest.approx(0.5, abs=0.01)


def test_in_fixed_steps_the_law_is_named_too() -> None:
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q"), ca.SX.sym("v")
    law = ca.Function("law", [t, q, v], [ca.sqrt(0.5 - t)])
    run = flexarm.simulate(wheel(), t_end=1.0, method="rk4", control=law)
    assert "the control law returned no number for joint1 at t = 0.5" in run.reason


def test_a_law_that_gives_no_number_stops_the_run_there() -> None:
    def law(t: float, q: Array, v: Array) -> Array:
        return np.array([np.nan if t > 0.45 else 1.0])

    run = flexarm.simulate(wheel(), t_end=1.0, dt=0.1, control=flexarm.Sampled(law, 0.1))
    assert run.status == "stopped"
    assert "returned no number for joint1 at t = 0.5 s" in run.reason
    assert run.t[-1] == pytest.approx(0.5)


def test_an_unknown_joint_is_refused() -> None:
    with pytest.raises(
        flexarm.SimulationError, match=r"no driven joint 'elbow'. The driven joints are joint1"
    ):
        flexarm.simulate(wheel(), t_end=1.0, inputs={"elbow": 1.0})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"kind": "steps"}, "much"])
def test_an_input_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(flexarm.SimulationError, match=r"inputs: joint1: input.*(must|needed)"):
        flexarm.simulate(wheel(), t_end=1.0, inputs={"joint1": value})


@pytest.mark.parametrize(
    "values",
    [
        [0.6, -1.1e-49, 0.0],
        (0.6, Fraction(1, 10**49), 0),
        np.array([0.6, -1.1e-49, 0.0]),
        list(np.array([0.6, -1.1e-44, 0.0], dtype=np.float32)),
    ],
    ids=["list", "fraction", "array", "single precision"],
)
@pytest.mark.parametrize("start", [0.0, 1.8e-42])
def test_what_a_computation_left_of_zero_is_zero(values: object, start: float) -> None:
    table = {"kind": "table", "times": [0, 1, 2], "values": values}
    arm = wheel(f", start: {{position: {start}}}")
    run = flexarm.simulate(arm, t_end=2.0, inputs={"joint1": table})
    assert run.q[-1, 0] == pytest.approx((0.6 * 0.5 * (2 - 1 / 3)) / INERTIA, rel=1e-6)


def test_a_table_that_ends_early_is_refused() -> None:
    table = {"kind": "table", "times": [0, 1], "values": [0, 1]}
    with pytest.raises(flexarm.SimulationError, match="joint1: the table ends at t = 1 s"):
        flexarm.simulate(wheel(), t_end=1.5, inputs={"joint1": table})


def test_a_prescribed_joint_moves_as_given_and_its_work_is_in_the_balance() -> None:
    spin = ", actuation: prescribed, motion: {kind: spin-up, rate: 4, duration: 1}"
    run = flexarm.simulate(wheel(spin), t_end=2.0, dt=0.1, rtol=1e-7)
    assert run.v[-1, 0] == pytest.approx(4.0)
    assert run.work_integrals[-1, 2] == pytest.approx(0.5 * INERTIA * 16, rel=1e-8)
    assert run.energy_balance < 1e-8


@pytest.mark.parametrize("method", ["etd4", "dop853", "rodas4"])
def test_a_sampled_law_stands_in_place_of_a_file_s_input_that_jumps_between_its_calls(
    method: str,
) -> None:
    small = {"stiffening": False, "links.1.shapes.bending_y": 1}
    arm = flexarm.change_arm(flexarm.example_arm("driven-link"), small)  # it turns round at 0.5 s
    zero = flexarm.Sampled(lambda t, q, v: [0.0], 0.3)
    run = flexarm.simulate(arm, t_end=0.9, control=zero, method=method)
    assert np.abs(run.q).max() == 0.0
    assert np.abs(run.work_integrals).max() == 0.0


def test_a_law_does_not_mind_a_table_in_its_place_that_ends_early() -> None:
    table = ", input: {kind: table, times: [0, 0.2], values: [1, 1]}"
    law = ca.SX.sym("t"), ca.SX.sym("q", 1), ca.SX.sym("v", 1)
    for control in (
        flexarm.Sampled(lambda t, q, v: [0.6], 0.1),
        ca.Function("law", list(law), [ca.SX(0.6)]),
    ):
        run = flexarm.simulate(wheel(table), t_end=0.9, control=control)
        assert run.q[-1, 0] == pytest.approx(0.3 * 0.9**2 / INERTIA, rel=1e-6)


SPINNING = """
flexarm: 1
name: spinning
gravity: [0, 0, 0]
base: {{kind: free, body: {{mass: 2, inertia: [0.1, 0.1, 0.1]}}, spin: [0, {spin}, 0.3]}}
links:
  - joint: {{kind: revolute, name: j}}
    length: 1
    section: {{mass_per_length: 0.3, EIz: 10}}
    shapes: {{kind: loaded, bending_y: 1}}
"""


@pytest.mark.parametrize(
    "method", ["etd4", pytest.param("rodas4", marks=pytest.mark.campaign), "dop853"]
)
def test_a_base_whose_angles_are_measured_anew_where_an_input_jumps_goes_on(method: str) -> None:
    law = flexarm.Sampled(lambda t, q, v: [0.1], 0.01)
    for spin in (1.6, 2.2):
        arm = loads(SPINNING.format(spin=spin))
        run = flexarm.simulate(arm, t_end=1.2, method=method, control=law)
        assert run.status == "finished", run.reason
        assert len({each.tobytes() for each in run.reference_attitudes}) > 1
