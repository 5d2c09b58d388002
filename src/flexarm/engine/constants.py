"""Limits, tolerances and sizes of compiled code and its cache, each with its unit and reason.

Numbers of file formats, drivers and LLVM, and coefficients of elementary functions, are in the
modules that use them.
"""

# Cache of machine code
# Size [bytes] of the cache above which old entries are deleted; share of this size that remains
# after a cleaning; age [s] of an unfinished file at which it is deleted.
CACHE_SIZE, CLEANED_SHARE, ABANDONED_AFTER = 2**30, 0.75, 3600.0
MOST_SYMBOLIC_LINKS = 40  # symbolic links on a checked path; more of them count as a cycle

# Equal numbers
# Relative difference below which two numbers count as equal: integrals that are equal in theory
# differ by some 1e-15 of the largest, unequal numbers by far more.  Relative difference from 1 or
# -1 that counts as rounding.  Units in the last place by which equal folded constants may differ.
EQUAL_NUMBERS, UNIT_ROUNDING, FOLDED_ROUNDING = 1e-10, 1e-14, 256
EXPRESSION_OWNERS = 4  # number of objects, such as models, whose expressions a thread caches

# Code
# Largest number of operations of an internal function, which compilers process as a whole: in
# general; for Windows, per double of a vector register; for functions that are not split.
PIECE_OPERATIONS, WINDOWS_OPERATIONS, UNSPLIT_OPERATIONS = 500, 320, 1_000_000
UNROLLED_OUTPUTS = 8  # number of equal adjacent outputs above which a loop writes them
# Largest angle [rad] of sines that is reduced by exact multiples of pi/2, since larger angles are
# passed to the C library; largest angle [rad] on targets without a C library.
LARGEST_ANGLE, LARGEST_ANGLE_ALONE = 1.0e5, 1.0e9

# Processors
WIDEST_VECTOR = 8  # largest number of doubles in a vector register: 512 bits
BUFFER_ALIGNMENT = 8 * WIDEST_VECTOR  # [bytes] alignment of buffers, the size of a cache line

# WebAssembly
WASM_STACK = 4096  # [bytes] reserved for the stack of a module

# GPUs
# Oldest driver version: CUDA 11.0, the first with PTX 7.0; [bytes] of the driver's error messages;
# oldest compute capability: Volta.
OLDEST_DRIVER, DRIVER_LOG, OLDEST_CAPABILITY = 11000, 8192, 7
WARP = 32  # threads that run in lockstep; their values are adjacent in memory
# Number of warps that fit the registers if each thread uses its maximum; [bytes] of a block's
# shared memory that the driver uses.
REGISTER_WARPS, DRIVER_SHARED = 8, 1024
# For near memory (shared by the threads of a block): threads per block; least number of doubles
# that are left free; largest number of constants in a table, 48 kB.
NEAR_BLOCK, SPARE_NEAR, MOST_TABLED = 256, 896, 6144
# Number of operations between the load of a value from near memory and its use; number of
# operations by which a constant may be loaded early, as the second of a pair. When a value is
# chosen to leave the registers: factor on the time until the next use of values that are stored
# already, fitted to counts of instructions.
LOAD_AHEAD, PAIRED_AHEAD, STORED_FACTOR = 12, 40, 2
