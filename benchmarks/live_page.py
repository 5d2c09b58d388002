"""What share of a core does a live page take, beside drawing the picture?

Opens pages of arms with 24 coordinates in Chromium, which plays them with a clock that goes on by
a 60th of a second per picture, and takes processor time of the page's thread: equations, posing,
curves that are in sight, the scene, text, style and layout. WebGL has a stand-in that does nothing:
without a graphics processor it takes far more than all the rest. Prints one JSON document.
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Page, sync_playwright

import flexarm
from flexarm.viewer.live.module import prepare_live
from flexarm.viewer.live.page import live_page
from timing import machine

SAMPLES = ("chen-two-link", "count-6-6-3")
SOFTWARE = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
REAL_TIME = "speed.value = '1', speed.dispatchEvent(new Event('change'))"
CLOCK = """
let now = 0;
let waiting = [];
performance.now = () => now;
window.requestAnimationFrame = (picture) => waiting.push(picture);
window.pictures = async (count) => {
  for (let k = 0; k < count; k++) {
    now += 1000/60;
    for (const picture of waiting.splice(0)) picture(now);
    await null; // curves are drawn once the picture is
    document.body.offsetHeight; // style and layout, as a browser does for every picture
  }
};
const standIn = (which) => {
  const { prototype } = WebGL2RenderingContext;
  for (const name of Object.keys(prototype).filter((name) => which.test(name))) {
    const { value } = Object.getOwnPropertyDescriptor(prototype, name);
    if (typeof value === "function") prototype[name] = () => {};
  }
};
standIn(/^(draw|clear)/);
window.blindfold = () => standIn(/^(?!get|is|check|create|link|compile)/); // gives nothing back
"""


def main() -> None:
    """Measure pages and print what they take."""
    parser = argparse.ArgumentParser(description="What share of a core does a live page take?")
    parser.add_argument("samples", nargs="*", default=SAMPLES, metavar="SAMPLE")
    parser.add_argument("--rounds", type=int, default=8, help="seconds that are timed (8)")
    parser.add_argument(
        "--height", type=int, default=860, help="of the window [px]; all curves take 1900 (860)"
    )
    args = parser.parse_args()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=SOFTWARE
        )
        found = {}
        for name in args.samples:
            file = Path(folder) / f"{name}.html"
            model = flexarm.build(flexarm.example_arm(name))
            file.write_text(live_page(prepare_live(model, all_shapes=False)), encoding="utf-8")
            page = browser.new_page(viewport={"width": 1280, "height": args.height})
            page.add_init_script(CLOCK)
            page.goto(file.as_uri())
            for _ in range(600):  # the page's own clock stands still
                if page.evaluate("Boolean(window.flexarm?.play)"):
                    break
                page.wait_for_timeout(100)
            else:
                raise SystemExit(f"the page of {name} does not begin within a minute")
            found[name] = {"coordinates": model.size, **measure(page, args.rounds)}
            page.close()
        print(json.dumps({**machine(), "browser": browser.version, "samples": found}))


def measure(page: Page, rounds: int) -> dict[str, float]:
    """Play in real time until all curves are full, then time a second of pictures, in rounds.

    The same motion without pictures, in turns with it, is what the equations take. Of all rounds
    the least counts: a busy machine makes every second of computing dearer.
    """
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent(script: str) -> float:
        before = computed(session)
        page.evaluate(script)
        return computed(session) - before

    page.evaluate(f"{REAL_TIME}, flexarm.play(), pictures(3)")  # programs are made for the first
    page.evaluate("blindfold(), pictures(480)")
    found = []
    for _ in range(rounds):
        found.append((spent("pictures(60)"), spent("void flexarm.run(flexarm.time() + 1)")))
    whole, equations = map(min, zip(*found, strict=True))
    return {"of_a_core": whole, "of_which_equations": equations, "rounds": rounds}


def computed(session: CDPSession) -> float:
    """Ask how long the page's thread has computed [s]."""
    listed: list[dict[str, Any]] = session.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in listed if each["name"] == "TaskDuration"))


if __name__ == "__main__":
    main()
