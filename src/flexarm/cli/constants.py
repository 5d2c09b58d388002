"""Defaults, and numbers of lines and items that commands print, each with its unit and reason."""

# Lines
# Characters per line in a file or pipe; least number on a terminal, so that numbers are not cut.
PLAIN_WIDTH, LEAST_WIDTH = 250, 80
# Time [s] until the first line of progress; later lines follow at twice, four times, ... this time.
FIRST_PROGRESS = 10.0
LONGEST_SILENCE = 600.0  # [s] between lines of progress: a log shows whether a job still works

# Items printed without --all, so that a report fits on a screen of 25 lines
# Links, joints or events; notices.
PRINTED_ITEMS, PRINTED_NOTICES = 5, 3
# Modes, and rigid motions among them; the slowest modes in a report of several tables.
PRINTED_MODES, PRINTED_RIGID, PRINTED_SLOWEST = 10, 2, 3
# Links whose errors or numbers of shapes are printed; coordinates listed per mode.
PRINTED_ESTIMATES, PRINTED_COORDINATES = 3, 3
TRACKS_PER_TABLE = 4  # modes per table of a range, as many as 80 characters hold
# Change of a frequency [%] below which "or less" is printed; residual vibration, relative to the
# unshaped motion's, above which its cause is printed.
LEAST_CHANGE, EXPLAINED_VIBRATION = 0.001, 0.01

# Defaults
# Default duration of a run [s]; default number of points of a range, 5 degrees apart over 90.
T_END, RANGE_POINTS = 1.0, 19

# New model files: links at most, which are written one by one; natural frequency of the suggested
# servos [Hz], below the first vibration of most arms.
MOST_NEW_LINKS, SERVO_FREQUENCY = 30, 1.0
