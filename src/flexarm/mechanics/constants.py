"""Limits and thresholds of kinematics, loads and geometry, each with its unit and reason."""

# Number of nodes up to which summing over pairs of nodes takes fewer operations than with vectors.
SINGLE_NODES = 12

# Rotations of sections Largest slope [rad]. This slope is below the singularity of rotation vectors
# at pi, and the mass matrix is positive definite up to this slope (tests/physics/test_rotary.py).
STEEPEST_SLOPE = 2.5
ROTATION_TERMS = 8  # terms of rotation polynomials; truncation is below rounding up to pi

# Contacts and drives
# Lower bound of lengths [m] or their squares, so that derivatives are finite.
SMALLEST_LENGTH = 1e-30
# Contact depth, relative to the backlash, at which transmission damping is fully active. Damping
# without this transition is a jump of the force, at which integrators fail.
DAMPING_ONSET = 0.01

# Deflections along links
# Numbers of stations along a span: for maxima of shapes, several per half wave; default for output
# curves, both ends included; largest number for output curves.
SHAPE_STATIONS, CURVE_STATIONS, MOST_STATIONS = 33, 11, 10_000
BLOCK_VALUES = 1_000_000  # numbers per array (8 MB); long simulations are processed in blocks
