"""Korayem & Shafei: how the figures of the fall are compared."""

from itertools import product

import numpy as np
import pytest

from flexarm.links.base import Array
from flexarm.papers.korayem.fall import (
    BEGINNING,
    CONVERGED,
    DT,
    EDGE,
    ELEMENTS,
    FAST,
    FIGURES,
    GOOD,
    LOOKS,
    MEAN,
    PLOTTED,
    SIZE,
    T_END,
    WHOLE,
    fall,
    history,
    off,
)
from tests.papers.computed import compute


def test_moving_means_and_bounds_leave_the_edges_out() -> None:
    y = np.sin(np.arange(round(T_END / DT) + 1) / 7)
    assert LOOKS[MEAN](y).shape == (len(y) - 2 * EDGE,)
    assert LOOKS[SIZE](y).shape == (2, len(y) - 2 * EDGE)
    assert LOOKS[MEAN](y)[0] == pytest.approx(np.mean(y[: 2 * EDGE + 1]))


def test_no_measure_of_concordance_passes_a_flat_line_or_half_the_size() -> None:
    t = np.arange(round(T_END / DT) + 1) * DT
    y = np.sin(3 * t) + 0.3 * np.sin(400 * t)
    flat = np.full_like(y, y.mean())
    for seen, z in product((WHOLE, SIZE, MEAN, PLOTTED), (y, y + 3 * np.sin(400 * t))):
        assert off(seen, z, z) == 0
        assert off(seen, np.full_like(z, z.mean()), z) > 4 * GOOD.high
        assert off(seen, z.mean() + (z - z.mean()) / 2, z) > 2 * GOOD.high
        assert not GOOD.holds(off(seen, 1.5 * z, z))
    assert off(WHOLE, flat, y) == pytest.approx(100)
    late = np.sin(3 * t - 0.1)  # a small angle late
    assert off(WHOLE, late, np.sin(3 * t)) == pytest.approx(10, rel=0.05)


def beginning(shapes: tuple[str, int], number: int) -> Array:
    return history(fall(shapes, t_end=0.08), FIGURES[number][0])  # [s], two periods are less


@pytest.mark.campaign
@pytest.mark.parametrize("number", FIGURES)
def test_many_modes_and_many_elements_are_the_same_motion(number: int) -> None:
    modes, elements = (beginning(shapes, number) for shapes in (CONVERGED, ("elements", 12)))
    assert off(BEGINNING, modes, elements) < GOOD.high / 4


@pytest.mark.campaign
@pytest.mark.parametrize("number", FIGURES)
def test_two_elements_are_right_in_joints_and_tip_and_in_slopes_at_ends(number: int) -> None:
    # Their third frequency is 11 % too high: 7 periods of it, of which middles show most.
    found = off(BEGINNING, beginning(ELEMENTS, number), beginning(CONVERGED, number))
    assert GOOD.holds(found) == (number in (4, 5, 6, 7, 11, 15))


@pytest.mark.campaign
@pytest.mark.parametrize("number", FAST)
def test_one_mode_is_out_of_step_over_the_full_time(number: int) -> None:
    first = compute("korayem-2009", f"fig-{number}").statements[0].tried[0]
    assert (first.reading["compared"], first.reading["duration"]) == ("whole history", "2 s")
    assert not first.holds
