"""`flexarm reproduce`: compute the tables and figures of the papers, and decide what they say."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flexarm.cli.console import Argument, arg, file_path, progress
from flexarm_papers import PAPERS, choose_items, reproduce

if TYPE_CHECKING:
    from flexarm_papers.base import Item, Result

SUMMARY = "search every statement of the five papers over what they leave open"
FOLDER = Path("reproduction")


def reading(text: str) -> tuple[str, str]:
    """Take a reading apart: what is open, and how it is read."""
    name, equals, way = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"got '{text}', expected NAME=WAY, as --list has them")
    return name.strip(), way.strip()


ARGUMENTS: tuple[str | Argument, ...] = (
    arg("paper", nargs="?", choices=tuple(PAPERS), help="one paper; all if not given"),
    arg(
        "--item", action="append", metavar="NAME",
        help="one table, figure or claim, such as table-2; may be given again",
    ),
    arg(
        "--reading", action="append", metavar="NAME=WAY", type=reading,
        help="how something that the paper leaves open is read; may be given again",
    ),
    arg("--full", action="store_true", help="try all combinations of readings, 40 minutes of CPU"),
    arg("--errata", action="store_true", help="run the papers' misprints beside what is right"),
    arg("--list", action="store_true", help="list items and what they leave open; compute nothing"),
    arg(
        "--out", type=file_path, metavar="DIR",
        help=f"folder of the report (default {FOLDER}; with --json none); file of the --errata",
    ),
    arg("--force", action="store_true", help="overwrite a report that is there"),
    "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Compute the items, write the report, print the verdicts."""
    from flexarm_papers.report import check_report, document, write_report

    if args.errata:
        _errata(args)
        return
    items = choose_items(args.paper, args.item)
    if args.list:
        _list(items, as_json=args.json)
        return
    folder = args.out if args.out is not None or args.json else FOLDER
    if folder is not None:
        check_report(folder, force=args.force)
    try:
        with progress() as tell:
            results = reproduce(items, full=args.full, readings=dict(args.reading or ()),
                                progress=tell, workers=os.cpu_count() or 1)  # fmt: skip
    except KeyboardInterrupt:
        print("flexarm reproduce: stopped before all was computed: nothing is decided, and no "
              "report is written", file=sys.stderr)  # fmt: skip
        raise
    if folder is not None:
        write_report(results, folder, force=args.force)
    if args.json:
        print(json.dumps(document(results), allow_nan=False))
    else:
        _print(results, folder)


def _list(items: "list[Item]", *, as_json: bool) -> None:
    """List items, and what each leaves open."""
    rows = [
        {"paper": item.paper, "item": item.name, "title": item.title,
         "open": {each.name: list(each.ways) for each in item.grid.choices}}
        for item in items
    ]  # fmt: skip
    if as_json:
        print(json.dumps({"items": rows}))
        return
    shown = set[tuple[str, ...]]()
    for item in items:
        print(f"{item.paper:<14} {item.name:<22} {item.title}")
        for each in item.grid.choices:
            if (key := (item.paper, each.name, *each.ways)) not in shown:
                shown.add(key)
                print(f"{'':<14} open: {each.name} = {'; '.join(each.ways)}")


def _errata(args: argparse.Namespace) -> None:
    """Run the misprints, and print what each of them does."""
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


def _print(results: "list[Result]", folder: Path | None) -> None:
    from flexarm.cli.console import open_console, print_line
    from flexarm_papers.report import command, summary

    console = open_console()
    for result in results:
        console.print(f"{result.item.paper} {result.item.name}: {result.item.title}", style="bold")
        for at, each in result.said:
            print_line(console, f"{each.says} [{at}]" if at else each.says)
            print_line(console, f"{each.sentence} {each.note}".strip(), indent=4)
            if each.conditions:
                print_line(console, command(result, each), indent=4)
    for row in summary(results).rows:
        words = ", ".join(
            f"{count} {verdict}"
            for count, verdict in zip(row[2:], summary(results).head[2:], strict=True)
            if count != "0"
        )
        number = f"{row[1]} statement{'s' if row[1] != '1' else ''}"
        console.print(f"{row[0]}: {number}, {words}", style="bold")
    if folder is not None:
        print_line(console, f"report: {folder / 'report.html'}", indent=0)
