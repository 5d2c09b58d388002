"""How much the links' stiffness may be overestimated: the lemma, and what eigenvalues say."""

from typing import TypedDict

import numpy as np
import pytest

import flexarm
from flexarm.constants import NEGLIGIBLE
from flexarm.control import (
    FrozenLoop,
    Timing,
    closed_loop_eigenvalues,
    decoupling_law,
    joint_move,
    start_at,
    stiffness_error_along,
)
from flexarm.errors import FlexarmError
from flexarm.io.model_file import loads
from flexarm.spatial import Array
from tests.control.arms import one_link, two_links


class Gains(TypedDict):
    """Gains of all joints."""

    kp: float
    kd: float


GAINS: Gains = {"kp": 25.0, "kd": 8.0}


def quartic(damping: float, error: float) -> Array:
    """Give the characteristic polynomial of one mode under the law, from eqs 49 and 50.

    ``(m s^2 + d s + k) (s^2 + G_v s + G_p) - alpha h k s^2``, with M_ff = m and H = h.
    """
    model = flexarm.build(one_link(damping=damping))
    equation = flexarm.formulation("composite", model)
    mass = equation.mass_matrix(np.zeros(2))
    k = equation.parts(np.array([0.0, 1.0]), np.zeros(2))["elastic"][1]
    d = equation.parts(np.zeros(2), np.array([0.0, 1.0]))["dissipative"][1]
    pulled = mass[0, 1] ** 2 / mass[0, 0]
    h = pulled / (mass[1, 1] - pulled)
    first = np.polymul([mass[1, 1], d, k], [1, GAINS["kd"], GAINS["kp"]])
    return np.asarray(np.polysub(first, [error * h * k, 0, 0]))


@pytest.mark.parametrize("damping", [0.0, 0.05])
@pytest.mark.parametrize("error", [-0.5, 0.0, 0.2, 1.5])
def test_eigenvalues_of_one_mode_are_the_roots_of_its_quartic(damping: float, error: float) -> None:
    loop = FrozenLoop(flexarm.build(one_link(damping=damping)))
    found = loop.eigenvalues(np.zeros(2), **GAINS, stiffness_error=error)
    expected = np.roots(quartic(damping, error))
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(expected), rtol=1e-9)


@pytest.mark.parametrize("damping", [0.0, 0.03])
def test_without_gains_the_lemma_is_exact(damping: float) -> None:
    """With u_I given, eq. 50 loses its stiffness where alpha lambda_max(H) reaches 1."""
    model = flexarm.build(two_links(damping=damping))
    loop = FrozenLoop(model)
    q = np.array([0.0, 0.0, 0.7, 0.0])
    limit = 1 / loop.coupling(q)
    for error, grows in ((0.999 * limit, False), (1.001 * limit, True)):
        values = loop.eigenvalues(q, kp=0.0, kd=0.0, stiffness_error=error)
        assert (values.real.max() > 0.01) == grows


@pytest.mark.parametrize("error", [0.0, 0.05, 0.6])
def test_eigenvalues_of_many_modes_are_those_of_the_partitioned_equations(error: float) -> None:
    """The law put together from the paper's partitions of M, and the arm beside it."""
    model = flexarm.build(two_links(damping=0.02, modes=2))
    equation, n, q = flexarm.formulation("composite", model), 6, np.array([0, 0, 0, 0.7, 0, 0.0])
    order = [0, 3, 1, 2, 4, 5]  # joints first
    mass = equation.mass_matrix(q)[np.ix_(order, order)]
    unit = 1e-6 * np.eye(n)
    k = np.array([equation.parts(q + row, 0 * q)["elastic"] for row in unit]).T / 1e-6
    d = np.array([equation.parts(q, row)["dissipative"] for row in np.eye(n)]).T
    k, d = (each[np.ix_(order, order)][2:, 2:] for each in (k, d))
    m_rr, m_rf, m_ff = mass[:2, :2], mass[:2, 2:], mass[2:, 2:]
    schur = m_rr - m_rf @ np.linalg.solve(m_ff, m_rf.T)
    zero = np.zeros((4, 2))
    wanted = -np.hstack([GAINS["kp"] * np.eye(2, n), GAINS["kd"] * np.eye(2, n)])
    believed = np.hstack([zero, (1 + error) * k, zero, d])
    inputs = schur @ wanted - m_rf @ np.linalg.solve(m_ff, believed)
    force = np.vstack([inputs, -np.hstack([zero, k, zero, d])])
    expected = np.linalg.eigvals(np.vstack([np.eye(n, 2 * n, n), np.linalg.solve(mass, force)]))
    found = FrozenLoop(model).eigenvalues(q, **GAINS, stiffness_error=error)
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(expected), rtol=1e-4)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_a_stiffness_gain_alone_lowers_the_limit_by_flutter(share: float) -> None:
    """G_v = 0: a quadratic in s^2 gets complex roots at alpha H = (1 - sqrt(G_p)/omega)^2."""
    loop = FrozenLoop(flexarm.build(one_link()))
    omega = np.abs(np.roots(quartic(0.0, 0.0))).max()
    found = loop.largest_error(np.zeros(2), kp=(share * omega) ** 2, kd=0.0)
    assert found * loop.coupling(np.zeros(2)) == pytest.approx((1 - share) ** 2, rel=1e-4)


def test_an_undamped_arm_bears_no_overestimate_at_all() -> None:
    """The damping gain feeds the error back to the vibration: growth is linear in alpha."""
    loop = FrozenLoop(flexarm.build(one_link()))
    growth = [
        loop.eigenvalues(np.zeros(2), **GAINS, stiffness_error=error).real.max()
        for error in (0.001, 0.002)
    ]
    assert growth[0] > 0
    assert growth[1] / growth[0] == pytest.approx(2.0, rel=0.01)
    assert loop.largest_error(np.zeros(2), **GAINS) < 1e-5
    bearable = loop.largest_error(np.zeros(2), **GAINS, allowed=growth[1])
    assert bearable == pytest.approx(0.002, rel=1e-3)
    assert loop.eigenvalues(np.zeros(2), **GAINS, stiffness_error=-0.1).real.max() < 0


def test_the_largest_error_is_where_the_quartic_gets_a_growing_root() -> None:
    """Routh: a3 a2 a1 = a1^2 a4 + a3^2 a0, linear in alpha."""
    loop = FrozenLoop(flexarm.build(one_link(damping=0.02)))
    found = loop.largest_error(np.zeros(2), **GAINS)
    a4, a3, a2, a1, a0 = quartic(0.02, found)
    assert a3 * a2 * a1 == pytest.approx(a1**2 * a4 + a3**2 * a0, rel=1e-4)


def test_the_lemma_is_never_contradicted_along_a_path_with_slow_gains() -> None:
    """What it forbids, eigenvalues forbid too: the exact limit is below its bound everywhere."""
    model = flexarm.build(two_links(damping=0.02, modes=2))
    motion = joint_move(model, {"joint1": 1.0, "joint2": 3.0}, Timing("cycloid", 1.0))
    found = stiffness_error_along(motion, **GAINS, stiffness_error=0.05, points=5)
    assert np.all(found.largest > 0)
    assert np.all(found.largest < found.bound)
    assert found.bound.max() > 1.1 * found.bound.min()  # it depends on the posture
    scale = NEGLIGIBLE * np.abs(found.eigenvalues).max()
    assert np.array_equal(found.growth > scale, found.largest < 0.05)


def test_with_fast_gains_the_arm_is_stable_beyond_the_lemma() -> None:
    """The lemma leaves the outer loop out: gains faster than the vibration hold it."""
    model = flexarm.build(one_link(damping=0.05))
    loop = FrozenLoop(model)
    bound = 1 / loop.coupling(np.zeros(2))
    omega = np.abs(np.roots(quartic(0.05, 0.0))).max()
    fast = loop.largest_error(np.zeros(2), kp=9 * omega**2, kd=6 * omega)
    assert fast > bound


@pytest.mark.parametrize("factor", [0.7, 1.6])
def test_a_simulated_vibration_grows_or_dies_at_the_rate_of_its_eigenvalue(factor: float) -> None:
    arm = one_link(damping=0.02)
    model = flexarm.build(arm)
    loop = FrozenLoop(model)
    error = factor * loop.largest_error(np.zeros(2), **GAINS)
    values = loop.eigenvalues(np.zeros(2), **GAINS, stiffness_error=error)
    motion = joint_move(model, {}, Timing("cycloid", 1.0))
    law = decoupling_law(motion, **GAINS, stiffness_error=error)
    start = start_at(arm, model, np.array([0.0, 1e-4]))
    run = flexarm.simulate(start, t_end=6.0, dt=0.002, control=law, rtol=1e-6)
    fastest = values[np.argmax(values.imag)]
    late = run.t > 2
    peaks = np.abs(run.q[late, 1])
    period = 2 * np.pi / fastest.imag
    size = [peaks[(run.t[late] > t) & (run.t[late] < t + period)].max() for t in (2.1, 5.5)]
    assert np.log(size[1] / size[0]) / 3.4 == pytest.approx(fastest.real, abs=0.03)
    assert (fastest.real > 0) == (factor > 1)


@pytest.mark.few(1)
@pytest.mark.parametrize(("gravity", "error"), [(0.0, 0.1), (-9.81, 0.0)])
def test_eigenvalues_along_a_run_at_rest_are_those_of_the_frozen_loop(
    gravity: float, error: float
) -> None:
    arm = two_links(gravity=gravity, damping=0.02)
    model = flexarm.build(arm)
    motion = joint_move(model, {}, Timing("cycloid", 1.0))
    law = decoupling_law(motion, **GAINS, stiffness_error=error)
    q = motion.path.at(0.0)
    run = flexarm.simulate(start_at(arm, model, q), t_end=0.01, dt=0.01, control=law)
    found = closed_loop_eigenvalues(law, run)[0]
    expected = FrozenLoop(model).eigenvalues(q, **GAINS, stiffness_error=error)
    one, other = (  # of equal ones rounding would decide the order
        each[np.lexsort(np.round([each.imag, each.real], 4))] for each in (found, expected)
    )
    np.testing.assert_allclose(one, other, rtol=1e-5)


def test_shapes_that_turn_the_hub_have_no_such_partition() -> None:
    arm = loads(
        "flexarm: 1\nname: pinned\nlinks:\n"
        "  - joint: {kind: revolute, hub: {outboard: {inertia: [0, 0, 0.1]}}}\n"
        "    length: 1\n    section: {mass_per_length: 1, EIz: 10}\n"
        "    shapes: {kind: pinned-free, bending_y: 1}"
    )
    with pytest.raises(FlexarmError, match="do not turn the link's hub"):
        FrozenLoop(flexarm.build(arm)).coupling(np.zeros(2))
