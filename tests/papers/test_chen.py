"""Chen, Zhang & Liu 2012: the rotating link in closed form, and the fall from rest."""

import casadi as ca
import numpy as np
import pytest

from flexarm.linear.equilibrium import equilibrium
from flexarm.mechanics.kinematics import tip_section
from flexarm.model import build
from flexarm_papers import choose_items
from flexarm_papers.base import Found
from flexarm_papers.chen.fall import RANGE, RANGES, SHARES, Pair, _ratio
from flexarm_papers.chen.items import MOTION, SPIN_UPS, STRETCH, UNDEFORMED, mean_strain
from flexarm_papers.chen.offset import TORSION, _without_eq_11
from flexarm_papers.readings import Reading, Scope
from flexarm_papers.runs import changed
from flexarm_papers.statements import NOTHING
from tests.papers import computed
from tests.papers.computed import check, statement


def compute(name: str) -> Found:
    return computed.compute("chen-2012", name)


@pytest.mark.campaign
def test_the_unstiffened_link_is_unstable_above_its_first_frequency() -> None:
    assert "20.3735 and 20.3735" in check(compute("critical-speed"), "critical speed is").because


@pytest.mark.campaign
def test_the_papers_equations_stiffen_a_link_alone_and_not_one_with_another_beyond() -> None:
    one, two = statement(compute("critical-speed"), "stiffening effects are included").tried
    assert one.holds
    assert one.value == pytest.approx(100.0, abs=1e-3)
    # at 10 rad/s the square goes from -100 to +11.11 1/s^2 in all, and to -90.84 by the paper's
    assert not two.holds
    assert two.value == pytest.approx(100 * (100 - 90.843) / 111.113, rel=1e-3)


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["fig-2a", "fig-2b"])
def test_a_link_that_does_not_move_decides_nothing(name: str) -> None:
    if name == "fig-2a":
        assert min(x.value for x in compute(name).statements[0].tried) > 0.1
    (item,) = choose_items("chen-2012", [name])
    still = ((MOTION, UNDEFORMED), (STRETCH, "none"))
    assert {x.verdict for x in item.compute(Scope(only=still)).statements} == {NOTHING}


@pytest.mark.parametrize("rate", [10.0, 80.0])
def test_the_rotating_link_stretches_as_an_elastic_bar_does(rate: float) -> None:
    values = {"links.1.joint": {"kind": "revolute"}, "links.1.shapes.stretch": 3}
    arm = changed("chen-rotating-link", values)
    model, state = build(arm), equilibrium(arm, speeds={"joint1": rate}).point.q
    tip = float(tip_section(model, model.links[0], ca.DM(state)).position[0])
    assert 100 * (tip / 7.11 - 1) == pytest.approx(mean_strain(rate), rel=5e-3)


@pytest.mark.campaign
def test_in_uniform_rotation_sizes_are_the_same_and_histories_are_not() -> None:
    for each in statement(compute("fig-2a"), "almost the same").tried:
        if each.reading[MOTION] not in SPIN_UPS or each.reading["compared"] == "history":
            assert each.holds == (each.reading["compared"] != "history")


@pytest.mark.campaign
def test_histories_that_are_shown_from_the_start_of_a_spin_up_are_almost_the_same() -> None:
    shown = statement(compute("fig-2a"), "almost the same").beside
    assert {each.reading[MOTION] for each in shown} == set(SPIN_UPS)
    assert all(each.holds for each in shown if each.reading["compared"] == "history")


@pytest.mark.campaign
def test_runs_that_stop_are_not_called_convergent() -> None:
    for each in statement(compute("fig-2b"), "it is still convergent").tried:
        motion, stretch, equations = (way for _, way in each.reading.taken)
        stops = motion not in SPIN_UPS and (stretch, equations) == ("3 shapes", "the paper's")
        assert np.isinf(each.value) == stops
        assert each.holds != stops


@pytest.mark.campaign
def test_without_eq_11_torsion_has_the_inertia_of_what_is_beyond_alone() -> None:
    left = {x["torsion of"]: _without_eq_11(x) for x in TORSION.readings(Scope())[:2]}
    own = 15.41 / 2  # [kg m^2], of a quarter of a sine that is 1 at the tip
    beyond = 314.88 * 0.475**2  # link 2 beside the axis of link 1
    assert left["link 2"] == pytest.approx(100.0)
    assert left["link 1"] == pytest.approx(100 * own / (own + beyond), rel=1e-6)


@pytest.mark.campaign
def test_the_arm_falls_from_where_it_is_at_rest() -> None:
    assert check(compute("fig-4"), "springs carry the weight").holds


def test_a_spike_is_no_range() -> None:
    t = np.linspace(0.0, 1.0, 1001)
    y = np.sin(20 * t)
    spiked = np.where(np.arange(1001) == 500, 3.0, y)
    first = RANGES.readings(Scope())[0]
    found = {first.without(RANGE): Pair(t, y, spiked)}
    whole, most = (
        _ratio(found, Reading((*first.without(RANGE).taken, (RANGE, way)))) for way in SHARES
    )
    assert whole == pytest.approx(2.0, rel=1e-3)
    assert most == pytest.approx(1.0, abs=0.01)
