"""Statements of the papers against their verdicts; the slow ones belong to the campaign."""

from multiprocessing import active_children

import pytest

from flexarm.errors import FlexarmError
from flexarm_papers import PAPERS, choose_items, paper_items, reproduce
from flexarm_papers.base import Result, totals
from flexarm_papers.readings import Scope
from flexarm_papers.statements import VERDICTS
from tests.papers.computed import check, compute, statement

# Verdicts of an item's statements: e every reading, m may be and is for some, i holds if, h hangs
# on our limit, n never, - nothing to decide.
EXPECTED: dict[str, dict[str, str]] = {
    "korayem-2009": {
        "table-1": "iini", "table-2": "iiiii-", "identities": "eeeeeie-ii----e",
        "tip-rotation": "ie",
        "fig-4": "e", "fig-5": "e", "fig-6": "e", "fig-7": "e", "fig-8": "i", "fig-9": "i",
        "fig-10": "i", "fig-11": "i", "fig-12": "i", "fig-13": "i", "fig-14": "i", "fig-15": "i",
        "figures": "i-", "more-modes": "i", "vibration": "h-",
    },
    "graves-1989": {
        "cantilever": "e-", "shuttle-arm": "eiie-", "compensation": "eieiie", "jacobian": "h",
        "transposes": "iie",
        "christoffel": "e", "rotation-limit": "ee",
    },
    "theodore-1995": {
        "table-1": "iiiiee", "table-2": "i----------ii-i", "equation-numbers": "eeei-",
        "li-sankar": "ein-",
        "frequency-equation": "eeemeiem-", "ease-of-modelling": "iiie--eeei", "ranks": "iiieeei",
        "lemma": "eiimiin", "fig-4": "ee", "fig-5": "e", "closed-loop": "eei", "fig-6": "ii",
        "fig-7": "ein", "fig-8": "ein", "fig-9": "iiiiie", "fig-10": "iiiiie", "one-run": "ihnin",
        "cpu": "e",
    },
    "chu": {
        "fig-6": "e", "fig-7": "i", "fig-8": "i", "parameters": "i", "fig-12": "i", "fig-13": "i",
        "fig-14": "i", "fig-15": "i", "figures": "ii",
        "fig-19": "-", "fig-20": "-", "fig-21": "-", "fig-22": "-",
        "cost": "ie", "deficiency": "eii", "table-1": "eiiiie--",
    },
    "chen-2012": {
        "fig-2a": "i", "fig-2b": "eii", "critical-speed": "ei",
        "fig-4": "ihi--e", "fig-5": "i-i", "longitudinal": "i-i", "chordwise": "i-i",
        "figures": "i", "offset": "eeii---iieie", "symmetry": "e", "frequency-ratios": "e",
    },
}  # fmt: skip
MARKS = dict(zip(VERDICTS, "emihn-", strict=True))
# A fixed sample in the plain run.
QUICK = {
    ("korayem-2009", "table-2"), ("graves-1989", "cantilever"), ("theodore-1995", "table-1"),
    ("theodore-1995", "frequency-equation"), ("graves-1989", "transposes"), ("chu", "fig-19"),
    ("chen-2012", "symmetry"), ("chen-2012", "frequency-ratios"),
}  # fmt: skip
CASES = [(paper, name) for paper, names in EXPECTED.items() for name in names]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("paper", "name"),
    [pytest.param(*key, marks=[] if key in QUICK else [pytest.mark.campaign]) for key in CASES],
)
def test_statements_have_the_verdicts_that_their_readings_call_for(paper: str, name: str) -> None:
    found = compute(paper, name)
    (item,) = choose_items(paper, [name])
    open_ = {each.name for each in item.grid.choices}
    named = {choice for each in found.statements for x in each.conditions for choice in x}
    assert named <= open_  # so that the command that shows a condition can be given
    said = [each for _, each in Result(item, found, 0.0).said]  # each has its place
    assert "".join(MARKS[each.verdict] for each in said) == EXPECTED[paper][name]


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("paper", "name"), [("korayem-2009", "fig-8"), ("chu", "fig-14"), ("chen-2012", "fig-2b")]
)
def test_what_a_sample_of_readings_says_is_what_all_of_them_say(paper: str, name: str) -> None:
    (item,) = choose_items(paper, [name])
    some, every = item.compute(Scope()), item.compute(Scope(full=True))
    for one, other in zip(some.statements, every.statements, strict=True):
        assert one.verdict == other.verdict
        tried = {each.reading: each.holds for each in other.tried}
        assert all(tried[each.reading] == each.holds for each in one.tried)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_item_is_held_to_its_verdicts(paper: str) -> None:
    assert [item.name for item in paper_items(paper)] == list(EXPECTED[paper])
    assert all(item.paper == paper for item in paper_items(paper))


def test_table_2_of_korayem_prints_two_modes_under_three() -> None:
    found = compute("korayem-2009", "table-2")
    right = {"formulas of Table 2": ("a factor m less in two terms of each formula",)}
    assert statement(found, "n = 3").conditions == [right]
    assert statement(found, "n = 6").conditions == [
        {**right, "number of modes of the column headed m = 3": ("2",)}
    ]
    assert "190 of 308" in found.because
    assert "0 of 20 (up to 6 links, all flexible" in found.because
    assert (
        "smallest is n = 4, n_f = 1, m = 1; with all links flexible it is n = 10" in found.because
    )
    rows = found.tables[0].rows
    assert rows[3][2:] == ("19557 M, 18332 A", "26508 M, 26966 A", "19557 M, 18332 A")


@pytest.mark.campaign
def test_frequencies_of_korayems_arm_depend_on_the_equations_that_1_plus_skew_is_put_into() -> None:
    rows = compute("korayem-2009", "tip-rotation").tables[0].rows
    found = {row[0]: [float(x) for x in row[1:]] for row in rows}
    exact = pytest.approx([2.680, 7.187, 227.444, 397.572], abs=1e-3)
    assert found["exact"] == exact
    assert found["equations of the paper, E = 1 + skew"] == exact
    assert found["Lagrange with E = 1 + skew"][2:] == pytest.approx([225.977, 397.071], abs=1e-3)


def test_table_1_of_theodore_is_in_rad_per_s_with_five_wrong_last_digits() -> None:
    found = compute("theodore-1995", "table-1")
    said = statement(found, "the exact")
    assert said.conditions == [{"unit of the column headed Hz": ("rad/s",)}]
    because = check(found, "last digit").because
    assert because.startswith("13 of 18 are")
    assert "mode 1 with 3 elements: 208.658" in because


def test_an_item_is_found_by_the_name_that_it_had() -> None:
    names = ["axial-stiffness", "fig-2a"]
    assert [item.name for item in choose_items("chen-2012", names)] == ["fig-2a", "fig-2b"]
    assert [item.name for item in choose_items(None, names[:1])] == ["fig-2b"]


def test_unknown_papers_items_and_readings_are_refused_with_what_there_is() -> None:
    with pytest.raises(FlexarmError, match="there are korayem-2009"):
        paper_items("nobody")
    with pytest.raises(FlexarmError, match="no item 'fig-99' in 'chu': there are fig-6"):
        choose_items("chu", ["fig-99"])
    with pytest.raises(FlexarmError, match="no item 'axial-stiffness' in 'chu'"):
        choose_items("chu", ["axial-stiffness"])
    items = choose_items("theodore-1995", ["table-1"])
    with pytest.raises(FlexarmError, match=r"nothing called 'damping' is open .* unit of the"):
        reproduce(items, readings={"damping": "1 %"})
    with pytest.raises(FlexarmError, match=r"no reading 'km' of .*: there are"):
        reproduce(items, readings={"unit of the column headed Hz": "km"})


def test_a_reading_that_is_asked_for_decides_alone() -> None:
    items = choose_items("theodore-1995", ["table-1"])
    (result,) = reproduce(items, readings={"unit of the column headed Hz": "rad/s"})
    assert [len(each.tried) for each in result.found.statements] == [1] * 6
    assert totals([result])["holds for every reading"] == 6


@pytest.mark.campaign
def test_papers_that_are_computed_side_by_side_give_the_same_in_the_same_order() -> None:
    items = [*choose_items("theodore-1995", ["table-1"]), *choose_items("chu", ["table-1"])]
    said: list[str] = []
    one, two = reproduce(items), reproduce(items, workers=2, progress=said.append)
    assert [result.item for result in one] == [result.item for result in two] == items
    assert [result.found.statements for result in one] == [x.found.statements for x in two]
    assert len(said) == 2


@pytest.mark.campaign
def test_papers_that_are_stopped_leave_no_process_behind() -> None:
    items = [*choose_items("theodore-1995", ["table-1"]), *choose_items("chu", ["table-1"])]

    def stop(said: str) -> None:
        raise KeyboardInterrupt(said)

    with pytest.raises(KeyboardInterrupt):
        reproduce(items, workers=2, progress=stop)
    assert not active_children()
