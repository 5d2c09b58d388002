"""Linear oscillators in closed form."""

import math

from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array

RESPONSES = 5
TERMS = 18


@kernel
def responses(square: float, loss: float, t: float, out: Array) -> None:
    """Compute how ``x'' + loss x' + square x = g`` answers, from rest, at time t.

    out holds s and s' for a unit impulse, then the answers X1, X2, X3 to g = 1, t, t^2/2; the rate
    of X1 is s, that of X2 is X1, that of X3 is X2.
    """
    rest = square - 0.25 * loss * loss
    # the closed form divides by square, where a large loss leaves differences of large numbers
    if square * t * t >= 1.0 and square * t >= loss and (rest > 0.0 or rest * t * t < -1e-2):
        _closed_form(square, loss, t, out)
        return
    largest = max(math.sqrt(abs(square)), loss) * t
    halvings = 0
    while largest > 1.0:
        largest = 0.5 * largest
        halvings += 1
    tau = t
    for _ in range(halvings):
        tau = 0.5 * tau
    _series(square, loss, tau, out)
    for _ in range(halvings):
        double_time(square, loss, tau, out)
        tau = 2.0 * tau


@kernel
def _closed_form(square: float, loss: float, t: float, out: Array) -> None:
    half = 0.5 * loss
    rest = square - half * half
    s = 0.0
    ds = 0.0
    if rest > 0.0:
        rate = math.sqrt(rest)
        decay = math.exp(-half * t)
        s = decay * math.sin(rate * t) / rate
        ds = decay * math.cos(rate * t) - half * s
    else:
        rate = math.sqrt(-rest)
        slow = math.exp((rate - half) * t)
        fast = math.exp(-(rate + half) * t)
        s = (slow - fast) / (2.0 * rate)
        ds = ((rate - half) * slow + (rate + half) * fast) / (2.0 * rate)
    out[0] = s
    out[1] = ds
    out[2] = (1.0 - ds - loss * s) / square
    out[3] = (t - s - loss * out[2]) / square
    out[4] = (0.5 * t * t - out[2] - loss * out[3]) / square


@kernel
def _series(square: float, loss: float, t: float, out: Array) -> None:
    """Sum the series of X2 and X3, whose terms share factors; the equation gives the rest."""
    fall = loss * t
    turn = square * t * t
    a = 1.0
    before = 0.0
    factor = 1.0 / 6.0
    x2 = 0.0
    x3 = 0.0
    for j in range(TERMS):
        after = factor / (j + 4.0)
        x2 += a * factor
        x3 += a * after
        factor = after
        older = before
        before = a
        a = -fall * a - turn * older
        if (abs(a) + abs(before)) * factor < 1e-19:
            break
    x2 = x2 * t * t * t
    x3 = x3 * t * t * t * t
    x1 = 0.5 * t * t - loss * x2 - square * x3
    s = t - loss * x1 - square * x2
    out[0] = s
    out[1] = 1.0 - loss * s - square * x1
    out[2] = x1
    out[3] = x2
    out[4] = x3


@kernel
def double_time(square: float, loss: float, t: float, out: Array) -> None:
    """Go from the answers at t to those at 2 t: the first half's state moves on freely."""
    s = out[0]
    ds = out[1]
    x1 = out[2]
    x2 = out[3]
    x3 = out[4]
    own = ds + loss * s
    out[0] = own * s + s * ds
    out[1] = -square * s * s + ds * ds
    out[2] = own * x1 + s * s + x1
    out[3] = own * x2 + s * x1 + x2 + t * x1
    out[4] = own * x3 + s * x2 + x3 + t * x2 + 0.5 * t * t * x1
