"""Limits and thresholds of bodies from files and finite-element models, with unit and reason.

They stand apart from ``links/constants.py``, since they judge data of other programs.
"""

from flexarm.arm.constants import MOST_AMPLITUDES, MOST_FILE_BYTES

# Sizes
FRAME = 6  # displacements and rotations of a hub or tip
INTERFACES = 2 * FRAME  # unknowns of hub and tip
# Modes besides the static shapes of the tip, and unknowns of a superelement, so that a body has at
# most MOST_AMPLITUDES shapes.
MOST_MODES = MOST_AMPLITUDES - FRAME
MOST_UNKNOWNS = INTERFACES + MOST_AMPLITUDES
MOST_SHAPES = 2 * MOST_AMPLITUDES  # in a file, which may also hold rigid motions
MOST_MODAL_STATIONS = 5000  # of a link: more take the curves through them minutes
# [bytes] of a finite-element model, and of the arrays in it, uncompressed.
LARGEST_FILE, MOST_ARRAY_BYTES = 10 * MOST_FILE_BYTES, 20 * MOST_FILE_BYTES
LARGEST = 2.0**100  # number: products of ten do not overflow, and single precision represents it
BODIES_IN_MEMORY = 16  # bodies of files that are remembered, of up to MOST_ARRAY_BYTES each

# Digits
# Relative rounding error of the numbers in a file, since programs print six digits or more: of
# positions, matrices, hub motions and rigid shapes, over the largest of their kind.
DIGITS = 1e-6
SUM_DIGITS = 10 * DIGITS  # rounding error of sums of such numbers, or of single precision
SPIN_SYMMETRY = 1e-4  # asymmetry of K_sigma and K_u, over the largest entry, that is rounding

# Differences that are told.  That of a straight body's centre from the line hub to tip, over its
# length, and stiffness against rigid motions, over that of the tip, are errors from 1 % on.
NOTE_ABOVE, REFUSE_ABOVE = 0.01, 0.2

# Plausible links: outside these ranges a unit is likely wrong
FREQUENCIES = (0.01, 1e5)  # [Hz] lowest and highest of a link
LENGTHS = (1e-3, 100.0)  # [m] smallest and largest size of a link
STIFFNESS_FACTOR = 100.0  # stiffness of a link over that of its section
DENSEST = 25_000.0  # [kg/m^3] density above that of osmium
GRAMS = 0.1  # [kg] mass below which units are doubted: that of a link of 100 kg in tonnes
SPIN_STIFFENING = 1e3  # change of a mode's squared frequency over squared spin; links have about 1
OUTSIDE = 0.5  # distance of an interface from the nodes, over the body's size

# Nodes in another order: only meshes of many nodes are compared, each node with its neighbours
FEWEST_NODES, NEIGHBOURS = 50, 8
FINE_MESH = 10.0  # body's size over the distance of nodes, from which shuffling is recognised
# Steepness at a node over the median of all nodes: at most 3.4 in the meshes of tests.  Distance
# over which shapes rise by their size, over that of nodes: 9 and more in the meshes of tests, 2.8
# where nodes are shuffled.
STEEP_NODE, SHUFFLED = 4.8, 3.0

# Reduction of finite-element models
SMALL_PART = 60  # nodes of a part that is not halved further
MASS_WEIGHT = 1e3  # weight of a body's mass, centre and inertia beside its modal masses in a fit

# Figures of bodies: points of the axis, both ends included; other points; points of a surface
AXIS_POINTS, INNER_POINTS, SURFACE_POINTS = 13, 400, 3000
AVERAGED = 0.75  # width of the averaging window of the axis, in intervals of it
