"""Limits, thresholds and defaults of runs' files, figures and tables, with unit and reason."""

# Runs
# Largest number of samples of a run or calls of its law: with 50 coordinates they take 8 GB.
MOST_SAMPLES = 10**7

# Runs of richer arms, by which errors are computed without being asked for, take at most the larger
# of this CPU time [s] and this multiple of the run's own: a user waits no longer unasked.
COMPARED_SECONDS, COMPARED_RATIO = 3.0, 5.0

# Samples that resolve a curve
SAMPLES_PER_PERIOD = 20  # recommended number of samples per vibration period
# Largest error of cubics through every second sample, at the samples between them, relative to the
# range of the curve.  A vibration over the whole range then has five samples per period, and a
# cubic interpolant through all samples has an error of 0.3 %.
CUBIC_ERROR = 0.05
LINE_ERROR = 0.01  # largest error of straight lines through the samples, relative to the range
# Least reference range of a curve for relative errors, over the largest range in its panel.
LEAST_CURVE_RANGE = 0.1

# Settling after a motion
SETTLING_BAND = 0.02  # distance from the final position that is settled, over the largest distance
# Least number of samples after a motion: fewer do not show whether the tip swings. Last share of
# the time after the motion, in which settling cannot be confirmed.
SETTLING_SAMPLES, LATE_SHARE = 5, 1 / 3

# Figures
DRAWN_SAMPLES = 8000  # largest number of samples in a figure or page: more than a screen's pixels
NOTE_WIDTH = 120  # characters per line of the note under a figure's panels
# Curves are left out of a figure if their largest value, relative to the largest value in the
# panel, is below this.
FLAT_CURVE = 1e-3
NEAREST_SAMPLE = 1e-5  # least drawn distance from the final position, over the largest distance
STATIONS = 25  # points drawn along an arm or a flexible link, both ends included
SNAPSHOTS = 9  # number of drawn postures in a figure; more would overlap
# Largest number of characters of a run's HTML page in a notebook, above which the notebook shows a
# picture; resolution of this picture [dots per inch].
PAGE_CHARACTERS, PAGE_PICTURE_DPI = 3_000_000, 72

# Files that are read
LARGEST_NUMBER = 1e100  # largest number in a run, so that squares do not overflow
MOST_READ_SAMPLES = 2 * MOST_SAMPLES  # events add samples to those of a run
# Largest number of characters of an attribute, since model files are shorter; largest number of
# labels of an axis, since arms have fewer coordinates.
MOST_TEXT, MOST_WORDS = 1_000_000, 100_000
# Largest unpacked size [bytes] of a file without limit on compression; largest ratio of unpacked to
# packed size of a larger file, since data of motions compress less than this.
MOST_UNPACKED, UNPACKED_RATIO = 64_000_000, 50
ROTATION_ERROR = 1e-6  # largest deviation of a rotation times its transpose from the identity

# Files that are written
# Largest share of a simulation's CPU time that snapshot files take; least time [s] between two
# snapshots.
SNAPSHOT_SHARE, SNAPSHOT_PAUSE = 0.05, 0.5
MATLAB_NAME = 63  # characters of a name that MATLAB reads
