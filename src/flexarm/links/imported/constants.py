"""Limits and thresholds of bodies from files and finite-element models, with unit and reason.

They stand apart from ``links/constants.py``, since they judge data of other programs.
"""

from flexarm.arm.constants import MOST_AMPLITUDES, MOST_FILE_BYTES

# Sizes
FRAME = 6  # number of displacements and rotations of a hub or tip
INTERFACES = 2 * FRAME  # number of unknowns of hub and tip
# Largest numbers of modes besides the static shapes of the tip, and of unknowns of a superelement,
# so that a body has at most MOST_AMPLITUDES shapes.
MOST_MODES = MOST_AMPLITUDES - FRAME
MOST_UNKNOWNS = INTERFACES + MOST_AMPLITUDES
# Largest number of shapes in a file, which may include rigid motions.
MOST_SHAPES = 2 * MOST_AMPLITUDES
MOST_MODAL_STATIONS = 5000  # largest number of stations of a link: curves through more take minutes
# Largest size of a finite-element model, and of the arrays in it, uncompressed [bytes].
LARGEST_FILE, MOST_ARRAY_BYTES = 10 * MOST_FILE_BYTES, 20 * MOST_FILE_BYTES
# Largest magnitude of a number: products of ten do not overflow, and single precision represents
# it.
LARGEST = 2.0**100
BODIES_IN_MEMORY = 16  # number of bodies from files in the cache, of up to MOST_ARRAY_BYTES each

# Digits
# Relative rounding error of the numbers in a file, since programs print six digits or more: of
# positions, matrices, hub motions and rigid shapes, relative to the largest of their kind.
DIGITS = 1e-6
SUM_DIGITS = 10 * DIGITS  # rounding error of sums of such numbers, or of single precision
# Asymmetry of K_sigma and K_u, relative to the largest entry, that counts as rounding.
SPIN_SYMMETRY = 1e-4

# Relative differences that are reported as a note, and as an error. For the centre of a straight
# body off the line from hub to tip (relative to its length), and for stiffness against rigid
# motions (relative to that of the tip), 1 % is an error.
NOTE_ABOVE, REFUSE_ABOVE = 0.01, 0.2

# Plausible links: outside these ranges a unit is likely wrong
FREQUENCIES = (0.01, 1e5)  # lowest and highest frequency of a link [Hz]
LENGTHS = (1e-3, 100.0)  # smallest and largest size of a link [m]
# Largest ratio of a link's stiffness to that of its section, and of its inverse.
STIFFNESS_FACTOR = 100.0
LARGEST_DENSITY = 25_000.0  # density above that of osmium [kg/m^3]
DOUBTFUL_MASS = 0.1  # mass below which units are doubted [kg]: that of a link of 100 kg in tonnes
SPIN_STIFFENING = 1e3  # change of a mode's squared frequency per squared spin; for links about 1
FARTHEST_INTERFACE = 0.5  # distance of an interface from the nodes, relative to the body's size

# Nodes in another order: smallest number of nodes of a compared mesh; number of neighbours.
FEWEST_NODES, NEIGHBOURS = 50, 8
# Ratio of the body's size to the distance of nodes from which shuffling is recognised.
FINE_MESH = 10.0
# Gradient at a node, relative to the median of all nodes: at most 3.4 in the meshes of tests.
# Distance over which shapes change by their size, relative to that of nodes: at least 9 in the
# meshes of tests, 2.8 where nodes are shuffled.
LARGEST_GRADIENT, SHORTEST_CHANGE = 4.8, 3.0

# Reduction of finite-element models
MOST_NODES_UNDIVIDED = 60  # largest number of nodes of a part that is not divided further
# Weight of a body's mass, centre and inertia relative to its modal masses in a fit.
MASS_WEIGHT = 1e3

# Display of bodies: number of points of the axis, with both ends; largest numbers of other points
# and of points of a surface.
AXIS_POINTS, INNER_POINTS, SURFACE_POINTS = 13, 400, 3000
AXIS_WINDOW = 0.75  # width of the averaging window of the axis, in intervals between its points
