"""Obstacles on links, on the base and on drifting bodies: gradients, momentum, limits."""

from typing import Any

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.mechanics.kinematics import end_frame, frames, section
from flexarm.model import build
from flexarm.viewer.scene import obstacles, point_marks
from tests.viewer.test_posing import Whole

BEAM = {
    "joint": {"kind": "revolute", "axis": [0, 0.3, 1]},
    "length": 1.0,
    "section": {"mass_per_length": 1.0, "EIz": 40.0, "EIy": 60.0, "GJ": 30.0, "Jx": 1e-3},
    "shapes": {"kind": "clamped-free", "bending_y": 1, "bending_z": 1, "torsion": 1},
}
FREE = {"kind": "free", "body": {"mass": 5.0, "inertia": [1.0, 1.2, 0.8]}}
CONTACT = {"stiffness": 900.0, "exponent": 1.5, "radius": 0.2}


def arm_of(links: list[dict[str, Any]], contact: dict[str, Any], **keys: Any) -> Arm:
    data = {"flexarm": 1, "name": "riding", "gravity": [0, 0, 0], "links": links}
    return Arm.model_validate(data | {"contacts": [contact]} | keys)


@pytest.mark.parametrize("name", ["composite", "articulated"])
@pytest.mark.parametrize(
    ("on", "base"),
    [
        ({"link": "left", "at": 0.4}, FREE),
        ({"link": "left", "at": [0.4, 0.1, -0.2]}, FREE),
        ({"link": "base", "at": [0.1, 0.2, 0.3]}, FREE),
        ("tip", {"kind": "fixed", "rotation": [0.1, 0.2, 0.3]}),
    ],
)
def test_forces_are_the_gradient_of_the_energy_of_the_penetration(
    name: str, on: Any, base: dict[str, Any]
) -> None:
    point: Any = {"link": "left", "at": "tip"} if on == "tip" else "tip"
    centre, radius = np.array([0.1, -0.2, 0.3]), 1.5
    obstacle = {"kind": "sphere", "centre": centre.tolist(), "radius": radius, "on": on}
    links = [BEAM | {"name": "left"}, BEAM | {"parent": "base"}]
    arm = arm_of(links, CONTACT | {"point": point, "obstacle": obstacle}, base=base)
    model, plain = build(arm), build(flexarm.change_arm(arm, {"contacts": None}))
    q = ca.SX.sym("q", model.size)
    placed, (tip_turn, tip) = frames(model, q), end_frame(model, q)
    if on == "tip":
        turn, place = tip_turn, tip
        tip = placed[0].p_WT
    elif on["link"] == "base":
        turn, place = model_base(model, q)
        place = place + turn @ ca.DM(on["at"])
    else:
        x, *off = on["at"] if isinstance(on["at"], list) else (on["at"], 0.0, 0.0)
        here = section(model, model.links[0], q, x)
        turn = placed[0].R_WL @ here.rotation
        place = placed[0].p_WL + placed[0].R_WL @ here.position + turn @ ca.DM([0.0, *off])
    away = tip - (place + turn @ ca.DM(centre))
    depth = radius + CONTACT["radius"] - ca.sqrt(ca.sumsqr(away))
    energy = CONTACT["stiffness"] * depth**2.5 / 2.5
    reference = ca.Function("f", [q], [depth, ca.gradient(energy, q)])
    random = np.random.default_rng(1)
    scale = np.array([0.05 if "." in each and "base" not in each else 0.5 for each in model.names])
    for _ in range(3):
        x, v, a = scale * random.normal(size=(3, model.size))
        deep, gradient = reference(x)
        assert float(deep) > 0.05
        pair = [
            flexarm.formulation(name, each).inverse_dynamics(x, v, a) for each in (model, plain)
        ]
        found, expected = pair[0] - pair[1], np.array(gradient).ravel()
        np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


def model_base(model: Any, q: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Place a free base that starts at the world's origin, by its angles about x, y, z."""
    turn = ca.SX.eye(3)
    for axis in range(3):
        c, s = ca.cos(q[3 + axis]), ca.sin(q[3 + axis])
        i, j = (axis + 1) % 3, (axis + 2) % 3
        about = ca.SX.eye(3)
        about[i, i] = about[j, j] = c
        about[i, j], about[j, i] = -s, s
        turn = turn @ about
    return turn, q[:3]


def test_an_arm_that_bumps_into_its_own_deck_keeps_momentum() -> None:
    link = {"name": "boom", "joint": {"kind": "revolute", "start": {"speed": -0.8}}, **{
        key: BEAM[key] for key in ("length", "section", "shapes")}}  # fmt: skip
    deck = {"kind": "box", "centre": [0.5, -0.5, 0.0], "size": [1.0, 0.2, 1.0],
            "rotation": [0, 0, 0.1], "on": {"link": "base"}}  # fmt: skip
    contact = CONTACT | {"obstacle": deck, "radius": 0.05, "stiffness": 1e5, "damping": 0.3,
                         "friction": {"coefficient": 0.3, "smoothing": 0.01}}  # fmt: skip
    arm = arm_of([link], contact, base=FREE, payload={"mass": 1.0})
    run = flexarm.simulate(arm, t_end=1.0, errors="off", rtol=1e-8)
    force = run.contacts().normal_force.values
    assert force.max() > 1.0  # it touches
    assert run.energy_balance < 1e-6
    assert run.momentum_balance is not None
    assert run.momentum_balance < 1e-8


def test_an_obstacle_on_a_base_at_rest_is_one_in_the_world() -> None:
    base = {"kind": "fixed", "position": [0.1, 0.2, 0.3], "rotation": [0, 0, 0.5]}
    turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    spot = np.array([*([0.1, 0.2] + turn @ [0.8, -0.3]), 0.3])
    on = {"kind": "sphere", "centre": [0.8, -0.3, 0.0], "radius": 0.2, "on": {"link": "base"}}
    world = {"kind": "sphere", "centre": spot.tolist(), "radius": 0.2}
    link = BEAM | {"joint": {"kind": "revolute", "start": {"speed": -1.0}}}
    more = {"damping": 0.2, "friction": {"coefficient": 0.4, "smoothing": 0.01}}
    runs = [
        flexarm.simulate(
            arm_of([link], CONTACT | more | {"radius": 0.05, "obstacle": each}, base=base),
            t_end=0.6, errors="off", rtol=1e-9,
        )
        for each in (on, world)
    ]  # fmt: skip
    assert runs[0].contacts().normal_force.values.max() > 1.0
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-7)


def test_two_drifting_balls_bounce_as_two_masses_do() -> None:
    """A branch with three sliding joints and a spherical one is a body that drifts."""
    joints: list[dict[str, Any]] = [
        {"kind": "prismatic", "axis": axis, "actuation": "free"} for axis in np.eye(3).tolist()
    ]
    joints[0]["start"] = {"position": -1.0, "speed": 1.0}
    ball = {"mass": 2.0, "inertia": [0.1, 0.1, 0.1]}
    links: list[dict[str, Any]] = [*({"joint": joint} for joint in joints),
             {"name": "ball", "joint": {"kind": "spherical"}, "body": ball}]  # fmt: skip
    obstacle = {"kind": "sphere", "radius": 0.3, "on": {"link": "base"}}
    contact = CONTACT | {"obstacle": obstacle, "exponent": 1.0, "stiffness": 5e3}
    arm = arm_of(links, contact, base=FREE)
    run = flexarm.simulate(arm, t_end=1.5, errors="off", rtol=1e-9)
    first, second = 2.0, FREE["body"]["mass"]  # type: ignore[index]
    assert run.v[-1, 0] == pytest.approx(2 * first / (first + second), rel=1e-6)
    assert run.v[-1, 6] == pytest.approx(-1.0, rel=1e-6)  # relative to the base
    assert run.momentum_balance is not None
    assert run.momentum_balance < 1e-8


def test_an_obstacle_on_a_link_is_drawn_where_the_link_is() -> None:
    solid = {"kind": "sphere", "centre": [0.1, 0, 0], "radius": 0.2, "on": "tip"}
    contact = CONTACT | {"point": {"link": "base"}, "obstacle": solid}
    joint = {"kind": "revolute", "axis": [0, 0.3, 1],
             "input": {"kind": "constant", "value": 1.0}}  # fmt: skip
    arm = arm_of([BEAM | {"joint": joint}], contact, base=FREE)
    run = flexarm.simulate(arm, t_end=0.1, errors="off")
    arrays = Whole()
    assert obstacles(run.model) == []
    (wall,) = point_marks(run, arrays)["walls"]
    pose = np.array(wall["pose"]["values"]).reshape(12, -1)
    np.testing.assert_allclose(pose[:3].T, run.tip, atol=1e-12)
    np.testing.assert_allclose(pose[3:].T.reshape(-1, 3, 3), run.tip_rotation, atol=1e-12)


@pytest.mark.parametrize(
    ("on", "message"),
    [
        ({"world": [0, 0, 0]}, "an obstacle without 'on' is fixed in the world"),
        ({"link": "elbow"}, "there is no link 'elbow'"),
        ({"link": "left", "at": 3.0}, "beyond the link's length"),
    ],
)
def test_places_without_a_carrier_are_refused(on: dict[str, Any], message: str) -> None:
    obstacle = {"kind": "sphere", "radius": 0.2, "on": on}
    with pytest.raises(ValueError, match=message):
        arm_of([BEAM | {"name": "left"}], CONTACT | {"obstacle": obstacle})
