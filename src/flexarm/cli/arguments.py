"""Arguments that commands share."""

import argparse
from pathlib import Path


def add_arm(parser: argparse.ArgumentParser) -> None:
    """Add the arm, and where the files may lie that its model file names."""
    parser.add_argument("arm", metavar="ARM", help="a model file, or the name of a sample")
    parser.add_argument(
        "--allow-files", type=Path, action="append", default=[], metavar="DIR",
        help="let the model file read files of this folder too, beside its own (repeatable)",
    )  # fmt: skip
