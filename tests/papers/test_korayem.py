"""Korayem & Shafei: how the figures of the fall are compared."""

from itertools import product

import numpy as np
import pytest

from flexarm.spatial import Array
from flexarm_papers.korayem.fall import (
    BEGINNING,
    CONVERGED,
    DT,
    ELEMENTS,
    FAST,
    FIGURES,
    GOOD,
    LOOKS,
    MEAN,
    PLOTTED,
    RANGED,
    SIZE,
    T_END,
    WHOLE,
    WINDOW,
    fall,
    history,
    off,
)
from tests.papers.computed import compute, statement


def test_moving_means_and_bounds_leave_the_edges_out() -> None:
    y = np.sin(np.arange(round(T_END / DT) + 1) / 7)
    assert LOOKS[MEAN](y).shape == (len(y) - WINDOW + 1,)
    assert LOOKS[SIZE](y).shape == (2, len(y) - WINDOW + 1)
    assert LOOKS[MEAN](y)[0] == pytest.approx(np.mean(y[:WINDOW]))


def test_no_measure_by_the_spread_passes_a_flat_line_or_half_the_size() -> None:
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


def test_of_half_the_range_a_jolt_of_half_the_size_passes_and_a_flat_sine_does_not() -> None:
    t = np.arange(round(T_END / DT) + 1) * DT
    whole, size = RANGED
    sine, jolt = np.sin(3 * np.pi * t), np.exp(-(((t - 3) / 0.05) ** 2))
    assert off(whole, 0 * sine, sine) == pytest.approx(100 / np.sqrt(2), rel=1e-3)
    assert off(whole, jolt / 2, jolt) < GOOD.high < off(WHOLE, jolt / 2, jolt)
    assert off(size, 0 * sine, sine) > 3 * GOOD.high


def test_recursive_sums_of_two_links_save_nothing_if_left_products_are_kept() -> None:
    # Counted by hand for two links and for three: 2 of 3 and 5 of 11 products; 2 of 2 and 5 of 7.
    said = statement(compute("korayem-2009", "identities"), "reduction")
    found = {tuple(way for _, way in x.reading.taken): x.value for x in said.tried}
    plain, kept = "as it stands", "with jR_i B_9i formed once"
    assert [found["2", way] for way in (plain, kept)] == pytest.approx([2 / 3, 1])
    assert [found["3 to 12", way] for way in (plain, kept)] == pytest.approx([5 / 11, 5 / 7])


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
