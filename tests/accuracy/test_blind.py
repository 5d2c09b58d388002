"""Errors of random arms and motions that no estimate was made on are no less than the true ones."""

import numpy as np
import pytest

from tests.accuracy.blind import LAST, measure

pytestmark = pytest.mark.usefixtures("little_effort")


@pytest.mark.parametrize(
    "seed", [3, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in range(LAST))]
)
def test_computed_errors_are_no_less_than_the_true_ones(seed: int) -> None:
    found = measure(seed)
    assert found
    for each in found:
        assert each.computed is None or each.computed >= each.true, each


@pytest.mark.campaign
def test_half_of_the_computed_errors_are_within_twice_the_true_ones() -> None:
    found = [each for seed in range(0, LAST, 10) for each in measure(seed)]
    ratios = [each.ratio for each in found if each.quantity != "integration"]
    assert np.nanmedian(ratios) <= 2
