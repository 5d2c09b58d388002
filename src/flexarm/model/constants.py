"""Limits and thresholds of models made of arms, each with its unit and reason."""

# Shape functions from the arm's modes
# Smallest number of basis functions per direction, and its smallest excess over the number of shape
# functions combined from them: with fewer the modes themselves are inexact.
BASIS_FUNCTIONS, EXCESS_FUNCTIONS = {"y": 10, "z": 10, "twist": 6, "x": 6}, 4
# Number of shape functions from which modes with driven joints locked are used, and the weight of
# their energy relative to that of the modes with driven joints free.
LOCKED_MODES_FROM, LOCKED_WEIGHT = 3, 0.3
RIDER_POSITIONS = 9  # positions of a rider along a rail at which modes are computed
# Weight of the basis functions relative to the modes, falling with their degree: it matters only
# where too few modes bend a link.
FILLING_WEIGHT = 1e-3

# Nodes of exact links: largest value of the argument ``nodes``, since the size of the equations
# grows with it; largest excess over the number of shape functions chosen by expected slopes.
MOST_NODES, MOST_EXCESS_NODES = 30, 5
# Expected slope [rad] up to which one node is enough in spatial bending; expected slope above which
# the number of nodes follows the number of shape functions.
SMALL_SLOPE, LARGE_SLOPE = 0.05, 0.15
# Bending moment of a hinged link in plane motion, relative to that of a clamped link.
HINGED_MOMENT = 1 / 8
# Error of the rotary inertia at the nodes, relative to the modal mass, below which the mass matrix
# is positive definite up to slopes of 2.5 rad (tests/physics/test_rotary.py); largest number of
# nodes tried beyond the number chosen by loads.
ROTARY_ERROR, MORE_NODES = 0.01, 8

# Chebyshev nodes over the lengths of a sliding link, whose damping series then ends at rounding;
# default number of stations of a link in fits and comparisons.
DAMPING_NODES, FIT_STATIONS = 40, 41

# Default smoothing speed of Coulomb friction [unit/s]: with less, integration takes more steps;
# with more, joints held by friction creep.
SMOOTHING = {"rad": 1e-3, "m": 1e-4}

# Tables of profiles: largest number of rows of a file; largest number of pieces of a traced
# profile, since the equation grows by each of them.
MOST_ROWS, MOST_PIECES = 1_000_000, 1000

# Coordinates that a message or ``repr`` names, so that the text stays a line.
NAMED_COORDINATES = 6
