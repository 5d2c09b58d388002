"""Polynomials: what they span, and how fast they converge."""

import numpy as np
import pytest

from flexarm import build
from flexarm.errors import ModelError
from tests.linear.linear_arms import one_link

EXACT = np.array([1.87510406871, 4.69409113297, 7.85475743824]) ** 2  # clamped-free


def own_frequencies(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Find the frequencies of the shapes, which are modes of their span [rad/s]."""
    arm = one_link(shapes=f"{{kind: polynomials, bending_y: {count}}}")
    elastic = build(arm).links[0].beam
    assert elastic is not None
    ratio = np.diag(elastic.integrals.stiffness) / np.diag(elastic.integrals.modal_mass)
    return np.sqrt(ratio)


def test_they_converge_to_the_modes_from_above_and_faster_than_any_power() -> None:
    errors = [own_frequencies(count)[0] / EXACT[0] - 1 for count in (2, 4, 6)]
    assert errors[0] == pytest.approx(4.8e-3, rel=0.05)  # as one Hermite element
    assert 0 < errors[1] < 1e-3 * errors[0]
    assert abs(errors[2]) < 1e-9
    assert own_frequencies(10)[:3] == pytest.approx(EXACT, rel=1e-7)


def test_they_span_the_powers_of_the_distance_from_the_root() -> None:
    arm = one_link(
        section="mass_per_length: 1, EIz: 1, GJ: 1, Jx: 1",
        shapes="{kind: polynomials, bending_y: 5, torsion: 3}",
    )
    elastic = build(arm).links[0].beam
    assert elastic is not None
    x = np.linspace(0, 1, 30)
    for direction, powers in (("y", range(2, 7)), ("twist", range(1, 4))):
        values = elastic.shapes.values(direction, x)  # type: ignore[arg-type]
        for power in powers:
            used = values[:, np.any(values, axis=0)]
            (left,) = np.linalg.lstsq(used, x**power, rcond=None)[1]
            assert left < 1e-20


def test_static_shapes_are_among_them() -> None:
    with pytest.raises(ModelError, match="polynomials shapes include static shapes already"):
        build(one_link(shapes="{kind: polynomials, bending_y: 3, static: true}"))


def test_a_sliding_link_can_have_them() -> None:
    arm = one_link(
        joint="{kind: sliding, limits: {lower: 0.4, upper: 1}, start: {position: 0.8}}",
        shapes="{kind: polynomials, bending_y: 3}",
    )
    assert build(arm).size == 4
