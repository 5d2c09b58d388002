"""The glossary is short, and every word of it is in use."""

import re

import pytest

import flexarm
from tests.docs_blocks import ROOT, prose

DOCS = ROOT / "docs"
GLOSSARY = DOCS / "glossary.md"
MOST = 60  # terms: more are not read
ROWS = re.findall(
    r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", prose(GLOSSARY), re.MULTILINE
)
TERMS = [row[0] for row in ROWS[1:]]
TEXT = "".join(prose(page) for page in sorted(DOCS.rglob("*.md")) if page != GLOSSARY).lower()


def test_the_glossary_has_at_most_sixty_terms_each_once_in_order() -> None:
    assert 20 < len(TERMS) <= MOST
    assert sorted(set(TERMS), key=str.lower) == TERMS


@pytest.mark.parametrize("term", TERMS)
def test_every_term_is_used_on_a_page_or_is_a_public_name(term: str) -> None:
    for word in term.split(", "):
        used = re.search(rf"\b{re.escape(word.lower())}(e?s|ing)?\b", TEXT)
        assert used or word in flexarm.__all__, word
