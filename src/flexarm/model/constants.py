"""Limits and thresholds of models made of arms, each with its unit and reason."""

# Shape functions from the arm's modes
# Basis functions per direction that they are combined from at least, and their smallest excess over
# the shape functions: with fewer the modes themselves are inexact.
BASIS_FUNCTIONS, EXCESS_FUNCTIONS = {"y": 10, "z": 10, "twist": 6, "x": 6}, 4
# Shape functions from which on modes with locked joints take part, and the weight of their energy
# beside that of the arm's own modes.
LOCKED_MODES_FROM, LOCKED_WEIGHT = 3, 0.3
RIDER_POSITIONS = 9  # positions of a rider along a rail at which modes are computed
# Relative weight of the basis functions, falling with their degree: they matter only where too few
# modes bend a link.
FILLING_WEIGHT = 1e-3

# Nodes of exact links: argument ``nodes``, a bound of the equations' size, which grows with it;
# excess over the shape functions that is chosen by expected slopes.
MOST_NODES, MOST_EXCESS_NODES = 30, 5
# Expected slope [rad] up to which one node is enough in spatial bending; from which on nodes follow
# the number of shape functions.
SMALL_SLOPE, LARGE_SLOPE = 0.05, 0.15
# Bending moment of a hinged link in plane motion, relative to that of a clamped link.
HINGED_MOMENT = 1 / 8
# Error of the sections' rotary inertia at the nodes, relative to the modal mass, below which the
# mass matrix is positive definite up to slopes of 2.5 rad (tests/physics/test_rotary.py), and how
# many nodes more than chosen by loads are tried.
ROTARY_ERROR, MORE_NODES = 0.01, 8

# Curves along links: Chebyshev nodes over the lengths of a sliding link, whose series ends where
# its coefficients are rounding; stations of a link in fits and comparisons unless users name them.
DAMPING_NODES, FIT_STATIONS = 40, 41

# Default smoothing speed of Coulomb friction [unit/s]: with less, integration takes more steps;
# with more, joints held by friction creep.
SMOOTHING = {"rad": 1e-3, "m": 1e-4}

# Tables of profiles: rows of a file; pieces in an equation, which grows by each of them.
MOST_ROWS, MOST_PIECES = 1_000_000, 1000

# Coordinates that a message or ``repr`` names, so that the text stays a line.
NAMED_COORDINATES = 6
