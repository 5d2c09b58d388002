"""Measured errors, limits and thresholds of error estimates, each with its unit and reason."""

# Errors of links' models, relative to the range of their deflections
# Quadrature error of exact links by number of nodes beyond the shapes, relative to the range of the
# first amplitudes: value at rest, and increase per slope.  The largest in falls of arms with limp
# joints against many nodes; driven links have a hundredth of it.
NODE_ERROR = {1: (8e-3, 0.5), 2: (2e-3, 0.1), 3: (5e-4, 0.01), 4: (2e-4, 0.004)}
# Links by the series: slopes, and errors of the deflections up to them, measured in motion against
# the exact inextensible beam.
MODEL_ERROR = ((0.01, 1e-5), (0.05, 6e-4), (0.08, 2e-3), (0.3, 4e-3), (0.5, 2e-2))
# The same for linear theory: a driven link has errors of 4 % where the series has 0.06 %, a
# two-link fall 14 to 25 % at slopes of 0.01.
LINEAR_ERROR = ((0.0025, 1e-3),)
# Slender beams: factor on the first-order estimate of their error, for the next orders; E/(kappa G)
# of a solid rectangle with nu = 0.3.
HIGHER_ORDERS, SHEAR_RATIO = 1.2, 2.6 * 6 / 5

# Range in which links' models hold
# Slopes: of series links from which on errors reach per cents; of linear theory; of bodies that
# are stiffened to first order in loads.
SERIES_SLOPE, LINEAR_SLOPE, STIFFENED_SLOPE = 0.3, LINEAR_ERROR[0][0], 0.05
# Shortening over length, and quartic share of the energy, of a circular arc with SERIES_SLOPE.
SHORTENING, QUARTIC_SHARE = SERIES_SLOPE**2 / 6, SERIES_SLOPE**2 / 3
YIELD_STRAIN = 0.005  # at which steel and aluminium yield (0.002 to 0.005), of the neglected order

# Error of the integration, by a repetition of the run at a tighter tolerance
# Longest run, by counted operations, that is repeated without being asked [s of CPU]; least ratio
# of the errors of a run and of its repetition, whatever their steps.
REPEATED_SECONDS, LEAST_ERROR_RATIO = 1.0, 2.0
# Resolution of computed errors, relative to the tolerance; largest distance of two samples at one
# time, relative to their interval.
RESOLUTION, SAME_TIME = 0.01, 1e-9
# Rounding error of a wind-up relative to its two angles, times the root of the number of steps;
# motions of 1e-7 to 2e-5 rad had 0.6 of that or less.
WIND_UP_ROUNDING = 4e-15

# Error of the shapes, by links with more shapes
# Shapes added to a link per direction, by order of the stiffness (2 of a beam, 1 of a rod): by the
# estimate, and by the two steps of the comparison with richer runs.
ADDED_SHAPES, MORE_ADDED_SHAPES = {2: 3, 1: 2}, {2: 4, 1: 3}
# Polynomials of the moment beyond the number of shapes, from which the softest shapes are made:
# from 6 on the estimated errors do not change; with 4 they were a third.  Relative strain energy
# below which a candidate is one of the link's shapes.
CANDIDATES, DEPENDENT_ENERGY = 7, 1e-7
# Intervals of a motion, each with the modes of its middle.  Changes between them excite fast modes
# that the motion does not: with 16 stretches, errors were overestimated up to three times more.
STRETCHES = 64
# Relative to a step: period below which added shapes carry no inertia; the period they get instead.
IDLE_PERIOD, FOLLOWING_PERIOD = 1e-6, 0.03
# Largest ratio of the change by the second step to the change by the first, if a sequence of steps
# converges: the sum of all further ones is then at most the second.
CONVERGENT_RATIO = 0.5

# Errors of frequencies
# Shapes per direction beyond those of the arm, by order of the stiffness, and how many of them are
# the last step, whose change shows how far the first has converged.
MORE_SHAPES, LAST_SHAPES = {2: 5, 1: 4}, 2
FIRST_FREQUENCIES, PRINTED_SUMS = 3, 12  # whose largest errors are printed; whose sums are

# Printed errors, relative: the largest, since two motions within a range do not differ by more; the
# one above which a remedy is printed.
LARGEST_ERROR, REMEDY_ABOVE = 2.0, 0.01
