"""`flexarm reproduce`: compute the tables and figures of the papers, and decide what they say."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flexarm.cli.arguments import add_options, file_path

if TYPE_CHECKING:
    from flexarm.papers.base import Result

SUMMARY = "compute tables, figures and claims of the five papers beside what they print"
PAPERS = ("korayem-2009", "graves-1989", "theodore-1995", "chu", "chen-2012")
FOLDER = Path("reproduction")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add("paper", nargs="?", choices=PAPERS, help="one paper; all if not given")
    add(
        "--item", action="append", metavar="NAME",
        help="one table, figure or claim, such as table-2; may be given again",
    )  # fmt: skip
    add("--list", action="store_true", help="list the items and compute nothing")
    add(
        "--out", type=file_path, metavar="DIR",
        help=f"folder of the report (default {FOLDER}; with --json none)",
    )  # fmt: skip
    add("--force", action="store_true", help="overwrite a report that is there")
    add_options(parser, "--json")


def run(args: argparse.Namespace) -> int:
    """Compute the items, write the report, print the verdicts."""
    from flexarm.papers import choose_items, reproduce
    from flexarm.papers.report import check_report, document, write_report

    items = choose_items(args.paper, args.item)
    if args.list:
        rows = [{"paper": i.paper, "item": i.name, "title": i.title} for i in items]
        if args.json:
            print(json.dumps({"items": rows}))
        else:
            for row in rows:
                print(f"{row['paper']:<14} {row['item']:<22} {row['title']}")
        return 0
    folder = args.out if args.out is not None or args.json else FOLDER
    if folder is not None:
        check_report(folder, force=args.force)
    from rich.console import Console

    with Console(stderr=True).status("") as status:
        tell = (lambda text: status.update(text)) if sys.stderr.isatty() else None
        results = reproduce(items, progress=tell, workers=os.cpu_count() or 1)
    if folder is not None:
        write_report(results, folder, force=args.force)
    if args.json:
        print(json.dumps(document(results), allow_nan=False))
    else:
        _print(results, folder)
    return 0


def _print(results: "list[Result]", folder: Path | None) -> None:
    from flexarm.cli.console import open_console, print_line

    console = open_console()
    for result in results:
        difference = result.found.difference
        number = "" if difference.value is None else f"{difference.value:.3g}: "
        head = f"{result.item.paper} {result.item.name}: {result.verdict}"
        console.print(head, style="bold")
        print_line(console, result.item.title)
        print_line(console, f"difference: {number}{difference.of}")
        print_line(console, result.reason)
    done = sum(result.verdict == "reproduced" for result in results)
    console.print(f"{done} of {len(results)} items reproduced", style="bold")
    if folder is not None:
        print_line(console, f"report: {folder / 'report.html'}", indent=0)
