"""How a verdict follows from what came out for each reading."""

import math
from dataclasses import replace

import pytest

from flexarm_papers.readings import Choice, Grid, Reading, Scope, over, ways
from flexarm_papers.statements import (
    EVERY,
    HANGS,
    MAY,
    NEVER,
    NOTHING,
    SOME,
    Limit,
    Statement,
    condition_text,
    decide,
    search,
    together,
    undecidable,
)

GRID = Grid((ways("damping", "none", "1 %", "2 %"), ways("plane", "y", "z")))
BELOW = Limit(high=10.0, unit="%")


def searched(values: dict[tuple[str, str], float]) -> Statement:
    readings = GRID.readings(Scope(full=True))
    return search("close", readings, lambda x: values[x["damping"], x["plane"]], BELOW, "distance")


def by(none: float, one: float, two: float, z: float = 0.0) -> Statement:
    each = {"none": none, "1 %": one, "2 %": two}
    return searched({(d, p): x + (z if p == "z" else 0) for d, x in each.items() for p in "yz"})


def test_the_same_rule_decides_what_holds_and_what_does_not() -> None:
    assert by(1, 2, 3).verdict == EVERY
    assert by(20, 30, 40).verdict == NEVER
    assert by(20, 2, 3).verdict == SOME
    assert undecidable("close", "the readings").verdict == NOTHING
    assert decide("so", True, "yes").verdict == EVERY
    assert decide("so", False, "no").verdict == NEVER


def test_what_may_be_and_is_for_some_readings_is_neither_so_for_all_nor_contradicted() -> None:
    def may(*values: float) -> Statement:
        each = dict(zip(GRID.choices[0].ways, values, strict=True))
        return search("close", Grid(GRID.choices[:1]).readings(Scope()),
                      lambda x: each[x["damping"]], BELOW, "distance", may=True)  # fmt: skip

    found = [may(*x).verdict for x in ((1, 3, 2), (20, 30, 2), (20, 30, 40))]
    assert found == [EVERY, MAY, NEVER]
    assert may(20, 3, 2).sentence == (
        "May be, and is if damping = 1 % or 2 % (2 of 2 tried); 2 of 3 readings in all."
    )
    assert may(20, 3, 2).conditions == [{"damping": ("1 %", "2 %")}]
    assert may(20, 30, 40).sentence.startswith("Contradicted by every reading (3 tried, nearest")


@pytest.mark.parametrize(
    ("values", "ends"),
    [((20, 10.4, 40), "10.4 %, below 10 % needed; it holds for 2 of 6 by a limit a tenth looser."),
     ((1, 9.6, 3), "every reading (6 tried); it holds for 4 of 6 by a limit a tenth stricter."),
     ((20, 9.6, 40), "2 of 6 readings in all; it holds for 0 of 6 by a limit a tenth stricter."),
     ((1, 10.4, 9.6), "4 of 6 readings in all; it holds for 6 of 6 by a limit a tenth looser and "
      "for 2 of 6 by a limit a tenth stricter.")],
)  # fmt: skip
def test_what_another_limit_would_decide_otherwise_hangs_on_ours(
    values: tuple[float, float, float], ends: str
) -> None:
    found = by(*values)
    assert found.verdict == HANGS
    assert found.sentence.startswith("Hangs on our limit: ")
    assert found.sentence.endswith(ends)
    assert not by(*(x / 2 if x < 11 else 2 * x for x in values)).sentence.startswith("Hangs")
    assert together("both", (found, by(1, 2, 3))).verdict == HANGS
    assert together("both", (found, by(20, 30, 40))).verdict == NEVER


def test_some_readings_near_a_limit_change_nothing_where_others_hold_and_fail_for_sure() -> None:
    assert by(1, 9.6, 40).verdict == by(1, 10.4, 40).verdict == SOME


def test_limits_are_moved_by_a_tenth_and_ratios_from_one() -> None:
    assert BELOW.moved(0.1) == Limit(high=11.0, unit="%")
    assert Limit(low=1.2, unit="times").moved(-0.1).low == pytest.approx(1.22)
    for same in (Limit(low=1.0, unit="times"), Limit(low=0.0, unit="%")):  # more, less
        assert same.moved(0.1) == same
    both = Limit(4.0, 16.0, "mm").moved(0.1)
    assert (both.low, both.high) == pytest.approx((3.6, 17.6))


def test_parts_that_hold_in_different_readings_do_not_hold_together() -> None:
    # the first with 1 % or 2 %, the second in the plane y, the third, of other choices, with more
    one, other = by(20, 2, 3), by(1, 2, 3, z=20)
    more = Grid((GRID.choices[0], ways("start", "at rest", "moving")))
    third = search("close", more.readings(Scope(full=True)), lambda x: 20.0 * (
        (x["damping"], x["start"]) != ("2 %", "moving")), BELOW, "distance")  # fmt: skip
    both = [x.reading.taken for x in together("both", (one, other)).tried if x.holds]
    assert both == [(("damping", x), ("plane", "y")) for x in ("1 %", "2 %")]
    (all_,) = together("all", (one, other, third)).conditions
    assert all_ == {"damping": ("2 %",), "plane": ("y",), "start": ("moving",)}
    parts = [replace(x, says=y) for x, y in ((by(20, 2, 20), "one"), (by(2, 20, 20), "two"))]
    apart = together("both", parts)
    assert apart.verdict == NEVER
    assert "nearest with damping: none, plane: y): 1 failing parts of 2 (one), b" in apart.sentence


def test_a_number_beside_a_limit_is_written_so_that_it_differs() -> None:
    assert [BELOW.text(x) for x in (10.0, 10.0004, 9.9996, 3.14159)] == [
        "10 %", "10.0004 %", "9.9996 %", "3.14 %",
    ]  # fmt: skip


def test_a_condition_names_as_few_choices_as_decide() -> None:
    assert by(20, 2, 3).conditions == [{"damping": ("1 %", "2 %")}]
    for decided in (by(1, 2, 3), by(20, 30, 40), undecidable("close", "the readings")):
        assert decided.conditions == []
    assert "Holds if damping = 1 % or 2 % (4 of 4 tried); 4 of 6 readings" in by(20, 2, 3).sentence
    both = by(20, 8, 20, z=5)  # 1 % in the plane y alone
    assert both.conditions == [{"damping": ("1 %",), "plane": ("y",)}]


def test_a_comma_ends_ways_that_are_several() -> None:
    assert condition_text({"damping": ("1 %",), "plane": ("y",)}) == "damping = 1 % and plane = y"
    several = condition_text({"damping": ("1 %", "2 %"), "plane": ("y",)})
    assert several == "damping = 1 % or 2 %, and plane = y"


def test_ways_that_differ_in_one_choice_are_named_together() -> None:
    grid = Grid((*GRID.choices, ways("shown", "all", "some")))
    held = {("1 %", "y"), ("2 %", "y")}
    readings = grid.readings(Scope(full=True))
    found = search("close", readings, lambda x: 20.0 * ((x["damping"], x["plane"]) not in held),
                   BELOW, "")  # fmt: skip
    assert found.conditions[0] == {"damping": ("1 %", "2 %"), "plane": ("y",)}


def test_a_way_that_was_tried_once_counts_beside_one_that_was_tried_more() -> None:
    readings = GRID.readings(Scope())  # damping with y, none with z
    found = search("close", readings, lambda x: 20.0 * (x["damping"] == "2 %"), BELOW, "")
    assert found.conditions[0] == {"damping": ("none", "1 %")}
    assert "3 of 4 readings in all (6 combinations)" in found.sentence


def test_what_fails_is_named_where_that_is_shorter() -> None:
    found = by(1, 2, 8, z=5).sentence
    assert found.startswith("Holds unless damping = 2 % and plane = z (1 of 1 tried); 5 of 6")


def test_readings_that_hold_alone_are_named_whole() -> None:
    # one at a time: only the first of a choice is tried beside the ways of the other
    readings = GRID.readings(Scope())
    found = search("close", readings, lambda x: 1.0 if x["plane"] == "z" else 20.0, BELOW, "")
    assert found.conditions == [{"damping": ("none",), "plane": ("z",)}]
    found = search("close", readings, lambda x: 20.0 if x["damping"] == "none" else 1.0, BELOW, "")
    assert found.conditions == [{"damping": (d,), "plane": ("y",)} for d in ("1 %", "2 %")]


def test_a_contradiction_names_how_many_were_tried_and_the_nearest_miss() -> None:
    sentence = by(20, 12, 40).sentence
    assert "6 tried, nearest with damping: 1 %, plane: y" in sentence
    assert "12 %, below 10 % needed" in sentence


def test_what_is_no_number_decides_nothing_and_is_never_near() -> None:
    found = by(math.nan, 12, 40)
    assert found.verdict == NEVER
    assert "4 tried" in found.sentence
    assert "12 %" in found.sentence
    assert found.note == "2 runs failed, which decides nothing."
    assert by(math.nan, 2, 3).verdict == EVERY
    failed = by(math.nan, math.nan, math.nan)
    assert failed.verdict == NOTHING
    assert "not given: a run that ends." in failed.sentence
    assert BELOW.miss(5.0) < 0 < BELOW.miss(12.0) < BELOW.miss(40.0) < BELOW.miss(math.nan)


def test_what_the_paper_rules_out_is_tried_beside_and_decides_only_if_asked_for() -> None:
    against = dict.fromkeys(("1 %", "2 %"), "eq. 7")
    grid = Grid((ways("damping", "none", "1 %", "2 %", against=against), GRID.choices[1]))
    off = {"none": 20.0, "1 %": 12.0, "2 %": 1.0}

    def found(scope: Scope) -> Statement:
        return search("close", grid.readings(scope), lambda x: off[x["damping"]], BELOW, "distance")

    every = found(Scope(full=True))
    assert (every.verdict, len(every.tried), len(every.beside)) == (NEVER, 2, 4)
    assert every.note == "Not as the paper has it (eq. 7): 2 of 4 hold, if damping = 2 %."
    assert every.ours == "distance: 20 %"
    asked = found(Scope(only=(("damping", "2 %"),)))
    assert (asked.verdict, asked.note) == (EVERY, "")


def test_where_all_readings_are_ruled_out_no_run_is_said_to_have_failed() -> None:
    against = {"1 %": "eq. 7"}
    readings = Grid((ways("damping", "none", "1 %", against=against),)).readings(Scope())
    ruled_out = [each for each in readings if each.against]
    found = search("close", ruled_out, lambda x: 1.0, BELOW, "distance")
    assert (found.verdict, len(found.beside)) == (NOTHING, 1)
    assert found.sentence.endswith("not given: a reading that the paper does not rule out.")
    assert found.note == "Not as the paper has it (eq. 7): 1 of 1 hold."


def test_what_is_infinite_does_not_hold() -> None:
    found = by(math.inf, 2, math.nan)
    assert found.verdict == SOME
    assert {each.outcome for each in found.tried} == {"holds", "does not hold"}
    assert {each.outcome for each in found.beside} == {"not decided"}
    never = by(math.inf, math.inf, math.inf)
    assert never.verdict == NEVER
    assert never.ours == "infinite"
    assert never.sentence.endswith("infinite, below 10 % needed.")


@pytest.mark.parametrize(
    ("limit", "text"),
    [(Limit(high=5.0, unit="%"), "below 5 %"), (Limit(low=1.0, unit="m"), "above 1 m"),
     (Limit(4.0, 16.0, "mm"), "between 4 and 16 mm")],
)  # fmt: skip
def test_a_limit_says_what_is_needed(limit: Limit, text: str) -> None:
    assert str(limit) == text


def test_the_sample_varies_one_choice_at_a_time_and_some_together() -> None:
    assert len(GRID.readings(Scope())) == 1 + 2 + 1
    assert len(GRID.readings(Scope(full=True))) == 6
    assert len(Grid(GRID.choices, (("damping", "plane"),)).readings(Scope())) == 6
    assert Grid(()).readings(Scope()) == [Reading()]


def test_a_reading_that_is_asked_for_is_the_only_one_of_its_choice() -> None:
    scope = Scope(only=(("damping", "1 %"), ("elsewhere", "x")))
    assert {x["damping"] for x in GRID.readings(scope)} == {"1 %"}
    assert {x["plane"] for x in GRID.readings(scope)} == {"y", "z"}


def test_a_reading_changes_the_model_file() -> None:
    grid = Grid((over("mass", "payload.mass", (1.0, 2.0), "{:g} kg"),
                 Choice("gravity", {"on": {}, "off": {"gravity": [0, 0, 0]}})))  # fmt: skip
    last = grid.readings(Scope(full=True))[-1]
    assert grid.changes(last) == {"payload.mass": 2.0, "gravity": [0, 0, 0]}
