"""Draw the README's pictures of pages, with a browser: ``python -m docs.make_viewer_image``."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import flexarm
from flexarm.viewer.page import run_page, save_page
from tests.docs_blocks import blocks

HERE = Path(__file__).parent
IMAGES = HERE / "images"
SAMPLE = "canadarm-free-base"
TIME = 75.0  # [s]: berthed
SOFTWARE = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
FRAMES = 60  # per second
PULL = (-60, -220)  # [px]


def main() -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as folder:
        for draw in PICTURES.values():
            draw(Path(folder))


@contextmanager
def opened(file: Path, width: int, height: int) -> Iterator[Page]:
    """Open a page that does not start by itself."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=SOFTWARE
        )
        size = {"width": width, "height": height}
        page = browser.new_page(viewport=size, reduced_motion="reduce")  # type: ignore[arg-type]
        page.goto(file.as_uri())
        page.wait_for_timeout(1000)
        yield page
        browser.close()


def draw_run(folder: Path) -> None:
    """Fly a mission, open the page, go to its end, in the berth."""
    file = folder / "run.html"
    save_page(run_page([flexarm.simulate(flexarm.example_arm(SAMPLE), t_end=75.0)]), file)
    with opened(file, 1000, 820) as page:
        # It warns of its curves, which are not in the picture.
        page.evaluate("document.getElementById('warning').hidden = true")
        page.evaluate("t => flexarm.seek(t)", TIME)
        page.wait_for_timeout(500)
        page.screenshot(path=IMAGES / "viewer.png")


def draw_live(folder: Path) -> None:
    """Let the README's arm run, softer than it is, and pull its tip."""
    text = blocks(HERE.parent / "README.md", "yaml")[0]
    (folder / "arm.yaml").write_text(text.content, encoding="utf-8")
    flexarm.live(flexarm.load(folder / "arm.yaml"), folder / "live.html")
    with opened(folder / "live.html", 1280, 860) as page:
        page.evaluate("flexarm.set('stiffness', 0.3), flexarm.set('damping', 0.1)")
        run(page, 0, 3)
        x, y = page.evaluate("flexarm.pixel(flexarm.tip())")
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + PULL[0], y + PULL[1], steps=3)
        run(page, 3, 4)
        page.screenshot(path=IMAGES / "live.png")


def run(page: Page, begin: int, end: int) -> None:
    """Run from a time to another, picture by picture."""
    for k in range(begin * FRAMES, end * FRAMES):
        page.evaluate("t => flexarm.run(t)", (k + 1) / FRAMES)


PICTURES: dict[str, Callable[[Path], None]] = {"viewer": draw_run, "live": draw_live}


if __name__ == "__main__":
    main()
