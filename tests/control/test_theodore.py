"""The RRP arm of Theodore & Ghosal 1995 under its control law, in modes."""

import numpy as np
import pytest

import flexarm
from flexarm.control import (
    Timing,
    closed_loop_eigenvalues,
    decoupling_law,
    joint_move,
    lqr,
    stiffness_error_along,
)

GOALS = {"joint1": np.pi, "joint2": np.pi / 2, "joint3": 1.0}


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["theodore-rrp", "theodore-rrp-elements"])
def test_joints_follow_and_the_second_loop_brings_the_tip_to_rest(name: str) -> None:
    """Gains and weights are chosen here: the paper gives none."""
    arm = flexarm.example_arm(name)
    model = flexarm.build(arm)
    motion = joint_move(model, GOALS, Timing("cycloid", 0.5))
    law = decoupling_law(motion, kp=400, kd=40, regulator=lqr(motion, bandwidth=40))
    run = flexarm.simulate(arm, t_end=1.0, control=law, rtol=1e-5)
    assert run.status == "finished"
    joints = [model.names.index(name) for name in GOALS]
    moving = run.t <= 0.5
    errors = np.abs(run.q - motion.at(run.t)[0])[:, joints]
    assert errors[moving].max() < 1e-6
    tip = np.linalg.norm(run.tip - motion.tip(run.t), axis=1)
    assert tip[moving].max() == pytest.approx(0.022, abs=5e-4)  # as with prescribed joints
    assert tip[run.t > 0.8].max() < 1e-4  # printed: within 0.1 mm
    values = closed_loop_eigenvalues(law, run, every=100)
    for row in values[run.t[::100] > 0.5]:
        assert row.real.max() < -0.05
    # Link 3 grows from 0.3 m to 1 m: its vibrations slow down, those of link 2 do not.
    first = [np.sort(row.imag[row.imag > 50])[:2] for row in values[:5]]
    assert np.ptp(first, axis=0).max() < 0.2 * np.max(first)


@pytest.mark.campaign
@pytest.mark.parametrize(("method", "most"), [("auto", 1e-6), ("dop853", 1e-9), ("rodas4", 1e-7)])
def test_joints_are_decoupled_at_the_default_tolerance(method: str, most: float) -> None:
    """Runge-Kutta methods keep linear relations: a joint is computed by its own equation alone."""
    arm = flexarm.example_arm("theodore-rrp")
    model = flexarm.build(arm)
    motion = joint_move(model, GOALS, Timing("cycloid", 0.5))
    law = decoupling_law(motion, kp=400, kd=40)
    run = flexarm.simulate(arm, t_end=0.5, control=law, method=method)
    joints = [model.names.index(name) for name in GOALS]
    assert np.abs(run.q - motion.at(run.t)[0])[:, joints].max() < most


@pytest.mark.campaign
def test_every_overestimate_of_its_stiffness_destabilises_the_undamped_arm() -> None:
    model = flexarm.build(flexarm.example_arm("theodore-rrp"))
    motion = joint_move(model, GOALS, Timing("cycloid", 0.5))
    found = stiffness_error_along(
        motion, kp=400, kd=40, stiffness_error=0.01, points=3, allowed=0.1
    )
    assert np.all((found.bound > 0.14) & (found.bound < 0.23))
    assert np.all((found.growth > 0.4) & (found.growth < 0.8))
    assert np.all(found.largest < 0.01)
