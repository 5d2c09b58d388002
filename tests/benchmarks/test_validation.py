"""The validation page: what it shows is computed, and agrees with what is printed."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
# Cases that differ for a reason that the page gives, and by how much at most: print cut off or
# rounded early, and another model.
DIFFER = {
    "Table 1, 2 elements [rad/s]": 5e-5,
    "Table 1, 3 elements [rad/s]": 1e-4,
    "fall, series, 0.5 s": 1e-5,
    "fall, exact links, 0.5 s": 2e-5,
    "driven link, tip, 0.5 s": 4e-5,
    "driven link, angle, 1 s": 2e-6,
    "driven link, payload of 0.25 kg, tip, 0.25 s": 4e-5,
    "driven link, cut energies, 0.25 s": 7e-3,
    "driven link, cut energies, 0.5 s": 6e-3,
}
PAGE = Path(__file__).parents[2] / "docs" / "validation.md"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    return import_module


@pytest.mark.parametrize(
    ("printed", "ours", "apart"),
    [("1.25", 1.252, 0.2), ("-0.50", -0.49, 1), ("5.40530e-3", 5.40535e-3, 5), ("10", 12.0, 2)],
)
def test_differences_count_in_the_last_printed_digit(
    printed: str, ours: float, apart: float, module: Callable[[str], Any]
) -> None:
    assert module("validation_data").digits_apart(printed, ours) == pytest.approx(apart)


def test_rods_have_the_published_digits(module: Callable[[str], Any]) -> None:
    rows = list(module("validation_beams").rods())
    assert len(rows) == 6
    for row in rows:
        assert row.agrees, row


def test_counts_are_what_the_formulas_give(module: Callable[[str], Any]) -> None:
    data, counts = module("validation_data"), module("validation_counts")
    for sizes in data.BOOK:
        assert counts.book(*sizes) == data.BOOK[sizes]
        assert counts.korayem_shafei(*sizes) == data.KORAYEM[sizes]


def assert_as_the_page_says(cases: Iterable[tuple[str, bool, float]]) -> None:
    """Assert of cases, whether they agree, and their differences, that the page says so."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for case, agrees, difference in cases:
        cells = next(line for line in lines if line.startswith(f"| {case} ")).split("|")
        assert (not cells[3].strip()) == agrees, case
        assert difference < DIFFER[case] if case in DIFFER else agrees, case


def test_meshes_pendulum_and_puma_have_the_published_digits_and_the_page_says_so(
    module: Callable[[str], Any],
) -> None:
    beams, motions = module("validation_beams"), module("validation_motions")
    rows = [*beams.meshes(), *motions.pendulum(), *motions.puma()]
    assert len(rows) == 15
    assert_as_the_page_says((row.case, row.agrees, row.difference) for row in rows)


@pytest.mark.campaign  # falls and driven links are those of physics/test_trajectories.py, too
def test_motions_and_meshes_have_the_published_digits_and_the_page_says_so(tmp_path: Path) -> None:
    out = tmp_path / "numbers.json"
    command = [sys.executable, str(FOLDER / "validation.py"), "--quick", "--out", str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    rows = json.loads(out.read_text())
    assert len(rows) == 32
    assert_as_the_page_says((row["case"], row["agrees"], row["difference"]) for row in rows)
