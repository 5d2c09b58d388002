"""Weighted sums of rows, which steps are made of."""

from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array


@kernel
def weigh(count: int, size: int, rows: Array, weights: Array, out: Array) -> None:
    """Add up rows of numbers, each times its weight."""
    i = 0
    while i + 4 <= size:  # four sums at a time fill the registers, whatever the size
        s0 = 0.0
        s1 = 0.0
        s2 = 0.0
        s3 = 0.0
        for r in range(count):
            weight = weights[r]
            k = r * size + i
            s0 += rows[k] * weight
            s1 += rows[k + 1] * weight
            s2 += rows[k + 2] * weight
            s3 += rows[k + 3] * weight
        out[i] = s0
        out[i + 1] = s1
        out[i + 2] = s2
        out[i + 3] = s3
        i += 4
    while i < size:
        total = 0.0
        for r in range(count):
            total += rows[r * size + i] * weights[r]
        out[i] = total
        i += 1


@kernel
def weigh_both(size: int, rows: Array, weights: Array, out: Array) -> None:
    """Add up square rows by weights that come as two halves, each row read once for both."""
    i = 0
    while i + 4 <= size:
        s0 = 0.0
        s1 = 0.0
        s2 = 0.0
        s3 = 0.0
        t0 = 0.0
        t1 = 0.0
        t2 = 0.0
        t3 = 0.0
        for r in range(size):
            s = weights[r]
            t = weights[size + r]
            k = r * size + i
            s0 += rows[k] * s
            s1 += rows[k + 1] * s
            s2 += rows[k + 2] * s
            s3 += rows[k + 3] * s
            t0 += rows[k] * t
            t1 += rows[k + 1] * t
            t2 += rows[k + 2] * t
            t3 += rows[k + 3] * t
        out[i] = s0
        out[i + 1] = s1
        out[i + 2] = s2
        out[i + 3] = s3
        out[size + i] = t0
        out[size + i + 1] = t1
        out[size + i + 2] = t2
        out[size + i + 3] = t3
        i += 4
    while i < size:
        s0 = 0.0
        t0 = 0.0
        for r in range(size):
            s0 += rows[r * size + i] * weights[r]
            t0 += rows[r * size + i] * weights[size + r]
        out[i] = s0
        out[size + i] = t0
        i += 1
