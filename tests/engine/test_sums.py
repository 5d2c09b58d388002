"""Sums of rows, however many are added at a time, are products of matrices."""

import numpy as np
import pytest
from numpy.typing import NDArray

from flexarm.loops.sums import two_weighted_sums, weighted_sum

SIZES = range(1, 26)  # of one, four and eight at a time, and all that may be left


def numbers(*shape: int) -> NDArray[np.float64]:
    """Make whole numbers, whose sums have no rounding."""
    return np.random.default_rng(sum(shape)).integers(-99, 99, shape).astype(float)


def room(size: int) -> NDArray[np.float64]:
    """Make an array to write into, with one element more that nothing may touch."""
    return np.full(size + 1, 7.5)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [0, 1, 6])
def test_rows_are_added_up_by_weights(count: int, size: int) -> None:
    rows, weights, out = numbers(count, size), numbers(count), room(size)
    weighted_sum(count, size, rows.ravel(), weights, out)
    assert out.tolist() == [*(weights @ rows), 7.5]


@pytest.mark.parametrize("size", SIZES)
def test_square_rows_are_added_up_by_two_halves(size: int) -> None:
    rows, weights, begin = numbers(size, size), numbers(2, size), numbers(size)
    out = room(2 * size)
    two_weighted_sums(size, rows.ravel(), weights.ravel(), begin, out)
    assert out.tolist() == [*(begin + weights[0] @ rows), *(weights[1] @ rows), 7.5]
