"""Runs in arrays: what they hold is what each run by itself holds, and only what is asked for."""

import gc
import sys
import tracemalloc
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError, SimulationError
from flexarm.integrate.batch import cores, variations
from flexarm.integrate.batch import runs as many_runs
from flexarm.integrate.batch.runs import Runs
from flexarm.integrate.constants import PORTION_RUNS
from flexarm.integrate.methods import METHODS
from flexarm.integrate.solve import new_state, solve
from flexarm.io.model_file import change_arm
from tests.integrate.arms import hub

COUNT = 21
ANGLES, RATES = np.linspace(0.0, 0.3, COUNT), np.linspace(-1.0, 2.0, COUNT)
HOW: dict[str, Any] = {"t_end": 0.3, "dt": 0.05, "method": "dop853"}


@cache
def link() -> flexarm.Arm:
    """Make the smallest arm that bends, with a stop that some runs reach."""
    limits = {"links.1.joint.limits": {"upper": 0.5}}
    return change_arm(hub(1), {"stiffening": False, **limits})


@cache
def runs() -> Runs:
    """Simulate runs of which some stop."""
    return flexarm.simulate_many(link(), starts={"joint1": ANGLES, "joint1.rate": RATES}, **HOW)


def test_runs_hold_what_each_run_by_itself_has() -> None:
    assert {*runs().status} == {"finished", "stopped"}
    assert runs().q.shape == (COUNT, 7, 2)
    for k, run in enumerate(runs()):
        reached = np.isin(run.t, runs().t)
        count = int(reached.sum())
        assert (run.status, run.reason) == (runs().status[k], runs().reasons.get(k, ""))
        for name in ("q", "v", "tip", "energy"):
            whole = getattr(runs(), name)[k]
            np.testing.assert_array_equal(whole[:count], getattr(run, name)[reached])
            assert np.isnan(whole[count:]).all()
        np.testing.assert_array_equal(
            runs().work_integrals[k, :count], run.work_integrals[reached, :4]
        )
        assert runs().statistics["steps"][k] == run.statistics.steps


@pytest.mark.parametrize("method", ["dop853", "etd4", "rodas4"])
def test_compiled_series_are_bit_by_bit_what_python_integrates(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cores, "native_width", lambda: 1)
    push = {"kind": "bang-bang", "amplitude": 1, "times": [0, 0.1, 0.2]}
    pushed = {"links.1.joint.input": push, "links.1.joint.limits": {"upper": 9}}
    whole = flexarm.simulate_many(
        change_arm(link(), pushed), t_end=0.3, dt=0.05, method=method, rtol=[1e-3] * 6 + [1e-5] * 6,
        starts={"joint1": ANGLES[:12], "joint1.rate": RATES[:12]},
    )  # fmt: skip
    for k in range(12):
        task = whole.variations.of_run(k)
        alone = solve(new_state(task, METHODS[method], task.rtol))
        assert whole.results.samples[k].tobytes() == alone.states.tobytes()
        statistics = whole[k].statistics
        assert statistics.steps == alone.steps > 10
        assert statistics.evaluations == alone.evaluations


def test_constant_inputs_are_each_run_s_own() -> None:
    starts, pushes = {"joint1": ANGLES}, {"joint1": 0.1 * RATES}
    whole = flexarm.simulate_many(link(), starts=starts, inputs=pushes, **HOW)
    for k in range(0, COUNT, 6):
        alone = flexarm.simulate(
            change_arm(link(), {"links.1.joint.start.position": float(ANGLES[k])}),
            inputs={"joint1": 0.1 * float(RATES[k])}, rtol=1e-9, **HOW,
        )  # fmt: skip
        assert whole[k].u.tolist() == alone.u.tolist()
        assert whole[k].q == pytest.approx(alone.q, abs=1e-3 * np.abs(alone.q).max())
    assert np.ptp(whole.q[:, -1, 0] - ANGLES) > 0.01


def test_only_what_is_kept_is_stored() -> None:
    given: dict[str, Any] = {"starts": {"joint1": ANGLES}, **HOW}
    whole = flexarm.simulate_many(link(), **given)
    last = flexarm.simulate_many(link(), keep="last", **given)
    assert last.q.shape == (COUNT, 1, 2)
    np.testing.assert_array_equal(last.q[:, 0], whole.q[:, -1])
    np.testing.assert_array_equal(last.energy[:, 0], whole.energy[:, -1])
    assert last[3].t.tolist() == [0.3]
    np.testing.assert_array_equal(last[3].q, whole[3].q[-1:])
    names = ["joint1 rate", "tip y", "total energy"]
    named = flexarm.simulate_many(link(), keep=names, **given)
    for name in names:
        np.testing.assert_array_equal(named.curve(name), whole.curve(name))
    assert named.results.samples.nbytes == COUNT * 7 * 3 * 8
    for ask in (lambda: named.q, lambda: named[0], lambda: named.curve("tip x")):
        with pytest.raises(FlexarmError, match=r"kept"):
            ask()
    for wrong in ("all", [], [1], 3):
        with pytest.raises(SimulationError, match="keep: must be 'samples', 'last', or names"):
            flexarm.simulate_many(link(), keep=wrong, **given)  # type: ignore[arg-type]
    with pytest.raises(FlexarmError, match="have no 'elbow'"):
        flexarm.simulate_many(link(), keep=["elbow"], **given)


def test_the_last_state_of_a_run_that_stops_is_that_of_its_end() -> None:
    last = flexarm.simulate_many(
        link(), keep="last", starts={"joint1": ANGLES, "joint1.rate": RATES}, **HOW
    )
    assert last.status.tolist() == runs().status.tolist()
    for k in np.flatnonzero(~last.finished).tolist():
        assert last.q[k, 0, 0] == pytest.approx(0.5, abs=1e-9)
        np.testing.assert_array_equal(last[k].q[-1], runs()[k].q[-1])
        assert last[k].t[-1] == runs()[k].t[-1]


@pytest.mark.parametrize("reduction", ["peak", "last", "mean", "settling time"])
def test_reductions_are_those_of_each_run(reduction: str) -> None:
    from flexarm.runs.curves import REDUCTIONS

    for name in ("tip y", "joint1 rate", "link1 tip deflection y"):
        found = runs().reduce(name, reduction, after=0.1)
        for k, run in enumerate(runs()):
            if run.status != "finished":
                assert np.isnan(found[k])
                continue
            x = runs().curve(name)[k : k + 1, runs().t >= 0.1]
            assert found[k] == REDUCTIONS[reduction](run.t[run.t >= 0.1], x, 0.02)[0]
    with pytest.raises(FlexarmError, match=r"after: must be at most 0\.3 s"):
        runs().reduce("tip y", reduction, after=1.0)


def test_a_dataset_has_arrays_states_and_what_was_varied() -> None:
    dataset = runs().dataset("tip x")
    assert dict(dataset.sizes) == {"time": 7, "coordinate": 2, "run": COUNT}
    np.testing.assert_array_equal(dataset["q"].values, runs().q)
    np.testing.assert_array_equal(dataset["tip x"].values, runs().tip[:, :, 0])
    assert dataset["start.joint1"].values.tolist() == ANGLES.tolist()
    units = {"start.joint1": "rad", "tip x": "m", "time": "s", "work_inputs": "J"}
    assert {name: dataset[name].attrs["units"] for name in units} == units
    assert dataset["status"].values.tolist() == runs().status.tolist()
    masses = np.array([0.1, 0.2])
    other = flexarm.simulate_many(link(), parameters={"payload.mass": masses}, **HOW)
    assert other.dataset()["payload.mass"].values.tolist() == masses.tolist()
    assert other.dataset()["payload.mass"].attrs["units"] == "kg"
    texts = [{"payload.mass": "100 g"}, {}]
    partly = flexarm.simulate_many(
        change_arm(link(), {"payload.mass": 0.2}), parameters=texts,
        starts=[{}, {"joint1": 0.1}], **HOW,
    ).dataset()  # fmt: skip
    assert partly["payload.mass"].values.tolist() == masses.tolist()
    assert partly["start.joint1"].values.tolist() == [0.0, 0.1]
    alone = flexarm.simulate(change_arm(link(), {"payload.mass": 0.2}), **HOW)
    assert other.q[1] == pytest.approx(alone.q, abs=1e-13)


def test_a_run_is_found_in_a_list() -> None:
    found = list(runs())
    assert found.index(found[3]) == 3
    assert found[3] not in found[:3]
    assert len({*found}) == COUNT


def test_selected_runs_are_runs() -> None:
    stopped = np.flatnonzero(~runs().finished)
    late, masked = runs()[stopped[0] - 1 : stopped[0] + 1], runs()[~runs().finished]
    assert np.shares_memory(late.q, runs().q)
    for selected, numbers in ((late, [stopped[0] - 1, stopped[0]]), (masked, stopped)):
        assert selected.dataset()["start.joint1"].values.tolist() == ANGLES[numbers].tolist()
        np.testing.assert_array_equal(selected.tip, runs().tip[numbers])
        for run, k in zip(selected, numbers, strict=True):
            assert (run.reason, run.t[-1]) == (runs()[k].reason, runs()[k].t[-1])
    for wrong in (1.5, "q", None, [99], [True], np.zeros((2, 2), dtype=int)):
        with pytest.raises(FlexarmError, match="runs: must be a number, a slice, a list"):
            runs()[wrong]  # type: ignore[index]


def test_runs_of_one_arm_are_computed_together_wherever_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[int] = []
    kept = cores.RunBlock.__init__

    def counted(block: cores.RunBlock, *given: Any) -> None:
        built.append(1)
        kept(block, *given)

    monkeypatch.setattr(cores.RunBlock, "__init__", counted)
    masses = np.tile([0.1, 0.2, 0.3], 32)
    found = flexarm.simulate_many(
        link(), workers=1, parameters={"payload.mass": masses},
        starts={"joint1": np.linspace(0.0, 0.3, 96)}, **HOW,
    )  # fmt: skip
    assert len(built) <= 5  # one per mass, and lanes with several
    for k in (0, 1, 50):
        alone = flexarm.simulate_many(
            change_arm(link(), {"payload.mass": masses[k]}),
            starts={"joint1": [0.3 * k / 95]}, **HOW,
        )  # fmt: skip
        assert found.q[k] == pytest.approx(alone.q[0], abs=1e-4)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"starts": {"joint1": [0.0, np.nan]}}, "run 2 of 2: starts: joint1: must be a finite"),
        ({"starts": {"joint1": [0.0], "joint1.rate": [0.0, 1.0]}}, "of one length, got .1, 2"),
        ({"starts": {"joint1": 0.3}}, "starts: joint1: must be an array of numbers, one per run"),
        ({"starts": {"joint1": ["a"]}}, "starts: joint1: must be an array of numbers"),
        ({"starts": {"elbow": [0.0, 1.0]}}, "run 1 of 2: starts: there is no coordinate 'elbow'"),
        ({"starts": {"joint1": [0.0, 0.7]}}, "run 2 of 2: joint1: its position is 0.7 at the"),
        ({"inputs": {"elbow": [0.0]}}, "run 1 of 1: inputs: there is no driven joint 'elbow'"),
        (
            {"starts": {"joint1": [0.0]}, "inputs": {"joint1": [0.0, 1.0]}},
            "have the same length|of one length",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused_by_run(given: Any, said: str) -> None:
    with pytest.raises(SimulationError, match=said):
        flexarm.simulate_many(link(), t_end=0.1, **given)


@pytest.mark.parametrize(
    ("keep", "dt", "count"),
    [("samples", 1e-5, 600), ("last", 1e-3, 6_000), (["joint1", "tip x"], 1e-5, 1_200)],
)
def test_a_run_takes_no_memory_but_that_of_its_samples(
    keep: Any, dt: float, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = change_arm(hub(1), {"stiffening": False})
    monkeypatch.setattr(many_runs, "SAMPLES_AT_ONCE", 5_000)
    monkeypatch.setitem(PORTION_RUNS, "cpu", 64)
    monkeypatch.setattr(cores, "JOB_GROUPS", 32)
    monkeypatch.setattr(variations, "STATES_AT_ONCE", 256)

    def simulated(count: int) -> Runs:
        starts = {"joint1": np.zeros(count)}
        return flexarm.simulate_many(
            arm, t_end=1e-3, dt=dt, method="dop853", starts=starts, keep=keep, workers=1
        )

    def peak(count: int) -> tuple[int, int]:
        gc.collect()
        tracemalloc.start()
        found = simulated(count)
        memory = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return memory, Runs.memory(found.variations, keep, PORTION_RUNS["cpu"])

    simulated(64)  # with what is compiled and kept
    # The least of three: what is allocated once, or waits for the collector, is no memory of a run.
    few, little = min(peak(count // 2) for _ in range(3))
    most, large = min(peak(count) for _ in range(3))
    given = 8 * (count - count // 2)  # the array of starts
    assert most - few - given == pytest.approx(large - little, rel=0.1)


def test_portions_of_long_histories_do_not_exceed_the_memory_that_is_stated() -> None:
    for samples, keep, count in ((2001, ["tip x"], 10**5), (11, ["tip x"], 10**7)):
        stated: Any = SimpleNamespace(
            count=count,
            size=12,
            base_of=np.zeros(1),
            bases=[SimpleNamespace(times=np.zeros(samples))],
        )
        states = 8 * samples * 12 * Runs.portion(stated, keep, PORTION_RUNS["gpu"])
        assert states <= max(1e9, 0.1 * 8 * samples * count)
        assert Runs.memory(stated, keep, PORTION_RUNS["gpu"]) > states + 8 * samples * count


def test_portions_and_jobs_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {"starts": {"joint1": ANGLES}, "keep": ["joint1", "tip y"], **HOW}
    plain = flexarm.simulate_many(link(), **given)
    monkeypatch.setitem(PORTION_RUNS, "cpu", 8)
    monkeypatch.setattr(cores, "JOB_GROUPS", 2)
    done: list[int] = []
    found = flexarm.simulate_many(link(), progress=done.append, workers=2, **given)
    assert done[-1] == COUNT == len(found)
    assert len(done) > 2
    np.testing.assert_array_equal(found.curve("tip y"), plain.curve("tip y"))


def test_no_runs_are_a_sequence_too() -> None:
    none = flexarm.simulate_many(link(), starts=[], **HOW)
    assert (len(none), list(none), none.q.shape) == (0, [], (0, 7, 2))
    assert len(runs()[[]]) == 0
    assert runs()[-1].q[0, 0] == ANGLES[-1]
    with pytest.raises(IndexError):
        runs()[COUNT]
    assert "21 of" in repr(runs())


def test_a_table_of_many_runs_is_written_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[dict[str, Any]] = []

    class Writer:
        def __init__(self, path: Path, schema: list[str]) -> None:
            path.write_text(" ".join(schema))

        def write_table(self, table: Any) -> None:
            written.append(table.columns)

        def close(self) -> None: ...

    def table(columns: dict[str, Any]) -> SimpleNamespace:
        return SimpleNamespace(columns=columns, schema=list(columns))

    monkeypatch.setitem(sys.modules, "pyarrow", SimpleNamespace(table=table))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", SimpleNamespace(ParquetWriter=Writer))
    monkeypatch.setattr(many_runs, "SAMPLES_AT_ONCE", 8 * 7)
    runs().to_parquet(tmp_path / "runs.parquet", "tip x")
    said = "run time joint1 joint1 rate link1.y1 link1.y1 rate tip x"
    assert (tmp_path / "runs.parquet").read_text() == said
    assert len(written) == 3
    whole = {name: np.concatenate([part[name] for part in written]) for name in written[0]}
    np.testing.assert_array_equal(whole["tip x"].reshape(COUNT, 7), runs().tip[:, :, 0])
    np.testing.assert_array_equal(whole["joint1 rate"].reshape(COUNT, 7), runs().v[:, :, 0])
    assert whole["run"].tolist() == np.repeat(np.arange(COUNT), 7).tolist()
    with pytest.raises(FlexarmError, match="exists"):
        runs().to_parquet(tmp_path / "runs.parquet")


@pytest.mark.parametrize(("kind", "package"), [("zarr", "zarr"), ("parquet", "pyarrow")])
def test_a_format_without_its_package_says_so(
    kind: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(FlexarmError, match=f"need the package {package}, which is not installed"):
        getattr(runs(), f"to_{kind}")(tmp_path / "runs")
