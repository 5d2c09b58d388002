"""Quadratic program of model predictive control, solved by DAQP."""

import numpy as np

from flexarm.spatial import Array

SOFT = 8  # DAQP's sign of a constraint that may be violated if need be


def solve_program(H: Array, g: Array, A: Array, low: Array, top: Array) -> Array:
    """Return the minimiser of ``x^T H x / 2 + g^T x`` with bounds on x and ``A x``, shape (n,).

    If the bounds are infeasible, those that x = 0 violates are relaxed as little as possible.

    Parameters
    ----------
    H, g
        Hessian, (n, n), and gradient, (n,).
    A
        Limited combinations of the unknowns, (m, n).
    low, top
        Bounds of the unknowns, then of the rows of A, (n + m,).
    """
    import daqp

    sense = np.zeros(len(low), dtype=np.int32)
    x, _, ending, _ = daqp.solve(H, g, A, top, low, sense)
    if ending < 1:
        sense[(low > 0) | (top < 0)] = SOFT
        x, *_ = daqp.solve(H, g, A, top, low, sense)
    return np.asarray(x)
