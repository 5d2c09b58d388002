"""Draw the README's picture of the viewer, with a browser: ``python docs/make_viewer_image.py``."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import flexarm
from flexarm.viewer.page import run_page, save_page

IMAGE = Path(__file__).parent / "images" / "viewer.png"
SAMPLE = "count-6-6-3"
TIME = 2.6  # [s]
SOFTWARE = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]


def main() -> None:
    """Simulate, open the page, go to a moment in which the arm is well bent, take a picture."""
    run = flexarm.simulate(flexarm.sample(SAMPLE), t_end=3.0)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "run.html"
        save_page(run_page([run]), file)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=SOFTWARE
        )
        page = browser.new_page(viewport={"width": 1000, "height": 960}, reduced_motion="reduce")
        page.goto(file.as_uri())
        page.evaluate("t => flexarm.seek(t)", TIME)
        page.screenshot(path=IMAGE)
        browser.close()


if __name__ == "__main__":
    main()
