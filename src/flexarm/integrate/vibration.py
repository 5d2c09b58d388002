"""How an arm vibrates and decays about its start: what tolerances and step bounds follow from."""

import math
from dataclasses import dataclass

import numpy as np

from flexarm.formulations.loads import coulomb_frictions
from flexarm.links.base import Array
from flexarm.model import Model, start_state

MODERATE = 80  # coordinates up to which all eigenvalues of the damped arm are found
NOTABLE = 1e-3  # damping ratio below which an arm is taken to vibrate as if it had none


@dataclass(frozen=True)
class Vibration:
    """How an arm vibrates about a state.

    Attributes
    ----------
    slowest, fastest
        Least and greatest elastic frequency [rad/s]; 0 for a rigid arm.
    damping
        Least damping ratio of the modes that vibrate, up to ten times the slowest frequency.  Dry
        friction does not count: it damps nothing while it slips, and holds while it sticks.
    largest
        Greatest size of an eigenvalue, vibration or decay [rad/s]; all damping counts.
    rigid, slow
        Filters of rates, (n, n): the part without elastic energy; all modes, each times the
        slowest elastic frequency over its own, so that rates count by the deflections they become.
    """

    slowest: float
    fastest: float
    damping: float
    largest: float
    rigid: Array
    slow: Array


def vibration(model: Model, mass: Array, stiffness: Array, damping: Array) -> Vibration:
    """Find the elastic modes of given matrices at the start; prescribed coordinates do not move."""
    n = model.size
    open_ = [i for i in range(n) if i not in model.prescribed]
    rigid, slow = np.eye(n), np.eye(n)
    if not open_:
        return Vibration(0.0, 0.0, 0.0, 0.0, rigid, slow)
    block = np.ix_(open_, open_)
    lower = np.linalg.cholesky(mass[block])
    inverse = np.linalg.inv(lower)
    symmetric = inverse @ stiffness[block] @ inverse.T
    squares, vectors = np.linalg.eigh((symmetric + symmetric.T) / 2)
    modes = inverse.T @ vectors
    elastic = squares > 1e-9 * max(float(squares[-1]), 1e-12)
    squares = np.where(elastic, squares, 0.0)
    losses = modes.T @ damping[block] @ modes
    largest = largest_rate(squares, losses)
    if not np.any(elastic):
        return Vibration(0.0, 0.0, 0.0, largest, rigid, slow)
    frequencies = np.sqrt(squares[elastic])
    free = modes[:, ~elastic]
    rigid[block] = free @ free.T @ mass[block]
    weights = np.where(
        elastic, frequencies[0] / np.sqrt(np.maximum(squares, squares[elastic][0])), 1
    )
    slow[block] = modes * weights @ modes.T @ mass[block]
    viscous = modes.T @ (damping - dry_damping(model))[block] @ modes
    return Vibration(
        float(frequencies[0]),
        float(frequencies[-1]),
        least_ratio(squares, viscous),
        largest,
        rigid,
        slow,
    )


def least_ratio(squares: Array, losses: Array) -> float:
    """Find the least damping ratio of the modes that vibrate.

    Parameters
    ----------
    squares
        Squares of the undamped frequencies, 0 for modes without elastic energy.
    losses
        Damping matrix of the undamped modes.

    Notes
    -----
    A damper strong enough to hold a joint damps nothing: the links vibrate as on a joint that is
    locked.  The damped modes know, the undamped ones do not.
    """
    elastic = squares > 0
    frequencies = np.sqrt(squares[elastic])
    ratios = np.diag(losses)[elastic] / (2 * frequencies)
    least = float(ratios[frequencies < 10 * frequencies[0]].min())
    if least < NOTABLE or len(squares) > MODERATE:
        return least
    found = _eigenvalues(squares, losses)
    sizes = np.abs(found)
    vibrating = (np.abs(found.imag) > 1e-6 * sizes) & (sizes > 1e-9 * sizes.max())
    if not np.any(vibrating):
        return least
    sizes, decays = sizes[vibrating], -found.real[vibrating]
    return min(least, float((decays / sizes)[sizes < 10 * sizes.min()].min()))


def largest_rate(squares: Array, losses: Array) -> float:
    """Find the greatest size of an eigenvalue, or a bound of it for many coordinates [rad/s]."""
    fastest = float(np.sqrt(squares[-1]))
    loss = float(np.linalg.norm(losses, 2))
    bound = (loss + math.sqrt(loss**2 + 4 * fastest**2)) / 2
    if loss <= 2 * NOTABLE * fastest or len(squares) > MODERATE:
        return bound
    return float(np.abs(_eigenvalues(squares, losses)).max())


def _eigenvalues(squares: Array, losses: Array) -> Array:
    """Find the eigenvalues of damped modes but for those at 0 of their free motion."""
    elastic = squares > 0
    pick = np.eye(len(squares))[elastic]
    # Coordinates times their frequency, so that all entries are rates.
    fast = np.sqrt(squares[elastic])[:, None] * pick
    system = np.block([[np.zeros((len(pick), len(pick))), fast], [-fast.T, -losses]])
    return np.asarray(np.linalg.eigvals(system))


def dry_damping(model: Model) -> Array:
    """Give the part of the damping matrix at the start that is dry friction's slope, (n, n)."""
    result = np.zeros((model.size, model.size))
    _, v = start_state(model)
    for each in coulomb_frictions(model):
        result += each.slope(float(each.row @ v)) * np.outer(each.row, each.row)
    return result
