"""Measured errors, limits and thresholds of error estimates, each with its unit and reason."""

# E/(kappa G) of a solid rectangle with Poisson's ratio 0.3 (Timoshenko), assumed for the shear of
# sections that are given by numbers.
SHEAR_RATIO = 2.6 * 6 / 5
# Radius of gyration, over the link's length, that is assumed for twist shapes added to a link
# without inertia of twist: the fastest twist is then about a thousand times as fast as a wave over
# the length.
TWIST_GYRATION = 1e-3

# Ranges in which link models are valid
# Largest slopes [rad]: of second-order links, whose errors are some per cent above; of linear
# links, with errors of 0.1 % in driven motions; of bodies that are stiffened to first order in the
# loads.
SERIES_SLOPE, LINEAR_SLOPE, STIFFENED_SLOPE = 0.3, 0.0025, 0.05
# Shortening over length, and quartic share of the energy, of a circular arc with SERIES_SLOPE.
SHORTENING, QUARTIC_SHARE = SERIES_SLOPE**2 / 6, SERIES_SLOPE**2 / 3
YIELD_STRAIN = 0.005  # upper end of the yield strains of steel and aluminium, 0.002 to 0.005

# Error of the integration, by a repetition of the run at a tighter tolerance
# Longest run that is repeated by default [s of CPU time, from the operation count]; least assumed
# ratio of the error of a run to the error of its repetition.
REPEATED_SECONDS, LEAST_ERROR_RATIO = 1.0, 2.0
# Resolution of computed errors, relative to the tolerance; largest time difference of two samples
# that count as simultaneous, relative to the sampling interval.
RESOLUTION, SAME_TIME = 0.01, 1e-9
# Rounding error of a wind-up, relative to motor and joint angle, times the square root of the
# number of steps; in motions of 1e-7 to 2e-5 rad the error was at most 0.6 of this bound.
WIND_UP_ROUNDING = 4e-15

# Error of the shapes, by links with more shapes
# Numbers of shapes added to a link per direction, by order of the stiffness (2: bending, 1: twist
# and stretch): for the estimate and the first comparison with a richer run; for the second
# comparison, and for errors of frequencies.
ADDED_SHAPES, MORE_SHAPES = {2: 3, 1: 2}, {2: 5, 1: 4}
# Number of moment polynomials, beyond the number of shapes, that are combined to the softest
# shapes: with 6 or more the estimated errors do not change, with 4 they are a third.  Relative
# strain energy below which a candidate shape counts as dependent on the link's shapes.
CANDIDATES, DEPENDENT_ENERGY = 7, 1e-7
# Number of intervals into which a motion is divided; each interval has the modes of its middle.
# Jumps between intervals excite fast modes: with 16 intervals, errors are overestimated up to three
# times more than with 64.
STRETCHES = 64
# Vibration period of an added shape over the step: below IDLE_PERIOD the shape counts as massless,
# and its period is set to FOLLOWING_PERIOD.
IDLE_PERIOD, FOLLOWING_PERIOD = 1e-6, 0.03
# Largest ratio of the change by the second enrichment to the change by the first, for which the
# sequence counts as convergent: the sum of all further changes is then at most the second change.
CONVERGENT_RATIO = 0.5

# Errors of frequencies
# Number of the added MORE_SHAPES that the last refinement adds, whose effect shows how far the
# result has converged.
LAST_SHAPES = 2
# Number of frequencies whose largest error is printed; number of frequencies whose total errors are
# printed.
FIRST_FREQUENCIES, PRINTED_SUMS = 3, 12

# Relative errors: largest printed error, since two motions differ by at most twice their range;
# error above which a remedy is printed.
LARGEST_ERROR, REMEDY_ABOVE = 2.0, 0.01
