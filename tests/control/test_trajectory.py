"""Postures in equilibrium, and motions along them in joint and tip space."""

import numpy as np
import pytest

import flexarm
from flexarm.control import Statics, Timing, joint_move, start_at, tip_move
from flexarm.errors import FlexarmError, ModelError
from flexarm.io.model_file import loads
from flexarm.spatial import Array
from tests.control.arms import elastic_joint, one_link, two_links

CANTILEVER = """
flexarm: 1
name: cantilever
gravity: [0, -9.81, 0]
stiffening: false
links:
  - joint: {kind: revolute}
    length: 2
    section: {mass_per_length: 3, EIz: 5000}
    shapes: {kind: elements, bending_y: 2}
"""


def test_a_held_link_sags_as_a_cantilever_under_its_weight() -> None:
    model = flexarm.build(loads(CANTILEVER))
    statics = Statics(model)
    q = statics.at_joints({"joint1": 0.0})
    tip = flexarm.formulation("composite", model).tip_pose(q)[1]
    load = 3 * 9.81
    assert tip[1] == pytest.approx(-load * 2**4 / (8 * 5000), rel=1e-9)
    assert statics.effort(q)[0] == pytest.approx(load * 2**2 / 2, rel=1e-9)


def test_a_transmission_winds_up_by_torque_over_stiffness() -> None:
    model = flexarm.build(elastic_joint(gravity=-9.81))
    q = Statics(model).at_joints({"joint1": 0.3})
    torque = 0.5 * 9.81 * np.cos(0.3)
    np.testing.assert_allclose(q, [0.3 + torque / 100, 0.3], rtol=1e-10)


def test_a_motion_in_joint_space_is_in_equilibrium_all_along() -> None:
    model = flexarm.build(two_links(gravity=-9.81))
    path = joint_move(model, {"joint1": 1.2, "joint2": -0.5}, Timing("quintic", 1.0)).path
    equation = flexarm.formulation("composite", model)
    still = np.zeros(model.size)
    for s in np.linspace(0, 1, 7):
        force = equation.inverse_dynamics(path.at(s), still, still)
        amplitudes = [i for i, name in enumerate(model.names) if "link" in name]
        assert np.abs(force[amplitudes]).max() < 1e-8 * np.abs(force).max()
        joints = [path.at(s)[model.names.index(name)] for name in ("joint1", "joint2")]
        np.testing.assert_allclose(joints, [0.4 + 0.8 * s, 0.8 - 1.3 * s], atol=1e-9)


@pytest.mark.few(1)
@pytest.mark.parametrize("sag", [True, False])
def test_the_tip_goes_straight_when_the_arm_is_as_it_was_taken_to_be(sag: bool) -> None:
    """With sag the bent arm's tip is on the line; without, the straight arm's."""
    model = flexarm.build(two_links(gravity=-9.81))
    moved = tip_move(model, (0.7, 0.6), Timing("cycloid", 1.0), axes="xy", sag=sag)
    equation = flexarm.formulation("articulated", model)
    begin = equation.tip_pose(moved.path.at(0.0))[1]
    for s in np.linspace(0, 1, 9):
        q = moved.path.at(s)
        expected = (1 - s) * begin[:2] + s * np.array([0.7, 0.6])
        np.testing.assert_allclose(equation.tip_pose(q)[1][:2], expected, atol=1e-9)
        assert bool(np.any(q[[1, 3]] != 0)) == sag


def test_without_the_correction_the_tip_sags_by_millimetres() -> None:
    model = flexarm.build(two_links(gravity=-9.81))
    straight = tip_move(model, (0.7, 0.6), Timing("cycloid", 1.0), axes="xy", sag=False)
    joints = dict(zip(("joint1", "joint2"), straight.path.at(1.0)[[0, 2]].tolist(), strict=True))
    bent = Statics(model).at_joints(joints)
    tip = flexarm.formulation("articulated", model).tip_pose(bent)[1]
    assert 0.005 < 0.6 - tip[1] < 0.1


def test_the_tip_follows_a_circle() -> None:
    model = flexarm.build(two_links())
    centre = np.array([0.7, 0.4])

    def circle(s: float) -> Array:
        return centre + 0.1 * np.array([np.cos(2 * np.pi * s), np.sin(2 * np.pi * s)])

    moved = tip_move(model, circle, Timing("quintic", 2.0), axes="xy")
    radii = np.linalg.norm(moved.tip(np.linspace(0, 2, 40))[:, :2] - centre, axis=1)
    np.testing.assert_allclose(radii, 0.1, atol=1e-9)


def test_rates_and_accelerations_are_derivatives_of_the_motion() -> None:
    model = flexarm.build(two_links(gravity=-9.81))
    moved = tip_move(model, (0.7, 0.6), Timing("cycloid", 1.0), axes="xy")
    times, step = np.linspace(0.1, 0.9, 9), 1e-4
    (q1, v1, _), (q0, v0, _) = moved.at(times + step), moved.at(times - step)
    _, v, a = moved.at(times)
    np.testing.assert_allclose((q1 - q0) / (2 * step), v, atol=1e-6)
    np.testing.assert_allclose((v1 - v0) / (2 * step), a, atol=1e-5)


def test_an_arm_that_starts_in_equilibrium_and_is_held_stays() -> None:
    arm = two_links(gravity=-9.81)
    model = flexarm.build(arm)
    statics = Statics(model)
    q = statics.at_joints({"joint1": 0.1, "joint2": 0.5})
    held = dict(zip(("joint1", "joint2"), statics.effort(q).tolist(), strict=True))
    run = flexarm.simulate(start_at(arm, model, q), t_end=0.2, inputs=held, rtol=1e-6)
    assert np.abs(run.q - q).max() < 1e-9


@pytest.mark.parametrize(
    ("to", "axes", "said"),
    [
        ((3.0, 0.0), "xy", "The point may be out of reach"),
        ((np.nan, 0.0), "xy", "point: must be finite numbers"),
        ((0.3, 0.3, 0.3), "xy", "must be 2 finite numbers, got shape"),
    ],
)
def test_a_point_that_cannot_be_reached_is_refused(
    to: tuple[float, ...], axes: str, said: str
) -> None:
    with pytest.raises(FlexarmError, match=said):
        Statics(flexarm.build(two_links())).at_tip(np.array(to), axes)


def test_an_unknown_joint_is_named() -> None:
    with pytest.raises(
        FlexarmError, match=r"no driven joint 'elbow'. The driven joints are joint1"
    ):
        joint_move(flexarm.build(one_link()), {"elbow": 1.0}, Timing("cycloid", 1.0))


def test_an_arm_with_prescribed_joints_has_nothing_to_control() -> None:
    model = flexarm.build(flexarm.example_arm("spin-up-beam"))
    with pytest.raises(ModelError, match="no driven joint"):
        joint_move(model, {}, Timing("cycloid", 1.0))
