"""Progress from 0 to 1: its ends, its derivatives, its peaks."""

import casadi as ca
import numpy as np
import pytest
from pydantic import ValidationError

from flexarm.arm.profile import Cycloid, Trapezoid
from flexarm.control import Timing
from flexarm.control.trajectory import KINDS, Kind
from flexarm.errors import FlexarmError
from flexarm.model.profiles import breakpoints, evaluate
from flexarm.spatial import Array


def values(timing: Timing, times: Array) -> tuple[Array, Array, Array]:
    """Evaluate progress, rate and acceleration."""
    t = ca.SX.sym("t")
    s, rate, change = ca.Function("s", [t], list(timing.trace(t)))(times[None, :])
    return np.array(s).ravel(), np.array(rate).ravel(), np.array(change).ravel()


@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_from_0_to_1_and_rests_before_and_after(kind: Kind) -> None:
    timing = Timing(kind, 2.0, begin=0.5)
    s, rate, change = values(timing, np.array([0.0, np.nextafter(0.5, 0.0), 2.5, 3.0]))
    assert s.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert rate.tolist() == [0.0] * 4
    assert change.tolist() == [0.0] * 4


@pytest.mark.parametrize("kind", KINDS)
def test_rate_and_acceleration_are_its_derivatives(kind: Kind) -> None:
    timing = Timing(kind, 2.0, begin=0.5, ramp=0.3)
    times = np.linspace(0.53, 2.47, 98)
    kinks = np.array([1.1, 1.9])  # of the trapezoid's rate
    times = times[np.abs(times[:, None] - kinks).min(axis=1) > 1e-3]
    step = 1e-4
    after, before = values(timing, times + step), values(timing, times - step)
    _, rate, change = values(timing, times)
    np.testing.assert_allclose((after[0] - before[0]) / (2 * step), rate, atol=1e-6)
    np.testing.assert_allclose((after[1] - before[1]) / (2 * step), change, atol=1e-6)


CYCLOID = Cycloid[float](kind="cycloid", start=0.0, end=1.0, begin=0.2, duration=0.5)
TRAPEZOID = Trapezoid[float](
    kind="trapezoid", start=0.0, end=1.0, begin=0.2, duration=0.5, ramp=0.3
)
TRIANGLE = TRAPEZOID.model_copy(update={"ramp": 0.5})
LIMITED = Trapezoid[float](  # ramps of 0.15 s, 0.5 s in all
    kind="trapezoid", start=0.0, end=1.0, begin=0.2, rate=1 / 0.35, acceleration=1 / 0.35 / 0.15
)


@pytest.mark.parametrize(
    ("profile", "ramp"), [(CYCLOID, 0.25), (TRAPEZOID, 0.3), (TRIANGLE, 0.5), (LIMITED, 0.3)]
)
def test_model_files_name_the_same(profile: Cycloid[float] | Trapezoid[float], ramp: float) -> None:
    times = np.linspace(0.0, 1.0, 47)  # none at a jump
    expected = np.array([evaluate(profile, t) for t in times]).T
    timing = Timing(profile.kind, 0.5, begin=0.2, ramp=ramp)
    np.testing.assert_allclose(values(timing, times), expected, atol=1e-12)


@pytest.mark.parametrize("way", [3.0, -3.0, 0.5, 0.0])
def test_a_trapezoid_of_limits_reaches_one_and_keeps_both(way: float) -> None:
    """Rate 1 and acceleration 2: ways of less than 0.5 never reach the rate."""
    profile = Trapezoid[float](kind="trapezoid", start=1.0, end=1 + way, rate=1.0, acceleration=2.0)
    s, rate, change = np.array([evaluate(profile, t) for t in np.linspace(0, 5, 5001)]).T
    assert (s[0], s[-1], rate[-1]) == (1.0, 1 + way, 0.0)
    assert np.abs(rate).max() == pytest.approx(min(1.0, abs(2 * way) ** 0.5), rel=1e-3)
    assert set(np.unique(np.abs(change)).round(12)) <= {0.0, 2.0}
    took = 0.0 if way == 0 else breakpoints(profile)[-1]
    assert took == pytest.approx(abs(way) + 0.5 if abs(way) > 0.5 else 2 * (abs(way) / 2) ** 0.5)
    np.testing.assert_allclose(np.diff(s), 5e-4 * (rate[1:] + rate[:-1]), atol=3e-7)


@pytest.mark.parametrize(
    "given",
    [
        {}, {"duration": 1, "rate": 1}, {"rate": 1}, {"acceleration": 1}, {"ramp": 0.1},
        {"rate": 1, "acceleration": 1, "ramp": 0.2}, {"duration": 1, "ramp": 0.6},
        {"rate": -1, "acceleration": 1},
    ],
)  # fmt: skip
def test_a_trapezoid_has_a_duration_or_both_limits(given: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match=r"duration \(with a ramp|0\.5|greater than 0"):
        Trapezoid[float].model_validate({"kind": "trapezoid", "start": 0, "end": 1} | given)


@pytest.mark.parametrize(
    ("kind", "rate", "acceleration"),
    [
        ("cycloid", 2.0, 2 * np.pi),
        ("quintic", 1.875, 10 / np.sqrt(3)),
        ("septic", 2.1875, 84 * np.sqrt(5) / 25),
        ("trapezoid", 1.25, 6.25),  # of a ramp of a fifth
    ],
)
def test_peaks_are_the_known_ones(kind: Kind, rate: float, acceleration: float) -> None:
    _, rates, changes = values(Timing(kind, 1.0, ramp=0.2), np.linspace(0, 1, 20001))
    assert rates.max() == pytest.approx(rate, rel=1e-7)
    assert changes.max() == pytest.approx(acceleration, rel=1e-7)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "cubic"}, "must be one of cycloid, quintic, septic, trapezoid, got 'cubic'"),
        ({"duration": 0.0}, "timing: duration: must be between 1e-09 and .*, got 0"),
        ({"begin": -1.0}, "timing: begin: must be between 0 and .*, got -1"),
        ({"ramp": 0.6}, "timing: ramp: must be between 1e-09 and 0.5, got 0.6"),
    ],
)
def test_a_timing_that_is_none_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(FlexarmError, match=said):
        Timing(**({"kind": "cycloid", "duration": 1.0} | options))  # type: ignore[arg-type]
