"""Limits, tolerances and defaults of studies of several arms, each with its unit and reason."""

# Comparison of formulations
AGREEMENT = 1e-10  # relative difference of formulations that agree on a well-conditioned arm
MOST_DEFLECTIONS = 100  # largest number of deflections; each takes a second or more
DEFLECTION_RATE = 10.0  # [1/s] deflection rate over deflection, as in a vibration of 1.6 Hz
# Duration [s] of the run whose states are compared; duration [s] of the timed evaluations, far
# above the resolution of a timer.
SHORT_RUN, TIMED = 0.1, 0.01

# Shape functions that are compared
# Number of modes per direction in the reference basis, in addition to static shapes. The
# COMPARED_MODES slowest modes then have errors far below any error of interest.
REFERENCE_MODES = 8
COMPARED_MODES = 3  # elastic modes per bending plane that motions excite
LEAST_WANT, MOST_WANT = 1e-6, 0.5  # smallest and largest error that a user may request

# Search for shape functions and a tolerance
SHAPE_RTOL = 1e-5  # largest rtol of the runs, far below errors of too few shapes
TRIALS = 8  # default number of bases that a search evaluates
MOST_COORDINATES = 100  # largest number of coordinates of a reference; more take minutes per run
# Allowed errors relative to the requested error: of the first reference run; of later reference
# runs, which converge slowly; of the best shapes, so that the rest remains for the tolerance.
MARGIN, MARGIN_LATER, SHAPE_ERROR = 0.25, 0.5, 0.9
# Estimated contribution of a shape, relative to the requested error. Below LEFT_OUT, the first
# trial omits the shape; above NEEDED, the shape is never omitted.
LEFT_OUT, NEEDED = 0.5, 4.0
# assumed bound of the sum of all further changes of a solution, relative to its last change
REMAINS = 1.5
# Integration tolerances to try, loosest first: 0.1, 0.05, 0.02, 0.01, ... 2e-9.
RTOLS = tuple(float(f"{digit}e-{power}") for power in range(2, 10) for digit in (10, 5, 2))

# Designs of a study
# Largest number of designs, whose results take about 100 GB. Largest number of values of a Latin
# hypercube, 800 MB, since all its values are drawn at once.
MOST_DESIGNS, MOST_HYPERCUBE = 10**9, 10**8
CHUNK = {"cpu": 64, "gpu": 65_536}  # designs per file: seconds of work; enough to fill a GPU
# Least number of chunks of a small study, so that several cores share the work; largest number of
# files of a large study, since more files slow file systems down.
LEAST_CHUNKS, MOST_FILES = 8, 10_000
SEED_DESIGNS = 4096  # random designs per seed, so that later designs do not need earlier ones
TAIL = 1e-12  # probability omitted at each end of a normal distribution, which is unbounded
CHUNK_ATTEMPTS = 3  # attempts at a chunk whose worker dies, for example without memory
LEAST_SOBOL_POINTS = 8  # least number of points for meaningful Sobol indices and bounds

# Results of a study
LISTED_REASONS = 5  # reasons of failed designs in a summary
# In a figure: largest number of designs, since more points overlap; largest number of groups of
# designs whose means are drawn; least number of designs in a group.
DRAWN_DESIGNS, MOST_MEANS, LEAST_GROUP = 4000, 12, 8
LABEL_WIDTH = 24  # characters in a line of a label, so that labels of panels do not overlap

# Search for an optimum, which begins at the best design of one chunk
SEARCHES, SEARCH_DESIGNS = 3, 60  # largest number of searches; designs per parameter and search
# Relative to a parameter's range: distance between the first designs of a search; distance of the
# designs that test the search's result; accuracy of the search, also relative to a limit.
NEAR, SEARCH_ACCURACY = 0.05, 1e-6
# Relative improvement by a nearby design above which an optimum is refuted. The same constant is
# the relative distance from a limit, or from an end of a range, below which the distance counts as
# zero.
NOTED = 1e-3
PENALTY = 100.0  # weight of relative limit violations; the relative aim has weight 1
