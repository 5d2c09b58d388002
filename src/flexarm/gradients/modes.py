"""Derivatives of modes and modal responses with respect to mass, stiffness and damping matrices.

A modal basis is stored as one array: modes and inverse modes, (n, n) each, squared frequencies,
(n,), damping rates, (n,), and the damping matrix in modal coordinates, (n, n). Derivatives of a
modal basis, and derivatives with respect to it, are stored without the damping matrix.
"""

from flexarm.integrate.constants import RESPONSE_TERMS
from flexarm.integrate.methods.eigen import gap, largest
from flexarm.integrate.methods.oscillator import POWERS, RESPONSES, add_time, fill_in
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array


@kernel
def responses_along(square: float, loss: float, t: float, out: Array, by_square: Array) -> None:
    """Compute responses of an oscillator to polynomial forcing, and their derivatives.

    The responses are those of `flexarm.integrate.methods.oscillator.responses`, and the derivatives
    are with respect to the squared frequency.
    """
    tau = t
    halvings = 0
    while max(abs(square) * tau, loss) * tau > 1.0:
        tau = 0.5 * tau
        halvings += 1
    _series_along(square, loss, tau, out, by_square)
    for _ in range(halvings):
        add_time_along(square, loss, tau, out, by_square, out, by_square)
        tau = 2.0 * tau


@kernel
def responses_by_loss(square: float, loss: float, out: Array, by_square: Array, by: Array) -> None:
    """Convert frequency derivatives of oscillator responses to damping derivatives.

    A unit change of the squared frequency acts like a force equal to minus the response, and a unit
    change of the damping rate like a force equal to minus the time derivative of the response.
    Hence the derivative of a response with respect to the damping rate equals the derivative, with
    respect to the squared frequency, of the time derivative of the response.
    """
    by[0] = by_square[1]
    by[1] = -loss * by_square[1] - square * by_square[0] - out[0]
    by[2] = by_square[0]
    for k in range(3, RESPONSES):
        by[k] = by_square[k - 1]


@kernel
def _series_along(square: float, loss: float, t: float, out: Array, by: Array) -> None:
    """Sum power series of an oscillator's responses and of their frequency derivatives."""
    fall = loss * t
    turn = square * t * t
    a = 1.0
    da = 0.0
    before = 0.0
    d_before = 0.0
    factor = 1.0 / 120.0
    x4 = 0.0
    x5 = 0.0
    d4 = 0.0
    d5 = 0.0
    for j in range(RESPONSE_TERMS):
        after = factor / (j + 6.0)
        x4 += a * factor
        x5 += a * after
        d4 += da * factor
        d5 += da * after
        factor = after
        older = before
        d_older = d_before
        before = a
        d_before = da
        da = -fall * da - turn * d_older - t * t * older
        a = -fall * before - turn * older
    power = t * t * t * t
    out[5] = x4 * power * t
    out[6] = x5 * power * t * t
    by[5] = d4 * power * t
    by[6] = d5 * power * t * t
    fill_in(square, loss, t, out)
    for at in range(4, 1, -1):
        by[at] = -loss * by[at + 1] - square * by[at + 2] - out[at + 2]
    by[0] = -loss * by[2] - square * by[3] - out[3]
    by[1] = -loss * by[0] - square * by[2] - out[2]


@kernel
def add_time_along(
    square: float, loss: float, t: float, begin: Array, begin_by: Array, out: Array, by: Array
) -> None:
    """Advance oscillator responses and d responses / d(squared frequency) by a time t [s].

    The responses themselves are advanced by `flexarm.integrate.methods.oscillator.add_time`.
    """
    s = out[0]
    d0 = by[0]
    own = out[1] + loss * s
    d_own = by[1] + loss * d0
    for k in range(POWERS - 1, -1, -1):
        before = k + 1 if k > 0 else 0
        total = d_own * begin[2 + k] + own * begin_by[2 + k]
        total += d0 * begin[before] + s * begin_by[before]
        factor = 1.0
        for j in range(k + 1):
            total += factor * by[2 + k - j]
            factor *= t / (j + 1.0)
        by[2 + k] = total
    free = d_own * begin[0] + own * begin_by[0] + d0 * begin[1] + s * begin_by[1]
    rate = by[1] * begin[1] + out[1] * begin_by[1] - s * begin[0]
    by[1] = rate - square * (d0 * begin[0] + s * begin_by[0])
    by[0] = free
    add_time(square, loss, t, begin, out)


@kernel
def turn(n: int, basis: Array, changes: Array, mixing: Array, out: Array) -> None:
    """Compute the derivative of a modal basis from those of the system matrices.

    The argument ``changes``, (3, n, n), contains the derivatives of mass, stiffness and damping
    matrix in modal coordinates.
    """
    squares = basis[2 * n * n :]
    inverse = basis[n * n :]
    damping = basis[2 * n * n + 2 * n :]
    _mix_modes(n, squares, damping, changes, mixing)
    for r in range(n):
        own = r * n + r
        loss = changes[2 * n * n + own]
        for i in range(n):
            mode = 0.0
            inner = 0.0
            for k in range(n):
                mode += mixing[k * n + r] * basis[k * n + i]
                inner -= mixing[r * n + k] * inverse[i * n + k]
            out[r * n + i] = mode
            out[n * n + i * n + r] = inner
            loss += 2.0 * damping[r * n + i] * mixing[i * n + r]
        out[2 * n * n + r] = changes[n * n + own] - squares[r] * changes[own]
        out[2 * n * n + n + r] = loss if damping[own] >= 0.0 else 0.0


@kernel
def _mix_modes(n: int, squares: Array, damping: Array, changes: Array, mixing: Array) -> None:
    """Compute the derivative of each mode as a combination of all modes, (n, n).

    Modes of equal frequency are combined so that their damping matrix stays diagonal.
    """
    top = largest(n, squares)
    for i in range(n):
        for j in range(n):
            at = i * n + j
            apart = gap(top, squares[i], squares[j])
            mixing[at] = -0.5 * changes[at]  # modes equal in frequency and damping stay orthogonal
            if apart != 0.0:
                mixing[at] = (changes[n * n + at] - squares[j] * changes[at]) / apart
    most = largest(n, squares[n:])
    for i in range(n):
        for j in range(n):
            at = i * n + j
            apart = gap(most, damping[i * n + i], damping[j * n + j])
            if apart != 0.0 and gap(top, squares[i], squares[j]) == 0.0:
                rest = changes[2 * n * n + at] - damping[j * n + j] * changes[at]
                for k in range(n):
                    if gap(top, squares[k], squares[i]) != 0.0:
                        rest += mixing[k * n + i] * damping[k * n + j]
                        rest += mixing[k * n + j] * damping[i * n + k]
                mixing[at] = rest / apart


@kernel
def turn_back(n: int, basis: Array, by: Array, out: Array) -> None:
    """Convert derivatives with respect to a modal basis to those for the system matrices.

    The array ``out``, (3, n, n), contains the derivatives with respect to mass, stiffness and
    damping matrix in modal coordinates.
    """
    squares = basis[2 * n * n :]
    inverse = basis[n * n :]
    damping = basis[2 * n * n + 2 * n :]
    for k in range(n):
        for r in range(n):
            loss = by[2 * n * n + n + r] if damping[r * n + r] >= 0.0 else 0.0
            mixing = 2.0 * damping[r * n + k] * loss
            for i in range(n):
                mixing += by[r * n + i] * basis[k * n + i]
                mixing -= by[n * n + i * n + k] * inverse[i * n + r]
            out[k * n + r] = mixing
            out[2 * n * n + k * n + r] = loss if k == r else 0.0
    _unmix_modes(n, squares, damping, out)
    for r in range(n):
        own = r * n + r
        out[own] -= squares[r] * by[2 * n * n + r]
        out[n * n + own] = by[2 * n * n + r]


@kernel
def _unmix_modes(n: int, squares: Array, damping: Array, out: Array) -> None:
    """Convert derivatives with respect to `_mix_modes` results to those for system matrices."""
    top = largest(n, squares)
    most = largest(n, squares[n:])
    for i in range(n):
        for j in range(n):
            at = i * n + j
            apart = gap(most, damping[i * n + i], damping[j * n + j])
            if gap(top, squares[i], squares[j]) == 0.0:
                by = out[at]
                out[at] = -0.5 * by
                if apart != 0.0:
                    by = by / apart
                    out[at] = -damping[j * n + j] * by
                    out[2 * n * n + at] = by
                    for k in range(n):
                        if gap(top, squares[k], squares[i]) != 0.0:
                            out[k * n + i] += by * damping[k * n + j]
                            out[k * n + j] += by * damping[i * n + k]
    for i in range(n):
        for j in range(n):
            at = i * n + j
            apart = gap(top, squares[i], squares[j])
            out[n * n + at] = 0.0
            if apart != 0.0:
                out[n * n + at] = out[at] / apart
                out[at] = -squares[j] * out[n * n + at]
