"""Panelwise series: evaluation, derivatives, jumps, combination."""

import numpy as np
import pytest

from flexarm.links.curves import Combination, Piecewise, combine, integrate_strain
from tests.links.spans import Array

EDGES = np.array([0.0, 0.3, 1.0])


def polynomial() -> Piecewise:
    """Make x^3 - x on two panels."""
    t = np.linspace(-1, 1, 4)
    series = []
    for left, right in ((0.0, 0.3), (0.3, 1.0)):
        x = (left + right) / 2 + (right - left) / 2 * t
        series.append(np.polynomial.legendre.legfit(t, x**3 - x, 3))
    return Piecewise.from_values(EDGES, np.array(series))


def exact(x: Array, nu: int) -> Array:
    """Differentiate x^3 - x by hand."""
    return [x**3 - x, 3 * x**2 - 1, 6 * x, np.full_like(x, 6.0)][nu]


@pytest.mark.parametrize("nu", range(4))
def test_values_and_derivatives_of_a_polynomial(nu: int) -> None:
    x = np.linspace(0, 1, 21)
    assert polynomial()(x, nu) == pytest.approx(exact(x, nu), abs=1e-12)


@pytest.mark.parametrize("nu", range(4))
def test_strain_is_integrated_from_the_root(nu: int) -> None:
    strain = polynomial().series[2][:, :, None]
    (curve,) = integrate_strain(EDGES, strain, np.array([[0.0], [-1.0]]))
    x = np.linspace(0, 1, 21)
    assert curve(x, nu) == pytest.approx(exact(x, nu), abs=1e-12)


def test_jump_belongs_to_the_panel_that_it_opens() -> None:
    step = Piecewise.from_values(EDGES, np.array([[1.0], [5.0]]))
    assert list(step(np.array([0.0, 0.2999, 0.3, 1.0]))) == [1.0, 1.0, 5.0, 5.0]
    assert np.all(step(np.array([0.1, 0.5]), 1) == 0)


def test_curves_on_the_same_panels_combine_into_one_series() -> None:
    a, b = polynomial(), Piecewise.from_values(EDGES, np.ones((2, 4)))
    both = combine([a, b], np.array([2.0, -3.0]))
    assert isinstance(both, Piecewise)
    x = np.linspace(0, 1, 11)
    for nu in range(4):
        assert both(x, nu) == pytest.approx(2 * a(x, nu) - 3 * b(x, nu), abs=1e-11)


def test_curves_on_different_panels_combine_by_evaluation() -> None:
    a, b = polynomial(), Piecewise.from_values(np.array([0.0, 1.0]), np.ones((1, 2)))
    both = combine([a, b], np.array([2.0, -3.0]))
    assert isinstance(both, Combination)
    x = np.linspace(0, 1, 11)
    for nu in range(4):
        assert both(x, nu) == pytest.approx(2 * a(x, nu) - 3 * b(x, nu), abs=1e-12)


def test_combinations_of_combinations_are_flat() -> None:
    a, b = polynomial(), Piecewise.from_values(np.array([0.0, 1.0]), np.ones((1, 2)))
    inner = combine([a, b], np.array([2.0, -3.0]))
    both = combine([inner, b], np.array([0.5, 4.0]))
    assert isinstance(both, Combination)
    assert both.curves == (a, b)
    assert both.weights == (1.0, 2.5)
