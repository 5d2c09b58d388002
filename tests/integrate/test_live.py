"""A run that can be seen while it goes on: snapshots change nothing, and their file is whole."""

import itertools
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.integrate import solve
from flexarm.io.model_file import loads
from flexarm.runs import write
from flexarm.runs.constants import SNAPSHOT_PAUSE, SNAPSHOT_SHARE
from flexarm.runs.read import load_run
from flexarm.runs.run import Run
from flexarm.runs.write import LiveFile
from tests.integrate import arms
from tests.physics.cases import campaign_if

TUMBLING = """\
flexarm: 1
name: tumbling
gravity: [0, 0, 0]
base: {kind: free, body: {mass: 3, inertia: [1, 2, 3]}, spin: [0.5, 8, 0.3]}
links:
  - joint: {kind: revolute, input: {kind: constant, value: 2}}
    length: 1
    section: {mass_per_length: 1, EIz: 200}
"""


@cache
def fall() -> Arm:
    """Make a small arm that falls."""
    return flexarm.change_arm(arms.fall(), {"stiffening": False})


CASES: dict[str, tuple[Callable[[], Arm], dict[str, Any]]] = {
    "etd4": (fall, {"t_end": 1.0, "method": "etd4"}),
    "dop853": (fall, {"t_end": 1.0, "method": "dop853", "rtol": 1e-8}),
    "rodas4": (fall, {"t_end": 0.5, "method": "rodas4"}),
    "rk4": (fall, {"t_end": 0.5, "method": "rk4", "step": 2e-4}),
    "free base": (lambda: loads(TUMBLING), {"t_end": 1.0, "method": "dop853"}),
    "locked": (fall, {"t_end": 1.0, "method": "etd4", "locks": {"joint2": [(0.2, 0.5)]}}),
    "sampled": (
        fall,
        {
            "t_end": 0.5,
            "method": "dop853",
            "control": flexarm.Sampled(lambda t, q, v: -5.0 * v[:2], 0.01),
        },
    ),
}
ARRAYS = (
    "t",
    "q",
    "v",
    "u",
    "tip",
    "tip_rotation",
    "energy",
    "work_integrals",
    "reference_attitudes",
)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "case", [pytest.param(name, marks=campaign_if(name in ("dop853", "rk4"))) for name in CASES]
)
def test_snapshots_are_the_beginning_of_the_run_and_do_not_change_it(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, options = CASES[case]
    seen: list[Run] = []
    plain = flexarm.simulate(make(), **options)
    monkeypatch.setattr(solve, "KERNEL_CALL_TIME", 1e-6)  # [s]: the shortest blocks of steps
    limit_reached = flexarm.simulate(make(), live=lambda so_far: seen.append(so_far()), **options)
    assert limit_reached.status == plain.status == "finished"
    assert limit_reached.statistics.steps == plain.statistics.steps
    for name in ARRAYS:
        assert np.array_equal(getattr(limit_reached, name), getattr(plain, name)), name
    assert len({len(each.t) for each in seen}) > 3
    assert (len(np.unique(plain.reference_attitudes, axis=0)) > 1) == (case == "free base")
    for each in seen:
        assert each.status == "running"
        assert "computed to t = " in each.reason
        # The instant at which a joint is locked is kept as it is after that.
        kept = slice(0, len(each.t) - ("locks" in options))
        # The run itself may keep more samples in between.
        assert np.diff(each.t, prepend=0.0).max() < 1.001 * options["t_end"] / 500
        rows = np.searchsorted(plain.t, each.t[kept])
        for name in ARRAYS:
            assert np.array_equal(getattr(each, name)[kept], getattr(plain, name)[rows]), name


@cache
def short_run() -> Run:
    return flexarm.simulate(fall(), t_end=0.01, dt=0.01)


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


def test_snapshots_take_a_twentieth_of_the_time_and_come_twice_a_second_at_most(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = Clock()
    spans: list[tuple[float, float]] = []

    def save(run: Run, path: Path, *, force: bool) -> None:
        begun = clock.now
        clock.now += 0.002 if begun < 120 else 0.2  # later there is more to write
        spans.append((begun, clock.now))
        path.write_text("whole", encoding="utf-8")

    monkeypatch.setattr(write, "time", clock)
    monkeypatch.setattr(write, "save_run", save)
    live = LiveFile(tmp_path / "run.nc", force=True)
    run = short_run()
    while clock.now < 200:
        live(lambda: run)
        clock.now += 0.05
    gaps = [after[0] - before[1] for before, after in itertools.pairwise(spans)]
    assert min(gaps) >= SNAPSHOT_PAUSE - 1e-9
    assert max(gap for gap, span in zip(gaps, spans, strict=False) if span[0] < 115) < 0.6
    begun = spans[0][1]
    for k in range(2, len(spans) + 1):
        spent = sum(end - start for start, end in spans[1:k])
        assert spent <= SNAPSHOT_SHARE * (spans[k - 1][0] - begun) + 0.2
    assert 5 <= sum(start > 125 for start, _ in spans) <= 75 / (0.2 / SNAPSHOT_SHARE) + 6


def test_a_file_that_is_there_is_not_overwritten_by_the_first_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solve, "KERNEL_CALL_TIME", 1e-3)
    path = tmp_path / "run.nc"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(FlexarmError, match="exists already"):
        flexarm.simulate(fall(), t_end=0.5, rtol=1e-8, live=LiveFile(path))
    assert path.read_text(encoding="utf-8") == "mine"


def test_a_file_that_somebody_puts_in_its_place_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    live, run = LiveFile(path), short_run()
    live(lambda: run)
    live.finish(run)
    path.unlink()
    path.write_text("theirs", encoding="utf-8")
    with pytest.raises(FlexarmError, match="exists already"):
        live.finish(run)
    assert path.read_text(encoding="utf-8") == "theirs"


def test_a_snapshot_that_fails_does_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solve, "KERNEL_CALL_TIME", 1e-6)
    monkeypatch.setattr(write, "SNAPSHOT_PAUSE", 0.0)
    monkeypatch.setattr(write, "SNAPSHOT_SHARE", 1e9)
    folder = tmp_path / "folder"
    folder.mkdir()
    live = LiveFile(folder / "run.nc")

    def seen(so_far: Callable[[], Run]) -> None:
        live(so_far)
        if (folder / "run.nc").exists():
            (folder / "run.nc").unlink()
            folder.rmdir()

    run = flexarm.simulate(fall(), t_end=0.02, method="dop853", rtol=1e-8, live=seen)
    assert run.status == "finished"
    assert "there is no folder" in live.failure


@pytest.mark.campaign
def test_the_file_holds_the_snapshot_then_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solve, "KERNEL_CALL_TIME", 1e-3)
    path = tmp_path / "run.nc"
    live = LiveFile(path)
    marks: list[str] = []

    def seen(so_far: Callable[[], Run]) -> None:
        live(so_far)
        marks.append(load_run(path).status)

    run = flexarm.simulate(fall(), t_end=1.0, method="dop853", rtol=1e-8, live=seen)
    live.finish(run)
    assert set(marks) == {"running"}
    kept = load_run(path)
    assert kept.status == "finished"
    assert np.array_equal(kept.q, run.q)
    assert [each.name for each in tmp_path.iterdir()] == ["run.nc"]
