"""Limits, tolerances and defaults of motions and control laws, each with its unit and reason."""

# Paths through postures
# Chebyshev nodes that are tried until a path is resolved: 9 to 65, each nearly twice as many.
PATH_NODES = tuple(2**k + 1 for k in range(3, 7))
# Largest error of a path's interpolation, relative to its largest coordinate: far above rounding of
# postures, far below tolerances of runs.
PATH_ERROR = 1e-10

# Paths of arms with a free base, integrated over progress from 0 to 1
LARGEST_PITCH = 1.4  # [rad] angle ry of a base that is accepted: at 1.57 its angles are singular
# Longest step of progress, since the solution between steps is less accurate.  Step of the
# differences for a path's direction: longer ones miss its curvature, shorter ones lose digits.
PROGRESS_STEP, DIRECTION_STEP = 0.02, 1e-5

# Inversion: joint motion and input for a prescribed motion of the tip
INVERSION_ITERATIONS = 60  # of the fixed-point iteration; one that converges needs about ten
# Instants of an inversion, or of a base's reaction: so many that a spline through them is accurate,
# and within the tip's motion; above MOST_INSTANTS they take some GB.
FEWEST_INSTANTS, INSTANTS_OF_MOTION, MOST_INSTANTS = 101, 10, 1_000_000
LARGEST_TIP_ANGLE = 1e3  # [rad] beyond it digits of the motion are lost

# Gains
FASTEST_POLE = 1e12  # [1/s], so that its fourth power does not overflow
BANDWIDTH = 20.0  # [rad/s] of the joints by default: 3 Hz, slower than most links vibrate
SLOWEST_BANDWIDTH, FASTEST_BANDWIDTH = 1e-3, 1e6  # [rad/s] Riccati equations can be solved between
PRINTED_LINES = 7  # lines and postures of a regulator's summary, which then has ten lines
# Points along a path: with gains of their own, which take minutes; whose stability is examined.
MOST_GAINS, MOST_POSTURES = 10_000, 100_000

# Errors of a stiffness, relative: beyond the first links are practically rigid, and no loss of
# stability is searched; beyond the second double precision is lost.
SEARCHED_ERROR, LARGEST_ERROR = 1e3, 1e9

# Stability margins: relative half-width of a bracket about a frequency and error of the distance;
# iterations for the largest sensitivity, whose error falls quadratically.
MARGIN_ACCURACY, PEAK_ITERATIONS = 1e-6, 50
