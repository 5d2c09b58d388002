"""The programs in examples/, and the page that shows them; `tests/test_docs.py` runs that page."""

import ast
from pathlib import Path

import pytest

from docs.make_examples import PAGE, PROGRAMS, page
from tests.docs_blocks import blocks


def test_the_page_is_the_programs_as_they_are() -> None:
    """If this fails, run ``python -m docs.make_examples``."""
    printed = [block.output for block in blocks(PAGE, "python")]
    names = [path.stem for path in PROGRAMS]
    assert page(dict(zip(names, printed, strict=True))) == PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_is_short_and_ends_in_a_number_that_it_has_checked(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert 15 <= len(source.splitlines()) <= 40
    tree = ast.parse(source)
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    shown = {block.content.splitlines()[-1]: block.output for block in blocks(PAGE, "python")}
    assert any(letter.isdigit() for letter in shown[source.splitlines()[-1]].splitlines()[-1])
