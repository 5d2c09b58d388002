"""Static shapes beside modes: their stiffness is that of their own curves."""

import numpy as np
import pytest

from flexarm import build
from tests.linear.linear_arms import one_link
from tests.links.static_reference import static_shapes


@pytest.mark.parametrize(
    ("kind", "count", "density"),
    [
        ("clamped-mass", 8, 0.5),
        ("loaded", 2, 0.5),
        ("loaded", 2, 5e-7),  # modes of a link without mass would be the static shapes
        *(
            pytest.param(kind, count, 0.5, marks=pytest.mark.campaign)
            for kind, count in (
                ("clamped-mass", 2), ("loaded", 8), ("clamped-free", 2), ("clamped-free", 8)
            )
        ),
    ],
)  # fmt: skip
def test_their_stiffness_is_that_of_their_curvature(kind: str, count: int, density: float) -> None:
    """However little the modes leave of them."""
    arm = one_link(
        section=f"mass_per_length: {density}, EIz: 30",
        shapes=f"{{kind: {kind}, bending_y: {count}, static: true}}",
        rest="payload: {mass: 1, com: [0.1, 0, 0], inertia: [1e-3, 2e-3, 3e-3]}",
    )
    elastic = build(arm).links[0].beam
    assert elastic is not None
    places, weights = np.polynomial.legendre.leggauss(80)
    length = elastic.span.length
    curvature = elastic.shapes.values("y", (places + 1) / 2 * length, 2)
    assert curvature.shape[1] == count + 2
    expected = 30 * length / 2 * (curvature.T * weights) @ curvature
    size = np.sqrt(np.diag(expected))
    apart = (elastic.integrals.stiffness - expected) / np.outer(size, size)
    assert np.abs(apart).max() < 1e-12


def test_none_are_added_where_only_rounding_is_left_of_them() -> None:
    arm = one_link(
        section="mass_per_length: 1e-15, EIz: 30",
        shapes="{kind: loaded, root: held, bending_y: 2, static: true}",
        rest="payload: {mass: 1, inertia: [0.1, 0.1, 0.02]}",
    )
    elastic = build(arm).links[0].beam
    assert elastic is not None
    assert elastic.shapes.names == ("y1", "y2")


def test_they_are_right_to_rounding() -> None:
    count = 4
    arm = one_link(
        section="mass_per_length: 0.5, EIz: 30",
        shapes=f"{{kind: clamped-mass, bending_y: {count}, static: true}}",
        rest="payload: {mass: 1, com: [0.1, 0, 0], inertia: [1e-3, 2e-3, 3e-3]}",
    )
    body = (1.0, 0.1, 3e-3 + 0.01)
    expected = static_shapes(mass_per_length=0.5, EI=30, tip=body, modes=count)
    elastic = build(arm).links[0].beam
    assert elastic.tip_shape[1] == pytest.approx(1.0, abs=1e-12)
    values = (elastic.integrals.stiffness, elastic.integrals.modal_mass)
    found = np.stack([*(np.diag(each) for each in values), elastic.tip_angle[2]], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
