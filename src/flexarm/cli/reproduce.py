"""`flexarm reproduce`: run the command of the package `flexarm_papers`, if installed."""

import argparse

from flexarm.cli.console import arg
from flexarm.errors import FlexarmError

try:
    from flexarm_papers.command import ARGUMENTS, SUMMARY, run
except ModuleNotFoundError as missing:
    if missing.name != "flexarm_papers":
        raise
    SUMMARY = "compute the tables and figures of five papers (needs a checkout of flexarm)"
    # All arguments are accepted, since they belong to a package that is not installed.
    ARGUMENTS = (arg("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS),)

    def run(args: argparse.Namespace) -> None:
        """Raise an error that names the command which installs the package of papers."""
        raise FlexarmError(
            "the package 'flexarm_papers' is not installed. The wheel of flexarm does not "
            "contain it. Install a checkout of flexarm with 'pip install --editable .'"
        )


__all__ = ["ARGUMENTS", "SUMMARY", "run"]
