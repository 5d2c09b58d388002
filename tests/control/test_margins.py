"""Margins of loops with known ones, and of optimal regulators, whose margins have bounds."""

import math
import warnings

import numpy as np
import pytest
import scipy.linalg

import flexarm
from flexarm.control import loop_margins, lqr_gain
from flexarm.control.stability import margins_of
from flexarm.errors import FlexarmError
from flexarm.spatial import Array


def loop(numerator: list[float], denominator: list[float]) -> tuple[Array, Array, Array]:
    """Return the companion form of a loop."""
    n = len(denominator) - 1
    A = scipy.linalg.companion(denominator)
    c = np.zeros(n)
    c[n - len(numerator) :] = np.array(numerator) / denominator[0]
    return A, np.eye(n)[0], c


def test_margins_of_three_equal_lags() -> None:
    found = margins_of(*loop([2.0], [1.0, 3.0, 3.0, 1.0]))
    assert found.gain == pytest.approx(4.0, rel=1e-9)  # (1 + jw)^3 = -8 at w = root 3
    assert found.phase == pytest.approx(math.pi - 3 * math.acos(2 ** (-1 / 3)), rel=1e-9)
    w = np.linspace(0.5, 2.0, 200_001)
    assert found.distance == pytest.approx(np.abs(1 + 2 / (1 + 1j * w) ** 3).min(), rel=1e-6)


def test_margins_of_a_resonance_that_a_grid_would_miss() -> None:
    """An integrator and a mode of damping 1e-7 at 10 rad/s, whose peak all but reaches -1."""
    zeta, rate, speed = 1e-7, 10.0, 1e-6
    found = margins_of(*loop([speed * rate**2], [1.0, 2 * zeta * rate, rate**2, 0.0]))
    assert found.gain == pytest.approx(2 * zeta * rate / speed, rel=1e-6)
    assert found.distance == pytest.approx(1 - speed / (2 * zeta * rate), rel=1e-3)
    assert found.phase == pytest.approx(math.pi / 2, rel=1e-4)


@pytest.mark.parametrize("numerator", [[-0.5], [-0.25]])
def test_a_loop_that_grows_at_rest_has_its_margin_there(numerator: list[float]) -> None:
    found = margins_of(*loop(numerator, [1.0, 1.0]))
    assert found.gain == pytest.approx(-1 / numerator[0])
    assert math.isinf(found.phase)
    assert found.distance == pytest.approx(1 + numerator[0])


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ["driven-link", "driven-link-payload", "deluca-siciliano"])
@pytest.mark.parametrize("cost", [1e-3, 1e3])
def test_optimal_regulators_keep_their_margins(name: str, cost: float) -> None:
    """Any gain, 60 degrees, and a distance of 1 from -1 (Safonov & Athans 1977)."""
    space = flexarm.linearise(flexarm.example_arm(name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = loop_margins(space, lqr_gain(space, cost=cost))
    for each in found.values():
        assert math.isinf(each.gain)
        assert each.phase >= math.pi / 3
        assert each.distance == pytest.approx(1.0, abs=1e-5)


def test_a_loop_that_grows_has_no_margins() -> None:
    space = flexarm.linearise(flexarm.example_arm("driven-link"))
    with pytest.raises(FlexarmError, match=r"gain: the closed loop is unstable.*grows at .* 1/s"):
        loop_margins(space, -lqr_gain(space))
