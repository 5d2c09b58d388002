"""Stability margins of a single-input loop: gain, phase, distance of the response from -1.

Frequencies at which the frequency response is real or has magnitude 1 are imaginary eigenvalues, so
no frequency grid is needed that could miss one; the largest sensitivity is found by an iteration on
the frequencies at which it exceeds a bound (Bruinsma & Steinbuch 1990).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg

from flexarm.control.constants import MARGIN_ACCURACY, PEAK_ITERATIONS
from flexarm.spatial import Array


@dataclass(frozen=True)
class Margins:
    """Stability margins of a control loop opened at one input, with the other inputs closed.

    Attributes
    ----------
    gain
        Factor of the loop's gain at the limit of stability; infinite if there is none.
    phase
        Phase lag at the limit of stability [rad]; infinite if there is none.
    distance
        Least distance of the loop's frequency response from -1: one over the largest sensitivity.
    """

    gain: float
    phase: float
    distance: float


def margins_of(A: Array, b: Array, c: Array) -> Margins:
    """Return the stability margins of the loop ``c (s - A)^-1 b`` under negative feedback.

    Parameters
    ----------
    A, b, c
        Matrices of the open loop, (n, n), (n,) and (n,); the closed loop ``A - b c`` must have no
        growing mode.
    """
    A, b, c = _balanced(A, b, c)

    def loop(frequency: float) -> complex:
        return _response(A, b, c, frequency)

    steady = loop(0.0)
    real = [response.real for response in _crossings(loop, np.imag, _real_at(A, b, c))]
    real += [steady.real] if math.isfinite(abs(steady)) else []
    ones = _crossings(loop, lambda x: abs(x) - 1.0, _hamiltonian(A, b, c, 0.0, 1.0))
    return Margins(
        min((-1 / response for response in real if -1 < response < 0), default=math.inf),
        min(
            (float(np.angle(response) + np.pi) % (2 * np.pi) for response in ones), default=math.inf
        ),
        1 / _largest_sensitivity(A, b, c),
    )


def _balanced(A: Array, b: Array, c: Array) -> tuple[Array, Array, Array]:
    """Return A, b and c in scaled states, with balanced A and equal norms of b and c."""
    scaled, (sizes, _) = scipy.linalg.matrix_balance(A, permute=False, separate=True)
    b, c = b / sizes, c * sizes
    of_b, of_c = (max(float(np.linalg.norm(x)), 1e-150) for x in (b, c))
    ratio = math.sqrt(of_c / of_b)
    return np.asarray(scaled), b * ratio, c / ratio


def _response(A: Array, b: Array, c: Array, frequency: float) -> complex:
    try:
        return complex(c @ np.linalg.solve(1j * frequency * np.eye(len(A)) - A, b))
    except np.linalg.LinAlgError:  # at a pole
        return complex(math.inf, 0.0)


def _crossings(
    loop: Callable[[float], complex], value: Callable[[complex], float], frequencies: Array
) -> list[complex]:
    """Return the frequency responses where ``value`` crosses zero near given frequencies."""
    from scipy.optimize import brentq

    responses = []
    for frequency in frequencies:
        low, high = (1 - MARGIN_ACCURACY) * frequency, (1 + MARGIN_ACCURACY) * frequency
        ends = value(loop(low)), value(loop(high))
        if np.all(np.isfinite(ends)) and ends[0] * ends[1] <= 0:
            at = brentq(lambda w: value(loop(w)), low, high, xtol=1e-15 * frequency, rtol=1e-14)
            responses.append(loop(float(at)))
    return responses


def _real_at(A: Array, b: Array, c: Array) -> Array:
    """Return frequencies [rad/s] at which the response may be real: zeros of L(s) - L(-s)."""
    n = len(A)
    pencil = np.zeros((2 * n + 1, 2 * n + 1))
    pencil[:n, :n], pencil[n:-1, n:-1] = A, -A
    pencil[:-1, -1], pencil[-1, :-1] = np.tile(b, 2), np.tile(c, 2)
    mass = np.eye(2 * n + 1)
    mass[-1, -1] = 0.0
    return _frequencies(scipy.linalg.eigvals(pencil, mass))


def _hamiltonian(A: Array, b: Array, c: Array, direct: float, size: float) -> Array:
    """Return frequencies [rad/s] where ``|direct + c (jw - A)^-1 b|`` may equal ``size``."""
    left = size**2 - direct**2
    inner = A + np.outer(b, c) * (direct / left)
    whole = np.block([
        [inner, np.outer(b, b) / left],
        [-np.outer(c, c) * (1 + direct**2 / left), -inner.T],
    ])  # fmt: skip
    return _frequencies(np.linalg.eigvals(whole))


def _frequencies(eigenvalues: npt.NDArray[np.complexfloating]) -> Array:
    size = np.abs(np.imag(eigenvalues[np.isfinite(eigenvalues)]))
    return np.unique(size[size > 0])


def _largest_sensitivity(A: Array, b: Array, c: Array) -> float:
    """Return the peak of the sensitivity ``|1 / (1 + L)|`` over frequency, at least 1."""
    closed = A - np.outer(b, c)

    def sensitivity(frequency: float) -> float:
        return abs(1.0 - _response(closed, b, c, frequency))

    poles = np.linalg.eigvals(closed)
    tried = [0.0, *np.abs(poles), *np.abs(poles.imag)]
    most = max(1.0, *(x for x in map(sensitivity, tried) if math.isfinite(x)))
    for _ in range(PEAK_ITERATIONS):
        ends = _hamiltonian(closed, b, -c, 1.0, (1 + MARGIN_ACCURACY) * most)
        between = [*np.sqrt(ends[:-1] * ends[1:]), *ends]
        better = max((x for x in map(sensitivity, between) if math.isfinite(x)), default=0.0)
        if better <= (1 + MARGIN_ACCURACY) * most:
            break
        most = better
    return most
