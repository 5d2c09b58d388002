"""`python -m flexarm`: the command line."""

import sys

from flexarm.cli import main

if __name__ == "__main__":
    sys.exit(main())
