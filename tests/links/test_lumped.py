"""Lumped springs: stiffness, shapes, and how slowly they converge."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from flexarm.arm import shapes as choices
from flexarm.links.base import Counts, Direction, Shapes, Span
from flexarm.links.families.spans import LumpedShapes
from tests.links.spans import BARE, frequencies, measured_order, tapered, uniform


def lumped(span: Span, counts: Counts) -> Shapes:
    """Build lumped shapes."""
    return LumpedShapes().shapes(choices.Lumped(kind="lumped"), span, BARE, counts)


def test_one_spring_is_a_hinge_in_the_middle() -> None:
    shapes = lumped(uniform(2.0, EIz=3.0), Counts(1, 0, 0, 0))
    assert shapes.names == ("y1",)
    x = np.array([0.0, 0.5, 0.99, 1.01, 1.5, 2.0])
    assert shapes.values("y", x)[:, 0] == pytest.approx(np.maximum(x - 1, 0), abs=1e-15)
    assert shapes.values("y", x, 1)[:, 0] == pytest.approx(1.0 * (x > 1))
    assert np.all(shapes.values("y", x, 2) == 0)
    assert shapes.stiffness == pytest.approx(np.array([[1.5]]))
    assert list(shapes.edges) == [0.0, 1.0, 2.0]


def test_twist_and_stretch_jump_at_the_springs() -> None:
    shapes = lumped(uniform(GJ=2.0, EA=5.0), Counts(0, 0, 2, 4))
    assert shapes.names == ("twist1", "twist2", *(f"stretch{k}" for k in range(1, 5)))
    x = np.array([0.1, 0.3, 0.7, 0.9])
    assert shapes.values("twist", x)[:, 0] == pytest.approx([0, 1, 1, 1])
    assert shapes.values("twist", x)[:, 1] == pytest.approx([0, 0, 0, 1])
    assert shapes.values("x", x)[:, 4] == pytest.approx([0, 0, 1, 1])
    assert np.diag(shapes.stiffness) == pytest.approx([4, 4, 20, 20, 20, 20])


@pytest.mark.parametrize(
    ("direction", "name"), [("y", "EIz"), ("z", "EIy"), ("twist", "GJ"), ("x", "EA")]
)
def test_springs_are_as_compliant_as_their_segments(direction: Direction, name: str) -> None:
    span, n = tapered(), 3
    counts = Counts(*(n * (direction == d) for d in ("y", "z", "twist", "x")))
    stiffness = np.diag(lumped(span, counts).stiffness)
    ends = np.linspace(0, 1.4, n + 1)
    for k in range(n):
        compliance = quad(
            lambda x: 1 / float(span.at(name, np.array([x]))[0]), ends[k], ends[k + 1],
            points=[0.5] if ends[k] < 0.5 < ends[k + 1] else None, epsrel=1e-12,
        )[0]  # fmt: skip
        assert 1 / stiffness[k] == pytest.approx(compliance, rel=1e-10)


@pytest.mark.parametrize("counts", [Counts(1, 0, 0, 0), Counts(0, 0, 1, 0), Counts(0, 0, 0, 1)])
def test_first_frequencies_converge_at_order_2(counts: Counts) -> None:
    exact = 1.87510406871**2 if counts.y else math.pi / 2
    errors = []
    for n in (8, 16, 32):
        many = Counts(n * counts.y, 0, n * counts.twist, n * counts.x)
        errors.append(abs(frequencies(lumped(uniform(), many), uniform())[0] - exact))
    assert measured_order(errors, 2) == pytest.approx(2, abs=0.05)


def test_tip_slope_under_a_tip_moment_is_exact_for_any_number_of_springs() -> None:
    span = tapered()
    exact = quad(
        lambda x: 1 / float(span.at("EIz", np.array([x]))[0]), 0, 1.4, points=[0.5], epsrel=1e-12
    )[0]
    for n in (1, 2, 7):
        shapes = lumped(span, Counts(n, 0, 0, 0))
        slope = shapes.values("y", np.array([1.4]), 1)[0]
        assert slope @ np.linalg.solve(shapes.stiffness, slope) == pytest.approx(exact, rel=1e-10)
