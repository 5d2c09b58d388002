"""`flexarm arms`: list the sample arms of flexarm, or print the model file of one."""

import argparse
import re

from flexarm.cli.console import arg, print_json

SUMMARY = "list the arms that come with flexarm, or print one as a model file"
NOTES = re.compile(r"^notes:.*?(?=^\w|\Z)", re.MULTILINE | re.DOTALL)  # notes up to the next key
ARGUMENTS = (
    arg("name", nargs="?", metavar="SAMPLE", help="print this sample's model file"),
    arg(
        "--all", action="store_true",
        help="list also the arms on which operations are counted and formulations compared",
    ),
    "--json",
)  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Print the list of sample arms, or the model file of one."""
    from flexarm.samples import example_arm_names, sample_text, shown_names

    if args.name is not None:
        text = sample_text(args.name)
        if args.json:
            print_json({"name": args.name, "text": text})
        else:
            print(text.rstrip("\n"))
        return
    listed = example_arm_names() if args.all else shown_names()
    first_lines = {name: _first_line_of_notes(sample_text(name)) for name in listed}
    if args.json:
        print_json([{"name": name, "notes": line} for name, line in first_lines.items()])
        return
    width = max(map(len, first_lines), default=0)
    for name, line in first_lines.items():
        print(f"{name:<{width}}  {line}".rstrip())
    if left := len(example_arm_names()) - len(listed):
        print(f"\nand {left} to count operations on: 'flexarm arms --all' lists them")


def _first_line_of_notes(text: str) -> str:
    from ruamel.yaml import YAML

    match = NOTES.search(text)  # parsing of whole files would take a second
    notes = YAML(typ="safe", pure=True).load(match[0])["notes"] if match else ""
    return str(notes).strip().partition("\n")[0]
