"""Make the table of the options of a run in docs/simulate.md: `python -m docs.make_options`."""

import re
from pathlib import Path

from flexarm.integrate.options import OPTIONS, RunOptions

PAGE = Path(__file__).parent / "simulate.md"
TABLE = re.compile(r"\| `simulate\(\)` \|.*?\n\n", re.DOTALL)


def table() -> str:
    """Write the table: Python's name, flag, default, unit and bounds, and what the option does."""
    rows = ["| `simulate()` | `flexarm simulate` | if not given | |", "|---|---|---|---|"]
    for name, each in OPTIONS.items():
        flag = f"`{each.flag}`" if each.flag else ""
        default = getattr(RunOptions, name, "")
        shown = "" if default in (None, "") or default is False else f"`{default}`"
        low, high = each.bounds
        text = each.help + (f" [{each.unit}]" if each.unit not in ("", "1") else "")
        text += f", from {low:g} to {high:g}" if low else ""
        text += f": `{'`, `'.join(each.words)}`" if each.words else ""
        more = each.more.replace("``", "`")
        rows.append(f"| `{name}` | {flag} | {shown} | {text}. {more} |".replace(".  |", ". |"))
    return "\n".join(rows) + "\n\n"


def page(text: str) -> str:
    """Put the table in place of the one on the page."""
    return TABLE.sub(lambda _: table(), text, count=1)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
