"""Chen, Zhang & Liu 2012: the rotating link in closed form, and the fall with wound springs."""

import numpy as np
import pytest

from flexarm.integrate.simulate import simulate
from flexarm.papers.base import Found
from flexarm.papers.chen.linear import linear_fall
from flexarm.papers.runs import changed
from tests.papers import computed
from tests.papers.test_items import assert_verdict


def compute(name: str) -> Found:
    return computed.compute("chen-2012", name)


@pytest.mark.parametrize("name", ["critical-speed", "axial-stiffness"])
def test_an_item_has_the_verdict_and_the_number_that_its_errata_call_for(name: str) -> None:
    assert_verdict("chen-2012", name)


def test_the_unstiffened_link_is_unstable_above_its_first_frequency() -> None:
    (claim,) = [each for each in compute("critical-speed").claims if "stable at 10" in each.says]
    assert "20.3735 rad/s" in claim.because


def test_the_rotating_link_stretches_as_an_elastic_bar_does() -> None:
    # EA u'' = -mu omega^2 (x + u) has the tip at L tan(k)/k with k^2 = mu omega^2 L^2/EA
    suits = 2 * 3.8e6 * 314.88 / 15.41  # [N], for the polar radius that J_x has
    rows = compute("axial-stiffness").tables[0].rows
    for row, (rate, stiffness) in zip(
        rows, [(10, 2.84e7), (10, suits), (80, 2.84e7), (80, suits)], strict=True
    ):
        k = np.sqrt(314.88 / 7.11 * rate**2 * 7.11**2 / stiffness)
        assert float(row[2]) == pytest.approx(7.11 * (np.tan(k) / k - 1), rel=5e-3, abs=6e-5)


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("name", "ratios"),
    [
        ("fig-4", (1.003, 1.066, 1.381, 1.797)),
        ("fig-5", (1.001, 1.143, 2.147, 3.597)),
        ("longitudinal", (1.001, 1.077, 1.767, 2.811)),
        ("chordwise", (1.006, 1.325, 2.936, 5.072)),
    ],
)
def test_ranges_grow_with_how_far_the_springs_are_wound_at_the_start(
    name: str, ratios: tuple[float, ...]
) -> None:
    found = compute(name)
    (wound,) = [each for each in found.missing if "motor angles" in each.datum]
    assert wound.outcomes == pytest.approx(ratios, rel=0.02)
    assert set(wound.decides) == {claim.says for claim in found.claims if claim.outcome == "fails"}
    # 4 and 1 times m g L/2 over the stiffness
    weight = 314.88 * 9.81 * 7.11 / 2 / 1.33e6
    assert f"wound by {4e3 * weight:.1f} and {1e3 * weight:.1f} mrad" in found.because


@pytest.mark.campaign
def test_a_uniformly_rotating_link_vibrates_differently_whatever_sets_it_going() -> None:
    found = compute("fig-2a")
    claim = found.claims[0]
    assert claim.outcome == "fails"
    for each in found.missing:
        assert each.decides == (claim.says,)
        assert min(each.outcomes) > 2 * 0.10
    assert f"{np.sqrt(20.3735**2 - 100):.2f} rad/s without" in found.because


def test_linear_equations_hold_at_the_start_of_a_fall_and_about_the_moving_arm_later() -> None:
    name, t_end = "chen-two-link-rigid-joints", 0.2
    run = simulate(changed(name), t_end=t_end, dt=0.01, rtol=1e-6)
    k = run.model.names.index("link2.y1")
    y = run.q[:, k]
    still, moving = (linear_fall(name, t_end, frozen=x)[1][:, k] for x in (True, False))
    assert np.abs(still - y)[:6].max() < 0.01 * np.ptp(y[:6])
    assert np.abs(moving - y).max() < 0.01 * np.ptp(y)
    assert np.abs(still - y).max() > np.abs(moving - y).max()
