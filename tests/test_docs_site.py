"""The site that `make docs` makes, in a browser: opened as a file, and from a server."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page

import flexarm.control
from tests.conftest import Starter
from tests.docs_blocks import ROOT, blocks, commands
from tests.patience import patient

PAGES = sorted(page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md"))
# Those that tests open outside campaigns; the reference, of all docstrings, takes most of the time.
OPENED = ("index.md", "gallery.md", "kinematics-and-energies.md", "modes.md")
OF_A_FEW_PAGES = {
    "INHERIT": str(ROOT / "mkdocs.yml"),
    "docs_dir": str(ROOT / "docs"),
    "hooks": [str(ROOT / "docs" / f"{name}.py") for name in ("formulas", "notebooks", "offline")],
    "plugins": ["search", "offline"],
    "exclude_docs": "\n".join(["*.py", "__pycache__/", "*.md", *(f"!/{page}" for page in OPENED)]),
    "nav": list(OPENED),
}
UNDRAWN = """() => [
  ...[...document.images].filter((image) => !image.naturalWidth).map((image) => image.src),
  ...[...document.querySelectorAll("math")].filter((formula) => !formula.clientWidth)
    .map((formula) => formula.textContent),
]"""
GONE = "net::ERR_ABORTED"
NAMES = "() => [...document.querySelectorAll('[id]')].map((element) => element.id)"
LINKS = "(links) => links.map((link) => link.href)"
TARGET = "() => Boolean(document.getElementById(decodeURIComponent(location.hash.slice(1))))"


def evidence_pages() -> list[str]:
    """List the pages that mkdocs.yml keeps out of the menu, without suffix."""
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("not_in_nav:")[2]
    return re.findall(r"^  /([\w-]+)\.md$", listed.partition("\nnav:")[0], re.MULTILINE)


class Quiet(SimpleHTTPRequestHandler):
    """A server that does not report."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the site: in campaigns all of it, as `make docs` does, else the pages of `OPENED`."""
    site = tmp_path_factory.mktemp("served") / "some" / "where"
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(site)]
    if request.config.option.markexpr.startswith("not campaign"):
        settings = tmp_path_factory.mktemp("settings") / "mkdocs.yml"
        settings.write_text(json.dumps(OF_A_FEW_PAGES), encoding="utf-8")
        command += ["--config-file", str(settings)]
    else:
        command.append("--strict")
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=ROOT, check=True, env=quiet)
    return site


# What works among files does so from a server, too: most of that is for campaigns.
@pytest.fixture(scope="module", params=["file", pytest.param("http", marks=pytest.mark.campaign)])
def address(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """Give the address of the site."""
    if request.param == "file":
        yield folder.as_uri()
        return
    serve = partial(Quiet, directory=str(folder.parents[1]))
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/some/where"
        server.shutdown()


@pytest.fixture
def site(address: str, browsers: Starter) -> Iterator[Page]:
    """Open the site where a reader would; afterwards, nothing failed or came from elsewhere."""
    context = patient(
        browsers([]).new_context(viewport={"width": 1200, "height": 900}, device_scale_factor=0.5)
    )
    page = context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    page.on(
        "requestfailed",  # not those that a reader left behind
        lambda request: None if request.failure == GONE else troubles.append(request.url),
    )
    page.on(
        "request",
        lambda request: None if request.url.startswith(address) else troubles.append(request.url),
    )
    page.goto(f"{address}/index.html")
    yield page
    context.close()
    assert troubles == []


# That pages and places are there is checked by mkdocs, too, when `make docs` makes the site.
@pytest.mark.campaign
def test_the_menu_and_the_links_of_every_page_lead_to_a_page_and_a_place(
    site: Page, address: str
) -> None:
    links: set[str] = set()
    places: set[str] = set()
    menu = set(site.locator(".md-nav--primary a[href]").evaluate_all(LINKS))
    opened = {f"{address}/{page.with_suffix('.html').as_posix()}" for page in PAGES}
    evidence = {f"{address}/{page}.html" for page in evidence_pages()}
    assert opened - evidence == {link.partition("#")[0] for link in menu}
    for here in sorted(opened):
        site.goto(here)
        assert site.locator("h1").count() == 1, here
        assert site.evaluate(UNDRAWN) == [], here
        links |= set(site.locator("a[href]").evaluate_all(LINKS))
        places |= {here, f"{here}#", *(f"{here}#{name}" for name in site.evaluate(NAMES))}
    inside = {link for link in links - places if not link.startswith("https:")}
    notebooks = {place.replace(".html", ".ipynb") for place in opened}
    assert inside <= notebooks
    assert {f"{address}/start.ipynb", f"{address}/how-to/mission.ipynb"} <= inside


@pytest.mark.campaign
def test_a_link_inside_a_page_scrolls_to_its_heading(site: Page, address: str) -> None:
    site.goto(f"{address}/shapes.html")
    site.locator(".md-nav--secondary a").last.click()
    assert site.evaluate(TARGET)
    site.wait_for_function("window.scrollY > 0")


def search(site: Page, word: str) -> None:
    """Type a word when the search is ready."""
    site.click(".md-search__input")
    site.wait_for_selector("text=Type to start searching")
    site.locator(".md-search__input").press_sequentially(word)


@pytest.mark.parametrize(
    "beginning", ["index.html", pytest.param("how-to/free-base.html", marks=pytest.mark.campaign)]
)
def test_a_word_is_found_and_pages_are_drawn_whole(
    site: Page, address: str, beginning: str
) -> None:
    site.goto(f"{address}/{beginning}")
    search(site, "Campbell")
    found = site.locator(".md-search-result__link")
    found.first.wait_for()
    found.first.click()
    site.wait_for_load_state("load")
    assert site.url.startswith(f"{address}/modes.html")
    assert "Campbell" in site.inner_text("article")
    for page in ("gallery.html", "kinematics-and-energies.html"):
        site.goto(f"{address}/{page}")
        assert site.locator("h1").count() == 1, page
        assert site.evaluate(UNDRAWN) == [], page


@pytest.mark.campaign
def test_what_is_nowhere_is_not_found(site: Page) -> None:
    search(site, "zzyzx")
    site.wait_for_selector("text=No matching documents")


@pytest.mark.campaign
def test_a_page_is_dark_for_those_who_like_it(site: Page) -> None:
    assert site.context.browser is not None
    page = patient(site.context.browser.new_context(color_scheme="dark")).new_page()
    page.goto(site.url)
    page.wait_for_selector("body[data-md-color-scheme=slate]")
    page.context.close()


@pytest.mark.campaign
def test_every_public_name_is_in_the_reference(site: Page, address: str) -> None:
    site.goto(f"{address}/api.html")
    named = {place.rpartition(".")[2] for place in site.evaluate(NAMES)}
    assert {*flexarm.__all__, *flexarm.control.__all__} - named == set()


def test_a_notebook_has_the_files_the_commands_and_the_programs_of_its_page() -> None:
    from docs.notebooks import notebook  # brings mkdocs

    page = ROOT / "docs" / "start.md"
    cells = json.loads(notebook(page.read_text(encoding="utf-8")))["cells"]
    code = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code")
    printed = "".join(output["text"] for cell in cells for output in cell.get("outputs", ()))
    assert "%%writefile arm.yaml\n" in code
    assert all(f"!{line}" in code for line, _ in commands(page) if not line.startswith("make"))
    for block in blocks(page, "python"):
        assert block.content.strip() in code
        assert block.output in printed
