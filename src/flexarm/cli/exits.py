"""Exit statuses of the command-line program."""

import signal

EXIT_OTHER = 1
EXIT_USAGE = 2
EXIT_INVALID_MODEL = 3
EXIT_SIMULATION = 4
EXIT_SIGNAL = 128  # exit status less the signal's number: status 143 for SIGTERM, 129 for SIGHUP
EXIT_INTERRUPTED = EXIT_SIGNAL + signal.SIGINT
EXIT_BROKEN_PIPE = EXIT_SIGNAL + 13  # 13 is SIGPIPE, which Windows lacks
