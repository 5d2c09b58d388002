"""`flexarm reproduce`: verdicts on standard output, a report in a folder, one JSON document."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

import flexarm_papers as papers
from flexarm.cli import main
from flexarm.integrate import solve
from flexarm_papers import PAPERS

TABLE = ["reproduce", "theodore-1995", "--item", "table-1"]


def test_json_is_one_document_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*TABLE, "--json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert {"paper", "item", "statements", "checks"} <= set(item)
    assert item["statements"][0]["verdict"] == "holds if"
    assert item["statements"][5]["verdict"] == "holds for every reading"
    assert not list(tmp_path.iterdir())


def test_a_report_is_written_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(TABLE) == 0
    assert "all: 6 statements, 2 holds for every reading, 4 holds if" in capsys.readouterr().out
    assert (tmp_path / "reproduction" / "report.html").exists()
    assert main(TABLE) == 1
    assert "--force" in capsys.readouterr().err
    assert main([*TABLE, "--force"]) == 0


def test_list_names_every_paper_and_computes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list", "--json"]) == 0
    items = json.loads(capsys.readouterr().out)["items"]
    assert {item["paper"] for item in items} == set(PAPERS)
    assert len(items) > 40


def test_an_unknown_item_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "chu", "--item", "fig-99"]) == 1
    assert "no item 'fig-99' in 'chu'" in capsys.readouterr().err


def test_choices_of_one_name_are_listed_with_the_ways_of_each_item(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["reproduce", "chen-2012", "--list"]) == 0
    listed = capsys.readouterr().out
    assert listed.count("open: equations = exact beam; the paper's") == 1
    assert listed.count("open: equations = complete; the paper's") == 1


def test_a_reading_is_taken_as_it_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TABLE, "--list"]) == 0
    assert "open: unit of the column headed Hz = Hz; rad/s" in capsys.readouterr().out
    asked = ["--json", "--reading", "unit of the column headed Hz=rad/s"]
    assert main([*TABLE, *asked]) == 0
    totals = json.loads(capsys.readouterr().out)["totals"]["theodore-1995"]
    assert totals["holds for every reading"] == 6
    assert main([*TABLE, "--reading", "Hz"]) == 2
    assert "expected NAME=WAY" in capsys.readouterr().err


def test_errata_are_run_and_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "graves-1989", "--errata"]) == 0
    assert "M, of a unit diagonal, wrong by" in capsys.readouterr().out
    assert main(["reproduce", "graves-1989", "--errata", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["errata"]
    assert {"where", "printed", "right", "effect"} <= set(found[0])


def test_a_run_that_is_stopped_decides_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, runs = solve._integrate, []

    def drive(*args: Any) -> solve.Ending | None:
        runs.append(1)
        signal.raise_signal(signal.SIGTERM)  # what `timeout` does while a motion is computed
        return real(*args)

    monkeypatch.setattr(solve, "_integrate", drive)
    assert main(["reproduce", "graves-1989", "--item", "rotation-limit", "--json"]) == 143
    printed = capsys.readouterr()
    assert not printed.out
    assert printed.err == (
        "flexarm reproduce: stopped before all was computed: nothing is decided, and no report is "
        "written\n"
    )
    assert len(runs) == 1


def test_every_motion_of_the_papers_is_whole() -> None:
    folder = Path(papers.__file__).parent
    for file in folder.rglob("*.py"):
        if file.name != "runs.py":
            assert "integrate.simulate import" not in file.read_text("utf-8"), file
