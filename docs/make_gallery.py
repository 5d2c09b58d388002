"""Make the gallery, a picture and a card for arms worth seeing: ``python -m docs.make_gallery``."""

import sys
import tempfile
from pathlib import Path

import numpy as np

import flexarm
from docs.make_viewer_image import HERE, IMAGES, opened
from flexarm.runs.run import Run
from flexarm.viewer.page import run_page, save_page

PAGE = HERE / "gallery.md"
# Samples, how long each runs [s], and the page that tells more.
SHOWN = {
    "canadarm-free-base": (50.0, "how-to/mission.md"),
    "graves-rms": (60.0, "how-to/mission.md"),
    "chen-two-link": (0.6, "how-to/flexible-joints.md"),
    "theodore-rrp-motion": (2.0, "how-to/telescoping-links.md"),
    "telescope": (2.5, "how-to/telescoping-links.md"),
    "korayem-two-link": (2.0, "default-shapes.md"),
    "deluca-siciliano": (2.0, "how-to/design-a-controller.md"),
    "chu-example-2": (1.5, "papers/chu.md"),
    "crossed-joints": (1.0, "model-file.md"),
    "driven-link-payload": (1.0, "start.md"),
    "spin-up-beam": (15.0, "kinematics-and-energies.md"),
    "carriage-on-rail": (2.0, "how-to/riding-links.md"),
}
# What makes arms move that have no inputs.
PUSHED = {
    "deluca-siciliano": {
        "links.1.joint.input": {"kind": "bang-bang", "amplitude": 0.1, "times": [0, 0.5, 1]}
    }
}
HEAD = """# Gallery

The arms of this page come with flexarm. [The viewer](viewer.md) shows each arm at its largest
deflection. `flexarm arms NAME` prints the model file of an arm, `flexarm simulate NAME --html FILE`
makes a page of the arm's run, `flexarm live NAME` makes a page in which you can pull the arm.

Made by `python -m docs.make_gallery`; do not edit.

<div class="gallery" markdown>
"""


def page() -> str:
    """Write the page."""
    return HEAD + "".join(card(name) for name in SHOWN) + "\n</div>\n"


def card(name: str) -> str:
    """Write the card of a sample: its picture, name, and what it is."""
    about = flexarm.example_arm(name).notes.partition("\n")[0]
    return f"\n<figure markdown>\n[![{name}](images/gallery/{name}.jpg)]({SHOWN[name][1]})\n" \
           f"**{name}**: {about}\n</figure>\n"  # fmt: skip


def draw(name: str, folder: Path) -> None:
    """Run a sample and take a picture of it, when it bends most."""
    arm = flexarm.change_arm(flexarm.example_arm(name), PUSHED.get(name, {}))
    run = flexarm.simulate(arm, t_end=SHOWN[name][0])
    file = folder / f"{name}.html"
    save_page(run_page([run]), file)
    with opened(file, 520, 900) as page:
        page.evaluate("t => flexarm.seek(t)", moment(run))
        page.wait_for_timeout(500)
        picture = IMAGES / "gallery" / f"{name}.jpg"
        page.locator("canvas").first.screenshot(path=picture, type="jpeg", quality=85)


def moment(run: Run) -> float:
    """Find when the arm bends most [s], a free or rigid one at its end."""
    if "deflection" not in run.dataset:
        return float(run.t[-1])
    bent = np.nan_to_num(np.linalg.norm(run.dataset.deflection.values, axis=3))
    return float(run.t[np.argmax(bent.max(axis=(1, 2)))])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or SHOWN:
            draw(name, Path(folder))
