"""Theodore & Ghosal: counts, the lemma, lags and modes told apart by shape."""

import numpy as np
import pytest

from flexarm.io.sample import sample
from flexarm.links.base import Array
from flexarm.model import build
from flexarm.papers.base import Difference, Found, Item, Missing, Result, decide, verdict
from flexarm.papers.report import document
from flexarm.papers.theodore.items import equation_numbers, li_sankar, table_1, table_2
from flexarm.papers.theodore.loop import ORDER, SETTLES, loop, settled, tip_errors
from flexarm.papers.theodore.rates import FEW, TIMES, WITHIN, eigenvalues, frequencies
from flexarm.papers.theodore.written import nested, written_out
from flexarm.papers.theodore.response import deflections, lag
from flexarm.papers.theodore.theory import frequency_equation, lemma, overestimates
from flexarm.study.polynomials import Polynomial


def outcomes(found: Found) -> dict[str, str]:
    return {claim.says: claim.outcome for claim in found.claims}


def test_a_shifted_history_lags_by_its_shift() -> None:
    t = np.linspace(0.0, 1.0, 1001)
    first, second = (np.sin(20 * (t - shift)) for shift in (0.0, 2e-4))
    assert lag(t, first, second) == pytest.approx(2e-4, rel=1e-3)


def test_a_common_factor_is_multiplied_once() -> None:
    # 3 x y + 3 x z + 2
    entry: Polynomial = {((0, 1), (1, 1)): 3.0, ((0, 1), (2, 1)): 3.0, (): 2.0}
    assert written_out([entry]) == (4, 2)
    assert nested(entry) == (3, 2)


def test_finite_elements_have_2_m_nf_more_first_order_equations() -> None:
    found = equation_numbers()
    assert verdict(found) == "reproduced"
    (claim,) = [c for c in found.claims if "first-order equations finite" in c.says]
    assert "4 (4), 8 (8)" in claim.because


def test_that_a_count_is_not_negative_decides_nothing_about_li_and_sankar() -> None:
    found = li_sankar()
    (claim,) = [c for c in found.claims if "-48 multiplications" in c.says]
    assert not claim.measured
    # 481 operations of RR over the printed 573, both over the 93 of the formula
    assert found.difference.value == pytest.approx(1 - 481 / 573)


def test_the_lemma_is_exact_only_where_all_stiffness_is_overestimated_alike() -> None:
    model = build(sample("theodore-rrp"))
    q = np.zeros(model.size)
    q[[model.names.index(f"joint{k}") for k in (1, 2, 3)]] = np.pi, np.pi / 2, 1.0
    limits = overestimates(model, q)
    bound = limits["all alike"]
    assert bound == pytest.approx(0.1477, rel=1e-3)
    assert limits["link 2 alone"] < bound < limits["link 3 alone"]
    assert limits["first modes alone"] < 0.01 * bound


def test_the_document_has_what_is_missing_with_its_runs() -> None:
    missing = Missing("weight [kg]", "error [m]", ("none", 1.0), (0.1, 0.3), 0.2)
    found = Found((decide("small", False, "0.3 m"),), Difference(0.3, "m"), missing=(missing,))
    item = Item("theodore-1995", "fig-6", "a figure", "It is small.", lambda: found)
    (listed,) = document([Result(item, found, 1.0)])["items"]
    assert listed["missing"] == [
        {"datum": "weight [kg]", "outcome": "error [m]", "values": ["none", 1.0],
         "outcomes": [0.1, 0.3], "limit": 0.2, "matters": True, "decides": []}
    ]  # fmt: skip


def test_a_claim_that_fails_for_every_value_of_what_is_missing_is_a_difference() -> None:
    claim = decide("small", False, "0.3 m")
    for limit, expected in ((0.2, "not-reproducible"), (0.05, "differs")):
        missing = Missing("weight [kg]", "error [m]", ("none", 1.0), (0.1, 0.3), limit, ("small",))
        assert verdict(Found((claim,), Difference(0.3, "m"), missing=(missing,))) == expected


def test_what_the_paper_does_not_say_of_table_1_is_no_statement_of_it() -> None:
    found = table_1()
    assert [check.outcome for check in found.checks] == ["fails"]
    assert not [claim for claim in found.claims if "last digit" in claim.says]


def test_an_error_has_settled_once_it_does_not_leave_again() -> None:
    t = np.linspace(0.0, 0.5, 6)
    assert settled(t, 1e-5 * np.array([50, 5, 20, 5, 5, 5])) == pytest.approx(0.3)
    assert settled(t, 1e-5 * np.array([50, 5, 5, 5, 5, 20])) == np.inf


def test_three_ways_to_the_frequencies_are_drawn_with_their_errors() -> None:
    found = frequency_equation()
    curves = {each.label: each.y for each in found.figures[1].curves}
    assert list(curves) == ["root finding", "differential equation", "table look-up"]
    sizes = [float(y.max()) for y in curves.values()]
    assert sizes[0] < 1e-15 < sizes[1] < 1e-10 < 1e-5 < sizes[2] < 1e-3


@pytest.mark.campaign
def test_no_way_of_writing_gives_the_counts_of_table_2() -> None:
    found = table_2()
    assert verdict(found) == "differs"
    counts, fewer = found.missing
    assert counts.outcomes == pytest.approx((684, 88.7, 479, 203), abs=0.6)
    assert not counts.matters
    # fewer only if modes are multiplied out and elements cut to first order
    assert fewer.outcomes == pytest.approx((2.01, 1.13, 1.81, 0.493), abs=6e-3)
    assert outcomes(found)["modes take even more operations when a payload is considered"] == (
        "holds"
    )


@pytest.mark.campaign
def test_the_lemma_differs() -> None:
    found = lemma()
    assert verdict(found) == "differs"
    assert found.difference.value == pytest.approx(212.8, rel=1e-2)


@pytest.mark.campaign
def test_the_tip_comes_to_rest_within_a_tenth_of_a_millimetre_for_some_weights_only() -> None:
    found = tip_errors()
    assert verdict(found) == "differs"
    assert found.difference.value == pytest.approx(1.757, abs=0.01)
    assert [each.matters for each in found.missing] == [False, True]
    assert outcomes(found)[ORDER] == "fails"
    assert outcomes(found)[SETTLES] == "holds"
    # by the nonlinear closed loop, 40 rad/s
    assert found.missing[1].outcomes[2] == pytest.approx(settled(*_tip("modes")), abs=2e-3)
    assert settled(*_tip("elements")) == pytest.approx(0.728, abs=2e-3)


def _tip(kind: str) -> tuple[Array, Array]:
    return loop(kind).run.t, loop(kind).tip_error


@pytest.mark.campaign
def test_whether_elements_lag_in_link_3_depends_on_the_modes_of_link_2() -> None:
    two, three = deflections(2), deflections(3)
    assert verdict(two) == "differs"
    assert verdict(three) == "not-reproducible"
    assert max(two.missing[0].outcomes) < 0
    assert three.missing[0].outcomes == pytest.approx((0.1309, -0.0561), abs=5e-3)


@pytest.mark.campaign
def test_modes_of_both_models_are_paired_by_shape_in_every_posture() -> None:
    first, second = eigenvalues(1), eigenvalues(2)
    assert verdict(first) == verdict(second) == "differs"
    assert first.difference.value == pytest.approx(0.0214, abs=5e-4)
    # 1259.5 rad/s in elements beside 1585.1 in modes, at the end
    assert second.difference.value == pytest.approx(0.2054, abs=1e-3)
    assert outcomes(second)["they converge in the lower range"] == "holds"
    assert outcomes(first)[WITHIN] == "holds"
    assert outcomes(second)[WITHIN] == "fails"
    for found in (first, second):
        assert max(found.missing[0].outcomes) < 0  # lower somewhere, whatever link 2's modes see
        assert all(len(each.x) in (26, 51) for each in found.figures[1].curves)
    assert min(second.missing[2].outcomes) > 20


@pytest.mark.campaign
def test_elements_are_higher_than_as_many_modes_as_they_have_coordinates() -> None:
    few, many = frequencies("modes", counts=(4, 4), at=FEW), frequencies("elements", at=FEW)
    low, high = (np.sort(each.rates, axis=1)[:, :4] for each in (few, many))
    assert 0 < (high / low - 1).min() < (high / low - 1).max() < 0.02
    two = np.sort(frequencies("modes").rates, axis=1)[-1]
    assert two[3] / low[-1, 3] - 1 == pytest.approx(0.273, abs=2e-3)


@pytest.mark.campaign
def test_frequencies_of_link_3_begin_as_those_of_the_link_alone_with_its_payload() -> None:
    found = frequencies("modes")
    alone = 175.6187 * 2 * np.pi
    assert found.rates[0, found.of(3, 1)] == pytest.approx(alone, rel=0.06)
    assert found.rates.shape == (len(TIMES), 4)
