"""Responses of damped linear oscillators in closed form or by power series."""

import math

from flexarm.integrate.constants import RESPONSE_TERMS
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array

POWERS = 5  # number of force terms whose responses are computed: 1 to t^4/24
RESPONSES = POWERS + 2


@kernel
def responses(square: float, loss: float, t: float, out: Array) -> None:
    """Compute responses of ``x'' + loss x' + square x = g``, from rest, at time t.

    The array ``out`` contains the response s to a unit impulse and its rate s', followed by the
    responses X1 to X5 to the forcings g = 1, t, t^2/2, t^3/6 and t^4/24. Each response is the time
    integral of the one before: X1 of s, X2 of X1, and so on.
    """
    stiffness = square - 0.25 * loss * loss
    # The closed form divides by ``square``; for a large loss it subtracts nearly equal numbers.
    if (
        square * t * t >= 4.0
        and square * t >= loss
        and (stiffness > 0.0 or stiffness * t * t < -1e-2)
    ):
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
        add_time(square, loss, tau, out, out)
        tau = 2.0 * tau


@kernel
def _closed_form(square: float, loss: float, t: float, out: Array) -> None:
    half = 0.5 * loss
    stiffness = square - half * half
    s = 0.0
    ds = 0.0
    if stiffness > 0.0:
        rate = math.sqrt(stiffness)
        decay = math.exp(-half * t)
        s = decay * math.sin(rate * t) / rate
        ds = decay * math.cos(rate * t) - half * s
    else:
        rate = math.sqrt(-stiffness)
        slow_decay = math.exp((rate - half) * t)
        fast_decay = math.exp(-(rate + half) * t)
        s = (slow_decay - fast_decay) / (2.0 * rate)
        ds = ((rate - half) * slow_decay + (rate + half) * fast_decay) / (2.0 * rate)
    out[0] = s
    out[1] = ds
    out[2] = (1.0 - ds - loss * s) / square
    out[3] = (t - s - loss * out[2]) / square
    power = 0.5 * t * t
    for k in range(2, POWERS):
        out[2 + k] = (power - out[k] - loss * out[1 + k]) / square
        power *= t / (k + 1.0)


@kernel
def _series(square: float, loss: float, t: float, out: Array) -> None:
    """Sum the power series of the two highest oscillator responses; derive the others."""
    loss_term = loss * t
    square_term = square * t * t
    a = 1.0
    previous = 0.0
    factor = 1.0 / 120.0
    x4 = 0.0
    x5 = 0.0
    for j in range(RESPONSE_TERMS):
        next_factor = factor / (j + 6.0)
        x4 += a * factor
        x5 += a * next_factor
        factor = next_factor
        second_previous = previous
        previous = a
        a = -loss_term * a - square_term * second_previous
        if (abs(a) + abs(previous)) * factor < 1e-19:
            break
    power = t * t * t * t
    out[5] = x4 * power * t
    out[6] = x5 * power * t * t
    fill_in(square, loss, t, out)


@kernel
def fill_in(square: float, loss: float, t: float, out: Array) -> None:
    """Derive the lower oscillator responses from the two highest by the equation of motion."""
    out[4] = t * t * t * t / 24.0 - loss * out[5] - square * out[6]
    out[3] = t * t * t / 6.0 - loss * out[4] - square * out[5]
    out[2] = 0.5 * t * t - loss * out[3] - square * out[4]
    out[0] = t - loss * out[2] - square * out[3]
    out[1] = 1.0 - loss * out[0] - square * out[2]


@kernel
def add_time(square: float, loss: float, t: float, begin: Array, out: Array) -> None:
    """Advance the oscillator responses in ``out`` by a time t [s].

    The array ``begin`` contains the responses at time t. The result is the sum of the free motion
    from the state in ``out`` and the response to the polynomial force expanded about its time. The
    arrays ``begin`` and ``out`` may be the same.
    """
    s = out[0]
    ds = out[1]
    velocity_response = ds + loss * s
    for k in range(POWERS - 1, -1, -1):
        total = velocity_response * begin[2 + k] + s * begin[k + 1 if k > 0 else 0]
        factor = 1.0
        for j in range(k + 1):
            total += factor * out[2 + k - j]
            factor *= t / (j + 1.0)
        out[2 + k] = total
    displacement = velocity_response * begin[0] + s * begin[1]
    out[1] = ds * begin[1] - square * s * begin[0]
    out[0] = displacement
