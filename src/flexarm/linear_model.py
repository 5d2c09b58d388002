"""Linear models of small motions: matrices, modes, state-space form, locked coordinates.

`flexarm.linear.tangent` computes the matrices from the symbolic equation of motion,
`flexarm.model.small_motions` from the numbers of a model.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from flexarm.constants import (
    ASYMMETRY,
    LEAST_DIVISOR,
    NEGLIGIBLE,
    ROUNDING,
    SERIES_PHASE,
    SINGULAR,
    SLOWEST_MOTION,
)
from flexarm.errors import FlexarmError
from flexarm.spatial import Array

Complex = npt.NDArray[np.complex128]

# Coefficients of the power series of ``int_0^1 e^(x s) ds``, lowest power first.
SERIES = np.array([1 / math.factorial(k) for k in range(1, 10)]).reshape(3, 3).tolist()


class StateMatrices(NamedTuple):
    """State-space matrices of ``x' = A x + B u``; x stacks coordinates over their rates."""

    A: Array
    B: Array


@dataclass(frozen=True)
class ElasticModes:
    """Undamped modes that store strain energy."""

    frequencies: Array  # angular frequencies, slowest first [rad/s], (k,)
    shares: Array  # share of each coordinate in the strain energy of each mode, 0 to 1, (n, k)
    rigid: int  # number of motions without strain energy
    unstable: int  # number of motions with negative stiffness


@dataclass(frozen=True)
class ComplexModes:
    """Damped modes, slowest first; each conjugate pair is one mode with positive imaginary part."""

    values: Complex  # eigenvalues [1/s], (k,)
    vectors: Complex  # mode shapes x as columns, (n, k), scaled to ``x^H M x = 1``
    rigid: Array  # motions without restoring or damping force, (n, r)


@dataclass(frozen=True)
class LinearModel:
    """Linear equation of small motions ``M x'' + D x' + K x = B u``."""

    mass: Array  # M, (n, n)
    stiffness: Array  # K, (n, n)
    damping: Array  # D, (n, n)
    names: tuple[str, ...]  # names of the coordinates
    inputs: Array | None = None  # B, (n, k); None without inputs

    def along(self, kept: Sequence[int], columns: Array | None = None) -> "LinearModel":
        """Return the model reduced to given coordinates, with all other coordinates locked.

        Parameters
        ----------
        kept
            Indices of the coordinates that remain.
        columns
            Motion of all coordinates per unit of each remaining coordinate, (n, len(kept)). With
            None, the other coordinates do not move.
        """
        columns = np.eye(len(self.names))[:, kept] if columns is None else columns
        mass, stiffness, damping = (
            columns.T @ matrix @ columns for matrix in (self.mass, self.stiffness, self.damping)
        )
        inputs = None if self.inputs is None else columns.T @ self.inputs
        return LinearModel(mass, stiffness, damping, tuple(self.names[i] for i in kept), inputs)

    def state_space(self) -> StateMatrices:
        """Return the state-space matrices A and B."""
        n = len(self.names)
        inputs = np.zeros((n, 0)) if self.inputs is None else self.inputs
        rows = np.linalg.solve(self.mass, np.hstack([-self.stiffness, -self.damping, inputs]))
        A = np.vstack([np.eye(n, 2 * n, n), rows[:, : 2 * n]])
        return StateMatrices(A, np.vstack([np.zeros(inputs.shape), rows[:, 2 * n :]]))

    def undamped(self) -> tuple[Array, Array]:
        """Return squared natural frequencies [1/s^2], (n,), and modes of unit mass, (n, n)."""
        return undamped(self.mass, self.stiffness)

    def elastic_modes(self) -> ElasticModes:
        """Compute the undamped modes that store strain energy; matrices must be symmetric."""
        if not self.names:
            return ElasticModes(np.zeros(0), np.zeros((0, 0)), 0, 0)
        squares, vectors = self.undamped()
        rigid, unstable = _signs(self.stiffness)
        vectors = vectors[:, rigid + unstable :]
        squares = np.maximum(squares[rigid + unstable :], 0.0)
        strain = np.einsum("im,ij,jm->m", vectors, self.stiffness, vectors)
        shares = energy_shares([self.stiffness], strain[None], vectors)
        return ElasticModes(np.sqrt(squares), shares, rigid, unstable)

    def modes(self) -> ComplexModes:
        """Compute the damped modes, including gyroscopic and circulatory forces.

        Notes
        -----
        The equation is transformed to modal coordinates of M and (K + K^T)/2, scaled by their
        frequencies. The first-order matrix of an undamped arm is then skew-symmetric, so that its
        eigenvalues are as accurate as its entries. Motions without stiffness are removed first,
        because solvers compute their double eigenvalue 0 to half the digits only.
        """
        if not self.names:
            return ComplexModes(np.zeros(0, complex), np.zeros((0, 0), complex), np.zeros((0, 0)))
        squares, basis = undamped(
            (self.mass + self.mass.T) / 2, (self.stiffness + self.stiffness.T) / 2
        )
        still = max(SLOWEST_MOTION, NEGLIGIBLE * float(np.sqrt(np.abs(squares).max())))
        stiffness, damping = (basis.T @ m @ basis for m in (self.stiffness, self.damping))
        size = np.sqrt(np.maximum(np.abs(squares), still**2))
        nearly = np.abs(squares) < still**2
        nearly &= np.linalg.norm(stiffness / size[:, None], axis=0) < 1e3 * still
        moving = ~nearly
        turn = np.abs(stiffness - stiffness.T) / np.outer(size, size)
        drag = np.abs(damping) / np.sqrt(np.outer(size, size))
        symmetric = turn[np.ix_(moving, moving)].max(initial=0.0) < ASYMMETRY
        if symmetric and drag.max() < ASYMMETRY:
            moving_modes = np.flatnonzero(moving)
            moving_modes = moving_modes[np.argsort(np.abs(squares[moving_modes]), kind="stable")]
            roots = np.sqrt(np.abs(squares[moving_modes]))
            values = np.where(squares[moving_modes] > 0, 1j * roots, roots)
            return ComplexModes(values, basis[:, moving_modes].astype(complex), basis[:, nearly])
        system = first_order(stiffness[:, moving] / size[moving], damping, size[moving], moving)
        return _complex_modes(system, basis, nearly, still)

    def fastest_rate(self) -> tuple[float, int | None]:
        """Compute the largest eigenvalue magnitude of a model with symmetric matrices [rad/s].

        Returns
        -------
        rate, index
            The rate [rad/s]. If damping determines it, the index of the coordinate that moves most;
            None if the undamped mode of highest frequency determines it.
        """
        if not self.names:
            return 0.0, None
        highest = float(np.sqrt(max(self.undamped()[0][-1], 0.0)))
        if not np.any(self.damping):
            return highest, None
        damped = self.modes()
        rate = float(np.abs(damped.values).max(initial=0.0))
        if rate <= 1.05 * highest:
            return max(rate, highest), None
        moved = np.sqrt(np.diag(self.mass)) * np.abs(damped.vectors[:, -1])
        return rate, int(np.argmax(moved))


def undamped(mass: Array, stiffness: Array) -> tuple[Array, Array]:
    """Solve the eigenvalue problem ``K x = w^2 M x`` of symmetric matrices (n, n).

    Returns
    -------
    squares, modes
        Squared frequencies in ascending order, (n,), and modes of unit modal mass, (n, n).

    Raises
    ------
    numpy.linalg.LinAlgError
        If the mass matrix is not positive definite.
    """
    if not np.all(np.diag(mass) > 0):
        raise np.linalg.LinAlgError("the mass matrix is singular, since a coordinate moves no mass")
    size = np.sqrt(np.diag(mass))[:, None]
    scale = size * size.T
    back = np.linalg.inv(np.linalg.cholesky(mass / scale))
    reduced = back @ (stiffness / scale) @ back.T
    vectors = back.T @ np.linalg.eigh((reduced + reduced.T) / 2)[1] / size
    # Rayleigh quotients restore the accuracy that slow modes lose to rounding in fast ones.
    weights = np.sum(vectors * (mass @ vectors), axis=0)
    squares = np.sum(vectors * (stiffness @ vectors), axis=0) / weights
    order = np.argsort(squares)
    return squares[order], (vectors / np.sqrt(weights))[:, order]


def first_order(
    stiffness: Array, damping: Array, size: Array, moving: npt.NDArray[np.bool_]
) -> Array:
    """Return the first-order matrix in modal coordinates of unit mass, (m + n, m + n).

    States are the positions of the m modes with stiffness, each multiplied by its frequency so that
    all states are rates, and the rates of all n modes.

    Parameters
    ----------
    stiffness
        Forces per scaled position, (n, m).
    damping
        Damping matrix in modal coordinates, (n, n).
    size
        Frequencies [rad/s] by which positions are scaled, (m,).
    moving
        Mask of the modes with stiffness, (n,).
    """
    positions = size[:, None] * np.eye(len(damping))[moving]
    return np.block([[np.zeros((len(size), len(size))), positions], [-stiffness, -damping]])


def _complex_modes(
    system: Array, basis: Array, nearly: npt.NDArray[np.bool_], still: float
) -> ComplexModes:
    """Return the modes of a first-order matrix, with shapes in the original coordinates.

    ``nearly`` is the mask of modes without stiffness, ``still`` the largest eigenvalue magnitude
    [rad/s] that counts as zero.
    """
    n = len(nearly)
    m = len(system) - n
    values, vectors = np.linalg.eig(system)
    upper_half = [
        i
        for i, value in enumerate(values)
        if abs(value) > still and value.imag >= -NEGLIGIBLE * abs(value)
    ]
    real = [i for i in upper_half if abs(values[i].imag) <= NEGLIGIBLE * abs(values[i])]
    for i in real:  # keep only the growing eigenvalue of a pair of real ones
        twin = [j for j in real if abs(values[i] + values[j]) < 1e-6 * abs(values[i])]
        if twin and values[i].real < 0:
            upper_half.remove(i)
    upper_half.sort(key=lambda i: abs(values[i]))
    eigenvalues = values[upper_half]
    # Remove damping at rounding level from the eigenvalues of an undamped, rotating arm.
    eigenvalues.real[np.abs(eigenvalues.real) <= ROUNDING * np.abs(eigenvalues)] = 0.0
    moved = vectors[m:, upper_half] / eigenvalues
    shapes, rigid = basis @ (moved / np.linalg.norm(moved, axis=0)), basis[:, nearly]
    if rigid.shape[1]:
        import scipy.linalg  # takes a quarter of a second, and few commands need it

        # An unopposed motion without friction is rigid; with friction it is listed as a decay.
        kernel = scipy.linalg.null_space(system, rcond=ASYMMETRY)
        spanned = scipy.linalg.orth(kernel[m:][nearly], rcond=1e-8)
        rigid = rigid @ spanned if kernel.shape[1] else rigid[:, :0]
    return ComplexModes(eigenvalues, shapes, rigid)


def _signs(stiffness: Array) -> tuple[int, int]:
    """Return how many eigenvalues of a stiffness matrix are zero, and how many are negative."""
    size = np.sqrt(np.abs(np.diag(stiffness)))
    size[size == 0] = 1.0
    values = np.linalg.eigvalsh(stiffness / np.outer(size, size))
    unstable = int(np.sum(values < -SINGULAR))
    return int(np.sum(np.abs(values) <= SINGULAR)), unstable


def energy_shares(matrices: Sequence[Array], energies: Array, shapes: npt.NDArray[Any]) -> Array:
    """Divide the energies of several parts, (parts, k), among the coordinates, (n, k).

    Shares are not negative and sum to 1 for each of the k motions.

    Notes
    -----
    The energy of a part is divided in proportion to the energies that the coordinates would have if
    each moved alone. Coupling terms, which may be negative, are thereby not assigned to single
    coordinates.
    """
    shares = np.zeros(shapes.shape)
    for matrix, energy in zip(matrices, energies, strict=True):
        alone = np.maximum(np.diag(matrix), 0.0)[:, None] * np.abs(shapes) ** 2
        shares += alone * np.maximum(energy, 0.0) / np.maximum(alone.sum(axis=0), LEAST_DIVISOR)
    return np.asarray(shares / np.maximum(shares.sum(axis=0), LEAST_DIVISOR))


def integral_of_exponential(A: Array, h: float, fastest: float) -> Array:
    """Compute the integral of ``e^(A s)`` from 0 to h by a series and repeated doubling.

    Parameters
    ----------
    A
        Matrices, (..., n, n).
    h
        Upper end of the integral.
    fastest
        Approximate magnitude of the largest eigenvalue.
    """
    doubled = max(0, math.ceil(math.log2(max(fastest * h / SERIES_PHASE, 1.0))))
    unit, X = np.eye(A.shape[-1]), A * (h / 2**doubled)
    square = X @ X
    cube = square @ X
    low, middle, high = (a * unit + b * X + c * square for a, b, c in SERIES)
    integral = (low + cube @ (middle + cube @ high)) * (h / 2**doubled)
    for _ in range(doubled):
        integral = integral + integral @ (unit + A @ integral)
    return np.asarray(integral)


def transmission_zeros(A: Array, B: Array, C: Array, D: Array) -> Complex:
    """Compute the finite transmission zeros [1/s] of a model with as many inputs as outputs.

    Notes
    -----
    States that are 0 whenever the outputs are 0 are eliminated until the outputs determine the
    inputs. The zeros are the eigenvalues of the remaining system (Emami-Naeini & Van Dooren 1982).

    Raises
    ------
    FlexarmError
        If the numbers of inputs and outputs differ, or the outputs do not determine every input.
    """
    if len(C) != B.shape[1] or not len(C):
        raise FlexarmError(
            f"zeros: the model must have as many outputs as inputs, got {len(C)} outputs and "
            f"{B.shape[1]} inputs. Name as many in linearise(outputs=...)."
        )
    import scipy.linalg  # takes a quarter of a second, and few commands need it

    balanced, T = scipy.linalg.matrix_balance(A, permute=False)
    A, C = np.asarray(balanced), np.asarray(C @ T)
    B = np.asarray(np.linalg.solve(T, B), dtype=np.float64)
    size = np.abs(np.vstack([B, D])).max(axis=0)
    B, D = np.asarray(B / size), np.asarray(D / size)
    while True:
        U, rank = _compressed(D)
        C, D = U.T @ C, U.T @ D
        constraint = C[rank:]
        C, D = C[:rank], D[:rank]
        if not len(constraint):
            break
        V, count = _compressed(constraint.T)
        if count < len(constraint):
            raise FlexarmError(
                "zeros: an input does not reach the outputs, or two inputs reach them in the "
                "same way. Choose other outputs."
            )
        eliminated, left = V[:, :count], V[:, count:]
        C, D = np.vstack([C @ left, eliminated.T @ A @ left]), np.vstack([D, eliminated.T @ B])
        A, B = left.T @ A @ left, left.T @ B
    return np.asarray(np.linalg.eigvals(A - B @ np.linalg.solve(D, C)), dtype=np.complex128)


def _compressed(matrix: Array) -> tuple[Array, int]:
    """Return an orthogonal matrix, its first columns a basis of a matrix's range, and the rank."""
    U, sizes, _ = np.linalg.svd(matrix)
    largest = max(float(sizes[0]) if len(sizes) else 0.0, 1e-300)
    return U, int(np.sum(sizes > max(NEGLIGIBLE * largest, 1e-13)))
