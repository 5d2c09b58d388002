"""A simulation that is watched while it goes on: `simulate --live` and `view --serve` together."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from flexarm.runs.read import load_run
from flexarm.viewer.serve import serve
from tests.conftest import Starter
from tests.patience import HANGS, patient
from tests.viewer.conftest import PATIENCE, SOFTWARE, wait_until

ENTRY = "import sys; from flexarm.cli import main; sys.exit(main(sys.argv[1:]))"
ENDLESS = ("--t-end", "1e6", "--dt", "50", "--rtol", "1e-6", "--method", "dop853", "--yes")


def flexarm(*argv: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", ENTRY, *argv],
        # Where tests run in the background, children ignore this signal unless told otherwise.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.nc"


@pytest.fixture
def page(path: Path, browsers: Starter) -> Iterator[Page]:
    """Open the page of a run that is not there yet; afterwards it has had no error."""
    errors: list[str] = []
    with serve([path]) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        context = patient(
            browsers(SOFTWARE).new_context(
                viewport={"width": 800, "height": 900}, reduced_motion="reduce"
            )
        )
        opened = context.new_page()
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.on(
            "console", lambda said: errors.append(said.text) if said.type == "error" else None
        )
        opened.goto(server.url)
        yield opened
        context.close()
        server.shutdown()
        thread.join()
    assert errors == []


@pytest.fixture
def simulation(page: Page, path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Simulate without end, wait until the page shows more than the start, and halt."""
    assert page.locator("#title").inner_text() == f"waiting for {path}"
    started = flexarm("simulate", "korayem-two-link", *ENDLESS, "--out", str(path), "--live")
    try:
        expect(page.locator("#title")).not_to_have_text(f"waiting for {path}", timeout=PATIENCE)
        wait_until(page, "window.flexarm !== undefined && flexarm.drawn()")
        wait_until(page, "document.querySelectorAll('#field option').length > 1")
        started.send_signal(signal.SIGSTOP)  # computes for nobody until more is waited for
        yield started
    finally:
        started.kill()
        started.wait()


def end_of(page: Page) -> float:
    return float(page.locator("#time").get_attribute("max") or 0)


def wait_for_more(page: Page, simulation: "subprocess.Popen[str]") -> float:
    """Let the simulation go on until the page shows more of it."""
    before = end_of(page)
    simulation.send_signal(signal.SIGCONT)
    wait_until(page, f"Number(document.getElementById('time').max) > {before}")
    simulation.send_signal(signal.SIGSTOP)
    page.evaluate("flexarm.drawn()")
    return end_of(page)


def tip_is_in_sight(page: Page) -> None:
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    for part in (0.2, 0.6, 1.0):
        page.evaluate(f"flexarm.seek({part * end_of(page)})")
        x, y = page.evaluate("flexarm.pixel(flexarm.pose()[0].tip)")
        assert box["x"] < x < box["x"] + box["width"]
        assert box["y"] < y < box["y"] + box["height"]


@pytest.mark.campaign  # test_serve.py has a page that follows a run
def test_the_page_grows_with_the_run_and_keeps_what_was_chosen(
    page: Page, simulation: "subprocess.Popen[str]", path: Path
) -> None:
    tip_is_in_sight(page)  # nobody has turned the view: it takes in all of the motion
    page.evaluate("window.mark = 1")  # gone if the page is loaded again
    assert page.locator("#warning").inner_text().startswith("running: computed to t = ")
    assert page.locator("#warning").get_attribute("role") == "note"
    page.keyboard.press("d")
    page.keyboard.press("+")
    page.locator("#speed").select_option("0.5")
    page.locator("#field").select_option("curvature")
    page.locator('#choose input[data-panel="tip"]').uncheck()
    chip = page.locator('.panel[data-panel="energy"] button').first
    chip.click()
    page.evaluate("flexarm.drawn()")
    camera = page.evaluate("flexarm.camera().view")

    later = wait_for_more(page, simulation)
    assert page.evaluate("flexarm.time()") == later  # at the end, and with it
    page.evaluate(f"flexarm.seek({later / 2})")
    page.evaluate("flexarm.play()")
    wait_for_more(page, simulation)
    assert page.evaluate("flexarm.playing()")
    assert later / 2 < page.evaluate("flexarm.time()") < later
    assert page.evaluate("window.mark") == 1
    assert np.array_equal(page.evaluate("flexarm.camera().view"), camera)
    assert page.locator("#speed").input_value() == "0.5"
    assert page.locator("#field").input_value() == "curvature"
    assert page.locator("#legend-title").inner_text() == "Curvature"
    assert not page.locator('.panel[data-panel="tip"]').is_visible()
    assert page.locator('.panel[data-panel="angles"]').is_visible()
    assert chip.get_attribute("aria-pressed") == "false"

    simulation.send_signal(signal.SIGINT)
    simulation.send_signal(signal.SIGCONT)
    assert simulation.wait(HANGS) == 130
    wait_until(page, "document.getElementById('warning').textContent.startsWith('interrupted')")
    kept = load_run(path)
    assert kept.status == "interrupted"
    assert end_of(page) == pytest.approx(kept.t[-1], rel=1e-6)
    page.evaluate("flexarm.pause()")
    page.evaluate("document.getElementById('true').click()")  # deformation as it is
    page.evaluate(f"flexarm.seek({kept.t[-1]})")
    assert page.evaluate("flexarm.pose()[0].tip") == pytest.approx(kept.tip[-1].tolist(), abs=1e-5)


@pytest.mark.campaign
def test_a_simulation_that_is_killed_leaves_a_whole_file_that_says_so(path: Path) -> None:
    often = ["5" if given == "50" else given for given in ENDLESS]
    started = flexarm("simulate", "korayem-two-link", *often, "--out", str(path), "--live")
    end = time.monotonic() + PATIENCE / 1000
    try:
        while not path.exists() or len(load_run(path).t) < 2:
            assert time.monotonic() < end
            time.sleep(0.2)
    finally:
        started.kill()
        started.wait()
    kept = load_run(path)
    assert kept.status == "running"
    assert kept.reason.startswith("computed to t = ")
    assert kept.t == pytest.approx(5 * np.arange(len(kept.t)))
    assert np.isfinite(kept.q).all()


@pytest.mark.campaign
def test_a_server_of_another_process_ends_when_it_is_interrupted(path: Path) -> None:
    process = flexarm("view", str(path), "--serve")
    assert process.stdout is not None
    assert re.match(r"page: http://127\.0\.0\.1:\d+/ ", process.stdout.readline())
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(HANGS) == 0
