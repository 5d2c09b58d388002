"""Change of basis: same span, diagonal matrices; scaling; refusal of dependent shapes."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from flexarm.arm.shapes import Loaded, ShapeChoice
from flexarm.errors import ShapeError
from flexarm.links import DISCRETISATIONS
from flexarm.links.base import Counts, Direction, Ends, Shapes, Span, SpanCurves
from flexarm.links.basis import diagonalise, own_mass
from tests.links.spans import BARE, Array, curves_of, fitted, frequencies, tapered, uniform

ENDS = Ends((0.02, 0.05, 0.3), 0.7, (0.04, 0.2, 0.15), 0.3)
DIRECTION: tuple[Direction, ...] = ("y", "z", "twist", "x")


@dataclass(frozen=True)
class Power:
    """The curve factor x^n."""

    n: int
    factor: float = 1.0

    def __call__(self, x: Array, nu: int = 0) -> Array:
        """Return the ``nu``-th derivative at every x."""
        falling = float(np.prod([self.n - k for k in range(nu)])) if nu <= self.n else 0.0
        return self.factor * falling * x ** max(self.n - nu, 0)


def powers(span: Span, count: int) -> Shapes:
    """Build the bending shapes x^2, x^3, ..., with their stiffness."""
    curves = fitted(span.edges, [Power(k + 2) for k in range(count)])
    x, weight = span.quadrature(20)
    strain = curves(x, 2)
    stiffness = strain.T @ ((weight * span.at("EIz", x))[:, None] * strain)
    return Shapes(tuple(f"y{k + 1}" for k in range(count)), {"y": (curves,)}, span.edges, stiffness)


def span_of(shapes: Shapes, x: Array) -> Array:
    """Orthonormal basis of all displacements that the shapes can make at places x."""
    stacked = np.concatenate([shapes.values(d, x) for d in DIRECTION])
    return scipy.linalg.orth(stacked / np.linalg.norm(stacked, axis=0), rcond=1e-13)


def off_diagonal(matrix: Array) -> float:
    """Largest entry off the diagonal, relative to the diagonal."""
    size = np.sqrt(np.diag(matrix))
    rest = matrix - np.diag(np.diag(matrix))
    return float(np.abs(rest / np.outer(size, size)).max())


def strain_energy(shapes: Shapes, span: Span) -> Array:
    """Integrate the stiffness matrix from the curves."""
    x, weight = span.quadrature(60, shapes.edges)
    total = np.zeros((shapes.count, shapes.count))
    for direction, name, nu in (
        ("y", "EIz", 2),
        ("z", "EIy", 2),
        ("twist", "GJ", 1),
        ("x", "EA", 1),
    ):
        strain = shapes.values(direction, x, nu)  # type: ignore[arg-type]
        total += strain.T @ ((weight * span.at(name, x))[:, None] * strain)
    return total


def build(kind: str, span: Span) -> Shapes:
    """Build any discretisation but tables with shapes in every direction."""
    choice: ShapeChoice = TypeAdapter(ShapeChoice).validate_python({"kind": kind})
    return DISCRETISATIONS[kind].shapes(choice, span, ENDS, Counts(3, 2, 2, 2))


KINDS = [kind for kind in DISCRETISATIONS if kind != "table"]


@pytest.mark.few(6)
@pytest.mark.parametrize("span", [uniform(1.1, EIy=1.0, EIz=1.0, Jy=0.01, Jz=0.01), tapered()])
@pytest.mark.parametrize("kind", KINDS)
def test_every_basis_becomes_diagonal_and_spans_the_same(kind: str, span: Span) -> None:
    before = build(kind, span)
    after = diagonalise(before, span)
    assert after.names == before.names
    x = np.linspace(0, span.length, 211)
    a, b = span_of(before, x), span_of(after, x)
    assert a.shape == b.shape
    assert np.linalg.norm(a - b @ (b.T @ a)) < 1e-7
    assert off_diagonal(own_mass(after, span)) < 1e-9
    if kind != "lumped":  # its springs are no curvature of the curves
        assert off_diagonal(strain_energy(after, span)) < 1e-7
        assert np.diag(strain_energy(after, span)) == pytest.approx(
            np.diag(after.stiffness), rel=1e-7
        )
    assert off_diagonal(after.stiffness) == 0
    assert frequencies(after, span) == pytest.approx(frequencies(before, span), rel=1e-8)


@pytest.mark.parametrize("count", [2, 4, 6, 8])
def test_monomials_become_diagonal_and_span_the_same(count: int) -> None:
    span = tapered()
    before = powers(span, count)
    after = diagonalise(before, span)
    size = np.sqrt(np.diag(before.stiffness))
    # The stiffness matrix of monomials is only known to rounding times its condition number.
    known = 1e-15 * np.linalg.cond(before.stiffness / np.outer(size, size))
    assert known < 1e-4
    assert off_diagonal(strain_energy(after, span)) < known
    assert off_diagonal(own_mass(after, span)) < known
    x = np.linspace(0, 1.4, 60)
    for values in after.values("y", x).T:
        fit = np.polynomial.Polynomial.fit(x, values, count + 1)
        assert fit(x) == pytest.approx(values, abs=1e-8)


@settings(max_examples=15)
@given(st.lists(st.floats(-1, 1), min_size=9, max_size=9))
def test_shapes_mixed_by_any_regular_matrix_give_back_the_same_diagonal_basis(
    entries: list[float],
) -> None:
    mix = np.eye(3) + 0.3 * np.array(entries).reshape(3, 3)
    span = tapered()
    plain = powers(span, 3)

    mixed = plain.changed(mix)
    x = np.linspace(0, 1.4, 20)
    a, b = (diagonalise(each, span).values("y", x) for each in (plain, mixed))
    assert a == pytest.approx(b, abs=1e-7)


def test_diagonal_shapes_have_unit_tip_and_rising_frequency() -> None:
    span = tapered()
    after = diagonalise(build("elements", span), span)
    tip = np.array([1.4])
    for each in curves_of(after):
        ((_, curve),) = each.items()
        assert curve(tip)[0] == pytest.approx(1, abs=1e-10)
    squares = np.diag(after.stiffness) / np.diag(own_mass(after, span))
    bending = squares[:6]
    assert np.all(np.diff(bending) > 0)


def test_equal_planes_are_not_mixed() -> None:
    span = uniform()
    after = diagonalise(build("clamped-free", span), span)
    assert [set(each) for each in curves_of(after)[:5]] == [{"y"}] * 3 + [{"z"}] * 2


def test_shapes_that_move_in_two_directions_are_treated_together() -> None:
    span = uniform()
    y = fitted(span.edges, [Power(k + 1) for k in (1, 2, 3)])
    oblique: dict[Direction, tuple[SpanCurves, ...]] = {"y": (y,), "z": (y.times(0.5 * np.eye(3)),)}
    empty = Shapes(("bend1", "bend2", "bend3"), oblique, span.edges, np.zeros((3, 3)))
    after = diagonalise(replace(empty, stiffness=strain_energy(empty, span)), span)
    x = np.linspace(0, 1, 9)
    assert after.values("z", x) == pytest.approx(0.5 * after.values("y", x), abs=1e-11)
    assert off_diagonal(own_mass(after, span)) < 1e-10
    assert off_diagonal(strain_energy(after, span)) < 1e-10


def test_measured_mass_and_damping_are_changed_with_the_shapes() -> None:
    span = uniform()
    plain = powers(span, 3)
    mass = own_mass(plain, span)
    mass[0, 0] *= 1.5
    damping = 0.1 * plain.stiffness + 0.2 * mass
    after = diagonalise(replace(plain, mass=mass, damping=damping), span)
    assert after.mass is not None
    assert after.damping is not None
    assert off_diagonal(after.mass) == 0
    assert after.damping == pytest.approx(0.1 * after.stiffness + 0.2 * after.mass, abs=1e-9)
    before = np.sort(scipy.linalg.eigh(plain.stiffness, mass, eigvals_only=True))
    assert np.diag(after.stiffness) / np.diag(after.mass) == pytest.approx(before, rel=1e-9)


def test_dependent_shapes_are_refused_by_name() -> None:
    span = uniform()
    curves = fitted(span.edges, [Power(2), Power(2, 3.0)])
    stiffness = np.array([[4.0, 12.0], [12.0, 36.0]])
    shapes = Shapes(("y1", "y2"), {"y": (curves,)}, span.edges, stiffness)
    with pytest.raises(ShapeError, match=r"shapes y1, y2 are linearly dependent"):
        diagonalise(shapes, span)
    with pytest.raises(ShapeError, match=r"shapes y1 are linearly dependent, or have no stiffness"):
        diagonalise(replace(shapes.some([0]), stiffness=np.zeros((1, 1))), span)


def test_own_mass_agrees_with_closed_form() -> None:
    span = uniform(2.0, mass_per_length=3.0, Jz=0.4)
    mass = own_mass(powers(span, 2), span)
    # int mu x^(i+j) + J i j x^(i+j-2) over 0..2, i, j = 2, 3.
    exact = [[3.0 * 2**(i + j + 1) / (i + j + 1) + 0.4 * i * j * 2**(i + j - 1) / (i + j - 1)
              for j in (2, 3)] for i in (2, 3)]  # fmt: skip
    assert mass == pytest.approx(np.array(exact), rel=1e-13)


def test_no_shapes_stay_no_shapes() -> None:
    empty = DISCRETISATIONS["loaded"].shapes(Loaded(), uniform(), BARE, Counts(0, 0, 0, 0))
    after = diagonalise(empty, uniform())
    assert after.names == ()
    assert after.stiffness.shape == (0, 0)
    assert list(after.edges) == [0.0, 1.0]
