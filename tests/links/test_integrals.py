"""Integrals of the shapes against adaptive quadrature of the shape curves themselves."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from numpy.polynomial import chebyshev
from scipy.integrate import quad, quad_vec

from flexarm.arm import shapes as choices
from flexarm.arm.link import QuadraticShape
from flexarm.errors import ShapeError
from flexarm.links import discretisation
from flexarm.links.base import Counts, Direction, Ends, Shapes, Span
from flexarm.links.growing.shapes import SlidingShapes, follow_length
from flexarm.links.integrals import (
    Integrals,
    Points,
    integrate,
    quadratic_displacement,
    shortening,
)
from tests.links.spans import HELD, stationed, tapered, uniform

Array = npt.NDArray[np.float64]
ENDS = Ends((0.02, 0.05, 0.3), 0.7, (0.04, 0.2, 0.15), 0.3)
BENDING: tuple[Direction, ...] = ("y", "z")
RODS: tuple[Direction, ...] = ("x", "twist")
PROPERTIES = {
    "mass_per_length": 1.3, "EIy": 0.7, "EIz": 1.1, "GJ": 0.4, "EA": 80.0,
    "Jx": 0.03, "Jy": 0.01, "Jz": 0.02,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A span with its shapes, and its properties as functions of the test's own."""

    span: Span
    shapes: Shapes
    read: Callable[[str, float], float]

    @property
    def breaks(self) -> list[float]:
        """Where integrands are not smooth."""
        return sorted({*self.span.stations.tolist(), *self.shapes.edges.tolist()})


def constant_property(name: str, x: float) -> float:
    """Read a property of the uniform spans."""
    return PROPERTIES[name]


def tapered_property(name: str, x: float) -> float:
    """Read a property of the tapered span, which jumps at 0.5 m."""
    table = tapered().table[name]
    left = x < 0.5
    places, values = ([0, 0.5], table[:2]) if left else ([0.5, 1.4], table[2:])
    return float(np.interp(x, places, values))


CHOICES: dict[str, choices.ShapeChoice] = {
    "loaded": choices.Loaded(),
    "elements": choices.Elements(kind="elements"),
    "clamped-free": choices.ClampedFree(kind="clamped-free"),
}


def shapes_of(kind: str, span: Span, counts: Counts) -> Shapes:
    """Build the shapes of a kind with a body at the tip."""
    return discretisation(kind).shapes(CHOICES[kind], span, ENDS, counts)


def clamped_mass(length: float) -> Shapes:
    """Build shapes that depend on the length of a uniform link."""
    choice = choices.ClampedMass.model_validate({"kind": "clamped-mass"})
    ends = Ends(HELD, 0.4, (0.01, 0.0, 0.0))
    span = uniform(length, **PROPERTIES)
    return discretisation("clamped-mass").shapes(choice, span, ends, Counts(2, 1, 1, 0))


@cache
def sliding_link() -> SlidingShapes:
    """Build the shapes of a sliding link."""
    return follow_length(clamped_mass, uniform(2.0, **PROPERTIES), (0.4, 2.0))


def slid(length: float) -> Case:
    """Take the sliding link at one exposed length."""
    shapes = sliding_link().at(length)
    return Case(uniform(length, **PROPERTIES), shapes, constant_property)


def of_kind(kind: str, span: Span, counts: Counts) -> Case:
    """Take a link of constant length."""
    known = constant_property if span.uniform else tapered_property
    return Case(span, shapes_of(kind, span, counts), known)


CASES: dict[str, Callable[[], Case]] = {
    "uniform, exact modes": partial(
        of_kind, "clamped-free", uniform(1.7, **PROPERTIES), Counts(2, 2, 1, 1)
    ),
    "uniform, loaded modes": partial(
        of_kind, "loaded", uniform(1.7, **PROPERTIES), Counts(2, 1, 1, 1)
    ),
    "tapered, loaded modes": partial(of_kind, "loaded", tapered(), Counts(2, 2, 1, 0)),
    "tapered, elements": partial(of_kind, "elements", tapered(), Counts(1, 1, 1, 1)),
    "sliding, 0.9137 m": partial(slid, 0.9137),
}


def rows(shapes: Shapes, direction: Direction, x: float, nu: int = 0) -> Array:
    """Evaluate a direction's curves at a place, (m,)."""
    return np.asarray(shapes.values(direction, np.array([x]), nu)[0])


def adaptive(integrand: Callable[[float], Array], left: float, right: float) -> Array:
    """Integrate a vector whose entries are of order 1, or smaller, to 1e-12."""
    return np.asarray(quad_vec(integrand, left, right, epsabs=1e-12, epsrel=1e-12, norm="max")[0])


def squared_slopes(shapes: Shapes, x: float) -> Array:
    """Give the density of the shortening, (m, m)."""
    v, w = rows(shapes, "y", x, 1), rows(shapes, "z", x, 1)
    return np.outer(v, v) + np.outer(w, w)


def drawn_in(shapes: Shapes, left: float, right: float) -> Callable[[float], Array]:
    """Integrate the squared slopes from the left end of a panel, as a Chebyshev series of x."""
    count = 48
    nodes = (left + right) / 2 + (right - left) / 2 * chebyshev.chebpts1(count)
    values = np.stack([squared_slopes(shapes, float(x)) for x in nodes])
    fit = chebyshev.chebfit(chebyshev.chebpts1(count), values.reshape(count, -1), count - 1)
    antiderivative = (right - left) / 2 * chebyshev.chebint(fit, lbnd=-1)

    def form(x: float) -> Array:
        t = (2 * x - left - right) / (right - left)
        return np.asarray(chebyshev.chebval(t, antiderivative)).reshape(values.shape[1:])

    return form


def densities(case: Case, x: float, drawn: Array) -> dict[str, Array]:
    """Give every integrand at a place where the axis has drawn in by the given form."""
    s, read = case.shapes, case.read
    mu = read("mass_per_length", x)
    v, w = ([rows(s, d, x, nu) for nu in range(3)] for d in BENDING)
    u, twist = ([rows(s, d, x, nu) for nu in range(2)] for d in RODS)
    phi = np.stack([u[0], v[0], w[0]])
    theta = np.stack([twist[0], -w[1], v[1]])
    inertia = np.array([read(n, x) for n in ("Jx", "Jy", "Jz")])
    r0 = np.array([x, 0.0, 0.0])
    quadratic = np.stack([-drawn, 0 * drawn, 0 * drawn])
    strains = {"EIz": v[2], "EIy": w[2], "GJ": twist[1], "EA": u[1]}
    bent = np.stack([np.outer(v[1], v[2]), np.outer(w[1], w[2])])
    stiff = np.array([read("EIz", x), read("EIy", x)])
    rotary_modal = np.einsum("a,ai,aj->ij", inertia, theta, theta)
    return {
        "mass": np.array(mu),
        "first": mu * r0,
        "second": mu * np.outer(r0, r0),
        "shape": mu * phi,
        "position_shape": mu * np.einsum("a,bi->iab", r0, phi),
        "shape_shape": mu * np.einsum("ai,bj->ijab", phi, phi),
        "rotary": np.diag(inertia),
        "rotary_shape": inertia[:, None] * theta,
        "rotary_modal": rotary_modal,
        "quadratic": mu * quadratic,
        "position_quadratic": mu * x * quadratic,
        "mixed": mu * np.einsum("ai,jk->iajk", phi, drawn),
        "modal_mass": mu * phi.T @ phi + rotary_modal,
        "stiffness": np.sum([read(n, x) * np.outer(e, e) for n, e in strains.items()], axis=0),
        "products": mu * np.einsum("ij,kl->ijkl", drawn, drawn),
        "bent": np.einsum("d,dij,ekl->deijkl", stiff, bent, bent),
    }


@cache
def integrated(name: str) -> tuple[Integrals, Points]:
    """Integrate a case with the library."""
    case = CASES[name]()
    return integrate(case.span, case.shapes, stiffening=True)


@cache
def expected(name: str) -> dict[str, Array]:
    """Integrate a case adaptively."""
    case = CASES[name]()
    total: dict[str, Array] = {}
    before: Array = np.zeros((case.shapes.count, case.shapes.count))
    for left, right in pairwise(case.breaks):
        drawn = drawn_in(case.shapes, left, right)
        middle = (left + right) / 2
        rough = densities(case, middle, before + drawn(middle))
        size = {key: float(np.abs(value).max()) for key, value in rough.items()}
        flat = partial(flattened, case, size, before, drawn)
        cuts = np.cumsum([value.size for value in rough.values()])[:-1]
        pieces = np.split(adaptive(flat, left, right), cuts)
        for (key, value), piece in zip(rough.items(), pieces, strict=True):
            total[key] = total.get(key, 0.0) + piece.reshape(value.shape) * size[key]
        before = before + drawn(right)
    return total


def flattened(
    case: Case, size: dict[str, float], before: Array, drawn: Callable[[float], Array], x: float
) -> Array:
    """Give every integrand in one vector, each divided by its size."""
    values = densities(case, x, before + drawn(x))
    return np.concatenate([(value / size[key]).ravel() for key, value in values.items()])


FIELDS = (
    "mass", "first", "second", "shape", "position_shape", "shape_shape", "rotary", "rotary_shape",
    "rotary_modal", "quadratic", "position_quadratic", "modal_mass", "stiffness",
)  # fmt: skip


def first_moments(points: Points) -> dict[str, Array]:
    """Integrate the quadratic displacements, and their products with the distance."""
    each = points.mass[:, None, None, None] * points.quadratic
    along = np.einsum("g,gaij->aij", points.x, each)
    return {"quadratic": each.sum(axis=0), "position_quadratic": along}


@pytest.mark.few(3)
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("name", CASES)
def test_integral_is_that_of_adaptive_quadrature(name: str, field: str) -> None:
    integrals, points = integrated(name)
    value = np.asarray((vars(integrals) | first_moments(points))[field])
    reference = expected(name)[field]
    assert np.abs(reference).max() > 0
    assert value == pytest.approx(reference, rel=0, abs=1e-10 * np.abs(reference).max())


@pytest.mark.parametrize("name", CASES)
def test_points_reproduce_products_of_quadratic_displacements(name: str) -> None:
    points = integrated(name)[1]
    drawn = -points.quadratic[:, 0]
    found = np.einsum("g,gij,gkl->ijkl", points.mass, drawn, drawn)
    reference = expected(name)["products"]
    assert found == pytest.approx(reference, rel=0, abs=1e-10 * reference.max())
    assert not points.quadratic[:, 1:].any()


@pytest.mark.parametrize("name", CASES)
def test_points_reproduce_products_of_shapes_and_quadratic_displacements(name: str) -> None:
    points = integrated(name)[1]
    found = np.einsum("g,gai,gjk->iajk", points.mass, points.shape, -points.quadratic[:, 0])
    reference = expected(name)["mixed"]
    assert found == pytest.approx(reference, rel=0, abs=1e-10 * np.abs(reference).max())


@pytest.mark.parametrize("name", CASES)
def test_points_reproduce_the_fourth_order_of_the_bending_energy(name: str) -> None:
    points = integrated(name)[1]
    bent = np.einsum("dgi,dgj->dgij", points.slope, points.curvature)
    found = np.einsum("dg,dgij,egkl->deijkl", points.bending, bent, bent)
    reference = expected(name)["bent"]
    assert found == pytest.approx(reference, rel=0, abs=1e-10 * np.abs(reference).max())


@pytest.mark.parametrize("name", ["uniform, exact modes", "tapered, loaded modes"])
def test_shortening_is_the_integral_of_the_squared_slopes(name: str) -> None:
    case = CASES[name]()
    length = case.span.length
    x = np.array([0.0, 0.2, 0.5, 0.51, 0.99 * length, length])
    form = shortening(case.shapes, x, np.array(case.breaks))

    def density(at: float, i: int, j: int) -> float:
        return float(squared_slopes(case.shapes, at)[i, j])

    for i, j in ((0, 1), (3, 3)):
        for value, end in zip(form[:, i, j], x, strict=True):
            inside = [0.5] if end > 0.5 else None
            reference = quad(
                density, 0, end, args=(i, j), points=inside, epsabs=1e-13, epsrel=1e-12
            )[0]  # fmt: skip
            assert value == pytest.approx(reference, abs=1e-11 * abs(form).max())


def test_shortening_of_the_two_planes_adds_up_and_nothing_else_draws_in() -> None:
    form = first_moments(integrated("uniform, exact modes")[1])["quadratic"][0]
    names = CASES["uniform, exact modes"]().shapes.names
    assert names == ("y1", "y2", "z1", "z2", "twist1", "stretch1")
    assert not form[:2, 2:].any()
    assert not form[4:].any()
    assert form[:2, :2] == pytest.approx(form[2:4, 2:4], rel=1e-12)
    assert np.linalg.eigvalsh(-form[:4, :4]).min() > 0


def test_without_stiffening_nothing_is_quadratic() -> None:
    case = CASES["tapered, loaded modes"]()
    integrals, points = integrate(case.span, case.shapes, stiffening=False)
    assert not points.quadratic.any()
    stiffened = integrated("tapered, loaded modes")[0]
    expected = pytest.approx(stiffened.modal_mass, rel=1e-12, abs=1e-14)
    assert integrals.modal_mass == expected


@pytest.mark.parametrize("count", [10, 25, 40])
def test_many_modes_are_integrated_with_as_many_points_as_they_take(count: int) -> None:
    span = uniform(1.7, mass_per_length=1.3)
    shapes = shapes_of("clamped-free", span, Counts(count, 0, 0, 0))
    found, _ = integrate(span, shapes, stiffening=False)
    one = found.modal_mass[0, 0]
    assert found.modal_mass == pytest.approx(one * np.eye(count), abs=1e-11 * one)


def test_mass_matrix_of_orthogonal_modes_is_diagonal_to_the_last_bit() -> None:
    span = uniform(1.7, mass_per_length=1.3, Jx=0.03)
    shapes = shapes_of("clamped-free", span, Counts(4, 3, 2, 2))
    mass = integrate(span, shapes, stiffening=True)[0].modal_mass
    assert np.array_equal(mass, np.diag(np.diag(mass)))


def test_measured_mass_matrix_stands_in_for_the_integrated_one() -> None:
    case = CASES["tapered, elements"]()
    measured = np.diag(np.arange(1.0, 7.0))
    integrals, _ = integrate(
        case.span, replace(case.shapes, mass=measured), stiffening=True
    )  # fmt: skip
    assert np.array_equal(integrals.modal_mass, measured)
    unmeasured = integrated("tapered, elements")[0]
    assert np.array_equal(integrals.shape_shape, unmeasured.shape_shape)


def test_section_without_stiffness_in_a_plane_has_no_bending_energy_there() -> None:
    span = stationed([0.0, 1.0])
    del span.table["EIy"]
    shapes = shapes_of("clamped-free", span, Counts(2, 0, 0, 0))
    points = integrate(span, shapes, stiffening=True)[1]
    assert points.bending[0].sum() == pytest.approx(1, rel=1e-14)
    assert not points.bending[1].any()


STATIONS = (0.0, 0.3, 0.6, 1.1, 1.4)


def cubic(x: float, a: float, b: float) -> float:
    """Evaluate a x^2 + b x^3, which a cubic spline goes through exactly."""
    return a * x**2 + b * x**3


def given(direction: str, amplitudes: tuple[str, str], a: float, b: float) -> QuadraticShape:
    """Give a quadratic displacement by its values at a few stations."""
    return QuadraticShape.model_validate(
        {
            "direction": direction,
            "amplitudes": amplitudes,
            "stations": STATIONS,
            "values": [cubic(x, a, b) for x in STATIONS],
        }
    )


EXTRA = (given("z", ("y1", "y1"), 0.3, -0.1), given("x", ("z1", "y2"), -0.2, 0.4))


def test_given_quadratic_displacement_is_its_value_times_the_product_of_amplitudes() -> None:
    case = CASES["tapered, loaded modes"]()
    assert case.shapes.names == ("y1", "y2", "z1", "z2", "twist1")
    d = np.array([0.2, -0.3, 0.5, 0.7, 0.11])
    x = np.array([0.0, 0.45, 1.4])
    forms = quadratic_displacement(
        case.shapes, x, np.array(case.breaks), stiffening=False, extra=EXTRA
    )
    moved = np.einsum("gaij,i,j->ga", forms, d, d) / 2
    along_z = [cubic(v, 0.3, -0.1) * 0.2**2 for v in x]
    along_x = [cubic(v, -0.2, 0.4) * -0.3 * 0.5 for v in x]
    assert moved[:, 2] == pytest.approx(along_z, abs=1e-14)
    assert moved[:, 0] == pytest.approx(along_x, abs=1e-14)
    assert not moved[:, 1].any()
    slopes = quadratic_displacement(
        case.shapes, x, np.array(case.breaks), stiffening=True, extra=EXTRA, derivative=1
    )
    turned = np.einsum("gij,i,j->g", slopes[:, 2], d, d) / 2
    assert turned == pytest.approx([(0.6 * v - 0.3 * v**2) * 0.2**2 for v in x], abs=1e-13)


def test_given_quadratic_displacements_add_to_the_integrals() -> None:
    case = CASES["tapered, loaded modes"]()
    plain = first_moments(integrated("tapered, loaded modes")[1])
    points = integrate(case.span, case.shapes, stiffening=True, extra=EXTRA)[1]
    more = first_moments(points)

    def moment(weight: Callable[[float], float], a: float, b: float) -> float:
        def density(x: float) -> float:
            return tapered_property("mass_per_length", x) * weight(x) * cubic(x, a, b)

        return float(quad(density, 0, 1.4, points=[0.5], epsabs=0, epsrel=1e-12)[0])

    added = more["quadratic"] - plain["quadratic"]
    first = [moment(lambda x: 2.0, 0.3, -0.1), moment(lambda x: 1.0, -0.2, 0.4)]
    assert [added[2, 0, 0], added[0, 1, 2]] == pytest.approx(first, rel=1e-10)
    assert added == pytest.approx(added.transpose(0, 2, 1), abs=1e-15)
    assert np.count_nonzero(np.abs(added) > 1e-12) == 3
    added = more["position_quadratic"] - plain["position_quadratic"]
    assert added[0, 2, 1] == pytest.approx(moment(lambda x: x, -0.2, 0.4), rel=1e-10)
    bowed = np.einsum("g,g,g->", points.mass, points.shape[:, 2, 3], points.quadratic[:, 2, 0, 0])
    second = moment(lambda x: 2 * float(rows(case.shapes, "z", x)[3]), 0.3, -0.1)
    assert bowed == pytest.approx(second, rel=1e-9)


def test_quadratic_displacement_of_an_unknown_amplitude_is_refused_by_name() -> None:
    case = CASES["tapered, loaded modes"]()
    extra = (given("z", ("y1", "y7"), 0.3, -0.1),)
    with pytest.raises(ShapeError, match=r"'y7'.*y1, y2, z1, z2, twist1"):
        integrate(case.span, case.shapes, stiffening=True, extra=extra)
