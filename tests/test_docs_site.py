"""The site that `make docs` makes, in a browser: opened as a file, and from a server."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.conftest import Starter
from tests.docs_blocks import ROOT

PAGES = sorted(page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md"))
UNDRAWN = """() => [
  ...[...document.images].filter((image) => !image.naturalWidth).map((image) => image.src),
  ...[...document.querySelectorAll("math")].filter((formula) => !formula.clientWidth)
    .map((formula) => formula.textContent),
]"""
NAMES = "() => [...document.querySelectorAll('[id]')].map((element) => element.id)"
LINKS = "(links) => links.map((link) => link.href)"
TARGET = "() => Boolean(document.getElementById(decodeURIComponent(location.hash.slice(1))))"


class Quiet(SimpleHTTPRequestHandler):
    """A server that does not report."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the site."""
    site = tmp_path_factory.mktemp("served") / "some" / "where"
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir"]
    subprocess.run([*command, str(site)], cwd=ROOT, check=True)
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
    context = browsers([]).new_context(
        viewport={"width": 1200, "height": 900}, device_scale_factor=0.5
    )
    page = context.new_page()
    troubles: list[str] = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    page.on("requestfailed", lambda request: troubles.append(request.url))
    page.on(
        "request",
        lambda request: None if request.url.startswith(address) else troubles.append(request.url),
    )
    page.goto(f"{address}/index.html")
    yield page
    context.close()
    assert troubles == []


def test_the_menu_and_the_links_of_every_page_lead_to_a_page_and_a_place(
    site: Page, address: str
) -> None:
    links: set[str] = set()
    places: set[str] = set()
    for k in range(len(PAGES)):
        site.locator(".wy-menu li.toctree-l1 > a").nth(k).click()
        site.wait_for_load_state("load")
        here = site.url.rstrip("#")
        assert site.locator("h1").count() == 1, here
        assert site.evaluate(UNDRAWN) == [], here
        links |= set(site.locator("a[href]").evaluate_all(LINKS))
        places |= {here, f"{here}#", *(f"{here}#{name}" for name in site.evaluate(NAMES))}
    opened = {place for place in places if "#" not in place}
    assert opened == {f"{address}/{page.with_suffix('.html').as_posix()}" for page in PAGES}
    assert [link for link in links - places if not link.startswith("https:")] == []


def test_a_link_inside_a_page_scrolls_to_its_heading(site: Page) -> None:
    site.click("text=Shapes >> nth=0")
    link = site.locator(".wy-menu .toctree-l2 a").last
    link.click()
    assert site.evaluate(TARGET)
    assert site.evaluate("window.scrollY") > 0


@pytest.mark.parametrize(
    ("address", "beginning"),
    [("file", "index.html"), ("http", "how-to/free-base.html")],
    indirect=["address"],
)
def test_a_word_is_found_and_its_page_opens(site: Page, address: str, beginning: str) -> None:
    site.goto(f"{address}/{beginning}")
    site.fill("#rtd-search-form input", "Campbell")
    site.press("#rtd-search-form input", "Enter")
    found = site.locator("#mkdocs-search-results a")
    found.first.wait_for()
    assert all("campbell" in text.lower() for text in site.locator("article").all_inner_texts())
    found.first.click()
    site.wait_for_load_state("load")
    assert site.url.startswith(f"{address}/modes.html")
    assert "Campbell" in site.inner_text(".document")


def test_what_is_nowhere_is_not_found(site: Page, address: str) -> None:
    site.goto(f"{address}/search.html?q=zzyzx")
    site.wait_for_selector("text=No results found")
    site.fill("#mkdocs-search-query", "free base")
    site.click("#mkdocs-search-results a >> nth=0")
    assert "base" in site.inner_text("h1").lower()
