"""Errata: the page is what the code says when it runs printed against right."""

from pathlib import Path

import pytest

import flexarm
from flexarm.errors import FlexarmError
from flexarm.papers import PAPERS
from flexarm.papers.errata import errata, markdown, measured

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"
RUN = [each for each in errata() if each.runs]


def test_the_page_is_made_by_running_every_misprint() -> None:
    assert PAGE.read_text("utf-8") == markdown()


@pytest.mark.parametrize("where", ["eq. 86", "step 9, U", "step 10, last block"])
def test_a_misprint_of_the_inertia_matrix_makes_it_wrong_by_a_tenth_or_more(where: str) -> None:
    (one,) = [each for each in errata("korayem-2009") if each.where == where]
    least = float(measured(one).partition("wrong by ")[2].split()[0])
    assert 8 < least < 100


@pytest.mark.parametrize("code", sorted({each.code for each in errata() if each.code}))
def test_what_is_right_is_marked_where_it_stands(code: str) -> None:
    assert "erratum" in (Path(flexarm.__file__).parent / code).read_text("utf-8")


def test_every_paper_has_errata_that_run() -> None:
    assert {each.paper for each in RUN} == set(PAPERS)
    with pytest.raises(FlexarmError, match="there are korayem-2009"):
        errata("nobody")
