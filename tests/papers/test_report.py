"""The report: a page per paper, figures, tables, a JSON document."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from flexarm.errors import FlexarmError
from flexarm_papers.base import Figure, Found, Item, Result, Table, curve
from flexarm_papers.readings import every, ways
from flexarm_papers.report import document, page, summary, words, write_report
from flexarm_papers.verdicts import claim, search


def result() -> Result:
    grid = every(ways("gain", "1", "2"))
    decided = search("grows <fast>", "Fig. 1", claim("speed", low=1.5, unit="m/s"),
                     grid.readings(), lambda x: float(x["gain"]), printed="8 mm",
                     beside={"twice": lambda x: 2 * float(x["gain"])})  # fmt: skip
    line = Figure("Fig. 1", "time [s]", "y [m]", (curve("ours", [0, 1], [0, 1]),), reading="gain 2")
    found = Found((decided,), (line,), (Table("T", ("a", "b"), (("1", "x | y"),)),), "Why.",
                  "One thing explains all.")  # fmt: skip
    return Result(Item("chu", "fig-1", "Fig. 1: speed", lambda: found), found, 1.0)


def test_a_page_has_the_summary_the_figure_the_verdict_and_the_command(tmp_path: Path) -> None:
    assert write_report([result()], tmp_path) == [tmp_path / "chu.html"]
    html = (tmp_path / "chu.html").read_text("utf-8")
    assert "<li>One thing explains all.</li>" in html
    assert "grows &lt;fast&gt;" in html
    assert "flexarm reproduce chu --item fig-1" in html
    assert "The paper prints 8 mm." in html
    assert "stroke: var(--curve0)" in html
    assert "prefers-color-scheme:dark" in html
    assert (tmp_path / "chu-fig-1-1.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "chu-fig-1-1.csv").open(newline="") as file:
        assert [float(x) for x in list(csv.reader(file))[-1][1:]] == [1.0, 1.0]
    with (tmp_path / "chu-fig-1-table-2.csv").open(newline="") as file:
        assert list(csv.reader(file))[1:] == [
            ["1", "1 m/s", "does not hold", "2"], ["2", "2 m/s", "holds", "4"],
        ]  # fmt: skip
    with pytest.raises(FlexarmError, match="force"):
        write_report([result()], tmp_path)
    write_report([result()], tmp_path, force=True)


def test_a_summary_tells_the_finding_the_counts_and_the_share() -> None:
    assert summary([result()]) == [
        "One thing explains all.",
        "1 statements: 1 depends on what the paper leaves open.",
        "Depends on what the paper leaves open: Fig. 1: speed (1).",
    ]


def test_folded_tables_do_not_count_as_words_of_a_page() -> None:
    text = page([result()])
    assert 30 < words(text) < 90


def test_the_document_lists_statements_with_their_trials() -> None:
    found = json.loads(json.dumps(document([result()]), allow_nan=False))
    (said,) = found["items"][0]["statements"]
    assert said["verdict"] == "depends on what the paper leaves open"
    assert (said["holds_in"], said["tried"]) == (1, 2)
    assert said["trials"][1] == {
        "reading": {"gain": "2"}, "value": 2.0, "holds": True, "beside": {"twice": 4.0},
    }  # fmt: skip
    assert found["totals"]["chu"]["depends on what the paper leaves open"] == 1


def test_numbers_that_are_infinite_are_null_in_the_document() -> None:
    said = search("ends", "", claim("growth", high=1.0), every(ways("a", "1")).readings(),
                  lambda x: np.inf)  # fmt: skip
    found = Found((said,))
    item = Result(Item("chu", "fig-1", "", lambda: found), found, 1.0)
    assert document([item])["items"][0]["statements"][0]["trials"][0]["value"] is None
