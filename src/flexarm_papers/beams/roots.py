"""Roots of functions of one number, without the half second that importing an optimiser takes."""

import sys
from collections.abc import Callable


def bracketed_root(value: Callable[[float], float], low: float, high: float) -> float:
    """Find where a function changes sign between two places, to rounding.

    Notes
    -----
    Chandrupatla 1997: inverse quadratic interpolation where three points allow it, else halving.
    """
    a, b = low, high
    at_a, at_b = value(a), value(b)
    if at_a == 0:
        return a
    if at_a * at_b > 0:
        raise ValueError(f"no change of sign between {low!r} and {high!r}")
    part = 0.5
    while True:
        x = a + part * (b - a)
        at_x = value(x)
        if (at_x > 0) == (at_a > 0):
            c, at_c = a, at_a
        else:
            c, at_c, b, at_b = b, at_b, a, at_a
        a, at_a = x, at_x
        best, least = (a, at_a) if abs(at_a) < abs(at_b) else (b, at_b)
        limit = 2 * sys.float_info.epsilon * abs(best) / abs(b - a) if a != b else 1.0
        if least == 0 or limit > 0.5:
            return best
        xi, phi = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        part = 0.5
        if phi**2 < xi and (1 - phi) ** 2 < 1 - xi:
            part = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            part += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        part = min(1 - limit, max(limit, part))
