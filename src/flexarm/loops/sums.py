"""Weighted sums of rows, which steps are made of."""

from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array


@kernel
def weigh(count: int, size: int, rows: Array, weights: Array, out: Array) -> None:
    """Add up rows of numbers, each times its weight."""
    i = 0
    while i + 8 <= size:  # the more sums at a time, the less often weights are read
        s0 = 0.0
        s1 = 0.0
        s2 = 0.0
        s3 = 0.0
        s4 = 0.0
        s5 = 0.0
        s6 = 0.0
        s7 = 0.0
        for r in range(count):
            weight = weights[r]
            k = r * size + i
            s0 += rows[k] * weight
            s1 += rows[k + 1] * weight
            s2 += rows[k + 2] * weight
            s3 += rows[k + 3] * weight
            s4 += rows[k + 4] * weight
            s5 += rows[k + 5] * weight
            s6 += rows[k + 6] * weight
            s7 += rows[k + 7] * weight
        out[i] = s0
        out[i + 1] = s1
        out[i + 2] = s2
        out[i + 3] = s3
        out[i + 4] = s4
        out[i + 5] = s5
        out[i + 6] = s6
        out[i + 7] = s7
        i += 8
    while i + 4 <= size:  # four fill the registers, whatever the size
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
def weigh_both(size: int, rows: Array, weights: Array, begin: Array, out: Array) -> None:
    """Add up square rows by weights that come as two halves, each row read once for both.

    What is given is added to the first sum, at the end: it may be large, and is rounded once.
    """
    i = 0
    while i + 8 <= size:
        s0 = 0.0
        s1 = 0.0
        s2 = 0.0
        s3 = 0.0
        s4 = 0.0
        s5 = 0.0
        s6 = 0.0
        s7 = 0.0
        t0 = 0.0
        t1 = 0.0
        t2 = 0.0
        t3 = 0.0
        t4 = 0.0
        t5 = 0.0
        t6 = 0.0
        t7 = 0.0
        for r in range(size):
            s = weights[r]
            t = weights[size + r]
            k = r * size + i
            s0 += rows[k] * s
            s1 += rows[k + 1] * s
            s2 += rows[k + 2] * s
            s3 += rows[k + 3] * s
            s4 += rows[k + 4] * s
            s5 += rows[k + 5] * s
            s6 += rows[k + 6] * s
            s7 += rows[k + 7] * s
            t0 += rows[k] * t
            t1 += rows[k + 1] * t
            t2 += rows[k + 2] * t
            t3 += rows[k + 3] * t
            t4 += rows[k + 4] * t
            t5 += rows[k + 5] * t
            t6 += rows[k + 6] * t
            t7 += rows[k + 7] * t
        out[i] = begin[i] + s0
        out[i + 1] = begin[i + 1] + s1
        out[i + 2] = begin[i + 2] + s2
        out[i + 3] = begin[i + 3] + s3
        out[i + 4] = begin[i + 4] + s4
        out[i + 5] = begin[i + 5] + s5
        out[i + 6] = begin[i + 6] + s6
        out[i + 7] = begin[i + 7] + s7
        out[size + i] = t0
        out[size + i + 1] = t1
        out[size + i + 2] = t2
        out[size + i + 3] = t3
        out[size + i + 4] = t4
        out[size + i + 5] = t5
        out[size + i + 6] = t6
        out[size + i + 7] = t7
        i += 8
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
        out[i] = begin[i] + s0
        out[i + 1] = begin[i + 1] + s1
        out[i + 2] = begin[i + 2] + s2
        out[i + 3] = begin[i + 3] + s3
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
        out[i] = begin[i] + s0
        out[size + i] = t0
        i += 1
