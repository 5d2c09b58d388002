"""How a verdict follows from the numbers of readings and cases."""

import math

import pytest

from flexarm_papers.readings import Choice, Grid, Reading, every, over, ways
from flexarm_papers.verdicts import (
    HISTORY,
    Limit,
    Statement,
    Verdict,
    claim,
    corrected,
    general,
    measured,
    search,
    untested,
)

GRID = every(ways("damping", "none", "1 %", "2 %"), ways("plane", "y", "z"))
BELOW = claim("distance", high=10.0, unit="%")


def by(none: float, one: float, two: float, z: float = 0.0) -> Statement:
    each = {"none": none, "1 %": one, "2 %": two}
    return search("close", "Fig. 1", BELOW, GRID.readings(),
                  lambda x: each[x["damping"]] + z * (x["plane"] == "z"))  # fmt: skip


def test_the_share_of_readings_that_hold_decides() -> None:
    assert by(1, 2, 3).verdict is Verdict.REPRODUCED
    assert by(20, 30, 40).verdict is Verdict.REFUTED
    assert by(20, 2, 3).verdict is Verdict.DEPENDS
    assert by(20, 2, 3).share == (4, 6)
    assert untested("close", "Fig. 1", "the curves").verdict is Verdict.UNTESTED
    assert measured("close", "Fig. 1", HISTORY, 19.9).verdict is Verdict.REPRODUCED
    assert measured("close", "Fig. 1", HISTORY, 20.1).verdict is Verdict.REFUTED


def test_a_general_claim_with_a_counterexample_is_not_reproduced() -> None:
    assert general("all", "", BELOW, {"a": 1.0, "b": 2.0}).verdict is Verdict.REPRODUCED
    found = general("all", "", BELOW, {"a": 1.0, "b": 30.0, "c": 20.0})
    assert found.verdict is Verdict.REFUTED
    assert found.sentence == (
        "Not reproduced: fails in 2 of 3 cases, such as b: distance 30 %, below 10 % needed."
    )


def test_a_misprint_counts_only_if_the_statement_fails_as_printed() -> None:
    def found(as_printed: float, right: float) -> Verdict:
        return corrected("n", "", BELOW, "m = 3", as_printed=as_printed, right=right).verdict

    assert found(80.0, 0.1) is Verdict.CORRECTED
    assert found(0.1, 0.1) is Verdict.REPRODUCED
    assert found(80.0, 80.0) is Verdict.REFUTED


def test_a_sentence_names_the_choice_that_matters_most_with_its_shares() -> None:
    assert by(20, 2, 3).sentence == (
        "Holds in 4 of 6 readings, those with damping = 1 % or 2 %. Found: distance 2 to 20 %, "
        "below 10 % needed."
    )
    often = "most often with damping = 1 % (2 of 2), least with none (0 of 2)"
    assert often in by(20, 2, 9, z=5.0).sentence
    assert ", only with damping: 1 %, plane: y. Found" in by(20, 8, 40, z=5.0).sentence
    assert ", not with damping: 2 %, plane: z. Found" in by(1, 2, 8, z=5.0).sentence
    near = by(20, 12, 40).sentence
    assert "in any of 6 readings, nearest: distance 12 %" in near


def test_the_choice_whose_best_way_holds_most_often_decides() -> None:
    grid = every(ways("a", "1", "2"), ways("b", "1", "2", "3", "4"))
    held = {("1", "1"), ("2", "1"), ("1", "2"), ("1", "3")}
    found = search("close", "", claim("x", low=0.5), grid.readings(),
                   lambda x: float((x["a"], x["b"]) in held))  # fmt: skip
    assert found.decisive is not None
    # a = 1 holds in 3 of 4 and a = 2 in 1 of 4, but b = 1 in 2 of 2
    assert found.decisive[0] == "b"


def test_a_run_that_failed_decides_nothing_and_one_that_diverged_does() -> None:
    assert by(math.nan, 2, 3).share == (4, 4)
    assert by(math.nan, 2, 3).sentence.endswith("below 10 % needed. In 2 more a run failed.")
    assert by(math.nan, math.nan, math.nan).verdict is Verdict.UNTESTED
    assert by(math.inf, 2, 3).verdict is Verdict.DEPENDS
    diverges = claim("growth", low=2.0, unit="times")
    assert measured("diverges", "", diverges, math.inf).verdict is Verdict.REPRODUCED


def test_numbers_are_written_so_that_they_differ_from_their_limits() -> None:
    limit = BELOW.limit
    assert [limit.text(x) for x in (10.0, 10.0004, 9.9996, 3.14159, math.inf)] == [
        "10 %", "10.0004 %", "9.9996 %", "3.14 %", "infinite",
    ]  # fmt: skip
    assert limit.miss(5.0) < 0 < limit.miss(12.0) < limit.miss(40.0) < limit.miss(math.nan)


@pytest.mark.parametrize(
    ("limit", "text"),
    [(Limit(high=5.0, unit="%"), "below 5 %"), (Limit(low=1.0, unit="m"), "above 1 m"),
     (Limit(4.0, 16.0, "mm"), "between 4 and 16 mm")],
)  # fmt: skip
def test_a_limit_says_what_is_needed(limit: Limit, text: str) -> None:
    assert str(limit) == text


def test_readings_vary_one_choice_at_a_time_or_some_together() -> None:
    assert len(GRID.readings()) == 6
    assert len(Grid(GRID.choices).readings()) == 4
    assert Grid().readings() == [Reading()]


def test_a_reading_changes_the_model_file() -> None:
    grid = every(over("mass", "payload.mass", (1.0, 2.0), "{:g} kg"),
                 Choice("gravity", {"on": {}, "off": {"gravity": [0, 0, 0]}}))  # fmt: skip
    last = grid.readings()[-1]
    assert grid.changes(last) == {"payload.mass": 2.0, "gravity": [0, 0, 0]}
