"""The report: every file there, figures inside the page, nothing overwritten unasked."""

import csv
from pathlib import Path

import numpy as np
import pytest

from flexarm.errors import FlexarmError
from flexarm.papers.base import (
    Difference,
    Figure,
    Found,
    Item,
    Missing,
    Result,
    Table,
    curve,
    decide,
)
from flexarm.papers.report import document, write_report


def result() -> Result:
    t = np.linspace(0.0, 1.0, 5)
    found = Found(
        (decide("grows <fast>", True, "1 | 2"),),
        Difference(0.5, "of the range"),
        tables=(Table("Numbers", ("a", "b"), (("1", "x | y"),)),),
        figures=(Figure("Fig. 1", "time [s]", "y [m]", (curve("ours", t, t**2),)),),
        missing=(Missing("gain [1]", "error [m]", (1.0, 2.0), (0.1, 0.2)),),
    )
    item = Item("chu", "fig-1", "a figure", "It grows.", lambda: found)
    return Result(item, found, 1.0)


def test_the_report_has_markdown_page_pictures_and_data(tmp_path: Path) -> None:
    write_report([result()], tmp_path)
    text = (tmp_path / "report.md").read_text("utf-8")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "![Fig. 1](chu-fig-1-1.png)" in text
    assert "1 \\| 2" in text
    assert "grows &lt;fast&gt;" in page
    assert "data:image/png;base64," in page
    assert (tmp_path / "chu-fig-1-1.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "chu-fig-1-1.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["curve", "time [s]", "y [m]"]
    assert [float(x) for x in rows[-1][1:]] == [1.0, 1.0]
    assert '<a href="#chu-fig-1">fig-1</a>' in page
    assert '<h2 id="chu-fig-1">' in page
    assert "flexarm reproduce chu --item fig-1" in text
    assert "flexarm reproduce chu --item fig-1" in page
    with (tmp_path / "chu-fig-1-table-3.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["gain [1]", "error [m]"], ["1", "0.1"], ["2", "0.2"]]
    assert (tmp_path / "chu-fig-1-table-1.csv").read_text("utf-8") == "a,b\n1,x | y\n"


def test_a_report_is_not_overwritten_unasked(tmp_path: Path) -> None:
    write_report([result()], tmp_path)
    with pytest.raises(FlexarmError, match="force"):
        write_report([result()], tmp_path)
    write_report([result()], tmp_path, force=True)


def test_the_document_lists_verdict_reason_and_difference() -> None:
    (item,) = document([result()])["items"]
    assert item["paper"] == "chu"
    assert item["item"] == "fig-1"
    assert item["verdict"] == "reproduced"
    assert item["difference"] == 0.5
    assert item["claims"][0]["because"] == "1 | 2"
