"""Limits, thresholds and defaults of runs' files, figures and tables, with unit and reason."""

# Runs
# Samples of a run, or calls of its law, at most: coordinates and rates of 50 would take 8 GB.
MOST_SAMPLES = 10**7

# Samples that resolve a curve
SAMPLES_PER_PERIOD = 20  # recommended for a vibration
# Largest error of cubics through every second sample at the others, relative to a curve's range.  A
# vibration over the whole range then has five samples per period, and a cubic interpolant through
# all samples is off by 0.3 %.
CUBIC_ERROR = 0.05
LINE_ERROR = 0.01  # largest error of straight lines through the samples, relative to that range
# Least range of a curve that errors are relative to, over the largest range in its panel: smaller
# curves are not drawn larger.
LEAST_CURVE_RANGE = 0.1

# Settling after a motion
SETTLING_BAND = 0.02  # distance from the final place, over the largest, within which a tip settled
# Least number of samples after a motion: fewer do not show whether the tip swings; last share of
# the time after it: a rest that begins in it is not seen to last.
SETTLING_SAMPLES, LATE_SHARE = 5, 1 / 3

# Figures
DRAWN_SAMPLES = 8000  # samples that a figure or a page shows at most: more than a screen has pixels
NOTE_WIDTH = 120  # characters of a line under all panels
# Largest value of a curve over that in its panel, below which it cannot be seen and is left out.
FLAT_CURVE = 1e-3
NEAREST_SAMPLE = 1e-5  # distance, over the largest: nearer samples only show where the run ends
STATIONS = 25  # points drawn along an arm or a flexible link, both ends included
SNAPSHOTS = 9  # of the arm in a figure: more would cover each other
# Characters of a page in a notebook; a run with more is shown as a picture, one dot per pixel.
PAGE_CHARACTERS, PAGE_PICTURE_DPI = 3_000_000, 72

# Files that are read
LARGEST_NUMBER = 1e100  # in a run, so that its square does not overflow
MOST_READ_SAMPLES = 2 * MOST_SAMPLES  # events add samples to those of a run
# Characters of an attribute: model files are shorter; labels of an axis: no arm has so many
# coordinates.
MOST_TEXT, MOST_WORDS = 1_000_000, 100_000
# [bytes] that any file may take when unpacked; ratio of unpacked data to the size of a larger file:
# motions compress less.
MOST_UNPACKED, UNPACKED_RATIO = 64_000_000, 50
ROTATION_ERROR = 1e-6  # largest deviation of a rotation times its transpose from the identity
SAME_TIME = 1e-14  # distance of two samples over the last time: closer ones have the same time

# Files that are written
# Largest share of a simulation's time that snapshots of it take, and least time [s] between two.
SNAPSHOT_SHARE, SNAPSHOT_PAUSE = 0.05, 0.5
MATLAB_NAME = 63  # characters of a name that MATLAB reads
