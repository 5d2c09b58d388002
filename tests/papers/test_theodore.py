"""Theodore & Ghosal: counts, the lemma, lags and modes told apart by shape."""

import numpy as np
import pytest

from flexarm.closed_forms.polynomials import Polynomial
from flexarm.control.stability import FrozenLoop
from flexarm.errors import FlexarmError
from flexarm_papers import choose_items, reproduce
from flexarm_papers.readings import Reading, Scope
from flexarm_papers.statements import EVERY
from flexarm_papers.theodore.admissible import ease
from flexarm_papers.theodore.counts import PRINTED_2, count, equation_numbers
from flexarm_papers.theodore.loop import ACROSS, DIRECTION, LINK_1, TIP_ERROR, settled
from flexarm_papers.theodore.rates import TIMES, frequencies
from flexarm_papers.theodore.response import lag, upright
from flexarm_papers.theodore.roots import frequency_equation
from flexarm_papers.theodore.theory import (
    SLIDES,
    STABLE,
    _eliminated,
    _move,
    _short,
    _still,
    equation_of,
    overestimates,
)
from flexarm_papers.theodore.written import nested, written_out
from tests.papers.computed import compute, statement


def test_a_shifted_history_lags_by_its_shift() -> None:
    t = np.linspace(0.0, 1.0, 1001)
    first, second = (np.sin(20 * (t - shift)) for shift in (0.0, 2e-4))
    assert lag(t, first, second) == pytest.approx(2e-4, rel=1e-3)


def test_what_is_said_of_one_run_has_the_same_link_1_in_all_parts() -> None:
    asked = Scope(only=((LINK_1.name, ACROSS),))
    tips = TIP_ERROR.readings(upright(asked))
    assert {each[LINK_1.name] for each in tips} == {next(iter(LINK_1.ways))}
    with pytest.raises(FlexarmError, match="nothing called 'link 1' is open"):
        reproduce(choose_items("theodore-1995", ["one-run"]), readings={LINK_1.name: ACROSS})


def test_a_common_factor_is_multiplied_once() -> None:
    # 3 x y + 3 x z + 2
    entry: Polynomial = {((0, 1), (1, 1)): 3.0, ((0, 1), (2, 1)): 3.0, (): 2.0}
    assert written_out([entry]) == (4, 2)
    assert nested(entry) == (3, 2)


def test_finite_elements_have_2_m_nf_more_first_order_equations() -> None:
    found = equation_numbers(Scope())
    assert all(each.verdict == EVERY for each in found.statements[:3])
    # 2 (4 m n_f - 2 m n_f) in all, half of them if equations of roots count as the modes'
    with_roots, without = statement(found, "first-order equations finite").tried
    assert (with_roots.value, without.value) == (0.0, 1.0)


def test_counts_of_the_report_are_those_of_the_page_of_closed_forms() -> None:
    multiplied = Reading((("angles of tips", "multiplied out"),))
    apart = Reading((*multiplied.taken, ("like terms joined within", "a body")))
    assert PRINTED_2["RR", "modes"] == (405, 168)
    assert count("RR", "modes", multiplied) == (421, 172)
    assert count("RR with payload", "modes", apart) == (924, 376)


@pytest.mark.campaign
def test_the_lemma_is_exact_only_where_all_stiffness_is_overestimated_alike() -> None:
    equation = equation_of(next(iter(DIRECTION.ways)))
    q, names = np.zeros(equation.model.size), equation.model.names
    q[[names.index(f"joint{k}") for k in (1, 2, 3)]] = np.pi, np.pi / 2, 1.0
    limits, forms, metric = overestimates(equation, q).values()
    bound = limits["all alike"]
    assert bound == pytest.approx(0.1477, rel=1e-3)
    assert limits["link 2 alone"] < bound < limits["link 3 alone"]
    assert limits["first modes alone"] == pytest.approx(0.0306 * bound, rel=2e-3)
    assert metric["all alike"] == pytest.approx(bound, rel=1e-9)
    # flutter, not divergence, is what an overestimated link 3 comes to first
    assert metric["link 3 alone"] == pytest.approx(0.6636 * bound, rel=1e-3)
    assert forms["all alike"] == pytest.approx(0.3841 * bound, rel=1e-3)
    assert (
        max(forms.values())
        == forms["second modes alone"]
        == pytest.approx(0.7037 * bound, rel=1e-3)
    )


def test_printed_closed_forms_are_not_all_shorter_than_a_recursion() -> None:
    efficient = statement(compute("theodore-1995", "li-sankar"), "most computationally efficient")
    values = {(x.reading["links of"], x.reading["links bend in"]): x.value for x in efficient.tried}
    # docs/operation-counts.md: RR with a payload in modes, RRR in elements
    assert values["modes", "one plane"] == pytest.approx((909 + 366) / (80 + 78))
    assert values["elements", "two planes"] == pytest.approx((592 + 237) / (469 + 357))


def test_eqs_49_and_50_are_what_the_law_of_eq_48_makes_of_eqs_27_and_28() -> None:
    assert _eliminated() < 1e-11


def test_a_straight_link_that_slides_along_itself_does_not_couple_with_its_bending() -> None:
    reading = Reading((("arm", SLIDES), ("links", "straight")))
    assert _short(reading, 0) == _short(reading, 1) == 1.0
    assert _short(reading.taking({"links": "bent by 1 cm"}), 0) == 0.0


@pytest.mark.campaign
def test_eqs_49_and_50_grow_from_the_same_overestimate_as_the_frozen_loop() -> None:
    motion = _move("none")
    end = motion.path.at(1.0)
    largest = FrozenLoop(motion.model).largest_error(end, kp=400.0, kd=40.0, allowed=0.1)
    assert _still("where it ends", STABLE.first) == pytest.approx(largest, rel=1e-4)


@pytest.mark.campaign
def test_the_lemma_is_not_necessary_for_every_overestimate() -> None:
    only = statement(compute("theodore-1995", "lemma"), "stable only if")
    values = {(x.reading["overestimated stiffness"], x.reading["gains G_p, G_v"],
               x.reading["damping of the links"]): x.value for x in only.tried}  # fmt: skip
    assert len(values) == 40
    assert max(x for (kind, *_), x in values.items() if kind == "all alike") < 1
    assert values["link 3 alone", "100 1/s^2, 5 1/s", "none"] > 10
    assert values["link 3 alone", "100 1/s^2, 5 1/s", "2 %"] > 10


@pytest.mark.campaign
def test_functions_of_elements_that_are_not_neighbours_are_orthogonal() -> None:
    near = statement(ease(Scope()), "nearly orthogonal")
    held = [each for each in near.tried if each.reading["nearly orthogonal"].startswith("those of")]
    assert [each.value for each in held] == pytest.approx([0.0] * 3, abs=1e-10)
    assert all(each.holds for each in held)


def test_an_error_has_settled_once_it_does_not_leave_again() -> None:
    t = np.linspace(0.0, 0.5, 6)
    assert settled(t, 1e-5 * np.array([50, 5, 20, 5, 5, 5])) == pytest.approx(0.3)
    assert settled(t, 1e-5 * np.array([50, 5, 5, 5, 5, 20])) == np.inf


def test_three_ways_to_the_frequencies_are_drawn_with_their_errors() -> None:
    found = frequency_equation(Scope())
    curves = {each.label: each.y for each in found.figures[1].curves}
    assert list(curves) == ["root finding", "differential equation", "table look-up"]
    sizes = [float(y.max()) for y in curves.values()]
    assert sizes[0] < 1e-15 < sizes[1] < 1e-10 < 1e-5 < sizes[2] < 1e-3


@pytest.mark.campaign
def test_elements_lag_a_little_with_a_mass_at_the_tip_of_link_2s_modes() -> None:
    reading = {"tip body of link 2's modes": "0.5131 kg, 0 kg m^2",
               "direction of link 3": "across link 2, alpha_2 = -90 deg"}  # fmt: skip
    for name, lag_ms in (("fig-7", 0.0827), ("fig-8", 0.323)):
        said = statement(compute("theodore-1995", name), "lags behind")
        both = {each.reading["a lag counts from"]: each for each in said.tried
                if reading.items() <= dict(each.reading.taken).items()}  # fmt: skip
        assert both["0.01 ms on"].holds, name
        assert both["0.01 ms on"].value == pytest.approx(lag_ms / 0.01, rel=0.01)
        assert not both["1 ms on, a line's width in the figure"].holds
        assert (len(said.tried), len(said.beside)) == (16, 14)


@pytest.mark.campaign
def test_elements_are_higher_out_of_the_plane_in_each_links_own_block() -> None:
    for name in ("fig-9", "fig-10"):
        said = statement(compute("theodore-1995", name), "always higher")
        held = [each.reading for each in said.tried if each.holds]
        assert {x["eigenvalues of"] for x in held} == {"each link's own block of the jacobian"}
        assert any(x["plane"].startswith("out of") for x in held), name


@pytest.mark.campaign
def test_frequencies_of_link_3_begin_as_those_of_the_link_alone_with_its_payload() -> None:
    found = frequencies("modes")
    alone = 175.6187 * 2 * np.pi
    assert found.rates[0, found.of(3, 1)] == pytest.approx(alone, rel=0.06)
    assert found.rates.shape == (len(TIMES), 4)


@pytest.mark.campaign
def test_modes_that_see_the_payload_have_the_exact_frequency() -> None:
    more = statement(ease(Scope()), "mass conditions")
    # of a clamped link with a payload they are exact: what is left is the error of 20 elements
    held = [each for each in more.tried if each.reading["clamped with"] == "the payload"]
    assert len(held) == 3
    assert max(each.value for each in held) < 1e-3
