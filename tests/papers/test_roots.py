"""Roots against a library's, and where no root is."""

import math
from collections.abc import Callable

import pytest
from scipy.optimize import brentq

from flexarm_papers.beams.roots import bracketed_root


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        (lambda x: math.cos(x) * math.cosh(x) + 1, 1.0, 3.0),
        (lambda x: math.cos(x) - 1e9 * x * math.sin(x), 0.0, math.pi / 2),
        (lambda x: (x - 0.3) ** 3, -1.0, 2.0),
        (lambda x: math.tan(x) - x, 4.4, 4.4934095),
        (lambda x: 1e-200 * (x - 1e-12), 0.0, 1.0),
        (lambda x: -1.0 if x < 0.3 else 1.0, 0.0, 1.0),
        (lambda x: x - 2.0, 2.0, 3.0),
        (lambda x: x - 3.0, 2.0, 3.0),
    ],
)
def test_root_is_the_library_s(value: Callable[[float], float], low: float, high: float) -> None:
    calls = 0

    def counted(x: float) -> float:
        nonlocal calls
        calls += 1
        return float(value(x))

    found = bracketed_root(counted, low, high)
    expected = brentq(value, low, high, xtol=1e-300, rtol=1e-15, maxiter=1000)
    assert found == pytest.approx(expected, rel=1e-14)
    assert calls < 400


def test_no_change_of_sign_is_an_error() -> None:
    with pytest.raises(ValueError, match="no change of sign"):
        bracketed_root(lambda x: 1.0 + x * x, -1.0, 1.0)
