"""The closed-form counts: published numbers stand beside what is counted by hand."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from flexarm.io.model_file import change_arm
from flexarm_papers.theodore.robot import DENSITY, STROKE, inertia_count
from flexarm_papers.theodore.ways import Way
from flexarm_papers.theodore.written import nested, written_out

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.campaign
def test_the_quick_page_has_the_published_count_and_the_shorter_compiled_one(
    tmp_path: Path,
) -> None:
    out, page = tmp_path / "numbers.json", tmp_path / "page.md"
    command = [sys.executable, str(FOLDER / "closed_form_counts.py"), "--quick"]
    command += ["--out", str(out), "--markdown", str(page)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (row,) = json.loads(out.read_text())["mass_matrix"]
    assert (row["robot"], row["kind"], row["published"]) == ("RR", "modes", [405, 168])
    for name in ("written_out", "compiled", "composite"):
        assert sum(row[name]) < 405 + 168
    assert "405 M, 168 A" in page.read_text()


def test_terms_are_counted_as_with_a_pencil() -> None:
    # 3 + x - 2 x^2 y: nothing; nothing; 2 x x y is three products; two sums
    entry = {(): 3.0, ((0, 1),): 1.0, ((0, 2), (1, 1)): -2.0}
    assert written_out([entry, {}, {(): 5.0}]) == (3, 2)


@pytest.mark.parametrize(("robot", "turning"), [("RP", 1), ("RRP", 2)])
def test_algorithm_1_over_polynomials_counts_what_the_printed_equations_have(
    robot: str, turning: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    counts = import_module("closed_form_counts")
    carried = {f"links.{turning}.shapes.kind": "clamped-mass",
               f"links.{turning}.shapes.tip": {"mass": STROKE * DENSITY}}  # fmt: skip
    arm = change_arm(counts.example_arm(f"tg-{robot.lower()}"), carried)
    model = counts.Lagrange.paper_model(counts.build(arm))
    products, sums = inertia_count(robot, "modes", Way())
    found = counts._written_out(model)
    # With two turning joints, printed equations have sums of angles; the algorithm has none.
    assert found == (products, sums) if robot == "RP" else found[0] < products


def test_a_factored_entry_is_counted_as_with_a_pencil() -> None:
    # 3 x + 2 x y + x^2 + 5 = x (3 + 2 y + x) + 5: two products, three sums
    entry = {((0, 1),): 3.0, ((0, 1), (1, 1)): 2.0, ((0, 2),): 1.0, (): 5.0}
    assert nested(entry) == (2, 3)
