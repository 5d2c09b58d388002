"""A receding horizon: the best regulator where nothing limits it, and limits kept where they do."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import quad_vec

import flexarm
from flexarm.control import Timing, Weights, joint_move, pd_law
from flexarm.linear_model import integral_of_exponential
from flexarm.planning import Limits, Mpc
from flexarm.planning.mpc import solve_program

PERIOD, GOAL = 0.05, {"joint1": 0.3}


@cache
def link() -> flexarm.Arm:
    shapes = {"kind": "loaded", "root": "free", "bending_y": 3}
    return flexarm.change_arm(flexarm.example_arm("driven-link"), {
        "stiffening": False, "links.1.shapes": shapes, "links.1.damping": "1 %",
    })  # fmt: skip


def test_exponential_of_many_turns() -> None:
    A = np.array([[0.0, 1.0], [-(900.0**2), -3.0]])
    whole = integral_of_exponential(A, 0.05, 900.0)
    assert np.eye(2) + A @ whole == pytest.approx(scipy.linalg.expm(0.05 * A), rel=1e-6, abs=1e-6)


def test_without_limits_it_is_the_best_sampled_regulator() -> None:
    """About its target, inputs are those of the Riccati equation, by another way."""
    weights = Weights(np.diag([8.0, 1.0, 1.0, 1.0, 0.2, 0.1, 0.1, 0.1]), np.eye(1))
    law = flexarm.mpc(link(), period=PERIOD, weights=weights, intervals=6)
    space = flexarm.linearise(
        flexarm.change_arm(
            link(), {"links.1.joint.start": {"position": 0.3}, "links.1.joint.input": None}
        )
    )
    A, B, n = space.A, space.B, len(space.A)
    whole = scipy.linalg.expm(np.block([[A, B], [np.zeros((1, n + 1))]]) * PERIOD)

    def cost(s: float) -> np.ndarray:
        moved = scipy.linalg.expm(np.block([[A, B], [np.zeros((1, n + 1))]]) * s)
        return moved.T @ scipy.linalg.block_diag(weights.state, weights.input) @ moved

    W = quad_vec(cost, 0.0, PERIOD, epsrel=1e-9)[0]
    Ad, Bd = whole[:n, :n], whole[:n, n:]
    P = scipy.linalg.solve_discrete_are(Ad, Bd, W[:n, :n], W[n:, n:], s=W[:n, n:])
    gain = np.linalg.solve(W[n:, n:] + Bd.T @ P @ Bd, Bd.T @ P @ Ad + W[:n, n:].T)
    rest = np.array([0.3, 0.0, 0.0, 0.0])
    for unit in 1e-4 * np.eye(n):
        u = law.begin().step(rest + unit[: n // 2], unit[n // 2 :], GOAL)
        assert u == pytest.approx(-gain @ unit, rel=2e-3, abs=1e-4 * np.abs(gain).max() * 1e-4)


def test_it_rings_far_less_than_pd_and_keeps_its_limits() -> None:
    limits = Limits(effort=0.6, speed=1.0)
    law = flexarm.mpc(link(), period=PERIOD, limits=limits, bandwidth=8.0)
    fastest = flexarm.modes(link(), joints="free").elastic()[-1].frequency_rad_s
    assert 2 * np.pi / fastest < PERIOD
    run = flexarm.simulate(link(), t_end=2.5, dt=0.01, control=law.law(GOAL))
    assert np.abs(run.u).max() <= 0.6
    samples = np.isclose(run.t % PERIOD, 0) | np.isclose(run.t % PERIOD, PERIOD)
    assert np.abs(run.v[samples, 0]).max() < 1.01
    move = joint_move(flexarm.build(link()), GOAL, Timing("quintic", 1e-3))
    pd = pd_law(move, kp=1.0, kd=0.3)
    other = flexarm.simulate(
        link(), t_end=2.5, dt=0.01, control=flexarm.Sampled(pd, 0.01, limits=0.6)
    )
    left = [np.ptp(each.tip[each.t > 1.5], axis=0).max() for each in (run, other)]
    assert left[0] < 0.1 * left[1]
    assert run.q[-1, 0] == pytest.approx(0.3, abs=1e-3)


def test_vibrations_that_die_out_within_a_period_do_not_hinder_it() -> None:
    """Of the fastest one e^-47 is left: the law is that of the arm without it."""
    shapes = [{"links.1.shapes.bending_y": n, "links.1.damping": "20 %"} for n in (4, 3)]
    told = []
    for each in shapes:
        law = flexarm.mpc(flexarm.change_arm(link(), each), period=0.2)
        rest = np.zeros(law.x.shape[1] // 2)
        told.append(law.step(rest, rest, GOAL)[0])
    assert told[0] == pytest.approx(told[1], rel=0.02)
    slowest = flexarm.modes(link(), joints="locked").elastic()[0].frequency_rad_s
    law = flexarm.mpc(link(), period=0.01)
    assert law.bandwidth == pytest.approx(min(20.0, slowest / 2), rel=1e-3)
    assert flexarm.mpc(link(), period=0.1).bandwidth == 5.0
    assert "20 intervals of 0.01 s ahead" in repr(law)


def test_programs_are_solved_as_by_another_solver() -> None:
    draw, n, m = np.random.default_rng(3), 12, 4
    shape = {"h": ca.Sparsity.dense(n, n), "a": ca.Sparsity.dense(m, n)}
    other = ca.conic("other", "qrqp", shape, {"print_iter": False, "print_header": False})
    for _ in range(4):
        half, A = draw.normal(size=(n, n)), draw.normal(size=(m, n))
        H, g = half @ half.T + n * np.eye(n), 9 * draw.normal(size=n)
        top = np.repeat([0.6, 0.5], [n, m])
        found = solve_program(H, g, A, -top, top)
        known = other(h=H, g=g, a=A, lbx=-top[:n], ubx=top[:n], lba=-top[n:], uba=top[n:])["x"]
        assert found == pytest.approx(np.array(known)[:, 0], abs=1e-6)
        assert np.any(np.isclose(np.abs(A @ found), 0.5))
        assert np.any(np.isclose(np.abs(found), 0.6))


def test_limits_that_no_inputs_keep_are_counted() -> None:
    told = {}
    for effort in (0.6, 1e6):
        limits = Limits(speed=0.1, effort=effort)
        law = flexarm.mpc(link(), period=PERIOD, bandwidth=8.0, limits=limits)
        for _ in range(3):
            law.step(np.zeros(4), np.array([0.5, 0.0, 0.0, 0.0]), GOAL)
        told[effort] = law.broken, bool(np.abs(law.x[1:, 4]).max() <= 0.1)
    assert told == {0.6: (3, False), 1e6: (0, True)}


def test_it_mends_a_plan_of_an_arm_that_is_softer() -> None:
    planned = flexarm.plan(link(), GOAL, duration=0.8, intervals=12)
    section = link().links[0].section
    assert section is not None
    assert section.EIz is not None
    softer = {"links.1.section.EIz": 0.85 * section.EIz}
    law = flexarm.mpc(link(), period=PERIOD, bandwidth=8.0)
    assert isinstance(law, Mpc)
    alone = flexarm.simulate(flexarm.change_arm(planned.arm, softer), t_end=2.0, dt=0.01)
    other = flexarm.change_arm(link(), softer | {"links.1.joint.input": None})
    beside = flexarm.simulate(other, t_end=2.0, dt=0.01, control=law.law(planned))
    left = [np.ptp(each.tip[each.t > 1.2], axis=0).max() for each in (alone, beside)]
    assert left[1] < 0.2 * left[0]


def test_a_first_prediction_that_would_diverge_is_that_of_one_iteration() -> None:
    """Six links drop from where they are straight: later iterations leave the double precision."""
    law = flexarm.mpc(flexarm.example_arm("count-6-6-3"), period=0.02, intervals=6)
    rest = np.zeros(law.x.shape[1] // 2)
    law.step(rest, rest, GOAL)
    assert law.broken == 0
    assert 0 < np.abs(law.x).max() < 100


def test_limits_that_come_in_sight_one_after_the_other_are_kept_or_counted() -> None:
    """Two looks for limits that a change leaves were not enough here."""
    limits = Limits(effort=1e3, speed=2.0, deflection=0.05)
    law = flexarm.mpc(link(), period=PERIOD, bandwidth=8.0, limits=limits)
    q, v = np.array([0.0, -0.00097, 0.01582, -0.0122]), np.array([0.9312, 0.0, 0.0, 0.0])
    law.step(q, v, {"joint1": 0.017})
    assert law.broken == 1 or np.abs(law.x[1:, 4]).max() <= 2.0 * (1 + 1e-4)
