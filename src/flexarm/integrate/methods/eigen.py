"""The symmetric generalised eigenproblem K x = w^2 M x in compiled loops.

For M = L L^T, the matrix L^-1 K L^-T is reduced to tridiagonal and then to diagonal form.
"""

import math

from flexarm.constants import ROUNDING
from flexarm.integrate.constants import EQUAL_SQUARES, JACOBI_SWEEPS
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array
from flexarm.loops.sums import add, clear


@kernel
def cholesky(n: int, a: Array) -> int:
    """Factorise a symmetric matrix as L L^T, and store L^T in its upper half.

    The return value is 0, or 1 if the matrix is not positive definite.
    """
    for j in range(n):
        row = a[j * n :]
        for k in range(j):
            add(n - j, -a[k * n + j], a[k * n + j :], row[j:])
        diagonal = row[j]
        if not diagonal > 0.0:
            return 1
        pivot = 1.0 / math.sqrt(diagonal)
        for i in range(j, n):
            row[i] *= pivot
    return 0


@kernel
def transpose(n: int, a: Array) -> None:
    """Transpose a matrix in place."""
    for r in range(n):
        for i in range(r):
            entry = a[r * n + i]
            a[r * n + i] = a[i * n + r]
            a[i * n + r] = entry


@kernel
def reduce_pencil(n: int, upper: Array, a: Array) -> None:
    """Replace the symmetric matrix A by L^-1 A L^-T; the upper half of ``upper`` is L^T."""
    transpose(n, a)
    _substitute(n, upper, a, 0)
    transpose(n, a)
    _substitute(n, upper, a, 1)
    for r in range(n):
        for i in range(r):
            a[r * n + i] = a[i * n + r]


@kernel
def _substitute(n: int, upper: Array, a: Array, half: int) -> None:
    """Replace A by L^-1 A: the whole matrix (``half`` = 0) or its upper half (``half`` = 1)."""
    for i in range(n):
        row = a[i * n :]
        first = half * i
        for k in range(i):
            add(n - first, -upper[k * n + i], a[k * n + first :], row[first:])
        factor = 1.0 / upper[i * n + i]
        for r in range(first, n):
            row[r] *= factor


@kernel
def tridiagonalise(n: int, a: Array, q: Array, d: Array, e: Array, w: Array) -> None:
    """Reduce the symmetric matrix A to tridiagonal form by Householder reflections.

    The result is Q A Q^T with the diagonal d and the off-diagonal e. Each reflection is applied
    while the next one is computed, so that the matrix is read once per reflection. Row k of A
    stores the vector of reflection k, and column k its factor. The argument w is a work array of n
    numbers.
    """
    clear(n, w)
    for k in range(n - 2):
        last = a[max(k - 1, 0) * n :]
        vector = a[k * n :]
        last_entry = last[k]
        last_weight = w[k]
        for j in range(k, n):
            entry = a[j * n + k]
            if k > 0:
                entry -= last_entry * w[j] + last_weight * last[j]
            vector[j] = entry
        factor = _reflection(n, k, a, d, e)
        clear(n - (k + 1), d[k + 1 :])
        for j in range(k + 1, n):
            row = a[j * n :]
            y = w[j]
            x = last[j]
            weight = vector[j]
            for i in range(k + 1, n):
                row[i] -= w[i] * x + last[i] * y
                d[i] += row[i] * weight
        projection = 0.0
        for j in range(k + 1, n):
            projection += vector[j] * d[j]
        for j in range(k + 1, n):
            w[j] = factor * (d[j] - 0.5 * factor * projection * vector[j])
    last = a[max(n - 3, 0) * n :]
    for j in range(max(n - 2, 0), n):
        for i in range(j, n):
            a[j * n + i] -= last[i] * w[j] + w[i] * last[j]
        d[j] = a[j * n + j]
        e[j] = a[j * n + j + 1] if j + 1 < n else 0.0
    _reflected_rows(n, a, q, w)


@kernel
def _reflection(n: int, k: int, a: Array, d: Array, e: Array) -> float:
    """Replace row k of A by its Householder vector; return the factor of the reflection."""
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
def _reflected_rows(n: int, a: Array, q: Array, sums: Array) -> None:
    """Compute Q, the product of the Householder reflections whose vectors are rows of A."""
    clear(n * n, q)
    for r in range(n):
        q[r * n + r] = 1.0
    for k in range(n - 3, -1, -1):
        vector = a[k * n :]
        factor = a[(k + 1) * n + k]
        clear(n - (k + 1), sums[k + 1 :])
        for j in range(k + 1, n):
            add(n - (k + 1), vector[j], q[j * n + k + 1 :], sums[k + 1 :])
        for j in range(k + 1, n):
            add(n - (k + 1), -factor * vector[j], sums[k + 1 :], q[j * n + k + 1 :])
    transpose(n, q)


@kernel
def diagonalise(n: int, q: Array, d: Array, e: Array, turns: Array) -> int:
    """Compute the eigenvalues of a tridiagonal matrix by implicit QL; return 0 if it converged.

    The diagonal d is replaced by the eigenvalues, and the off-diagonal e is overwritten. The plane
    rotations are also applied to the rows of q. The argument ``turns`` is a work array of 2 n
    numbers.
    """
    for first in range(n):
        for sweep in range(60):
            last = first
            while last < n - 1:
                scale = abs(d[last]) + abs(d[last + 1])
                if abs(e[last]) <= 1e-17 * scale:
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
    """Apply one implicit QL sweep to the block ``first`` to ``last`` of a tridiagonal matrix."""
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
    """Apply plane rotations to neighbouring rows of q, from the last pair to the first.

    The array ``turns`` contains the cosine and the sine of each plane rotation.
    """
    for i in range(last - 1, first - 1, -1):
        c = turns[2 * i]
        s = turns[2 * i + 1]
        upper = q[i * n :]
        lower = q[(i + 1) * n :]
        for k in range(n):
            u = lower[k]
            v = upper[k]
            lower[k] = s * v + c * u
            upper[k] = c * v - s * u


@kernel
def congruence(
    n: int,
    rows: Array,
    row_stride: int,
    entry_stride: int,
    matrix: Array,
    scratch: Array,
    out: Array,
) -> None:
    """Compute R A R^T for matrices R and A, both (n, n).

    The arguments ``row_stride`` and ``entry_stride`` are the distances in memory between rows of R
    and between entries of a row, so that R may be a stored matrix or its transpose.
    """
    has_entries = 0
    for i in range(n * n):
        out[i] = 0.0
        if matrix[i] != 0.0:
            has_entries = 1
    if has_entries == 0:
        return
    for r in range(n):
        for j in range(n):
            total = 0.0
            for i in range(n):
                total += rows[r * row_stride + i * entry_stride] * matrix[i * n + j]
            scratch[r * n + j] = total
    for r in range(n):
        for c in range(n):
            total = 0.0
            for j in range(n):
                total += scratch[r * n + j] * rows[c * row_stride + j * entry_stride]
            out[r * n + c] = total


@kernel
def largest(n: int, squares: Array) -> float:
    """Return the largest magnitude of a squared frequency."""
    top = 0.0
    for r in range(n):
        top = max(top, abs(squares[r]))
    return top


@kernel
def gap(top: float, first: float, second: float) -> float:
    """Return the difference of two squared frequencies; 0 if it is at rounding level."""
    difference: float = second - first
    if abs(difference) <= max(EQUAL_SQUARES * max(abs(first), abs(second)), ROUNDING * top):
        return 0.0
    return difference


@kernel
def separate_equal_modes(
    n: int, squares: Array, damping: Array, modes: Array, inverse: Array
) -> None:
    """Rotate modes of equal frequency so that their damping matrix is diagonal.

    Any combination of modes with equal frequency is a mode too; without this rotation, rounding
    errors would select an arbitrary one. The argument ``damping`` is the damping matrix in modal
    coordinates, which Jacobi rotations diagonalise. All modes of a group get the squared frequency
    of the first mode in the group, so that modes equal to the same mode are equal to each other.
    """
    top = largest(n, squares)
    for s in range(n):
        for r in range(s):
            if gap(top, squares[r], squares[s]) == 0.0:
                squares[s] = squares[r]
                break
    for _ in range(JACOBI_SWEEPS):
        rotations = 0
        for r in range(n):
            for s in range(r + 1, n):
                first_damping = damping[r * n + r]
                second_damping = damping[s * n + s]
                coupling = damping[r * n + s]
                equal = squares[r] == squares[s]
                if equal and abs(coupling) > 1e-16 * (abs(first_damping) + abs(second_damping)):
                    rotations += 1
                    ratio = (second_damping - first_damping) / (2.0 * coupling)
                    size = 1.0 / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
                    tangent = size if ratio >= 0.0 else -size
                    c = 1.0 / math.sqrt(tangent * tangent + 1.0)
                    _turn_pair(n, modes, r * n, s * n, 1, c, tangent * c)
                    _turn_pair(n, inverse, r, s, n, c, tangent * c)
                    _turn_pair(n, damping, r * n, s * n, 1, c, tangent * c)
                    _turn_pair(n, damping, r, s, n, c, tangent * c)
        if rotations == 0:
            break


@kernel
def _turn_pair(n: int, a: Array, first: int, second: int, stride: int, c: float, s: float) -> None:
    """Rotate two rows or columns of a matrix by an angle with cosine c and sine s.

    The arguments ``first`` and ``second`` are the indices of the first entries of the two rows or
    columns, and ``stride`` is the distance between entries in memory.
    """
    for k in range(n):
        x = a[first + k * stride]
        y = a[second + k * stride]
        a[first + k * stride] = c * x - s * y
        a[second + k * stride] = s * x + c * y
