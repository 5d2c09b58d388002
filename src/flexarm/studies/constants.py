"""Limits, tolerances and defaults of studies of several arms, each with its unit and reason."""

# Comparison of formulations
AGREEMENT = 1e-10  # relative difference of formulations that agree on a well-conditioned arm
MOST_DEFLECTIONS = 100  # deflections to compare at; each takes a second or more
DEFLECTION_RATE = 10.0  # [1/s] rates relative to deflections, as in a vibration of 1.6 Hz
# [s]: duration of the run whose states are compared; of the evaluations that are timed, far above a
# timer's resolution.
SHORT_RUN, TIMED = 0.1, 0.01

# Shape functions that are compared
# Modes per direction of the reference, with static shapes beside them: the COMPARED_MODES slow
# modes are exact to far less than any error of interest.
REFERENCE_MODES = 8
COMPARED_MODES = 3  # elastic modes per plane of bending: those that motions excite
LEAST_WANT, MOST_WANT = 1e-6, 0.5  # error to ask for: runs at rtol 1e-8; half of the deflection
# Error of the series for bending beyond the slopes at which it was measured: SERIES_ERROR times the
# slope squared, and UNDAMPED_FACTOR times that where errors of phase add up.
SERIES_ERROR, UNDAMPED_FACTOR = 2.0, 5.0

# Search for shape functions and a tolerance
SHAPE_RTOL = 1e-5  # rtol of the runs at most: far below the differences between shapes
TRIALS = 8  # default number of bases that a search evaluates
MOST_COORDINATES = 100  # of a reference: with more a run takes minutes
# Relative to the wanted error: the error of a first reference; of later ones, which converge
# slowly; and of the best shapes, which leaves the rest to the tolerance.
MARGIN, MARGIN_LATER, SHAPE_ERROR = 0.25, 0.5, 0.9
# Contribution over the wanted error, as estimated: below it a first trial has no such shape; above
# it a shape is never left out.
LEFT_OUT, NEEDED = 0.5, 4.0
REMAINS = 1.5  # bound of all further changes over the last change, since changes at least halve
# Tolerances to try, loosest first: 0.1, 0.05, 0.02, 0.01, ... 2e-9.
RTOLS = tuple(float(f"{digit}e-{power}") for power in range(2, 10) for digit in (10, 5, 2))

# Designs of a study
# Designs, whose results take about 100 GB; numbers of a Latin hypercube, 800 MB: it is drawn as a
# whole.
MOST_DESIGNS, MOST_HYPERCUBE = 10**9, 10**8
CHUNK = {"cpu": 64, "gpu": 65_536}  # designs per file: seconds of work; enough to fill a GPU
# Chunks of a small study, so that several cores share it; files of a large one: more slow file
# systems down.
LEAST_CHUNKS, MOST_FILES = 8, 10_000
SEED_DESIGNS = 4096  # random designs drawn from one seed: any can be drawn without those before
TAIL = 1e-12  # probability left out at each end of a normal distribution, which is unbounded
CHUNK_ATTEMPTS = 3  # at a chunk whose worker dies, since memory may be free again
LEAST_SOBOL_POINTS = 8  # points of A without which indices and their bounds mean nothing

# Results of a study
LISTED_REASONS = 5  # reasons of failed designs in a summary
# In a figure: designs, since more points cover each other; groups whose means are drawn, and the
# least number of designs in a group.
DRAWN_DESIGNS, MOST_MEANS, LEAST_GROUP = 4000, 12, 8

# Search for an optimum, which begins at the best of one chunk of designs
SEARCHES, SEARCH_DESIGNS = 3, 60  # restarts at most; designs per parameter and search
# Relative to a range: distance of a search's first designs, and of those that test its result;
# accuracy of the search, also relative to a limit.
NEAR, SEARCH_ACCURACY = 0.05, 1e-6
# Relative difference that matters: gain by a nearby design that refutes an optimum; distance from a
# limit, or from an end of a range, that counts as at it.
NOTED = 1e-3
PENALTY = 100.0  # weight of relative violations of limits beside the relative aim
