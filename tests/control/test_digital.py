"""Laws as a computer runs them: sampled, late, noisy, in steps, cut."""

from typing import Any

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.control import Gauge, Timing, decoupling_law, joint_move, pd_law, sampled, sensors
from flexarm.errors import FlexarmError, SimulationError
from flexarm.spatial import Array
from tests.control.arms import one_link, two_links

ARM = one_link(damping=0.02)
MODEL = flexarm.build(ARM)
MOTION = joint_move(MODEL, {"joint1": 0.5}, Timing("cycloid", 0.4))
LAW = decoupling_law(MOTION, kp=100, kd=20)


def joint_error(period: float, **options: Any) -> float:
    """Run the law on a computer; tell the largest error of the joint."""
    control = sampled(LAW, period, MODEL, **options)
    run = flexarm.simulate(ARM, t_end=0.6, control=control, rtol=1e-5)
    assert run.status == "finished", run.reason
    return float(np.abs(run.q - MOTION.at(run.t)[0])[:, 0].max())


def test_a_sampled_law_nears_the_continuous_one_with_its_period() -> None:
    errors = [joint_error(period) for period in (4e-3, 2e-3, 1e-3)]
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.15)


def test_delay_degrades_it_smoothly() -> None:
    errors = [joint_error(1e-3, delay=delay) for delay in (0.0, 1e-3, 3e-3)]
    assert errors[0] < errors[1] < errors[2] < 0.02


def test_noise_degrades_it_in_proportion_and_equal_seeds_give_equal_runs() -> None:
    quiet = joint_error(2e-3)
    noisy = [joint_error(2e-3, noise=size, seed=7) for size in (1e-4, 1e-3)]
    assert quiet < noisy[1] < 0.05
    assert noisy[0] - quiet < 0.2 * (noisy[1] - quiet)
    assert joint_error(2e-3, noise=1e-3, seed=7) == noisy[1]
    assert joint_error(2e-3, noise=1e-3, seed=8) != noisy[1]


def test_a_converter_rounds_readings_to_its_steps() -> None:
    seen: list[float] = []
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    control = sampled(ca.Function("law", [t, q, v], [q[0]]), 0.1, MODEL, quantum=[0.25, 0.0])
    computer = control.begin(MODEL)
    for k, value in enumerate((0.1, 0.13, 0.4, -0.4)):
        seen.append(float(computer(0.1 * k, np.array([value, 0.0]), np.zeros(2))[0]))
    assert seen == [0.0, 0.25, 0.5, -0.5]


def test_differences_of_readings_stand_in_for_rates() -> None:
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    law = ca.Function("law", [t, q, v], [v[0]])
    control = sampled(law, 0.1, MODEL, rates="difference", quantum=0.01)
    readings, computer = [0.0, 0.052, 0.118], control.begin(MODEL)
    rates = [
        computer(0.1 * k, np.array([x, 0]), np.full(2, 9.0))[0] for k, x in enumerate(readings)
    ]
    np.testing.assert_allclose(rates, [0.0, 0.5, 0.7], rtol=1e-12)


def test_a_late_input_is_the_one_of_some_periods_before() -> None:
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    control = sampled(ca.Function("law", [t, q, v], [t]), 0.1, MODEL, delay=0.2)
    for _ in range(2):  # every run starts it afresh
        computer = control.begin(MODEL)
        late = [float(computer(0.1 * k, np.zeros(2), np.zeros(2))[0]) for k in range(5)]
        np.testing.assert_allclose(late, [0.0, 0.0, 0.0, 0.1, 0.2], atol=1e-12)


def test_inputs_stay_within_limits_and_the_joint_lags_then() -> None:
    control = sampled(LAW, 2e-3, MODEL, limits=12.0)
    run = flexarm.simulate(ARM, t_end=0.6, control=control)
    assert np.abs(run.u).max() == 12.0
    errors = [joint_error(2e-3, limits=limit) for limit in (14.0, 12.0, 10.0)]
    assert errors[0] == joint_error(2e-3)  # 13.4 N m are asked for
    assert errors[0] < errors[1] < errors[2] < 0.2


def test_a_computer_keeps_to_the_limits_of_the_model_file() -> None:
    data = ARM.model_dump(exclude_unset=True)
    data["links"][0]["joint"]["limits"] = {"effort": 12.0}
    arm = type(ARM).model_validate(data)
    run = flexarm.simulate(arm, t_end=0.6, control=sampled(LAW, 2e-3, flexarm.build(arm)))
    other = flexarm.simulate(ARM, t_end=0.6, control=sampled(LAW, 2e-3, MODEL, limits=12.0))
    np.testing.assert_array_equal(run.u, other.u)
    assert not any("effort" in text for text in run.validity.warnings)


@pytest.mark.campaign
def test_joints_and_strains_read_by_a_computer_are_enough() -> None:
    arm = two_links(damping=0.02)
    model = flexarm.build(arm)
    motion = joint_move(model, {"joint1": 0.8}, Timing("cycloid", 0.5))
    law = decoupling_law(motion, kp=100, kd=20)
    sensed = sensors(model, [Gauge("link1", 0.0), Gauge("link2", 0.0)])
    whole, seen, noisy = (
        flexarm.simulate(arm, t_end=0.7, control=control, rtol=1e-5).q
        for control in (
            sampled(law, 1e-3, model),
            sampled(law, 1e-3, model, sensed=sensed),
            sampled(law, 1e-3, model, sensed=sensed, noise=[1e-6, 1e-6, 1e-5, 1e-5]),
        )
    )
    np.testing.assert_allclose(seen, whole, atol=1e-8)
    assert 1e-6 < np.abs(noisy - whole).max() < 1e-3


def test_a_law_that_gives_no_number_stops_the_run_in_one_line() -> None:
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    bad = ca.Function("law", [t, q, v], [ca.if_else(t < 0.05, 0.0, 1.0) * ca.sqrt(0.05 - t)])
    run = flexarm.simulate(ARM, t_end=0.2, control=sampled(bad, 0.01, MODEL))
    assert run.status == "stopped"
    assert run.reason.startswith("the control law returned no number for joint1 at t = 0.06")
    assert "\n" not in run.reason


def test_a_law_of_the_wrong_length_is_refused_in_one_line() -> None:
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    long = ca.Function("law", [t, q, v], [ca.vertcat(t, t)])
    with pytest.raises(SimulationError, match=r"must return 1 inputs \(joint1\)"):
        flexarm.simulate(ARM, t_end=0.1, control=sampled(long, 0.01, MODEL))


def test_a_continuous_law_that_gives_no_number_stops_the_run_in_one_line() -> None:
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    run = flexarm.simulate(
        ARM, t_end=0.2, control=ca.Function("law", [t, q, v], [ca.sqrt(0.05 - t)])
    )
    assert run.status == "stopped"
    assert "0.05" in run.reason
    assert "\n" not in run.reason


def test_pd_on_differences_of_readings_is_nearly_the_continuous_one() -> None:
    law = pd_law(MOTION, kp=50, kd=5)
    control = sampled(law, 1e-3, MODEL, rates="difference")
    run = flexarm.simulate(ARM, t_end=1.0, control=control)
    smooth = flexarm.simulate(ARM, t_end=1.0, control=law)
    assert np.abs(run.q - smooth.q)[:, 0].max() < 2e-3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"period": 0.0}, "period: must be > 0 and a finite number, got 0"),
        ({"delay": 0.0015}, "delay: must be a multiple of the period 0.001 s, got 0.0015"),
        ({"delay": float("nan")}, "delay: must be a finite number, got nan"),
        ({"delay": float("inf")}, "delay: must be a finite number, got inf"),
        ({"delay": -1e-3}, "delay: must be a multiple of the period 0.001 s, got -0.001"),
        ({"noise": [1.0, 1.0, 1.0]}, "noise: must be one number or 2"),
        ({"quantum": -1.0}, "quantum: must be one number or 2 numbers, all >= 0"),
        ({"rates": "filtered"}, "rates: must be 'measured' or 'difference'"),
    ],
)
def test_options_that_are_none_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(FlexarmError, match=said):
        sampled(LAW, options.pop("period", 1e-3), MODEL, **options)


def test_a_law_in_python_has_all_that_one_in_casadi_has() -> None:
    """The same law, once compiled and once in Python, behind the same sensors and converters."""
    sensed = sensors(MODEL, [Gauge("link1", 0.0)])
    options: dict[str, Any] = {
        "sensed": sensed, "delay": 2e-3, "limits": 12.0, "noise": 1e-4, "quantum": 1e-3,
        "seed": 3, "rates": "difference",
    }  # fmt: skip
    runs = [
        flexarm.simulate(ARM, t_end=0.3, control=control)
        for control in (
            sampled(LAW, 2e-3, MODEL, **options),
            flexarm.Sampled(lambda t, q, v: np.array(LAW(t, q, v))[0], 2e-3, **options),
        )
    ]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    plain = flexarm.simulate(ARM, t_end=0.3, control=sampled(LAW, 2e-3, MODEL))
    assert np.abs(runs[0].q - plain.q).max() > 1e-4


def test_a_law_that_remembers_begins_anew_in_every_run() -> None:
    class Counting:
        def __init__(self) -> None:
            self.count = 0

        def begin(self) -> "Counting":
            return Counting()

        def __call__(self, t: float, q: Array, v: Array) -> list[float]:
            self.count += 1
            return [0.01 * self.count]

    control = flexarm.Sampled(Counting(), 0.01)
    runs = [flexarm.simulate(ARM, t_end=0.1, control=control) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].u, runs[1].u)
    assert runs[0].u.max() == pytest.approx(0.1)


def test_a_law_of_other_arguments_is_refused() -> None:
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    with pytest.raises(SimulationError, match=r"must be a function of t, q and v .*, got \[2, 2\]"):
        sampled(ca.Function("law", [q, v], [q[0]]), 1e-3, MODEL)
