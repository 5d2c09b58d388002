"""Shapes of a sliding link: the fit over its length, and derivatives that follow the material."""

from collections.abc import Callable
from functools import cache

import casadi as ca
import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import quad_vec

from flexarm.arm import shapes as choices
from flexarm.errors import ShapeError
from flexarm.links import discretisation
from flexarm.links.base import Counts, Direction, Ends, Shapes
from flexarm.links.fields import AXES, Field, Functions, evaluate
from flexarm.links.growing.fields import GrowingNodes, SlidingMotion, length_factor
from flexarm.links.growing.shapes import SlidingShapes, fixed_shapes, follow_length
from flexarm.mechanics.bodies.exact.motion import AxisMotion
from tests.links.spans import HELD, curves_of, fitted, uniform

Array = npt.NDArray[np.float64]
TOTAL, RANGE = 1.3, (0.25, 1.1)
PROPERTIES = {"mass_per_length": 0.331, "EIy": 900.0, "EIz": 1165.0, "GJ": 400.0, "EA": 5e5}
DIRECTIONS: tuple[Direction, ...] = ("y", "z", "twist", "x")
STRAIN: dict[Direction, int] = {"y": 2, "z": 2, "twist": 1, "x": 1}
AMPLITUDES = np.array([0.03, -0.02, 0.05, 0.01, -0.04, 0.02, 0.07, 0.06])
BENDING: tuple[Direction, ...] = ("y", "z")
STEP = 5e-4
NODES = 28  # of exact beams, beyond the number of shapes: all but the continuum
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


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", BUILD)
@pytest.mark.parametrize("length", [LENGTHS[0], *RANGE])
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
    there = shapes_named(kind).at(0.7)
    moved = {name: set(each) for name, each in zip(there.names, curves_of(there), strict=True)}
    own = {"y": "y", "z": "z", "twist": "twist", "stretch": "x"}
    for name, directions in moved.items():
        label = name.split(".")[-1].removeprefix("slope_").rstrip("0123456789")
        assert directions == {own[label]}, name


@pytest.mark.parametrize("kind", ["elements", "proportional"])
def test_shapes_that_the_length_only_scales_are_made_of_one_curve_each(kind: str) -> None:
    # so that factors are as sparse as they can be: each entry costs operations in every equation
    shapes = shapes_named(kind)
    used = {d: np.any(series, axis=0) for d, series in shapes.factors.items()}
    assert sum(int(table.sum()) for table in used.values()) == len(shapes.names)
    for direction, table in used.items():
        assert np.all(table.sum(axis=1) == 1), direction


def test_deflections_of_nodes_do_not_scale_and_their_slopes_scale_with_the_length() -> None:
    shapes, length = followed("elements"), ca.SX.sym("l")
    factor = length_factor(shapes, "y", length)
    entries = list(zip(*factor.sparsity().get_triplet(), strict=True))
    assert len(entries) == 4
    for k, j in entries:
        expected = length if "slope" in shapes.names[j] else ca.SX(1)
        assert ca.is_equal(factor[k, j], expected), shapes.names[j]


def test_beam_elements_stay_cubic() -> None:
    # rounding in higher degrees would grow with every derivative
    parents = followed("elements").parents
    assert not np.any(parents["y"][:, :, 4:])
    assert not np.any(parents["twist"][:, :, 2:])
    for length in LENGTHS:
        fit, built = followed("elements").at(length), elements(length)
        x = np.linspace(0, length, 41) * (1 - 1e-12)
        for direction in DIRECTIONS:
            bend = built.values(direction, x, STRAIN[direction])
            found = fit.values(direction, x, STRAIN[direction])
            assert found == pytest.approx(bend, abs=1e-13 * np.abs(bend).max())


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


def test_meshes_of_two_directions_share_nodes_at_every_length() -> None:
    """Half of 6 elements is a node of 2, but for rounding, which is another at each length."""
    choice = choices.Elements.model_validate({"kind": "elements"})
    ends, planes = Ends(HELD, 0.0, (0.0, 0.0, 0.0)), tuple[Direction, ...](("y", "z"))

    def build(length: float) -> Shapes:
        span = uniform(length, **PROPERTIES)
        return discretisation("elements").shapes(choice, span, ends, Counts(6, 2, 0, 0))

    found = follow_length(build, uniform(TOTAL, **PROPERTIES), RANGE)
    np.testing.assert_allclose(found.edges, np.arange(7) / 6, atol=1e-15)
    x = np.linspace(0, 0.7, 50)
    for direction in planes:
        exact = build(0.7).values(direction, x)
        assert found.at(0.7).values(direction, x) == pytest.approx(exact, abs=1e-12)


def test_many_modes_are_fitted_or_refused() -> None:
    """Beyond some 16 their waves are shorter than a Legendre series of degree 40 follows."""
    span, choice = uniform(1.0, **PROPERTIES), choices.ClampedFree(kind="clamped-free")
    ends, x = Ends(HELD, 0.0, (0.0, 0.0, 0.0)), np.linspace(0, 1, 301)
    fewer, more = (
        discretisation("clamped-free").shapes(choice, span, ends, Counts(count, 0, 0, 0))
        for count in (15, 20)
    )
    found = fixed_shapes(fewer, 1.0, uniform(TOTAL, **PROPERTIES), RANGE).at(1.0)
    for nu, off in ((0, 1e-6), (2, 1e-3)):
        exact = fewer.values("y", x, nu)
        assert np.all(np.abs(found.values("y", x, nu) - exact) < off * np.abs(exact).max(axis=0))
    with pytest.raises(ShapeError, match=r"too many waves for a sliding link. Take at most 15"):
        fixed_shapes(more, 1.0, uniform(TOTAL, **PROPERTIES), RANGE)


def test_stiffness_of_stretched_shapes_falls_with_the_length() -> None:
    # bending like l^-3, torsion and stretch like l^-1
    near, far = proportional().at(0.3).stiffness, proportional().at(0.9).stiffness
    ratio = np.diag(near) / np.diag(far)
    assert ratio == pytest.approx([27.0] * 4 + [3.0] * 2, rel=1e-11)


@pytest.mark.parametrize("kind", [*BUILD, "proportional"])
@pytest.mark.parametrize("length", [0.2499, 1.1001, 0.0, -1.0, float("nan")])
def test_length_out_of_range_is_refused(kind: str, length: float) -> None:
    with pytest.raises(ShapeError, match=r"outside its range 0.25 to 1.1 m"):
        shapes_named(kind).at(length)


class _Ripple:
    """A curve that depends on the length of its link too fast to be fitted."""

    def __init__(self, length: float) -> None:
        self.length = length

    def __call__(self, x: Array, nu: int = 0) -> Array:
        return np.asarray(x**2 * np.sin(400 * self.length))


def test_shapes_that_change_too_fast_with_the_length_are_refused_with_advice() -> None:
    def build(length: float) -> Shapes:
        edges = np.array([0.0, length])
        return Shapes(("y1",), {"y": (fitted(edges, [_Ripple(length)]),)}, edges, np.eye(1))

    with pytest.raises(ShapeError, match=r"0\.25 to 1\.1 m.*limits\.lower"):
        follow_length(build, uniform(TOTAL), RANGE)


def own_state(kind: str, length: float) -> Array:
    """Give exposed length and amplitudes of some size."""
    return np.concatenate([[length], AMPLITUDES[: len(shapes_named(kind).names)]])


@cache
def coefficients(
    kind: str, stiffening: bool
) -> tuple[SlidingMotion, Callable[[Array], Functions], ca.Function]:
    """Trace the fields of displacement and angles: value, columns and bias per axis."""
    count = len(shapes_named(kind).names) + 1
    own, rates = ca.SX.sym("own", count), ca.SX.sym("rates", count)
    shapes = shapes_named(kind)
    motion = SlidingMotion(shapes, own, rates)
    displacement, functions = motion.displacement(), motion.displacement_functions
    if stiffening:
        nodes = GrowingNodes.of(shapes, NODES)
        displacement, functions = AxisMotion.at(nodes, motion.amounts()).field(), nodes.functions
    outputs = []
    for moving in (displacement, motion.rotation()):
        fields = [moving.value, *moving.columns, moving.bias]
        outputs += [ca.horzcat(*[field.of(axis) for field in fields]) for axis in AXES]
    return motion, functions, ca.Function("fields", [own, rates], outputs)


def section_of(
    kind: str, stiffening: bool, material: float, own: Array, rates: Array
) -> tuple[Array, Array]:
    """Evaluate displacement and angles at a distance from the beam's inner end.

    Each is (3, k + 2): its value, its columns, its bias.
    """
    motion, displaced, function = coefficients(kind, stiffening)
    parts = [np.array(part) for part in function(own, rates)]
    xi = np.array([(material - (TOTAL - own[0])) / own[0]])
    both = displaced(xi), motion.rotation_functions(xi)
    rows = [functions[axis][:, 0] for functions in both for axis in AXES]
    values = np.stack([row @ part for row, part in zip(rows, parts, strict=True)])
    return values[:3], values[3:]


def check_against_differences(
    kind: str, stiffening: bool, material: float, velocity: Array
) -> None:  # fmt: skip
    """Compare velocity and acceleration of a material section with differences over time."""
    start = own_state(kind, 0.71)

    def at(steps: int, rates: Array) -> Array:
        state = start + steps * STEP * velocity
        return np.concatenate(section_of(kind, stiffening, material, state, rates))

    back2, back, here, near, near2 = (at(k, 0 * velocity)[:, 0] for k in range(-2, 3))
    rate = (8 * (near - back) - (near2 - back2)) / (12 * STEP)
    second = (16 * (near + back) - (near2 + back2) - 30 * here) / (12 * STEP**2)
    values = at(0, velocity)
    size = max(1.0, float(np.abs(rate).max()))
    assert values[:, 1:-1] @ velocity == pytest.approx(rate, abs=2e-9 * size)
    assert values[:, -1] == pytest.approx(second, abs=1e-6 * max(1.0, float(np.abs(second).max())))


@pytest.mark.few(2)
@pytest.mark.parametrize("stiffening", [True, False])
@pytest.mark.parametrize("kind", [*BUILD, "proportional"])
def test_velocity_and_acceleration_are_those_of_the_material(kind: str, stiffening: bool) -> None:
    count = len(own_state(kind, 0.71))
    together = np.random.default_rng(3).uniform(-1, 1, count)
    # just out of the hub, on both sides of the middle node of the elements, near and at the tip
    for material in (0.6, 0.9, 1.0, 1.21, TOTAL):
        check_against_differences(kind, stiffening, material, together)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", BUILD)
def test_every_coordinate_moves_a_section_by_its_column(kind: str) -> None:
    for velocity in np.eye(len(own_state(kind, 0.71))):
        check_against_differences(kind, True, 1.08, velocity)


@pytest.mark.parametrize("stiffening", [True, False])
@pytest.mark.parametrize("kind", [*BUILD, "proportional"])
def test_section_is_where_a_link_of_that_length_has_it(kind: str, stiffening: bool) -> None:
    length, material = 0.71, 1.21
    own, x = own_state(kind, length), material - (TOTAL - length)
    moved, turned = section_of(kind, stiffening, material, own, 0 * own)
    frozen, d = shapes_named(kind).at(length), own[1:]
    at = np.array([x])
    expected = np.array([x, 0, 0]) + frozen.displacement(at)[0] @ d

    def tangent(s: float) -> Array:
        y, z, stretch = (float(frozen.values(k, np.array([s]), 1)[0] @ d) for k in (*BENDING, "x"))
        angle = np.hypot(y, z)
        sine = np.sinc(angle / np.pi)
        return np.asarray((1 + stretch) * np.array([np.cos(angle), y * sine, z * sine]))

    if stiffening:
        breaks = [float(edge) for edge in frozen.edges if 0 < edge < x]
        expected = quad_vec(tangent, 0, x, points=breaks, epsabs=1e-13, epsrel=1e-13)[0]
    assert moved[:, 0] == pytest.approx(expected, abs=1e-11)
    assert turned[:, 0] == pytest.approx(frozen.rotation(at)[0] @ d, abs=1e-10)


def test_section_at_the_mouth_moves_out_and_takes_on_the_roots_strain() -> None:
    own = own_state("modes", 0.71)
    moved, turned = section_of("modes", True, TOTAL - 0.71, own, 0 * own)
    assert moved[:, 0] == pytest.approx(0, abs=1e-12)
    assert turned[:, 0] == pytest.approx(0, abs=1e-10)
    root = followed("modes").at(0.71)
    stretch = float(root.values("x", np.zeros(1), 1)[0] @ own[1:])
    assert moved[:, 1] == pytest.approx([1 + stretch, 0, 0], abs=1e-10)
    bent = float(root.values("y", np.zeros(1), 2)[0] @ own[1:])
    assert turned[2, 1] == pytest.approx(bent, rel=1e-8)


def test_section_is_evaluated_from_its_coefficients() -> None:
    own, rates = own_state("elements", 0.71), np.full(9, 0.3)
    motion = SlidingMotion(followed("elements"), ca.DM(own), ca.DM(rates))
    at = motion.displacement_functions(np.array([0.63]))
    value, columns, bias = (np.array(v) for v in evaluate(motion.displacement(), at))
    material = TOTAL - 0.71 + 0.63 * 0.71
    expected, _ = section_of("elements", False, material, own, rates)
    assert np.column_stack([value, columns, bias]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", ["modes", "elements"])
def test_moments_are_sums_over_the_exposed_part(kind: str) -> None:
    shapes, own = followed(kind), own_state(kind, 0.71)
    rates = np.random.default_rng(4).uniform(-1, 1, len(own))
    motion = SlidingMotion(shapes, ca.DM(own), ca.DM(rates))
    moving = motion.displacement()
    basis = motion.displacement_basis(0)
    # the same fields summed point by point, on a finer mesh
    node, weight = np.polynomial.legendre.leggauss(30)
    edges = np.unique(np.concatenate([shapes.edges, np.linspace(0, 1, 5)]))
    half = np.diff(edges)[:, None] / 2
    places, weights = (edges[:-1, None] + half + half * node).ravel(), (half * weight).ravel()
    functions = motion.displacement_functions(places)

    def values(field: Field) -> Array:
        return np.stack([np.array(field.of(a)).ravel() @ functions[a] for a in AXES])

    first = np.array(basis.integral(moving.value)).ravel()
    assert first == pytest.approx(values(moving.value) @ weights, abs=1e-12)
    pairs = [(moving.value, moving.bias), (moving.columns[0], moving.columns[1])]
    for left, right in pairs:
        expected = (values(left) * weights) @ values(right).T
        found = np.array(basis.moment(left, right))
        assert found == pytest.approx(expected, abs=1e-12 * np.abs(expected).max())
