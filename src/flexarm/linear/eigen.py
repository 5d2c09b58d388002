"""Eigenvalues of ``M x'' + C x' + K x = 0`` to all digits, and zeros of linear models."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg

from flexarm.errors import FlexarmError
from flexarm.linear.at_start import Linear, undamped
from flexarm.links.base import Array

Complex = npt.NDArray[np.complex128]
STILL = 1e-6  # [rad/s] below which nothing is called motion: a period of ten weeks
STILL_SHARE = 1e-9  # the same, of the fastest frequency
SYMMETRIC = 1e-10
ROUNDING = 1e-13  # real part of an eigenvalue that is imaginary, over its size
REAL = 1e-9  # imaginary part of an eigenvalue that is real, over its size
RANK = 1e-9  # singular value that is 0, over the largest one


@dataclass(frozen=True)
class Eigen:
    """Eigenvalues and shapes of small motions, slowest first; of a pair the one above the axis."""

    values: Complex  # eigenvalues [1/s], (k,)
    vectors: Complex  # shapes, (n, k), of unit ``x^H M x``
    rigid: Array  # motions that no force opposes, (n, r)


def eigen(linear: Linear) -> Eigen:
    """Solve the eigenproblem of small motions.

    Parameters
    ----------
    linear
        The matrices; the mass matrix is positive definite, stiffness and damping need not be
        symmetric.

    Notes
    -----
    In the modes of (K + K^T)/2 and M, coordinates scaled by their frequencies, the first-order
    matrix of an undamped arm is skew: its eigenvalues are as good as the matrix.  Motions without
    stiffness, whose double eigenvalue 0 no solver finds to more than half the digits, are taken
    out before.
    """
    n = len(linear.names)
    if n == 0:
        return Eigen(np.zeros(0, complex), np.zeros((0, 0), complex), np.zeros((0, 0)))
    mass = (linear.mass + linear.mass.T) / 2
    squares, basis = undamped(mass, (linear.stiffness + linear.stiffness.T) / 2)
    still = max(STILL, STILL_SHARE * float(np.sqrt(np.abs(squares).max())))
    stiffness, damping = (basis.T @ m @ basis for m in (linear.stiffness, linear.damping))
    size = np.sqrt(np.maximum(np.abs(squares), still**2))
    nearly = np.abs(squares) < still**2
    nearly &= np.linalg.norm(stiffness / size[:, None], axis=0) < 1e3 * still
    moving = ~nearly
    turn = np.abs(stiffness - stiffness.T) / np.outer(size, size)
    drag = np.abs(damping) / np.sqrt(np.outer(size, size))
    symmetric = turn[np.ix_(moving, moving)].max(initial=0.0) < SYMMETRIC
    if symmetric and drag.max() < SYMMETRIC:
        kept = np.flatnonzero(moving)
        kept = kept[np.argsort(np.abs(squares[kept]), kind="stable")]
        roots = np.sqrt(np.abs(squares[kept]))
        values = np.where(squares[kept] > 0, 1j * roots, roots)
        return Eigen(values, basis[:, kept].astype(complex), basis[:, nearly])
    return _general(basis, stiffness, damping, size, nearly, still)


def _general(
    basis: Array,
    stiffness: Array,
    damping: Array,
    size: Array,
    nearly: npt.NDArray[np.bool_],
    still: float,
) -> Eigen:
    """Solve the first-order problem in coordinates of unit mass."""
    n = len(size)
    stiff = np.flatnonzero(~nearly)
    m, order = len(stiff), np.concatenate([np.flatnonzero(nearly), stiff])
    system = np.zeros((m + n, m + n))
    system[np.arange(m), m + (n - m) + np.arange(m)] = size[stiff]
    system[m:, :m] = -stiffness[np.ix_(order, stiff)] / size[stiff]
    system[m:, m:] = -damping[np.ix_(order, order)]
    values, vectors = np.linalg.eig(system)
    kept = [
        i
        for i, value in enumerate(values)
        if abs(value) > still and value.imag >= -REAL * abs(value)
    ]
    real = [i for i in kept if abs(values[i].imag) <= REAL * abs(values[i])]
    for i in real:  # of a real pair, which no damping tells apart, only the growing one
        twin = [j for j in real if abs(values[i] + values[j]) < 1e-6 * abs(values[i])]
        if twin and values[i].real < 0:
            kept.remove(i)
    kept.sort(key=lambda i: abs(values[i]))
    found = values[kept]
    # An undamped arm that turns has no damping: not that of the last digit either.
    found.real[np.abs(found.real) <= ROUNDING * np.abs(found)] = 0.0
    rates = np.zeros((n, len(kept)), complex)
    rates[order] = vectors[m:, kept]
    shapes = basis @ (rates / found)
    weight = np.linalg.norm(rates / found, axis=0)
    rigid = basis[:, nearly]
    if rigid.shape[1]:
        # Without friction a motion that nothing opposes goes on; with it, it is listed as a decay.
        kernel = scipy.linalg.null_space(system, rcond=SYMMETRIC)
        count = min(rigid.shape[1], kernel.shape[1])
        spanned = scipy.linalg.orth(kernel[m : m + rigid.shape[1]], rcond=1e-8)
        rigid = rigid @ spanned if count else rigid[:, :0]
    return Eigen(found, shapes / weight, rigid)


def transmission_zeros(A: Array, B: Array, C: Array, D: Array) -> Complex:
    """Find the finite zeros of a model with as many inputs as outputs [1/s].

    Notes
    -----
    Emami-Naeini & Van Dooren 1982: states that outputs of 0 leave at 0 are taken out until the
    inputs are told by the outputs; what is left moves by itself, at the rates of the zeros.

    Raises
    ------
    FlexarmError
        If there are not as many inputs as outputs, or inputs that no output tells.
    """
    if len(C) != B.shape[1] or not len(C):
        raise FlexarmError(
            f"zeros: are of as many outputs as inputs, got {len(C)} outputs and {B.shape[1]} "
            "inputs: name as many in linearise(outputs=...)"
        )
    balanced, T = scipy.linalg.matrix_balance(A, permute=False)
    A, C = np.asarray(balanced), np.asarray(C @ T)
    B = np.asarray(np.linalg.solve(T, B), dtype=np.float64)
    size = np.abs(np.vstack([B, D])).max(axis=0)
    B, D = np.asarray(B / size), np.asarray(D / size)
    while True:
        U, rank = _compressed(D)
        C, D = U.T @ C, U.T @ D
        held = C[rank:]
        C, D = C[:rank], D[:rank]
        if not len(held):
            break
        V, count = _compressed(held.T)
        if count < len(held):
            raise FlexarmError(
                "zeros: some input does not reach the outputs, or two do so in the same way: "
                "choose other outputs"
            )
        gone, left = V[:, :count], V[:, count:]
        C, D = np.vstack([C @ left, gone.T @ A @ left]), np.vstack([D, gone.T @ B])
        A, B = left.T @ A @ left, left.T @ B
    return np.asarray(np.linalg.eigvals(A - B @ np.linalg.solve(D, C)), dtype=np.complex128)


def _compressed(matrix: Array) -> tuple[Array, int]:
    """Find an orthogonal matrix whose first columns span a matrix's range, and how many do."""
    U, sizes, _ = np.linalg.svd(matrix)
    largest = max(float(sizes[0]) if len(sizes) else 0.0, 1e-300)
    return U, int(np.sum(sizes > max(RANK * largest, 1e-13)))
