"""Vector operations for kernels: copies, sums, and weighted sums of rows."""

from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, floats


@kernel
def copy(size: int, source: Array, target: Array) -> None:
    """Copy the first elements of a vector to another vector."""
    for i in range(size):
        target[i] = source[i]


@kernel
def clear(size: int, target: Array) -> None:
    """Set the first elements of a vector to zero."""
    for i in range(size):
        target[i] = 0.0


@kernel
def add(size: int, factor: float, source: Array, target: Array) -> None:
    """Add a vector times a factor to another vector."""
    for i in range(size):
        target[i] += factor * source[i]


@kernel
def weighted_sum(count: int, size: int, rows: Array, weights: Array, out: Array) -> None:
    """Compute the weighted sum of ``count`` rows of ``size`` numbers each."""
    i = 0
    while i + 8 <= size:  # with more sums at a time, weights are read less often
        sums = floats(8)
        for r in range(count):
            weight = weights[r]
            k = r * size + i
            for j in range(8):
                sums[j] += rows[k + j] * weight
        for j in range(8):
            out[i + j] = sums[j]
        i += 8
    while i + 4 <= size:  # four sums fill the registers for any size
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
def two_weighted_sums(size: int, rows: Array, weights: Array, begin: Array, out: Array) -> None:
    """Compute two weighted sums of the rows of a square array.

    The two halves of ``weights`` are the weights of the two sums, and the two halves of ``out``
    their results. The vector ``begin`` is added to the first sum at the end, so that rounding
    errors of its large numbers enter only once.
    """
    weighted_sum(size, size, rows, weights, out)
    weighted_sum(size, size, rows, weights[size:], out[size:])
    add(size, 1.0, begin, out)
