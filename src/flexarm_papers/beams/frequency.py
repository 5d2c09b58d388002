"""Frequency equation of the clamped beam with a tip body, and how its roots move.

Theodore & Ghosal 1995 let the tip body of a link change in time, because the link slides out of
its hub or because the arm outboard of it folds.  Instead of finding roots at every instant they
differentiate the frequency equation and integrate its root.

====================  =====  ==============================================================
Theodore & Ghosal     eq.    here
====================  =====  ==============================================================
beta                  9      ``lam``
M, J, D               11     ``mass``, ``inertia``, ``offset``, each over its power of length
f                     38     ``frequency_equation`` (divided by cosh lam)
df/dM, /dJ, /dD       41-43  ``frequency_partials`` (divided by cosh lam)
df/dbeta              44     ``frequency_partials`` (divided by cosh lam)
dbeta/dt              40     ``frequency_rate``
====================  =====  ==============================================================
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flexarm.errors import ShapeError

Array = npt.NDArray[np.float64]
TipBody = tuple[float, float, float]
SERIES_BELOW = 2.0


def beam_products(lam: float) -> "BeamProducts":
    """Evaluate the products of circular and hyperbolic functions, divided by cosh lam.

    Notes
    -----
    With t = tanh lam and h = 1/cosh lam nothing overflows.  Below ``SERIES_BELOW`` the differences
    lose digits (1 - cosh cos is lam^4/6), so their power series are summed instead; all are
    ``sum (-4)^k lam^(4k+n) / (4k+n)!``, the real and imaginary parts of cosh and sinh of (1+i) lam.
    """
    decay = math.exp(-lam)
    h = 2 * decay / (1 + decay * decay)
    t = math.tanh(lam)
    c, s = math.cos(lam), math.sin(lam)
    if lam < SERIES_BELOW:
        total, cross, diff, minus = (
            h * sum((-4) ** k * lam**m / math.factorial(m) for k, m in enumerate(range(n, 36, 4)))
            for n in (1, 2, 3, 4)
        )
        return BeamProducts(h + c, 4 * minus, 4 * diff, 2 * total, 2 * cross, c)
    return BeamProducts(h + c, h - c, s - t * c, s + t * c, t * s, c)


def inertia_determinant(mass: float, inertia: float, offset: float) -> float:
    """Return M J - D^2 without cancellation, and 0 where rounding made it negative."""
    exact = Fraction(mass) * Fraction(inertia) - Fraction(offset) ** 2
    return max(float(exact), 0.0)


def frequency_equation(lam: float, mass: float, inertia: float, offset: float) -> float:
    """Evaluate f / cosh lam, zero at the eigenvalues of the clamped beam with a tip body.

    Parameters
    ----------
    lam
        Trial eigenvalue, > 0 [1].
    mass, inertia, offset
        M = m / (rhoA L), J = J_tip / (rhoA L^3), D = m c / (rhoA L^2) [1].

    Notes
    -----
    Theodore & Ghosal 1995, eqs 11 and 38.
    """
    p = beam_products(lam)
    return (
        p.plus
        - mass * lam * p.diff
        - inertia * lam**3 * p.total
        + inertia_determinant(mass, inertia, offset) * lam**4 * p.minus
        - 2 * offset * lam**2 * p.cross
    )


def frequency_partials(
    lam: float, mass: float, inertia: float, offset: float
) -> "FrequencyPartials":
    """Evaluate the partial derivatives of f, each divided by cosh lam.

    Notes
    -----
    Theodore & Ghosal 1995, eqs 41-44.  cosh lam is a common factor that ``frequency_rate`` cancels;
    it is taken out after differentiation, so ``lam`` is (df/dlam) / cosh lam.
    """
    p = beam_products(lam)
    det = inertia_determinant(mass, inertia, offset)
    return FrequencyPartials(
        lam=-(1 + mass - det * lam**4) * p.diff
        - (2 * offset + 3 * inertia) * lam**2 * p.total
        - 2 * inertia * lam**3 * p.cos
        + 4 * det * lam**3 * p.minus
        - 2 * (mass + 2 * offset) * lam * p.cross,  # (eq. 44)
        mass=-lam * p.diff + inertia * lam**4 * p.minus,  # (eq. 41)
        inertia=-(lam**3) * p.total + mass * lam**4 * p.minus,  # (eq. 42)
        offset=-2 * lam**2 * p.cross - 2 * offset * lam**4 * p.minus,  # (eq. 43)
    )


def frequency_rate(lam: float, body: TipBody, rate: TipBody) -> float:
    """Return dlam/dt [1/s] of an eigenvalue whose tip body changes.

    Parameters
    ----------
    lam
        An eigenvalue of the clamped beam with this tip body [1].
    body, rate
        The tip body M, J, D [1] and its time derivative [1/s].

    Notes
    -----
    Theodore & Ghosal 1995, eq. 40.
    """
    by_lam, *by_body = frequency_partials(lam, *body)
    return -sum(slope * change for slope, change in zip(by_body, rate, strict=True)) / by_lam


def extension_rates(body: TipBody, length: float, speed: float) -> TipBody:
    """Return the rates [1/s] of M, J, D when only the length of the link changes.

    Parameters
    ----------
    body
        M, J, D at this length [1].
    length, speed
        Length [m] of the beam and its rate [m/s].
    """
    mass, inertia, offset = body
    stretch = speed / length
    return -mass * stretch, -3 * inertia * stretch, -2 * offset * stretch


def follow_root(
    lam: float,
    body: Callable[[float], TipBody],
    body_rate: Callable[[float], TipBody],
    times: npt.ArrayLike,
) -> Array:
    """Integrate an eigenvalue along a changing tip body.

    Parameters
    ----------
    lam
        Eigenvalue at the first time [1].
    body, body_rate
        M, J, D [1] and their rates [1/s] as functions of time [s].
    times
        Increasing times [s] (n,).

    Returns
    -------
    Array
        The eigenvalue at each time (n,).

    Notes
    -----
    Theodore & Ghosal 1995, section 4.2, with the explicit Runge-Kutta pair of order 8.
    """
    from scipy.integrate import solve_ivp

    grid = np.asarray(times, dtype=float)
    if grid.ndim != 1 or grid.size < 2 or not np.all(np.diff(grid) > 0):
        raise ShapeError(f"times: expected two or more increasing times, got {times!r}")

    def rate(time: float, state: Array) -> list[float]:
        return [frequency_rate(float(state[0]), body(time), body_rate(time))]

    solution = solve_ivp(rate, (grid[0], grid[-1]), [lam], "DOP853", grid, rtol=1e-12, atol=1e-12)
    if not solution.success:
        raise ShapeError(
            f"follow_root: stopped at t = {solution.t[-1]:g} s ({solution.message}); "
            "expected a smooth tip body, check body and body_rate"
        )
    return np.asarray(solution.y[0], dtype=float)


class BeamProducts(NamedTuple):
    """Products of circular (c, s) and hyperbolic (C, S) functions of lam, all over C."""

    plus: float
    """1 + C c"""
    minus: float
    """1 - C c"""
    diff: float
    """C s - S c"""
    total: float
    """C s + S c"""
    cross: float
    """S s"""
    cos: float
    """C c"""


class FrequencyPartials(NamedTuple):
    """Partial derivatives of the frequency equation, all over cosh lam."""

    lam: float
    mass: float
    inertia: float
    offset: float
