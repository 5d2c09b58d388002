"""Printed numbers have few digits and no exponent from 10 on; bounds are rounded up."""

import pytest

from flexarm.arguments import digits


@pytest.mark.parametrize(
    ("value", "count", "nearest", "above"),
    [
        (20.3, 1, "20", "30"), (0.2149, 2, "0.21", "0.22"), (9.91, 2, "9.9", "10"),
        (1_234_567.0, 2, "1,200,000", "1,300,000"), (0.0, 2, "0", "0"), (4.71e-5, 2, "4.7e-05",
        "4.8e-05"), (float("inf"), 2, "inf", "inf"),
    ],
)  # fmt: skip
def test_digits(value: float, count: int, nearest: str, above: str) -> None:
    assert digits(value, count) == nearest
    assert digits(value, count, up=True) == above
