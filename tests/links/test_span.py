"""Sections against areas integrated from their outlines; properties along a span."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import quad

from flexarm.arm.section import (
    IBeam,
    Material,
    Rectangle,
    RectangularTube,
    Section,
    Tube,
    rectangle_torsion,
    section_numbers,
    shape_properties,
)
from flexarm.links.base import Span

Array = npt.NDArray[np.float64]
RECTANGLE = Rectangle(kind="rectangle", width=0.05, height=0.02)
BOX = RectangularTube(kind="box", width=0.08, height=0.05, thickness=0.004)
BEAM = IBeam(kind="I", width=0.06, height=0.1, flange=0.008, web=0.005)
TUBE = Tube(kind="tube", diameter=0.06, thickness=0.003)
ROD = Tube(kind="tube", diameter=0.012)
STEEL = Material(E=2.1e11, density=7850.0, nu=0.29)


def polygon(corners: Sequence[tuple[float, float]]) -> Array:
    """Area and second moments about y and z of a polygon of (y, z) corners, by Green's theorem."""
    total = np.zeros(3)
    for (y0, z0), (y1, z1) in zip(corners, [*corners[1:], corners[0]], strict=True):
        turn = y0 * z1 - y1 * z0
        total += turn * np.array(
            [1 / 2, (z0**2 + z0 * z1 + z1**2) / 12, (y0**2 + y0 * y1 + y1**2) / 12]
        )
    return total


def rectangle(width: float, height: float) -> list[tuple[float, float]]:
    """Corners of a rectangle about its centre, counter-clockwise."""
    y, z = width / 2, height / 2
    return [(-y, -z), (y, -z), (y, z), (-y, z)]


def disc(diameter: float) -> Array:
    """Area and second moments of a disc, by adaptive quadrature over its chords."""

    def strip(power: int) -> float:
        radius = diameter / 2
        chord = quad(
            lambda t: (radius * math.sin(t)) ** power * 2 * (radius * math.cos(t)) ** 2,
            -math.pi / 2,
            math.pi / 2,
            epsabs=0,
            epsrel=1e-13,
        )
        return float(chord[0])

    return np.array([strip(0), strip(2), strip(2)])


def i_outline() -> list[tuple[float, float]]:
    """Corners of the I-section, counter-clockwise."""
    right = [(0.03, -0.05), (0.03, -0.042), (0.0025, -0.042), (0.0025, 0.042), (0.03, 0.042)]
    upper_right = [*right, (0.03, 0.05)]
    return [(-0.03, -0.05), *upper_right, *[(-y, z) for y, z in upper_right[::-1][:-1]]]


def test_area_and_second_moments_of_a_rectangle() -> None:
    assert section_numbers(RECTANGLE)[:3] == pytest.approx(polygon(rectangle(0.05, 0.02)))


def test_area_and_second_moments_of_a_box() -> None:
    hollow = polygon(rectangle(0.08, 0.05)) - polygon(rectangle(0.072, 0.042))
    assert section_numbers(BOX)[:3] == pytest.approx(hollow, rel=1e-13)


def test_area_and_second_moments_of_an_i_section() -> None:
    assert section_numbers(BEAM)[:3] == pytest.approx(polygon(i_outline()), rel=1e-13)


def test_area_and_second_moments_of_tube_and_rod() -> None:
    assert section_numbers(TUBE)[:3] == pytest.approx(disc(0.06) - disc(0.054), rel=1e-12)
    assert section_numbers(ROD)[:3] == pytest.approx(disc(0.012), rel=1e-12)


def test_round_sections_have_the_polar_moment_as_torsion_constant() -> None:
    for shape in (TUBE, ROD):
        _, about_y, about_z, torsion = section_numbers(shape)
        assert torsion == pytest.approx(about_y + about_z, rel=1e-14)


@pytest.mark.parametrize(
    ("ratio", "printed"),
    [
        (1.0, ".1406"), (1.2, ".166"), (1.5, ".196"), (2.0, ".229"), (2.5, ".249"),
        (3.0, ".263"), (4.0, ".281"), (5.0, ".291"), (10.0, ".312"),
    ],
)  # fmt: skip
def test_torsion_of_a_rectangle_has_the_printed_factor(ratio: float, printed: str) -> None:
    # k1 in J = k1 a b^3, the table of Timoshenko & Goodier, Theory of Elasticity
    b = 0.013
    factor = rectangle_torsion(ratio * b, b) / (ratio * b * b**3)
    # 0.1958 and 0.2287 are printed .196 and .229: half a unit of the last place
    assert factor == pytest.approx(float(printed), abs=0.5 * 10.0 ** -(len(printed) - 1))
    assert rectangle_torsion(b, ratio * b) == pytest.approx(factor * ratio * b**4, rel=1e-14)


@pytest.mark.parametrize("ratio", [1.0, 1.7, 4.0, 12.0])
def test_torsion_of_a_rectangle_is_summed_to_the_end(ratio: float) -> None:
    # The series in the other direction, which converges slowly: many terms, smallest first.
    odd = np.arange(400_001, 0, -2, dtype=float)
    series = float(np.sum(np.tanh(odd * math.pi / (2 * ratio)) / odd**5))
    expected = ratio**3 / 3 * (1 - 192 / math.pi**5 * ratio * series)
    assert rectangle_torsion(ratio, 1.0) == pytest.approx(expected, rel=1e-10)


def test_torsion_of_a_box_is_that_of_its_closed_wall() -> None:
    # Bredt: 4 A^2/oint ds/t over the wall's middle line, here 76 mm x 46 mm
    enclosed, around = 0.076 * 0.046, 2 * (0.076 + 0.046) / 0.004
    assert section_numbers(BOX)[3] == pytest.approx(4 * enclosed**2 / around, rel=1e-13)


def test_torsion_of_a_thin_square_box_is_its_side_cubed_times_its_wall() -> None:
    box = RectangularTube(kind="box", width=0.1, height=0.1, thickness=1e-6)
    assert section_numbers(box)[3] == pytest.approx(0.1**3 * 1e-6, rel=1e-4)


def test_torsion_of_an_i_section_is_that_of_its_three_thin_strips() -> None:
    # (2 60 8^3 + 84 5^3)/3 mm^4
    assert section_numbers(BEAM)[3] == pytest.approx(23_980e-12, rel=1e-12)


def test_properties_follow_from_material_and_shape() -> None:
    area, about_y, about_z = polygon(rectangle(0.05, 0.02))
    found = shape_properties(STEEL, RECTANGLE, rotary=True)
    shear = 2.1e11 / (2 * 1.29)
    expected = {
        "mass_per_length": 7850 * area,
        "EIy": 2.1e11 * about_y,
        "EIz": 2.1e11 * about_z,
        "EA": 2.1e11 * area,
        "GJ": shear * 0.249 * 0.05 * 0.02**3,
        "Jx": 7850 * (about_y + about_z),
        "Jy": 7850 * about_y,
        "Jz": 7850 * about_z,
    }
    printed = 0.0005 / 0.249  # half a unit of the last place of the table's factor
    tolerances = dict.fromkeys(expected, 1e-12) | {"GJ": printed}
    for name, value in expected.items():
        assert getattr(found, name) == pytest.approx(value, rel=tolerances[name]), name


def test_shear_modulus_is_given_or_follows_from_poisson_which_is_0_3_by_default() -> None:
    def twisting(**shear: float) -> float:
        material = Material.model_validate({"E": 7e10, "density": 2700, **shear})
        stiffness = shape_properties(material, ROD, rotary=True).GJ
        assert stiffness is not None
        return stiffness / (math.pi * 0.012**4 / 32)

    assert twisting(G=2.5e10) == pytest.approx(2.5e10, rel=1e-13)
    assert twisting(nu=0.25) == pytest.approx(7e10 / 2.5, rel=1e-13)
    assert twisting() == pytest.approx(7e10 / 2.6, rel=1e-13)


def test_rotary_inertia_of_bending_can_be_left_out_but_not_that_of_torsion() -> None:
    found = shape_properties(STEEL, TUBE, rotary=False)
    assert (found.Jy, found.Jz) == (0.0, 0.0)
    polar = float((disc(0.06) - disc(0.054))[1:].sum())
    assert found.Jx == pytest.approx(7850 * polar, rel=1e-12)
    section = Section(material=STEEL, shape=TUBE, rotary_inertia=False)
    assert Span.of(section, 2.0).at("Jz", np.array([1.0])) == 0


def stepped() -> Span:
    """Make a span of 2 m that tapers, jumps at 0.5 m and ends uniform."""
    rows = [(0.0, 4.0, 90.0), (0.5, 3.0, 50.0), (0.5, 2.0, 20.0), (1.25, 1.0, 5.0), (2.0, 1.0, 5.0)]
    stations = [{"at": x, "mass_per_length": mu, "EIz": k} for x, mu, k in rows]
    return Span.of(Section.model_validate({"stations": stations}), 2.0)


def test_properties_are_linear_between_stations() -> None:
    x = np.array([0.0, 0.125, 0.25, 0.8, 1.25, 1.9, 2.0])
    assert stepped().at("mass_per_length", x) == pytest.approx(
        [4.0, 3.75, 3.5, 1.6, 1.0, 1.0, 1.0], rel=1e-14
    )
    assert stepped().at("EIz", x) == pytest.approx([90, 80, 70, 14, 5, 5, 5], rel=1e-14)


def test_jump_belongs_to_the_panel_that_it_opens() -> None:
    x = np.array([np.nextafter(0.5, 0), 0.5, np.nextafter(0.5, 1)])
    assert stepped().at("EIz", x) == pytest.approx([50, 20, 20], rel=1e-12)


@pytest.mark.parametrize(("places", "end"), [((0, 0, 1), 0.0), ((0, 1, 1), 1.0)])
def test_jump_at_an_end_leaves_the_inside_alone(places: tuple[int, ...], end: float) -> None:
    masses = (7.0, 2.0, 3.0) if end == 0 else (2.0, 3.0, 7.0)
    stations = [
        {"at": x, "mass_per_length": mu, "EIz": 1} for x, mu in zip(places, masses, strict=True)
    ]
    span = Span.of(Section.model_validate({"stations": stations}), 1.0)
    assert span.at("mass_per_length", np.array([0.0, 0.5, 1.0])) == pytest.approx([2, 2.5, 3])


def test_edges_are_where_properties_bend_or_jump() -> None:
    assert stepped().edges.tolist() == [0.0, 0.5, 1.25, 2.0]
    assert not stepped().uniform


def test_stiffness_that_is_left_out_is_absent() -> None:
    span = stepped()
    assert [span.has(n) for n in ("EIz", "EIy", "GJ", "EA", "Jx")] == [True, *[False] * 3, True]


def test_last_station_is_the_end_of_the_span_exactly() -> None:
    stations = [
        {"at": 0, "mass_per_length": 1, "EIz": 1},
        {"at": 0.3 - 1e-13, "mass_per_length": 2, "EIz": 1},
    ]
    span = Span.of(Section.model_validate({"stations": stations}), 0.3)
    assert span.edges[-1] == 0.3
    assert span.at("mass_per_length", np.array([0.3])) == pytest.approx(2, rel=1e-15)


def test_uniform_section_is_uniform() -> None:
    span = Span.of(Section.model_validate({"mass_per_length": 0.5, "EIz": 3}), 4.0)
    assert span.uniform
    assert span.edges.tolist() == [0.0, 4.0]
    assert span.at("EIz", np.array([0.0, 1.7, 4.0])).tolist() == [3.0] * 3


def test_quadrature_weighs_a_stepped_span_exactly() -> None:
    span = stepped()
    x, weight = span.quadrature(2)
    # trapezia of 0.5 m, 0.75 m and 0.75 m
    assert weight @ span.at("mass_per_length", x) == pytest.approx(1.75 + 1.125 + 0.75, rel=1e-14)
    assert weight @ span.at("EIz", x) == pytest.approx(35 + 9.375 + 3.75, rel=1e-14)


def test_further_edges_split_the_panels_and_near_copies_do_not() -> None:
    span = stepped()
    x, weight = span.quadrature(3, np.array([0.5 + 1e-14, 1.0]))
    assert len(x) == 3 * 4
    assert weight.sum() == pytest.approx(2, rel=1e-14)
    kink = np.abs(x - 1.0)
    assert weight @ kink == pytest.approx(1.0, rel=1e-14)
