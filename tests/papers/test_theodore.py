"""Theodore & Ghosal: counts, the lemma, lags, and modes named by their energy."""

import numpy as np
import pytest

from flexarm.closed_forms.polynomials import Polynomial
from flexarm.control.stability import FrozenLoop
from flexarm_papers.readings import Reading
from flexarm_papers.theodore.counts import PRINTED_2, count
from flexarm_papers.theodore.loop import RESPONSE, TIP, lag, settled
from flexarm_papers.theodore.rates import GRID, PLANES, _pairs, rates
from flexarm_papers.theodore.theory import (
    GAINS,
    _equation,
    _short,
    bound,
    eliminated,
    growth,
    motion,
    overestimates,
)
from flexarm_papers.theodore.written import nested, written_out
from tests.papers.computed import cases, compute, statement


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
    # 2 (4 m n_f - 2 m n_f) in all, half of them if equations of roots count as the modes'
    said = statement(compute("theodore-1995", "li-sankar"), "first-order equations finite")
    assert said.trials[0].value == 0.0
    assert said.trials[0].beside == (("without equations for the roots", 1.0),)


def test_counts_of_the_report_are_those_of_the_page_of_closed_forms() -> None:
    multiplied = Reading((("angles of tips", "multiplied out"),))
    apart = Reading((*multiplied.taken, ("like terms joined within", "a body")))
    assert PRINTED_2["RR", "modes"] == (405, 168)
    assert count("RR", "modes", multiplied) == (421, 172)
    # the printed 909 and 366 are nearest to this; orthogonal modes would take 924 and 376
    assert count("RR with payload", "modes", apart) == (1004, 407)


@pytest.mark.campaign
def test_two_cells_of_table_2_are_within_5_percent_in_some_reading() -> None:
    shares = {x.says.removeprefix("the count of "): x.share[0]
              for x in compute("theodore-1995", "table-2").statements[:10]}  # fmt: skip
    assert {name for name, held in shares.items() if held} == {
        "RR, modes", "RRP, elements",
    }  # fmt: skip


@pytest.mark.campaign
def test_the_lemma_is_exact_only_where_all_stiffness_is_overestimated_alike() -> None:
    q = motion().path.at(1.0)
    limits, forms = overestimates(_equation(), q).values()
    least = bound(q)
    assert least == pytest.approx(0.1477, rel=1e-3)
    assert limits["all stiffness"] == pytest.approx(least, rel=1e-6)
    assert limits["link 2 alone"] < least < limits["link 3 alone"]
    assert limits["first modes alone"] == pytest.approx(0.0306 * least, rel=2e-3)
    assert forms["all stiffness"] == pytest.approx(0.3841 * least, rel=1e-3)
    assert (
        max(forms.values())
        == forms["second modes alone"]
        == pytest.approx(0.7037 * least, rel=1e-3)
    )


@pytest.mark.campaign
def test_joints_faster_than_the_vibrations_are_stable_beyond_the_condition() -> None:
    # one mode, no G_v: (s^2 + w^2) (s^2 + G_p) = alpha H w^2 s^2 flutters from alpha H on of
    # (sqrt(G_p) / w - 1)^2, which is far above 1 for these joints
    w = 11143.4  # [rad/s], the highest where the motion begins
    assert growth(0.0, ((3 * w) ** 2, 0.0), 2 * bound(motion().path.at(0.0))) < 1e-9
    assert growth(0.0, (400.0, 0.0), 0.9 * bound(motion().path.at(0.0))) > 1.0


@pytest.mark.campaign
def test_the_undamped_closed_loop_grows_from_any_overestimate_on() -> None:
    for gains in GAINS.values():
        small, smaller = (growth(1.0, gains, x) for x in (1e-4, 1e-5))
        assert small / smaller == pytest.approx(10.0, rel=0.05)  # in proportion: none is allowed
        assert smaller > 0
    end, limit = motion().path.at(1.0), 0.1
    largest = FrozenLoop(motion().model).largest_error(end, kp=400.0, kd=40.0, allowed=limit)
    assert growth(1.0, (400.0, 40.0), largest) == pytest.approx(limit, rel=1e-3)


def test_printed_closed_forms_are_not_all_shorter_than_a_recursion() -> None:
    found = cases(compute("theodore-1995", "li-sankar"), "most computationally efficient")
    # docs/operation-counts.md: RR with a payload in modes
    assert found["RR with payload, modes"] == pytest.approx((909 + 366) / (80 + 78))


def test_eqs_49_and_50_are_what_the_law_of_eq_48_makes_of_eqs_27_and_28() -> None:
    assert eliminated() < 1e-11


def test_a_straight_link_that_slides_along_itself_does_not_couple_with_its_bending() -> None:
    assert _short("one prismatic link") == 1.0


def test_an_error_has_settled_once_it_does_not_leave_again() -> None:
    t = np.linspace(0.0, 0.5, 6)
    assert settled(t, 1e-5 * np.array([50, 5, 20, 5, 5, 5])) == pytest.approx(0.3)
    assert settled(t, 1e-5 * np.array([50, 5, 5, 5, 5, 20])) == np.inf


@pytest.mark.campaign
def test_elements_lag_a_little_with_a_mass_at_the_tip_of_link_2s_modes() -> None:
    reading = {TIP.name: "0.5131 kg, 0 kg m^2", "direction of link 3": "alpha_2 = -90 deg"}
    for name, lag_ms in (("fig-7", 0.0827), ("fig-8", 0.323)):
        said = statement(compute("theodore-1995", name), "lags behind")
        (value,) = [x.value for x in said.trials if dict(x.reading.taken) == reading]
        assert value == pytest.approx(lag_ms, rel=0.01), name
        assert len(said.trials) == len(RESPONSE.readings())


@pytest.mark.campaign
def test_modes_keep_the_link_with_most_of_their_energy_through_a_veering() -> None:
    away = GRID.first.taking({"plane": list(PLANES)[1]})
    found = rates("modes", away[TIP.name], away["plane"])
    second, third = found[2, 2], found[3, 1]
    assert np.ptp(second) / second.mean() < 0.25  # and 1.4 to 1.7 if branches are followed
    early = found[3, 1][0], found[2, 2][0]
    assert early == pytest.approx((1357.5, 1143.8), abs=0.1)
    assert third[10] < second[10]
    assert third[0] > second[0]  # they meet


@pytest.mark.campaign
def test_both_models_have_the_same_frequencies_where_branches_meet() -> None:
    at = GRID.first.taking({TIP.name: "0.5131 kg, 0 kg m^2"})
    off = [np.abs(b / a - 1).max() for m in (1, 2) for a, b in _pairs(at, m).values()]
    modes, elements = (
        rates("modes", at[TIP.name], at["plane"]),
        rates("elements", next(iter(TIP.ways)), at["plane"]),
    )
    named_apart = max(np.abs(elements[key] / modes[key] - 1).max() for key in modes)
    assert max(off) < 0.1 * named_apart  # branches exchange their names at other times
