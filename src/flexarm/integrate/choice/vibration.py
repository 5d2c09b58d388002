"""How an arm vibrates and decays about its start: what tolerances and step bounds follow from."""

import math
from dataclasses import dataclass, replace

import numpy as np

from flexarm.links.base import Array
from flexarm.loops.language import Ints
from flexarm.mechanics.drives import coulomb_frictions
from flexarm.model import Model, start_state

MODERATE = 80  # coordinates up to which all eigenvalues of the damped arm are found
NOTABLE = 1e-3  # damping ratio below which an arm is taken to vibrate as if it had none


@dataclass(frozen=True)
class Modes:
    """The K damped modes of an arm.

    Attributes
    ----------
    frequencies, ratios
        Sizes of the eigenvalues [rad/s] and damping ratios, (K,); 1 for a decay.
    shapes
        Coordinates, (n, K), so scaled that the squared sizes of a quantity's entries add up to its
        compliance, about: that of one mode is what the mode carries of it.
    """

    frequencies: Array
    ratios: Array
    shapes: Array

    def carried(self, rows: Array, group: Ints, *, rates: bool = False) -> Array:
        """Give the share that each mode has in each group of quantities, (groups, K), or rates.

        It goes by the compliance that a mode carries times its period: what drives an arm is slow.
        """
        squares = np.abs(rows @ self.shapes) ** 2
        squares = squares if rates else squares / self.frequencies
        count = int(group.max()) + 1 if len(group) else 0
        sums = np.array([squares[group == g].sum(axis=0) for g in range(count)])
        sums = sums.reshape(count, len(self.ratios))
        return np.asarray(sums / np.maximum(sums.sum(axis=1, keepdims=True), 1e-300))

    def pace(self, rows: Array, group: Ints) -> Array:
        """Give the frequency [rad/s] at which each group of quantities vibrates, (groups,)."""
        return np.asarray(self.carried(rows, group) @ self.frequencies)


@dataclass(frozen=True)
class Vibration:
    """How an arm vibrates about a state.

    Attributes
    ----------
    slowest, fastest
        Least and greatest elastic frequency [rad/s]; 0 for a rigid arm.
    largest
        Greatest size of an eigenvalue, vibration or decay [rad/s]; all damping counts.
    basis, to_modes
        Undamped modes of unit mass by columns, and what takes rates to theirs, (n, n).
    modes
        Its modes with their damping.  Dry friction does not count: it damps nothing while it slips,
        and holds while it sticks.
    inertia
        Half the sum of what all coordinates move, at unit rates [J].
    """

    slowest: float
    fastest: float
    largest: float
    basis: Array
    to_modes: Array
    modes: Modes
    inertia: float


def vibration(model: Model, mass: Array, stiffness: Array, damping: Array) -> Vibration:
    """Find the elastic modes of given matrices at the start; prescribed coordinates do not move."""
    n = model.size
    open_ = [i for i in range(n) if i not in model.prescribed]
    basis, to_modes = np.eye(n), np.eye(n)
    none = Modes(np.zeros(0), np.zeros(0), np.zeros((n, 0)))
    inertia = float(np.trace(mass)) / 2
    if not open_:
        return Vibration(0.0, 0.0, 0.0, basis, to_modes, none, inertia)
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
    basis[block], to_modes[block] = modes, modes.T @ mass[block]
    if not np.any(elastic):
        return Vibration(0.0, 0.0, largest, basis, to_modes, none, inertia)
    frequencies = np.sqrt(squares[elastic])
    viscous = modes.T @ (damping - dry_damping(model))[block] @ modes
    found = damped_modes(squares, viscous)
    shapes = np.zeros((n, len(found.ratios)), dtype=found.shapes.dtype)
    shapes[open_] = modes @ found.shapes
    return Vibration(
        float(frequencies[0]),
        float(frequencies[-1]),
        largest,
        basis,
        to_modes,
        replace(found, shapes=shapes),
        inertia,
    )


def damped_modes(squares: Array, losses: Array) -> Modes:
    """Find the damped modes in terms of the undamped ones.

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
    weak = np.linalg.norm(losses) <= 2 * NOTABLE * frequencies[0]
    if weak or len(squares) > MODERATE:
        ratios = np.diag(losses)[elastic] / (2 * frequencies)
        return Modes(frequencies, np.maximum(ratios, 0.0), np.eye(len(squares))[:, elastic]
                     / frequencies)  # fmt: skip
    found, vectors = np.linalg.eig(_system(squares, losses))
    sizes = np.abs(found)
    kept = sizes > 1e-9 * sizes.max()
    found, sizes = found[kept], sizes[kept]
    shapes = vectors[-len(squares) :, kept] / found
    # The receptance is a sum of x x^T / (a (s - eigenvalue)).
    a = 2 * found * (shapes**2).sum(axis=0) + np.einsum("ik,ij,jk->k", shapes, losses, shapes)
    scale = np.sqrt(np.maximum(np.abs(a * found), 1e-300))
    return Modes(sizes, np.clip(-found.real / sizes, 0.0, 1.0), shapes / scale)


def largest_rate(squares: Array, losses: Array) -> float:
    """Find the greatest size of an eigenvalue, or a bound of it for many coordinates [rad/s]."""
    fastest = float(np.sqrt(squares[-1]))
    loss = float(np.linalg.norm(losses, 2))
    bound = (loss + math.sqrt(loss**2 + 4 * fastest**2)) / 2
    if loss <= 2 * NOTABLE * fastest or len(squares) > MODERATE:
        return bound
    return float(np.abs(np.linalg.eigvals(_system(squares, losses))).max())


def _system(squares: Array, losses: Array) -> Array:
    """Make the matrix whose eigenvalues are those of damped modes, but for free motion's at 0."""
    elastic = squares > 0
    pick = np.eye(len(squares))[elastic]
    # Coordinates times their frequency, so that all entries are rates.
    fast = np.sqrt(squares[elastic])[:, None] * pick
    return np.block([[np.zeros((len(pick), len(pick))), fast], [-fast.T, -losses]])


def dry_damping(model: Model) -> Array:
    """Give the part of the damping matrix at the start that is dry friction's slope, (n, n)."""
    result = np.zeros((model.size, model.size))
    _, v = start_state(model)
    for each in coulomb_frictions(model):
        result += each.slope(float(each.row @ v)) * np.outer(each.row, each.row)
    return result
