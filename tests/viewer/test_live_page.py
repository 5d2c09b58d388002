"""A live page in a browser: it asks for nothing, runs as Python does, and can be pulled."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from playwright.sync_api import Error, Page
from scipy.linalg import eigh

import flexarm
from flexarm.errors import FlexarmError
from flexarm.viewer.live.page import live_page
from flexarm.viewer.live.shapes import prepare_live
from flexarm.viewer.live.tuning import MOST_DAMPED, SOFTEST, hold_jacobians
from flexarm.viewer.outlook import SCALES, SHOWS
from tests.engine.in_node import run_in_node
from tests.viewer.conftest import Opener, wait_until
from tests.viewer.test_page import document

SAMPLE = "korayem-two-link"


@pytest.fixture(scope="module")
def shared(open_shared: Opener) -> Page:
    model = flexarm.build(flexarm.sample(SAMPLE))
    html = live_page(prepare_live(model, all_shapes=False))
    assert len(html) < 1_000_000
    return open_shared(html)


@pytest.fixture
def page(shared: Page) -> Page:
    """Give the page as it begins."""
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
        flexarm.sample(SAMPLE), t_end=t_end, method="rk4", step=step, inputs=still
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
        flexarm.sample(SAMPLE), {"gravity": [0, -5.0, 0], "payload": {"mass": 0.7}}
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


def test_colours_are_those_of_the_scale_that_has_grown(page: Page) -> None:
    page.locator("#field").select_option("curvature")
    page.evaluate("[0, 0, 0].forEach((k) => flexarm.pluck(k)), flexarm.pause()")
    before = page.locator("#legend-high").inner_text()
    page.evaluate("flexarm.run(0.12)")
    page.evaluate("flexarm.drawn()")
    assert page.locator("#legend-high").inner_text() != before
    first = page.locator("#canvas").screenshot()
    for _ in range(2):
        page.locator("#ground").click()  # which draws anew
    page.evaluate("flexarm.drawn()")
    assert page.locator("#canvas").screenshot() == first
    page.locator("#field").select_option("deflection")


GEARED = {
    "flexarm": 1, "name": "geared", "gravity": [0, 0, 0], "payload": {"mass": 5.0},
    "links": [{
        "joint": {"kind": "revolute",
                  "drive": {"rotor_inertia": 1e-4, "gear_ratio": 100, "stiffness": 100}},
        "length": 1.0,
        "section": {"mass_per_length": 0.5, "EIz": 2000},
        "shapes": {"kind": "loaded", "bending_y": 2},
    }],
}  # fmt: skip


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
    assert scale == min(50.0, next(factor for factor in SCALES if factor * bends >= SHOWS))
    view = document(html)["view"]
    assert isinstance(view, dict)
    assert view["scale"] == scale


# A clock by which whatever looks at it has taken too long.
HURRIED = "let now = 0; performance.now = () => (now += 1e6);"


@pytest.mark.parametrize(
    "first",
    [pytest.param("", marks=pytest.mark.campaign), HURRIED],
    ids=["looked ahead", "too slow to look ahead"],
)
def test_an_arm_that_falls_has_room_to_fall_in(open_page: Opener, first: str) -> None:
    joint = {"kind": "revolute", "axis": [0, 1, 0], "actuation": "free"}
    body = {"mass": 1.0, "com": [0.5, 0, 0], "inertia": [0.001, 0.08, 0.08]}
    link = {"joint": joint, "length": 1.0, "body": body}
    arm = flexarm.Arm.model_validate({"flexarm": 1, "name": "falls", "links": [link]})
    html = live_page(prepare_live(flexarm.build(arm), all_shapes=False))
    page = open_page(html, first=first)
    assert page.evaluate("flexarm.time()") == 0.0
    before = page.evaluate("flexarm.camera()")
    at = tip(page, 0.45)  # it hangs down
    assert at[2] < -0.8
    assert (page.evaluate("flexarm.camera()") == before) == (first == "")
    x, y = page.evaluate("flexarm.pixel(flexarm.tip())")
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    assert box["x"] < x < box["x"] + box["width"]
    assert box["y"] < y < box["y"] + box["height"]


def test_a_view_that_was_turned_stays_where_the_arm_leaves_it(page: Page) -> None:
    for _ in range(12):
        page.keyboard.press("+")
    page.evaluate("flexarm.drawn()")
    before = page.evaluate("flexarm.camera()")
    x, y = page.evaluate("t => flexarm.pixel(t)", tip(page, 0.1).tolist())
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    assert not (0 < x - box["x"] < box["width"] and 0 < y - box["y"] < box["height"])
    assert page.evaluate("flexarm.camera()") == before
    page.locator("#reset").click()


def test_no_file_is_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "arm.html"
    path.write_text("mine")
    with pytest.raises(FlexarmError, match=r"arm\.html"):
        flexarm.live(flexarm.sample(SAMPLE), path)
    assert path.read_text() == "mine"


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["korayem-two-link", "count-6-6-3"])
def test_servos_of_a_page_let_nothing_grow(name: str) -> None:
    """Their integral parts too: by the roots of the arm that they hold."""
    live = prepare_live(flexarm.build(flexarm.sample(name)), all_shapes=False)
    arm, task, tuned = live.arm, live.task, live.tuned
    found = task.equation.compiled("matrices").call(task.q, task.v)
    M, K, D = (matrix.reshape(arm.model.size, -1) for matrix in found)
    n, rows = arm.model.size, arm.rows
    firm, lossy = (rows.T @ (tuned.servo[:, k : k + 1] * rows) for k in (1, 2))
    top = np.hstack([np.zeros((n, n)), np.eye(n), np.zeros((n, len(rows)))])
    middle = np.linalg.solve(M, np.hstack([-K - firm, -D - lossy, rows.T]))
    below = np.hstack([-tuned.integral[:, None] * rows, np.zeros((len(rows), n + len(rows)))])
    assert np.all(tuned.integral > 0)
    assert np.linalg.eigvals(np.vstack([top, middle, below])).real.max() < -1e-3


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["korayem-two-link", "count-6-6-3", "chen-two-link"])
def test_steps_are_as_long_as_the_fastest_mode_allows(name: str) -> None:
    """With servos or without, in every setting, pulled anywhere: and hardly shorter.

    Of arms with few shapes as long as follows the slowest vibration.
    """
    live = prepare_live(flexarm.build(flexarm.sample(name)), all_shapes=False)
    arm, task, tuned = live.arm, live.task, live.tuned
    found = task.equation.compiled("matrices").call(task.q, task.v)
    M, K, D = (matrix.reshape(arm.model.size, -1) for matrix in found)
    firm, drag = tuned.grip
    pulls = [J.T @ J for J in hold_jacobians(arm, task)[:: len(arm.holds) // 4]]
    servos = [arm.rows.T @ (tuned.servo[:, k : k + 1] * arm.rows) for k in (1, 2)]
    for stiffness, damping, held in itertools.product(
        (SOFTEST, 1.0, 5.0), (0.0, MOST_DAMPED), (0, 1)
    ):
        soft = tuned.laden.soft_decay if stiffness < 1 else tuned.laden.decay
        allowed = max(np.sqrt(tuned.laden.square * max(stiffness, 1.0)), soft)
        for pull in [np.zeros_like(M), *pulls]:
            stiff = stiffness * K + held * servos[0] + firm * pull
            lossy = D + damping * arm.critical + held * servos[1] + drag * pull
            assert fastest(M, stiff, lossy) <= allowed * (1 + 1e-9)
    here = fastest(M, K + servos[0], D + servos[1])
    squares = eigh(K, M, eigvals_only=True)
    slowest = np.sqrt(squares[squares > 1e-9 * squares[-1]][0])
    assert tuned.step == pytest.approx(min(0.7 * 2.6 / here, 0.5 / slowest), rel=0.08)


LADEN = {
    "flexarm": 1, "name": "laden", "gravity": [0, 0, 0], "payload": {"mass": 5.0},
    "links": [{
        "joint": {"kind": "fixed"}, "length": 1.0,
        "section": {"mass_per_length": 0.5, "EIz": 2e5},
        "shapes": {"kind": "loaded", "bending_y": 1},
    }],
}  # fmt: skip
SIMULATION = Path(__file__).parents[2] / "viewer/src/simulation.js"
SWING = f"""
import fs from 'fs';
import {{ advance, makeSimulation, observe, setInput, stateOf }} from '{SIMULATION.as_uri()}';
const {{ simulation, kick, settings }} = JSON.parse(fs.readFileSync(0));
const energies = [];
for (const each of settings) {{
  const arm = await makeSimulation(simulation);
  setInput(arm, 'settings', each);
  stateOf(arm).set(kick, simulation.n);
  const energy = () => observe(arm).energy[0] + observe(arm).energy[1];
  const first = energy();
  energies.push([first, advance(arm, 0.2) ? Infinity : energy()]);
}}
console.log(JSON.stringify({{ energies }}));
"""


def test_an_arm_whose_payload_is_taken_away_swings_on(tmp_path: Path) -> None:
    """Six times as fast: steps for what it carried would let its motion grow without bound.

    Its only vibration is the slowest too, which steps follow: they do not damp it away.
    """
    live = prepare_live(flexarm.build(flexarm.Arm.model_validate(LADEN)), all_shapes=False)
    page = cast(dict[str, Any], document(live_page(live)))
    payloads, stiffnesses = (0.0, 1.0, 5.0, 15.0), (0.2, 1.0, 5.0)
    settings = [[0.0, m, k, 0.0] for m, k in itertools.product(payloads, stiffnesses)]
    given = {"simulation": page["simulation"], "kick": page["modes"][0]["kick"]}
    found = run_in_node(SWING, given | {"settings": settings}, tmp_path)["energies"]
    for first, last in found:
        assert first > 0
        assert 0.6 * first < last < 1.001 * first
    assert live.tuned.unladen.square > 20 * live.tuned.laden.square


def fastest(M: np.ndarray, K: np.ndarray, D: np.ndarray) -> float:
    """Find the largest size of an eigenvalue [1/s]."""
    n = len(M)
    lower = np.linalg.solve(M, np.hstack([-K, -D]))
    upper = np.hstack([np.zeros((n, n)), np.eye(n)])
    return float(np.abs(np.linalg.eigvals(np.vstack([upper, lower]))).max())
