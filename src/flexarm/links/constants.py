"""Limits, tolerances and orders of links' shape functions, each with its unit and reason.

Limits of bodies from files are in ``imported/constants.py``.
"""

from itertools import accumulate

# Number of shapes by rule
# Spring stiffness over EI/L. With a softer spring, three modes on a free root have the first three
# frequencies to 0.6 %, for one and two links, with and without hubs; with a stiffer spring, or
# none, four modes on a held root have them to 0.5 %, while those on a free root would be wrong by
# up to 20 %.
SOFT_SPRING = 0.1
# Number of shapes of torsion and of stretch where no bending is slower, as many as for bending of a
# held root; strain by weight above which a link has a stretch shape.
SHAPES_WITHOUT_BENDING, WEIGHT_STRAIN = 3, 1e-3

# Shape functions
# Relative difference below which values of a shape count as equal: a tip and the peak, or two
# extremes.
EQUAL_VALUES = 1e-3
# Relative size of the independent part of a shape below which rounding (10^-16) leaves fewer than
# four digits.
DEPENDENT = 1e-12
RATIONAL_DEGREES = 6  # additional polynomial degrees where the stiffness changes along the span

# Modes of a span, by Legendre series on panels
MOST_DENSE_UNKNOWNS = 250  # largest number of unknowns for which all singular values are computed
RESOLVED_COEFFICIENT = (
    1e-8  # size of the highest coefficients of a resolved mode, relative to the largest
)
# Factors on the number of panels, tried until modes are resolved.
REFINEMENTS = tuple(1.5**k for k in range(4))
# Largest ratio of the stiffnesses at the two ends of a panel; largest number of panels whose
# lengths may differ without limit.
PANEL_RATIO, FEW_PANELS = 3.0, 8

# Shear
SHEAR_POINTS = 16  # quadrature points per panel, plus two per shape
JUMP_SIZE = 1e-7  # jump of a function, relative to its largest value, below which it is rounding

# Integrals
# Orders of Gauss's rule that are tried, each half as large again: 8 to 200.
ORDERS = tuple(accumulate(range(8), lambda order, _: min(3 * order // 2, 200), initial=8))

# Sliding links
# Degree of a shape's Legendre series per panel, checked to converge; relative size of its last
# coefficients at convergence.
SERIES_DEGREE, SERIES_END = 40, 1e-5
# Gauss points per panel, exact for products of two such series; Chebyshev nodes over the exposed
# lengths, more than the terms of a series in the length.
SERIES_POINTS = 48
FIT_ERROR = 100.0  # amplification of rounding errors in second derivatives of fitted curves
RAIL_POINTS = (16, 32, 64)  # quadrature points per panel, increased until a series converges

# Interpolation functions of exact links
# Number of points of a single panel; number of shapes that these points distinguish; points per
# panel if there are several panels.
FINE_POINTS, MOST_EXACT_SHAPES, FINE_POINTS_PER_PANEL = 64, 48, 20
SLOPE_DECAY = 1.5  # assumed exponent with which slopes of shapes decrease: the k-th as k^-FALL
# Largest amplification of rounding errors, which leaves 12 digits: the condition number of a space
# at nodes distributed among panels, and the sum of absolute terms over the sum of the terms.
LARGEST_AMPLIFICATION = 1e4
# Weights of products of three slopes, of a slope and a stretch, and of polynomials, which complete
# a space, relative to products of two slopes.
TRIPLE_WEIGHT, STRETCH_WEIGHT, COMPLETION_WEIGHT = 0.2, 0.1, 1e-6
MOST_FUNCTIONS_PER_SHAPE = 1.6  # largest number of functions per shape for panelwise collocation
LARGEST_COMBINATION = 16.0  # largest value at any node of a combination that is 1 at one node

# Caches
CACHED_RESULTS, POLYNOMIAL_TABLES = 200, 32  # results, such as a link's shapes; tables at points
