"""What the page draws, in a browser: where things are in the world and on the screen."""

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread
from playwright.sync_api import Page

import flexarm
from flexarm.io.model_file import loads
from flexarm.mechanics.deformed import along, flexible_links, section_forces
from flexarm.runs.constants import STATIONS
from flexarm.runs.plot import arm_outline
from flexarm.runs.run import Run
from flexarm.spatial import Array
from flexarm.viewer.bundle import Arrays
from flexarm.viewer.page import run_page
from flexarm.viewer.scene import body_places, point_marks
from tests.viewer.conftest import Opener
from tests.viewer.poses import random_run, run_of
from tests.viewer.test_outlook import catcher, swing

MARK = np.array([225, 29, 116])  # colour of the mark at the tip, light
NO_WEBGL = """
const whole = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind.startsWith("webgl") ? null : whole.call(this, kind, ...rest);
};
"""
TUBE = """\
flexarm: 1
name: bent tube
gravity: [0, 0, -9.81]
links:
  - joint: {kind: revolute, axis: [0, 1, 0]}
    length: 1.5
    section:
      material: {E: 70 GPa, density: 2700}
      shape: {kind: tube, diameter: 40 mm, thickness: 2 mm}
    shapes: {kind: loaded, bending_y: 2, bending_z: 2, stretch: 1}
  - joint: {kind: revolute}
    length: 1
    section:
      material: {E: 70 GPa, density: 2700}
      shape: {kind: box, width: 30 mm, height: 20 mm, thickness: 2 mm}
    shapes: {kind: loaded, bending_y: 2, bending_z: 2, stretch: 1}
payload: {mass: 2}
"""


@pytest.fixture(scope="module")
def run() -> Run:
    """Bend and turn two links at random."""
    return random_run(loads(TUBE, "tube"), 5, seed=3)


@pytest.fixture(scope="module")
def shared(run: Run, open_shared: Opener) -> Page:
    return open_shared(run_page([run]), dots=1.0)


@pytest.fixture
def page(shared: Page) -> Page:
    """Give the page of the run, as it is in the beginning."""
    shared.locator("#trail").check()
    shared.locator("#field").select_option("deflection")
    set_scale(shared, "×1")
    return shared


def at_sample(page: Page, run: Run, k: int, number: int = 0) -> dict[str, Any]:
    """Go to a sample and ask where things of a run are then."""
    page.evaluate("t => flexarm.seek(t)", float(np.float32(run.t[k])))
    found: dict[str, Any] = page.evaluate(f"flexarm.pose()[{number}]")
    return found


def points(pose: dict[str, Any]) -> Array:
    rows = [np.reshape(link, (-1, 3)) for link in pose["links"]]
    return np.concatenate([*rows, [pose["tip"]]])


def picture(page: Page) -> Array:
    """Take a picture of the page: red, green, blue of 0 to 255."""
    read = imread(io.BytesIO(page.screenshot()))
    return np.round(255 * np.asarray(read, float)[:, :, :3])


def stage_of(page: Page) -> tuple[float, float, float, float]:
    """Find the drawing on the page: left, top, width and height in pixels."""
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    return box["x"], box["y"], box["width"], box["height"]


def projected(page: Page, point: Array) -> Array:
    """Project a point of the world onto the page, in pixels, by the camera's matrices."""
    camera = page.evaluate("flexarm.camera()")
    view = np.reshape(camera["view"], (4, 4)).T
    projection = np.reshape(camera["projection"], (4, 4)).T
    clip = projection @ view @ np.append(point, 1.0)
    left, top, width, height = stage_of(page)
    x, y = clip[:2] / clip[3]
    return np.array([left + (x + 1) / 2 * width, top + (1 - y) / 2 * height])


def set_scale(page: Page, shown: str) -> None:
    """Set the scale that deformation is drawn at."""
    page.locator("#scale").fill("0")
    for _ in range(20):
        if page.locator("#scale-value").inner_text() == shown:
            break
        page.keyboard.press(".")
    page.evaluate("flexarm.drawn()")
    assert page.locator("#scale-value").inner_text() == shown


def require_drawn(page: Page, runs: list[Run]) -> None:
    """Compare every section and the tip with where the runs have them."""
    for number, run in enumerate(runs):
        reference = arm_outline(run, np.arange(3), STATIONS)
        size = np.abs(reference).max()
        for k in range(3):
            pose = at_sample(page, run, k, number)
            assert np.abs(points(pose) - reference[k]).max() < 3e-6 * size
            assert np.abs(np.array(pose["tip"]) - run.tip[k]).max() < 3e-6 * size


@pytest.mark.campaign
@pytest.mark.parametrize(
    "names",
    [("puma-560", "tg-rrp-2planes-elements"), ("graves-rms", "canadarm-free-base")],
    ids=" and ".join,
)
def test_every_section_and_the_tip_are_where_the_run_has_them(
    names: tuple[str, ...], open_page: Opener
) -> None:
    runs = [random_run(flexarm.example_arm(name), 3) for name in names]
    require_drawn(open_page(run_page(runs)), runs)


@pytest.mark.campaign
def test_two_runs_are_drawn_over_each_other_each_where_it_is(open_page: Opener) -> None:
    """Of arms with twist and stretch, elastic joints, stiffening, a sliding link, a payload."""
    runs = [random_run(flexarm.example_arm(name), 3) for name in ("chen-two-link", "theodore-rrp")]
    page = open_page(run_page(runs, ["with", "without"]))
    require_drawn(page, runs)
    assert page.locator("#runs li").all_inner_texts() == ["with", "without"]
    assert page.locator("#field").input_value() == "plain"  # each arm in the colour of its run
    assert not page.locator("#ghost").is_checked()
    page.evaluate("flexarm.seek(1)")
    said = page.locator('.panel[data-panel="tip"] output').first.inner_text()
    values = [float(text.replace("−", "-")) for text in said.split(" | ")]
    assert values == pytest.approx([run.tip[2, 0] for run in runs], abs=0.006)


def test_the_drawn_tip_is_where_the_run_says_in_pixels_and_moments_look_as_they_did(
    run: Run, page: Page
) -> None:
    page.locator("#trail").uncheck()
    page.locator("#field").select_option("plain")
    seen = []
    for k in (1, 3, 1):
        at_sample(page, run, k)
        seen.append(picture(page))
        left, top, width, height = map(int, stage_of(page))
        stage = seen[-1][top : top + height, left : left + width]
        marked = np.argwhere(np.abs(stage - MARK).max(axis=2) < 12)
        assert len(marked) > 20
        drawn = marked.mean(axis=0)[::-1] + np.array([left + 0.5, top + 0.5])  # centres of pixels
        assert np.abs(drawn - projected(page, run.tip[k])).max() < 1.0
    first, other, again = seen
    assert np.array_equal(first, again)
    assert (np.abs(first - other).max(axis=2) > 30).sum() > 1000


@pytest.mark.campaign
def test_between_samples_the_arm_is_between(run: Run, page: Page) -> None:
    page.evaluate("flexarm.seek(0.125)")
    middle = run_of(run.model, run.q[:2].mean(axis=0)[None], run.reference_attitudes[:1])
    assert (
        np.abs(
            points(page.evaluate("flexarm.pose()[0]"))
            - arm_outline(middle, np.array([0]), STATIONS)[0]
        ).max()
        < 1e-5
    )


@pytest.mark.campaign
def test_a_wide_arm_fills_a_phones_width(open_page: Opener) -> None:
    """A strip along x, which hardly turns: its way is all width."""
    run = swing(0.0)
    q = run.q * [0.1, 1.0]
    page = open_page(
        run_page([run_of(run.model, q, run.reference_attitudes, run.t)]), width=390, height=844
    )
    _, _, width, _ = stage_of(page)
    sides = [projected(page, np.array([x, 0.0, 0.0]))[0] for x in (0.0, 0.6)]
    assert 0.8 < (sides[1] - sides[0]) / width < 0.88


@pytest.mark.campaign
def test_links_of_a_long_chain_are_seen_between_its_joints(open_page: Opener) -> None:
    link = {
        "joint": {"kind": "revolute"}, "length": 0.3,
        "section": {"mass_per_length": 1, "EIz": 100}, "shapes": {"kind": "loaded", "bending_y": 1},
    }  # fmt: skip
    chain = flexarm.Arm.model_validate(
        {"flexarm": 1, "name": "chain", "gravity": [0, 0, 0], "links": [link] * 30}
    )
    model = flexarm.build(chain)
    straight = run_of(model, np.zeros((2, model.size)), np.stack([np.eye(3)] * 2))
    page = open_page(run_page([straight]), width=1280, dots=1.0)
    for name in ("#trail", "#ground"):
        page.locator(name).uncheck()
    page.evaluate("flexarm.drawn()")
    left, top, width, height = map(int, stage_of(page))
    red, _, blue = np.moveaxis(picture(page)[top : top + height, left : left + width], 2, 0)
    links, joints = blue > red + 60, (blue < 160) & (blue < red + 40)
    assert links.sum() > 0.5 * joints.sum() > 100


@pytest.mark.campaign
def test_letters_of_the_compass_do_not_cover_each_other(open_page: Opener) -> None:
    """Looked at from above, where z points at the eye and lies under y."""
    page = open_page(run_page([swing(0.1)]))
    at = {
        name: page.locator(f"#compass .axis-{name} text").evaluate(
            "each => ['x', 'y'].map((key) => Number(each.getAttribute(key)))"
        )
        for name in "xyz"
    }
    (upright,) = {page.locator("#compass .axis-y line").get_attribute(k) for k in ("x1", "x2")}
    assert abs(at["z"][0] - float(upright or 0)) > 8
    apart = [np.hypot(*np.subtract(at[a], at[b])) for a, b in ("xy", "yz", "zx")]
    assert min(apart) > 12


def with_amplitudes(run: Run, factor: float) -> Array:
    """Trace the third sample with every link's amplitudes times a factor."""
    q = run.q.copy()
    for part in flexible_links(run.model):
        q[:, part.modes] *= factor
    return np.asarray(
        arm_outline(run_of(run.model, q, run.reference_attitudes), np.array([2]), STATIONS)[0]
    )


THICK, THIN = (
    [(x * k, y * (k if x > 0.01 else k * k)) for k in np.linspace(1.0, 0.4, STATIONS)]
    for x, y in ((0.1, 0.06), (0.004, 0.004))
)


@pytest.fixture(scope="module")
def scaled(open_shared: Opener) -> tuple[Page, Run, Run]:
    """Open a page of a tapered arm, and of a tube by linear theory and as an exact beam."""
    tube = loads(TUBE, "tube")
    linear = random_run(tube, 3, stiffening=False)
    exact = random_run(tube, 3, stiffening=True, nodes=1)
    links = [
        tapered(THICK, ("EIz", "EIy", "EA")),  # radii of gyration by stiffness
        tapered(THICK, ("EIz", "EIy", "Jz", "Jy")),  # by inertia
        tapered(THIN, ("EIz", "EIy", "EA")),
        tapered(THICK, ("EIz", "EIy")),  # only up to the material
    ]
    text = "flexarm: 1\nname: tapered\ngravity: [0, 0, 0]\nlinks:\n" + "".join(links)
    runs = [random_run(loads(text, "tapered"), 3), linear, exact]
    return open_shared(run_page(runs)), linear, exact


@pytest.mark.campaign
def test_deflections_by_linear_theory_are_drawn_to_scale_and_rigid_at_0(
    scaled: tuple[Page, Run, Run],
) -> None:
    page, run, _ = scaled
    set_scale(page, "×1")
    true, rigid = points(at_sample(page, run, 2, 1)), with_amplitudes(run, 0.0)
    set_scale(page, "×0")
    assert np.abs(points(page.evaluate("flexarm.pose()[1]")) - rigid).max() < 1e-5
    set_scale(page, "×3")
    drawn = points(page.evaluate("flexarm.pose()[1]"))
    first = slice(0, STATIONS)  # the first link's root does not move: only its deflection grows
    assert np.abs(drawn[first] - rigid[first] - 3 * (true[first] - rigid[first])).max() < 1e-5


@pytest.mark.campaign
def test_exact_links_are_drawn_with_larger_amplitudes(scaled: tuple[Page, Run, Run]) -> None:
    page, _, run = scaled
    at_sample(page, run, 2, 2)
    for shown, factor in (("×0", 0.0), ("×1", 1.0), ("×3", 3.0)):
        set_scale(page, shown)
        drawn = points(page.evaluate("flexarm.pose()[2]"))
        assert np.abs(drawn - with_amplitudes(run, factor)).max() < 1e-5


@pytest.mark.campaign
def test_links_are_coloured_by_deflection_curvature_moment_and_strain(run: Run, page: Page) -> None:
    stations = np.linspace(0, 1, STATIONS)
    for k, part in enumerate(flexible_links(run.model)):
        forces = section_forces(run.model, part, run.q, stations)
        stiffness = [part.beam.span.at(n, stations * part.length) for n in ("EIz", "EIy")]
        bent = np.hypot(
            forces.moment[:, :, 2] / stiffness[0], forces.moment[:, :, 1] / stiffness[1]
        )
        moved = np.linalg.norm(along(run.model, part, run.q, stations).deflection, axis=2)
        for field, values in (
            ("deflection", moved),
            ("curvature", bent),
            ("moment", np.hypot(forces.moment[:, :, 2], forces.moment[:, :, 1])),
            ("strain", forces.strain),
        ):
            page.locator("#field").select_option(field)
            shown = at_sample(page, run, 4)["field"][k]
            assert np.abs(np.array(shown) - values[4]).max() < 2e-5 * values.max()


def test_the_legend_says_the_largest_value_of_the_run(run: Run, page: Page) -> None:
    tips = [along(run.model, p, run.q, np.linspace(0, 1, 25)).deflection for p in run.model.links]
    largest = max(float(np.linalg.norm(each, axis=2).max()) for each in tips)
    assert page.locator("#legend-title").inner_text() == "Deflection"
    assert page.locator("#legend-high").inner_text() == f"{1e3 * largest:.3g} mm"


def tapered(sides: list[tuple[float, float]], names: tuple[str, ...]) -> str:
    """Write a link of 1 m by its solid elliptic sections' axes along y and z [m]."""
    rows = []
    for k, (a, b) in enumerate(sides):
        area, bent = np.pi * a * b / 4, np.pi * a * b / 64 * np.array([a * a, b * b])
        values = {"EIz": 70e9 * bent[0], "EIy": 70e9 * bent[1], "EA": 70e9 * area}
        values |= {"Jz": 2700 * bent[0], "Jy": 2700 * bent[1], "mass_per_length": 2700 * area}
        given = ", ".join(f"{name}: {values[name]}" for name in ("mass_per_length", *names))
        rows.append(f"        - {{at: {k / (len(sides) - 1)}, {given}}}\n")
    return (
        "  - joint: {kind: revolute}\n    length: 1\n    section:\n      stations:\n"
        + "".join(rows)
        + "    shapes: {kind: clamped-free, bending_y: 1, bending_z: 1}\n"
    )


@pytest.mark.campaign
def test_a_tapered_link_is_drawn_as_thick_as_it_is_everywhere(
    scaled: tuple[Page, Run, Run],
) -> None:
    drawn = [np.reshape(link, (-1, 2)) for link in scaled[0].evaluate("flexarm.girths()[0]")]
    assert drawn[0] == pytest.approx(np.array(THICK), rel=1e-4)
    assert drawn[1] == pytest.approx(np.array(THICK), rel=1e-4)
    for k, sides in ((2, THIN), (3, THICK)):
        factor = drawn[k][0, 0] / sides[0][0]
        assert drawn[k] == pytest.approx(factor * np.array(sides), rel=1e-4)
        assert 0.005 < drawn[k][0, 0] / 4 < 0.04  # of the reach: it can be seen


def test_three_runs_bodies_obstacles_events_and_the_scale_are_shown(open_page: Opener) -> None:
    runs = [replace(catcher(), q=q) for q in (catcher().q, 0.9 * catcher().q, 0.8 * catcher().q)]
    bent = swing(0.004)
    page = open_page(run_page([*runs, bent], ["a", "b", "c", "d"]), width=390)
    assert page.locator("#runs li").all_inner_texts() == ["a", "b", "c", "d"]
    colours = (
        "Array.from(document.querySelectorAll('#runs i'), i => getComputedStyle(i).borderColor)"
    )
    assert len(set(page.evaluate(colours))) == 4
    events = page.locator("#events button").all_inner_texts()
    assert events[0] == "0.500 s a: capture ball, 0.25 J lost"
    assert len(events) == 6
    ticks = page.locator("#ticks i")
    assert ticks.count() == 6
    slider, tick = page.locator("#time").bounding_box(), ticks.first.bounding_box()
    assert slider is not None
    assert tick is not None
    assert tick["x"] + 1 == pytest.approx(slider["x"] + slider["width"] / 2, abs=1.5)
    page.locator("#events button").last.click()
    assert page.evaluate("flexarm.time()") == pytest.approx(0.8)
    places = body_places(runs[0])[0][2]
    page.evaluate("flexarm.seek(0.65)")
    carried = page.evaluate("flexarm.around()")
    tip = page.evaluate("flexarm.pose()[0].tip")
    assert np.linalg.norm(np.subtract(carried["bodies"][0], tip)) == pytest.approx(
        np.linalg.norm(places[6, 3:6]), rel=1e-5
    )
    assert carried["obstacles"] == 3
    assert page.locator("#enlarged-by").inner_text() == "Deformation drawn ×20"
    page.locator("#true").click()
    assert page.locator("#enlarged").is_hidden()
    assert page.locator("#scale-value").inner_text() == "×1"
    page.keyboard.press("i")
    page.evaluate("flexarm.drawn()")
    assert page.locator("#names span").all_inner_texts() == ["link1", "ball"]
    length, unit = page.locator("#bar-length").inner_text().split()
    width = page.evaluate("document.getElementById('bar').getBoundingClientRect().width")
    metres = float(length) * {"m": 1, "mm": 1e-3}[unit]
    assert width == pytest.approx(metres / page.evaluate("flexarm.around().pixel"), rel=0.02)


def test_without_webgl_the_page_says_so_and_shows_its_curves(open_page: Opener) -> None:
    run = random_run(flexarm.example_arm("korayem-two-link"), 2)
    page = open_page(run_page([run]), first=NO_WEBGL)
    assert "no WebGL" in page.locator("#warning").inner_text()
    assert page.locator(".panel:visible").count() >= 3
    assert page.locator("#field option").all_inner_texts() == [  # no strain: its section is unknown
        "Plain", "Deflection", "Curvature", "Bending moment",
    ]  # fmt: skip


TOUCHING = """
flexarm: 1
name: Touching
gravity: [0, 0, -9.81]
links:
  - joint: {kind: revolute, axis: [0, 1, 0], actuation: free}
    length: 1.0
    body: {mass: 1.0, com: [0.5, 0, 0], inertia: [0.01, 0.1, 0.1]}
contacts:
  - {point: {tip: [0, 0.2, 0]}, radius: 0.1, stiffness: 1000, exponent: 1,
     friction: {coefficient: 0.5}, obstacle: {kind: plane, point: [0, 0, -0.2]}}
springs: [{between: [{link: link1, at: 0.5}, {world: [0.5, 0, 1]}], stiffness: 2.0, length: 0.5}]
"""


@pytest.mark.campaign
def test_sections_arrows_where_the_arm_touches_and_coils_between_points_are_where_they_are(
    open_page: Opener,
) -> None:
    crossed = random_run(flexarm.example_arm("crossed-joints"), 3)  # universal, spherical, screw
    run = flexarm.simulate(loads(TOUCHING, "touching"), t_end=0.3)
    touched = run.contacts()
    k = int(touched.normal_force.values[:, 0].argmax())
    arrays = Arrays()
    (push,) = point_marks(run, arrays)["touches"]
    force = np.frombuffer(b"".join(arrays.parts), "<f4")[push["force"]["at"] :]
    force = force[: 3 * len(run.t)].reshape(3, -1)[:, k]
    expected = [*touched.friction_force.values[k, 0][:2], touched.normal_force.values[k, 0]]
    assert force == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert expected[2] > 10
    lever = run.tip_rotation[k] @ [0, 0.2, 0] + [0, 0, -0.1]
    page = open_page(run_page([crossed, run]))
    require_drawn(page, [crossed])
    at_sample(page, run, k)
    arrow, spring = page.evaluate("flexarm.around().forces")[-2:]  # those of the last run
    assert arrow["visible"]
    assert arrow["at"] == pytest.approx(run.tip[k] + lever, abs=1e-4)
    assert spring["at"] == pytest.approx(run.tip[k] / 2, abs=1e-4)
    assert spring["length"] == pytest.approx(float(run.springs().length.values[k, 0]), rel=1e-4)
    at_sample(page, run, 0)
    assert not page.evaluate("flexarm.around().forces")[-2]["visible"]
    assert "Contact forces" in page.locator("#choose").inner_text()
