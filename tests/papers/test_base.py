"""How a verdict follows from what was decided."""

from dataclasses import replace

import pytest

from flexarm.errors import FlexarmError
from flexarm.papers.base import (
    Claim,
    Difference,
    Found,
    Missing,
    decide,
    reason,
    undecidable,
    verdict,
)

NONE = Difference(None, "nothing")
HOLDS = decide("a number", True, "1 < 2")
FAILS = decide("another", False, "2 < 1")
OPEN = undecidable("a third", "the gains")
MATTERS = Missing("gain [1]", "error [m]", (1.0, 2.0), (0.1, 0.2))
IDLE = Missing("gain [1]", "error [m]", (1.0, 2.0), (0.1, 0.1001))


def found(*claims: Claim, missing: tuple[Missing, ...] = ()) -> Found:
    return Found(claims, NONE, missing=missing)


def test_reproduced_needs_every_decidable_statement_to_hold() -> None:
    assert verdict(found(HOLDS)) == "reproduced"
    assert verdict(found(HOLDS, OPEN)) == "reproduced"
    assert verdict(found(HOLDS, FAILS)) == "differs"


def test_reproduced_needs_a_number() -> None:
    words = decide("it looks good", True, "yes", measured=False)
    with pytest.raises(FlexarmError, match="decides nothing"):
        verdict(found(words))


def test_not_reproducible_needs_a_datum_on_which_the_outcome_depends() -> None:
    assert verdict(found(OPEN, missing=(MATTERS,))) == "not-reproducible"
    assert verdict(found(OPEN, HOLDS, missing=(MATTERS,))) == "reproduced"
    with pytest.raises(FlexarmError, match="decides nothing"):
        verdict(found(OPEN, missing=(IDLE,)))


def test_a_failing_claim_is_excused_only_by_a_datum_that_decides_it() -> None:
    decides = Missing("gain [1]", "error [m]", (1.0, 2.0), (0.1, 0.2), 0.15, ("another",))
    never = replace(decides, limit=0.3)
    assert verdict(found(FAILS, missing=(decides,))) == "not-reproducible"
    assert verdict(found(FAILS, missing=(MATTERS,))) == "differs"  # it decides something else
    assert verdict(found(FAILS, missing=(never,))) == "differs"  # it fails for every value
    other = decide("a fourth", False, "3 < 1")
    assert verdict(found(FAILS, other, missing=(decides,))) == "differs"
    with pytest.raises(FlexarmError, match="no claim: another"):
        verdict(found(HOLDS, missing=(decides,)))
    with pytest.raises(FlexarmError, match="no limit"):
        replace(decides, limit=None)


def test_own_checks_decide_nothing() -> None:
    assert verdict(replace(found(HOLDS), checks=(FAILS,))) == "reproduced"


def test_a_datum_decides_only_if_outcomes_lie_on_both_sides_of_the_limit() -> None:
    sides = ((0.1, 0.2), (0.3, 0.6))
    matters = [Missing("x", "y", (1.0, 2.0), each, 0.15).matters for each in sides]
    assert matters == [True, False]


def test_the_reason_has_the_numbers() -> None:
    assert "2 < 1" in reason(found(HOLDS, FAILS))
    assert "from 0.1 to 0.2 over gain [1] = 1; 2" in reason(found(OPEN, missing=(MATTERS,)))
    assert "missing: the gains" in reason(found(HOLDS, OPEN))
