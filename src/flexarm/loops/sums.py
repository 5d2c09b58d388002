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
