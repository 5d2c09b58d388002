"""Every link of the documentation leads somewhere, and every page can be reached."""

import re
from pathlib import Path

import pytest

from tests.docs_blocks import ROOT, links, prose

DOCS = ROOT / "docs"
INDEX = DOCS / "index.md"
EVIDENCE = DOCS / "why-believe-it.md"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
BARE = re.compile(r"(?<![\w/(`\[.:-])(?:[\w-]+/)*[\w-]+\.md\b(?![`)\]])")


def named(page: Path) -> str:
    """Name a page by its path."""
    return page.relative_to(ROOT).as_posix()


def anchors(page: Path) -> list[str]:
    """List what links can point to inside a page, as GitHub and most site builders name it."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain]


def inner_links(page: Path) -> list[tuple[Path, str]]:
    """List the files and anchors that a page links to, other sites left out."""
    found = []
    for target in links(page):
        if not target.startswith("https://"):
            path, _, anchor = target.partition("#")
            found.append(((page.parent / path).resolve() if path else page, anchor))
    return found


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for file, anchor in inner_links(page):
        assert file.is_file(), file
        assert file.is_relative_to(ROOT), file
        assert not anchor or anchor in anchors(file), f"{file.name}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_heading_can_be_linked_to(page: Path) -> None:
    found = anchors(page)
    assert len(set(found)) == len(found)
    assert prose(page).lstrip().startswith("# ")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_that_is_named_is_linked(page: Path) -> None:
    assert BARE.findall(prose(page)) == []


def test_every_page_is_reached_from_the_index_or_from_the_page_of_evidence() -> None:
    linked = {file for page in (INDEX, EVIDENCE) for file, _ in inner_links(page)}
    assert {page for page in PAGES if page.parent != ROOT} - linked == {INDEX}


def test_every_picture_is_shown_by_a_page() -> None:
    shown = {file for page in PAGES for file, _ in inner_links(page)}
    assert set((DOCS / "images").rglob("*.*g")) - shown == set()
