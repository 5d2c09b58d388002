"""The quadratic program of a sample, from what was at its bounds a sample ago.

Unknowns and rows that are thought to be at a bound are put there, the rest is solved for, and what
is beyond a bound, or pushes away from its own, changes sides (Hintermüller, Ito & Kunisch 2003):
where nothing does, the solution is that of the program.  It takes few steps, or is given up.
"""

import math
from dataclasses import dataclass

import numpy as np

from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array as Floats
from flexarm.loops.language import Ints, Record

TRIES = 12
BEYOND = 1e-9  # of a row's bound: what is none
RAISED = 1e-12  # of a diagonal, for rows that hardly differ


@dataclass
class QuadraticProgram(Record):
    """Minimise ``x^T H x / 2 + g^T x`` with bounds on x and on ``A x``; arrays are flat."""

    n: int
    m: int
    H: Floats
    A: Floats
    g: Floats
    low: Floats
    top: Floats
    x: Floats
    least: Floats  # of rows
    most: Floats
    price: Floats  # multipliers of rows
    side: Ints  # of unknowns, then of rows: -1 at the lower bound, 1 at the upper one, else 0
    free: Ints  # unknowns that are solved for
    held: Ints  # rows at a bound
    U: Floats  # of H = U^T U, of what is free
    Y: Floats  # U^-T A^T, of what is held, by rows
    S: Floats  # of Y^T Y = S^T S
    z: Floats
    d: Floats

    @classmethod
    def sized(cls, H: Floats, rows: int = 0) -> "QuadraticProgram":
        """Make one of a square matrix, which it reads where it is."""
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
    """Make ``U^T U`` of a matrix's upper half in place, and ``U^-T z`` of z; 0 if that is real."""
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
    """Make ``U^-1 z`` of z."""
    for j in range(n - 1, -1, -1):
        found = z[j]
        for c in range(j + 1, n):
            found -= U[j * n + c] * z[c]
        z[j] = found / U[j * n + j]


@kernel
def _hold_rows(r: QuadraticProgram, free: int) -> int:
    """Take from z what holds rows at their bounds; 0 if there is such."""
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
        found = -(r.least[row] if r.side[n + row] < 0 else r.most[row])
        for c in range(n):
            if r.side[c] != 0:
                found += full[c] * r.x[c]
        for j in range(free):
            y[j] = full[r.free[j]]
        for j in range(free):
            y[j] /= r.U[j * free + j]
            weight, above = y[j], r.U[j * free :]
            for c in range(j + 1, free):
                y[c] -= weight * above[c]
            found += weight * r.z[j]
        r.d[a] = found
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
    """Solve for what is at no bound; 0 if there is a solution."""
    n, free = r.n, 0
    for i in range(n):
        if r.side[i] == 0:
            r.free[free] = i
            free += 1
        else:
            r.x[i] = r.low[i] if r.side[i] < 0 else r.top[i]
    for a in range(free):
        i = r.free[a]
        found = -r.g[i]
        for c in range(n):
            if r.side[c] != 0:
                found -= r.H[i * n + c] * r.x[c]
        r.z[a] = found
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
    """Solve the program from the sides that unknowns and rows have; 0 if it is solved."""
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
