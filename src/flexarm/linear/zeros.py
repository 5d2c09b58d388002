"""Transmission zeros of a linear model."""

import numpy as np
import scipy.linalg

from flexarm.errors import FlexarmError
from flexarm.links.base import Array

Complex = np.ndarray[tuple[int, ...], np.dtype[np.complex128]]
RANK = 1e-9  # of the largest number


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
