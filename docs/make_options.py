"""Make the page of the options of a run, docs/options.md: `python -m docs.make_options`."""

from pathlib import Path

from flexarm.integrate.options import OPTIONS, RunOptions

PAGE = Path(__file__).parent / "options.md"
HEAD = """# Options of a run

Made of `flexarm.integrate.options.RunOptions` by `python -m docs.make_options`; do not edit. Times
are numbers in seconds or texts such as `"5 ms"`. The command `flexarm simulate` has more [options
of its own](simulate.md#options), and a duration of 1 s by default.

"""


def page() -> str:
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
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
