"""Limits of files that are read and written, each with its unit and reason."""

from math import pi

# Model files
MOST_MODEL_BYTES = 500_000  # larger files take the parser more than 10 s
# Levels of nesting, twice those of an arm; digits of a number, of which a double has at most 309
# before its point.
MOST_LEVELS, MOST_DIGITS = 40, 400
MOST_MISTAKES = 50  # in a message
LINE_WIDTH = 70  # characters of a line of a list, after which its next item begins a new line

# Other files, of which a hostile one could else exhaust the memory: cells in a line of a table;
# triangles of a mesh; parts of a COLLADA file.
MOST_CELLS, MOST_TRIANGLES, MOST_MESH_PARTS = 10_000, 500_000, 5000

# Meshes
DRAWN_TRIANGLES = 1500  # of a link in a page, which a browser draws at full speed
LARGEST_CORNER = 1e6  # coordinate of a corner, in the unit of the file
CIRCLE_SIDES = 24  # of the polygon that stands for a circle

# URDF: sizes beyond which a file is hostile or broken.
MOST_URDF_BYTES, MOST_URDF_LINKS, MOST_GEOMETRIES = 5_000_000, 2000, 100  # geometries of a link
# Magnitudes beyond which numbers are in other units than URDF's metres, kilograms and radians:
# distance [m], mass [kg], radius of gyration [m].
FARTHEST, HEAVIEST, WIDEST = 100.0, 1e5, 20.0
# [rad] largest angle of an origin, with its rounding; largest limit of an angle, four turns.
FULL_TURN, LARGEST_ANGLE = 2 * pi * (1 + 1e-6), 8 * pi
UNLIMITED = 1e3  # limit that some programs write for none
# Relative rounding error of inertias with three digits; magnitude below which a number is the
# rounding of a zero.
INERTIA_DIGITS, ZERO = 1e-3, 1e-30
PACKAGE_LEVELS = 8  # folders above the URDF's that are searched for a package

# Beams made of a URDF's bodies: the beam takes at most this share of the mass that could be along
# it, and at least the rest of 1, so that beam and remainder both stay bodies in spite of rounding;
# moment of misplaced masses, relative to mass times length, below which it is not reported.
BEAM_SHARE, MISPLACED_MOMENT = 0.99, 0.01
