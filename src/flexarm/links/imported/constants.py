"""Limits for bodies from files and finite-element models, each with its unit and reason.

These limits are not in ``links/constants.py`` because they apply to data of other programs.
"""

from flexarm.arm.constants import MOST_AMPLITUDES, MOST_FILE_BYTES

# Sizes
FRAME = 6  # number of displacements and rotations of a hub or tip
INTERFACES = 2 * FRAME  # number of unknowns of hub and tip
# Largest number of modes in addition to the six static shapes of the tip, and of unknowns of a
# superelement. A body has at most MOST_AMPLITUDES shapes.
MOST_MODES = MOST_AMPLITUDES - FRAME
MOST_UNKNOWNS = INTERFACES + MOST_AMPLITUDES
# Largest number of shapes in a file, which may include rigid motions.
MOST_SHAPES = 2 * MOST_AMPLITUDES
# Largest number of stations of a link; fitting curves through more takes minutes.
MOST_MODAL_STATIONS = 5000
# Largest size of a finite-element model, and of the arrays in it, uncompressed [bytes].
LARGEST_FILE, MOST_ARRAY_BYTES = 10 * MOST_FILE_BYTES, 20 * MOST_FILE_BYTES
# Largest magnitude of a number in a file: the product of ten such numbers does not overflow, and
# single precision can represent each.
LARGEST = 2.0**100
BODIES_IN_MEMORY = 16  # number of bodies from files in the cache, of up to MOST_ARRAY_BYTES each

# Digits Rounding error of the numbers in a file, because programs print at least six digits. The
# rounding error is relative to the largest position, matrix entry, hub motion or rigid shape.
DIGITS = 1e-6
SUM_DIGITS = 10 * DIGITS  # rounding error of sums of such numbers, or of single precision
# Asymmetry of K_sigma and K_u, relative to the largest entry, that counts as rounding.
SPIN_SYMMETRY = 1e-4

# Relative differences above which a check adds a note, or an error. Two checks add an error above 1
# %: the distance of a straight body's centre from the line between hub and tip, relative to the
# length, and the stiffness against rigid motions, relative to that of the tip.
NOTE_ABOVE, REFUSE_ABOVE = 0.01, 0.2

# Plausible links: outside these ranges a unit is likely wrong
FREQUENCIES = (0.01, 1e5)  # lowest and highest frequency of a link [Hz]
LENGTHS = (1e-3, 100.0)  # smallest and largest size of a link [m]
# Largest plausible ratio between a link's stiffness and the stiffness from its section.
STIFFNESS_FACTOR = 100.0
LARGEST_DENSITY = 25_000.0  # [kg/m^3], above the density of osmium, the densest metal
# Mass [kg] below which units are doubted: the number for a link of 100 kg in tonnes.
DOUBTFUL_MASS = 0.1
SPIN_STIFFENING = 1e3  # largest change of squared frequency per squared spin; about 1 for links
# Largest distance of an interface from the nodes, relative to the body's size.
FARTHEST_INTERFACE = 0.5

# Check for shuffled nodes: smallest number of nodes for the check; neighbours compared per node.
FEWEST_NODES, NEIGHBOURS = 50, 8
# Smallest ratio of the body's size to the distance of nodes for which shuffling is recognisable.
FINE_MESH = 10.0
# Largest displacement gradient at a node, relative to the median of all nodes; it is at most 3.4 in
# the meshes of the tests. Shortest distance over which shapes change by their size, relative to the
# distance of nodes; it is at least 9 in the meshes of the tests, and 2.8 if nodes are shuffled.
LARGEST_GRADIENT, SHORTEST_CHANGE = 4.8, 3.0

# Reduction of finite-element models
MOST_NODES_UNDIVIDED = 60  # largest part, in nodes, that nested dissection does not divide
# Weight of mass, centre and inertia relative to modal masses in the fit of node masses.
MASS_WEIGHT = 1e3

# Display of bodies: number of points of the axis, with both ends; largest numbers of other points
# and of points of a surface.
AXIS_POINTS, INNER_POINTS, SURFACE_POINTS = 13, 400, 3000
AXIS_WINDOW = 0.75  # width of the averaging window of the axis, in intervals between its points
