"""Studies refuse what would give wrong rows, before anything is written."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import DeviceError, FlexarmError, ModelError, SimulationError
from flexarm.integrate.batch import gpu
from flexarm.io.model_file import change_arm
from flexarm.studies.design import evaluate, table
from flexarm.studies.design.evaluate import Evaluator
from flexarm.studies.design.read import read_study
from flexarm.studies.design.table import StudyTable
from tests.studies.designs import EIZ, link, plan


def counted(**other: Any) -> dict[str, Any]:
    """Describe a study without an arm, in two chunks."""
    return {
        "parameters": {"x": {"values": [1, 2]}},
        "sampling": {"kind": "grid"},
        "quantities": {"f": {"function": scaled(1.0), "takes": "design"}},
        "chunk": 1,
        "workers": 1,
        **other,
    }


def scaled(by: float) -> Callable[[Any], float]:
    """Give a function that holds a number."""
    return lambda design: by * design["x"]


def shifted(design: Any, by: Any) -> float:
    """Give a number and another."""
    return float(design["x"] + (by if isinstance(by, float) else 0.0))


@pytest.mark.parametrize(("count", "chunk"), [(4, 1), (50, 7), (4096, 64), (2_000_000, 200)])
def test_a_small_study_is_cut_for_several_cores(count: int, chunk: int) -> None:
    given = counted(parameters={"x": [1, 2]}, sampling={"kind": "random", "count": count})
    assert read_study({**given, "chunk": None}).chunk == chunk
    gpu = {**given, "chunk": None, "device": "gpu"}
    assert read_study(gpu).chunk == 65_536


def test_a_grid_is_counted_by_its_levels() -> None:
    with pytest.raises(ModelError, match=r"levels: 5}'. Leave 'count' out"):
        read_study(counted(sampling={"kind": "grid", "count": 2}))
    with pytest.raises(ModelError, match="sampling: the sampling must have a count"):
        read_study(counted(sampling={"kind": "random"}))


SAME = [
    ("payload.mass", "payload.mass"),
    ("links.1.length", "links.link1.length"),
    ("links.1.joint.start.position", "start.joint1"),
    ("start.link1.y2.rate", "links.1.start_speed.y2"),
    ("links.1.section.EIz", "links.1.section"),
]


@pytest.mark.parametrize(("first", "second"), SAME, ids=[each[1] for each in SAME])
def test_a_number_is_varied_by_one_parameter_alone(first: str, second: str) -> None:
    value: Any = {"mass_per_length": 1.3, "EIz": 40} if second == "links.1.section" else 0.2
    both = {"a": {"values": [0.1], "keys": [first]}, "b": {"values": [value], "keys": [second]}}
    with pytest.raises(ModelError, match=f"parameters.b: '{second}' is set by '{first}' alread"):
        read_study(plan(parameters=both))


def test_listed_values_are_taken_as_the_model_file_takes_them(tmp_path: Path) -> None:
    parameters = {
        "links.1.shapes.bending_y": {"values": [1, 2]},
        "start.joint1": {"values": ["5 deg", "10 deg"]},
        "gravity": {"values": [[0, 0, 0], [0, "-9.81 m/s^2", 0]]},
        "stiffening": {"values": [False]},
    }
    given = plan(parameters=parameters, sampling={"kind": "grid"}, quantities={
        "first": "joint1: first", "work": "gravitational energy: last"})  # fmt: skip
    rows = flexarm.study(given, out=tmp_path / "out").columns
    assert {*rows["reason"].tolist()} == {""}
    assert rows["links.1.shapes.bending_y"].tolist() == [1] * 4 + [2] * 4
    assert rows["stiffening"].dtype == bool
    assert rows["start.joint1"] == pytest.approx(np.deg2rad([5, 5, 10, 10] * 2))
    assert rows["first"].tolist() == rows["start.joint1"].tolist()
    assert rows["gravity"].tolist()[:2] == ["[0, 0, 0]", '[0, "-9.81 m/s^2", 0]']
    assert ((rows["work"] != 0) == np.tile([False, True], 4)).all()
    with pytest.raises(
        ModelError, match=r"whole numbers cannot have a range. Give 'values: \[1, ...\]'"
    ):
        read_study(plan(parameters={"links.1.shapes.bending_y": [1, 3]}))


def test_a_gpu_that_is_not_there_or_fails_is_no_fault_of_designs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise DeviceError("GPU: cuMemAlloc: out of memory")

    monkeypatch.setattr(gpu, "gpu", broken)
    with pytest.raises(DeviceError, match="out of memory"):
        flexarm.study(plan(device="gpu"), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(evaluate, "compute", broken)
    with pytest.raises(DeviceError, match="out of memory"):
        Evaluator(read_study(plan(device="gpu"))).rows(0, 6)


@pytest.mark.campaign
def test_a_design_that_would_take_hours_is_a_row_with_that_reason(tmp_path: Path) -> None:
    given = plan(parameters={EIZ: {"values": [50, 1e19]}}, sampling={"kind": "grid"},
                 run={"t_end": 2, "dt": 1, "method": "dop853"})  # fmt: skip
    rows = flexarm.study(given, out=tmp_path / "out").columns
    assert rows["status"].tolist() == ["finished", "failed"]
    assert "of CPU. " in rows["reason"][1]
    assert rows["reason"][1].endswith("write 'allow_long: true' in the study's run.")


def test_a_folder_without_a_row_is_begun_anew(tmp_path: Path) -> None:
    first, second = (
        StudyTable.of(tmp_path / "out", read_study(asking(scaled(by)))) for by in (1.0, 5.0)
    )
    first.begin()
    flexarm.study(asking(scaled(5.0)), out=tmp_path / "out")
    assert flexarm.load_study(tmp_path / "out").columns["f"].tolist() == [5.0, 10.0]
    assert second.done == [0, 1]
    with pytest.raises(FlexarmError, match="another study was started in this folder"):
        first.write(0, b"")


def test_rows_without_all_numbers_have_none(tmp_path: Path) -> None:
    given = asking(scaled(1.0))
    given["quantities"] = {"g": {"function": only_small, "takes": "design"}, **given["quantities"]}
    rows = flexarm.study(given, out=tmp_path / "out").columns
    assert rows["status"].tolist() == ["finished", "failed"]
    assert np.isnan(rows["f"]).tolist() == np.isnan(rows["g"]).tolist() == [False, True]


def only_small(design: Any) -> float:
    """Have no number for some."""
    return {1: 1.0}[design["x"]]


def test_a_design_that_runs_alone_is_computed_so(tmp_path: Path) -> None:
    parameters = {
        "start": {"values": ["stated", "equilibrium"]},
        "gravity.2": {"values": [-9.81]},
        "links.1.joint.servo": {"values": [{"stiffness": 100, "damping": 1}]},
    }
    given = plan(
        parameters=parameters, sampling={"kind": "grid"}, quantities={"q": "joint1: first"}
    )
    rows = flexarm.study(given, out=tmp_path / "out").columns
    assert {*rows["reason"].tolist()} == {""}
    assert rows["q"][0] == 0 > rows["q"][1]


@pytest.mark.parametrize(
    ("given", "deviation"), [(0.02, 0.02), ("20 g", 0.02), ("0.02", 0.02), ("2 %", 0.004)]
)
def test_a_deviation_is_relative_in_percent_alone(given: Any, deviation: float) -> None:
    varied = {"payload.mass": {"mean": 0.2, "deviation": given}}
    (axis,) = read_study(plan(parameters=varied)).axes
    assert axis.high == pytest.approx(deviation)


def test_what_a_killed_process_left_of_a_beginning_is_no_foreign_file(tmp_path: Path) -> None:
    (tmp_path / ".study.json.0123abcd.part").write_bytes(b"{")
    flexarm.study(counted(), out=tmp_path)
    assert not [*tmp_path.glob(".*")]


def test_chunks_that_cannot_be_read_are_told_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "find_spec", lambda name: None)
    given = counted(parameters={"x": {"values": [1, 2]}, "file": {"values": [3]}})
    assert flexarm.study(given, out=tmp_path).columns["file"].tolist() == [3, 3]
    chunk = tmp_path / "chunk-000001.npz"
    for data in (chunk.read_bytes()[:-30], b""):
        chunk.write_bytes(data)
        with pytest.raises(FlexarmError, match=r"cannot be read.*delete this chunk"):
            flexarm.load_study(tmp_path).failures()
    chunk.unlink()
    assert flexarm.study(given, out=tmp_path).columns["f"].tolist() == [1, 2]
    about = tmp_path / "study.json"
    about.write_text(about.read_text(encoding="utf-8").replace("npz", "parquet"), encoding="utf-8")
    with pytest.raises(FlexarmError, match=r"pip install 'flexarm\[parquet\]'"):
        flexarm.load_study(tmp_path)


def asking(function: Any) -> dict[str, Any]:
    """Describe the study with a function."""
    return counted(quantities={"f": {"function": function, "takes": "design"}})


def test_a_study_goes_on_with_the_function_that_began_it_alone(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    pairs: list[tuple[Any, Any]] = [
        (scaled(1.0), scaled(5.0)),
        (partial(shifted, by=1.0), partial(shifted, by=5.0)),
        (f"{file}:f", f"{file}:f"),
    ]
    for k, (first, second) in enumerate(pairs):
        file.write_text("BY = 1.0\ndef f(design):\n    return BY * design['x']\n", encoding="utf-8")
        flexarm.study(asking(first), out=tmp_path / str(k))
        flexarm.study(asking(first), out=tmp_path / str(k))
        file.write_text(file.read_text(encoding="utf-8").replace("1.0", "5.0"), encoding="utf-8")
        with pytest.raises(FlexarmError, match=r"another study \(other quantities\)"):
            flexarm.study(asking(second), out=tmp_path / str(k))
    with file.open(encoding="utf-8") as opened:
        untold = asking(partial(shifted, by=opened))
        flexarm.study(untold, out=tmp_path / "untold")
        with pytest.raises(FlexarmError, match="the function of 'f' cannot be identified"):
            flexarm.study(untold, out=tmp_path / "untold")


def test_an_arm_that_runs_alone_is_not_taken_to_a_gpu_unsaid(tmp_path: Path) -> None:
    """A brake needs the processor: a study that asks for a GPU is refused."""
    arm = change_arm(link(), {"links.1.joint.brake": {"closed": True}})
    given = plan(device="gpu", arm=arm, parameters={EIZ: [40, 60]})
    with pytest.raises(SimulationError, match="cannot run on a GPU"):
        flexarm.study(given, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_is_drawn_of_designs_without_a_number(tmp_path: Path) -> None:
    def fails(design: Any) -> float:
        raise ValueError("never")

    found = flexarm.study(
        counted(quantities={"f": {"function": fails, "takes": "design"}}), out=tmp_path / "s"
    )
    with pytest.raises(FlexarmError, match=r"none of the 2 designs could be computed.*never"):
        found.plot(tmp_path / "figure.png")
    assert not (tmp_path / "figure.png").exists()
    assert "none" in repr(found)
