"""Offer pages as notebooks: mkdocs calls this.

A page and its notebook are one text: files become cells that write them, commands and Python
become cells, and what a page shows as printed is the output.  ``tests/test_docs.py`` runs them all.
"""

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page

from tests.docs_blocks import Block, pieces

OFFERED = ("start.md", "how-to/", "papers/")
_LINK = '<a class="notebook md-button" href="{}" download>This page as a notebook</a>'
_TITLE = re.compile(r"^# .+\n", re.MULTILINE)
_PICTURE_OR_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)[^)\s]+\)")
_made: dict[str, str] = {}


def on_page_markdown(markdown: str, *, page: Page, **_about: object) -> str:
    """Keep a page's notebook, and link it below the page's title."""
    if not page.file.src_uri.startswith(OFFERED):
        return markdown
    name = Path(page.file.src_uri).with_suffix(".ipynb")
    _made[name.as_posix()] = notebook(markdown)
    link = _LINK.format(name.name)
    return _TITLE.sub(lambda title: f"{title[0]}\n{link}\n", markdown, count=1)


def on_post_build(config: MkDocsConfig) -> None:
    """Write the notebooks beside their pages."""
    for name, text in _made.items():
        Path(config.site_dir, name).write_text(text, encoding="utf-8")


def notebook(markdown: str) -> str:
    """Turn a page into a notebook, as text."""
    cells = [cell(piece) for piece in pieces(markdown) if str(piece).strip()]
    numbered = [{**made, "id": f"cell-{k}"} for k, made in enumerate(cells)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": numbered})


def cell(piece: str | Block) -> dict[str, Any]:
    """Make a cell of the text between blocks, or of a block."""
    if isinstance(piece, str):
        return words(_PICTURE_OR_LINK.sub(lambda found: "" if found[1] else found[2], piece))
    if piece.name:
        return code(f"%%writefile {piece.name}\n{piece.content}", "")
    if piece.language == "python":
        return code(piece.content, piece.output)
    if piece.language == "sh" and "make " not in piece.content:
        return code(
            "".join(f"!{line}\n" for line in piece.content.splitlines() if line), piece.output
        )
    return words(f"```{piece.language}\n{piece.content}```")


def words(text: str) -> dict[str, Any]:
    """Make a cell of text."""
    return {"cell_type": "markdown", "metadata": {}, "source": text.strip()}


def code(text: str, printed: str) -> dict[str, Any]:
    """Make a cell of code, with what it prints."""
    output = {"output_type": "stream", "name": "stdout", "text": printed}
    return {"cell_type": "code", "metadata": {}, "source": text.rstrip(), "execution_count": None,
            "outputs": [output] if printed else []}  # fmt: skip
