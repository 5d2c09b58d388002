"""Limits, tolerances and orders of links' shape functions, each with its unit and reason.

Limits of bodies from files are in ``imported/constants.py``.
"""

from itertools import accumulate

# Thresholds of the rule for the number of shapes
# Joint spring stiffness over EI/L below which the root of the link counts as free. With a softer
# spring, three modes with a free root give the first three frequencies of one- and two-link arms to
# 0.6 %. With a stiffer spring, or with a joint that is held, four modes with a clamped root give
# them to 0.5 %, while modes with a free root would be wrong by up to 20 %.
SOFT_SPRING = 0.1
# Number of shapes of torsion or stretch of a link without slower bending shapes, as many as for
# bending of a link with a clamped root; strain under weight above which a link has a stretch shape.
SHAPES_WITHOUT_BENDING, WEIGHT_STRAIN = 3, 1e-3

# Shape functions
# Relative difference below which two values of a shape count as equal, such as two extremes.
EQUAL_VALUES = 1e-3
# Relative size of a shape's linearly independent part; below it, rounding errors of 10^-16 leave
# fewer than four correct digits.
DEPENDENT = 1e-12
RATIONAL_DEGREES = 6  # polynomial degrees added if the stiffness varies along the span

# Modes of a span, by Legendre series on panels
MOST_DENSE_UNKNOWNS = 250  # largest number of unknowns for which all singular values are computed
RESOLVED_COEFFICIENT = (
    1e-8  # upper limit of a resolved mode's last coefficients, relative to the largest
)
# Factors that multiply the number of panels, tried in order until the modes are resolved.
REFINEMENTS = tuple(1.5**k for k in range(4))
# Largest ratio of the stiffnesses at the two ends of a panel; number of panels above which panels
# that are much longer than others are divided.
PANEL_RATIO, FEW_PANELS = 3.0, 8

# Shear
SHEAR_POINTS = 16  # quadrature points per panel, plus two per shape
JUMP_SIZE = 1e-7  # jump of a function, relative to its maximum, that counts as rounding error

# Integrals
# Numbers of Gauss points tried until integrals converge, from 8 to 200, increasing by half.
ORDERS = tuple(accumulate(range(8), lambda order, _: min(3 * order // 2, 200), initial=8))

# Sliding links
# Degree of a shape's Legendre series on each panel; relative size of the last coefficients below
# which the series counts as converged.
SERIES_DEGREE, SERIES_END = 40, 1e-5
# Number of Gauss points per panel, exact for products of two such series; number of Chebyshev nodes
# over the range of exposed lengths, more than the terms of a series in the length.
SERIES_POINTS = 48
FIT_ERROR = 100.0  # amplification of rounding errors in second derivatives of fitted curves
RAIL_POINTS = (16, 32, 64)  # quadrature points per panel, increased until a series converges

# Interpolation functions of exact links
# Number of sampling points of a single panel; largest number of shapes that these points
# distinguish; number of points per panel if there are several panels.
FINE_POINTS, MOST_EXACT_SHAPES, FINE_POINTS_PER_PANEL = 64, 48, 20
# The slope of the k-th shape is assumed to decrease as k to the power -SLOPE_DECAY.
SLOPE_DECAY = 1.5
# Largest amplification of rounding errors, which leaves 12 correct digits. The limit applies to the
# condition number of an interpolation space, and to the sum of absolute terms over the sum of the
# terms.
LARGEST_AMPLIFICATION = 1e4
# Weights of candidates that complete an interpolation space, relative to products of two slopes:
# products of three slopes, products of slope and stretch, and polynomials.
TRIPLE_WEIGHT, STRETCH_WEIGHT, COMPLETION_WEIGHT = 0.2, 0.1, 1e-6
MOST_FUNCTIONS_PER_SHAPE = 1.6  # largest number of functions per shape for panelwise collocation
LARGEST_COMBINATION = 16.0  # largest value at any node of a combination that is 1 at one node

# Caches
# Largest number of cached results, such as a link's shapes, and of cached polynomial tables.
CACHED_RESULTS, POLYNOMIAL_TABLES = 200, 32
