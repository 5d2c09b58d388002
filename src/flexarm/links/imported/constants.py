"""Limits and thresholds of bodies from files and finite-element models."""

from flexarm.arm.shapes import MOST_AMPLITUDES

FRAME = 6  # displacements and rotations of a hub or tip
INTERFACES = 2 * FRAME  # unknowns of hub and tip
# Modes besides the static shapes of the tip, and unknowns of a superelement, so that a body has at
# most MOST_AMPLITUDES shapes.
MOST_MODES = MOST_AMPLITUDES - FRAME
MOST_UNKNOWNS = INTERFACES + MOST_AMPLITUDES
# Relative rounding error of the numbers in a file, since programs print six digits or more: of
# positions, matrices, hub motions and rigid shapes, over the largest of their kind.
DIGITS = 1e-6
