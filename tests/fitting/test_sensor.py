"""How sensors lag, and that their readings follow their derivatives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.signal import lsim

import flexarm
from flexarm.errors import FlexarmError
from flexarm.fitting.problem import FitProblem, measured
from flexarm.fitting.recording import Sensor, lagged, read_recording
from flexarm.io.model_file import loads
from tests.fitting.pendulum import OFFSET, TRUTH

MOTOR = """
flexarm: 1
name: link on a motor with a gear
gravity: [0, 0, 0]
stiffening: false
links:
  - joint:
      kind: revolute
      drive:
        rotor_inertia: 2.0e-3
        gear_ratio: 10
        stiffness: 300
        damping: 2
        efficiency: 80 %
        motor: {input: voltage, torque_constant: 0.5, resistance: 2}
    length: 0.5
    section: {EIz: 4.0, mass_per_length: 0.4}
    shapes: {kind: loaded, root: held, bending_y: 1, bending_z: 0, torsion: 0}
payload: {mass: 0.3}
"""


def test_a_lag_is_that_of_its_differential_equation() -> None:
    t = np.sort(np.random.default_rng(1).uniform(0, 3, 4000))
    x, lag = np.cos(4 * t), 0.2
    y, _, late, slopes = lagged(t, x, np.zeros_like(t), x[:, None], lag)
    # lag y' + y = cos(4 t), from y = cos(4 t) at the first sample on
    whole = (np.cos(4 * t) + 4 * lag * np.sin(4 * t)) / (1 + (4 * lag) ** 2)
    whole += (x[0] - whole[0]) * np.exp(-(t - t[0]) / lag)
    assert y == pytest.approx(whole, abs=1e-5)
    assert slopes[:, 0] == pytest.approx(y, abs=1e-12)
    more, less = (lagged(t, x, x, x[:, None], each)[0] for each in (lag + 1e-5, lag - 1e-5))
    assert -late == pytest.approx((more - less) / 2e-5, abs=1e-6)


def test_a_lag_is_exact_for_what_is_cubic_between_samples() -> None:
    t = np.array([0.0, 0.4, 0.7, 1.5, 1.9, 2.6, 3.0, 3.1, 4.0, 5.0])
    x, lag = t**3 - 2 * t, 0.8
    particular = x - lag * (3 * t**2 - 2) + lag**2 * 6 * t - 6 * lag**3
    whole = particular + (x[0] - particular[0]) * np.exp(-t / lag)
    assert lagged(t, x, x, x[:, None], lag)[0] == pytest.approx(whole, rel=1e-12)


@pytest.mark.campaign
def test_a_filter_of_second_order_is_told(file: Path, exact: dict[str, Any]) -> None:
    t, clean = exact["time_s"], np.radians(exact["angle_deg"]) - OFFSET
    _, read, _ = lsim(([1.0], [0.1**2, 2 * 0.1, 1.0]), clean, t)
    arm = flexarm.change_arm(flexarm.load(file), TRUTH)
    found = {
        poles: flexarm.identify(
            arm, exact | {"angle_deg": np.degrees(read)}, fit=["links.1.body.mass"], step=0.004,
            inputs={"shoulder": "torque"},
            outputs={"angle": Sensor("shoulder", lag=0.2 / poles, fit=("lag",), poles=poles)},
        )
        for poles in (1, 2)
    }  # fmt: skip
    assert found[2].values["angle: lag"] == pytest.approx(0.1, rel=1e-3)
    assert found[2].values["links.1.body.mass"] == pytest.approx(1.3, rel=1e-3)
    assert found[2].residuals[0].error < 1e-3 < 0.1 < found[1].residuals[0].error
    problem = found[2].problem
    at = np.array([1.2, 0.08])
    slope = problem.jacobian(at, np.ones(1))[:, 1]
    more, less = (problem.residuals(np.array([1.2, lag]), np.ones(1)) for lag in (0.08001, 0.07999))
    assert slope == pytest.approx((more - less) / 2e-5, abs=1e-7)
    with pytest.raises(FlexarmError, match="sensor: poles"):
        Sensor("shoulder", poles=0)


def test_readings_of_every_kind_follow_their_derivatives() -> None:
    """A tachometer, a current, the tip and a gauge, by a gear's efficiency and their own."""
    sensors = {
        "speed": Sensor("joint1.rate", fit=("gain",)),
        "current": Sensor("joint1.current", fit=("offset",)),
        "tip": Sensor("tip.y", delay=0.013, fit=("delay",)),
        "strain": Sensor("link1 strain y at 0 distance 0.002", lag=0.02, fit=("lag",)),
    }
    t, keys = np.linspace(0, 0.5, 101), ["links.1.joint.drive.efficiency", "links.1.section.EIz"]
    data = read_recording({"time": t, "volts": 4 + t} | dict.fromkeys(sensors, 0 * t))
    runs = flexarm.differentiable(loads(MOTOR), t_end=0.5, parameters=keys, step=0.001)
    run = measured(runs, data, {"joint1": "volts"}, sensors, "model")
    problem = FitProblem([run], tuple(keys), sensors, ("joint1",), {"joint1": 2.3e-3})
    at, noise = problem.first, np.ones(4)
    found = problem.jacobian(at, noise).reshape(4, 101, -1)
    for k, h in enumerate(1e-4 * np.array([1, 4, 1, 0.1, 1, 1, 0.1, 0.1])):
        far = {p: problem.residuals(at + p * h * np.eye(8)[k], noise) for p in (-2, -1, 1, 2)}
        expected = (far[-2] - 8 * far[-1] + 8 * far[1] - far[2]) / (12 * h)
        off = np.abs(found[:, :, k] - expected.reshape(4, 101)).max(axis=1)
        assert np.all(off <= 1e-6 * np.abs(expected).max()), problem.names[k]
        assert np.abs(expected).max() > 1e-6, problem.names[k]
