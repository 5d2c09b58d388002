"""Modes of high-order elements against exact solutions that share none of their code."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from flexarm.errors import ShapeError
from flexarm.links.basis import MOTIONS
from flexarm.links.beams.finite import Conditions, constraint_shapes, modes
from flexarm_papers.beams.classical import BeamEnds, beam_roots
from tests.links.spans import Array, columns_of, ended, sign_changes, stationed, tapered, uniform

Y, Z, TWIST, STRETCH = (MOTIONS[d] for d in ("y", "z", "twist", "x"))

# Dimensionless hub, tip mass, tip inertia about the tip, offset of the tip mass.
TEN_ENDS = [
    (math.inf, 0.0, 0.0, 0.0),
    (math.inf, 1.0, 0.0, 0.0),
    (math.inf, 1.0, 0.1, 0.0),
    (math.inf, 0.5, 0.3, 0.4),
    (math.inf, 0.2, 0.1, -0.6),
    (0.0, 0.0, 0.0, 0.0),
    (0.1, 0.0, 0.0, 0.0),
    (0.02, 2.0, 0.0, 0.0),
    (0.5, 1.0, 0.6, 0.5),
    (1e6, 0.3, 0.05, 0.2),
]
# Eigenvalues to all printed digits: hub, M, J, then lam 1 to 5.
PRINTED = [
    (math.inf, 0, 0, "1.87510406871 4.69409113297 7.85475743824 10.9955407349 14.137168391"),
    (0, 0, 0, "3.92660231205 7.06858274563 10.2101761228 13.3517687778 16.4933614313"),
    (math.inf, 0.1, 0, "1.72274152059 4.39952281616 7.4510566733 10.521784756 13.6141876601"),
    (math.inf, 0.5, 0, "1.41996442977 4.11113338642 7.19033524196 10.2984454428 13.4210015533"),
    (math.inf, 1, 0, "1.24791740961 4.03113943671 7.13413224094 10.2566210737 13.387756326"),
    (math.inf, 10, 0, "0.73578191939 3.93846583325 7.07561636703 10.2150464784 13.35549859"),
    (math.inf, 1, 0.1, "1.19566983109 2.5050600194 4.97509843779 7.98397195195 11.0854983124"),
    (math.inf, 1, 1, "0.931611384112 1.841350633 4.90087315384 7.9663933966 11.0789337762"),
    (math.inf, 0, 0.1, "1.57707087182 2.64823766863 5.52862709336 8.64716906775 11.7840374103"),
    (0.1, 0, 0, "2.6389246963 4.79377085046 7.87565294278 11.0031041617 14.1407175257"),
    (1, 0, 0, "2.01000332237 4.70379426228 7.85682355122 10.9962933756 14.1375224159"),
    (10, 0, 0, "1.89007648042 4.69505830666 7.85496381319 10.9956159619 14.1372037847"),
]


def decimals(number: str) -> float:
    """Half a unit in the last printed digit."""
    return 0.51 * 10.0 ** -len(number.partition(".")[2])


def bounded_waves(lam: float, x: float, length: float) -> Array:
    """Evaluate cos, sin and two decaying exponentials with three derivatives, (4, 4)."""
    c, s = math.cos(lam * x), math.sin(lam * x)
    out, back = math.exp(-lam * x), math.exp(-lam * (length - x))
    rows = [[c, s, out, back], [-s, c, -out, back], [-c, -s, out, back], [s, -c, -out, back]]
    return np.array([[lam**nu * v for v in row] for nu, row in enumerate(rows)])


def boundary_determinant(
    lam: float, hub: float, mass: float, inertia: float, offset: float
) -> float:
    """Evaluate the boundary conditions of a unit uniform beam between a hub and a tip body."""
    z = lam**4
    root, tip = bounded_waves(lam, 0.0, 1.0), bounded_waves(lam, 1.0, 1.0)
    turn = root[1] if math.isinf(hub) else (root[2] + z * hub * root[1]) / (1 + z * hub)
    rows = [
        root[0],
        turn,
        tip[2] - z * (inertia * tip[1] + mass * offset * tip[0]),
        tip[3] + z * mass * (tip[0] + offset * tip[1]),
    ]
    return float(np.linalg.det([row / np.abs(row).max() for row in rows]))


@pytest.mark.few(4)
@pytest.mark.parametrize("ends", TEN_ENDS)
def test_boundary_determinant_changes_sign_within_1e_9_of_each_eigenvalue_and_nowhere_else(
    ends: tuple[float, float, float, float],
) -> None:
    found = np.sqrt(modes(uniform(), Y, ended(*ends), 6).frequencies)
    for lam in found:
        below, above = (boundary_determinant(lam * f, *ends) for f in (1 - 1e-9, 1 + 1e-9))
        assert below * above < 0
    count = sign_changes(lambda lam: boundary_determinant(lam, *ends), 0.1, found[-1] + 0.01, 1500)
    assert count == 6


@pytest.mark.parametrize(("hub", "mass", "inertia", "printed"), PRINTED)
def test_eigenvalues_agree_with_the_reference_table_to_all_printed_digits(
    hub: float, mass: float, inertia: float, printed: str
) -> None:
    found = np.sqrt(modes(uniform(), Y, ended(hub, mass, inertia), 5).frequencies)
    for value, text in zip(found, printed.split(), strict=True):
        assert value == pytest.approx(float(text), abs=decimals(text), rel=0)


def test_free_free_and_pinned_pinned_eigenvalues() -> None:
    free = np.sqrt(modes(uniform(), Y, Conditions("free-free"), 5).frequencies)
    printed = ("4.73004074486", "7.8532046241", "10.995607838", "14.1371654913", "17.2787596574")
    for value, text in zip(free, printed, strict=True):
        assert value == pytest.approx(float(text), abs=decimals(text), rel=0)
    pinned = np.sqrt(modes(uniform(), Y, Conditions("pinned-pinned"), 5).frequencies)
    assert pinned == pytest.approx(np.pi * np.arange(1, 6), rel=1e-12)


def test_clamped_clamped_and_free_free_beams_have_the_same_spectrum() -> None:
    free = modes(uniform(), Y, Conditions("free-free"), 8).frequencies
    held = modes(uniform(), Y, Conditions("clamped-clamped"), 8).frequencies
    assert held == pytest.approx(free, rel=1e-12)


@pytest.mark.parametrize("ends", [(math.inf, 0.0), (0.0, 0.5), (0.3, 1e4), (1e9, 1e6)])
def test_forty_modes_are_right_to_1e_11(ends: tuple[float, float]) -> None:
    hub, mass = ends
    found = modes(uniform(), Y, ended(hub, mass), 40).frequencies
    exact = beam_roots(BeamEnds(hub=hub, tip_mass=mass), 40) ** 2
    assert found == pytest.approx(exact, rel=1e-11)


def test_dimensions_enter_as_they_must() -> None:
    span = uniform(0.7, EIy=13.0, mass_per_length=0.4)
    found = modes(span, Z, ended(0.02, 0.3, 0.01, 0.1), 3).frequencies
    scale = 0.4 * 0.7**3
    unit = ended(0.02 / scale, 0.3 / (0.4 * 0.7), 0.01 / scale, 0.1 / 0.7)
    expected = modes(uniform(), Y, unit, 3).frequencies * math.sqrt(13.0 / (0.4 * 0.7**4))
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("ratio", "printed"),
    [
        (0.1, "1.42887001121 4.30580141312 7.22810977163"),
        (1.0, "0.860333589019 3.42561845948 6.43729817917"),
    ],
)
def test_rods_with_a_tip_inertia_agree_to_all_printed_digits(ratio: float, printed: str) -> None:
    twisted = modes(uniform(), TWIST, Conditions(tip_mass=ratio), 3).frequencies
    stretched = modes(
        uniform(2.0, EA=9.0, mass_per_length=4.0), STRETCH, Conditions(tip_mass=8 * ratio), 3
    ).frequencies
    for value, scaled, text in zip(twisted, stretched, printed.split(), strict=True):
        assert value == pytest.approx(float(text), abs=decimals(text), rel=0)
        assert scaled == pytest.approx(float(text) * 1.5 / 2.0, rel=1e-11)


def test_fixed_free_and_free_free_rods_have_quarter_and_half_waves() -> None:
    fixed = modes(uniform(), TWIST, Conditions(), 6).frequencies
    assert fixed == pytest.approx((np.arange(6) + 0.5) * np.pi, rel=1e-12)
    free = modes(uniform(), TWIST, Conditions("pinned-free"), 6).frequencies
    assert free == pytest.approx(np.arange(1, 7) * np.pi, rel=1e-12)
    held = modes(uniform(), TWIST, Conditions("clamped-clamped"), 6).frequencies
    assert held == pytest.approx(np.arange(1, 7) * np.pi, rel=1e-12)


def test_rod_between_hub_and_tip_body_obeys_its_transcendental_equation() -> None:
    hub, tip = 0.3, 0.8
    found = modes(uniform(), TWIST, Conditions("pinned-free", hub, tip), 4).frequencies
    # theta = cos bx - hub b sin bx, theta'(1) = tip b^2 theta(1).
    for b in found:
        value = math.cos(b) - hub * b * math.sin(b)
        slope = -b * math.sin(b) - hub * b**2 * math.cos(b)
        assert slope - tip * b**2 * value == pytest.approx(0, abs=1e-9 * b**2)
    assert np.all(np.diff(found) > 2)
    assert found[0] < math.pi


def test_massless_rod_is_a_spring_between_its_bodies() -> None:
    span = stationed([0.0, 0.6, 2.0], GJ=[4.0, 2.0, 3.0], Jx=[0.0, 0.0, 0.0])
    compliance = quad(lambda x: 1 / (4 - 2 * x / 0.6), 0, 0.6)[0]
    compliance += quad(lambda x: 1 / (2 + (x - 0.6) / 1.4), 0.6, 2)[0]
    held = modes(span, TWIST, Conditions(tip_mass=0.7), 1).frequencies
    assert held == pytest.approx([math.sqrt(1 / compliance / 0.7)], rel=1e-12)
    between = modes(span, TWIST, Conditions("pinned-free", 0.2, 0.7), 1).frequencies
    assert between == pytest.approx([math.sqrt((1 / 0.7 + 1 / 0.2) / compliance)], rel=1e-12)


@pytest.mark.parametrize(
    ("conditions", "count", "remedy"),
    [
        (Conditions(), 1, "torsion: 0"),
        (Conditions("pinned-free", 0.0, 0.7), 1, "torsion: 0"),
        (Conditions("clamped-clamped"), 1, "torsion: 0"),
        (Conditions(tip_mass=0.7), 2, "torsion: 1"),
    ],
)
def test_twist_without_inertia_is_refused_with_the_remedy(
    conditions: Conditions, count: int, remedy: str
) -> None:
    with pytest.raises(ShapeError, match=rf"torsion: {count} needs inertia.*Jx is 0.*{remedy}"):
        modes(uniform(Jx=0.0), TWIST, conditions, count)


def test_tip_inertia_below_its_own_offset_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"tip inertia 0\.1 .* less than mass x offset\^2 = 0\.25"):
        modes(uniform(), Y, Conditions(tip_mass=1.0, tip_inertia=0.1, tip_offset=0.5), 1)


def test_rotary_inertia_slows_a_pinned_beam_by_rayleighs_factor() -> None:
    span = uniform(mass_per_length=2.0, EIz=3.0, Jz=0.05)
    found = modes(span, Y, Conditions("pinned-pinned"), 5).frequencies
    k = np.pi * np.arange(1, 6)
    assert found == pytest.approx(np.sqrt(3.0 * k**4 / (2.0 + 0.05 * k**2)), rel=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(),
        ended(0.05, 0.3, 0.07, 0.2),
        Conditions("free-free"),
        Conditions("pinned-pinned"),
    ],
)
def test_modes_are_orthogonal_in_stiffness_and_in_mass_with_their_end_bodies(
    conditions: Conditions,
) -> None:
    span = tapered()
    found = modes(span, Y, conditions, 3)
    raw = columns_of(found.raw)
    own = quad(lambda x: float(span.at("mass_per_length", np.array([x]))[0]), 0, 1.4, points=[0.5])[
        0
    ]

    def integral(i: int, j: int, name: str, nu: int) -> float:
        def value(x: float) -> float:
            at = np.array([x])
            product = span.at(name, at) * raw[i](at, nu) * raw[j](at, nu)
            return float(product[0])

        return float(quad(value, 0, 1.4, points=[0.5], epsabs=1e-10, epsrel=1e-10, limit=200)[0])

    ends = np.array([0.0, 1.4])
    for i in range(3):
        for j in range(i + 1):
            wi, wj = (raw[k](ends) for k in (i, j))
            ti, tj = (raw[k](ends, 1) for k in (i, j))
            lever = conditions.tip_mass * conditions.tip_offset
            mass = integral(i, j, "mass_per_length", 0) + integral(i, j, "Jz", 1)
            mass += conditions.hub * ti[0] * tj[0] + conditions.tip_mass * wi[1] * wj[1]
            mass += conditions.tip_inertia * ti[1] * tj[1] + lever * (wi[1] * tj[1] + wj[1] * ti[1])
            stiffness = integral(i, j, "EIz", 2)
            square = found.frequencies[i] * found.frequencies[j]
            assert mass == pytest.approx(own * (i == j), abs=1e-8 * own)
            assert stiffness == pytest.approx(
                found.stiffness[i] * (i == j), abs=1e-8 * square * own
            )
        assert found.stiffness[i] == pytest.approx(own * found.frequencies[i] ** 2, rel=1e-9)


def test_curves_derivatives_agree_with_finite_differences() -> None:
    for motion in (Y, TWIST):
        for curve in columns_of(modes(tapered(), motion, ended(0.05, 0.3, 0.07), 3).raw):
            x = np.linspace(0.05, 1.35, 40)
            x = x[np.abs(x - 0.5) > 0.01]
            for nu in range(3):
                h = 1e-4
                central = (8 * (curve(x + h, nu) - curve(x - h, nu))) / (12 * h)
                central -= (curve(x + 2 * h, nu) - curve(x - 2 * h, nu)) / (12 * h)
                size = np.abs(curve(x, nu + 1)).max()
                assert curve(x, nu + 1) == pytest.approx(central, abs=1e-8 * size)


def test_root_motion_is_taken_out_or_left_in() -> None:
    root = np.zeros(1)
    found = modes(uniform(), Y, Conditions("pinned-free"), 3)
    for curve, raw in zip(*map(columns_of, (found.curves, found.raw)), strict=True):
        assert curve(root)[0] == pytest.approx(0, abs=1e-14)
        assert curve(root, 1)[0] == pytest.approx(0, abs=1e-12)
        assert raw(root)[0] == pytest.approx(0, abs=1e-14)
        assert abs(raw(root, 1)[0]) > 1
        x = np.linspace(0, 1, 7)
        assert raw(x) - raw(root, 1) * x == pytest.approx(curve(x), abs=1e-12)
    twisted = modes(uniform(), TWIST, Conditions("pinned-free"), 2)
    for curve, raw in zip(*map(columns_of, (twisted.curves, twisted.raw)), strict=True):
        assert curve(root)[0] == pytest.approx(0, abs=1e-14)
        assert abs(raw(root)[0]) > 1


def test_constraint_shapes_of_a_uniform_beam_are_hermite_cubics() -> None:
    length, stiffness = 0.8, 3.0
    curves, matrix = constraint_shapes(uniform(length, EIz=stiffness), Y)
    t = np.linspace(0, 1, 9)
    assert curves(length * t)[:, 0] == pytest.approx(3 * t**2 - 2 * t**3, abs=1e-13)
    assert curves(length * t)[:, 1] == pytest.approx(length * (t**3 - t**2), abs=1e-13)
    exact = [[12 / length**3, -6 / length**2], [-6 / length**2, 4 / length]]
    assert matrix == pytest.approx(stiffness * np.array(exact), rel=1e-12)
