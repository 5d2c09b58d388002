"""What all tests share."""

import gc
import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REQUIRED = "FLEXARM_TEST_BROWSER"  # set to "required" where a missing browser is an error

Starter = Callable[[list[str]], Browser]

# Read when NumPy is first imported, here and in the processes that tests start: over small matrices
# threads mostly wait for each other, and the more so beside other workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Every run draws other examples.
settings.register_profile("suite", max_examples=40)
settings.load_profile("suite")
gc.disable()  # while thousands of tests are collected, none of which is garbage


def pytest_collection_finish() -> None:
    """Spare the collector of garbage the thousands of tests, which stay, and most of its rounds."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep compiled equations away from the user's own cache; processes of one run share them."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLEXARM_CACHE", str(folder / "compiled"))
        yield


def launch_options(flags: list[str]) -> dict[str, object]:
    """Find a browser, or skip, or fail where one is required."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        missing = "needs a browser: install chromium (Debian, Ubuntu: apt install chromium)"
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    return {"executable_path": found, "args": [*flags, *(["--no-sandbox"] if root else [])]}


@pytest.fixture(scope="session")
def browsers() -> Iterator[Starter]:
    """Start browsers by their flags."""
    launch_options([])
    with sync_playwright() as playwright:
        started: dict[str, Browser] = {}

        def start(flags: list[str]) -> Browser:
            key = " ".join(flags)
            if key not in started:
                started[key] = playwright.chromium.launch(**launch_options(flags))  # type: ignore[arg-type]
            return started[key]

        yield start
        for browser in started.values():
            browser.close()
