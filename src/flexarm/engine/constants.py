"""Limits, tolerances and sizes of compiled code and its cache, each with its unit and reason.

Numbers of file formats, drivers and LLVM, and coefficients of functions, stand where they are used.
"""

# Cache of machine code
# [bytes] above which old entries are deleted; share of them after a cleaning, so that not every new
# entry causes one; [s] since an unfinished file was last written to, until it is deleted.
CACHE_SIZE, CLEANED_SHARE, ABANDONED_AFTER = 2**30, 0.75, 3600.0
MOST_SYMBOLIC_LINKS = 40  # on a path whose permissions are checked; more count as a cycle

# Equal numbers
# Relative difference of numbers taken as equal.  Integrals that are equal in theory differ by some
# 1e-15 of the largest, relatively more if small; unequal numbers differ by far more than this.
# Relative difference from 1 or -1 that only rounding makes; units in the last place by which equal
# folded constants may differ.
EQUAL_NUMBERS, UNIT_ROUNDING, FOLDED_ROUNDING = 1e-10, 1e-14, 256
EXPRESSION_OWNERS = 4  # models, for instance, whose expressions a thread keeps for reuse

# Code
# Operations of an internal function, which compilers treat as a whole, at most: in general; for
# Windows, over the doubles of a vector register; where no function is split.
PIECE_OPERATIONS, WINDOWS_OPERATIONS, UNSPLIT_OPERATIONS = 500, 320, 1_000_000
UNROLLED_OUTPUTS = 8  # consecutive equal outputs above which a loop fills them
# Largest angle [rad] that is reduced by exact multiples of pi/2; the C library takes larger ones.
# Largest angle without a library, whose error is then as large as its own rounding.
LARGEST_ANGLE, LARGEST_ANGLE_ALONE = 1.0e5, 1.0e9

# Processors
WIDEST_VECTOR = 8  # doubles in a vector register at most: 512 bits
BUFFER_ALIGNMENT = 8 * WIDEST_VECTOR  # [bytes] of the buffers, which is also that of a cache line
# Instruction cache of x86-64: operations whose code fits it; [bytes] per way; number of ways, less
# the one left to the callers; functions that are placed by it, of more too few would stay in it.
CACHED_OPERATIONS, CACHE_WAY, CACHE_WAYS, MOST_PLACED_FUNCTIONS = 4000, 4096, 7, 64
# Registers of a function for addresses, and the number of uses that justify such a register.
ADDRESS_REGISTERS, ADDRESS_USES = 8, 4

# WebAssembly
WASM_STACK = 4096  # [bytes] that are reserved for a module

# GPUs
# Oldest driver version: CUDA 11.0, the first with PTX 7.0; [bytes] of the driver's error messages;
# oldest compute capability: Volta.
OLDEST_DRIVER, DRIVER_LOG, OLDEST_CAPABILITY = 11000, 8192, 7
WARP = 32  # threads that run in lockstep; their values are adjacent in memory
# Warps whose threads fit the registers at their maximum per thread; [bytes] of a block's shared
# memory that the driver uses.
REGISTER_WARPS, DRIVER_SHARED = 8, 1024
# Threads of a block that uses near memory, and doubles of near memory left over, at least;
# constants in a table at most: 48 kB of a block's memory.
NEAR_BLOCK, SPARE_NEAR, MOST_TABLED = 256, 896, 6144
# Number of operations between the load of a value from near memory and its use, and between the
# load of a constant as second of a pair and the operation that would otherwise load the constant.
# Factor on the waiting time of a value that is in memory already and needs no store, when the value
# to leave the registers is chosen; found by counting instructions.
LOAD_AHEAD, PAIRED_AHEAD, STORED_FACTOR = 12, 40, 2
