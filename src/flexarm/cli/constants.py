"""Defaults, and numbers of lines and items that commands print, each with its unit and reason."""

# Lines
# Characters per line in a file or pipe; least number of characters per line on a terminal, so that
# numbers are not cut.
PLAIN_WIDTH, LEAST_WIDTH = 250, 80
# Time [s] until the first line of progress; later lines follow at two, four, eight ... times this
# time.
FIRST_PROGRESS = 10.0
LONGEST_SILENCE = 600.0  # [s] between lines of progress, so that logs show that a job is alive

# Items printed without --all, so that a report fits on a screen of 25 lines
# Number of links, joints or events; number of notices.
PRINTED_ITEMS, PRINTED_NOTICES = 5, 3
# Number of modes; number of rigid motions among these; number of slowest modes in a report of
# several tables.
PRINTED_MODES, PRINTED_RIGID, PRINTED_SLOWEST = 10, 2, 3
# Number of links whose errors or numbers of shapes are printed; number of coordinates per mode.
PRINTED_ESTIMATES, PRINTED_COORDINATES = 3, 3
TRACKS_PER_TABLE = 4  # modes per table of a range: 80 characters wide
# Change of a frequency [%] below which "or less" is printed; residual vibration, relative to that
# of the unshaped motion, above which its cause is printed.
LEAST_CHANGE, EXPLAINED_VIBRATION = 0.001, 0.01

# Defaults
# Default duration of a run [s]; default number of points of a range: 5 degrees apart over 90
# degrees.
T_END, RANGE_POINTS = 1.0, 19

# New model files: largest number of links, each of which is written out; natural frequency of the
# suggested servos [Hz], below the first vibration of most arms.
MOST_NEW_LINKS, SERVO_FREQUENCY = 30, 1.0
