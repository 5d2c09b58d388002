"""PD control of joints: where it settles under gravity, and on which side of a spring."""

import numpy as np
import pytest

import flexarm
from flexarm.control import (
    Timing,
    closed_loop_eigenvalues,
    decoupling_law,
    joint_move,
    pd_law,
    start_at,
    tip_move,
)
from flexarm.control.laws.pd import Gravity
from flexarm.control.statics import Side
from flexarm.errors import FlexarmError
from flexarm.io.model_file import loads
from tests.control.arms import elastic_joint, two_links


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("gravity", "least", "most"), [("posture", 0.0, 1e-4), ("none", 2e-3, 0.2)]
)
def test_the_tip_settles_where_it_was_sent_only_with_compensation(
    gravity: Gravity, least: float, most: float
) -> None:
    arm = two_links(gravity=-9.81, damping=0.05)
    model = flexarm.build(arm)
    reference = tip_move(model, (0.7, 0.6), Timing("quintic", 0.8), axes="xy")
    law = pd_law(reference, kp=300, kd=30, gravity=gravity)
    start = start_at(arm, model, reference.path.at(0.0))
    run = flexarm.simulate(start, t_end=4.0, control=law)
    assert run.status == "finished"
    assert least <= np.linalg.norm(run.tip[-1, :2] - [0.7, 0.6]) <= most


def test_gravity_at_the_state_is_what_a_rigid_arm_needs_there() -> None:
    model = flexarm.build(two_links(gravity=-9.81))
    reference = joint_move(model, {}, Timing("quintic", 1.0), sag=False)
    law = pd_law(reference, kp=0.0, kd=0.0, gravity="state")
    q = np.array([0.3, 0.01, -0.7, 0.02])
    expected = flexarm.formulation("composite", model).gravity(q)[[0, 2]]
    np.testing.assert_allclose(np.array(law(0.0, q, 0 * q)).ravel(), expected, rtol=1e-12)


@pytest.mark.parametrize("stiffness", [5.0, 50.0])
def test_eigenvalues_of_an_elastic_joint_are_those_of_two_inertias_and_a_spring(
    stiffness: float,
) -> None:
    """J_m = J_l = 1, k = 100; measured on the link's side there is no cubic term, so it grows."""
    arm = elastic_joint()
    model = flexarm.build(arm)
    reference = joint_move(model, {}, Timing("quintic", 1.0))
    polynomials: dict[Side, list[float]] = {
        "motor": [1, 4, 200 + stiffness, 400, 100 * stiffness],
        "link": [1, 0, 200, 400, 100 * stiffness],
    }
    for side, polynomial in polynomials.items():
        law = pd_law(reference, side=side, kp=stiffness, kd=4.0)
        run = flexarm.simulate(arm, t_end=0.1, dt=0.1, control=law)
        found = np.sort_complex(closed_loop_eigenvalues(law, run)[0])
        np.testing.assert_allclose(found, np.sort_complex(np.roots(polynomial)), atol=1e-8)
        assert (found.real.max() < 0) == (side == "motor")


def test_with_an_elastic_joint_the_link_settles_where_it_was_sent() -> None:
    """The motor's reference is ahead of the link's by what gravity winds the spring up."""
    arm = elastic_joint(gravity=-9.81)
    model = flexarm.build(arm)
    reference = joint_move(model, {"joint1": 0.5}, Timing("quintic", 1.0))
    law = pd_law(reference, kp=100, kd=20)
    start = start_at(arm, model, reference.path.at(0.0))
    run = flexarm.simulate(start, t_end=6.0, control=law)
    assert run.q[-1, 1] == pytest.approx(0.5, abs=1e-4)
    assert run.q[-1, 0] - run.q[-1, 1] == pytest.approx(0.5 * 9.81 * np.cos(0.5) / 100, abs=1e-4)


@pytest.mark.parametrize("on_motor", ["true", "false"])
def test_gains_are_at_the_joint_on_whichever_side_of_the_gear_inputs_are(on_motor: str) -> None:
    """J = 1 + 50^2 0.001 = 3.5 kg m^2 with the rotor."""
    arm = loads(
        "flexarm: 1\nname: geared\ngravity: [0, 0, 0]\nlinks:\n"
        "  - joint:\n"
        "      kind: revolute\n"
        f"      drive: {{rotor_inertia: 0.001, gear_ratio: 50, motor_torque: {on_motor}}}\n"
        "    length: 1\n"
        "    body: {mass: 0.5, com: [1, 0, 0], inertia: [0, 0, 0.5]}"
    )
    reference = joint_move(flexarm.build(arm), {}, Timing("quintic", 1.0))
    pd = pd_law(reference, kp=70, kd=7)
    run = flexarm.simulate(arm, t_end=0.1, dt=0.1, control=pd)
    found = np.sort_complex(closed_loop_eigenvalues(pd, run)[0])
    np.testing.assert_allclose(found, np.sort_complex(np.roots([3.5, 7, 70])), rtol=1e-9)
    decoupled = decoupling_law(reference, kp=70, kd=7)
    found = np.sort_complex(closed_loop_eigenvalues(decoupled, run)[0])
    np.testing.assert_allclose(found, np.sort_complex(np.roots([1, 7, 70])), rtol=1e-9)


def test_an_unknown_compensation_or_side_is_refused() -> None:
    reference = joint_move(flexarm.build(two_links()), {}, Timing("quintic", 1.0))
    with pytest.raises(FlexarmError, match="gravity: must be one of posture, state, none"):
        pd_law(reference, kp=1, kd=1, gravity="all")  # type: ignore[arg-type]
    with pytest.raises(FlexarmError, match="side: must be one of motor, link"):
        pd_law(reference, kp=1, kd=1, side="gear")  # type: ignore[arg-type]
