"""Rounding levels of the whole package, and limits of its modules outside packages."""

# Rounding, as relative errors of double precision
DIGITS = 1e-15  # error of a single number
DUST = 1e-14  # error of a zero after a few operations, relative to the operands
ROUNDING = 1e-13  # largest difference of numbers that count as equal, relative to their scale
ACCUMULATED = 1e-12  # error of a long sum, relative to its largest term
# Size below which a quantity counts as 0: [m], [rad], [m/s], [rad/s], or relative to a length or to
# the largest of its kind.
NEGLIGIBLE = 1e-9

# Linear models: thresholds that separate a quantity that is 0 but for rounding (1e-16 times the
# condition of the problem) from a small quantity.
SLOWEST_MOTION = 1e-6  # [rad/s] slowest eigenvalue that counts as motion: a period of ten weeks
SINGULAR = 1e-12  # eigenvalue of a matrix of unit diagonal that counts as 0
ASYMMETRY = 1e-10  # relative asymmetry of stiffness or damping below which modes count as real
LEAST_DIVISOR = 1e-300  # replaces a divisor that is 0
# Phase [rad] of the fastest motion up to which the exponential series has an error of 4e-8.
SERIES_PHASE = 0.8

# Numbers and texts
# Magnitudes that no arm has, and whose products could leave the range of double precision.
SMALLEST_NUMBER, LARGEST_NUMBER = 1e-40, 1e40
# Largest number of characters of a quantity given as text, of a value in a message, and of a line
# of a legend.
QUANTITY_LENGTH, VALUE_LENGTH, LEGEND_WIDTH = 100, 80, 56
# Share above which a part is named: a coordinate in a motion relative to the largest, a number in a
# combination, a link in the strain energy of a mode.
NAMED_SHARE = 0.3
CURVE_POINTS = 400  # points of a smooth curve in a figure: one per pixel or two
LEGEND_GAP = 0.45  # [in] from a panel to its legend: height of the axis's numbers and label
