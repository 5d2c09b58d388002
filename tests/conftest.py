"""What all tests share."""

import gc
import os
import shutil
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from itertools import groupby
from pathlib import Path

# Read when NumPy is first imported, as the imports below do, and in the processes that tests start:
# over small matrices threads mostly wait for each other, and the more so beside other workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, sync_playwright

from flexarm.engine import compile as compiler

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
REQUIRED = "FLEXARM_TEST_BROWSER"  # set to "required" where a missing browser is an error

Starter = Callable[[list[str]], Browser]

# Every run draws other examples, and none of them has to be quick.
settings.register_profile(
    "suite", max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")
# Hypothesis would read all modules that are there, tests too, for numbers to try: in every worker,
# for seconds.
with suppress(ImportError):  # of no promised name
    vars(import_module("hypothesis.internal.conjecture.providers"))["is_local_module_file"] = (
        lambda path: False
    )
# Under `nohup` and some runners of jobs it is ignored, which the processes of tests inherit.
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
gc.disable()  # while thousands of tests are collected, none of which is garbage


def pytest_configure(config: pytest.Config) -> None:
    """Compile with little effort, a sixth of the time: no small arm gains from faster code.

    Tests of the engine and campaigns take all of it.
    """
    if config.option.markexpr.startswith("not campaign"):
        compiler.EFFORT["fast"] = compiler.EFFORT["quick"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Take a worker more than there are processors: some tests wait for a browser or a process."""
    return 1 + (os.cpu_count() or 1)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Import tests, each worker from others on: what one has compiled, the rest find compiled.

    In step with each other, each would compile all of them, which takes half of the time that they
    need to collect in a fresh checkout.
    """
    worker, count = (os.environ.get(f"PYTEST_XDIST_WORKER{end}") for end in ("", "_COUNT"))
    if worker is None or count is None:
        return
    root = Path(__file__).parents[1]
    files = sorted(
        file for each in session.config.args for file in (root / each).rglob("test_*.py")
    )
    first = int(worker.removeprefix("gw")) * len(files) // int(count)
    for file in (*files[first:], *files[:first]):
        with suppress(Exception, pytest.skip.Exception):  # to be told when it is collected
            import_module(".".join(file.relative_to(root).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Leave most cases of tests marked `few` to campaigns, and run the others in a good order.

    The tests of a module that names a parameter in `TOGETHER` run value by value of it: what
    several of them trace of an arm is then kept for as long as they need it, and a worker that
    takes over some of them does not trace it again.  Those in a browser come first, so that one
    worker has them: several browsers that draw in software at once hinder each other.
    """
    tests: defaultdict[object, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("few") and not item.get_closest_marker("campaign"):
            if not hasattr(item, "callspec"):
                raise pytest.UsageError(
                    f"{item.nodeid}: marked few, which takes some cases of a parametrised test, "
                    "and it has one: mark it campaign, or not at all"
                )
            tests[item.function].append(item)
    for cases in tests.values():
        _leave_to_campaigns(cases)
    items[:] = [
        item
        for _, group in groupby(items, key=lambda item: item.module)
        for item in _together(list(group))
    ]
    items.sort(key=lambda item: "browsers" not in item.fixturenames)


def _leave_to_campaigns(cases: list[pytest.Function]) -> None:
    """Keep cases that meet many values of the parameters, by their names: no other case matters."""
    mark = cases[0].get_closest_marker("few")
    left = sorted(cases, key=lambda case: sha256(case.name.encode()).digest())
    new = [set(case.callspec.indices.items()) for case in left]  # values that none kept has met
    for _ in range(min(mark.args[0] if mark else 0, len(left))):
        k = max(range(len(left)), key=lambda k: len(new[k]))
        met = new.pop(k)
        del left[k]
        if met:
            new = [values - met for values in new]
    for case in left:
        case.add_marker("campaign")


def _together(items: list[pytest.Function]) -> list[pytest.Function]:
    name, places = getattr(items[0].module, "TOGETHER", None), dict[object, int]()
    if name is None:
        return items
    values = [
        item.callspec.params.get(name) if hasattr(item, "callspec") else None for item in items
    ]
    order = [places.setdefault(value, len(places)) for value in values]
    return [items[k] for k in sorted(range(len(items)), key=lambda k: order[k])]


def pytest_collection_finish() -> None:
    """Spare the collector of garbage the thousands of tests, which stay, and most of its rounds."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def _forget(request: pytest.FixtureRequest) -> Iterator[None]:
    """Drop what functions of a module have kept, mostly traced equations, after its last test."""
    yield
    module = request.module
    for value in vars(module).values():
        if getattr(value, "__module__", None) == module.__name__ and hasattr(value, "cache_clear"):
            value.cache_clear()


@pytest.fixture(scope="module")
def little_effort() -> Iterator[None]:
    """Compile with little effort in a campaign too: one of many arms that are run for a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(compiler.EFFORT, "fast", compiler.EFFORT["quick"])
        yield


@pytest.fixture
def without_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the cost of a run out of `check`, which takes most of its time."""
    monkeypatch.setattr("flexarm.check.check.costs", lambda model, linear: ())


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
