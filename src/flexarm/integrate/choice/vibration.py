"""Frequencies and decay rates of an arm about its start, from which step sizes are derived."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexarm.integrate.constants import EIGENVALUE_COORDINATES, UNDAMPED_RATIO
from flexarm.linear_model import first_order, undamped
from flexarm.loops.language import Ints
from flexarm.mechanics.loads import coulomb_frictions
from flexarm.model import Model
from flexarm.spatial import Array


class ModeShares(NamedTuple):
    """Share of each of the K vibration modes in each deflection of an arm."""

    places: Array  # share of each mode in each deflection, (groups, K)
    rates: Array  # share of each mode in the rate of each deflection, (groups, K)
    carried: NDArray[np.bool_]  # whether a mode has a share in any deflection or rate, (K,)
    damping: float  # least damping ratio of these modes; 0 for a rigid arm


@dataclass(frozen=True)
class VibrationModes:
    """The K damped vibration modes of an arm.

    Attributes
    ----------
    frequencies, ratios
        Magnitudes of the eigenvalues [rad/s] and damping ratios, (K,). A damping ratio of 1 stands
        for a decay without oscillation.
    shapes
        Mode shapes as coordinates, (n, K). The scale of the mode shapes is such that the squared
        magnitudes of a quantity, summed over all modes, approximately equal the quantity's static
        compliance.
    """

    frequencies: Array
    ratios: Array
    shapes: Array

    def carried(self, rows: Array, group: Ints, *, rates: bool = False) -> Array:
        """Return the share of each mode in each group of deflections or rates, (groups, K).

        The share of a mode is its fraction of the static compliance of the group. For deflections,
        the fraction is weighted by the mode's period, since arms are mostly excited slowly.
        """
        squares = np.abs(rows @ self.shapes) ** 2
        squares = squares if rates else squares / self.frequencies
        count = int(group.max()) + 1 if len(group) else 0
        sums = np.zeros((count, len(self.ratios)))
        np.add.at(sums, group, squares)
        return np.asarray(sums / np.maximum(sums.sum(axis=1, keepdims=True), 1e-300))


@dataclass(frozen=True)
class Vibration:
    """Frequencies, modes and damping of an arm linearised about a state."""

    slowest: float  # least elastic frequency [rad/s]; 0 for a rigid arm
    fastest: float  # greatest elastic frequency [rad/s]; 0 for a rigid arm
    largest: float  # largest magnitude of an eigenvalue, with damping at the given rates [rad/s]
    steepest: float  # `largest` with dry friction linearised at standstill [rad/s]
    basis: Array  # undamped modes of unit mass by columns, (n, n)
    to_modes: Array  # matrix from rates to modal rates, (n, n)
    # Damped modes. Dry friction is left out: in slip it does not damp, and in stick it locks.
    modes: VibrationModes
    # Frequencies of the undamped modes [rad/s], (n,): 0 for motion without elastic energy, negative
    # for overdamped modes.
    rates: Array
    inertia: float  # half the trace of the mass matrix, a kinetic energy at unit rates [J]


def vibration(model: Model, mass: Array, stiffness: Array, damping: Array, v: Array) -> Vibration:
    """Compute frequencies, modes and damping of an arm from its matrices at the rates v.

    Prescribed coordinates are held fixed.
    """
    n = model.size
    free = np.array([i for i in range(n) if i not in model.prescribed], dtype=int)
    basis, to_modes, rates = np.eye(n), np.eye(n), np.zeros(n)
    no_modes = VibrationModes(np.zeros(0), np.zeros(0), np.zeros((n, 0)))
    inertia = float(np.trace(mass) / 2)
    if not len(free):
        return Vibration(0.0, 0.0, 0.0, 0.0, basis, to_modes, no_modes, rates, inertia)
    block = np.ix_(free, free)
    squares, modes = undamped(mass[block], stiffness[block])
    elastic = squares > 1e-9 * max(squares[-1], 1e-12)
    squares = np.where(elastic, squares, 0.0)
    losses = modes.T @ damping[block] @ modes
    largest = steepest = largest_rate(squares, losses)
    viscous = losses
    if coulomb_frictions(model):
        viscous_damping = damping - dry_damping(model, v)
        viscous = modes.T @ viscous_damping[block] @ modes
        sticking = modes.T @ (viscous_damping + dry_damping(model, 0 * v))[block] @ modes
        steepest = largest_rate(squares, sticking)
    basis[block], to_modes[block] = modes, modes.T @ mass[block]
    overdamped = np.diag(viscous) > 2 * np.sqrt(squares)
    rates[free] = np.where(overdamped, -1.0, 1.0) * np.sqrt(squares)
    if not np.any(elastic):
        return Vibration(0.0, 0.0, largest, steepest, basis, to_modes, no_modes, rates, inertia)
    frequencies = np.sqrt(squares[elastic])
    damped = damped_modes(squares, viscous)
    shapes = np.zeros((n, len(damped.ratios)), dtype=damped.shapes.dtype)
    shapes[free] = modes @ damped.shapes
    return Vibration(
        float(frequencies[0]),
        float(frequencies[-1]),
        largest,
        steepest,
        basis,
        to_modes,
        replace(damped, shapes=shapes),
        rates,
        inertia,
    )


def damped_modes(squares: Array, losses: Array) -> VibrationModes:
    """Compute the damped modes as combinations of the k undamped modes.

    Parameters
    ----------
    squares
        Squares of the undamped angular frequencies [rad^2/s^2], (k,); 0 for modes without elastic
        energy.
    losses
        Damping matrix in coordinates of the undamped modes, (k, k).

    Notes
    -----
    A damper that is strong enough to hold a joint dissipates almost nothing: the links vibrate as
    if the joint were locked. Only the damped modes show that such a joint is locked.
    """
    elastic, k = squares > 0, len(squares)
    frequencies = np.sqrt(squares[elastic])
    if np.linalg.norm(losses) <= 2 * UNDAMPED_RATIO * frequencies[0] or k > EIGENVALUE_COORDINATES:
        ratios = np.maximum(np.diag(losses)[elastic] / (2 * frequencies), 0.0)
        return VibrationModes(frequencies, ratios, np.eye(k)[:, elastic] / frequencies)
    eigenvalues, vectors = np.linalg.eig(_system(squares, losses))
    not_rigid = np.abs(eigenvalues) > 1e-9 * np.abs(eigenvalues).max()
    eigenvalues, shapes = eigenvalues[not_rigid], vectors[-k:, not_rigid] / eigenvalues[not_rigid]
    # The receptance is a sum of x x^T / (a (s - eigenvalue)).
    a = 2 * eigenvalues * (shapes**2).sum(axis=0)
    a = a + np.einsum("ik,ij,jk->k", shapes, losses, shapes)
    scale, sizes = np.sqrt(np.maximum(np.abs(a * eigenvalues), 1e-300)), np.abs(eigenvalues)
    return VibrationModes(sizes, np.clip(-eigenvalues.real / sizes, 0.0, 1.0), shapes / scale)


def largest_rate(squares: Array, losses: Array) -> float:
    """Return the largest eigenvalue magnitude [rad/s], or an upper bound for large arms."""
    fastest = np.sqrt(squares[-1])
    loss = np.linalg.norm(losses, 2)
    if len(squares) <= EIGENVALUE_COORDINATES and loss > 2 * UNDAMPED_RATIO * fastest:
        return float(np.abs(np.linalg.eigvals(_system(squares, losses))).max())
    return float((loss + np.sqrt(loss**2 + 4 * fastest**2)) / 2)


def _system(squares: Array, losses: Array) -> Array:
    """Return the first-order system matrix of the damped modes, without rigid positions."""
    elastic = squares > 0
    size = np.sqrt(squares[elastic])
    return first_order(size * np.eye(len(elastic))[:, elastic], losses, size, elastic)


def dry_damping(model: Model, v: Array) -> Array:
    """Return the damping matrix (n, n) of dry friction, linearised at rates v."""
    result = np.zeros((model.size, model.size))
    for friction in coulomb_frictions(model):
        result += friction.slope(float(friction.row @ v)) * np.outer(friction.row, friction.row)
    return result
