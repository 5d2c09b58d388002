"""Items of the papers against printed numbers; the slow ones belong to the campaign."""

import pytest

from flexarm.errors import FlexarmError
from flexarm.papers import PAPERS, choose_items, paper_items, reproduce
from flexarm.papers.base import Found, verdict
from tests.papers.computed import compute

# Verdict, and the number that it rests on: the difference, or the spread of what a missing datum
# decides. Numbers below 1e-4 are rounding or tolerance; None stands for a time.
EXPECTED: dict[tuple[str, str], tuple[str, float | None]] = {
    ("korayem-2009", "table-1"): ("differs", 2.0),
    ("korayem-2009", "table-2"): ("differs", 0.471),
    ("korayem-2009", "tip-rotation"): ("reproduced", 0.00645),
    ("korayem-2009", "fig-4"): ("reproduced", 0.000837),
    ("korayem-2009", "fig-5"): ("reproduced", 0.00112),
    ("korayem-2009", "fig-6"): ("reproduced", 0.000204),
    ("korayem-2009", "fig-7"): ("reproduced", 0.00054),
    ("korayem-2009", "fig-8"): ("differs", 0.385),
    ("korayem-2009", "fig-9"): ("differs", 0.345),
    ("korayem-2009", "fig-10"): ("differs", 0.329),
    ("korayem-2009", "fig-11"): ("differs", 0.389),
    ("korayem-2009", "fig-12"): ("differs", 0.488),
    ("korayem-2009", "fig-13"): ("differs", 0.406),
    ("korayem-2009", "fig-14"): ("differs", 0.385),
    ("korayem-2009", "fig-15"): ("differs", 0.364),
    ("chu", "fig-4-5"): ("not-reproducible", 0.91),
    ("chu", "fig-6"): ("reproduced", 0.0),
    ("chu", "fig-7"): ("reproduced", 0.00853),
    ("chu", "fig-8"): ("not-reproducible", 0.9),
    ("chu", "fig-10-11"): ("not-reproducible", 0.921),
    ("chu", "fig-12"): ("reproduced", 0.0135),
    ("chu", "fig-13"): ("reproduced", 0.00984),
    ("chu", "fig-14"): ("not-reproducible", 0.721),
    ("chu", "fig-15"): ("not-reproducible", 0.727),
    ("chu", "fig-17"): ("not-reproducible", 0.811),
    ("chu", "fig-18"): ("not-reproducible", 0.637),
    ("chu", "fig-19"): ("not-reproducible", 0.811),
    ("chu", "fig-20"): ("not-reproducible", 1.69),
    ("chu", "fig-21"): ("not-reproducible", 0.796),
    ("chu", "fig-22"): ("not-reproducible", 0.9),
    ("chu", "cost"): ("reproduced", 0.0387),
    ("chu", "deficiency"): ("differs", 0.0595),
    ("chu", "table-1"): ("reproduced", 0.0),
    ("graves-1989", "cantilever"): ("reproduced", 0.000608),
    ("graves-1989", "shuttle-arm"): ("reproduced", 0.0),
    ("graves-1989", "compensation"): ("reproduced", 0.0),
    ("graves-1989", "rotation-limit"): ("reproduced", None),
    ("theodore-1995", "table-1"): ("differs", 0.0),
    ("theodore-1995", "table-2"): ("differs", 6.84),
    ("theodore-1995", "equation-numbers"): ("reproduced", 0.0),
    ("theodore-1995", "li-sankar"): ("reproduced", 0.1606),
    ("theodore-1995", "lemma"): ("differs", 212.8),
    ("theodore-1995", "fig-6"): ("differs", 1.757),
    ("theodore-1995", "fig-7"): ("differs", 0.000508),
    ("theodore-1995", "fig-8"): ("not-reproducible", 1.428),
    ("theodore-1995", "fig-9"): ("differs", 0.0214),
    ("theodore-1995", "fig-10"): ("differs", 0.2054),
    ("theodore-1995", "frequency-equation"): ("reproduced", 0.0),
    ("theodore-1995", "fig-4"): ("reproduced", 0.0),
    ("theodore-1995", "fig-5"): ("reproduced", 0.0),
    ("theodore-1995", "cpu"): ("reproduced", None),
    ("chen-2012", "fig-2a"): ("differs", 0.503),
    ("chen-2012", "fig-2b"): ("reproduced", 0.0),
    ("chen-2012", "critical-speed"): ("reproduced", 0.0),
    ("chen-2012", "axial-stiffness"): ("differs", 0.211),
    ("chen-2012", "fig-4"): ("not-reproducible", 0.442),
    ("chen-2012", "fig-5"): ("not-reproducible", 0.722),
    ("chen-2012", "longitudinal"): ("not-reproducible", 0.887),
    ("chen-2012", "chordwise"): ("not-reproducible", 0.802),
    ("chen-2012", "frequency-ratios"): ("reproduced", 0.0),
}
# Beside these, some are held to their verdicts where their numbers are looked at.
QUICK = {
    ("korayem-2009", "table-2"),
    ("korayem-2009", "tip-rotation"),
    ("graves-1989", "cantilever"),
    ("theodore-1995", "table-1"),
    ("theodore-1995", "frequency-equation"),
    ("chen-2012", "fig-2a"),
}
# What there is to reproduce, by paper.
NAMES = {
    "korayem-2009": "table-1 table-2 tip-rotation fig-4 fig-5 fig-6 fig-7 fig-8 fig-9 fig-10 "
    "fig-11 fig-12 fig-13 fig-14 fig-15",
    "graves-1989": "cantilever shuttle-arm compensation rotation-limit",
    "theodore-1995": "table-1 table-2 equation-numbers li-sankar frequency-equation lemma fig-4 "
    "fig-5 fig-6 fig-7 fig-8 fig-9 fig-10 cpu",
    "chu": "fig-4-5 fig-6 fig-7 fig-8 fig-10-11 fig-12 fig-13 fig-14 fig-15 fig-17 fig-18 fig-19 "
    "fig-20 fig-21 fig-22 cost deficiency table-1",
    "chen-2012": "fig-2a fig-2b critical-speed axial-stiffness fig-4 fig-5 longitudinal chordwise "
    "frequency-ratios",
}


def because(found: Found, statement: str) -> str:
    (claim,) = [each for each in (*found.claims, *found.checks) if statement in each.says]
    return claim.because


def number(found: Found) -> float | None:
    """Give the number that a verdict rests on."""
    if verdict(found) == "not-reproducible":
        return max(each.spread for each in found.missing if each.matters)
    return found.difference.value


def assert_verdict(paper: str, name: str) -> None:
    """Hold an item to its verdict and its number."""
    found = compute(paper, name)
    kind, value = EXPECTED[paper, name]
    assert verdict(found) == kind
    if value is not None:
        assert number(found) == pytest.approx(value, rel=0.03, abs=1e-4)


@pytest.mark.parametrize(
    ("paper", "name"),
    [pytest.param(*key, marks=[] if key in QUICK else [pytest.mark.campaign]) for key in EXPECTED],
)
def test_items_have_the_verdict_and_the_number_that_their_errata_call_for(
    paper: str, name: str
) -> None:
    assert_verdict(paper, name)


def test_everything_that_the_papers_show_has_an_item() -> None:
    there = {paper: {item.name for item in paper_items(paper)} for paper in PAPERS}
    assert {paper: set(names.split()) - there[paper] for paper, names in NAMES.items()} == {
        paper: set() for paper in PAPERS
    }


@pytest.mark.parametrize("paper", PAPERS)
def test_every_item_is_held_to_its_verdict(paper: str) -> None:
    assert {(paper, item.name) for item in paper_items(paper)} == {
        key for key in EXPECTED if key[0] == paper
    }


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


def test_table_1_of_theodore_is_in_rad_per_s_with_one_wrong_entry() -> None:
    found = compute("theodore-1995", "table-1")
    assert "17 of 18" in because(found, "last digit")
    assert "mode 1 with 3 elements: 208.66" in because(found, "last digit")
    assert "33.206 Hz" in because(found, "Hz")


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


def test_papers_that_are_computed_side_by_side_give_the_same_in_the_same_order() -> None:
    items = [*choose_items("theodore-1995", ["table-1"]), *choose_items("chu", ["table-1"])]
    said: list[str] = []
    one, two = reproduce(items), reproduce(items, workers=2, progress=said.append)
    assert [result.item for result in one] == [result.item for result in two] == items
    assert [result.reason for result in one] == [result.reason for result in two]
    assert len(said) == 2
