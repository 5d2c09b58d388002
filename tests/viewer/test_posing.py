"""The page's own kinematics in all digits: sections of links are where the model has them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.io.model_file import loads
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.deformed import section_forces
from flexarm.mechanics.kinematics import end_frame, frames
from flexarm.model import Model, build
from flexarm.runs.constants import STATIONS
from flexarm.spatial import Array
from flexarm.viewer.bundle import Arrays
from flexarm.viewer.scene import scene, states
from hatch_build import find_node
from tests.links.reduced_bodies import arm_with, craig_bampton
from tests.physics.test_body_frames import arm_on, body_with_eye
from tests.viewer.poses import random_pose

KINEMATICS = Path(__file__).parents[2] / "viewer/src/kinematics.js"
POSE = f"""
import {{ readFileSync }} from "node:fs";
import {{ makePose, poseArm }} from "{KINEMATICS.as_uri()}";
const {{ arm, state, scale, only }} = JSON.parse(readFileSync(0, "utf8"));
const whole = (node) => {{
  if (node === null || typeof node !== "object") return;
  if (node.values) node.values = Float64Array.from(node.values);
  else Object.values(node).forEach(whole);
}};
whole(arm);
const pose = poseArm(arm, Float64Array.from(state), scale, makePose(arm), only);
console.log(JSON.stringify(pose, (key, x) => (ArrayBuffer.isView(x) ? Array.from(x) : x)));
"""
BOX = """\
flexarm: 1
name: twisted box
links:
  - joint: {kind: revolute}
    length: 1
    section:
      material: {E: 70 GPa, density: 2700, nu: 0.3}
      shape: {kind: box, width: 30 mm, height: 20 mm, thickness: 2 mm}
    shapes: {kind: clamped-free, bending_y: 2, bending_z: 2, torsion: 1, stretch: 1}
"""
LUMPED = """\
flexarm: 1
name: rigid pieces
links:
  - joint: {kind: revolute}
    length: 1
    section: {mass_per_length: 5, EIz: 1000, EIy: 1500, GJ: 300, EA: 100000}
    shapes: {kind: lumped, bending_y: 3, bending_z: 3, torsion: 2, stretch: 2}
"""
GIVEN = {"twisted box": BOX, "rigid pieces": LUMPED}
ARMS = (
    "driven-link-payload",  # one plane
    "tg-rr-elements",
    "chen-two-link",  # two planes, twist and stretch
    "tg-rr-2planes-elements",
    "canadarm-free-base",
    "carriage-on-rail",
    "rigid pieces",  # which part where they stretch
)
HARD = 1.2  # [rad]: how far links are bent


class Whole(Arrays):
    """Arrays that keep their digits."""

    def add(self, values: Array) -> dict[str, Any]:
        """Keep an array as it is."""
        return {"shape": list(values.shape), "values": values.ravel().tolist()}


def bent(name: str, seed: int = 0) -> tuple[Model, Array]:
    """Bend the exact links of a sample hard."""
    arm = loads(GIVEN[name], name) if name in GIVEN else flexarm.example_arm(name)
    model = build(arm, stiffening=True, nodes=1)
    q = random_pose(model, np.random.default_rng(seed))
    for part in model.links:
        if part.body.one_length:
            assert part.exact is not None
            places = np.linspace(0.0, part.length, STATIONS)
            slopes = [part.beam.shapes.values(d, places, 1) @ q[part.modes] for d in ("y", "z")]
            q[part.modes] *= HARD / np.hypot(*slopes).max()
    return model, q


def posed(model: Model, q: Array, scale: float = 1.0, **only: bool | str) -> dict[str, Any]:
    """Let the page's script pose an arm, or only parts of it, as Node runs it."""
    state = states(model, q[None], model.start_references[None])[0].tolist()
    arm = scene(model, Whole())
    given = json.dumps({"arm": arm, "state": state, "scale": scale, "only": only})
    command = [find_node()[0], "--input-type=module", "-e", POSE]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def sections(model: Model, q: Array) -> list[tuple[Array, Array]]:
    """Place every link's sections in the world, (S, 3), and turn them, (S, 3, 3)."""
    found = []
    for part, frame in zip(model.links, frames(model, ca.DM(q)), strict=True):
        stations = np.linspace(0.0, 1.0, STATIONS if part.flexible else 2)
        seen = [body_of(model, part).at_fraction(ca.DM(q), float(x)) for x in stations]
        places = [np.array(frame.p_WL + frame.R_WL @ local.position).ravel() for local in seen]
        turns = [np.array(ca.DM(frame.R_WL @ local.rotation)) for local in seen]
        found.append((np.array(places), np.array(turns)))
    return found


@pytest.mark.few(3)
@pytest.mark.parametrize("scale", [2.5, 0.0])
@pytest.mark.parametrize("name", ARMS)
def test_sections_stand_and_turn_as_the_model_has_them_with_scaled_amplitudes(
    name: str, scale: float
) -> None:
    model, q = bent(name)
    drawn = q.copy()
    for part in model.links:
        drawn[part.modes] *= scale
    page = posed(model, q, scale)
    for link, (places, turns) in zip(page["links"], sections(model, drawn), strict=True):
        assert np.abs(np.reshape(link["centres"], (-1, 3)) - places).max() < 1e-9
        assert np.abs(np.reshape(link["turns"], (-1, 3, 3)) - turns).max() < 1e-9
    rotation, tip = end_frame(model, ca.DM(drawn))
    assert page["tip"]["p"] == pytest.approx(np.array(tip).ravel(), abs=1e-9)
    assert page["tip"]["R"] == pytest.approx(np.array(ca.DM(rotation)).ravel(), abs=1e-9)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ARMS)
def test_ends_and_rigid_twins_are_where_the_whole_pose_has_them(name: str) -> None:
    model, q = bent(name)
    for scale, only in ((2.5, "ends"), (0.0, "straight")):
        whole, part = posed(model, q, scale), posed(model, q, scale, **{only: True})
        assert part["tip"]["p"] == pytest.approx(whole["tip"]["p"], abs=1e-12)
        assert part["tip"]["R"] == pytest.approx(whole["tip"]["R"], abs=1e-12)
        for link, all_of_it in zip(part["links"], whole["links"], strict=True):
            assert link["root"]["p"] == pytest.approx(all_of_it["root"]["p"], abs=1e-12)
            assert link["exposed"] == all_of_it["exposed"]
            if only == "ends":
                assert link["deflection"][-1] == pytest.approx(all_of_it["deflection"][-1], 1e-12)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["chen-two-link", "tg-rr-elements"])
def test_one_field_is_as_if_all_were_asked_for(name: str) -> None:
    model, q = bent(name)
    whole = posed(model, q)
    for field in ("deflection", "curvature", "moment", "strain"):
        part = posed(model, q, field=field)
        for link, all_of_it in zip(part["links"], whole["links"], strict=True):
            assert link["centres"] == all_of_it["centres"]
            for kept in {field, "deflection"}:
                assert link[kept] == all_of_it[kept]
                assert field == "strain" or np.any(link[kept])


def test_links_of_runs_of_before_stand_where_their_series_has_them() -> None:
    model = build(flexarm.example_arm("chen-two-link"), series=True)
    q = random_pose(model, np.random.default_rng(0))
    for link, (places, turns) in zip(posed(model, q)["links"], sections(model, q), strict=True):
        assert np.abs(np.reshape(link["centres"], (-1, 3)) - places).max() < 1e-9
        assert np.abs(np.reshape(link["turns"], (-1, 3, 3)) - turns).max() < 1e-9


def test_links_are_coloured_by_what_is_however_large_it_is_drawn() -> None:
    model, q = bent("chen-two-link")
    page = posed(model, q, 2.0)
    for part, link in zip(model.links, page["links"], strict=True):
        shapes, x = part.beam.shapes, np.linspace(0.0, part.length, STATIONS)
        a, b, da, db = (
            shapes.values(d, x, nu) @ q[part.modes] for nu in (1, 2) for d in ("y", "z")
        )
        angle = np.hypot(a, b)
        turn = (1 - np.sinc(angle / np.pi)) / np.maximum(angle, 1e-9) ** 2 * (a * db - b * da)
        curved = np.hypot(da + turn * b, db - turn * a)
        assert np.abs(np.array(link["curvature"]) - curved).max() < 1e-9 * curved.max()
        seen = [body_of(model, part).at_fraction(ca.DM(q), k) for k in np.linspace(0, 1, STATIONS)]
        moved = np.array([np.array(local.position).ravel() for local in seen])
        moved[:, 0] -= x
        assert np.abs(link["deflection"] - np.linalg.norm(moved, axis=1)).max() < 1e-9


def test_strains_are_those_of_the_axes_that_the_twist_turns() -> None:
    model, q = bent("twisted box")
    (part,), stations = model.links, np.linspace(0.0, 1.0, STATIONS)
    assert part.exact is not None
    assert np.abs(part.exact.twist @ q[part.modes]).max() > 0.1
    strain = section_forces(model, part, q[None], stations).strain[0]
    (link,) = posed(model, q)["links"]
    assert np.abs(link["strain"] - strain).max() < 1e-9 * strain.max()


def test_curvature_in_a_plane_is_the_second_derivative_of_the_shapes() -> None:
    model, q = bent("driven-link-payload")
    (part,) = model.links
    places = np.linspace(0.0, part.length, STATIONS)
    curved = np.abs(part.beam.shapes.values("y", places, 2) @ q[part.modes])
    (link,) = posed(model, q)["links"]
    assert link["curvature"] == pytest.approx(curved, rel=1e-9, abs=1e-9 * curved.max())


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ARMS)
def test_links_drawn_as_far_as_a_page_offers_keep_about_their_length(name: str) -> None:
    model, q = bent(name)
    for part in model.links:
        if part.exact is not None:
            q[part.modes] *= ~np.any(part.exact.stretch, axis=0)  # which is drawn larger too
    for link, part in zip(posed(model, q, np.pi / HARD)["links"], model.links, strict=True):
        steps = np.diff(np.reshape(link["centres"], (-1, 3)), axis=0)
        length = float(np.linalg.norm(steps, axis=1).sum())
        assert length == pytest.approx(part.length, rel=0.15)
    far = posed(model, q, 20 / HARD)
    assert all(np.all(np.isfinite([*link["centres"], *link["turns"]])) for link in far["links"])


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_a_body_of_any_shape_stands_on_its_line_and_carries_the_next(
    tmp_path: Path, scale: float
) -> None:
    model = build(arm_with(tmp_path, craig_bampton(1), craig_bampton(1)))
    q = 0.02 * np.random.default_rng(0).normal(size=model.size)
    drawn = q.copy()
    for part in model.links:
        drawn[part.modes] *= scale
    page = posed(model, q, scale)
    for link, (places, _) in zip(page["links"], sections(model, drawn), strict=True):
        assert np.abs(np.reshape(link["centres"], (-1, 3)) - places).max() < 1e-9
    rotation, tip = end_frame(model, ca.DM(drawn))
    assert page["tip"]["p"] == pytest.approx(np.array(tip).ravel(), abs=1e-9)
    assert page["tip"]["R"] == pytest.approx(np.array(ca.DM(rotation)).ravel(), abs=1e-9)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_a_link_on_a_named_frame_stands_on_the_bent_body(tmp_path: Path, scale: float) -> None:
    model = build(arm_on(tmp_path, body_with_eye()))
    q = 0.02 * np.random.default_rng(0).normal(size=model.size)
    drawn = q.copy()
    drawn[model.links[0].modes] *= scale
    page, (rotation, tip) = posed(model, q, scale), end_frame(model, ca.DM(drawn))
    assert page["tip"]["p"] == pytest.approx(np.array(tip).ravel(), abs=1e-9)
    assert page["tip"]["R"] == pytest.approx(np.array(ca.DM(rotation)).ravel(), abs=1e-9)


def test_a_live_page_opens_at_the_speed_at_which_its_motion_is_seen() -> None:
    """Vibrations of 0.3 to 4 Hz stay as they are, the others are shown at some 1.5 Hz."""
    asked = [
        [2.0, 0, 1e3],
        [40, 0, 1e3],
        [0.1, 0, 1e3],
        [0.1, 0, 3],
        [40, 100, 1e3],
        [None, 0, 1e3],
    ]
    code = f"""
import {{ seenRate }} from "{(KINEMATICS.parent / "player.js").as_uri()}";
console.log(JSON.stringify({json.dumps(asked)}.map((each) => seenRate(...each))));
"""
    command = [find_node()[0], "--input-type=module", "-e", code]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) == [1, 0.05, 10, 2, 5, 1]
