"""The argument ARM of the commands, `--set`, which changes its values, and `--allow-files`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flexarm.arm import Arm
    from flexarm.io.overrides import Change


def add_arm(parser: argparse.ArgumentParser) -> None:
    """Add ARM, `--set`, and where the files may lie that its model file names."""
    parser.add_argument("arm", metavar="ARM", help="a model file, or the name of a sample")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="changes", type=_change,
        help="change a value of the model file, such as gravity=[0,0,0] or "
        "links.forearm.section.EIy=900; links by name or number from 1; may be given again",
    )  # fmt: skip
    parser.add_argument(
        "--allow-files", type=Path, action="append", default=[], metavar="DIR",
        help="let the model file read files of this folder too, beside its own (repeatable)",
    )  # fmt: skip


def read_arm(args: argparse.Namespace) -> "Arm":
    """Load the arm with the changes that `--set` asks for."""
    from flexarm.io.overrides import load_changed
    from flexarm.io.sample import arm_path

    return load_changed(arm_path(args.arm), args.changes, files=args.allow_files)


def _change(text: str) -> "Change":
    """Read ``KEY=VALUE``."""
    from flexarm.errors import ModelError
    from flexarm.io.overrides import read_change

    try:
        return read_change(text)
    except ModelError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def formulation_name(text: str) -> str:
    """Read the name of a formulation from the command line."""
    from flexarm.formulations import FORMULATIONS

    if text not in FORMULATIONS:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(FORMULATIONS)}, got '{text}'")
    return text
