"""Exit statuses of the command-line program."""

import signal

EXIT_OTHER = 1
EXIT_USAGE = 2
EXIT_INVALID_MODEL = 3
EXIT_SIMULATION = 4
EXIT_SIGNAL = 128  # plus the number of the signal: 143 of SIGTERM, 129 of SIGHUP
EXIT_INTERRUPTED = EXIT_SIGNAL + signal.SIGINT
EXIT_BROKEN_PIPE = EXIT_SIGNAL + 13  # SIGPIPE, which Windows does not have
