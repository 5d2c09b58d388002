"""The comparison with Exudyn runs without it; its measure of errors and its choice are right."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def problems(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import the motions."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return import_module("beam_problems")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import what chooses among runs."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return import_module("beam_runs")


@pytest.mark.campaign
def test_it_runs_without_exudyn_and_loaded_shapes_win_the_fall(tmp_path: Path) -> None:
    out, page = tmp_path / "numbers.json", tmp_path / "docs" / "page.md"
    hidden = "import sys, runpy; sys.modules['exudyn'] = None; runpy.run_path({!r}, run_name={!r})"
    command = hidden.format(str(FOLDER / "against_exudyn.py"), "__main__")
    environment = f"import sys; sys.path.insert(0, {str(FOLDER)!r}); {command}"
    arguments = ["--quick", "--out", str(out), "--markdown", str(page)]
    subprocess.run(
        [sys.executable, "-c", environment, *arguments], check=True, stdout=subprocess.DEVNULL
    )
    (motion,) = json.loads(out.read_text())["motions"]
    errors = {run["setting"].partition(",")[0]: run["error_percent"] for run in motion["flexarm"]}
    assert errors["loaded 2"] < 0.5 * errors["clamped-free 2"]
    assert errors["loaded 2"] < 0.5 * errors["loaded 1"]
    assert all(run["seconds"] > 0 for run in motion["flexarm"])
    assert "loaded" in page.read_text()


def test_deflections_are_those_of_the_exact_beam(problems: Any) -> None:
    driven = problems.PROBLEMS[1]
    found, _, _ = problems.simulate(driven, problems.Choice("loaded", 4, 1e-4), repeats=1)
    assert found.shape == (1, 151)
    assert found[0, 25] == pytest.approx(-0.048552, abs=2e-6)  # t = 0.25 s


def test_the_worse_link_counts_and_a_run_that_ended_early_is_wrong(problems: Any) -> None:
    reference = np.array([[0.0, 2.0, -2.0], [0.0, 1.0, 0.0]])
    found = reference + np.array([[0.0, 0.04, 0.0], [0.03, 0.0, 0.0]])
    assert problems.error(found, reference) == pytest.approx(3.0)
    assert problems.error(found[:, :2], reference) == float("inf")
    assert problems.error(found * np.nan, reference) == float("inf")


def test_a_lucky_coarse_run_is_not_dependable(runs: Any, problems: Any) -> None:
    def tried(coordinates: int, rtol: float, error: float, seconds: float) -> Any:
        return runs.Tried(problems.Choice("loaded", coordinates, rtol), error, seconds)

    lucky, next_finer = tried(1, 1e-2, 0.5, 1.0), tried(1, 1e-3, 3.0, 2.0)
    good, best = tried(2, 1e-2, 0.8, 3.0), tried(2, 1e-3, 0.7, 5.0)
    other = runs.Tried(problems.Choice("clamped-free", 6, 1e-3), 9.0, 9.0)
    every = [lucky, next_finer, good, best, other]
    assert runs.keeping(every, 1.0, dependable=False) == [lucky, good, best]
    assert runs.keeping(every, 1.0, dependable=True) == [good, best]
    assert runs.keeping(every, 0.75, dependable=True) == [best]
    assert runs.keeping(every, 0.1, dependable=False) == []
