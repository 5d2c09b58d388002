"""Panelwise series: evaluation, derivatives, jumps, combination."""

import numpy as np
import pytest

from flexarm.links.base import SpanCurves, integrate_strain
from tests.links.spans import Array

EDGES = np.array([0.0, 0.3, 1.0])


def polynomial() -> SpanCurves:
    """Make x^3 - x on two panels."""
    t = np.linspace(-1, 1, 4)
    series = []
    for left, right in ((0.0, 0.3), (0.3, 1.0)):
        x = (left + right) / 2 + (right - left) / 2 * t
        series.append(np.polynomial.legendre.legfit(t, x**3 - x, 3))
    return SpanCurves.from_values(EDGES, np.asarray(series, float)[:, :, None])


def exact(x: Array, nu: int) -> Array:
    """Differentiate x^3 - x by hand."""
    return [x**3 - x, 3 * x**2 - 1, 6 * x, np.full_like(x, 6.0)][nu]


@pytest.mark.parametrize("nu", range(4))
def test_values_and_derivatives_of_a_polynomial(nu: int) -> None:
    x = np.linspace(0, 1, 21)
    assert polynomial()(x, nu)[:, 0] == pytest.approx(exact(x, nu), abs=1e-12)


@pytest.mark.parametrize("nu", range(4))
def test_strain_is_integrated_from_the_root(nu: int) -> None:
    strain = polynomial().series[2]
    curve = integrate_strain(EDGES, strain, np.array([[0.0], [-1.0]]))
    x = np.linspace(0, 1, 21)
    assert curve(x, nu)[:, 0] == pytest.approx(exact(x, nu), abs=1e-12)


def test_jump_belongs_to_the_panel_that_it_opens() -> None:
    step = SpanCurves.from_values(EDGES, np.array([[[1.0]], [[5.0]]]))
    assert list(step(np.array([0.0, 0.2999, 0.3, 1.0]))[:, 0]) == [1.0, 1.0, 5.0, 5.0]
    assert np.all(step(np.array([0.1, 0.5]), 1) == 0)


def test_linear_combinations_are_those_of_the_values() -> None:
    both = SpanCurves.from_values(EDGES, np.random.default_rng(1).normal(size=(2, 4, 2)))
    columns, x = np.array([[2.0, 0.0, 1.0], [-3.0, 1.0, 0.5]]), np.linspace(0, 1, 11)
    for nu in range(4):
        expected = both(x, nu) @ columns
        assert both.times(columns)(x, nu) == pytest.approx(expected, abs=1e-11)
        assert both.times(columns).times(columns.T)(x, nu) == pytest.approx(expected @ columns.T)
