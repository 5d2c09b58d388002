"""Sine and cosine of the engine against their series in 60 digits."""

import decimal
import math

import casadi
import numpy as np
import pytest
from numpy.typing import NDArray

from flexarm.engine.compile import Level, native_width
from flexarm.engine.constants import LARGEST_ANGLE
from tests.engine.expressions import compiled

DIGITS = decimal.Context(prec=70)
# Machin's formula would do; these are the first 70 digits.
PI = decimal.Decimal("3.141592653589793238462643383279502884197169399375105820974944592307816")
GENERATOR = np.random.default_rng(0)
ANGLES = {
    "small": GENERATOR.uniform(-1.0, 1.0, 400),
    "a few turns": GENERATOR.uniform(-20.0, 20.0, 400),
    "many turns": GENERATOR.uniform(-LARGEST_ANGLE, LARGEST_ANGLE, 400),
    "near multiples of 45 degrees": np.nextafter(np.arange(-200, 200) * (np.pi / 4), np.inf),
    "near far multiples of 90 degrees": GENERATOR.integers(1, 60_000, 400) * (np.pi / 2),
    "tiny": 10.0 ** GENERATOR.uniform(-300.0, -1.0, 400),
    "beyond the polynomial": GENERATOR.uniform(LARGEST_ANGLE, 1e9, 400),
}


def exact(angle: float) -> tuple[decimal.Decimal, decimal.Decimal]:
    """Sum the series of sine and cosine."""
    with decimal.localcontext(DIGITS):
        x = decimal.Decimal(angle)
        x -= 2 * PI * (x / (2 * PI)).to_integral_value()
        sine, cosine = decimal.Decimal(0), decimal.Decimal(0)
        term = decimal.Decimal(1)
        for k in range(0, 80, 2):
            cosine += term
            term *= x / (k + 1)
            sine += term
            term *= -x / (k + 2)
        return sine, cosine


def worst_error(found: NDArray[np.float64], wanted: list[decimal.Decimal]) -> float:
    """Return the largest error in units of the last place."""
    return max(
        abs(float((decimal.Decimal(float(x)) - y) / decimal.Decimal(math.ulp(float(y)))))
        for x, y in zip(found, wanted, strict=True)
    )


@pytest.mark.few(4)
@pytest.mark.parametrize("level", ["quick", "fast"])
@pytest.mark.parametrize("width", [1, native_width()])
@pytest.mark.parametrize("where", ANGLES)
def test_sine_and_cosine_are_right_to_a_unit_of_the_last_place(
    where: str, width: int, level: Level
) -> None:
    x = casadi.SX.sym("x", 400 // width)
    function = casadi.Function("f", [x], [casadi.sin(x), casadi.cos(x)])
    angles = ANGLES[where]
    shape = (400,) if width == 1 else (400 // width, width)
    sines, cosines = compiled(function, width=width, level=level).call(angles.reshape(shape))
    wanted = [exact(float(angle)) for angle in angles]
    assert worst_error(sines.ravel(), [sine for sine, _ in wanted]) < 1.0
    assert worst_error(cosines.ravel(), [cosine for _, cosine in wanted]) < 1.0


def test_one_lane_with_a_huge_angle_or_none_at_all_does_not_disturb_the_others() -> None:
    width = native_width()
    x = casadi.SX.sym("x")
    code = compiled(casadi.Function("f", [x], [casadi.sin(x)]), width=width)
    for odd in (1e22, np.inf, np.nan):
        angles = np.linspace(0.1, 1.0, width)[None, :]
        angles[0, 1] = odd
        (sines,) = code.call(angles)
        expected = [math.sin(angle) if math.isfinite(angle) else math.nan for angle in angles[0]]
        np.testing.assert_allclose(sines[0], expected, rtol=2.3e-16, atol=0.0)
