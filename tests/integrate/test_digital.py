"""Sampled servos against their own arithmetic: a joint of 1 kg m^2 under efforts that are held."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import ModelError
from tests.integrate.mission_arms import flexible_arm, one_joint

PERIOD = 0.05
Measure = Callable[[float, float, float], float]  # time, position, speed to the effort asked for


def held(measure: Measure, delay: float, times: np.ndarray) -> np.ndarray:
    """Move a joint under what was asked for last, from rest; give its place and speed."""
    q = v = effort = now = 0.0
    ticks = 0
    waiting: list[tuple[float, float]] = []
    found: list[tuple[float, float]] = []
    while len(found) < len(times):
        due = min([ticks * PERIOD, *(t for t, _ in waiting)])
        end = min(due, times[len(found)])
        q, v, now = (
            q + v * (end - now) + effort * (end - now) ** 2 / 2,
            v + effort * (end - now),
            end,
        )
        if due > end + 1e-12:
            found.append((q, v))
            continue
        if ticks * PERIOD <= now + 1e-12:
            waiting.append((now + delay, measure(now, q, v)))
            ticks += 1
        effort = next((asked for t, asked in reversed(waiting) if t <= now + 1e-12), effort)
        waiting = [(t, asked) for t, asked in waiting if t > now + 1e-12]
    return np.array(found)


def coarse(resolution: float) -> Measure:
    """Measure in steps; speeds are differences."""
    before: list[float] = []

    def measure(t: float, q: float, v: float) -> float:
        seen = round(q / resolution) * resolution
        before.append(seen)
        speed = (seen - before[-2]) / PERIOD if len(before) > 1 else 0.0
        return 4 * (1 - seen) - speed

    return measure


def fine(t: float, q: float, v: float) -> float:
    return 4 * (1 - q) - v


@pytest.mark.few(6)
@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize(
    ("delay", "resolution"), [(0.0, None), (0.03, None), (0.12, None), (0.01, 0.01)]
)
def test_it_measures_waits_and_holds(delay: float, resolution: float | None, rtol: float) -> None:
    servo: dict[str, Any] = {
        "stiffness": 4.0, "damping": 1.0, "target": {"kind": "step", "value": 1.0},
        "period": PERIOD, "delay": delay,
    }  # fmt: skip
    servo |= {} if resolution is None else {"resolution": resolution}
    run = flexarm.simulate(one_joint(servo=servo), t_end=3.0, dt=0.0123, rtol=rtol)
    wanted = held(fine if resolution is None else coarse(resolution), delay, run.t)
    assert np.abs(run.q[:, 0] - wanted[:, 0]).max() <= rtol
    assert np.abs(run.v[:, 0] - wanted[:, 1]).max() <= rtol
    assert len(np.unique(run.u)) <= 62
    assert run.energy_balance <= 1e-8


def test_events_and_limits_fall_between_its_ticks() -> None:
    """Its target changes at 0.52 s: it sees that at 0.55 s; its effort is cut at 1.5 N m."""
    servo = {
        "stiffness": 4.0, "damping": 1.0, "target": {"kind": "constant", "value": 1.0},
        "period": PERIOD, "effort": 1.5,
    }  # fmt: skip
    event = {"at": 0.52, "servo": {"hinge": {"target": {"kind": "constant", "value": -1.0}}}}
    run = flexarm.simulate(one_joint(servo=servo, events=[event]), t_end=2.0, dt=0.0123, rtol=1e-9)

    def measure(t: float, q: float, v: float) -> float:
        return float(np.clip(4 * ((1 if t < 0.52 else -1) - q) - v, -1.5, 1.5))

    wanted = held(measure, 0.0, run.t)
    assert np.abs(run.q[:, 0] - wanted[:, 0]).max() <= 1e-9
    assert np.abs(run.u).max() == 1.5


@pytest.mark.campaign
def test_its_integral_takes_away_a_load_within_the_current_that_there_is() -> None:
    motor = {"torque_constant": 0.1, "current_limit": 3.0}
    servo = {"stiffness": 40.0, "damping": 12.0, "integral_time": 0.5, "period": 0.002}
    drive = {"rotor_inertia": 0.002, "gear_ratio": 20.0, "stiffness": 900.0, "damping": 2.0}
    arm = flexible_arm(base={"kind": "fixed"}, drive=drive | {"motor": motor}, servo=servo,
                       input={"kind": "constant", "value": 1.0})  # fmt: skip
    run = flexarm.simulate(arm, t_end=6.0)
    assert abs(run.q[-1, 0]) <= 1e-3
    assert np.abs(run.u).max() <= 3.0
    assert run.u[-1, 0] == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("key", ["delay", "resolution"])
def test_only_what_is_sampled_waits_and_rounds(key: str) -> None:
    with pytest.raises(ModelError, match="Give the servo's period too"):
        one_joint(servo={"stiffness": 1.0, key: 0.1})
