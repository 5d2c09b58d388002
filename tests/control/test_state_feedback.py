"""Regulators from linear models, against python-control, closed forms and the arm itself."""

from functools import cache

import numpy as np
import pytest
import scipy.linalg

import flexarm
from flexarm.control import (
    Observer,
    Weights,
    decoupling_law,
    hold,
    loop_margins,
    lqg_law,
    lqr_gain,
    lqr_law,
    pd_law,
    start_at,
)
from flexarm.control.laws.lqr import sampled_costs
from flexarm.errors import FlexarmError
from flexarm.io.model_file import loads
from flexarm.linear.state_space import StateSpace
from flexarm.linear_model import StateMatrices
from tests.control.arms import elastic_joint, one_link, two_links
from tests.control.test_bases import flexible


@cache
def space() -> StateSpace:
    """Give a link under gravity as a linear model."""
    arm = one_link(damping=0.01, gravity=-9.81)
    return flexarm.linearise(arm, outputs=["joint1", "joint1.rate", "tip.y"])


def test_gains_are_those_of_the_cost_that_they_leave() -> None:
    """K = R^-1 B^T P, with P the cost of the loop that K closes: where both hold, it is least."""
    weights = Weights(np.diag([1.0, 2.0, 3.0, 4.0]), np.array([[0.3]]))
    gain = lqr_gain(space(), weights=weights)
    loop = space().A - space().B @ gain
    rate = weights.state + gain.T @ weights.input @ gain
    P = scipy.linalg.solve_continuous_lyapunov(loop.T, -rate)
    assert np.linalg.eigvals(loop).real.max() < 0
    np.testing.assert_allclose(gain, space().B.T @ P / 0.3, rtol=1e-7, atol=1e-9)
    by_outputs = Weights(space().C.T @ space().C, np.array([[0.3]]))
    np.testing.assert_allclose(lqr_gain(space(), cost=0.3), lqr_gain(space(), weights=by_outputs))


@pytest.mark.campaign
def test_gains_are_those_of_python_control() -> None:
    import control as ct  # type: ignore[import-untyped]  # takes two seconds

    Q, R = space().C.T @ space().C, np.array([[0.3]])
    expected = ct.lqr(space().A, space().B, Q, R)[0]
    np.testing.assert_allclose(lqr_gain(space(), cost=0.3), expected, rtol=1e-8, atol=1e-9)
    given = Weights(np.diag([1.0, 2.0, 3.0, 4.0]), R)
    expected = ct.lqr(space().A, space().B, given.state, R)[0]
    np.testing.assert_allclose(lqr_gain(space(), weights=given), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.few(1)
@pytest.mark.parametrize("seen", ["state", "outputs"])
def test_an_arm_comes_back_to_its_equilibrium_under_gravity(seen: str) -> None:
    arm = one_link(damping=0.01, gravity=-9.81)
    law = lqr_law(space(), cost=0.01) if seen == "state" else lqg_law(space(), 2e-3, cost=0.01)
    q = space().point.q + np.array([0.05, 0.0])
    run = flexarm.simulate(start_at(arm, space().model, q), t_end=6.0, control=law)
    assert run.status == "finished", run.reason
    np.testing.assert_allclose(run.q[-1], space().point.q, atol=2e-4)


def test_an_observer_and_its_regulator_have_their_own_eigenvalues() -> None:
    """The separation principle, on the loop as it is: the law asked, the model stepped."""
    period = 5e-3
    law = lqg_law(space(), period, cost=0.1).law
    assert isinstance(law, Observer)
    n, columns = len(space().A), []
    held = np.block([[space().A, space().B], [np.zeros((1, n + 1))]])
    A, B = np.split(scipy.linalg.expm(period * held)[:n], [n], axis=1)
    for unit in np.eye(2 * n):
        x, fresh = unit[:n], law.begin()
        fresh.estimate = unit[n:].copy()
        q, v = space().point.q + x[: n // 2], space().point.v + x[n // 2 :]
        u = fresh(0.0, q, v) - space().point.u
        columns.append(np.concatenate([A @ x + B @ u, fresh.estimate]))
    whole = np.linalg.eigvals(np.array(columns).T)
    apart = np.concatenate([
        np.linalg.eigvals(A - B @ law.gain),
        np.linalg.eigvals(A @ (np.eye(n) - law.correction @ space().C)),
    ])  # fmt: skip
    assert np.abs(apart).max() < 1
    assert np.abs(whole[:, None] - apart[None, :]).min(axis=0).max() < 1e-6
    assert np.abs(whole[:, None] - apart[None, :]).min(axis=1).max() < 1e-6


def test_zeros_of_the_motor_s_angle_are_the_link_on_its_spring() -> None:
    """Motor held, 1 kg m^2 swings on 100 N m/rad; from motor to link there is no zero."""
    arm = elastic_joint()
    zeros = flexarm.linearise(arm, outputs=["joint1.motor"]).zeros()
    np.testing.assert_allclose(np.sort_complex(zeros), [-10j, 10j], atol=1e-7)
    assert len(flexarm.linearise(arm, outputs=["joint1"]).zeros()) == 0


def test_the_tip_of_a_flexible_link_is_non_minimum_phase() -> None:
    arm = one_link(modes=2)
    zeros = flexarm.linearise(arm, outputs=["tip.y"]).zeros()
    assert zeros.real.max() > 1.0
    hub = flexarm.linearise(arm, outputs=["joint1"]).zeros()
    locked = [mode.frequency_rad_s for mode in flexarm.modes(arm, joints="locked").modes]
    np.testing.assert_allclose(np.sort(np.abs(hub.imag))[::2], np.sort(locked), rtol=1e-8)
    assert np.abs(hub.real).max() < 1e-6
    with pytest.raises(
        FlexarmError, match="zeros: the model must have as many outputs as inputs, got 4"
    ):
        flexarm.linearise(arm).zeros()


def test_margins_of_a_wheel_are_those_of_a_double_integrator() -> None:
    wheel = loads(
        "flexarm: 1\nname: wheel\ngravity: [0, 0, 0]\nlinks:\n"
        "  - joint: {kind: revolute}\n    length: 1\n    body: {mass: 1, inertia: [0, 0, 2]}"
    )
    space = flexarm.linearise(wheel, outputs=["joint1"])
    gain = lqr_gain(space, cost=0.25)
    # L = (k2 s + k1) / (J s^2) has gain 1 where (J w^2)^2 = k1^2 + (k2 w)^2.
    k1, k2 = gain[0]
    inertia = 2.0
    assert k1 == pytest.approx(2.0)
    assert k2 == pytest.approx(np.sqrt(2 * k1 * inertia))
    square = (k2**2 + np.sqrt(k2**4 + 4 * inertia**2 * k1**2)) / (2 * inertia**2)
    found = loop_margins(space, gain)["joint1"]
    assert found.phase == pytest.approx(np.arctan2(k2 * np.sqrt(square), k1), rel=1e-6)
    assert found.phase >= np.pi / 3
    assert np.isinf(found.gain)


def test_laws_hold_what_a_linear_model_is_about() -> None:
    arm = two_links(gravity=-9.81, damping=0.02)
    space = flexarm.linearise(arm)
    start = start_at(arm, space.model, space.point.q)
    for law in (
        pd_law(hold(space), kp=50, kd=5),
        decoupling_law(hold(space), kp=50, kd=10),
        lqr_law(space),
    ):
        run = flexarm.simulate(start, t_end=0.3, control=law)
        np.testing.assert_allclose(run.q, np.broadcast_to(space.point.q, run.q.shape), atol=1e-7)


def test_a_regulator_of_an_arm_on_a_free_base_leaves_the_base() -> None:
    arm = flexible()
    space = flexarm.linearise(flexarm.change_arm(arm, {"gravity": [0, 0, 0]}))
    gain = lqr_gain(space, cost=0.1)
    bases = [k for k, name in enumerate(space.states) if name.startswith("base.")]
    assert not np.any(gain[:, bases])
    values = np.linalg.eigvals(space.A - space.B @ gain)
    assert np.sum(np.abs(values) < 1e-4) == 12
    assert np.sort(values.real)[:-12].max() < -1e-3


def test_a_joint_with_its_brake_closed_is_no_state() -> None:
    arm = two_links()
    braked = flexarm.change_arm(arm, {"links.2.joint.brake": {"closed": True}})
    space = flexarm.linearise(braked, outputs=["tip.y"])
    assert space.states[:3] == ("joint1", "link1.y1", "link2.y1")
    found = np.sort(np.abs(np.linalg.eigvals(space.A).imag))[::2]
    held = flexarm.modes(arm, joints={"joint1": "free", "joint2": "locked"})
    np.testing.assert_allclose(
        found, np.sort([mode.frequency_rad_s for mode in held.modes]), rtol=1e-7, atol=1e-4
    )


def test_costs_over_a_period_in_which_a_vibration_has_died_out() -> None:
    """Against Lyapunov's equation: A^T W + W A is what the weight loses over the period."""
    A = np.zeros((4, 4))
    for i, (w, z) in enumerate(((3.0, 0.01), (5e3, 0.5))):  # e^-125 is left of the second
        A[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[0.0, 1.0], [-(w**2), -2 * z * w]]
    state = np.diag([9.0, 1.0, 25e6, 1.0])
    weights, plant = Weights(state, np.eye(1)), StateMatrices(A, np.array([[0.0], [1], [0], [1]]))
    forward, _, (Q, _, _) = sampled_costs(plant, weights, 0.05)
    moved = scipy.linalg.expm(0.05 * A)
    known = scipy.linalg.solve_continuous_lyapunov(A.T, moved.T @ state @ moved - state)
    size = np.sqrt(np.diag(known))
    assert forward == pytest.approx(moved, rel=1e-9, abs=1e-12)
    assert Q / np.outer(size, size) == pytest.approx(known / np.outer(size, size), abs=1e-9)
