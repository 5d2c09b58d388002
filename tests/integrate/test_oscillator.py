"""Oscillators and eigenproblems of the exponential integrator against other ways to get them."""

import math
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

import flexarm
from flexarm.integrate.loop import march
from flexarm.integrate.methods import METHODS
from flexarm.integrate.methods.eigen import cholesky, diagonalise, reduce_pencil, tridiagonalise
from flexarm.integrate.methods.etd4 import FORCES, NODES, WEIGHTS
from flexarm.integrate.methods.exponential import (
    begin_step,
    exponential_step,
    find_modes,
    goes_on,
)
from flexarm.integrate.methods.oscillator import add_time, responses
from flexarm.integrate.solve import make_ready, new_state
from flexarm.integrate.state import measure
from flexarm.integrate.task import prepare
from flexarm.model import build

# With 4, 5, 6 and 11 coordinates; those of the last are moved.
SIZED = ("korayem-two-link", "driven-link", "deluca-siciliano", "theodore-rrp-motion")


@pytest.mark.parametrize(
    ("square", "loss", "t"),
    [
        (0.0, 0.0, 1.0), (4.0, 0.1, 0.3), (4.0, 0.1, 0.6), (1e6, 3.0, 0.01), (1e6, 3e3, 0.01),
        (0.0, 50.0, 1.0), (0.01, 50.0, 1.0), (-3.0, 0.2, 0.9), (-30.0, 1.0, 1.0), (2.0, 3.0, 10.0),
        (1e10, 10.0, 1e-2), (1.0, 2.0, 1.0), (1.0, 2.0, 3.0), (30.0, 80.0, 1.0), (3.0, 90.0, 0.9),
    ],
)  # fmt: skip
def test_responses_are_those_of_the_matrix_exponential(
    square: float, loss: float, t: float
) -> None:
    out = np.zeros(7)
    responses(square, loss, t, out)
    with mpmath.workdps(40):
        chain = mpmath.zeros(7)
        chain[0, 1], chain[1, 0], chain[1, 1] = 1, -mpmath.mpf(square), -mpmath.mpf(loss)
        for k in range(1, 6):
            chain[k, k + 1] = 1
        exact = mpmath.expm(chain * mpmath.mpf(t))
        expected = [exact[0, 1], exact[1, 1], *(exact[0, k] for k in range(2, 7))]
    scale = [t, 1, *(t**k / math.factorial(k) for k in range(2, 7))]
    for got, wanted, size in zip(out, expected, scale, strict=True):
        assert got == pytest.approx(float(wanted), rel=2e-13, abs=1e-15 * size)


@pytest.mark.parametrize(("square", "loss"), [(1.93, 1.96e4), (41.9, 6.4e4), (2e3, 1e3)])
def test_responses_of_overdamped_modes_keep_their_digits(square: float, loss: float) -> None:
    out = np.zeros(7)
    responses(square, loss, 1.0, out)
    with mpmath.workdps(60):
        s, c = mpmath.mpf(square), mpmath.mpf(loss)
        root = mpmath.sqrt(c * c / 4 - s)
        slow, fast = -c / 2 + root, -c / 2 - root
        impulse = (mpmath.exp(slow) - mpmath.exp(fast)) / (slow - fast)
        rate = (slow * mpmath.exp(slow) - fast * mpmath.exp(fast)) / (slow - fast)
        first = (1 - rate - c * impulse) / s
        second = (1 - impulse - c * first) / s
        third = (mpmath.mpf(1) / 2 - first - c * second) / s
        fourth = (mpmath.mpf(1) / 6 - second - c * third) / s
        fifth = (mpmath.mpf(1) / 24 - third - c * fourth) / s
        expected = [float(each) for each in (first, second, third, fourth, fifth)]
    assert out[2:] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("square", "loss"), [(0.0, 0.0), (50.0, 3.0), (-4.0, 0.5), (2.0, 40.0)])
def test_answers_go_on_by_parts_of_unequal_length(square: float, loss: float) -> None:
    begin, out, whole = np.zeros(7), np.zeros(7), np.zeros(7)
    responses(square, loss, 0.3, begin)
    responses(square, loss, 0.5, out)
    add_time(square, loss, 0.3, begin, out)
    responses(square, loss, 0.8, whole)
    np.testing.assert_allclose(out, whole, rtol=1e-12, atol=1e-16)


def test_the_tableau_is_that_of_a_method_of_order_5() -> None:
    """Conditions of order 5 for its weights, and those by which positions follow from rates."""
    a, b, c = WEIGHTS[:6, :6], WEIGHTS[6, :6], NODES[:6]
    for power in range(5):
        assert b @ c**power == pytest.approx(1 / (power + 1))
    ac, acc = a @ c, a @ c**2
    orders = [
        (b @ ac, 6), (b @ (c * ac), 8), (b @ acc, 12), (b @ (a @ ac), 24), (b @ (c**2 * ac), 10),
        (b @ (c * acc), 15), (b @ (a @ c**3), 20), (b @ (c * (a @ ac)), 30), (b @ ac**2, 20),
        (b @ (a @ (c * ac)), 40), (b @ (a @ acc), 60), (b @ (a @ (a @ ac)), 120),
    ]  # fmt: skip
    for found, over in orders:
        assert found == pytest.approx(1 / over)
    powers = np.arange(1, 6)
    inside = FORCES[6] @ (1 / (powers * (powers + 1)))  # the integral of (1 - z) times each
    np.testing.assert_allclose(inside[:6], b * (1 - c), atol=1e-14)
    # What is estimated vanishes for a cubic.
    for power in range(4):
        np.testing.assert_allclose(FORCES[7].T @ NODES[:7] ** power, 0.0, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
def test_modes_of_a_pencil_are_those_of_lapack(n: int) -> None:
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    mass = root @ root.T + np.eye(n)
    stiffness = rng.normal(size=(n, n))
    stiffness = stiffness @ stiffness.T
    stiffness[:, 0] = stiffness[0, :] = 0.0  # a motion without elastic energy
    lower, a = mass.ravel().copy(), stiffness.ravel().copy()
    assert cholesky(n, lower) == 0
    reduce_pencil(n, lower, a)
    q, d, e, x = np.zeros(n * n), np.zeros(n), np.zeros(n), np.zeros(n)
    tridiagonalise(n, a, q, d, e, x)
    assert diagonalise(n, q, d, e, np.zeros(2 * n)) == 0
    factor = np.linalg.cholesky(mass)
    expected = np.linalg.eigvalsh(np.linalg.solve(factor, np.linalg.solve(factor, stiffness).T))
    assert np.sort(d) == pytest.approx(expected, abs=1e-12 * max(expected[-1], 1.0))
    modes = q.reshape(n, n) @ np.linalg.inv(factor)
    assert modes @ mass @ modes.T == pytest.approx(np.eye(n), abs=1e-12)
    off = modes @ stiffness @ modes.T - np.diag(d)
    assert np.abs(off).max() < 1e-12 * max(expected[-1], 1.0)


def test_a_matrix_that_is_not_positive_definite_is_told() -> None:
    assert cholesky(2, np.array([1.0, 2.0, 2.0, 1.0])) == 1


def test_modes_of_one_frequency_are_those_of_the_damping() -> None:
    # Two free modes beside an elastic one: whichever way they lie, damping tells them apart.
    rng = np.random.default_rng(8)
    ways = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    mass = np.diag([2.0, 1.0, 0.5])
    root = np.sqrt(mass)
    stiffness = root @ ways @ np.diag([0.0, 0.0, 9.0]) @ ways.T @ root
    damping = (
        root @ ways @ np.array([[3.0, 0, 0.4], [0, 7.0, 0.2], [0.4, 0.2, 1.0]]) @ ways.T @ root
    )
    modes, inverse, squares, losses, room = (np.zeros(k) for k in (9, 9, 3, 3, 3))
    assert find_modes(3, mass.ravel().copy(), stiffness.ravel().copy(), damping.ravel(), modes,
                      inverse, squares, losses, room) == 0  # fmt: skip
    np.testing.assert_allclose(np.sort(losses), [1.0, 3.0, 7.0], rtol=1e-12)
    rows = modes.reshape(3, 3)
    np.testing.assert_allclose(rows @ mass @ rows.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(inverse.reshape(3, 3) @ rows, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(rows @ stiffness @ rows.T, np.diag(squares), atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_modes_in_a_row_of_which_neighbours_are_alike_stay_modes(seed: int) -> None:
    """Turned into each other in pairs, the first and the last would no longer be modes."""
    rng = np.random.default_rng(seed)
    ways, loss = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=(3, 3))
    stiffness = ways @ np.diag(100 * (1 + 0.9e-9 * np.arange(3))) @ ways.T
    damping = loss @ loss.T
    modes, inverse, squares, losses, room = (np.zeros(k) for k in (9, 9, 3, 3, 3))
    assert find_modes(3, np.eye(3).ravel(), stiffness.ravel().copy(), damping.ravel(), modes,
                      inverse, squares, losses, room) == 0  # fmt: skip
    rows = modes.reshape(3, 3)
    alike = squares == squares[:, None]
    assert alike.sum() in (5, 9)  # two of them, or all if the middle one comes first
    firm, damped = (rows @ each @ rows.T for each in (stiffness, damping))
    assert np.abs(firm[~alike]).max(initial=0.0) < 1e-12 * 100
    assert np.abs(firm - np.diag(squares)).max() < 1e-9 * 100
    assert np.abs(damped[alike & ~np.eye(3, dtype=bool)]).max() < 1e-12


def test_a_step_begins_with_what_it_would_find_anew() -> None:
    times = np.array([0.0, 0.5])
    task = prepare(build(flexarm.example_arm("korayem-two-link")), times)
    m: Any = make_ready(new_state(task, METHODS["etd4"], 1e-3))
    n, m.budget, seen = m.system.n, 1, 0
    for _ in range(30):
        march(m)
        if goes_on(m):
            begin_step(m)
            carried = [m.x.copy(), m.g[:n].copy()]
            m.y_new[0] += 1.0  # as if the last trial were another
            assert not goes_on(m)
            begin_step(m)
            for one, other in zip(carried, (m.x, m.g[:n]), strict=True):
                assert np.abs(one - other).max() < 1e-9 * np.abs(other).max()
            seen += 1
    assert seen > 10


@pytest.mark.few(2)
@pytest.mark.parametrize("sample", SIZED)
def test_errors_are_those_of_coordinates(sample: str) -> None:
    """They are measured in the modes of the start, to which the step's own are taken directly."""
    task = prepare(build(flexarm.example_arm(sample)), np.array([0.0, 0.5]))
    m: Any = make_ready(new_state(task, METHODS["etd4"], 1e-3))
    n, m.budget = m.system.n, 1
    for _ in range(60):
        march(m)
        exponential_step(m)
        moved = m.modal.reshape(2, n) @ m.modes.reshape(n, n)
        found = measure(m, np.concatenate([moved.ravel(), m.e[2 * n :]]))
        assert m.error == pytest.approx(found / m.tolerance, rel=1e-6)
        assert not m.x[:n].any()  # a step counts from its begin
    assert m.renewals > 2
