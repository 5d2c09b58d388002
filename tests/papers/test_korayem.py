"""Korayem & Shafei: how the figures of the fall are compared."""

import numpy as np
import pytest

from flexarm.integrate.simulate import simulate
from flexarm.papers.base import verdict
from flexarm.papers.korayem.fall import (
    CONCORDANT,
    DT,
    EDGE,
    FIGURES,
    GOOD_FAST,
    T_END,
    falls,
    figure,
    history,
    reading,
)
from flexarm.papers.runs import changed

FAST = [number for number in FIGURES if number >= 8]


@pytest.mark.campaign
@pytest.mark.parametrize("number", FIGURES)
def test_converged_modes_are_in_concordance_with_finite_elements(number: int) -> None:
    what, how = FIGURES[number][0], reading(number)
    best, other = (history(falls()[name].run, what) for name in ("converged", "elements"))
    assert how.off(best, other) < 0.8 * how.limit


@pytest.mark.campaign
@pytest.mark.parametrize("change", [{"section.EIz": 600.0}, {"section.mass_per_length": 9.0}])
def test_converged_modes_of_a_wrong_arm_are_not(change: dict[str, float]) -> None:
    shapes = {"kind": "loaded", "bending_y": 4}
    values = {f"links.{k}.{key}": x for k in (1, 2) for key, x in change.items()}
    arm = changed("korayem-two-link", {f"links.{k}.shapes": shapes for k in (1, 2)} | values
                  | {"stiffening": False})  # fmt: skip

    wrong = simulate(arm, t_end=0.1, dt=DT, method="dop853")
    for number in FAST:
        what, how = FIGURES[number][0], reading(number)
        right = history(falls()["elements"].run, what)
        assert how.off(history(wrong, what), right) > GOOD_FAST, number


@pytest.mark.campaign
@pytest.mark.parametrize("number", FAST)
def test_one_mode_is_off_for_every_direction_of_gravity(number: int) -> None:
    found = figure(number)
    assert verdict(found) == "differs"
    (missing,) = found.missing
    assert missing.decides == (CONCORDANT,)
    assert min(missing.outcomes) > GOOD_FAST
    assert missing.outcomes[0] == pytest.approx(found.difference.value, rel=1e-4)
    assert [claim.outcome for claim in found.claims] == ["fails", "holds", "holds"]


@pytest.mark.campaign
def test_moving_means_and_bounds_leave_the_edges_out() -> None:
    *_, bounds, means = figure(12).figures
    for each in (*bounds.curves, *means.curves):
        assert each.x.min() >= EDGE * DT - 1e-9
        assert each.x.max() <= T_END - EDGE * DT + 1e-9
    y = history(falls()["paper"].run, FIGURES[12][0])
    assert means.curves[0].y[0] == pytest.approx(np.mean(y[: 2 * EDGE + 1]))


@pytest.mark.campaign
def test_extremes_have_the_unit_of_their_figure() -> None:
    for number, unit in ((4, "[deg]"), (7, "[m]"), (8, "[m]"), (15, "[rad]")):
        assert figure(number).tables[0].head[1:3] == (f"least {unit}", f"largest {unit}")
