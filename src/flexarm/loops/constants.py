"""Limits and sizes of compiled loops, each with its unit and reason."""

# Iterations up to which a loop with literal bounds is unrolled before LLVM sees it: elements of
# local arrays are registers only if their indices are literals.  Elements up to which an array is
# copied without a loop.
UNROLLED_ITERATIONS, COPIED_ELEMENTS = 8, 64
# Alignment of arrays [bytes].  For arrays in memory 16 lets one instruction move two doubles; for
# arrays that unrolled loops place in registers it would need adjacent registers, which are too few.
REGISTER_ALIGNMENT, MEMORY_ALIGNMENT = 8, 16
# Kernels for GPUs: largest number of operations of inlined equations; number of operations above
# which code exceeds every cache, so that fewer instructions are faster; threads per block of a
# kernel with branches, which reach the same code at about the same time.
INLINED_OPERATIONS, LONG_CODE, BRANCHED_BLOCK = 1500, 5000, 128
