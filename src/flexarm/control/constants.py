"""Limits, tolerances and defaults of motions and control laws, each with its unit and reason."""

# Paths through postures
# Numbers of Chebyshev nodes, tried in turn until a path is resolved: 9 to 65.
PATH_NODES = tuple(2**k + 1 for k in range(3, 7))
# Largest error of a path's interpolation, relative to its largest coordinate: far above rounding of
# postures, far below tolerances of runs.
PATH_ERROR = 1e-10

# Paths of arms with a free base, integrated over progress from 0 to 1
LARGEST_PITCH = 1.4  # [rad] largest angle ry of a base, whose angles are singular at pi/2
# Two steps of the path's progress from 0 to 1. The longest integration step is short because the
# solution between steps is less accurate. The finite-difference step for a path's direction
# balances truncation and rounding errors.
PROGRESS_STEP, DIRECTION_STEP = 0.02, 1e-5

# Inversion: joint motion and input for a prescribed motion of the tip
INVERSION_ITERATIONS = 60  # largest number of fixed-point iterations; about ten are usual
# Number of instants of an inversion or of a base's reaction. An accurate spline needs the least
# number in the whole time and the least number within the tip's motion. The largest number takes
# some GB of memory.
FEWEST_INSTANTS, INSTANTS_OF_MOTION, MOST_INSTANTS = 101, 10, 1_000_000
LARGEST_TIP_ANGLE = 1e3  # [rad] larger tip angles lose digits of the motion

# Gains
FASTEST_POLE = 1e12  # [1/s] magnitude of the fastest pole; its fourth power does not overflow
BANDWIDTH = 20.0  # [rad/s] default bandwidth of the joints: 3 Hz, below most link frequencies
# [rad/s] range of bandwidths for which Riccati equations can be solved.
SLOWEST_BANDWIDTH, FASTEST_BANDWIDTH = 1e-3, 1e6
PRINTED_LINES = 7  # lines and postures of a regulator's summary, which then has ten lines
# Largest number of points along a path with separate gains, whose computation takes minutes.
# Largest number of postures whose stability is examined.
MOST_GAINS, MOST_POSTURES = 10_000, 100_000

# Relative stiffness errors. The search for instability tries errors up to the first value, at which
# links are practically rigid. A user may give errors up to the second, beyond which double
# precision is lost.
SEARCHED_ERROR, LARGEST_ERROR = 1e3, 1e9

# Stability margins: relative half-width of the bracket about a frequency, relative error of the
# distance from -1, and largest number of iterations for the sensitivity's peak, whose error falls
# quadratically.
MARGIN_ACCURACY, PEAK_ITERATIONS = 1e-6, 50
