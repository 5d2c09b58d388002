"""`flexarm live`: write a page that simulates an arm, which the mouse can pull."""

import argparse
import webbrowser
from pathlib import Path

from flexarm.cli.console import ARM, arg, file_path, read_arm, require_outputs

SUMMARY = "make a page in which an arm runs: pull it, turn its joints, change it by sliders"
ARGUMENTS = (
    *ARM,
    arg("--html", type=file_path, metavar="FILE", help="the page (default: ARM with .html, here)"),
    arg(
        "--all-shapes", action="store_true",
        help="keep shapes that vibrate too fast for the arm to run in real time",
    ),
    "--force",
    arg("--open", action="store_true", help="open the page in a browser"),
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Write the page of a live arm, and print the page's path."""
    from flexarm.viewer.live.page import live

    out = args.html or Path(f"{Path(args.arm).stem}.html")
    require_outputs(args, out)
    left_out = live(read_arm(args), out, all_shapes=args.all_shapes, force=args.force)
    if left_out:
        print(left_out.replace("all_shapes", "--all-shapes"))
    print(f"page: {out}")
    if args.open:
        webbrowser.open(out.resolve().as_uri())
