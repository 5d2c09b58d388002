"""Pages in a browser."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.conftest import Starter

SOFTWARE = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
PATIENCE = 60_000  # [ms]: drawing in software on a busy machine takes its time

Opener = Callable[..., Page]


@pytest.fixture
def open_page(browsers: Starter, tmp_path: Path) -> Iterator[Opener]:
    """Open pages for one test."""
    yield from opener(browsers, tmp_path)


@pytest.fixture(scope="module")
def open_shared(browsers: Starter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opener]:
    """Open pages for the tests of a file, since the first picture takes seconds in software."""
    yield from opener(browsers, tmp_path_factory.mktemp("pages"))


def opener(browsers: Starter, folder: Path) -> Iterator[Opener]:
    """Open pages from files; afterwards, none has had an error or asked for anything."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []
    requests: list[str] = []

    def open_file(
        html: str,
        *,
        width: int = 800,
        height: int = 700,
        scheme: str = "light",
        flags: list[str] = SOFTWARE,
    ) -> Page:
        context = browsers(flags).new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,  # type: ignore[arg-type]
            reduced_motion="reduce",  # else it plays at once
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: requests.append(request.url))
        file = folder / f"page{len(contexts)}.html"
        file.write_bytes(html.encode("utf-8", errors="replace"))
        page.goto(file.as_uri())
        page.evaluate("flexarm.drawn()")
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert errors == []
    assert [url for url in requests if not url.startswith("file:")] == []
    assert len(requests) == len(contexts)


def wait_until(page: Page, expression: str) -> None:
    """Ask the page again and again; it lets no script in that could watch from inside."""
    end = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never came true: {expression}"
        page.wait_for_timeout(20)
