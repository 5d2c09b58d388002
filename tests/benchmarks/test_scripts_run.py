"""The benchmark scripts run, and what they print of published numbers is what was published."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def run(script: str, folder: Path) -> tuple[Any, str]:
    """Run a script in its quick form; return its document and its page."""
    out, page = folder / "numbers.json", folder / "docs" / "page.md"
    command = [sys.executable, str(FOLDER / script), "--quick"]
    subprocess.run(
        [*command, "--out", str(out), "--markdown", str(page)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return json.loads(out.read_text()), page.read_text()


@pytest.mark.campaign
def test_forward_dynamics_is_timed_and_the_page_says_on_what(tmp_path: Path) -> None:
    found, page = run("forward_dynamics.py", tmp_path)
    times = {each["contender"]: each["microseconds"] for each in found["chains"]}
    flexible, rigid = times["flexarm flexible"], times["flexarm rigid"]
    assert 0 < rigid["lower_quartile"] < flexible["lower_quartile"]
    assert flexible["lower_quartile"] <= flexible["median"] <= flexible["upper_quartile"]
    empty, filled = found["first_use"]
    assert (empty["cache"], filled["cache"]) == ("empty", "filled")
    assert filled["first_result"] < empty["first_result"]
    assert found["machine"]["processor"] in page
    assert f"casadi {found['machine']['casadi']}" in page


@pytest.mark.campaign  # of the counts, tests/physics/test_cost.py and tests/papers
def test_operations_are_counted_beside_the_published_formulas(tmp_path: Path) -> None:
    found, page = run("operation_counts.py", tmp_path)
    row = found["forward_dynamics"][0]
    assert (row["arm"], row["stiffening"]) == ("count-2-2-2", False)
    assert row["korayem_shafei"] == [1119, 932]
    assert row["book"] == [3755, 3665]
    assert row["articulated"]["total"] <= 300
    assert "1119 M, 932 A" in page
    assert found["mass_matrix"][0]["published"] == [405, 168]


@pytest.mark.parametrize(
    ("formula", "sizes", "published"),
    [
        ("korayem_shafei", (3, 2, 2), (2706, 2134)),
        ("korayem_shafei", (6, 6, 2), (19557, 18332)),
        ("book", (3, 2, 2), (4922, 4851)),
        ("book", (6, 6, 2), (25251, 24569)),
    ],
)
def test_the_formulas_give_the_numbers_that_are_printed_with_them(
    formula: str,
    sizes: tuple[int, int, int],
    published: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    assert getattr(import_module("operation_counts"), formula)(*sizes) == published


@pytest.mark.campaign  # of the tolerance, tests/integrate/test_methods.py
def test_integrators_meet_their_tolerance_and_auto_is_close_to_the_best(tmp_path: Path) -> None:
    found, page = run("integrators.py", tmp_path)
    for each in found:
        assert all(error <= 1 for error in each["errors"].values())
    assert "largest" in page


@pytest.mark.campaign
def test_families_of_shapes_are_compared_on_samples(tmp_path: Path) -> None:
    found, page = run("shape_families.py", tmp_path)
    errors = {(r["sample"], r["shapes"], r["joints"]): r["errors"] for r in found}
    hanging = errors["korayem-two-link", 2, "as they are"]
    assert max(hanging["arm-modes"]) < 0.1 < max(hanging["loaded, root free"])
    assert "within the bar in 8 of 8 cases" in page
