"""Limits of descriptions of arms, each with its unit and reason."""

# The Earth: gravitational parameter [m^3/s^2], equatorial radius [m]
EARTH = 3.986004418e14, 6.378137e6

# Links
MOST_SECTION_STATIONS = 1000  # of a link's section
# Change of a property along a link, beyond which numbers of 16 digits are too few; damping ratio of
# a mode that is named, beyond which it hardly moves.
MOST_CHANGE, MOST_DAMPING = 1e8, 1000
# Stations times shapes in a direction: their integrals take some ten seconds.
MOST_STATION_SHAPES = 4000
# Elements in a direction of a sliding link, which are reduced at many lengths; amplitudes of a
# link, whose second-order terms grow with the square.
MOST_SLIDING_ELEMENTS, MOST_AMPLITUDES = 30, 100

# Files of a model
# Bytes of a file, and of all files: beyond them a hostile model file could exhaust the memory.
MOST_FILE_BYTES, MOST_TOTAL_BYTES = 20_000_000, 100_000_000

# Texts
NAME_LENGTH, NOTES_LENGTH = 60, 20_000  # characters of a part's name, and of an arm's notes
REPR_LENGTH = 300  # characters of the printed form of a part
# Printed rows of a table: in text, unless a summary has its own number; in HTML.
TEXT_ROWS, HTML_ROWS = 12, 60
