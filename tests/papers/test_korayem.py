"""Korayem & Shafei: the vibration of the arm, by flexarm and by elements assembled here."""

import numpy as np
import pytest

from flexarm_papers.korayem.fall import (
    DT,
    ELEMENTS,
    EXACT,
    ONE,
    fall,
    frequencies,
    hinged_beams,
    history,
)
from flexarm_papers.korayem.items import _algorithm, matrices
from tests.papers.computed import compute, number


def test_one_mode_per_link_vibrates_40_percent_too_fast() -> None:
    assert frequencies(ONE) == pytest.approx([36.2, 62.7], abs=0.1)
    assert frequencies(EXACT) == pytest.approx([25.76, 44.48], abs=0.01)
    assert frequencies(ELEMENTS) == pytest.approx([25.9, 44.7], abs=0.05)
    assert number(compute("korayem-2009", "vibration"), "one mode shape") == pytest.approx(
        41, abs=1
    )


def test_two_hinged_beams_have_the_frequencies_of_the_arm_without_gravity() -> None:
    # flexarm, 12 loaded shapes per link, gravity 0, joint 2 straight: 25.9156 and 44.8387 Hz
    assert hinged_beams(12) == pytest.approx([25.9156, 44.8387], rel=2e-5)
    assert hinged_beams(2) == pytest.approx([26.0378, 45.0892], rel=1e-5)


@pytest.mark.campaign
def test_the_fall_of_the_paper_goes_through_the_numbers_of_its_sample() -> None:
    # by equations assembled independently: after 0.5 s of fall, exact rotations of the tips
    run = fall(ONE, t_end=0.5)
    theta = run.q[round(0.5 / DT)][[0, 2]] + np.array([np.pi / 2, 0.0])
    assert theta == pytest.approx([0.02801982, -0.06679578], abs=1e-7)


@pytest.mark.campaign
def test_a_figure_is_shown_for_the_time_of_its_run() -> None:
    assert len(history(ONE, "-y", "5 deg from link 1", "joint1", True)) == 4001


@pytest.mark.campaign
def test_the_recursion_of_step_9_is_exact_up_to_the_square_of_tip_angles() -> None:
    small, large = (x.value for x in matrices().statements[3].trials)
    assert large / small == pytest.approx((0.01 / 2e-4) ** 2, rel=0.05)


def test_the_corrected_steps_are_exact_for_straight_links_that_vibrate() -> None:
    for printed, right in _algorithm():
        assert right < 1e-10  # [%]
        assert printed > 10.0
