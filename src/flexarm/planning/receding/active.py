"""Active-set solver of a sample's quadratic program, from the active set of the last sample.

Unknowns and rows in the active set are put to their bounds and the rest is solved for; those beyond
a bound enter the set, those whose multiplier has the wrong sign leave it (Hintermüller, Ito &
Kunisch 2003).  If the set does not change, the program is solved; after a few steps it is given up.
"""

import math
from dataclasses import dataclass

import numpy as np

from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array as Floats
from flexarm.loops.language import Ints, Record

TRIES = 12  # changes of the active set at most: a program that is solved takes three or four
BEYOND = 1e-9  # violation of a row's bound that is rounding
RAISED = 1e-12  # relative addition to a diagonal, for rows that are nearly dependent


@dataclass
class QuadraticProgram(Record):
    """The program ``min x^T H x / 2 + g^T x`` with bounds on x and on ``A x``; arrays are flat."""

    n: int  # number of unknowns
    m: int  # number of rows of A
    H: Floats  # Hessian, (n, n)
    A: Floats  # rows, (m, n)
    g: Floats  # gradient, (n,)
    low: Floats  # lower bounds of the unknowns, (n,)
    top: Floats  # upper bounds of the unknowns, (n,)
    x: Floats  # solution, (n,)
    least: Floats  # lower bounds of the rows, (m,)
    most: Floats  # upper bounds of the rows, (m,)
    price: Floats  # multipliers of the rows, (m,)
    side: Ints  # active set, unknowns then rows: -1 at the lower bound, 1 at the upper one, else 0
    free: Ints  # indices of the unknowns at no bound
    held: Ints  # indices of the rows at a bound
    U: Floats  # Cholesky factor H = U^T U of the free unknowns
    Y: Floats  # U^-T A^T of the held rows, by rows
    S: Floats  # Cholesky factor Y^T Y = S^T S
    z: Floats  # work, (n,)
    d: Floats  # work, (m,)

    @classmethod
    def sized(cls, H: Floats, rows: int = 0) -> "QuadraticProgram":
        """Return a program with a Hessian, which is not copied."""
        n = len(H)
        g, low, top, x, z = np.zeros((5, n))
        least, most, price, d = np.zeros((4, rows))
        side, free, held = (np.zeros(size, dtype=np.int64) for size in (n + rows, n, rows))
        A, Y = np.zeros((2, rows * n))
        return cls(
            n, rows, H.reshape(-1), A, g, low, top, x, least, most, price, side, free, held,
            np.zeros(n * n), Y, np.zeros(rows * rows), z, d,
        )  # fmt: skip


@kernel
def factor(n: int, U: Floats, z: Floats) -> int:
    """Factorise a matrix ``U^T U`` in place and replace z by ``U^-T z``; 0 if it is positive."""
    for j in range(n):
        row = U[j * n :]
        if not row[j] > 0.0:
            return 1
        pivot = 1.0 / math.sqrt(row[j])
        for c in range(j, n):
            row[c] *= pivot
        z[j] *= pivot
        for i in range(j + 1, n):
            weight, other = row[i], U[i * n :]
            for c in range(i, n):
                other[c] -= weight * row[c]
            z[i] -= weight * z[j]
    return 0


@kernel
def back(n: int, U: Floats, z: Floats) -> None:
    """Replace z by ``U^-1 z``."""
    for j in range(n - 1, -1, -1):
        value = z[j]
        for c in range(j + 1, n):
            value -= U[j * n + c] * z[c]
        z[j] = value / U[j * n + j]


@kernel
def _hold_rows(r: QuadraticProgram, free: int) -> int:
    """Add multipliers to z that hold rows at their bounds; 0 if there are some."""
    n, held = r.n, 0
    for row in range(r.m):
        r.price[row] = 0.0
        if r.side[n + row] != 0:
            r.held[held] = row
            held += 1
    if held > free:
        return 1
    for a in range(held):
        row = r.held[a]
        full, y = r.A[row * n :], r.Y[a * n :]
        value = -(r.least[row] if r.side[n + row] < 0 else r.most[row])
        for c in range(n):
            if r.side[c] != 0:
                value += full[c] * r.x[c]
        for j in range(free):
            y[j] = full[r.free[j]]
        for j in range(free):
            y[j] /= r.U[j * free + j]
            weight, above = y[j], r.U[j * free :]
            for c in range(j + 1, free):
                y[c] -= weight * above[c]
            value += weight * r.z[j]
        r.d[a] = value
        for b in range(a + 1):
            product, other = 0.0, r.Y[b * n :]
            for j in range(free):
                product += y[j] * other[j]
            r.S[b * held + a] = product * (1.0 + RAISED) if a == b else product
    if factor(held, r.S, r.d) != 0:
        return 1
    back(held, r.S, r.d)
    for a in range(held):
        weight, y = r.d[a], r.Y[a * n :]
        r.price[r.held[a]] = weight
        for j in range(free):
            r.z[j] -= weight * y[j]
    return 0


@kernel
def _solve_rest(r: QuadraticProgram) -> int:
    """Solve for the free unknowns; 0 if there is a solution."""
    n, free = r.n, 0
    for i in range(n):
        if r.side[i] == 0:
            r.free[free] = i
            free += 1
        else:
            r.x[i] = r.low[i] if r.side[i] < 0 else r.top[i]
    for a in range(free):
        i = r.free[a]
        value = -r.g[i]
        for c in range(n):
            if r.side[c] != 0:
                value -= r.H[i * n + c] * r.x[c]
        r.z[a] = value
        for b in range(a, free):
            r.U[a * free + b] = r.H[i * n + r.free[b]]
    if factor(free, r.U, r.z) != 0 or _hold_rows(r, free) != 0:
        return 1
    back(free, r.U, r.z)
    for j in range(free):
        r.x[r.free[j]] = r.z[j]
    return 0


@kernel
def solve_active(r: QuadraticProgram) -> int:
    """Solve the program from the present active set; 0 if it is solved."""
    n = r.n
    for _ in range(TRIES):
        if _solve_rest(r) != 0:
            return 1
        changed = 0
        for i in range(n):
            side = r.side[i]
            if side == 0:
                r.side[i] = -1 if r.x[i] < r.low[i] else (1 if r.x[i] > r.top[i] else 0)
            else:
                push = r.g[i]
                for c in range(n):
                    push += r.H[i * n + c] * r.x[c]
                for row in range(r.m):
                    push += r.A[row * n + i] * r.price[row]
                r.side[i] = 0 if push * side > 0.0 else side
            changed += 1 if r.side[i] != side else 0
        for row in range(r.m):
            side = r.side[n + row]
            if side == 0:
                value, full = 0.0, r.A[row * n :]
                for c in range(n):
                    value += full[c] * r.x[c]
                low, top = r.least[row] - BEYOND, r.most[row] + BEYOND
                r.side[n + row] = -1 if value < low else (1 if value > top else 0)
            elif r.price[row] * side < 0.0:
                r.side[n + row] = 0
            changed += 1 if r.side[n + row] != side else 0
        if changed == 0:
            return 0
    return 1
