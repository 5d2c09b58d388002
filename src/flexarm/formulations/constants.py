"""Limits, tolerances and steps of the equations of motion, each with its unit and reason."""

# States
# Distance beyond a range of exposed lengths, relative to the range, that a run may reach; largest
# rounding error of a given rotation matrix.
RANGE_SLACK, ANCHOR_DIGITS = 1e-6, 1e-6

# Operations
CLOSED_FORM_SIZE = 60
EXPONENTIAL_TERMS = 14  # terms of the series of exp(theta~), enough for angles up to pi

# Other values of a model's numbers
# Factor whose powers change numbers to other values than 0 and 1; step of finite differences
# relative to a number, or to 1, at which truncation and rounding errors are equal.
OTHER_FACTOR, NUMBER_STEP = 1.0173, 5e-4

# Number of coordinates that a message on a singular mass matrix names, so that it stays short.
NAMED_COORDINATES = 3
