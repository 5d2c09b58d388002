"""`flexarm reproduce`: compute the tables and figures of the papers, and judge their statements."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from flexarm.cli.console import Argument, arg, file_path, progress
from flexarm_papers import PAPERS, choose_items, reproduce

if TYPE_CHECKING:
    from flexarm_papers.base import Result

SUMMARY = "compute the tables and figures of five papers, with a verdict on every statement"
FOLDER = Path("reproduction")
ARGUMENTS: tuple[str | Argument, ...] = (
    arg("paper", nargs="?", choices=tuple(PAPERS), help="one paper; all if not given"),
    arg(
        "--item", action="append", metavar="NAME",
        help="one table, figure or claim, such as table-2; may be given again",
    ),
    arg("--errata", action="store_true", help="run the papers' misprints beside what is right"),
    arg("--list", action="store_true", help="list items; compute nothing"),
    arg(
        "--out", type=file_path, metavar="DIR",
        help=f"folder of the pages (default {FOLDER}; with --json none); file of the --errata",
    ),
    arg("--force", action="store_true", help="overwrite pages that exist"),
    "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Compute the items, write a page per paper, print the verdicts."""
    from flexarm_papers.report import check_report, document, write_report

    if args.errata:
        _errata(args)
        return
    items = choose_items(args.paper, args.item)
    if args.list:
        rows = [{"paper": x.paper, "item": x.name, "title": x.title} for x in items]
        table = "\n".join(f"{x['paper']:<14} {x['item']:<22} {x['title']}" for x in rows)
        print(json.dumps({"items": rows}) if args.json else table)
        return
    folder = args.out if args.out is not None or args.json else FOLDER
    if folder is not None:
        check_report(list(dict.fromkeys(x.paper for x in items)), folder, force=args.force)
    try:
        with _progress_lines() as tell:
            results = reproduce(items, progress=tell, workers=os.cpu_count() or 1)
    except KeyboardInterrupt:
        print("flexarm reproduce: stopped before all was computed: nothing is decided, and no "
              "report is written", file=sys.stderr)  # fmt: skip
        raise
    pages = write_report(results, folder, force=args.force) if folder is not None else []
    if args.json:
        print(json.dumps(document(results), allow_nan=False))
    else:
        _print(results, pages)


@contextmanager
def _progress_lines() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows progress: in place on a terminal, as lines in a pipe."""
    if not sys.stderr.isatty():
        yield lambda text: print(f"flexarm reproduce: {text}", file=sys.stderr, flush=True)
        return
    with progress() as tell:
        yield tell


def _errata(args: argparse.Namespace) -> None:
    """Run the misprints, and print the effect of each."""
    from flexarm.io.whole_file import write_whole
    from flexarm_papers.errata import errata, markdown, measured

    if args.out is not None:
        write_whole(args.out, markdown().encode(), force=args.force)
        return
    found = [(each, measured(each)) for each in errata(args.paper)]
    if args.json:
        rows = [
            {"paper": each.paper, "where": each.where, "printed": each.printed,
             "right": each.right, "effect": effect}
            for each, effect in found
        ]  # fmt: skip
        print(json.dumps({"errata": rows}))
        return
    for each, effect in found:
        print(f"{each.paper} {each.where}")
        print(f"  printed: {each.printed}\n  right:   {each.right}\n  effect:  {effect}")


def _print(results: "list[Result]", pages: list[Path]) -> None:
    from flexarm.cli.console import open_console, print_line
    from flexarm_papers.report import NAMES, by_paper, summary

    console = open_console()
    for result in results:
        console.print(f"{result.item.paper} {result.item.name}: {result.item.title}", style="bold")
        for each in result.found.statements:
            print_line(console, f"{each.says} [{each.at}]")
            print_line(console, each.sentence, indent=4)
    for paper, own in by_paper(results).items():
        counts = next(line for line in summary(own) if " statements: " in line)
        console.print(f"{NAMES[paper]}: {counts}", style="bold")
    for page in pages:
        print_line(console, f"page: {page}", indent=0)
