"""Items of the papers against printed numbers; the slow ones belong to the campaign."""

from functools import cache

import pytest

from flexarm.errors import FlexarmError
from flexarm.papers import PAPERS, choose_items, paper_items
from flexarm.papers.base import Found, verdict

QUICK = {
    ("korayem-2009", "table-2"): "differs",
    ("korayem-2009", "tip-rotation"): "reproduced",
    ("graves-1989", "cantilever"): "reproduced",
    ("theodore-1995", "table-1"): "differs",
    ("theodore-1995", "equation-numbers"): "reproduced",
    ("theodore-1995", "li-sankar"): "reproduced",
    ("theodore-1995", "frequency-equation"): "reproduced",
    ("chen-2012", "critical-speed"): "reproduced",
    ("chen-2012", "fig-2a"): "not-reproducible",
    ("chen-2012", "axial-stiffness"): "differs",
    ("chu", "fig-19"): "not-reproducible",
    ("chu", "cost"): "differs",
    ("chu", "deficiency"): "differs",
    ("chu", "table-1"): "reproduced",
}


@cache
def compute(paper: str, name: str) -> Found:
    (item,) = choose_items(paper, [name])
    return item.compute()


def because(found: Found, statement: str) -> str:
    (claim,) = [claim for claim in found.claims if statement in claim.says]
    return claim.because


@pytest.mark.parametrize(("paper", "name"), QUICK)
def test_quick_items_have_the_verdict_that_their_errata_call_for(paper: str, name: str) -> None:
    assert verdict(compute(paper, name)) == QUICK[paper, name]


def test_table_2_of_korayem_prints_two_modes_under_three() -> None:
    found = compute("korayem-2009", "table-2")
    assert "printed numbers: yes" in because(found, "n = 6")
    rows = found.tables[0].rows
    assert rows[3][2:] == ("19557 M, 18332 A", "26508 M, 26966 A", "19557 M, 18332 A")


def test_frequencies_of_korayems_arm_depend_on_the_equations_that_1_plus_skew_is_put_into() -> None:
    rows = compute("korayem-2009", "tip-rotation").tables[0].rows
    found = {row[0]: [float(x) for x in row[1:]] for row in rows}
    exact = pytest.approx([2.680, 7.187, 227.444, 397.572], abs=1e-3)
    assert found["exact"] == exact
    assert found["equations of the paper, E = 1 + skew"] == exact
    assert found["Lagrange with E = 1 + skew"][2:] == pytest.approx([225.977, 397.071], abs=1e-3)


def test_what_the_experiment_omits_moves_the_joint_by_more_than_the_deviation_it_reports() -> None:
    for each in compute("chu", "fig-19").missing:
        assert each.spread > 0.035


def test_table_1_of_theodore_is_in_rad_per_s_with_one_wrong_entry() -> None:
    found = compute("theodore-1995", "table-1")
    assert "17 of 18" in because(found, "last digit")
    assert "mode 1 with 3 elements: 208.66" in because(found, "last digit")
    assert "33.206 Hz" in because(found, "Hz")


def test_the_unstiffened_link_is_unstable_above_its_first_frequency() -> None:
    assert "20.3735 rad/s" in because(compute("chen-2012", "critical-speed"), "stable at 10")


def test_one_point_per_element_gives_wrong_cantilever_frequencies() -> None:
    rows = compute("chu", "deficiency").tables[0].rows
    assert [float(x) for x in rows[0][1:]] == pytest.approx([1.010, 0.924, 0.903], abs=5e-4)
    assert [float(x) for x in rows[1][1:]] == pytest.approx([1.0015, 0.980, 0.940], abs=5e-4)


def test_items_have_names_of_their_own_in_each_paper() -> None:
    for paper in PAPERS:
        names = [item.name for item in paper_items(paper)]
        assert len(set(names)) == len(names)
        assert all(item.paper == paper for item in paper_items(paper))


def test_unknown_papers_and_items_are_refused_with_what_there_is() -> None:
    with pytest.raises(FlexarmError, match="there are korayem-2009"):
        paper_items("nobody")
    with pytest.raises(FlexarmError, match="no item 'fig-99' in 'chu': there are fig-4-5"):
        choose_items("chu", ["fig-99"])


SLOW = [
    (paper, item.name)
    for paper in PAPERS
    for item in paper_items(paper)
    if (paper, item.name) not in QUICK
]


@pytest.mark.campaign
@pytest.mark.parametrize(("paper", "name"), SLOW)
def test_every_item_reaches_a_verdict(paper: str, name: str) -> None:
    found = compute(paper, name)
    assert verdict(found) in ("reproduced", "differs", "not-reproducible")
    assert found.claims
