"""Limits and thresholds of kinematics, loads and geometry, each with its unit and reason."""

# Number of nodes up to which products of node pairs take fewer operations than products of vectors.
SINGLE_NODES = 12

# Rotations of sections
# [rad] largest slope: below the singularity of rotation vectors at pi, and with a positive definite
# mass matrix (tests/physics/test_rotary.py).
STEEPEST_SLOPE = 2.5
ROTATION_TERMS = 8  # terms of each rotation polynomial: truncation below rounding up to pi

# Contacts and drives
SMALLEST_LENGTH = 1e-30  # [m], [m^2]: lower bound of lengths, so that derivatives are finite
# Contact depth of full transmission damping, relative to the backlash: damping that begins at once
# is a jump of the force, at which integrators fail.
DAMPING_ONSET = 0.01

# Deflections along links
# Stations along a span: for maxima of shapes, several per half-wave; default for a user's curves,
# both ends included; largest number for a user's curves.
SHAPE_STATIONS, CURVE_STATIONS, MOST_STATIONS = 33, 11, 10_000
BLOCK_VALUES = 1_000_000  # numbers per array, 8 MB; long runs are processed in blocks of samples
