"""Intervals of fits to data that other code has computed hold the truth as often as they say."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

import flexarm
from flexarm.fitting.fit import Fit
from flexarm.fitting.recording import Sensor
from flexarm.spatial import Array
from tests.fitting.own_equations import ARMS, OwnArm

# Relative error of values fitted to the exact data with steps so short that they do not matter:
# that of the data's own integration.
DATA_ERROR = 2e-10
SAMPLES = (2e-3, 5e-4)  # sampling intervals [s]
CHANCE = 1.35e-3  # of a right interval to hold the truth too rarely: three standard deviations


@cache
def own(name: str) -> OwnArm:
    return ARMS[name]()


@cache
def exact(name: str, dt: float) -> dict[str, Array]:
    return own(name).recording(dt)


def fitted(name: str, dt: float, seed: int | None) -> Fit:
    data = dict(exact(name, dt))
    if seed is not None:
        noise = own(name).noise * np.random.default_rng(seed).normal(size=len(data["time"]))
        data["angle"] = data["angle"] + noise
    keys = [key for key in own(name).truth if ": " not in key]
    return flexarm.identify(
        own(name).arm, data, fit=keys, outputs={"angle": "shoulder"}, **own(name).options
    )


def held(fit: Fit, truth: dict[str, float]) -> list[bool]:
    return [each.low <= truth[each.name] <= each.high for each in fit.estimates]


def require_coverage(name: str, dt: float, seeds: range) -> None:
    """Require of each number that as many intervals hold it as 95 % do but for chance."""
    counts = np.sum([held(fitted(name, dt, seed), own(name).truth) for seed in seeds], axis=0)
    least, most = (float(binom.ppf(p, len(seeds), 0.95)) for p in (CHANCE, 1 - CHANCE))
    assert np.all((least <= counts) & (counts <= most)), counts


@pytest.mark.campaign
def test_intervals_of_a_few_sets_hold_the_truth() -> None:
    require_coverage("pendulum", SAMPLES[0], range(6))


@pytest.mark.campaign
@pytest.mark.parametrize("dt", SAMPLES)
@pytest.mark.parametrize("name", ARMS)  # 181 to 199 of 200
def test_intervals_hold_the_truth_as_often_as_they_say(name: str, dt: float) -> None:
    require_coverage(name, dt, range(200))


def test_a_lag_between_coarse_samples_leaves_no_bias() -> None:
    """A low-pass filter of its own equation, sampled 16 times a period of the input."""
    arm, lag, dt = own("pendulum"), 0.03, 0.01

    def rates(t: float, y: Array) -> list[float]:
        return [*arm.rates(t, y[:2]), (y[0] - y[2]) / lag]

    t, angle = replace(arm, rates=rates, size=3, read=2).measured(dt)
    noise = arm.noise * np.random.default_rng(1).normal(size=len(t))
    fit = flexarm.identify(
        arm.arm, {"time": t, "angle": angle + noise}, fit=list(arm.truth),
        outputs={"angle": Sensor("shoulder", lag=0.025, fit=("lag",))},
    )  # fmt: skip
    truth = arm.truth | {"angle: lag": lag}
    assert all(held(fit, truth))
    assert not fit.correlated
    for each in fit.estimates:
        assert each.value == pytest.approx(truth[each.name], rel=5e-5)


def test_a_held_input_that_acts_late_is_fitted_as_it_was() -> None:
    arm = own("held drive")
    fit = fitted("held drive", SAMPLES[0], 0)
    assert fit.converged
    assert not fit.correlated
    for each in fit.estimates:
        assert abs(each.value - arm.truth[each.name]) < 4 * each.error
    linear = flexarm.identify(
        arm.arm, exact("held drive", SAMPLES[0]), fit=[], outputs={"angle": "shoulder"},
        **arm.options | {"interpolation": {}},
    )  # fmt: skip
    # A straight line to the next sample acts half an interval too early, or a delay is too long.
    delay = linear.estimates[0].value - arm.truth["shoulder: input delay"]
    assert delay == pytest.approx(SAMPLES[0] / 2, rel=0.2)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["pendulum", "elastic drive"])
def test_intervals_of_exact_data_hold_the_truth(name: str) -> None:
    fit = fitted(name, SAMPLES[0], None)
    for each in fit.estimates:
        truth = own(name).truth[each.name]
        assert each.low - DATA_ERROR * truth <= truth <= each.high + DATA_ERROR * truth
        assert each.value == pytest.approx(truth, rel=1e-8)
        assert float(each.interval.split(" to ")[0]) <= float(each.fitted)
        assert float(each.fitted) <= float(each.interval.split(" to ")[1])
