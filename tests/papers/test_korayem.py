"""Korayem & Shafei: how the figures of the fall are compared."""

import numpy as np
import pytest

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
    SIZE,
    T_END,
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


@pytest.mark.campaign
@pytest.mark.parametrize("number", FIGURES)
def test_converged_modes_are_in_concordance_with_finite_elements(number: int) -> None:
    what = FIGURES[number][0]
    best, other = (history(fall(shapes), what) for shapes in (CONVERGED, ELEMENTS))
    assert off(BEGINNING, best, other) < GOOD.high


@pytest.mark.campaign
@pytest.mark.parametrize("number", FAST)
def test_one_mode_is_out_of_step_over_the_full_time(number: int) -> None:
    first = compute("korayem-2009", f"fig-{number}").statements[0].tried[0]
    assert first.reading["compared"] == "history, all 2 s"
    assert not first.holds
