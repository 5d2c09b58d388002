"""Limits and thresholds of models made of arms, each with its unit and reason."""

# Shape functions from the arm's modes
# Smallest number of basis functions per direction, and smallest excess of this number over that of
# the shape functions; with fewer, the computed modes of the arm are inaccurate.
BASIS_FUNCTIONS, EXCESS_FUNCTIONS = {"y": 10, "z": 10, "twist": 6, "x": 6}, 4
# Smallest number of shape functions for which modes with driven joints locked are used, and the
# weight of their energy relative to that of the modes with driven joints free.
LOCKED_MODES_FROM, LOCKED_WEIGHT = 3, 0.3
RIDER_POSITIONS = 9  # positions of a rider along a rail at which modes are computed
# Weight of the basis functions relative to the modes, which decreases with their degree. The weight
# has an effect only if too few modes bend a link.
FILLING_WEIGHT = 1e-3

# Nodes of exact links: largest value of the argument ``nodes``, with which the equations grow;
# largest excess over the number of shape functions that the rule for expected slopes selects.
MOST_NODES, MOST_EXCESS_NODES = 30, 5
# Expected slope [rad] up to which one additional node is enough in spatial bending; expected slope
# above which the number of additional nodes grows with the number of shape functions.
SMALL_SLOPE, LARGE_SLOPE = 0.05, 0.15
# Bending moment of a hinged link in plane motion, relative to that of a clamped link.
HINGED_MOMENT = 1 / 8
# Error of the rotary inertia at the nodes, relative to the modal mass, below which the mass matrix
# is positive definite up to slopes of 2.5 rad (tests/physics/test_rotary.py); largest number of
# nodes tried beyond the number chosen by loads.
ROTARY_ERROR, MORE_NODES = 0.01, 8

# Number of Chebyshev nodes over the lengths of a sliding link, enough for its damping series to
# converge to rounding; default number of stations of a link in fits and comparisons.
DAMPING_NODES, FIT_STATIONS = 40, 41

# Default smoothing speed of Coulomb friction [rad/s or m/s]. Lower values take more integration
# steps; with higher values, joints held by friction creep.
SMOOTHING = {"rad": 1e-3, "m": 1e-4}

# Gauss points per panel of a span, besides one per shape function, at which a force per length
# acts: their weight agrees to 1e-9 with its own integrals (tests/physics/test_spread_loads.py).
LOAD_POINTS = 8

# Tables of profiles: largest number of rows of a file; largest number of pieces of a profile in
# equations, each of which makes the equations longer.
MOST_ROWS, MOST_PIECES = 1_000_000, 1000

# Number of coordinates that a message or ``repr`` names, so that the text fits on one line.
NAMED_COORDINATES = 6
