"""Theodore & Ghosal: counts, the lemma, lags and modes told apart by shape."""

import numpy as np
import pytest

from flexarm.analysis.polynomials import Polynomial
from flexarm.io.sample import sample
from flexarm.model import build
from flexarm.papers.base import Difference, Found, Item, Missing, Result, decide, verdict
from flexarm.papers.report import document
from flexarm.papers.theodore import equation_numbers, li_sankar, table_2
from flexarm.papers.theodore_loop import tip_errors
from flexarm.papers.theodore_rates import TIMES, eigenvalues, frequencies
from flexarm.papers.theodore_readings import nested, written_out
from flexarm.papers.theodore_response import deflections, lag
from flexarm.papers.theodore_theory import lemma, overestimates


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
    assert found.difference.value == pytest.approx((337 + 144) / (44 + 49))


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
         "outcomes": [0.1, 0.3], "limit": 0.2, "matters": True}
    ]  # fmt: skip


def test_a_claim_that_fails_regardless_of_what_is_missing_decides() -> None:
    missing = Missing("weight [kg]", "error [m]", ("none", 1.0), (0.1, 0.3), 0.2)
    for regardless, expected in ((False, "not-reproducible"), (True, "differs")):
        claim = decide("small", False, "0.3 m", regardless=regardless)
        assert verdict(Found((claim,), Difference(0.3, "m"), missing=(missing,))) == expected


@pytest.mark.campaign
def test_what_is_missing_decides_table_2() -> None:
    found = table_2()
    assert verdict(found) == "not-reproducible"
    (missing,) = found.missing
    assert missing.outcomes == pytest.approx((1.499, 0.357, 0.888), abs=2e-3)


@pytest.mark.campaign
def test_the_lemma_differs() -> None:
    found = lemma()
    assert verdict(found) == "differs"
    assert found.difference.value == pytest.approx(212.8, rel=1e-2)


@pytest.mark.campaign
def test_the_tip_comes_to_rest_within_a_tenth_of_a_millimetre_for_some_weights_only() -> None:
    found = tip_errors()
    assert verdict(found) == "not-reproducible"
    assert found.difference.value == pytest.approx(1.757, abs=0.01)
    assert [each.matters for each in found.missing] == [False, True]
    # 2, 10 and 160 rad/s by runs of the nonlinear closed loop
    assert found.missing[1].outcomes[:2] == pytest.approx((2.54e-3, 3.54e-4), rel=0.02)
    assert found.missing[1].outcomes[3] == pytest.approx(4.6e-6, rel=0.05)


@pytest.mark.campaign
def test_whether_elements_lag_in_link_3_depends_on_the_modes_of_link_2() -> None:
    two, three = deflections(2), deflections(3)
    assert verdict(two) == "differs"
    assert verdict(three) == "not-reproducible"
    assert max(two.missing[0].outcomes) < 0
    assert three.missing[0].outcomes == pytest.approx((0.1309, -0.0561), abs=5e-3)


@pytest.mark.campaign
def test_modes_of_both_models_are_paired_by_shape() -> None:
    first, second = eigenvalues(1), eigenvalues(2)
    assert verdict(first) == "differs"
    assert verdict(second) == "not-reproducible"
    assert first.difference.value == pytest.approx(0.0214, abs=5e-4)
    # with frequencies alone the second mode of link 3 was paired with one 20 % away
    assert second.difference.value == pytest.approx(0.0383, abs=1e-3)
    assert outcomes(second)["they converge in the lower range"] == "holds"
    assert max(first.missing[0].outcomes) < 0 < max(second.missing[0].outcomes)


@pytest.mark.campaign
def test_frequencies_of_link_3_begin_as_those_of_the_link_alone_with_its_payload() -> None:
    found = frequencies("modes")
    alone = 175.6187 * 2 * np.pi
    assert found.rates[0, found.of(3, 1)] == pytest.approx(alone, rel=0.06)
    assert found.rates.shape == (len(TIMES), 4)
