"""Limits and sizes of compiled loops, each with its unit and reason."""

# Largest number of iterations of a loop with literal bounds that is unrolled before LLVM optimises
# the code: elements of local arrays become registers only if their indices are literals. Largest
# number of elements of an array that is copied without a loop.
UNROLLED_ITERATIONS, COPIED_ELEMENTS = 8, 64
# Alignment of arrays [bytes].  With 16, one instruction moves two doubles of an array in memory.
# For arrays that unrolled loops keep in registers, 16 would require pairs of adjacent registers, of
# which there are too few.
REGISTER_ALIGNMENT, MEMORY_ALIGNMENT = 8, 16
# Kernels for GPUs: largest number of operations of inlined equations; number of operations above
# which code exceeds every cache, so that fewer instructions are faster; threads per block of a
# kernel with branches, which reach the same code at about the same time.
INLINED_OPERATIONS, LONG_CODE, BRANCHED_BLOCK = 1500, 5000, 128
