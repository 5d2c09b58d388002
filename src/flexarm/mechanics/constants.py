"""Limits and thresholds of kinematics, loads and geometry, each with its unit and reason."""

# Products of shape functions: numbers up to which a first way takes fewer operations than a second.
# Bending amplitudes: tensors, then points along the link.  Nodes: products of node by node, then
# vectors; the nodes of elements, which are many, have numbers in common that vectors meet once.
TENSOR_AMPLITUDES, SINGLE_NODES = 8, 12

# Rotations of sections
# [rad] largest slope: below the singularity of rotation vectors at pi, and with a positive definite
# mass matrix (tests/physics/test_rotary.py).
STEEPEST_SLOPE = 2.5
ROTATION_TERMS = 8  # of each polynomial: truncation error below rounding up to an angle of pi

# Contacts and drives
SMALLEST_LENGTH = 1e-30  # [m], [m^2]: lower bound of lengths, so that derivatives are finite
# Contact depth of full transmission damping, relative to the backlash: damping that begins at once
# is a jump of the force, at which integrators fail.
DAMPING_ONSET = 0.01

# Deflections along links
# Stations along a span: for maxima of shape functions, several per half-wave; of a user's curves
# unless the user names them, both ends included; of those at most.
SHAPE_STATIONS, CURVE_STATIONS, MOST_STATIONS = 33, 11, 10_000
BLOCK_VALUES = 1_000_000  # per array, 8 MB: long runs are processed in blocks of samples
