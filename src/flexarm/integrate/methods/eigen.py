"""The symmetric eigenproblem in compiled loops: K by L of M = L L^T, tridiagonal, then diagonal."""

import math

from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array

ALIKE = 1e-9  # squared frequencies whose modes are not told apart, of the larger one
NOTHING = 1e-13  # and of the largest of all, which rounding leaves of those that are 0
SWEEPS = 20  # of rotations, at most


@kernel
def cholesky(n: int, a: Array) -> int:
    """Factorise a symmetric matrix as L L^T in its lower half; 0 if it is positive definite.

    Four rows at a time read another one once; the last one may be done again.
    """
    for j in range(n):
        own = a[j * n + j]
        for k in range(j):
            own -= a[j * n + k] * a[j * n + k]
        if not own > 0.0:
            return 1
        pivot = 1.0 / math.sqrt(own)
        a[j * n + j] = own * pivot
        for i in range(j + 1, n, 4):
            r0 = i * n
            r1 = min(i + 1, n - 1) * n
            r2 = min(i + 2, n - 1) * n
            r3 = min(i + 3, n - 1) * n
            s0 = a[r0 + j]
            s1 = a[r1 + j]
            s2 = a[r2 + j]
            s3 = a[r3 + j]
            for k in range(j):
                factor = a[j * n + k]
                s0 -= a[r0 + k] * factor
                s1 -= a[r1 + k] * factor
                s2 -= a[r2 + k] * factor
                s3 -= a[r3 + k] * factor
            a[r0 + j] = s0 * pivot
            a[r1 + j] = s1 * pivot
            a[r2 + j] = s2 * pivot
            a[r3 + j] = s3 * pivot
    return 0


@kernel
def reduce_pencil(n: int, lower: Array, a: Array) -> None:
    """Turn a symmetric A into L^-1 A L^-T, of which only the lower half is computed."""
    _solve_rows(n, lower, a, n)
    for r in range(n):
        for i in range(r):
            value = a[r * n + i]
            a[r * n + i] = a[i * n + r]
            a[i * n + r] = value
    _solve_rows(n, lower, a, 4)
    for r in range(n):
        for i in range(r):
            a[i * n + r] = a[r * n + i]


@kernel
def _solve_rows(n: int, lower: Array, a: Array, beyond: int) -> None:
    """Turn A into A L^-T, row r as far as its element ``r + beyond``.

    Four rows at a time read L once; the last one may be done again.
    """
    for r in range(0, n, 4):
        r0 = r * n
        r1 = min(r + 1, n - 1) * n
        r2 = min(r + 2, n - 1) * n
        r3 = min(r + 3, n - 1) * n
        for i in range(min(r + beyond, n)):
            s0 = a[r0 + i]
            s1 = a[r1 + i]
            s2 = a[r2 + i]
            s3 = a[r3 + i]
            for k in range(i):
                factor = lower[i * n + k]
                s0 -= a[r0 + k] * factor
                s1 -= a[r1 + k] * factor
                s2 -= a[r2 + k] * factor
                s3 -= a[r3 + k] * factor
            factor = 1.0 / lower[i * n + i]
            a[r0 + i] = s0 * factor
            a[r1 + i] = s1 * factor
            a[r2 + i] = s2 * factor
            a[r3 + i] = s3 * factor


@kernel
def tridiagonalise(n: int, a: Array, q: Array, d: Array, e: Array, w: Array) -> None:
    """Make a symmetric matrix tridiagonal by reflections: Q A Q^T has d on and e beside it.

    What a reflection changes is put in as the matrix is read for the next one, whose vector is left
    in its row of A and its factor in the column.  There is room for n numbers in w.
    """
    for i in range(n):
        w[i] = 0.0
    for k in range(n - 2):
        last = max(k - 1, 0) * n
        own = a[last + k]
        turned = w[k]
        for j in range(k, n):
            if k > 0:
                a[k * n + j] -= own * w[j] + turned * a[last + j]
        factor = _reflection(n, k, a, d, e)
        for i in range(k + 1, n, 4):
            _reflect(n, k, a, w, i, d)
        along = 0.0
        for j in range(k + 1, n):
            along += a[k * n + j] * d[j]
        for j in range(k + 1, n):
            w[j] = factor * (d[j] - 0.5 * factor * along * a[k * n + j])
    last = max(n - 3, 0) * n
    for i in range(max(n - 2, 0), n):
        for j in range(max(n - 2, 0), i + 1):
            a[i * n + j] -= a[last + i] * w[j] + w[i] * a[last + j]
    for i in range(max(n - 2, 0), n):
        d[i] = a[i * n + i]
        e[i] = a[(i + 1) * n + i] if i + 1 < n else 0.0
    for r in range(0, n, 4):
        _reflected_rows(n, a, q, r)


@kernel
def _reflection(n: int, k: int, a: Array, d: Array, e: Array) -> float:
    """Make row k the vector that reflects it onto its first element beside d; give the factor."""
    total = 0.0
    for j in range(k + 1, n):
        total += a[k * n + j] * a[k * n + j]
    first = a[k * n + k + 1]
    d[k] = a[k * n + k]
    e[k] = first
    factor: float = 0.0
    if total - first * first != 0.0:
        size = math.sqrt(total)
        e[k] = -size if first > 0.0 else size
        a[k * n + k + 1] = first - e[k]
        square = 0.0
        for j in range(k + 1, n):
            square += a[k * n + j] * a[k * n + j]
        factor = 2.0 / square
    a[(k + 1) * n + k] = factor
    return factor


@kernel
def _reflect(n: int, k: int, a: Array, w: Array, i: int, p: Array) -> None:
    """Reflect four rows from i on by the last vector, and multiply them with that of row k.

    The last one may be done again.
    """
    last = max(k - 1, 0) * n
    i1 = min(i + 1, n - 1)
    i2 = min(i + 2, n - 1)
    i3 = min(i + 3, n - 1)
    x0 = a[last + i]
    x1 = a[last + i1]
    x2 = a[last + i2]
    x3 = a[last + i3]
    w0 = w[i]
    w1 = w[i1]
    w2 = w[i2]
    w3 = w[i3]
    s0 = 0.0
    s1 = 0.0
    s2 = 0.0
    s3 = 0.0
    for j in range(k + 1, n):
        x = a[last + j]
        y = w[j]
        weight = a[k * n + j]
        v0 = a[i * n + j] - (x0 * y + w0 * x)
        v1 = a[i1 * n + j] - (x1 * y + w1 * x)
        v2 = a[i2 * n + j] - (x2 * y + w2 * x)
        v3 = a[i3 * n + j] - (x3 * y + w3 * x)
        a[i * n + j] = v0
        a[i1 * n + j] = v1
        a[i2 * n + j] = v2
        a[i3 * n + j] = v3
        s0 += v0 * weight
        s1 += v1 * weight
        s2 += v2 * weight
        s3 += v3 * weight
    p[i] = s0
    p[i1] = s1
    p[i2] = s2
    p[i3] = s3


@kernel
def _reflected_rows(n: int, a: Array, q: Array, r: int) -> None:
    """Find four rows of Q from r on: those of 1, reflected; the last one may be done again."""
    r0 = r * n
    r1 = min(r + 1, n - 1) * n
    r2 = min(r + 2, n - 1) * n
    r3 = min(r + 3, n - 1) * n
    for j in range(n):
        q[r0 + j] = 1.0 if r0 == j * n else 0.0
        q[r1 + j] = 1.0 if r1 == j * n else 0.0
        q[r2 + j] = 1.0 if r2 == j * n else 0.0
        q[r3 + j] = 1.0 if r3 == j * n else 0.0
    for k in range(min(r + 2, n - 3), -1, -1):
        factor = a[(k + 1) * n + k]
        s0 = 0.0
        s1 = 0.0
        s2 = 0.0
        s3 = 0.0
        for j in range(k + 1, n):
            x = a[k * n + j]
            s0 += q[r0 + j] * x
            s1 += q[r1 + j] * x
            s2 += q[r2 + j] * x
            s3 += q[r3 + j] * x
        for j in range(k + 1, n):
            x = factor * a[k * n + j]
            v0 = q[r0 + j] - s0 * x
            v1 = q[r1 + j] - s1 * x
            v2 = q[r2 + j] - s2 * x
            v3 = q[r3 + j] - s3 * x
            q[r0 + j] = v0
            q[r1 + j] = v1
            q[r2 + j] = v2
            q[r3 + j] = v3


@kernel
def diagonalise(n: int, q: Array, d: Array, e: Array, turns: Array) -> int:
    """Turn d and e into eigenvalues by shifted rotations; rows of q follow.  0 if it converged.

    There are 2n turns, room for cosines and sines.
    """
    for first in range(n):
        for sweep in range(60):
            last = first
            while last < n - 1:
                around = abs(d[last]) + abs(d[last + 1])
                if abs(e[last]) <= 1e-17 * around:
                    break
                last += 1
            if last == first:
                break
            if sweep == 59:
                return 1
            _chase(n, first, last, q, d, e, turns)
    return 0


@kernel
def _chase(n: int, first: int, last: int, q: Array, d: Array, e: Array, turns: Array) -> None:
    """Do one implicit QL sweep on the block from first to last."""
    g = (d[first + 1] - d[first]) / (2.0 * e[first])
    r = math.sqrt(g * g + 1.0)
    g = d[last] - d[first] + e[first] / (g + (r if g >= 0.0 else -r))
    s = 1.0
    c = 1.0
    p = 0.0
    for i in range(last - 1, first - 1, -1):
        f = s * e[i]
        b = c * e[i]
        r = math.sqrt(f * f + g * g)
        e[i + 1] = r
        if r == 0.0:
            d[i + 1] -= p
            e[last] = 0.0
            _turn_rows(n, i + 1, last, q, turns)
            return
        s = f / r
        c = g / r
        g = d[i + 1] - p
        r = (d[i] - g) * s + 2.0 * c * b
        p = s * r
        d[i + 1] = g + p
        g = c * r - b
        turns[2 * i] = c
        turns[2 * i + 1] = s
    d[first] -= p
    e[first] = g
    e[last] = 0.0
    _turn_rows(n, first, last, q, turns)


@kernel
def _turn_rows(n: int, first: int, last: int, q: Array, turns: Array) -> None:
    """Turn neighbouring rows from the last to the first into each other, four columns at a time.

    The last column may be done again.
    """
    for k in range(0, n, 4):
        k1 = min(k + 1, n - 1)
        k2 = min(k + 2, n - 1)
        k3 = min(k + 3, n - 1)
        u0 = q[last * n + k]
        u1 = q[last * n + k1]
        u2 = q[last * n + k2]
        u3 = q[last * n + k3]
        for i in range(last - 1, first - 1, -1):
            c = turns[2 * i]
            s = turns[2 * i + 1]
            v0 = q[i * n + k]
            v1 = q[i * n + k1]
            v2 = q[i * n + k2]
            v3 = q[i * n + k3]
            q[(i + 1) * n + k] = s * v0 + c * u0
            q[(i + 1) * n + k1] = s * v1 + c * u1
            q[(i + 1) * n + k2] = s * v2 + c * u2
            q[(i + 1) * n + k3] = s * v3 + c * u3
            u0 = c * v0 - s * u0
            u1 = c * v1 - s * u1
            u2 = c * v2 - s * u2
            u3 = c * v3 - s * u3
        q[first * n + k] = u0
        q[first * n + k1] = u1
        q[first * n + k2] = u2
        q[first * n + k3] = u3


@kernel
def congruence(
    n: int, rows: Array, down: int, across: int, matrix: Array, room: Array, out: Array
) -> None:
    """Compute R A R^T of a matrix whose rows begin ``down`` apart and go on ``across``."""
    some = 0
    for i in range(n * n):
        out[i] = 0.0
        if matrix[i] != 0.0:
            some = 1
    if some == 0:
        return
    for r in range(n):
        for j in range(n):
            total = 0.0
            for i in range(n):
                total += rows[r * down + i * across] * matrix[i * n + j]
            room[r * n + j] = total
    for r in range(n):
        for c in range(n):
            total = 0.0
            for j in range(n):
                total += room[r * n + j] * rows[c * down + j * across]
            out[r * n + c] = total


@kernel
def largest(n: int, squares: Array) -> float:
    """Give the largest squared frequency."""
    top = 0.0
    for r in range(n):
        top = max(top, abs(squares[r]))
    return top


@kernel
def gap(top: float, one: float, other: float) -> float:
    """Give by how much another squared frequency is above one; 0 of those that are alike."""
    apart: float = other - one
    if abs(apart) <= max(ALIKE * max(abs(one), abs(other)), NOTHING * top):
        return 0.0
    return apart


@kernel
def part_alike(n: int, squares: Array, damping: Array, modes: Array, inverse: Array) -> None:
    """Turn modes of one frequency, such as those of free joints, into those that damping has.

    Of such modes any combination is one: without this rounding would choose.  ``damping`` is in
    modes; Jacobi's rotations.  They get the frequency of the first one, so that of three in a row
    of which only neighbours are alike the third is of one frequency with both others or with none.
    """
    top = largest(n, squares)
    for s in range(n):
        for r in range(s):
            if gap(top, squares[r], squares[s]) == 0.0:
                squares[s] = squares[r]
                break
    for _ in range(SWEEPS):
        turned = 0
        for r in range(n):
            for s in range(r + 1, n):
                own = damping[r * n + r]
                other = damping[s * n + s]
                both = damping[r * n + s]
                alike = squares[r] == squares[s]
                if alike and abs(both) > 1e-16 * (abs(own) + abs(other)):
                    turned += 1
                    ratio = (other - own) / (2.0 * both)
                    size = 1.0 / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
                    tangent = size if ratio >= 0.0 else -size
                    c = 1.0 / math.sqrt(tangent * tangent + 1.0)
                    _turn_pair(n, modes, r * n, s * n, 1, c, tangent * c)
                    _turn_pair(n, inverse, r, s, n, c, tangent * c)
                    _turn_pair(n, damping, r * n, s * n, 1, c, tangent * c)
                    _turn_pair(n, damping, r, s, n, c, tangent * c)
        if turned == 0:
            break


@kernel
def _turn_pair(n: int, a: Array, one: int, other: int, apart: int, c: float, s: float) -> None:
    """Turn two rows or columns into each other, which begin somewhere and go on so far apart."""
    for k in range(n):
        x = a[one + k * apart]
        y = a[other + k * apart]
        a[one + k * apart] = c * x - s * y
        a[other + k * apart] = s * x + c * y
