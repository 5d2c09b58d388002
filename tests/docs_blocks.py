"""What README.md, docs/ and their tests share: the blocks of a page, and running them.

A comment before a block says what it is.  ``<!-- file: NAME -->``: a file, there for the commands
and the Python of the same page.  ``<!-- arm -->``: a model file; ``<!-- arm: NAME -->``: both.
``<!-- links -->``: the list of links of a model file.  A ``text`` block right after Python or a
command is what that prints, ``...`` standing for anything.
"""

import doctest
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(
    r"^(?:<!-- (?P<kind>arm|links|file)(?:: (?P<name>\S+))? -->\n)?"
    r"^```(?P<language>\w*)\n(?P<content>.*?)^```$"
    r"(?:\n\n```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A fenced block: what the comment before it says, its language, text and output."""

    kind: str
    name: str
    language: str
    content: str
    output: str


def blocks(page: Path, language: str | None = None) -> list[Block]:
    """List the blocks of a page in order, of one language or of all."""
    found = pieces(page.read_text(encoding="utf-8"))
    return [
        block for block in found if isinstance(block, Block) and language in (None, block.language)
    ]


def pieces(text: str) -> list[str | Block]:
    """Cut a page into what is written between its blocks, and the blocks."""
    found: list[str | Block] = []
    end = 0
    for match in _BLOCK.finditer(text):
        found += [text[end : match.start()], Block(*(group or "" for group in match.groups()))]
        end = match.end()
    return [*found, text[end:]]


def prose(page: Path) -> str:
    """Read a page without its fenced blocks."""
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """List where the links of a page lead, pictures included."""
    return _LINK.findall(prose(page))


def commands(page: Path) -> list[tuple[str, str]]:
    """List the lines of the shell blocks in order, each with what it prints."""
    found = []
    for block in blocks(page, "sh"):
        lines = [line for line in block.content.splitlines() if line.strip()]
        found += [(line, "") for line in lines[:-1]] + [(lines[-1], block.output)]
    return found


def write_files(page: Path, folder: Path) -> None:
    """Write the blocks of a page that are named as files."""
    for block in blocks(page):
        if block.name:
            (folder / block.name).write_text(block.content, encoding="utf-8")


def assert_printed(output: str, shown: str) -> None:
    """Compare what was printed with what a page shows, if it shows anything."""
    if shown:
        assert doctest.OutputChecker().check_output(shown, output, _SAME), output
