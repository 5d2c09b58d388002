"""The report: every file there, figures inside the page, nothing overwritten unasked."""

import csv
import json
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from flexarm.errors import FlexarmError
from flexarm_papers import PAPERS, choose_items, paper_items
from flexarm_papers.base import Figure, Found, Item, Result, Table, curve
from flexarm_papers.places import PLACES
from flexarm_papers.readings import Grid, Scope, ways
from flexarm_papers.report import document, in_words, markdown, page, summary, write_report
from flexarm_papers.statements import Check, Limit, compare, search

GRID = Grid((ways("gain", "1", "2"),))


def result() -> Result:
    t = np.linspace(0.0, 1.0, 5)
    found = Found(
        (search("grows <fast>", GRID.readings(Scope()), lambda x: np.float64(x["gain"]),
                Limit(low=1.5), "speed | 2", printed="8 mm"),),
        tables=(Table("Numbers", ("a", "b"), (("1", "x | y"),)),),
        figures=(Figure("Fig. 1", "time [s]", "y [m]", (curve("ours", t, t**2),),
                        reading="gain: 2"),),
        checks=(Check("it is smooth", cast("bool", np.bool_(False)), "no"),),
    )  # fmt: skip
    item = Item("chu", "fig-1", "a figure", lambda scope: found, GRID)
    return Result(item, found, 1.0)


def test_the_report_has_markdown_page_pictures_and_data_and_is_not_overwritten_unasked(
    tmp_path: Path,
) -> None:
    write_report([result()], tmp_path)
    text = (tmp_path / "report.md").read_text("utf-8")
    html = (tmp_path / "report.html").read_text("utf-8")
    assert "![Fig. 1](chu-fig-1-1.png)\n\ngain: 2" in text
    assert "speed \\| 2" in text
    assert "grows &lt;fast&gt;" in html
    assert (tmp_path / "chu-fig-1-1.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "chu-fig-1-1.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["curve", "time [s]", "y [m]"]
    assert [float(x) for x in rows[-1][1:]] == [1.0, 1.0]
    assert "flexarm reproduce chu --item fig-1 --reading gain=2" in html
    with (tmp_path / "chu-fig-1-table-3.csv").open(newline="") as file:
        assert list(csv.reader(file))[1:] == [["1", "1", "does not hold"], ["2", "2", "holds"]]
    assert (tmp_path / "chu-fig-1-table-1.csv").read_text("utf-8") == "a,b\n1,x | y\n"
    (tmp_path / "report.md").write_text("mine")
    with pytest.raises(FlexarmError, match="force"):
        write_report([result()], tmp_path)
    assert (tmp_path / "report.md").read_text() == "mine"
    write_report([result()], tmp_path, force=True)
    assert (tmp_path / "report.md").read_text("utf-8") == text


def test_the_page_is_light_or_dark_and_its_figures_take_its_colours() -> None:
    html = page([result()])
    assert "prefers-color-scheme:dark" in html
    assert "stroke: var(--curve0)" in html
    assert "#0072b2" not in html.partition("</style>")[2]
    assert "Read as: gain: 2" in html
    assert "Without a statement: Figs. 1-3" in html


def test_every_statement_stands_beside_where_its_paper_has_it() -> None:
    for paper in PAPERS:
        assert {item.name for item in paper_items(paper)} == set(PLACES[paper])
    (item,) = choose_items("theodore-1995", ["table-1"])
    found = Result(item, item.compute(Scope()), 1.0)
    assert [at for at, _ in found.said] == ["Table 1"] * 4 + ["section 4"] * 2
    assert "| table-1 | the exact frequencies | Table 1 | Holds" in markdown([found])
    assert "<td>the exact frequencies</td><td>Table 1</td>" in page([found])
    assert document([found])["items"][0]["statements"][3]["at"] == "Table 1"


def test_the_document_lists_statements_with_all_that_was_tried() -> None:
    found = json.loads(json.dumps(document([result()]), allow_nan=False))
    (item,) = found["items"]
    (said,) = item["statements"]
    assert said["verdict"] == "holds if"
    assert said["printed"] == "8 mm"
    assert said["conditions"] == [{"gain": ["2"]}]
    assert [each["holds"] for each in said["tried"]] == [False, True]
    assert [each["outcome"] for each in said["tried"]] == ["does not hold", "holds"]
    assert item["checks"][0]["holds"] is False
    assert found["totals"]["chu"]["holds if"] == 1


def test_report_and_document_agree_on_runs_that_stop_and_runs_that_fail() -> None:
    values = {"1": np.inf, "2": np.nan}
    found = Found((search("ends", GRID.readings(Scope()), lambda x: values[x["gain"]],
                          Limit(high=1.0), "growth"),))  # fmt: skip
    stops = Result(Item("chu", "fig-1", "", lambda scope: found, GRID), found, 1.0)
    html = page([stops])
    assert "<td>infinite</td><td>does not hold</td>" in html
    assert "<td>no number</td><td>not decided</td>" in html
    (said,) = document([stops])["items"][0]["statements"]
    assert said["tried"][0]["outcome"] == "does not hold"
    assert said["beside"][0]["outcome"] == "not decided"
    assert {each["value"] for each in (*said["tried"], *said["beside"])} == {None}


def test_a_paper_is_summed_up_in_words() -> None:
    assert in_words([result()]) == "1 statement: 1 holds if something is read in one way."


def test_what_is_contradicted_twice_is_said_once_with_where() -> None:
    never = Found((compare("as by Usoro et al.", 2.0, Limit(high=1.0), "size"),))
    items = [Item("chu", name, "", lambda scope: never) for name in ("fig-1", "fig-2")]
    text = in_words([Result(item, never, 1.0) for item in items])
    assert text.endswith("reading. Contradicted: as by Usoro et al. (fig-1, fig-2).")


def test_statements_are_counted_by_paper() -> None:
    counts = ("2", "0", "0", "2", "0", "0", "0")
    assert summary([result(), result()]).rows == (("Chu et al.", *counts), ("all", *counts))
