"""A live page in a browser: it asks for nothing, runs as Python does, and can be pulled."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from playwright.sync_api import Error, Page

import flexarm
from flexarm.errors import FlexarmError
from flexarm.viewer.constants import SCALES, VISIBLE_DEFLECTION
from flexarm.viewer.live import page as live_pages
from flexarm.viewer.live.module import prepare_live
from flexarm.viewer.live.page import live_page
from tests.viewer.conftest import Opener, wait_until
from tests.viewer.test_page import document

SAMPLE = "korayem-two-link"

KEPT = """
const before = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, options) {
  return before.call(this, kind, { ...options, preserveDrawingBuffer: true });
};
"""  # what was drawn last can be read at any time


@pytest.fixture(scope="module")
def shared(open_shared: Opener) -> Page:
    model = flexarm.build(flexarm.example_arm(SAMPLE))
    html = live_page(prepare_live(model, all_shapes=False))
    assert len(html) < 1_000_000
    return open_shared(html, first=KEPT)


@pytest.fixture
def page(shared: Page) -> Page:
    """Give the page as it begins, with nobody pointing at it."""
    shared.mouse.move(0, 0)
    shared.evaluate("window.scrollTo(0, 0)")
    shared.evaluate("flexarm.pause(), document.getElementById('relax').click(), flexarm.anew()")
    return shared


def tip(page: Page, t: float) -> np.ndarray:
    """Run until a time and say where the tip is."""
    said = page.evaluate("t => flexarm.run(t)", t)
    assert said["stopped"] == ""
    return np.array(page.evaluate("flexarm.tip()"))


def slide(page: Page, selector: str, value: float) -> None:
    """Move a slider as a user does."""
    page.locator(selector).evaluate(
        "(each, x) => { each.value = x; each.dispatchEvent(new Event('input')); }", value
    )


@pytest.mark.parametrize("t_end", [2.0, pytest.param(10.0, marks=pytest.mark.campaign)])
def test_every_state_is_that_of_python(page: Page, t_end: float) -> None:
    step = page.evaluate("flexarm.step()")
    still = {"joint1": 0.0, "joint2": 0.0}
    run = flexarm.simulate(
        flexarm.example_arm(SAMPLE), t_end=t_end, method="rk4", step=step, inputs=still
    )
    page.evaluate("flexarm.put('hand', [0, 0]), flexarm.put('servo', [0, 0, 0, 0, 0, 0])")
    found = page.evaluate("times => flexarm.run(...times)", run.t[1:].tolist())
    expected = np.hstack([run.q, run.v])[1:]
    states = np.array(found["states"])[:, : expected.shape[1]]
    assert np.abs(states - expected).max() < 1e-12 * np.abs(expected).max()
    assert np.ptp(expected[:, 0]) > 0.05  # it swings


def test_servos_hold_the_arm_and_follow_their_targets(page: Page) -> None:
    start = np.array(page.evaluate("flexarm.tip()"))
    assert np.linalg.norm(tip(page, 3.0) - start) < 0.2
    slide(page, "[data-target=joint1]", -0.8)
    page.evaluate("flexarm.play()")
    wait_until(page, "flexarm.time() > 4 || !flexarm.playing()")
    page.evaluate("flexarm.pause()")
    q = page.evaluate("flexarm.state()")
    assert q[0] > -np.pi / 2 + 0.3  # from hanging towards the horizontal


def test_without_servos_a_torque_turns_the_joint(page: Page) -> None:
    page.locator("[data-servo=joint1]").uncheck()
    before = page.evaluate("flexarm.state()")[0]
    slide(page, "[data-torque=joint1]", 100.0)
    tip(page, 0.3)
    assert page.evaluate("flexarm.state()")[0] > before + 0.05
    page.locator("[data-servo=joint1]").check()


def drag(page: Page, kind: str, x: float, y: float) -> Callable[[], None]:
    """Draw a point of the page to the right, by mouse or finger; gives what lets it go."""
    if kind == "mouse":
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 80, y, steps=2)
        return page.mouse.up
    session = page.context.new_cdp_session(page)

    def touch(what: str, *points: dict[str, float]) -> None:
        session.send("Input.dispatchTouchEvent", {"type": what, "touchPoints": points})

    touch("touchStart", {"x": x, "y": y})
    touch("touchMove", {"x": x + 80, "y": y})
    return lambda: touch("touchEnd")


@pytest.mark.parametrize("kind", ["mouse", "touch"])
def test_the_tip_follows_a_pull_and_comes_back(page: Page, kind: str) -> None:
    free = tip(page, 2.0)
    page.evaluate("flexarm.anew(), scrollTo(0, 0)")
    camera = page.evaluate("flexarm.camera()")
    release = drag(page, kind, *page.evaluate("t => flexarm.pixel(t)", tip(page, 1.0).tolist()))
    assert np.linalg.norm(tip(page, 2.0) - free) > 0.05
    release()
    assert page.evaluate("flexarm.camera()") == camera  # what pulls does not turn the view
    assert not any(page.evaluate("flexarm.run(2.01).then(() => flexarm.input('grip'))"))


def test_a_link_can_be_pulled_anywhere(page: Page) -> None:
    free = tip(page, 1.0)
    page.evaluate("flexarm.anew(), flexarm.hold(1, 0.4, [2, -1, 0])")
    assert tip(page, 1.0)[0] > free[0] + 0.02


def plucked(page: Page) -> list[float]:
    """Pluck the first mode and give the energies a while later."""
    page.evaluate("[0, 0, 0].forEach((k) => flexarm.pluck(k)), flexarm.pause()")
    tip(page, 1.5)
    found: list[float] = page.evaluate("flexarm.energy()")
    return found


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [("gravity", 0.0, 2), ("payload", 2.0, 2), ("stiffness", 3.0, 1), ("damping", 0.2, 0)],
)
def test_settings_act(page: Page, key: str, value: float, kind: int) -> None:
    """Gravity and payload change the weight, stiffness the strain, damping the motion."""
    before = plucked(page)
    page.evaluate("flexarm.anew()")
    place = np.log(value) if key == "stiffness" else value
    slide(page, f"[data-setting={key}]", place)
    np.testing.assert_allclose(
        page.evaluate("flexarm.input('settings')")[
            ["gravity", "payload", "stiffness", "damping"].index(key)
        ],
        value,
        rtol=1e-9,
    )
    after = plucked(page)
    assert abs(after[kind] - before[kind]) > 0.05 * abs(before[kind])


def test_a_mode_is_plucked(page: Page) -> None:
    still = page.evaluate("flexarm.energy()")[0]
    page.locator("#plucks button").first.click()
    assert page.evaluate("flexarm.energy()")[0] > still + 1e-3
    assert "Hz" in page.locator("#caption").inner_text()
    assert "octave" in page.locator("#caption").inner_text()
    page.set_viewport_size({"width": 390, "height": 700})
    one_line = page.locator("#caption").inner_text()
    page.set_viewport_size({"width": 800, "height": 700})
    assert "Hz" in one_line
    assert "octave" not in one_line  # an arm is behind it
    with pytest.raises(Error, match=r"pluck: no mode 99: \d+ can be plucked, counted from 0"):
        page.evaluate("flexarm.pluck(99)")


def test_settings_are_those_of_another_file(page: Page, tmp_path: Path) -> None:
    changed = flexarm.change_arm(
        flexarm.example_arm(SAMPLE), {"gravity": [0, -5.0, 0], "payload": {"mass": 0.7}}
    )
    page.evaluate("flexarm.put('hand', [0, 0]), flexarm.put('servo', [0, 0, 0, 0, 0, 0])")
    page.evaluate("flexarm.set('gravity', 5), flexarm.set('payload', 0.7)")
    step = page.evaluate("flexarm.step()")
    run = flexarm.simulate(
        changed, t_end=2.0, method="rk4", step=step, inputs={"joint1": 0.0, "joint2": 0.0}
    )
    found = page.evaluate("times => flexarm.run(...times)", run.t[1:].tolist())
    expected = np.hstack([run.q, run.v])[1:]
    states = np.array(found["states"])[:, : expected.shape[1]]
    assert np.abs(states - expected).max() < 1e-9 * np.abs(expected).max()


def test_curves_of_an_arm_that_has_not_begun_have_room_for_a_second(page: Page) -> None:
    panels = page.locator(".panel").all()
    assert panels
    for panel in panels:  # only what is in sight is drawn
        panel.scroll_into_view_if_needed()
        mark = panel.locator(".now").element_handle()
        assert mark is not None
        mark.evaluate("each => { window.mark = each; }")
        place = "window.mark.style.transform.match(/[-.\\d]+/)?.[0]"
        wait_until(page, f"Math.abs({place}) < 1")  # at the left: all of the axis is to come


def picture(page: Page) -> str:
    """Give the pixels that were drawn last: a screenshot may miss a part of them."""
    found: str = page.evaluate("document.getElementById('canvas').toDataURL()")
    return found


def test_colours_are_those_of_the_scale_that_has_grown(page: Page) -> None:
    page.locator("#field").select_option("curvature")
    page.evaluate("[0, 0, 0].forEach((k) => flexarm.pluck(k)), flexarm.pause()")
    before = page.locator("#legend-high").inner_text()
    page.evaluate("flexarm.run(0.12)")
    page.evaluate("flexarm.drawn()")
    assert page.locator("#legend-high").inner_text() != before
    first = picture(page)
    pictures = []
    for _ in range(2):
        page.locator("#ground").click()  # which draws anew
        page.evaluate("flexarm.drawn()")
        pictures.append(picture(page))
    assert pictures[0] != first  # a picture of anything
    assert pictures[1] == first
    page.locator("#field").select_option("deflection")


GEARED: dict[str, Any] = {
    "flexarm": 1, "name": "geared", "gravity": [0, 0, 0], "payload": {"mass": 5.0},
    "links": [{
        "joint": {"kind": "revolute",
                  "drive": {"rotor_inertia": 1e-4, "gear_ratio": 100, "stiffness": 100}},
        "length": 1.0,
        "section": {"mass_per_length": 0.5, "EIz": 2000},
        "shapes": {"kind": "loaded", "bending_y": 2},
    }],
}  # fmt: skip


@pytest.fixture
def without_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the WebAssembly of pages whose other data are looked at."""
    monkeypatch.setattr(live_pages, "live_module", lambda *_: SimpleNamespace(lasts=0.0))
    monkeypatch.setattr(live_pages, "_simulation", lambda *_: {})


@pytest.mark.usefixtures("without_module")
@pytest.mark.parametrize(
    ("EI", "scale"),
    [(1.0, 1.0), (500.0, 20.0), (1e4, 50.0)],
    ids=["a soft link", "a stiff one on a soft gear", "one that hardly bends"],
)
def test_a_page_opens_at_the_scale_at_which_a_pluck_is_seen_to_bend_the_arm(
    EI: float, scale: float
) -> None:
    """A tip moves by 6 % of the reach L: F L/k of it is the gear's, F L^2/(3 EI) the link's."""
    arm = flexarm.change_arm(flexarm.Arm.model_validate(GEARED), {"links.1.section.EIz": EI})
    html = live_page(prepare_live(flexarm.build(arm), all_shapes=False))
    bends = 0.06 / (3 * EI) / (1 / (3 * EI) + 1 / 100)
    assert scale == min(
        50.0, next(factor for factor in SCALES if factor * bends >= VISIBLE_DEFLECTION)
    )
    view = document(html)["view"]
    assert isinstance(view, dict)
    assert view["scale"] == scale


# A clock by which whatever looks at it has taken too long.
HURRIED = "let now = 0; performance.now = () => (now += 1e6);"


def page_of(whole: dict[str, Any]) -> str:
    """Make the page of an arm."""
    arm = flexarm.Arm.model_validate(whole)
    return live_page(prepare_live(flexarm.build(arm), all_shapes=False))


def falling(gravity: float = 9.81) -> str:
    """Make the page of a bar of 1 m that is let go level, and swings to the other side."""
    joint = {"kind": "revolute", "axis": [0, 1, 0], "actuation": "free"}
    body = {"mass": 1.0, "com": [0.5, 0, 0], "inertia": [0.001, 0.08, 0.08]}
    link = {"joint": joint, "length": 1.0, "body": body}
    return page_of({"flexarm": 1, "name": "falls", "gravity": [0, 0, -gravity], "links": [link]})


def is_in_sight(page: Page) -> bool:
    """Tell whether the tip is in the picture."""
    x, y = page.evaluate("flexarm.pixel(flexarm.tip())")
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    return bool(0 < x - box["x"] < box["width"] and 0 < y - box["y"] < box["height"])


@pytest.mark.campaign
@pytest.mark.parametrize(
    "first",
    [pytest.param("", marks=pytest.mark.campaign), HURRIED],
    ids=["looked ahead", "too slow to look ahead"],
)
def test_an_arm_that_falls_has_room_to_fall_in(open_page: Opener, first: str) -> None:
    page = open_page(falling(), first=first)
    assert page.evaluate("flexarm.time()") == 0.0
    before = page.evaluate("flexarm.camera()")
    assert tip(page, 0.18)[2] == pytest.approx(-0.2, abs=0.05)  # below where it lay, in sight
    assert (page.evaluate("flexarm.camera()") == before) == (first == "")
    assert tip(page, 0.45)[2] < -0.8  # it hangs down
    assert (page.evaluate("flexarm.camera()") == before) == (first == "")
    assert is_in_sight(page)


@pytest.mark.campaign
def test_the_picture_opens_on_the_first_seconds_and_makes_room_once(open_page: Opener) -> None:
    """Where an arm comes to later would make it small at first."""
    page = open_page(falling(gravity=1.0), width=390)
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    (left, _), (right, _) = (
        page.evaluate("p => flexarm.pixel(p)", [x, 0.0, 0.0]) for x in (0.0, 1.0)
    )
    assert right - left > 0.5 * box["width"]
    views = set()
    for t in np.linspace(0.1, 2.9, 15):
        x = tip(page, t)[0]
        assert is_in_sight(page)
        views.add(str(page.evaluate("flexarm.camera()")))
    assert x < -0.8  # on the other side
    assert len(views) == 2


@pytest.mark.campaign
def test_words_of_a_plucked_mode_cover_no_part_of_the_arm(open_page: Opener) -> None:
    section = {"mass_per_length": 1.0, "EIy": 10.0, "EIz": 10.0}
    shapes = {"kind": "loaded", "bending_y": 1, "bending_z": 1}
    turned, back = ({"kind": "fixed", "before": {"rotation": [0, angle, 0]}}
                    for angle in ("-90 deg", "90 deg"))  # fmt: skip
    links = [{"joint": joint, "length": length, "section": section, "shapes": shapes}
             for joint, length in ((turned, 1.0), (back, 0.7))]  # fmt: skip
    whole = {"flexarm": 1, "name": "gallows", "gravity": [0, 0, -0.01], "links": links}
    page = open_page(page_of(whole), height=560)
    camera = page.evaluate("flexarm.camera()")
    page.evaluate("flexarm.pluck(0), flexarm.pause(), flexarm.drawn()")
    assert page.evaluate("flexarm.camera()") == camera  # room was there before
    words = page.locator("#said").bounding_box()
    assert words is not None
    points = np.reshape(page.evaluate("flexarm.pose()[0].links.flat()"), (-1, 3)).tolist()
    pixels = page.evaluate("points => points.map(flexarm.pixel)", points)
    assert not [
        (x, y) for x, y in pixels
        if x < words["x"] + words["width"] and y < words["y"] + words["height"]
    ]  # fmt: skip


@pytest.mark.usefixtures("without_module")
def test_colours_of_a_chain_show_how_its_links_bend() -> None:
    """A link bends by parts of its length, however far the chain reaches."""
    chain = GEARED | {"links": 3 * GEARED["links"]}
    one, three = (cast(Any, document(page_of(each)))["limits"] for each in (GEARED, chain))
    assert one["deflection"] == pytest.approx(0.02)
    assert three == pytest.approx(one)


def test_a_view_that_was_turned_stays_where_the_arm_leaves_it(page: Page) -> None:
    for _ in range(12):
        page.keyboard.press("+")
    page.evaluate("flexarm.drawn()")
    before = page.evaluate("flexarm.camera()")
    tip(page, 0.1)
    assert not is_in_sight(page)
    assert page.evaluate("flexarm.camera()") == before
    page.locator("#reset").click()


def test_no_file_is_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "arm.html"
    path.write_text("mine")
    with pytest.raises(FlexarmError, match=r"arm\.html"):
        flexarm.live(flexarm.example_arm(SAMPLE), path)
    assert path.read_text() == "mine"
