"""Whatever the times at which something happens, a run ends and covers all of its duration."""

import math
import signal
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.integrate.mission.discrete import instants
from flexarm.runs.run import Run
from tests.integrate.arms import hub
from tests.integrate.test_locks import carousel
from tests.patience import HANGS
from tests.physics.cases import campaign_if

SPANS = (1e-12, 1e-9, 3e-5, 0.3, 3 * 0.1, 1.0, 1.0 + 2**-52, 7.0, 1e6, 1e9)
METHODS = ("dop853", "etd4", "rodas4", "rk4")
LEAST = 1e-30  # [s] that a model file takes for a time


@pytest.fixture(autouse=True)
def _must_end() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"still running after {HANGS} s of CPU")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, HANGS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def seeds(count: int) -> list[object]:
    """List seeds of random times, half of them for campaigns: every span stays, by some method."""
    return [pytest.param(seed, marks=campaign_if(seed >= count // 2)) for seed in range(count)]


def near(rng: Random, t_end: float, anchors: list[float]) -> float:
    """Draw a time that is another one, or as good as that."""
    t = rng.choice([0.0, t_end, t_end / 2, t_end * rng.random(), *anchors])
    offset = rng.choice([0.0, 1e-15, 1e-12, 1e-13 * t_end, 1e-6 * t_end, 5e-324, 1e-300])
    t = rng.choice([t, t + offset, t - offset, math.nextafter(t, math.inf), math.nextafter(t, 0)])
    anchors.append(max(t, 0.0))
    return anchors[-1]


def intervals(rng: Random, t_end: float, anchors: list[float]) -> list[tuple[float, float]]:
    """Draw intervals that a lock takes for some time."""
    drawn = [sorted(near(rng, t_end, anchors) for _ in range(2)) for _ in range(rng.randrange(4))]
    return [(a, b) for a, b in drawn if b - a > 2e-12 * max(b, 1e-3)]


def jumps(rng: Random, t_end: float, anchors: list[float], size: float) -> dict[str, Any]:
    """Draw an input that changes its sign at such times."""
    drawn = [near(rng, t_end, anchors) for _ in range(rng.randrange(2, 6))]
    times = sorted({t for t in drawn if t == 0 or t > LEAST})
    if len(times) < 2:
        return {"kind": "step", "value": size, "time": times[0] if times else 0.0}
    return {"kind": "bang-bang", "amplitude": size, "times": times}


def impulse(given: dict[str, Any], t_end: float) -> float:
    """Integrate such an input over a run."""
    if given["kind"] == "step":
        return float(given["value"]) * max(t_end - float(given["time"]), 0.0)
    edges = np.minimum(given["times"], t_end)
    return float(given["amplitude"]) * float(
        sum((-1) ** k * d for k, d in enumerate(np.diff(edges)))
    )


def require_whole(run: Run, t_end: float) -> None:
    assert (run.status, run.reason) == ("finished", "")
    assert (run.t[0], run.t[-1]) == (0.0, t_end)
    assert np.all(np.diff(run.t) > 0)
    assert np.all(np.isfinite(run.q))


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", seeds(40))
def test_locks_and_jumps_at_any_times(seed: int) -> None:
    rng = Random(seed)
    t_end, anchors = SPANS[seed % len(SPANS)], [0.1, 0.2, 0.3]
    locks = {name: intervals(rng, t_end, anchors) for name in ("joint1", "joint2")}
    inputs = {name: jumps(rng, t_end, anchors, 1 / t_end) for name in ("joint1", "joint2")}
    dt = rng.choice([None, t_end, t_end / 3, math.nextafter(t_end, 0), 0.37 * t_end])
    run = flexarm.simulate(
        carousel(), t_end=t_end, dt=dt, locks=locks, inputs=inputs, method=METHODS[seed % 4]
    )
    require_whole(run, t_end)
    for name, index in (("joint1", 0), ("joint2", 1)):
        for begin, end in locks[name]:
            held = (run.t >= begin) & (run.t < min(end, t_end) * (1 - 1e-11) - 1e-14)
            assert run.v[held, index] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("seed", seeds(20))
def test_jumps_alone_give_the_momentum_that_they_should(seed: int) -> None:
    rng = Random(100 + seed)
    t_end = SPANS[seed % len(SPANS)]
    given = jumps(rng, t_end, [0.1, 0.2, 0.3], 1 / t_end)
    run = flexarm.simulate(
        carousel(), t_end=t_end, dt=t_end / 4, inputs={"joint1": given}, method=METHODS[seed % 4]
    )
    require_whole(run, t_end)
    assert 3 * run.v[-1, 0] + run.v[-1, 1] == pytest.approx(6.0 + impulse(given, t_end), rel=1e-9)


@pytest.mark.parametrize("seed", seeds(20))
def test_a_sampled_law_at_any_period(seed: int) -> None:
    rng = Random(200 + seed)
    t_end = SPANS[seed % len(SPANS)]
    near_end = rng.choice([1, 2, 3, 7]) * math.nextafter(1.0, rng.choice([0.0, 2.0]))
    period = rng.choice([t_end, t_end / 3, t_end / near_end, 0.1 * t_end, 2 * t_end])
    asked: list[float] = []

    def law(t: float, q: Any, v: Any) -> list[float]:
        asked.append(t)
        return [0.1 / t_end, 0.0]

    run = flexarm.simulate(
        carousel(), t_end=t_end, dt=t_end / 4, control=flexarm.Sampled(law, period), method="dop853"
    )
    require_whole(run, t_end)
    assert len(asked) == math.ceil(t_end / period * (1 - 1e-11))
    assert 3 * run.v[-1, 0] + run.v[-1, 1] == pytest.approx(6.1, rel=1e-9)


@pytest.mark.few(4)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("begin", [5e-324, 1e-15, 0.3, math.nextafter(0.3, 0), 0.3 - 1e-12])
def test_a_flexible_arm_locked_by_a_rounding_error(method: str, begin: float) -> None:
    run = flexarm.simulate(hub(), t_end=3 * 0.1, method=method, locks={"joint1": [(begin, 1.0)]})
    require_whole(run, 3 * 0.1)


def test_times_that_differ_by_rounding_are_one_instant() -> None:
    t, later = 0.3, math.nextafter(0.3, 1)
    assert instants([t, later, 5e-324, 0.5, 1.0 - 1e-16, 2.0], 1.0) == [0.0, t, 0.5, 1.0]
    assert instants([0.3, 0.3 + 1e-11], 1.0) == [0.0, 0.3, 0.3 + 1e-11, 1.0]


@pytest.mark.parametrize("end", [0.3, math.nextafter(0.3, 1), 0.3 + 1e-14])
def test_a_lock_shorter_than_rounding_is_refused(end: float) -> None:
    with pytest.raises(
        flexarm.SimulationError, match=r"the interval from 0\.3 s to 0\.3 s is empty"
    ):
        flexarm.simulate(carousel(), t_end=1.0, locks={"joint1": [(0.3, end)]})
