"""Factors of symmetric matrices, in whatever order their rows are eliminated."""

import casadi as ca
import numpy as np
import pytest

from flexarm.formulations.base import Factors, ldl_solve

SEED = 2


def arrow(n: int) -> tuple[np.ndarray, ca.SX]:
    """Make a matrix whose first row is full and whose others have two entries, and its symbols."""
    rng = np.random.default_rng(SEED)
    matrix = np.diag(rng.uniform(n, 2 * n, n))
    matrix[0, 1:] = matrix[1:, 0] = rng.normal(size=n - 1)
    return matrix, ca.SX(ca.sparsify(ca.DM(matrix)))


@pytest.mark.parametrize("shortest", [False, True])
def test_halves_of_a_solution_make_the_whole(shortest: bool) -> None:
    matrix, symbols = arrow(6)
    right = np.random.default_rng(SEED).normal(size=(6, 3))
    factors = Factors.of(symbols, shortest=shortest)
    half = factors.forward(ca.SX(ca.DM(right)))
    scaled = factors.scaled(half)
    expected = np.linalg.solve(matrix, right)
    for found in (factors.back(scaled), ldl_solve(symbols, ca.SX(ca.DM(right)))):
        np.testing.assert_allclose(np.array(ca.DM(found)), expected, rtol=1e-12)
    np.testing.assert_allclose(np.array(ca.DM(half.T @ scaled)), right.T @ expected, rtol=1e-12)


def test_short_rows_first_leave_zeros_alone() -> None:
    """An arrow that is full at its head fills up, and one that is full at its foot does not."""
    _, symbols = arrow(6)
    entries = [
        sum(len(row) for row in Factors.of(symbols, shortest=shortest).lower)
        for shortest in (False, True)
    ]
    assert entries == [15, 5]


def test_nothing_to_eliminate_leaves_nothing() -> None:
    factors = Factors.of(ca.SX(0, 0))
    assert factors.back(factors.scaled(factors.forward(ca.SX(0, 7)))).shape == (0, 7)
