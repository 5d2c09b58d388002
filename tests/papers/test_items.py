"""Statements of the papers against their verdicts; the slow ones belong to the campaign."""

from multiprocessing import active_children

import pytest

from flexarm.errors import FlexarmError
from flexarm_papers import PAPERS, choose_items, paper_items, reproduce
from flexarm_papers.report import MOST_WORDS, page, summary, words
from flexarm_papers.theodore.items import wrong_digits
from flexarm_papers.verdicts import Verdict
from tests.papers.computed import cases, compute, number, statement

# Verdicts of an item's statements: r reproduced, c after correcting a misprint, d depends on what
# the paper leaves open, n not reproduced, - cannot be tested.
MARKS = dict(zip(Verdict, "rcdn-", strict=True))
EXPECTED: dict[str, dict[str, str]] = {
    "korayem-2009": {
        "vibration": "n", "figures": "rrrrnddnnddn-", "more-modes": "r",
        "table-1": "crnd", "table-2": "ccn", "matrices": "ccrrrrrrrr",
    },
    "graves-1989": {
        "inertia": "rrnn", "shuttle-arm": "rrr-", "structural-data": "r-", "jacobian": "rrrr",
        "rotation-limit": "rrr", "christoffel": "r",
    },
    "theodore-1995": {
        "table-1": "crr", "table-2": "dnnnnnnndndd", "li-sankar": "rr-n",
        "frequency-equation": "rrrrd", "ranks": "ndrc", "lemma": "rdrnn", "closed-loop": "rddr",
        "fig-7": "rnn", "fig-8": "rnn", "fig-9": "dndnr", "fig-10": "dndnr",
    },
    "chu": {
        "eq-18": "rrd", "joint-types": "r", "example-1": "rddn", "example-2": "dddd",
        "table-1": "rndr", "cost": "dr", "experiment": "--",
    },
    "chen-2012": {
        "fig-2a": "n", "fig-2b": "rdr", "stiffening": "n", "fig-4": "d-d", "flapwise": "dd",
        "longitudinal": "dd", "chordwise": "dd", "offset": "rrrdndrrnr",
    },
}  # fmt: skip
# A fixed sample in the plain run.
QUICK = {("korayem-2009", "table-2"), ("theodore-1995", "table-1"), ("chu", "joint-types")}
CASES = [(paper, name) for paper, names in EXPECTED.items() for name in names]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("paper", "name"),
    [pytest.param(*key, marks=[] if key in QUICK else [pytest.mark.campaign]) for key in CASES],
)
def test_statements_have_the_verdicts_of_their_numbers(paper: str, name: str) -> None:
    found = [MARKS[each.verdict] for each in compute(paper, name).statements]
    assert "".join(found) == EXPECTED[paper][name]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_item_is_tested(paper: str) -> None:
    assert {item.name for item in paper_items(paper)} == set(EXPECTED[paper])
    assert all(item.paper == paper for item in paper_items(paper))


@pytest.mark.campaign
@pytest.mark.parametrize("paper", PAPERS)
def test_a_page_is_short_and_begins_with_a_summary(paper: str) -> None:
    results = reproduce(choose_items(paper, None))
    assert words(page(results)) <= MOST_WORDS
    assert 3 <= len(summary(results)) <= 10


def test_table_2_of_korayem_prints_two_modes_under_three() -> None:
    found = compute("korayem-2009", "table-2")
    assert "m = 3 to m = 2" in statement(found, "n = 6").misprint
    over = cases(found, "general comparison")
    assert (sum(x >= 1 for x in over.values()), len(over)) == (190, 308)
    rows = found.tables[0].rows
    assert rows[3][2:] == ("19557 M, 18332 A", "26508 M, 26966 A", "19557 M, 18332 A")


def test_table_1_of_theodore_is_in_rad_per_s_with_five_wrong_last_digits() -> None:
    found = compute("theodore-1995", "table-1")
    assert number(found, "frequencies of a clamped link") < 0.01  # [%]
    assert "13 of 18 numbers" in found.text
    assert "mode 1 in 3 elements (208.6581)" in wrong_digits()


def test_unknown_papers_and_items_are_refused_with_those_that_exist() -> None:
    with pytest.raises(FlexarmError, match="there are korayem-2009"):
        paper_items("nobody")
    with pytest.raises(FlexarmError, match="no item 'fig-99' in 'chu': there are eq-18"):
        choose_items("chu", ["fig-99"])


@pytest.mark.campaign
def test_groups_of_items_that_are_computed_side_by_side_give_the_same_in_the_same_order() -> None:
    items = [*choose_items("theodore-1995", ["table-1"]), *choose_items("chu", ["table-1"])]
    said: list[str] = []
    one, two = reproduce(items), reproduce(items, workers=2, progress=said.append)
    assert [result.item for result in one] == [result.item for result in two] == items
    assert [result.found.statements for result in one] == [x.found.statements for x in two]
    assert len(said) == 2


@pytest.mark.campaign
def test_items_that_are_stopped_leave_no_process_behind() -> None:
    items = [*choose_items("theodore-1995", ["table-1"]), *choose_items("chu", ["table-1"])]

    def stop(said: str) -> None:
        raise KeyboardInterrupt(said)

    with pytest.raises(KeyboardInterrupt):
        reproduce(items, workers=2, progress=stop)
    assert not active_children()
