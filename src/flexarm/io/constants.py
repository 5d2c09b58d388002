"""Limits of the files that flexarm reads and writes, each with its unit and reason."""

from math import pi

# Model files
MOST_MODEL_BYTES = 500_000  # larger files take the parser more than 10 s
# Largest nesting depth, twice the depth of an arm. Largest number of characters of a number; a
# double has at most 309 digits before its point.
MOST_LEVELS, MOST_DIGITS = 40, 400
MOST_MISTAKES = 50  # largest number of mistakes in a message
LINE_WIDTH = 70  # characters in a line of a list, after which the next item starts a new line

# Other files, which could exhaust the memory without limits: largest number of cells in a line of a
# table, of triangles in a mesh, and of elements in a COLLADA file.
MOST_CELLS, MOST_TRIANGLES, MOST_MESH_PARTS = 10_000, 500_000, 5000

# Meshes
# Largest number of triangles per link in a page, for which a browser draws at full speed.
DRAWN_TRIANGLES = 1500
LARGEST_CORNER = 1e6  # largest coordinate of a mesh point, in the unit of the file
CIRCLE_SIDES = 24  # sides of the polygon that replaces a circle

# URDF: largest file size [bytes], largest number of links, and largest number of geometries per
# link.
MOST_URDF_BYTES, MOST_URDF_LINKS, MOST_GEOMETRIES = 5_000_000, 2000, 100
# Largest plausible distance [m], mass [kg] and radius of gyration [m] of a URDF. Larger numbers are
# likely in other units, whereas URDF uses metres and kilograms.
LARGEST_DISTANCE, LARGEST_MASS, LARGEST_GYRATION = 100.0, 1e5, 20.0
# Largest angle of an origin, including rounding, and largest joint limit, four turns [rad].
FULL_TURN, LARGEST_ANGLE = 2 * pi * (1 + 1e-6), 8 * pi
UNLIMITED_FROM = 1e3  # limit at and above which a joint counts as unlimited [rad], [m]
# Relative rounding error of inertias that are written with three digits. Magnitude below which a
# number counts as a rounded zero.
INERTIA_DIGITS, ROUNDED_ZERO = 1e-3, 1e-30
PACKAGE_LEVELS = 8  # largest number of parent folders searched for a package

# Beams made from a URDF's rigid bodies. BEAM_SHARE is the upper bound of the beam's mass relative
# to the largest possible mass, and 1 - BEAM_SHARE the lower bound, so that rounding makes neither
# the beam nor the remainder unphysical. A moment of misplaced masses below MISPLACED_MOMENT times
# mass times length is not reported.
BEAM_SHARE, MISPLACED_MOMENT = 0.99, 0.01
