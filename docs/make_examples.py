"""Make the page of the examples from the programs in examples/: `python -m docs.make_examples`."""

import ast
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "examples.md"
# What `make demo` runs draws figures, and is no short program.
PROGRAMS = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem != "demo")
HEAD = """# Examples

Each program computes a number known from a textbook or paper, and fails if the number is missed.
The programs are files in `examples/`; `python examples/spin_up.py` runs one.
Made by `python -m docs.make_examples`; do not edit.
"""


def page(printed: Mapping[str, str]) -> str:
    """Write the page, given what each program prints by its name."""
    return HEAD + "".join(section(path, printed[path.stem]) for path in PROGRAMS)


def section(path: Path, printed: str) -> str:
    """Write what a program says of itself, the program, and what it prints."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    title, _, text = (ast.get_docstring(tree) or "").partition("\n\n")
    program = "\n".join(source.splitlines()[tree.body[0].end_lineno or 0 :]).strip()
    parts = (f"## {title.removesuffix('.')}", f"`examples/{path.name}`", text,
             f"```python\n{program}\n```", f"```text\n{printed}```")  # fmt: skip
    return "".join(f"\n{part}\n" for part in parts)


def run(path: Path) -> str:
    """Run a program; return what it prints."""
    command = [sys.executable, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    PAGE.write_text(page({path.stem: run(path) for path in PROGRAMS}), encoding="utf-8")
