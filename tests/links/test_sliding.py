"""Shapes of a sliding link: the fit over its length, and derivatives that follow the material."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import quad, quad_vec

from flexarm.arm import shapes as choices
from flexarm.errors import ShapeError
from flexarm.links import discretisation
from flexarm.links.base import Counts, Curve, Direction, Ends, Shape, Shapes
from flexarm.links.sliding import SlidingShapes, fixed_shapes, follow_length
from flexarm.links.sliding_curves import (
    SlidingCurves,
    curvature_forms,
    length_factors,
    sliding_curves,
    sliding_points,
)
from tests.links.spans import HELD, uniform

Array = npt.NDArray[np.float64]
TOTAL, RANGE = 1.3, (0.25, 1.1)
PROPERTIES = {"mass_per_length": 0.331, "EIy": 900.0, "EIz": 1165.0, "GJ": 400.0, "EA": 5e5}
DIRECTIONS: tuple[Direction, ...] = ("y", "z", "twist", "x")
STRAIN: dict[Direction, int] = {"y": 2, "z": 2, "twist": 1, "x": 1}
LENGTHS = np.random.default_rng(7).uniform(*RANGE, 3).tolist()


def clamped_mass(length: float) -> Shapes:
    """Build clamped-mass modes of a link of given length with a payload."""
    choice = choices.ClampedMass.model_validate({"kind": "clamped-mass"})
    ends = Ends(HELD, 0.0828, (0.002, 0.0, 0.0))
    span = uniform(length, Jx=1e-3, **PROPERTIES)
    return discretisation("clamped-mass").shapes(choice, span, ends, Counts(2, 2, 1, 1))


def elements(length: float) -> Shapes:
    """Build two beam elements per plane of a link of given length."""
    choice = choices.Elements.model_validate({"kind": "elements"})
    ends = Ends(HELD, 0.0, (0.0, 0.0, 0.0))
    span = uniform(length, **PROPERTIES)
    return discretisation("elements").shapes(choice, span, ends, Counts(2, 1, 1, 1))


BUILD: dict[str, Callable[[float], Shapes]] = {"modes": clamped_mass, "elements": elements}


@cache
def followed(kind: str) -> SlidingShapes:
    """Fit shapes over the range of lengths."""
    return follow_length(BUILD[kind], uniform(TOTAL, Jx=1e-3, **PROPERTIES), RANGE)


@cache
def proportional() -> SlidingShapes:
    """Stretch the modes of 0.6 m in proportion."""
    return fixed_shapes(clamped_mass(0.6), 0.6, uniform(TOTAL, Jx=1e-3, **PROPERTIES), RANGE)


def shapes_named(kind: str) -> SlidingShapes:
    """Give the shapes of a kind of test case."""
    return proportional() if kind == "proportional" else followed(kind)


@pytest.mark.parametrize("kind", BUILD)
@pytest.mark.parametrize("length", [*LENGTHS, *RANGE])
def test_fit_is_the_shapes_built_at_that_length(kind: str, length: float) -> None:
    fit, built = followed(kind).at(length), BUILD[kind](length)
    assert fit.names == built.names
    assert fit.edges == pytest.approx(built.edges, rel=1e-14)
    x = np.linspace(0, length, 41) * (1 - 1e-12)
    for direction in DIRECTIONS:
        # up to the strain of a direction; each derivative of the fitted series loses digits
        for nu, tolerance in ((0, 1e-12), (1, 1e-11), (2, 1e-8))[: STRAIN[direction] + 1]:
            reference = built.values(direction, x, nu)
            size = np.abs(reference).max()
            assert fit.values(direction, x, nu) == pytest.approx(reference, abs=tolerance * size)


@pytest.mark.parametrize("kind", [*BUILD, "proportional"])
def test_shape_moves_in_its_own_direction_only(kind: str) -> None:
    # what is not exactly zero costs operations in every equation
    moved = {shape.name: set(shape.curves) for shape in shapes_named(kind).at(0.7).shapes}
    own = {"y": "y", "z": "z", "twist": "twist", "stretch": "x"}
    for name, directions in moved.items():
        label = name.split(".")[-1].removeprefix("slope_").rstrip("0123456789")
        assert directions == {own[label]}, name


@pytest.mark.parametrize("kind", BUILD)
@pytest.mark.parametrize("length", LENGTHS)
def test_stiffness_of_the_fit_is_that_of_the_shapes_built_at_that_length(
    kind: str, length: float
) -> None:
    stiffness = BUILD[kind](length).stiffness
    size = np.sqrt(np.diag(stiffness))
    found = followed(kind).at(length).stiffness / np.outer(size, size)
    assert found == pytest.approx(stiffness / np.outer(size, size), abs=1e-11)


def test_shapes_that_do_not_follow_keep_their_form() -> None:
    built, length = clamped_mass(0.6), 1.07
    stretched = proportional().at(length)
    x = np.linspace(0, 0.6, 23)
    for direction in DIRECTIONS:
        for nu, tolerance in ((0, 1e-13), (1, 1e-11), (2, 1e-8))[: STRAIN[direction] + 1]:
            expected = built.values(direction, x, nu) * (0.6 / length) ** nu
            found = stretched.values(direction, x * length / 0.6, nu)
            assert found == pytest.approx(expected, abs=tolerance * np.abs(expected).max())


def test_stiffness_of_stretched_shapes_falls_with_the_length() -> None:
    # bending like l^-3, torsion and stretch like l^-1
    near, far = proportional().at(0.3).stiffness, proportional().at(0.9).stiffness
    ratio = np.diag(near) / np.diag(far)
    assert ratio == pytest.approx([27.0] * 4 + [3.0] * 2, rel=1e-11)


@pytest.mark.parametrize("kind", [*BUILD, "proportional"])
@pytest.mark.parametrize("length", [0.2499, 1.1001, 0.0, -1.0, float("nan")])
def test_length_out_of_range_is_refused(kind: str, length: float) -> None:
    with pytest.raises(ShapeError, match=r"outside 0.25 to 1.1 m"):
        shapes_named(kind).at(length)


class _Ripple:
    """A curve that depends on the length of its link too fast to be fitted."""

    def __init__(self, length: float) -> None:
        self.length = length

    def __call__(self, x: Array, nu: int = 0) -> Array:
        return np.asarray(x**2 * np.sin(400 * self.length))


def test_shapes_that_change_too_fast_with_the_length_are_refused_with_advice() -> None:
    def build(length: float) -> Shapes:
        curve: Curve = _Ripple(length)
        return Shapes((Shape("y1", {"y": curve}),), np.array([0.0, length]), np.eye(1))

    with pytest.raises(ShapeError, match=r"0\.25 to 1\.1 m.*limits\.lower"):
        follow_length(build, uniform(TOTAL), RANGE)


@cache
def curves_at(kind: str, length: float, material: float) -> SlidingCurves:
    """Evaluate the section at a distance from the beam's inner end."""
    shapes, exposed = shapes_named(kind), ca.DM(length)
    xi = (material - (TOTAL - length)) / length
    return sliding_curves(shapes, exposed, length_factors(shapes, exposed), xi)


def slope_by_differences(function: Callable[[float], Array], at: float) -> Array:
    """Differentiate by the fourth-order central difference."""
    h = 4e-4
    near, far = (function(at + k * h) - function(at - k * h) for k in (1, 2))
    return (8 * near - far) / (12 * h)


def field_of(kind: str, field: str, material: float) -> Callable[[float], Array]:
    """Follow a field of one material section over the exposed length."""
    return lambda length: np.array(getattr(curves_at(kind, length, material), field))


@pytest.mark.parametrize("field", ["shape", "angle", "drawn"])
@pytest.mark.parametrize("kind", [*BUILD, "proportional"])
def test_derivative_by_the_length_follows_the_material(kind: str, field: str) -> None:
    length = 0.71
    # just out of the hub, on both sides of the middle node of the elements, near and at the tip
    pairs = []
    for material in (0.6, 0.9, 1.0, 1.21, TOTAL):
        found = np.array(getattr(curves_at(kind, length, material), f"{field}_l"))
        pairs.append((found, slope_by_differences(field_of(kind, field, material), length)))
    size = max(np.abs(expected).max() for _, expected in pairs)
    assert size > 0.1
    for found, expected in pairs:
        assert found == pytest.approx(expected, abs=1e-9 * size)


@pytest.mark.parametrize("kind", [*BUILD, "proportional"])
def test_section_has_the_values_of_a_link_of_that_length(kind: str) -> None:
    shapes, length, material = shapes_named(kind), 0.71, 1.21
    x = material - (TOTAL - length)
    curves, frozen = curves_at(kind, length, material), shapes.at(length)
    at = np.array([x])
    moved, turned = frozen.displacement(at)[0], frozen.rotation(at)[0]
    assert np.array(curves.shape) == pytest.approx(moved, abs=1e-13)
    assert np.array(curves.angle) == pytest.approx(turned, abs=1e-12 * np.abs(turned).max())

    def density(s: float) -> Array:
        place = np.array([s])
        v, w = frozen.values("y", place, 1)[0], frozen.values("z", place, 1)[0]
        return np.outer(v, v) + np.outer(w, w)

    breaks = [*[float(edge) for edge in frozen.edges if edge < x], x]
    areas = [quad_vec(density, *pair, epsabs=1e-12, epsrel=1e-12)[0] for pair in pairwise(breaks)]
    drawn = np.array(curves.drawn)
    assert drawn == pytest.approx(sum(areas), abs=1e-11 * np.abs(drawn).max())


def test_root_neither_moves_nor_turns_and_draws_nothing_in() -> None:
    curves = curves_at("modes", 0.71, TOTAL - 0.71)
    for field, tolerance in (("shape", 1e-13), ("angle", 1e-10), ("drawn", 0.0)):
        assert np.array(getattr(curves, field)) == pytest.approx(0, abs=tolerance)
    # the root's curvature sets in as the section leaves the hub
    size = np.abs(followed("modes").at(0.71).values("y", np.zeros(1), 2)).max()
    assert np.abs(np.array(curves.angle_l)[2]).max() == pytest.approx(size, rel=1e-8)


def test_shift_follows_the_material_to_first_order() -> None:
    shapes, xi, length = followed("modes"), 0.63, ca.DM(0.8)
    shift = ca.SX.sym("shift")
    factors = length_factors(shapes, length)
    moved = sliding_curves(shapes, length, factors, xi, shift=shift)
    h = 1e-3

    def at(place: float, field: str) -> Array:
        return np.array(getattr(sliding_curves(shapes, length, factors, place), field))

    for field in ("shape", "angle", "drawn", "shape_l", "angle_l", "drawn_l"):
        value = getattr(moved, field)
        rate = ca.Function("rate", [shift], [ca.jacobian(value, shift), value])
        slope, here = (np.array(v) for v in rate(0))
        assert here == pytest.approx(at(xi, field), abs=1e-15 + 1e-14 * np.abs(here).max())
        near, far = (at(xi + k * h, field) - at(xi - k * h, field) for k in (1, 2))
        expected = ((8 * near - far) / (12 * h)).T.reshape(-1, 1)
        assert slope == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


def test_shortening_is_left_out_where_it_is_not_wanted() -> None:
    shapes, length = followed("elements"), ca.DM(0.8)
    curves = sliding_curves(shapes, length, length_factors(shapes, length), 0.6, drawn=False)
    assert not np.array(curves.drawn).any()
    assert not np.array(curves.drawn_l).any()


@pytest.mark.parametrize("kind", [*BUILD, "proportional"])
def test_quadrature_points_give_the_stiffness_at_every_length(kind: str) -> None:
    shapes, length = shapes_named(kind), 0.53
    total = np.zeros((len(shapes.names),) * 2)
    for weight, _, curvature, strain in curvature_forms(shapes, ca.DM(length)):
        bent, drawn = np.array(curvature), np.array(strain)
        for row, name in ((bent[0], "EIz"), (bent[1], "EIy"), (drawn[0], "GJ"), (drawn[1], "EA")):
            total += weight * length * PROPERTIES[name] * np.outer(row, row)
    built = shapes.at(length).stiffness if kind == "proportional" else BUILD[kind](length).stiffness
    size = np.sqrt(np.diag(built))
    assert total / np.outer(size, size) == pytest.approx(built / np.outer(size, size), abs=1e-10)


@pytest.mark.parametrize("kind", BUILD)
def test_quadrature_points_integrate_products_of_four_slopes(kind: str) -> None:
    shapes, length = followed(kind), 0.8
    frozen = shapes.at(length)
    points = [
        (weight * length, np.array(slopes))
        for weight, slopes, _, _ in curvature_forms(shapes, ca.DM(length))
    ]
    found = sum(weight * (row[0] @ AMPLITUDES[: row.shape[1]]) ** 4 for weight, row in points)

    def density(x: float) -> float:
        slope = frozen.values("y", np.array([x]), 1)[0]
        return float(slope @ AMPLITUDES[: len(slope)]) ** 4

    inner = [float(e) for e in frozen.edges[1:-1]] or None
    expected = quad(density, 0, length, points=inner, epsabs=0, epsrel=1e-12)[0]
    assert found == pytest.approx(expected, rel=1e-10)
    assert sliding_points(shapes)[1].sum() == pytest.approx(1, rel=1e-14)


AMPLITUDES = np.array([0.3, -0.2, 0.5, 0.1, -0.4, 0.2, 0.7, 0.6])
