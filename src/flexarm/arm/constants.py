"""Limits of values in model files, each with its unit and reason."""

# The Earth: gravitational parameter [m^3/s^2], equatorial radius [m]
EARTH = 3.986004418e14, 6.378137e6

# Links
MOST_SECTION_STATIONS = 1000  # largest number of stations of a link's section
# Largest ratio of a section property's values along a link, above which double precision does not
# suffice; largest damping ratio of a named mode, above which the mode hardly moves.
MOST_CHANGE, MOST_DAMPING = 1e8, 1000
# Largest product of stations and shapes in a direction, for which integrals take about ten seconds.
MOST_STATION_SHAPES = 4000
# Largest number of elements in a direction of a sliding link, whose elements are reduced to modes
# at many lengths; largest number of amplitudes of a link, with whose square second-order terms
# grow.
MOST_SLIDING_ELEMENTS, MOST_AMPLITUDES = 30, 100
# Largest number of spans of a link; a link of 100 spans could wind up forty times.
MOST_SPANS = 100

# Files of a model
# Largest size of a file and of all files [bytes]; larger files could exhaust the memory.
MOST_FILE_BYTES, MOST_TOTAL_BYTES = 20_000_000, 100_000_000

# Texts
# Largest numbers of characters of a part's name, and of an arm's notes.
NAME_LENGTH, NOTES_LENGTH = 60, 20_000
REPR_LENGTH = 300  # largest number of characters of the printed form of a part
# Largest number of printed rows of a table: in text, unless a summary sets its own limit; in HTML.
TEXT_ROWS, HTML_ROWS = 12, 60
