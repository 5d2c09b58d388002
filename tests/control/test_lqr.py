"""The optimal second loop: its Riccati equation, its cost, its gains along a path, its effect."""

import numpy as np
import pytest
import scipy.linalg

import flexarm
from flexarm.control import Timing, Weights, decoupling_law, joint_move, lqr, start_at
from flexarm.errors import FlexarmError
from flexarm.spatial import Array
from tests.control.arms import one_link, two_links

TIMING = Timing("cycloid", 0.3)


def test_what_gains_are_found_for_is_the_derivative_of_the_decoupled_arm() -> None:
    """By differences of the arm's accelerations under the law, its outer gains 0."""
    model = flexarm.build(two_links(gravity=-9.81, damping=0.02))
    equation = flexarm.formulation("composite", model)
    motion = joint_move(model, {}, TIMING)
    law, q = decoupling_law(motion, kp=0.0, kd=0.0), motion.path.at(1.0)
    (found,) = lqr(motion).models

    def accelerations(x: Array) -> Array:
        u = np.array(law(0.0, x[:4], x[4:])).ravel()
        return equation.forward_dynamics(x[:4], x[4:], u)

    x, step = np.concatenate([q, np.zeros(4)]), 1e-6
    for k, way in enumerate(np.eye(8)):
        change = accelerations(x + step * way) - accelerations(x - step * way)
        np.testing.assert_allclose(found.A[4:, k], change / (2 * step), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(found.B[[4, 6]], np.eye(2), atol=1e-9)


@pytest.mark.parametrize("gravity", [0.0, -9.81])
def test_gains_solve_the_riccati_equation_and_stabilise(gravity: float) -> None:
    model = flexarm.build(two_links(gravity=gravity))
    found = lqr(joint_move(model, {"joint1": 1.0}, TIMING), bandwidth=15.0, points=3)
    assert found.residuals().max() < 1e-10
    for linear, gain in zip(found.models, found.gains, strict=True):
        assert np.linalg.eigvals(linear.A - linear.B @ gain).real.max() < -0.5


def test_the_cost_is_the_integral_that_it_minimises() -> None:
    """x_0^T P x_0 against the integral along the closed loop, and against other gains."""
    model = flexarm.build(two_links())
    found = lqr(joint_move(model, {"joint1": 1.0}, TIMING), bandwidth=15.0)
    linear, weights = found.models[0], found.weights[0]
    start = np.array([0.1, 0.01, -0.1, 0.01, 0, 0, 0, 0])

    def spent(gain: Array) -> float:
        loop = linear.A - linear.B @ gain
        rate = weights.state + gain.T @ weights.input @ gain
        return float(start @ scipy.linalg.solve_continuous_lyapunov(loop.T, -rate) @ start)

    best = float(start @ found.costs[0] @ start)
    assert spent(found.gains[0]) == pytest.approx(best, rel=1e-8)
    for factor in (0.8, 1.25):
        assert spent(factor * found.gains[0]) > best * 1.001


def test_scheduled_gains_are_the_optimal_ones_between_their_points_too() -> None:
    model = flexarm.build(two_links())
    motion = joint_move(model, {"joint1": 1.0, "joint2": 2.0}, TIMING)
    found = lqr(motion, bandwidth=15.0, points=9)
    for s in (0.23, 0.61):
        part = Timing("cycloid", TIMING.duration)
        to = {"joint1": 0.4 + 0.6 * s, "joint2": 0.8 + 1.2 * s}
        direct = lqr(joint_move(model, to, part), bandwidth=15.0).gains[0]
        np.testing.assert_allclose(found.at(s), direct, atol=1e-4 * np.abs(direct).max())


def test_after_the_switch_the_vibration_dies_and_without_it_it_does_not() -> None:
    arm = two_links()
    model = flexarm.build(arm)
    motion = joint_move(model, {"joint1": 1.0, "joint2": 0.2}, TIMING)
    left = {}
    for name, regulator in (("first", None), ("second", lqr(motion, bandwidth=15.0))):
        law = decoupling_law(motion, kp=100, kd=20, regulator=regulator)
        run = flexarm.simulate(arm, t_end=2.5, control=law, rtol=1e-4)
        at_switch = run.energy[np.searchsorted(run.t, TIMING.end)].sum()
        left[name] = run.energy[-1].sum() / at_switch
    assert left["first"] == pytest.approx(1.0, abs=0.02)
    assert left["second"] < 1e-3


def test_scheduled_along_the_path_vibration_is_less_at_its_end() -> None:
    arm = two_links(gravity=-9.81)
    model = flexarm.build(arm)
    motion = joint_move(model, {"joint1": 1.0, "joint2": 0.2}, TIMING)
    start = start_at(arm, model, motion.path.at(0.0))
    energies = []
    for switch in (None, 0.0):
        law = decoupling_law(motion, kp=100, kd=20, regulator=lqr(motion, points=5), switch=switch)
        run = flexarm.simulate(start, t_end=0.3, control=law, rtol=1e-4)
        energies.append(run.energy[-1, 0])
    assert energies[1] < 0.5 * energies[0]


def test_weights_of_ones_own_are_used() -> None:
    model = flexarm.build(one_link())
    weights = Weights(np.diag([100.0, 1.0, 1.0, 1.0]), np.eye(1))
    found = lqr(joint_move(model, {}, TIMING), weights=weights)
    assert np.array_equal(found.weights[0].state, weights.state)
    assert found.residuals()[0] < 1e-10


def test_a_vibration_that_joints_cannot_reach_is_refused() -> None:
    """Bending across the plane in which the only joint turns."""
    arm = one_link().model_dump(exclude_unset=True)
    arm["links"][0]["section"]["EIy"] = 10.0
    arm["links"][0]["shapes"]["bending_z"] = 1
    model = flexarm.build(flexarm.Arm.model_validate(arm))
    with pytest.raises(FlexarmError, match="may be uncontrollable from the joints"):
        lqr(joint_move(model, {}, TIMING))


@pytest.mark.parametrize(("option", "value"), [("bandwidth", 0.0), ("points", 0)])
def test_options_that_are_none_are_refused(option: str, value: float) -> None:
    with pytest.raises(FlexarmError, match=option):
        lqr(joint_move(flexarm.build(one_link()), {}, TIMING), **{option: value})  # type: ignore[arg-type]
