"""Studies: designs by number, rows as runs alone give them, failures as rows, any place."""

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError
from flexarm.integrate.batch.runs import curve, curve_units
from flexarm.integrate.methods import METHODS
from flexarm.runs.contents import table_columns
from flexarm.runs.curves import REDUCTIONS
from flexarm.studies.design import table
from flexarm.studies.design.evaluate import Evaluator
from flexarm.studies.design.read import Study, read_study
from flexarm.studies.design.table import StudyTable
from tests.engine.emulated_gpu import emulated_gpu
from tests.studies.designs import EIZ, deadly, ishigami, link, picky, plan, tip_work

__all__ = ["emulated_gpu"]
CUBE = {"x": [0, 1], "y": {"low": 1, "high": 100, "scale": "log"},
        "z": {"mean": 5, "deviation": "10 %"}, "word": {"values": ["a", "b", "c"]}}  # fmt: skip


def of_functions(
    kind: str = "latin-hypercube", count: int | None = 8, **other: Any
) -> dict[str, Any]:
    """Describe a study without an arm."""
    levels = {"x": {"low": 0, "high": 1, "levels": 3}, "word": CUBE["word"]}
    given: dict[str, Any] = {
        "parameters": levels if count is None else CUBE,
        "sampling": {"kind": kind, **({} if count is None else {"count": count})},
        "quantities": {"f": {"function": picky, "takes": "design"}},
        "chunk": 3,
        "workers": 1,
    }
    return {**given, **other}


@pytest.mark.parametrize(
    ("kind", "count"),
    [("grid", None), ("random", 20), ("latin-hypercube", 20), ("sobol", 16), ("saltelli", 4)],
)
def test_designs_are_the_same_whichever_are_asked_for_together(
    kind: str, count: int | None
) -> None:
    study = read_study(of_functions(kind, count))
    whole = study.values(0, study.count)
    assert study.count == {"grid": 9, "saltelli": 4 * 6}.get(kind, count)
    for first in range(0, study.count, 5):
        part = study.values(first, min(first + 5, study.count))
        for name, values in part.items():
            assert values.tolist() == whole[name][first : first + 5].tolist()


def test_values_follow_their_distributions() -> None:
    study = read_study(of_functions("latin-hypercube", 400))
    found = study.values(0, 400)
    assert np.sort((found["x"] * 400).astype(int)).tolist() == list(range(400))
    assert np.log10(found["y"]).mean() == pytest.approx(1.0, abs=0.01)
    assert found["z"].mean() == pytest.approx(5, abs=0.01)
    assert found["z"].std() == pytest.approx(0.5, abs=0.01)
    assert sorted(set(found["word"].tolist())) == ["a", "b", "c"]
    grid = read_study(of_functions("grid", None)).values(0, 9)
    assert sorted(set(grid["x"].tolist())) == [0.0, 0.5, 1.0]


def test_curves_are_reduced_to_what_their_names_say() -> None:
    t = np.linspace(0, 10, 2001)
    x = np.stack([1 - np.exp(-t) * np.cos(5 * t), 3 * np.exp(-t)])
    last = x[:, -1]
    assert REDUCTIONS["peak"](t, -x, 0.02) == pytest.approx(np.abs(x).max(axis=1))
    assert REDUCTIONS["mean"](t, x, 0.02)[1] == pytest.approx(0.3 * (1 - np.exp(-10)), rel=1e-4)
    assert REDUCTIONS["last"](t, x, 0.02).tolist() == last.tolist()
    assert REDUCTIONS["settling time"](t, x, 0.02)[1] == pytest.approx(-np.log(0.02), abs=0.01)
    assert REDUCTIONS["overshoot"](t, x, 0.02)[0] == pytest.approx(np.exp(-np.pi / 5), rel=0.05)
    still = REDUCTIONS["settling time"](t, np.ones((1, len(t))), 0.02)
    assert still.tolist() == [0.0]


def test_rows_are_what_runs_alone_give(tmp_path: Path) -> None:
    quantities = {
        "peak": "link1 tip deflection y: peak",
        "last": {"of": "joint1", "reduce": "last"},
        "f2": {"frequency": 2},
        "high": tip_work,
    }
    found = flexarm.study(plan(quantities=quantities), out=tmp_path / "out")
    rows = found.columns
    assert rows["index"].tolist() == list(range(6))
    assert len(set(rows["key"].tolist())) == 6
    assert set(rows["status"].tolist()) == {"finished"}
    for k in (0, 5):
        arm = flexarm.change_arm(link(), {EIZ: float(rows[EIZ][k])})
        rate = float(rows["start.joint1.rate"][k])
        run = flexarm.simulate_many(
            arm, t_end=0.2, dt=0.02, method="dop853", starts=[{"joint1.rate": rate}]
        )[0]
        table = {name.rpartition(" [")[0]: values for name, values in table_columns(run)}
        peak = np.abs(table["link1 tip deflection y"]).max()
        assert rows["peak"][k] == pytest.approx(peak, rel=1e-3)
        assert rows["last"][k] == pytest.approx(run.q[-1, 0], rel=1e-3)
        assert rows["high"][k] == pytest.approx(run.tip[:, 1].max(), rel=1e-3)
        modes = flexarm.modes(arm, joints="locked").modes
        assert rows["f2"][k] == pytest.approx(modes[1].frequency_hz, rel=1e-9)
    assert "6 of 6 designs" in repr(found)
    assert "<table>" in found._repr_html_()
    assert found.dataset.sizes == {"design": 6}
    assert list(found.to_pandas().columns)[1:3] == [EIZ, "start.joint1.rate"]


def test_curves_of_many_runs_are_those_of_each() -> None:
    task = Evaluator(read_study(plan()))._base
    runs = flexarm.simulate_many(
        link(), t_end=0.2, dt=0.02, method="dop853",
        starts=[{"joint1.rate": rate} for rate in (-1.0, 0.5)],
    )  # fmt: skip
    names = curve_units(task, METHODS["dop853"])
    assert {"joint1 rate", "link1 tip deflection y", "total energy", "work wrenches"} <= {*names}
    assert len(names) >= 14
    for name in names:
        rows = runs.curve(name)
        for k, run in enumerate(runs):
            assert np.abs(rows[k] - curve(run, name)).max() < 1e-12


def test_a_design_that_fails_is_a_row_with_its_reason(tmp_path: Path) -> None:
    found = flexarm.study(
        plan(parameters={"start.joint1.rate": [0, 30], "links.1.length": {"mean": 1,
             "deviation": 2}}, sampling={"kind": "random", "count": 8, "seed": 1}),
        out=tmp_path / "arm",
    )  # fmt: skip
    rows = found.columns
    status = dict(zip(rows["status"].tolist(), rows["reason"].tolist(), strict=True))
    assert set(status) >= {"stopped", "failed"}
    assert "joint1" in status["stopped"]
    assert "must be >= 0" in status["failed"]
    assert np.isnan(rows["peak"][rows["status"] != "finished"]).all()
    asked = flexarm.study(of_functions(), out=tmp_path / "functions")
    assert list(asked.failures()) == ["f: ValueError: too large"]
    assert "without numbers: f: ValueError: too large" in repr(asked)


def test_a_study_goes_on_where_it_stopped_and_touches_nothing_else(tmp_path: Path) -> None:
    given, out = of_functions(), tmp_path / "out"

    class Enough(Exception):
        pass

    def stop(progress: object) -> None:
        raise Enough

    with pytest.raises(Enough):
        flexarm.study(given, out=out, progress=stop)
    (first,) = out.glob("chunk-*")
    written = first.stat().st_mtime_ns
    assert flexarm.load_study(out).progress.done == 3
    seen: list[Any] = []
    found = flexarm.study(given, out=out, progress=seen.append)
    assert [each.done for each in seen] == [6, 8]
    assert seen[0].remaining == pytest.approx(2 / seen[0].rate)
    assert first.stat().st_mtime_ns == written
    assert found.columns["index"].tolist() == list(range(8))
    before = {path: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(FlexarmError, match=r"contains another study \(other parameters, sampling"):
        flexarm.study({**given, "parameters": {"x": [0, 2]}, "sampling": {"kind": "random",
                       "count": 8}}, out=out)  # fmt: skip
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FlexarmError, match="is neither empty nor a study"):
        flexarm.study(given, out=tmp_path / "full")
    with pytest.raises(FlexarmError, match="cannot be written to"):
        flexarm.study(given, out=tmp_path / "full" / "notes.txt" / "out")
    with pytest.raises(FlexarmError, match="contains no study"):
        flexarm.load_study(tmp_path)


def begin_when_chunks_were_parts(given: dict[str, Any], out: Path) -> None:
    """Begin a study as older versions did: the chunk's size told it from others, no checksums."""
    study = read_study(given)
    study = study.as_begun(3, study.parts | {"chunk": hashlib.sha256(b"3").hexdigest()})
    about = {**StudyTable.of(out, study).about, "format": 1}
    del about["checksum"]
    StudyTable(out, about).begin()
    for number in range(3):
        columns = Evaluator(study).chunk(number)
        named = {f"column:{name}": values for name, values in columns.items()}
        np.savez(out / f"chunk-{number:06d}.npz", allow_pickle=False, **named)


@pytest.mark.parametrize("old", [False, True], ids=["begun now", "begun when chunks were parts"])
def test_a_study_that_was_begun_in_other_chunks_goes_on_in_them(
    tmp_path: Path, old: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "find_spec", lambda name: None)
    given, out = of_functions(), tmp_path / "out"
    new = flexarm.study(given, out=tmp_path / "new").columns["key"].tolist()
    if old:
        begin_when_chunks_were_parts(given, out)
    else:
        flexarm.study(given, out=out)
    keys = flexarm.load_study(out).columns["key"].tolist()
    assert (keys == new) is not old
    (out / "chunk-000001.npz").unlink()
    for chunk in (2, None):
        rows = flexarm.study({**given, "chunk": chunk}, out=out).columns
        assert rows["index"].tolist() == list(range(8))
        assert rows["key"].tolist() == keys  # rows of a folder have keys of one kind
    assert len([*out.iterdir()]) == 1 + 3
    again = flexarm.study({**given, "chunk": 2}, out=tmp_path / "again")
    assert again.columns["key"].tolist() == new


@pytest.mark.campaign
def test_the_chunk_of_a_process_that_dies_is_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STUDY_LOG", str(tmp_path / "died"))
    given = of_functions(quantities={"f": {"function": deadly, "takes": "design"}}, workers=2)
    found = flexarm.study(given, out=tmp_path / "out")
    assert (tmp_path / "died").exists()
    rows = found.columns
    assert rows["index"].tolist() == list(range(8))
    assert rows["f"].tolist() == rows["x"].tolist()
    os.unlink(tmp_path / "died")


def test_sobol_indices_are_those_of_the_closed_form(tmp_path: Path) -> None:
    pi = float(np.pi)
    ranges = {name: [-pi, pi] for name in "xyz"}
    given = of_functions("saltelli", 1024, parameters=ranges, chunk=1024,
                         quantities={"f": {"function": ishigami, "takes": "design"}})  # fmt: skip
    result = flexarm.study(given, out=tmp_path / "out")
    found = result.sobol()["f"]
    a, b = 7.0, 0.1
    variance = a**2 / 8 + b * pi**4 / 5 + b**2 * pi**8 / 18 + 0.5
    alone = np.array([(1 + b * pi**4 / 5) ** 2 / 2, a**2 / 8, 0.0]) / variance
    share = 8 * b**2 * pi**8 / 225 / variance  # of x and z together
    assert np.abs(found.first - alone).max() < 0.02
    whole = alone + np.array([share, 0.0, share])
    assert np.abs(found.total - whole).max() < 0.02
    for bounds, exact in ((found.first_bounds, alone), (found.total_bounds, whole)):
        assert np.all(bounds[0] - 0.01 <= exact)
        assert np.all(exact <= bounds[1] + 0.01)
        assert np.all(bounds[1] - bounds[0] < 0.2)
    result.plot(tmp_path / "sobol.png", kind="sobol")
    assert (tmp_path / "sobol.png").stat().st_size > 5000


@pytest.mark.few(1)
@pytest.mark.usefixtures("emulated_gpu")
@pytest.mark.parametrize("numbers", [True, False], ids=["numbers", "starts"])
def test_a_gpu_finds_the_same_rows(tmp_path: Path, numbers: bool) -> None:
    parameters: dict[str, Any] = {"start.joint1.rate": [-1, 4]}
    if numbers:
        parameters[EIZ] = [40, 60]
    quantities = {"peak": "link1 tip deflection y: peak", "last": "joint1: last",
                  "energy": "total energy: max", "height": "tip y: max"}  # fmt: skip
    there, here = (
        flexarm.study(plan(parameters=parameters, quantities=quantities, device=device),
                      out=tmp_path / device).columns
        for device in ("gpu", "cpu")
    )  # fmt: skip
    assert {*there["status"].tolist()} == {"finished", "stopped"}
    for name in ("index", "status", "reason", *parameters):
        assert there[name].tolist() == here[name].tolist()
    for name in quantities:
        assert there[name] == pytest.approx(here[name], rel=2e-3, nan_ok=True)


@pytest.mark.campaign
@pytest.mark.usefixtures("emulated_gpu")
def test_designs_in_arrays_are_what_each_is_by_itself() -> None:
    parameters = {"start.joint1.rate": [-1, 1]}
    quantities = {"peak": "link1 tip deflection y: peak", "shorter": "link1 tip deflection x: peak",
                  "energy": "total energy: max", "height": "tip y: max"}  # fmt: skip
    arm = flexarm.change_arm(link(), {"stiffening": True, "links.1.shapes.bending_y": 1})
    given = plan(arm=arm, parameters=parameters, quantities=quantities, device="gpu",
                 sampling={"kind": "random", "count": 8})  # fmt: skip
    evaluator = Evaluator(read_study(given))
    together = evaluator.rows(0, 8)
    each = [evaluator.rows(k, k + 1) for k in range(8)]
    apart = {name: np.concatenate([row[name] for row in each]) for name in quantities}
    for name in quantities:
        assert together[name] == pytest.approx(apart[name], rel=1e-9)
        assert np.ptp(apart[name]) > 1e-3 * np.abs(apart[name]).max()


@pytest.mark.usefixtures("emulated_gpu")
def test_mass_and_frequency_of_designs_on_a_gpu() -> None:
    quantities = {"last": "joint1: last", "mass": "mass", "f": {"frequency": 1}}
    given = plan(parameters={EIZ: [40, 60], "links.1.length": [0.8, 1.2]}, quantities=quantities,
                 device="gpu", sampling={"kind": "random", "count": 12})  # fmt: skip
    found = Evaluator(read_study(given)).rows(0, 12)
    here = Evaluator(read_study({**given, "device": "cpu"})).rows(0, 12)
    for name in ("mass", "f"):
        assert found[name] == pytest.approx(here[name], rel=1e-12)
        assert np.ptp(here[name]) > 0


def test_a_study_of_an_arm_with_events_runs_one_by_one(tmp_path: Path) -> None:
    arm = flexarm.change_arm(link(), {"links.1.joint.brake": {"effort": 1, "closed": False}})
    given = plan(arm=arm, parameters={EIZ: [40, 60]}, quantities={"q": "joint1: last", "f": {
        "frequency": 1}}, sampling={"kind": "sobol", "count": 2})  # fmt: skip
    rows = flexarm.study(given, out=tmp_path / "out").columns
    run = flexarm.simulate(flexarm.change_arm(arm, {EIZ: float(rows[EIZ][0])}), t_end=0.2, dt=0.02,
                           method="dop853")  # fmt: skip
    assert rows["q"][0] == pytest.approx(run.q[-1, 0], rel=1e-6)
    assert np.isfinite(rows["f"]).all()


@pytest.mark.campaign
def test_figures_show_numbers_and_words(tmp_path: Path) -> None:
    given = of_functions("random", 30, parameters={"x": [0, 1], "word": CUBE["word"]},
                         quantities={"f": {"function": wordy, "takes": "design"}})  # fmt: skip
    found = flexarm.study(given, out=tmp_path / "out")
    for kind in ("effects", "scatter"):
        figure = found.plot(tmp_path / f"{kind}.png", kind=kind)
        assert len(figure.axes) == {"effects": 2, "scatter": 9}[kind]
        with pytest.raises(FlexarmError, match="there already"):
            found.plot(tmp_path / f"{kind}.png", kind=kind)


def wordy(design: Any) -> float:
    """Have a number for words too."""
    return float(design["x"] + len(design["word"]))


def test_a_study_read_twice_is_the_same() -> None:
    first, second = (read_study(of_functions()) for _ in range(2))
    assert isinstance(first, Study)
    assert first.digest == second.digest
    assert read_study(of_functions(count=9)).digest != first.digest
