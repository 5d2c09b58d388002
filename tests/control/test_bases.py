"""Laws and motions of arms on free and moved bases, by momentum and closed forms."""

from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.control import (
    Gauge,
    Timing,
    base_reaction,
    closed_loop_eigenvalues,
    decoupling_law,
    joint_move,
    link_decoupling_law,
    lqr,
    measured_law,
    pd_law,
    reaction_free_move,
    rigid_feedforward,
    sensors,
    start_at,
    tip_move,
)
from flexarm.control.statics import drives
from flexarm.errors import FlexarmError, ModelError
from flexarm.io.model_file import loads
from flexarm.model import start_state
from flexarm.runs.run import Run
from flexarm.spatial import Array

FREE = "base: {kind: free, body: {mass: 30, inertia: [3, 4, 5]}}"
HEAVY = "base: {kind: free, body: {mass: 300, inertia: [50, 60, 60]}}"
TIMING = Timing("septic", 1.0)


def floating(joints: int, *, base: str = FREE, axes: str = "zzz", gravity: float = 0.0) -> Arm:
    """Make a rigid arm of bent posture."""
    turned = {"z": "", "y": ", axis: [0, 1, 0]"}
    lines = [f"flexarm: 1\nname: floating\ngravity: [0, {gravity}, 0]\n{base}\nlinks:"]
    for k in range(joints):
        high = 0.0 if axes == "zzz" else 0.2
        before = f", before: {{position: [0.3, 0.1, {high}]}}" if k == 0 else ""
        lines.append(
            f"  - joint: {{kind: revolute, start: {{position: {0.5 + 0.4 * k}}}"
            f"{before}{turned[axes[k]]}}}\n"
            "    length: 0.8\n"
            "    body: {mass: 4, com: [0.4, 0, 0], inertia: [0.05, 0.3, 0.3]}"
        )
    return loads("\n".join([*lines, "payload: {mass: 2}"]))


def flexible(base: str = FREE, *, joint: str = "") -> Arm:
    """Make one flexible link, after a rigid one."""
    return loads(
        f"flexarm: 1\nname: flexible\ngravity: [0, -9.81, 0]\n{base}\nlinks:\n"
        f"  - joint: {{kind: revolute{joint}, before: {{position: [0.2, 0, 0]}}}}\n"
        "    length: 0.5\n"
        "    body: {mass: 2, com: [0.2, 0, 0], inertia: [0, 0.1, 0.1]}\n"
        f"  - joint: {{kind: revolute, axis: [0, 1, 0]{joint}}}\n"
        "    length: 1\n"
        "    damping: 0.01\n"
        "    section: {mass_per_length: 1, EIy: 60, EIz: 60}\n"
        "    shapes: {kind: clamped-free, bending_y: 1, bending_z: 1}"
    )


def off(run: Run, wanted: Array, names: tuple[str, ...]) -> float:
    """Tell how far coordinates get from what was wanted."""
    chosen = [run.model.names.index(name) for name in names]
    assert run.status == "finished", run.reason
    return float(np.abs(run.q - wanted)[:, chosen].max())


@pytest.mark.campaign
def test_a_base_turns_by_the_ratio_of_inertias_that_momentum_leaves() -> None:
    """A joint in the base's centre: two bodies about their common centre."""
    arm = loads(
        "flexarm: 1\nname: wheel\ngravity: [0, 0, 0]\n"
        "base: {kind: free, body: {mass: 3, inertia: [1, 1, 2]}}\nlinks:\n"
        "  - joint: {kind: revolute}\n    length: 1\n"
        "    body: {mass: 1.5, com: [0.7, 0, 0], inertia: [0, 0.2, 0.2]}"
    )
    model = flexarm.build(arm)
    motion = joint_move(model, {"joint1": 2.0}, TIMING)
    arm_felt = 0.2 + 3 * 1.5 / 4.5 * 0.7**2
    turned = -2.0 * arm_felt / (2 + arm_felt)
    assert motion.path.at(1.0)[5] == pytest.approx(turned, rel=1e-9)
    law = decoupling_law(motion, kp=100, kd=20)
    run = flexarm.simulate(arm, t_end=1.0, control=law, rtol=1e-9)
    found, planned = base_reaction(run), base_reaction(motion)
    assert found.angle[-1] == pytest.approx(abs(turned), rel=1e-7)
    assert planned.angle[-1] == pytest.approx(abs(turned), rel=1e-9)
    np.testing.assert_allclose(found.base + found.arm, 0.0, atol=1e-8)


@pytest.mark.parametrize(
    ("arm", "axes", "by"),
    [
        (floating(2), "xy", (0.3, -0.1)),
        pytest.param(
            floating(3, base=HEAVY, axes="zyy"), "xyz", (0.2, -0.2, 0.3), marks=pytest.mark.campaign
        ),
        pytest.param(floating(3), "xy", (0.2, 0.3), marks=pytest.mark.campaign),
    ],
    ids=["plane", "space", "redundant"],
)
def test_a_tip_on_a_free_base_goes_straight_in_the_world(
    arm: Arm, axes: str, by: tuple[float, ...]
) -> None:
    model = flexarm.build(arm)
    chosen = ["xyz".index(axis) for axis in axes]
    to = flexarm.formulation("composite", model).tip_pose(start_state(model)[0])[1][chosen] + by
    motion = tip_move(model, to, TIMING, axes=axes)
    law = decoupling_law(motion, kp=100, kd=20)
    run = flexarm.simulate(arm, t_end=1.2, control=law, rtol=1e-9)
    assert run.status == "finished", run.reason
    progress = np.array([float(TIMING.trace(t)[0]) for t in run.t])[:, None]
    first = run.tip[0]
    wanted = (1 - progress) * first[chosen] + progress * to
    assert np.abs(run.tip[:, chosen] - wanted).max() < 1e-8
    assert np.linalg.norm(run.tip[-1] - first) > 0.2
    momenta = run.momenta()
    assert float(abs(momenta.linear_momentum).max()) < 1e-7
    assert float(abs(momenta.angular_momentum_about_centre).max()) < 1e-7
    assert base_reaction(run).angle.max() > 0.005


def test_with_the_jacobian_of_a_fixed_base_the_tip_would_miss() -> None:
    """The same joints on a wall: what the generalised Jacobian is for."""
    arm = floating(2)
    fixed = flexarm.build(flexarm.change_arm(arm, {"base": {"kind": "fixed"}}))
    rigid = tip_move(fixed, (1.0, 0.9), TIMING, axes="xy").path.at(1.0)
    moved = tip_move(flexarm.build(arm), (1.0, 0.9), TIMING, axes="xy").path.at(1.0)
    assert np.abs(moved[6:] - rigid).max() > 0.05


@pytest.mark.campaign
def test_a_reaction_free_path_does_not_turn_the_base() -> None:
    arm = floating(3)
    model = flexarm.build(arm)
    motion = reaction_free_move(model, {"joint1": 1.5, "joint3": -1.0}, TIMING)
    law = decoupling_law(motion, kp=100, kd=20)
    run = flexarm.simulate(arm, t_end=1.2, control=law, rtol=1e-11, method="dop853")
    assert np.abs(run.q[-1, 6:] - run.q[0, 6:]).max() > 0.3
    assert base_reaction(run).angle.max() < 1e-8
    plain = joint_move(model, {"joint1": 1.5, "joint3": -1.0}, TIMING)
    assert base_reaction(plain).angle.max() > 0.02


@pytest.mark.parametrize(
    ("arm", "to", "said"),
    [
        (floating(1), {"joint1": 1.0}, "every motion of joint1 turns the base"),
        (floating(3, axes="zyy"), {"joint1": 1.0}, "every motion of joint1, joint2, joint3"),
    ],
)
def test_where_there_is_no_reaction_free_path_it_is_said(
    arm: Arm, to: dict[str, float], said: str
) -> None:
    with pytest.raises(
        FlexarmError, match=f"no path without reaction on the base exists, since {said}"
    ):
        reaction_free_move(flexarm.build(arm), to, TIMING)


def test_in_orbit_momentum_is_not_taken_for_kept() -> None:
    arm = flexarm.change_arm(floating(3), {"base.orbit": {"rate": 1e-3}, "gravity": [0, 0, 0]})
    with pytest.raises(FlexarmError, match="the base is in orbit"):
        reaction_free_move(flexarm.build(arm), {"joint1": 1.0}, TIMING)


@pytest.mark.few(1)
@pytest.mark.parametrize("seen", [False, True])
def test_decoupled_joints_follow_on_a_free_base_whatever_the_links_do(seen: bool) -> None:
    arm = flexible()
    model = flexarm.build(arm)
    motion = joint_move(model, {"joint1": 1.5, "joint2": -1.0}, TIMING)
    law = decoupling_law(motion, kp=100, kd=20)
    if seen:
        law = measured_law(
            law, sensors(model, [Gauge("link2", 0.0), Gauge("link2", 0.0, axis="z")])
        )
    run = flexarm.simulate(arm, t_end=1.5, control=law, rtol=1e-7, method="dop853")
    assert off(run, motion.at(run.t)[0], ("joint1", "joint2")) < 1e-8
    assert np.abs(run.q[:, -2:]).max() > 1e-3  # links bend
    about = run.momenta().angular_momentum_about_centre
    assert float(abs(about).max()) < 1e-6


def test_a_law_keeps_to_its_motion_where_the_base_turns_right_over() -> None:
    """Angles of the base are counted anew; what it carries does not feel where it is."""
    arm = flexarm.change_arm(flexible(), {"base.spin": [0.1, 1.5, 0.2]})
    model = flexarm.build(arm)
    with pytest.raises(ModelError, match="the base moves at the start"):
        joint_move(model, {"joint1": 1.0}, TIMING)
    motion = joint_move(flexarm.build(flexible()), {"joint1": 1.0}, TIMING)
    law = decoupling_law(motion, kp=100, kd=20)
    run = flexarm.simulate(arm, t_end=2.0, control=law, rtol=1e-7, method="dop853")
    assert np.abs(run.reference_attitudes[-1] - run.reference_attitudes[0]).max() > 0.5
    assert off(run, motion.at(run.t)[0], ("joint1", "joint2")) < 1e-7


@pytest.mark.campaign
def test_feedforward_alone_moves_a_rigid_arm_on_a_free_base() -> None:
    arm = floating(3)
    motion = joint_move(flexarm.build(arm), {"joint1": 1.0, "joint2": -0.8}, TIMING)
    feed = rigid_feedforward(motion)
    law = pd_law(motion, kp=0, kd=0, feedforward=feed)
    run = flexarm.simulate(arm, t_end=1.0, control=law, rtol=1e-10)
    assert off(run, motion.at(run.t)[0], run.model.names) < 1e-7


@pytest.mark.campaign
def test_a_regulator_on_a_free_base_damps_all_but_the_momentum() -> None:
    arm = flexible()
    motion = joint_move(flexarm.build(arm), {"joint1": 0.5}, Timing("septic", 0.5))
    regulator = lqr(motion, bandwidth=10)
    assert regulator.residuals().max() < 1e-9
    assert not np.any(regulator.gains[..., :6])
    law = decoupling_law(motion, kp=100, kd=20, regulator=regulator)
    run = flexarm.simulate(arm, t_end=3.0, control=law)
    values = closed_loop_eigenvalues(law, run, every=len(run.t) - 1)[-1]
    order = np.argsort(np.abs(values))
    assert np.abs(values[order[:12]]).max() < 1e-3
    assert values[order[12:]].real.max() < -0.5
    assert off(run, motion.at(run.t)[0], ("joint1",)) < 0.05


MOVED = (
    "base: {kind: moved, motion: {x: {kind: sine, amplitude: 0.1, frequency: 0.7},"
    " rz: {kind: cycloid, start: 0, end: 1.0, duration: 1.2}}}"
)


@pytest.mark.campaign
def test_errors_of_joints_on_a_moved_base_are_those_of_an_oscillator() -> None:
    arm = flexible(MOVED)
    model = flexarm.build(arm)
    motion = joint_move(model, {"joint1": 0.8}, TIMING)
    law = decoupling_law(motion, kp=100, kd=20)
    q = motion.path.at(0.0)
    q[model.names.index("joint1")] += 0.02
    run = flexarm.simulate(
        start_at(arm, model, q), t_end=1.5, control=law, rtol=1e-8, method="dop853"
    )
    wanted = motion.at(run.t)[0]
    np.testing.assert_allclose(wanted[:, :6], run.q[:, :6], atol=1e-12)
    # e'' + 20 e' + 100 e = 0 from rest, where the base's speed leaves the joints at rest.
    error = 0.02 * (1 + 10 * run.t) * np.exp(-10 * run.t)
    wanted[:, model.names.index("joint1")] += error
    assert off(run, wanted, ("joint1", "joint2")) < 1e-7


SWAYED = (
    "base: {kind: moved, motion: {x: {kind: sine, amplitude: 0.1, frequency: 0.7},"
    " rz: {kind: sine, amplitude: 0.5, frequency: 0.5}}}"
)


@pytest.mark.few(1)
@pytest.mark.parametrize("base", [FREE, SWAYED], ids=["free", "moved"])
def test_elastic_joints_follow_on_the_link_side(base: str) -> None:
    arm = loads(
        f"flexarm: 1\nname: elastic\ngravity: [0, -9.81, 0]\n{base}\nlinks:\n"
        "  - joint: {kind: revolute, drive: {rotor_inertia: 0.4, stiffness: 300, rotor: simple}}\n"
        "    length: 1\n"
        "    body: {mass: 2, com: [0.5, 0, 0], inertia: [0, 0.3, 0.3]}"
    )
    model = flexarm.build(arm)
    motion = joint_move(model, {"joint1": 0.8}, Timing("septic", 1.0), sag=False)
    law = link_decoupling_law(motion, poles=[-10, -11, -12, -13])
    start = start_at(arm, model, motion.path.at(0.0))
    run = flexarm.simulate(start, t_end=1.5, control=law, rtol=1e-9, method="dop853")
    assert run.status == "finished", run.reason
    late = run.t > (0 if base == FREE else 1.4)
    wanted = motion.at(run.t)[0]
    joint = model.names.index("joint1")
    # The swaying base's first push is an error that dies out as the poles say.
    assert np.abs(run.q - wanted)[late, joint].max() < (1e-6 if base == FREE else 1e-4)


def test_a_regulator_of_another_arm_of_the_same_size_is_refused() -> None:
    arm = floating(2)
    motion = joint_move(flexarm.build(arm), {"joint1": 0.5}, TIMING)
    heavier = flexarm.build(flexarm.change_arm(arm, {"payload.mass": 3.0}))
    other = lqr(joint_move(heavier, {"joint1": 0.5}, TIMING))
    with pytest.raises(FlexarmError, match="regulator: must be made for the arm of the trajectory"):
        decoupling_law(motion, kp=1, kd=1, regulator=other)
    elsewhere = flexarm.build(flexarm.change_arm(arm, {"links.1.joint.start.position": 0.1}))
    same = lqr(joint_move(elsewhere, {"joint1": 0.5}, TIMING))
    decoupling_law(motion, kp=1, kd=1, regulator=same)


def with_a_wall(arm: Arm, x: float) -> Arm:
    wall = {"kind": "plane", "point": [x, 0, 0], "normal": [-1, 0, 0]}
    return flexarm.change_arm(arm, {"contacts": [{"obstacle": wall, "stiffness": 1e6}]})


def test_a_law_on_a_free_base_is_that_of_the_arm_without_contacts() -> None:
    found = []
    for arm in (floating(2), with_a_wall(floating(2), 50.0)):
        model = flexarm.build(arm)
        law = decoupling_law(joint_move(model, {"joint1": 0.2}, TIMING), kp=16, kd=6)
        found.append(np.array(law(0.3, np.full(8, 0.1), np.full(8, 0.05))))
    assert np.array_equal(found[0], found[1])
    with pytest.raises(ModelError, match="such as joint_move, leave them out"):
        drives(model)


@pytest.mark.campaign
def test_a_wall_disturbs_a_law_on_a_free_base() -> None:
    """Far away it changes nothing; on its way the tip stays before it."""
    arm = with_a_wall(floating(2), 50.0)
    law = decoupling_law(joint_move(flexarm.build(arm), {"joint1": 0.2}, TIMING), kp=16, kd=6)
    options: dict[str, Any] = {"t_end": 1.2, "dt": 0.1, "rtol": 1e-8, "control": law}
    free, far = (flexarm.simulate(each, **options) for each in (floating(2), arm))
    assert np.abs(free.q - far.q).max() < 1e-7
    at = 0.5 * float(free.tip[0, 0] + free.tip[:, 0].max())
    run = flexarm.simulate(with_a_wall(arm, at), **options)
    assert free.tip[:, 0].max() > at + 0.01
    assert run.tip[:, 0].max() < at + 0.01
    assert run.contacts().normal_force.values.max() > 0.1
