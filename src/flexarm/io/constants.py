"""Limits of files that are read and written, each with its unit and reason."""

from math import pi

# Model files
MOST_MODEL_BYTES = 500_000  # larger files take the parser more than 10 s
# Largest number of nested levels, twice that of an arm; largest number of characters of a number,
# of which a double has at most 309 before its point.
MOST_LEVELS, MOST_DIGITS = 40, 400
MOST_MISTAKES = 50  # largest number of mistakes in a message
LINE_WIDTH = 70  # characters of a line of a list, after which its next item begins a new line

# Other files, which could otherwise exhaust the memory: largest number of cells in a line of a
# table, of triangles of a mesh, and of parts of a COLLADA file.
MOST_CELLS, MOST_TRIANGLES, MOST_MESH_PARTS = 10_000, 500_000, 5000

# Meshes
# Largest number of triangles of a link in a page, which a browser draws at full speed.
DRAWN_TRIANGLES = 1500
LARGEST_CORNER = 1e6  # largest coordinate of a corner, in the unit of the file
CIRCLE_SIDES = 24  # sides of the polygon that replaces a circle

# URDF: largest size of a file [bytes], and largest numbers of links and of geometries of a link.
MOST_URDF_BYTES, MOST_URDF_LINKS, MOST_GEOMETRIES = 5_000_000, 2000, 100
# Magnitudes above which numbers cannot be in URDF's metres, kilograms and radians: distance [m],
# mass [kg], radius of gyration [m].
LARGEST_DISTANCE, LARGEST_MASS, LARGEST_GYRATION = 100.0, 1e5, 20.0
# Largest angle of an origin, with its rounding, and largest limit of an angle, four turns [rad].
FULL_TURN, LARGEST_ANGLE = 2 * pi * (1 + 1e-6), 8 * pi
UNLIMITED_FROM = 1e3  # limit at and above which a joint counts as unlimited [rad], [m]
# Relative rounding error of inertias with three digits; magnitude below which a number counts as a
# rounded zero.
INERTIA_DIGITS, ROUNDED_ZERO = 1e-3, 1e-30
PACKAGE_LEVELS = 8  # largest number of folders above the URDF's that are searched for a package

# Beams made of a URDF's bodies: largest share of the mass that could be along the beam, and 1 minus
# its smallest share, so that beam and remainder both stay physical in spite of rounding; moment of
# misplaced masses, relative to mass times length, below which it is not reported.
BEAM_SHARE, MISPLACED_MOMENT = 0.99, 0.01
