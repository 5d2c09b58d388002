"""Studies with packages that flexarm does not need: Dask, Parquet, Optuna, SALib."""

import os
import runpy
from pathlib import Path

import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError
from tests.studies.designs import EIZ, plan
from tests.studies.test_study import of_functions

EXAMPLES = Path(__file__).parents[2] / "examples" / "studies"


@pytest.mark.parametrize("name", ["with_optuna", "with_salib"])
def test_an_example_of_a_study_finds_its_answer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 15
    pytest.importorskip({"with_optuna": "optuna", "with_salib": "SALib"}[name])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / f"{name}.py"))


def test_a_cluster_finds_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    root = str(Path(__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]))
    given = plan(parameters={EIZ: [40, 60]}, chunk=2)
    there = flexarm.study({**given, "dask": "local", "workers": 2}, out=tmp_path / "there").columns
    here = flexarm.study(given, out=tmp_path / "here").columns
    for name, values in here.items():
        assert np.array_equal(there[name], values)


def test_without_dask_or_a_scheduler_a_cluster_is_refused(tmp_path: Path) -> None:
    try:
        import distributed  # noqa: F401

        said = "no scheduler at 'tcp://127.0.0.1:9'"
    except ImportError:
        said = "is not installed"
    given = plan(parameters={EIZ: [40, 60]}, dask="tcp://127.0.0.1:9")
    with pytest.raises(FlexarmError, match=said):
        flexarm.study(given, out=tmp_path / "out")


def test_results_are_parquet_where_it_can_be_written(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    found = flexarm.study(of_functions(), out=tmp_path / "out")
    table = parquet.read_table(sorted((tmp_path / "out").glob("chunk-*.parquet")))
    assert table["f"].to_numpy() == pytest.approx(found.columns["f"], nan_ok=True)
    assert table["reason"].to_pylist() == found.columns["reason"].tolist()
