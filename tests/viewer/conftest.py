"""Pages in a browser."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.conftest import Starter
from tests.patience import HANGS, patient

SOFTWARE = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
PATIENCE = 1000 * HANGS  # [ms]

DOTS = 0.5  # per pixel of a page, where nobody looks at the picture: drawing takes most of the time

Opener = Callable[..., Page]
Contexts = Callable[[tuple[str, ...], float], BrowserContext]


@pytest.fixture(scope="session")
def contexts(browsers: Starter) -> Contexts:
    """Share what pages of one browser can share: to begin anew takes a second of computing."""
    return cache(
        lambda flags, dots: patient(browsers([*flags]).new_context(device_scale_factor=dots))
    )


@pytest.fixture
def open_page(contexts: Contexts, tmp_path: Path) -> Iterator[Opener]:
    """Open pages for one test."""
    yield from opener(contexts, tmp_path)


@pytest.fixture(scope="module")
def open_shared(contexts: Contexts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opener]:
    """Open pages for the tests of a file, since the first picture takes seconds in software."""
    yield from opener(contexts, tmp_path_factory.mktemp("pages"))


def opener(contexts: Contexts, folder: Path) -> Iterator[Opener]:
    """Open pages from files; afterwards, none has had an error or asked for anything."""
    pages: list[Page] = []
    errors: list[str] = []
    requests: list[str] = []

    def open_file(
        html: str,
        *,
        width: int = 800,
        height: int = 700,
        scheme: Literal["light", "dark"] = "light",
        flags: Sequence[str] = SOFTWARE,
        dots: float = DOTS,
        first: str = "",
    ) -> Page:
        page = contexts(tuple(flags), dots).new_page()
        page.add_init_script(first)
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # else it plays at once
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: requests.append(request.url))
        file = folder / f"page{len(pages)}.html"
        file.write_bytes(html.encode("utf-8", errors="replace"))
        page.goto(file.as_uri())
        page.evaluate("flexarm.drawn()")
        return page

    yield open_file
    for page in pages:
        page.close()
    assert errors == []
    assert [url for url in requests if not url.startswith("file:")] == []
    assert len(requests) == len(pages)


def wait_until(page: Page, expression: str) -> None:
    """Ask the page again and again; it lets no script in that could watch from inside."""
    end = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never came true: {expression}"
        page.wait_for_timeout(20)
