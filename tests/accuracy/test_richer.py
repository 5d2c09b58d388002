"""An arm with more shapes is the same arm by linear theory in the coordinates that it had."""

import numpy as np
import pytest

import flexarm
from flexarm.accuracy.richer import richer


@pytest.mark.parametrize(
    "sample",
    [
        "driven-link-payload",
        "telescope",
        pytest.param("theodore-rrp-motion", marks=pytest.mark.campaign),
    ],
)
def test_in_its_own_coordinates_it_is_the_arm_by_linear_theory(sample: str) -> None:
    arm = flexarm.change_arm(flexarm.example_arm(sample), {"stiffening": True})
    rich = richer(flexarm.build(arm))
    linear = flexarm.build(arm, stiffening=False)
    random, kept = np.random.default_rng(1), list(rich.kept)
    q = 0.05 * random.normal(size=linear.size)
    for index, low, high in linear.sliding_ranges:
        q[index] = (low + high) / 2
    more = np.zeros(rich.model.size)
    more[kept] = q
    found = flexarm.formulation("composite", rich.model).mass_matrix(more)[np.ix_(kept, kept)]
    expected = flexarm.formulation("composite", linear).mass_matrix(q)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
