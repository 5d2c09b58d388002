"""Defaults and limits of exported plants, each with its unit and reason."""

# Relative tolerance of the steps of an FMU, unless its user sets one; typical deflection relative
# to a link's length, below which errors are absolute; least length [m] of a link for this.
EXPERIMENT_TOLERANCE, TYPICAL_DEFLECTION = 1e-6, 1e-3
IDENTIFIER_LENGTH = 40  # characters of an arm's name as identifier; longer names are cut
