"""`flexarm reproduce`: verdicts on standard output, a page in a folder, one JSON document."""

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


def test_json_is_one_document_and_progress_is_printed_in_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*TABLE, "--json"]) == 0
    printed = capsys.readouterr()
    (item,) = json.loads(printed.out)["items"]
    assert item["statements"][0]["verdict"] == "reproduced after correcting a misprint"
    assert item["statements"][2]["verdict"] == "reproduced"
    assert printed.err == "flexarm reproduce: 1 of 1: theodore-1995 table-1\n"
    assert not list(tmp_path.iterdir())


def test_a_page_is_written_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(TABLE) == 0
    counts = "3 statements: 2 reproduced, 1 reproduced after correcting a misprint."
    assert counts in capsys.readouterr().out
    assert (tmp_path / "reproduction" / "theodore-1995.html").exists()
    assert main(TABLE) == 1
    assert "--force" in capsys.readouterr().err
    assert main([*TABLE, "--force"]) == 0


def test_list_names_every_paper_and_computes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list", "--json"]) == 0
    items = json.loads(capsys.readouterr().out)["items"]
    assert {item["paper"] for item in items} == set(PAPERS)
    assert len(items) > 30


def test_an_unknown_item_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "chu", "--item", "fig-99"]) == 1
    assert "no item 'fig-99' in 'chu'" in capsys.readouterr().err


@pytest.mark.campaign
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
    assert main(["reproduce", "graves-1989", "--item", "shuttle-arm", "--json"]) == 143
    printed = capsys.readouterr()
    assert not printed.out
    assert printed.err.endswith(
        "flexarm reproduce: stopped before all was computed: nothing is decided, and no report is "
        "written\n"
    )
    assert len(runs) == 1


def test_every_motion_of_the_papers_is_whole() -> None:
    folder = Path(papers.__file__).parent
    for file in folder.rglob("*.py"):
        if file.name != "runs.py":
            assert "integrate.simulate import" not in file.read_text("utf-8"), file
