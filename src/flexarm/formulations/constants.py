"""Limits, tolerances and steps of the equations of motion, each with its unit and reason."""

# States
# Distance, relative to the range of exposed lengths, by which a simulation may exceed that range;
# largest deviation of a user's rotation matrix from orthogonality.
RANGE_SLACK, ANCHOR_DIGITS = 1e-6, 1e-6

# Operations
CLOSED_FORM_SIZE = 60
EXPONENTIAL_TERMS = 14  # terms of the series of exp(theta~), enough for angles up to pi

# Other values of a model's numbers
# Factor whose powers change parameters to values other than 0 and 1; step of finite differences,
# relative to the parameter or to 1, at which truncation and rounding errors are equal.
OTHER_FACTOR, NUMBER_STEP = 1.0173, 5e-4

# Number of coordinates that a message on a singular mass matrix names, so that it stays short.
NAMED_COORDINATES = 3
