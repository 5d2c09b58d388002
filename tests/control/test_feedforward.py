"""Inputs of the rigid arm: exact for a rigid arm, and what is left for a flexible one."""

import numpy as np

import flexarm
from flexarm.control import Timing, joint_move, pd_law, rigid_feedforward, start_at
from flexarm.io.model_file import loads
from tests.control.arms import elastic_joint, two_links


def test_inputs_are_the_inverse_dynamics_of_the_arm_built_rigid() -> None:
    data = two_links(gravity=-9.81).model_dump(exclude_unset=True)
    for link in data["links"]:
        link["rigid"] = True
        del link["shapes"], link["damping"]
    rigid = flexarm.build(flexarm.Arm.model_validate(data))
    model = flexarm.build(two_links(gravity=-9.81))
    to, timing = {"joint1": 1.5, "joint2": -0.3}, Timing("quintic", 0.7)
    flexible = rigid_feedforward(joint_move(model, to, timing, sag=False))
    motion = joint_move(rigid, to, timing)
    equation = flexarm.formulation("composite", rigid)
    for t in (0.0, 0.2, 0.45, 0.9):
        expected = equation.inverse_dynamics(*(each[0] for each in motion.at(t)))
        np.testing.assert_allclose(np.array(flexible(t)).ravel(), expected, rtol=1e-9)


def test_a_motor_moves_with_its_link() -> None:
    """J_m + J_l = 2 kg m^2, and the weight."""
    model = flexarm.build(elastic_joint(gravity=-9.81))
    motion = joint_move(model, {"joint1": 1.0}, Timing("quintic", 1.0), sag=False)
    q, _, a = (each[0] for each in motion.at(0.3))
    expected = 2.0 * a[1] + 0.5 * 9.81 * np.cos(q[1])
    np.testing.assert_allclose(float(rigid_feedforward(motion)(0.3)), expected, rtol=1e-10)


def test_with_feedforward_pd_follows_closer() -> None:
    arm = two_links(gravity=-9.81, damping=0.05)
    model = flexarm.build(arm)
    motion = joint_move(model, {"joint1": 1.2}, Timing("quintic", 1.0))
    start = start_at(arm, model, motion.path.at(0.0))
    errors = []
    for options in ({}, {"gravity": "none", "feedforward": rigid_feedforward(motion)}):
        law = pd_law(motion, kp=200, kd=20, **options)  # type: ignore[arg-type]
        run = flexarm.simulate(start, t_end=1.2, control=law)
        errors.append(np.abs(run.q - motion.at(run.t)[0])[:, [0, 2]].max())
    assert errors[1] < 0.3 * errors[0]


def test_a_rigid_arm_follows_its_feedforward_alone() -> None:
    arm = loads(
        "flexarm: 1\nname: rigid\ngravity: [0, -9.81, 0]\nlinks:\n"
        "  - joint: {kind: revolute}\n    length: 1\n"
        "    body: {mass: 2, com: [0.5, 0, 0], inertia: [0, 0, 0.2]}"
    )
    model = flexarm.build(arm)
    motion = joint_move(model, {"joint1": 1.0}, Timing("cycloid", 1.0))
    law = pd_law(motion, kp=0, kd=0, gravity="none", feedforward=rigid_feedforward(motion))
    run = flexarm.simulate(arm, t_end=1.0, control=law, rtol=1e-8)
    assert np.abs(run.q[:, 0] - motion.at(run.t)[0][:, 0]).max() < 1e-6
