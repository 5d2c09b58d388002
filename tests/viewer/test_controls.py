"""The page's controls in a browser: slider, keys, curves, themes, a phone, a mode picker."""

import cmath
import json
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from playwright.sync_api import FloatRect, Page

import flexarm
from flexarm.arm import Arm
from flexarm.io.model_file import loads
from flexarm.linear.modes import Mode, Modes
from flexarm.model import build
from flexarm.runs.constants import STATIONS
from flexarm.runs.plot import arm_outline
from flexarm.runs.run import Run
from flexarm.viewer.page import mode_page, run_page
from tests.viewer.conftest import Opener, wait_until
from tests.viewer.poses import random_run, run_of
from tests.viewer.test_drawing import TUBE, points

OWN_CODE = 8.0  # [ms] per picture, median
NAMES = (
    "</script><script>alert(1)</script>",
    "\"'`<b>&amp;",
    "🤖➡🦾",
    "\u05d6\u05e8\u05d5\u05e2",  # right to left
)


def smooth_run(samples: int = 101, arm: Arm | None = None, t_end: float = 1.0) -> Run:
    """Swing a bent tube, or another arm, for a second."""
    model = build(loads(TUBE, "tube") if arm is None else arm)
    t = np.linspace(0.0, t_end, samples)
    rng = np.random.default_rng(1)
    sizes = np.where(np.array(model.units) == "rad", 1.0, 0.02) * rng.uniform(-1, 1, model.size)
    q = sizes * np.sin(2 * np.pi * np.outer(t, rng.uniform(0.5, 2, model.size)))
    return run_of(model, q, np.broadcast_to(np.eye(3), (samples, 3, 3)), t)


@pytest.fixture(scope="module")
def run() -> Run:
    return smooth_run()


@pytest.fixture(scope="module")
def shared(run: Run, open_shared: Opener) -> Page:
    return open_shared(run_page([run]), height=1300)


@pytest.fixture
def page(shared: Page) -> Page:
    """Give the page of the run, as it is in the beginning."""
    shared.keyboard.press("Escape")
    shared.locator("h1").click()
    shared.locator("#ghost").check()
    shared.locator("#field").select_option("deflection")
    shared.locator("#reset").click()
    shared.evaluate("flexarm.pause()")
    shared.evaluate("flexarm.seek(0)")
    shared.locator("h1").click()
    shared.evaluate("document.activeElement.blur()")
    return shared


def time_of(page: Page) -> float:
    page.evaluate("flexarm.drawn()")
    return float(page.evaluate("flexarm.time()"))


def test_slider_buttons_and_keys_play_step_and_choose(run: Run, page: Page) -> None:
    page.locator("#time").fill("0.37")
    assert time_of(page) == pytest.approx(0.37)
    assert page.locator("#clock").inner_text() == "0.370 s"
    assert float(page.locator("#time").input_value()) == pytest.approx(0.37)
    page.evaluate("flexarm.seek(0)")
    assert not page.evaluate("flexarm.playing()")
    page.locator("#play").click()
    wait_until(page, "flexarm.time() > 0.02")
    page.locator("#play").click()
    stopped = time_of(page)
    page.wait_for_timeout(150)
    assert time_of(page) == stopped
    page.evaluate("document.activeElement.blur()")
    press = page.keyboard.press
    press("Home")
    assert time_of(page) == 0.0
    press("ArrowRight")
    assert time_of(page) == pytest.approx(run.t[1])
    press("Shift+ArrowRight")
    press("ArrowLeft")
    assert time_of(page) == pytest.approx(run.t[10])
    press("End")
    assert time_of(page) == pytest.approx(run.t[-1])
    press("Home")
    press("Space")
    assert page.evaluate("flexarm.playing()")
    press("Space")
    press("c")
    assert page.locator("#legend-title").inner_text() == "Curvature"
    press("g")
    assert not page.locator("#ghost").is_checked()
    press("]")
    slower = page.locator("#speed").input_value()
    press("[")
    assert float(page.locator("#speed").input_value()) < float(slower)
    press("?")
    assert page.locator("#keys").is_visible()


def view_of(page: Page) -> np.ndarray:
    page.evaluate("flexarm.drawn()")
    return np.array(page.evaluate("flexarm.camera().view"))


def test_keys_turn_the_view_and_bring_it_back_dragging_turns_and_scrolling_zooms(
    page: Page,
) -> None:
    before = view_of(page)
    for key in ("a", "w", "+"):
        page.keyboard.press(key)
    assert np.abs(view_of(page) - before).max() > 0.05
    page.keyboard.press("r")
    assert np.allclose(view_of(page), before)
    page.mouse.move(600, 300)
    page.mouse.down()
    page.mouse.move(700, 320, steps=2)
    page.mouse.up()
    turned = view_of(page)
    assert np.abs(turned[:3] - before[:3]).max() > 0.1
    page.mouse.wheel(0, -400)
    assert abs(view_of(page)[14]) < 0.95 * abs(turned[14])  # distance along the view


def over(page: Page, key: str) -> FloatRect:
    """Find the plotting area of a panel, in pixels."""
    area = page.locator(f'.panel[data-panel="{key}"] .u-over')
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    return box


def now_at(page: Page, key: str, part: float, within: float = 1.5) -> None:
    """Require the cursor of a panel at a part of its width."""
    area = over(page, key)
    now = page.locator(f'.panel[data-panel="{key}"] .now').bounding_box()
    assert now is not None
    assert now["x"] + 1 == pytest.approx(area["x"] + part * area["width"], abs=within)


@pytest.mark.campaign
def test_curves_say_their_values_show_a_part_of_the_time_and_go_there(run: Run, page: Page) -> None:
    page.evaluate("flexarm.seek(0.8)")
    for key in ("angles", "deflections", "tip", "energy"):
        now_at(page, key, 0.8)
    area = over(page, "tip")
    page.mouse.move(area["x"] + 0.4 * area["width"], area["y"] + 40)
    page.evaluate("flexarm.drawn()")
    said = page.locator('.panel[data-panel="tip"] output').all_inner_texts()
    assert [float(text.replace("−", "-")) for text in said] == pytest.approx(
        run.tip[40].tolist(), abs=0.006
    )
    page.mouse.down()
    page.mouse.up()
    assert time_of(page) == pytest.approx(0.4, abs=0.005)
    page.evaluate("flexarm.seek(0.4)")
    area = over(page, "angles")
    for part, move in ((0.2, page.mouse.down), (0.6, page.mouse.up)):
        page.mouse.move(area["x"] + part * area["width"], area["y"] + 30, steps=3)
        move()
    page.evaluate("flexarm.drawn()")
    for key in ("angles", "energy"):
        now_at(page, key, 0.5, within=4)
    page.locator('.panel[data-panel="tip"] .u-over').dblclick()
    page.evaluate("flexarm.seek(0.4)")
    now_at(page, "energy", 0.4)


def test_pictures_and_films_can_be_saved(page: Page, tmp_path: Path) -> None:
    with page.expect_download() as download:
        page.keyboard.press("p")
    download.value.save_as(tmp_path / "picture.png")
    drawn = imread(tmp_path / "picture.png")
    assert np.ptp(drawn[:, :, 3]) == 1.0  # something is there, and not everywhere
    clock = drawn[5:30, -90:, 3]
    assert (clock > 0.5).sum() > 20  # with the time on it
    page.locator("#record").click()
    for t in (0.2, 0.4, 0.6):
        page.evaluate("t => flexarm.seek(t)", t)
    with page.expect_download() as download:
        page.locator("#record").click()
    download.value.save_as(tmp_path / "film")
    assert (tmp_path / "film").read_bytes().startswith(b"\x1a\x45\xdf\xa3")  # of webm


def test_panels_and_curves_are_chosen(page: Page) -> None:
    panel = page.locator('.panel[data-panel="tip"]')
    assert panel.is_visible()
    page.locator('#choose input[data-panel="tip"]').uncheck()
    assert not panel.is_visible()
    page.locator('#choose input[data-panel="tip"]').check()
    chip = panel.locator("button").first
    chip.click()
    assert chip.get_attribute("aria-pressed") == "false"


@pytest.mark.campaign
def test_every_curve_has_a_swatch_of_its_own(open_page: Opener) -> None:
    run = random_run(flexarm.example_arm("chain-30"), 3, stiffening=False)
    page = open_page(run_page([run]), width=390)
    names = 'document.querySelectorAll(`[data-panel="angles"] .swatch`)'
    look = "(s) => { const c = getComputedStyle(s); return c.color + c.backgroundImage; }"
    for width in (390, 1200):
        page.set_viewport_size({"width": width, "height": 700})
        looks = page.evaluate(f"Array.from({names}, {look})")
        assert len(looks) == 30
        assert len(set(looks)) == 30
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_themes_follow_the_system_and_the_button_and_a_phone_shows_all(page: Page) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(colour)
    assert light != dark
    page.emulate_media(color_scheme="light")
    assert page.evaluate(colour) == light
    page.locator("#theme").click()
    assert page.evaluate(colour) == dark
    page.locator("#theme").click()
    assert page.evaluate(colour) == light
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for name in ("#play", "#time", "#speed", "#scale", "#field", "#reset", "#help"):
        box = page.locator(name).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    page.set_viewport_size({"width": 800, "height": 1300})


def hostile_run() -> Run:
    text = json.loads(json.dumps({
        "flexarm": 1,
        "name": " ".join(NAMES),
        "notes": "\n".join(NAMES) + "\u2028{{script}} <!-- <script>",
        "gravity": [0, 0, -9.81],
        "links": [
            {"name": name.replace(" ", ""), "joint": {"kind": "revolute"}, "length": 0.5,
             "section": {"mass_per_length": 1, "EIz": 100}}
            for name in NAMES
        ],
    }))  # fmt: skip
    return random_run(flexarm.Arm.model_validate(text), 4)


def test_hostile_names_and_notes_appear_as_text(open_page: Opener) -> None:
    run = hostile_run()
    page = open_page(run_page([run]))
    page.on("dialog", lambda dialog: pytest.fail(f"the page said {dialog.message}"))
    assert page.locator("#title").text_content() == run.model.arm.name
    assert page.title() == f"{run.model.arm.name} (flexarm)"
    page.locator("#notes summary").click()
    assert page.locator("#notes div").text_content() == run.model.arm.notes
    shown = page.locator('.panel[data-panel="deflections"] bdi').all_text_contents()
    for link in run.model.arm.link_names:
        assert f"{link} y" in shown
    assert page.locator("script").count() == 4  # data, the packed script, what unpacks it, itself
    assert page.locator("b").count() == 0


def bar_modes(slower: float = 1.5) -> Modes:
    """Make two modes of a tube by hand: its first link along y, and its second along z."""
    found = flexarm.modes(loads(TUBE, "tube"), straight=True)
    names = found.model.names
    first, second = np.zeros((2, len(names)), complex)
    first[names.index("link1.y1")] = 2.0
    second[names.index("link2.z1")] = 1.0
    second[names.index("joint2")] = 0.3j
    modes = (
        Mode("<i>first</i>", "vibration", 2j * np.pi * slower * cmath.exp(0.01j), {}, first),
        Mode("second", "vibration", 40j * np.pi, {}, second),
    )
    return replace(found, modes=modes)


@pytest.fixture(scope="module")
def swinging(open_shared: Opener) -> Page:
    return open_shared(mode_page(bar_modes()))


def test_the_mode_picker_shows_frequency_name_and_shape(swinging: Page) -> None:
    page, caption = swinging, swinging.locator("#caption")
    page.evaluate("flexarm.pick(0)")
    usual = page.locator("#speed").input_value()
    assert caption.locator("b").inner_text() == "Mode 1: 1.50 Hz"
    assert "<i>first</i> · damping 1.00 %" in caption.inner_text()
    assert caption.inner_text().endswith("shown 2.40 times slower")  # a swing in 1.6 s
    page.locator("#speed").select_option("10")
    assert caption.inner_text().endswith("shown 4.17 times faster")
    page.locator("#modes button").nth(1).click()
    assert caption.locator("b").inner_text() == "Mode 2: 20.0 Hz"
    assert page.locator("#modes button").nth(1).get_attribute("aria-checked") == "true"
    page.keyboard.press("n")
    assert caption.locator("b").inner_text() == "Mode 1: 1.50 Hz"
    page.locator("#modes button").nth(0).focus()
    page.keyboard.press("ArrowRight")
    assert caption.locator("b").inner_text() == "Mode 2: 20.0 Hz"
    page.locator("#speed").select_option(usual)


@pytest.mark.campaign
def test_the_page_of_modes_opens_at_the_first_vibration(open_page: Opener) -> None:
    page = open_page(mode_page(bar_modes(slower=0.0)))
    assert page.locator("#modes button").nth(1).get_attribute("aria-checked") == "true"
    assert page.locator("#caption b").text_content() == "Mode 2: 20.0 Hz"


def test_on_a_phone_the_legend_lies_in_the_margin_under_the_arm(swinging: Page) -> None:
    page = swinging
    page.set_viewport_size({"width": 390, "height": 844})
    stage, legend = (page.locator(each).bounding_box() for each in ("#stage", "#legend"))
    page.set_viewport_size({"width": 800, "height": 700})
    assert stage is not None
    assert legend is not None
    margin = (1 - 0.74) / 2 * stage["height"]  # what the first view leaves free under the arm
    assert legend["y"] >= stage["y"] + stage["height"] - margin
    assert legend["x"] + legend["width"] <= stage["x"] + stage["width"]


@pytest.mark.campaign
@pytest.mark.few(1)
@pytest.mark.parametrize(("mode", "phase"), [(0, 0.0), (1, 0.0), (1, 0.75)])
def test_a_mode_swings_along_its_vector(mode: int, phase: float, swinging: Page) -> None:
    modes, page = bar_modes(), swinging
    page.evaluate("k => flexarm.pick(k)", mode)
    for _ in range(8):
        page.keyboard.press(",")  # the smallest amplitude
    end = float(page.locator("#time").get_attribute("max") or 0)
    page.evaluate("t => flexarm.seek(t)", phase * end)
    shown = points(page.evaluate("flexarm.pose()[0]"))
    moved = np.real(modes.modes[mode].shape * np.exp(2j * np.pi * phase))
    q = modes.equilibrium.point.q
    steps = np.stack([q + 1e-5 * moved, q - 1e-5 * moved, q])
    run = run_of(modes.model, steps, np.broadcast_to(np.eye(3), (3, 3, 3)))
    lines = arm_outline(run, np.arange(3), STATIONS)
    wanted, got = (lines[0] - lines[1]).ravel(), (shown - lines[2]).ravel()
    likeness = wanted @ got / np.linalg.norm(wanted) / np.linalg.norm(got)
    assert likeness > 0.99
    assert np.abs(shown - lines[2]).max() > 1e-3


@pytest.mark.campaign
def test_ten_seconds_of_six_links_are_small_and_quick(
    open_page: Opener, capsys: pytest.CaptureFixture[str]
) -> None:
    run = smooth_run(4001, flexarm.example_arm("count-6-6-3"), t_end=10.0)
    html = run_page([run])
    assert len(html.encode()) < 5e6
    page = open_page(html, width=600, height=400)  # software takes long for large pictures
    page.evaluate("flexarm.drawn()")
    page.evaluate("flexarm.play()")
    wait_until(page, "flexarm.costs().pairs.length > 30")
    costs = page.evaluate("flexarm.costs()")
    own, drawing = (statistics.median(pair[k] for pair in costs["pairs"]) for k in (0, 1))
    between = statistics.median(np.diff(costs["times"]).tolist())
    with capsys.disabled():
        print(
            f"\n  page {len(html.encode()) / 1e6:.2f} MB; per picture {own:.1f} ms of its own "
            f"code, {drawing:.1f} ms of three.js; {1000 / between:.0f} pictures/s in software"
        )
    assert own < OWN_CODE
