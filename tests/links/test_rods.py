"""Rod eigenvalues and shapes against printed digits, their equations and orthogonality."""

import math

import numpy as np
import pytest

from flexarm.errors import ShapeError
from flexarm.links.beams.rods import rod_roots, rod_shape


@pytest.mark.parametrize(
    ("ratio", "printed"),
    [
        (0.1, "1.42887001121 4.30580141312 7.22810977163"),
        (1.0, "0.860333589019 3.42561845948 6.43729817917"),
    ],
)
def test_tip_inertia_eigenvalues_agree_with_every_printed_digit(ratio: float, printed: str) -> None:
    for value, text in zip(rod_roots(3, tip_ratio=ratio).tolist(), printed.split(), strict=True):
        assert round(value, len(text.partition(".")[2])) == float(text)


def test_bare_rods_have_odd_multiples_of_half_pi() -> None:
    n = np.arange(1, 41)
    np.testing.assert_allclose(rod_roots(40), (2 * n - 1) * math.pi / 2, rtol=4e-16)


@pytest.mark.parametrize("ratio", [1e-20, 1e-6, 0.3, 1.0, 50.0, 1e6, 1e12])
def test_eigenvalues_solve_their_equation_once_per_branch(ratio: float) -> None:
    roots = rod_roots(30, tip_ratio=ratio)
    np.testing.assert_array_equal(np.floor(roots / math.pi + 1e-9), np.arange(30))
    b = np.array([roots * (1 - 1e-14), roots * (1 + 1e-14)])
    residual = np.cos(b) - ratio * b * np.sin(b)
    assert np.all(residual[0] * residual[1] < 0)


def test_a_heavy_tip_turns_on_the_rod_as_on_a_spring() -> None:
    assert rod_roots(1, tip_ratio=1e10)[0] == pytest.approx(1e-5, rel=1e-10)


@pytest.mark.parametrize("ratio", [0.0, 0.1, 1.0, 1e6])
def test_shapes_are_orthonormal_with_the_tip_and_diagonal_in_energy(ratio: float) -> None:
    nodes, weights = np.polynomial.legendre.leggauss(120)
    xi, weights = (nodes + 1) / 2, weights / 2
    roots = rod_roots(15, tip_ratio=ratio)
    shapes = [rod_shape(b, tip_ratio=ratio) for b in roots.tolist()]
    inside = np.array([s.evaluate(xi) for s in shapes])
    strain = np.array([s.evaluate(xi, 1) for s in shapes])
    tip = np.array([s.evaluate(1.0) for s in shapes])
    assert np.all(tip > 0)
    mass = (inside * weights) @ inside.T + ratio * np.outer(tip, tip)
    np.testing.assert_allclose(mass, np.eye(15), rtol=0, atol=1e-11)
    energy = (strain * weights) @ strain.T / np.outer(roots, roots)
    np.testing.assert_allclose(energy, np.eye(15), rtol=0, atol=1e-11)


def test_derivatives_belong_to_each_other_and_to_the_ends() -> None:
    b = rod_roots(3, tip_ratio=0.4)[2]
    shape = rod_shape(b, tip_ratio=0.4)
    xi, h = np.linspace(0.1, 0.9, 5), 1e-4
    for nu in range(3):
        slope = (shape.evaluate(xi + h, nu) - shape.evaluate(xi - h, nu)) / (2 * h)
        np.testing.assert_allclose(shape.evaluate(xi, nu + 1), slope, rtol=1e-5, atol=1e-4)
    assert shape.evaluate(0.0) == pytest.approx(0, abs=1e-14)
    assert shape.evaluate(1.0, 1) == pytest.approx(0.4 * b**2 * shape.evaluate(1.0), rel=1e-12)


def test_wrong_requests_are_refused() -> None:
    with pytest.raises(ShapeError, match="count: expected at least 1"):
        rod_roots(0)
    with pytest.raises(ShapeError, match="tip_ratio: expected a finite number >= 0, got -1"):
        rod_roots(1, tip_ratio=-1.0)
    with pytest.raises(ShapeError, match=r"is no eigenvalue .* take it from rod_roots"):
        rod_shape(1.5)
    with pytest.raises(ShapeError, match="derivative: expected 0, 1, 2 or 3, got 4"):
        rod_shape(math.pi / 2).evaluate(0.5, 4)
