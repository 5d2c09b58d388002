"""How an arm vibrates and decays about its start: what tolerances and step bounds follow from."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flexarm.linear_model import first_order, undamped
from flexarm.links.base import Array
from flexarm.loops.language import Ints
from flexarm.mechanics.drives import coulomb_frictions
from flexarm.model import Model
from flexarm.varied import agreed, plain

MODERATE = 80  # coordinates up to which all eigenvalues of the damped arm are found
NOTABLE = 1e-3  # damping ratio below which an arm is taken to vibrate as if it had none


@dataclass(frozen=True)
class VibrationModes:
    """The K damped modes of an arm, or of designs of it along a first axis.

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
        squares = squares if rates else squares / self.frequencies[..., None, :]
        count = int(group.max()) + 1 if len(group) else 0
        sums = np.zeros((*self.ratios.shape[:-1], count, self.ratios.shape[-1]))
        for g in range(count):
            sums[..., g, :] = squares[..., group == g, :].sum(axis=-2)
        return np.asarray(sums / np.maximum(sums.sum(axis=-1, keepdims=True), 1e-300))

    def pace(self, rows: Array, group: Ints) -> Array:
        """Give the frequency [rad/s] at which each group of quantities vibrates, (groups,)."""
        return np.asarray((self.carried(rows, group) @ self.frequencies[..., None])[..., 0])


@dataclass(frozen=True)
class Vibration:
    """How an arm vibrates about a state; of designs of it, all has a first axis more."""

    # slowest, fastest: least and greatest elastic frequency [rad/s]; 0 for a rigid arm.
    slowest: float
    fastest: float
    # largest, steepest: greatest size of an eigenvalue, vibration or decay [rad/s]; all damping
    # counts.  The same where dry friction has come to rest.
    largest: float
    steepest: float
    # basis, to_modes: undamped modes of unit mass by columns, and what takes rates to theirs, (n,
    # n).
    basis: Array
    to_modes: Array
    # Its modes with their damping.  Dry friction does not count: it damps nothing while it slips,
    # and holds while it sticks.
    modes: VibrationModes
    # Frequencies of the undamped modes [rad/s], (n,), 0 for motion without elastic energy, negative
    # of modes that dampers keep from vibrating.
    rates: Array
    inertia: float  # half the sum of what all coordinates move, at unit rates [J]


def vibration(model: Model, mass: Array, stiffness: Array, damping: Array, v: Array) -> Vibration:
    """Find the elastic modes of given matrices at rates v; prescribed coordinates do not move.

    Raises
    ------
    Differ
        If the matrices are those of designs, (N, n, n), and these differ in which modes are
        elastic, or in whether damping is notable.
    """
    n, designs = model.size, mass.shape[:-2]
    open_ = np.array([i for i in range(n) if i not in model.prescribed], dtype=int)
    basis, to_modes = (np.zeros(mass.shape) + np.eye(n) for _ in range(2))
    rates = np.zeros(mass.shape[:-1])
    none = VibrationModes(
        np.zeros((*designs, 0)), np.zeros((*designs, 0)), np.zeros((*designs, n, 0))
    )
    inertia, zero = plain(np.trace(mass, axis1=-2, axis2=-1) / 2), plain(np.zeros(designs))
    if not len(open_):
        return Vibration(zero, zero, zero, zero, basis, to_modes, none, rates, inertia)
    block = (..., open_[:, None], open_)
    squares, modes = undamped(mass[block], stiffness[block])
    elastic = squares > 1e-9 * np.maximum(squares[..., -1:], 1e-12)
    squares, kept = np.where(elastic, squares, 0.0), _common(elastic)
    losses = modes.mT @ damping[block] @ modes
    largest = steepest = largest_rate(squares, losses)
    viscous = losses
    if coulomb_frictions(model):
        smooth = damping - dry_damping(model, v)
        viscous = modes.mT @ smooth[block] @ modes
        stuck = modes.mT @ (smooth + dry_damping(model, 0 * v))[block] @ modes
        steepest = largest_rate(squares, stuck)
    basis[block], to_modes[block] = modes, modes.mT @ mass[block]
    still = np.diagonal(viscous, axis1=-2, axis2=-1) > 2 * np.sqrt(squares)
    rates[..., open_] = np.where(still, -1.0, 1.0) * np.sqrt(squares)
    if not np.any(kept):
        return Vibration(zero, zero, largest, steepest, basis, to_modes, none, rates, inertia)
    frequencies = np.sqrt(squares[..., kept])
    found = damped_modes(squares, viscous)
    shapes = np.zeros((*designs, n, found.ratios.shape[-1]), dtype=found.shapes.dtype)
    shapes[..., open_, :] = modes @ found.shapes
    return Vibration(
        plain(frequencies[..., 0]),
        plain(frequencies[..., -1]),
        largest,
        steepest,
        basis,
        to_modes,
        replace(found, shapes=shapes),
        rates,
        inertia,
    )


def _common(answers: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Give the answers, (k,), that all designs have, (..., k)."""
    rows = answers.reshape(-1, answers.shape[-1])
    agreed(np.all(rows == rows[0], axis=-1))
    return np.asarray(rows[0])


def damped_modes(squares: Array, losses: Array) -> VibrationModes:
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
    elastic, k = _common(squares > 0), squares.shape[-1]
    frequencies = np.sqrt(squares[..., elastic])
    weak = np.linalg.norm(losses, axis=(-2, -1)) <= 2 * NOTABLE * frequencies[..., 0]
    if agreed(np.asarray(weak)) or k > MODERATE:
        ratios = np.diagonal(losses, axis1=-2, axis2=-1)[..., elastic] / (2 * frequencies)
        return VibrationModes(frequencies, np.maximum(ratios, 0.0), np.eye(k)[:, elastic]
                     / frequencies[..., None, :])  # fmt: skip
    found, vectors = np.linalg.eig(_system(squares, losses))
    sizes = np.abs(found)
    gone = sizes <= 1e-9 * sizes.max(axis=-1, keepdims=True)
    number = int((~gone).sum(axis=-1).flat[0])
    agreed((~gone).sum(axis=-1) == number)
    kept = np.argsort(gone, axis=-1, kind="stable")[..., :number]
    found, sizes = (np.take_along_axis(each, kept, axis=-1) for each in (found, sizes))
    shapes = np.take_along_axis(vectors[..., -k:, :], kept[..., None, :], axis=-1)
    shapes = shapes / found[..., None, :]
    # The receptance is a sum of x x^T / (a (s - eigenvalue)).
    a = 2 * found * (shapes**2).sum(axis=-2)
    a = a + np.einsum("...ik,...ij,...jk->...k", shapes, losses, shapes)
    scale = np.sqrt(np.maximum(np.abs(a * found), 1e-300))
    return VibrationModes(
        sizes, np.clip(-found.real / sizes, 0.0, 1.0), shapes / scale[..., None, :]
    )


def largest_rate(squares: Array, losses: Array) -> float:
    """Find the greatest size of an eigenvalue, or a bound of it for many coordinates [rad/s]."""
    fastest = np.sqrt(squares[..., -1])
    loss = np.linalg.norm(losses, 2, axis=(-2, -1))
    found = np.asarray((loss + np.sqrt(loss**2 + 4 * fastest**2)) / 2)
    exact = loss > 2 * NOTABLE * fastest
    if squares.shape[-1] <= MODERATE and np.any(exact):
        system = _system(squares, losses)[exact]
        found[exact] = np.abs(np.linalg.eigvals(system)).max(axis=-1)
    return plain(found)


def _system(squares: Array, losses: Array) -> Array:
    """Return the matrix whose eigenvalues are those of damped modes, free motion at 0 left out."""
    elastic = _common(squares > 0)
    size = np.sqrt(squares[..., elastic])
    return first_order(size[..., None, :] * np.eye(len(elastic))[:, elastic], losses, size, elastic)


def dry_damping(model: Model, v: Array) -> Array:
    """Give the part of the damping matrix at rates v that is dry friction's slope, (n, n)."""
    result = np.zeros((model.size, model.size))
    for each in coulomb_frictions(model):
        result += each.slope(float(each.row @ v)) * np.outer(each.row, each.row)
    return result
