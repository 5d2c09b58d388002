"""Weighted sums of rows, which steps are made of."""

from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, floats


@kernel
def weigh(count: int, size: int, rows: Array, weights: Array, out: Array) -> None:
    """Add up rows of numbers, each times its weight."""
    i = 0
    while i + 8 <= size:  # the more sums at a time, the less often weights are read
        sums = floats(8)
        for r in range(count):
            weight = weights[r]
            k = r * size + i
            for j in range(8):
                sums[j] += rows[k + j] * weight
        for j in range(8):
            out[i + j] = sums[j]
        i += 8
    while i + 4 <= size:  # four fill the registers, whatever the size
        few = floats(4)
        for r in range(count):
            weight = weights[r]
            k = r * size + i
            for j in range(4):
                few[j] += rows[k + j] * weight
        for j in range(4):
            out[i + j] = few[j]
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

    ``begin`` is added to the first sum, at the end: it may be large, and is rounded once.
    """
    i = 0
    while i + 8 <= size:
        sums = floats(8)
        others = floats(8)
        for r in range(size):
            s = weights[r]
            t = weights[size + r]
            k = r * size + i
            for j in range(8):
                sums[j] += rows[k + j] * s
            for j in range(8):
                others[j] += rows[k + j] * t
        for j in range(8):
            out[i + j] = begin[i + j] + sums[j]
        for j in range(8):
            out[size + i + j] = others[j]
        i += 8
    while i + 4 <= size:
        few = floats(4)
        few_others = floats(4)
        for r in range(size):
            s = weights[r]
            t = weights[size + r]
            k = r * size + i
            for j in range(4):
                few[j] += rows[k + j] * s
            for j in range(4):
                few_others[j] += rows[k + j] * t
        for j in range(4):
            out[i + j] = begin[i + j] + few[j]
        for j in range(4):
            out[size + i + j] = few_others[j]
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
