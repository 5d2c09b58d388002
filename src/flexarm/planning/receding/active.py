"""The quadratic program of a sample with bounds alone, from what was at them a sample ago.

Unknowns that are thought to be at a bound are put there, the rest is solved for, and what is
beyond a bound, or pushes away from its own, changes sides (Hintermüller, Ito & Kunisch 2003):
where nothing does, the solution is that of the program.  It takes few steps, or is given up.
"""

import math
from dataclasses import dataclass

import numpy as np

from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array as Floats
from flexarm.loops.language import Ints, Record

TRIES = 12


@dataclass
class Program(Record):
    """Minimise ``x^T H x / 2 + g^T x`` between low and top; arrays are flat."""

    n: int
    H: Floats
    g: Floats
    low: Floats
    top: Floats
    x: Floats
    side: Ints  # -1 at the lower bound, 1 at the upper one, else 0
    free: Ints  # unknowns that are solved for
    U: Floats  # of H = U^T U, of what is free
    z: Floats

    @classmethod
    def sized(cls, H: Floats) -> "Program":
        """Make one of a square matrix, which it reads where it is."""
        n = len(H)
        g, low, top, x, z = np.zeros((5, n))
        side, free = np.zeros((2, n), dtype=np.int64)
        return cls(n, H.reshape(-1), g, low, top, x, side, free, np.zeros(n * n), z)


@kernel
def _solve_rest(r: Program) -> int:
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
    for j in range(free):
        row = r.U[j * free :]
        if not row[j] > 0.0:
            return 1
        pivot = 1.0 / math.sqrt(row[j])
        for c in range(j, free):
            row[c] *= pivot
        r.z[j] *= pivot
        for i in range(j + 1, free):
            factor, other = row[i], r.U[i * free :]
            for c in range(i, free):
                other[c] -= factor * row[c]
            r.z[i] -= factor * r.z[j]
    for j in range(free - 1, -1, -1):
        found = r.z[j]
        for c in range(j + 1, free):
            found -= r.U[j * free + c] * r.z[c]
        r.z[j] = found / r.U[j * free + j]
        r.x[r.free[j]] = r.z[j]
    return 0


@kernel
def solve_active(r: Program) -> int:
    """Solve the program from the sides that unknowns have; 0 if it is solved."""
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
                r.side[i] = 0 if push * side > 0.0 else side
            changed += 1 if r.side[i] != side else 0
        if changed == 0:
            return 0
    return 1
