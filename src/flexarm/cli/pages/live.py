"""`flexarm live`: an arm that runs in a page, and can be pulled."""

import argparse
import webbrowser
from pathlib import Path

from flexarm.cli.arguments import add_arm, add_options, file_path, read_arm, require_outputs

SUMMARY = "make a page in which an arm runs: pull it, turn its joints, change it by sliders"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_arm(parser)
    add = parser.add_argument
    add("--html", type=file_path, metavar="FILE", help="the page (default: ARM with .html, here)")
    add(
        "--all-shapes", action="store_true",
        help="keep shapes that vibrate too fast for the arm to run in real time",
    )  # fmt: skip
    add_options(parser, "--force")
    add("--open", action="store_true", help="open the page in a browser")


def run(args: argparse.Namespace) -> int:
    """Write the page and print its path."""
    from flexarm.viewer.live.page import live

    out = args.html or Path(f"{Path(args.arm).stem}.html")
    require_outputs(args, out)
    left_out = live(read_arm(args), out, all_shapes=args.all_shapes, force=args.force)
    if left_out:
        print(left_out.replace("all_shapes", "--all-shapes"))
    print(f"page: {out}")
    if args.open:
        webbrowser.open(out.resolve().as_uri())
    return 0
