"""Quadratic program of a sample: an active-set method, and DAQP where limits must be given up.

The active-set method begins with the active set of the last sample.  Unknowns and rows in the set
are put to their bounds and the rest is solved for; those beyond a bound enter the set, those whose
multiplier has the wrong sign leave it (Hintermüller, Ito & Kunisch 2003).
"""

import casadi as ca
import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dposv

from flexarm.links.base import Array
from flexarm.spatial import ACCUMULATED, NEGLIGIBLE

TRIES = 12  # changes of the active set at most: a program that is solved takes three or four
PRICE = 1e3  # cost of violating limits, relative to the largest derivative of the cost


def solve_active(
    H: Array, g: Array, A: Array, low: Array, top: Array, side: npt.NDArray[np.int_]
) -> Array | None:
    """Solve ``min x^T H x / 2 + g^T x`` with bounds on x and on ``A x``; None if that fails.

    Parameters
    ----------
    H, g
        Hessian, (n, n), and gradient, (n,).
    A
        Limited combinations of the unknowns, (m, n).
    low, top
        Bounds of the unknowns, then of the rows of A, (n + m,).
    side
        Active set, from which the search begins and which is updated, (n + m,): -1 at the lower
        bound, 1 at the upper one, else 0.
    """
    n = len(g)
    value, push = np.empty((2, len(side)))
    room = np.zeros(len(side))
    room[n:] = NEGLIGIBLE
    least, most = low - room, top + room
    for _ in range(TRIES):
        at = np.where(side < 0, low, top)
        x, free, held = at[:n], (side[:n] == 0).nonzero()[0], side[n:].nonzero()[0]
        x[free] = push[n:] = 0.0
        if len(held) > len(free):
            return None
        if len(free):
            part = H if len(free) == n else H[free[:, None], free]
            rows = A[held[:, None], free]
            right = np.vstack([-(g + H @ x)[free], rows]).T
            _, solved, failed = dposv(part.T, right)
            if len(held) and not failed:
                S = rows @ solved[:, 1:]
                S.flat[:: len(held) + 1] *= 1.0 + ACCUMULATED
                _, price, failed = dposv(S, rows @ solved[:, 0] - (at[n:] - A @ x)[held])
                push[n + held] = -price
            if failed:
                return None
            x[free] = solved[:, 0] + solved[:, 1:] @ push[n + held]
        value[:n], value[n:] = x, A @ x
        push[:n] = g + H @ x - push[n:] @ A
        changed = np.where(push * side > 0, 0, side)
        outside = np.where(value > most, 1, np.where(value < least, -1, 0))
        changed = np.where(side == 0, outside, changed)
        if (changed == side).all():
            return x
        side[:] = changed
    return None


class SoftProgram:
    """The same program by CasADi's DAQP, with rows that may be violated.

    Rows beyond their bounds at x = 0 may be violated, all by the same slack, at a price.

    Parameters
    ----------
    size, rows
        Numbers of unknowns and of rows.
    """

    def __init__(self, size: int, rows: int) -> None:
        n = size + bool(rows)
        shape = {"h": ca.Sparsity.dense(n, n), "a": ca.Sparsity.dense(rows, n)}
        self._solver = ca.conic("program", "daqp", shape, {"error_on_fail": False})

    def solve(self, H: Array, g: Array, A: Array, low: Array, top: Array) -> Array:
        """Return the unknowns, (n,); arguments are those of `solve_active`."""
        n, m = len(g), len(A)
        lower, upper, least, most = low[:n], top[:n], low[n:], top[n:]
        if m:
            price = PRICE * float(np.abs(g).max() + 1e-3 * H[0, 0])
            H = np.block([[H, np.zeros((n, 1))], [np.zeros((1, n)), np.full((1, 1), price)]])
            g, lower, upper = np.append(g, price), np.append(lower, 0.0), np.append(upper, np.inf)
            A = np.column_stack([A, (least > 0) - 1.0 * (most < 0)])
            least, most = np.where(most < 0, -np.inf, least), np.where(least > 0, np.inf, most)
        found = self._solver(h=H, g=g, a=A, lbx=lower, ubx=upper, lba=least, uba=most)
        return np.array(found["x"])[:n, 0]
