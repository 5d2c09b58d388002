"""Beam eigenvalues and shapes against published digits, exact determinants and finite elements."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
import pytest

from flexarm.errors import ShapeError
from flexarm_papers.beams.classical import (
    CLAMPED_FREE,
    FREE_FREE,
    PINNED_FREE,
    PINNED_PINNED,
    BeamEnds,
    beam_roots,
    beam_shape,
    clamped_mass,
    count_below,
    hub_mass,
)

Array = npt.NDArray[np.float64]
GAUSS = np.polynomial.legendre.leggauss(400)

PRINTED = [
    (CLAMPED_FREE, "1.87510406871 4.69409113297 7.85475743824 10.9955407349 14.137168391"),
    (PINNED_FREE, "3.92660231205 7.06858274563 10.2101761228 13.3517687778 16.4933614313"),
    (FREE_FREE, "4.73004074486 7.8532046241 10.995607838 14.1371654913 17.2787596574"),
    (clamped_mass(0.1), "1.72274152059 4.39952281616 7.4510566733 10.521784756 13.6141876601"),
    (clamped_mass(0.5), "1.41996442977 4.11113338642 7.19033524196 10.2984454428 13.4210015533"),
    (clamped_mass(1), "1.24791740961 4.03113943671 7.13413224094 10.2566210737 13.387756326"),
    (clamped_mass(10), "0.73578191939 3.93846583325 7.07561636703 10.2150464784 13.35549859"),
    (clamped_mass(1, 0.1), "1.19566983109 2.5050600194 4.97509843779 7.98397195195 11.0854983124"),
    (clamped_mass(1, 1), "0.931611384112 1.841350633 4.90087315384 7.9663933966 11.0789337762"),
    (clamped_mass(0, 0.1), "1.57707087182 2.64823766863 5.52862709336 8.64716906775 11.7840374103"),
    (hub_mass(0.1), "2.6389246963 4.79377085046 7.87565294278 11.0031041617 14.1407175257"),
    (hub_mass(1), "2.01000332237 4.70379426228 7.85682355122 10.9962933756 14.1375224159"),
    (hub_mass(10), "1.89007648042 4.69505830666 7.85496381319 10.9956159619 14.1372037847"),
    (BeamEnds(spring=1), "1.24791740961 4.03113943671 7.13413224094 10.2566210737 13.387756326"),
    (BeamEnds(spring=100), "1.85678697696 4.64972648342 7.78267123973 10.8975884253 14.0148605648"),
    (BeamEnds(spring=10, rotor=0.1), "2.4539839136 4.4512424251 7.4576819013 10.523375988"),
    (BeamEnds(spring=10, rotor=1), "1.8489363185 4.4044437698 7.4517113625 10.521943253"),
]

NASTY = [
    clamped_mass(1e6, 1e4, 1e5),
    clamped_mass(123456.7, 321.9, 0.9999999999 * math.sqrt(123456.7 * 321.9)),
    clamped_mass(1e-6, 1e-8, -1e-7),
    clamped_mass(1e6, 1e-8),
    clamped_mass(1e-6, 1e4, 0.05),
    hub_mass(1e4, 1e6, 1.0, 1e3),
    hub_mass(1e-8, 0.3, 1e4, -50.0),
    BeamEnds(hub=0.02, spring=1e6, tip_mass=1e6, tip_pinned=True),
    BeamEnds(hub=1e4, spring=80.0, rotor=5e-5, tip_inertia=0.2),
    BeamEnds(translation=True, spring=1e-6, tip_mass=1e6, tip_inertia=1e-8),
    BeamEnds(translation=True, hub=math.inf, tip_pinned=True, tip_inertia=1e4),
]


def agree(values: Array, printed: str) -> None:
    """Compare with every digit that was printed."""
    digits = printed.split()
    assert len(values) == len(digits)
    for value, text in zip(values, digits, strict=True):
        assert round(float(value), len(text.partition(".")[2])) == float(text)


def random_ends(seed: int) -> BeamEnds:
    """Draw ends of ordinary size: any root, a tip body that could be built."""
    rng = np.random.default_rng(seed)
    mass, inertia = 10 ** rng.uniform(-2, 1, 2)
    return BeamEnds(
        hub=math.inf if seed % 5 == 0 else float(10 ** rng.uniform(-2, 1)),
        spring=0.0 if seed % 5 == 1 else float(10 ** rng.uniform(-1, 3)),
        rotor=math.inf if seed % 5 < 3 else float(10 ** rng.uniform(-2, 1)),
        translation=seed % 5 == 4,
        tip_mass=float(mass),
        tip_inertia=float(inertia),
        tip_offset=float(rng.uniform(-1, 1) * math.sqrt(mass * inertia)),
    )


TEN = [random_ends(seed) for seed in range(10)]


def exact_solutions(lam: mp.mpf, x: float, nu: int) -> list[mp.mpf]:
    """Return the nu-th derivative of cos, sin, cosh, sinh of lam x."""
    c, s, ch, sh = (f(lam * x) for f in (mp.cos, mp.sin, mp.cosh, mp.sinh))
    derivatives = [[c, s, ch, sh], [-s, c, sh, ch], [-c, -s, ch, sh], [s, -c, sh, ch]]
    return [lam**nu * value for value in derivatives[nu]]


def exact_conditions(ends: BeamEnds, lam: mp.mpf) -> mp.matrix:
    """Write the four boundary conditions on the coefficients of cos, sin, cosh, sinh."""
    z = lam**4
    root, tip = ([exact_solutions(lam, x, nu) for nu in range(4)] for x in (0, 1))
    m, j, d = (mp.mpf(v) for v in (ends.tip_mass, ends.tip_inertia, ends.tip_offset))
    hub, k, jm = (mp.mpf(v) for v in (ends.hub, ends.spring, ends.rotor))

    def mix(*terms: tuple[mp.mpf, Sequence[mp.mpf]]) -> list[mp.mpf]:
        return [sum(factor * row[i] for factor, row in terms) for i in range(4)]

    if mp.isinf(hub):
        turn = root[1]
    elif mp.isinf(jm):
        turn = mix((1, root[2]), (hub * z - k, root[1]))
    else:
        turn = mix((k - jm * z, root[2]), (k * jm * z + hub * z * (k - jm * z), root[1]))
    force = mix((1, tip[3]), (z * m, tip[0]), (z * d, tip[1]))
    moment = mix((1, tip[2]), (-z * j, tip[1]), (-z * d, tip[0]))
    first = root[3] if ends.translation else root[0]
    return mp.matrix([first, turn, tip[0] if ends.tip_pinned else force, moment])


def exact_sign(ends: BeamEnds, lam: mp.mpf) -> int:
    return int(mp.sign(mp.det(exact_conditions(ends, lam))))


def exact_shape(ends: BeamEnds, lam: mp.mpf) -> list[mp.mpf]:
    """Return the null vector of the boundary conditions, as the cofactors of a row."""
    matrix = exact_conditions(ends, lam)
    rows = [[matrix[i, j] / max(abs(v) for v in matrix[i, :]) for j in range(4)] for i in range(4)]
    candidates = []
    for skip in range(4):
        kept = [row for i, row in enumerate(rows) if i != skip]
        candidates.append(
            [(-1) ** j * mp.det(mp.matrix([r[:j] + r[j + 1 :] for r in kept])) for j in range(4)]
        )
    return max(candidates, key=lambda vector: max(abs(v) for v in vector))


def finite_elements(ends: BeamEnds, elements: int) -> tuple[Array, Array]:
    """Assemble stiffness and mass of Hermite elements with everything the ends carry."""
    h = 1 / elements
    stiff = np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]]) / h**3
    mass = np.array(
        [[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]]
    ) * (h / 420)
    unit = np.diag([1, h, 1, h])
    size = 2 * elements + 3
    big_k, big_m = np.zeros((size, size)), np.zeros((size, size))
    for e in range(elements):
        part = slice(2 * e, 2 * e + 4)
        big_k[part, part] += unit @ stiff @ unit
        big_m[part, part] += unit @ mass @ unit
    w, slope, rotor = size - 3, size - 2, size - 1
    big_m[w, w] += ends.tip_mass
    big_m[slope, slope] += ends.tip_inertia
    big_m[[w, slope], [slope, w]] += ends.tip_offset
    fixed = set() if ends.translation else {0}
    if ends.tip_pinned:
        fixed.add(w)
    if math.isinf(ends.hub):
        fixed.add(1)
    else:
        big_m[1, 1] += ends.hub
    big_k[np.ix_([1, rotor], [1, rotor])] += ends.spring * np.array([[1, -1], [-1, 1]])
    if math.isinf(ends.rotor) or ends.spring == 0:
        fixed.add(rotor)
    else:
        big_m[rotor, rotor] += ends.rotor
    free = [i for i in range(size) if i not in fixed]
    return big_k[np.ix_(free, free)], big_m[np.ix_(free, free)]


def products(ends: BeamEnds, count: int) -> tuple[Array, Array]:
    """Return the mass and the energy products of the first shapes, by one long Gauss rule."""
    xi, weights = (GAUSS[0] + 1) / 2, GAUSS[1] / 2
    shapes = [beam_shape(ends, lam) for lam in beam_roots(ends, count)]
    inside = np.array([s.evaluate(xi) for s in shapes])
    bent = np.array([s.evaluate(xi, 2) for s in shapes])
    tip, slope = (np.array([s.evaluate(1.0, nu) for s in shapes]) for nu in (0, 1))
    turn = np.array([s.evaluate(0.0, 1) for s in shapes])
    rotor = np.array([s.rotor_angle for s in shapes])
    mass = (inside * weights) @ inside.T
    # The tip body at its centre, so that a heavy one far out does not cancel in the sum.
    arm = Fraction(ends.tip_offset) / Fraction(ends.tip_mass or 1.0)
    own = float(Fraction(ends.tip_inertia) - arm * Fraction(ends.tip_offset))
    centre = tip + float(arm) * slope
    mass += ends.tip_mass * np.outer(centre, centre) + own * np.outer(slope, slope)
    if ends.hub < math.inf:
        mass += ends.hub * np.outer(turn, turn)
    if ends.rotor < math.inf:
        mass += ends.rotor * np.outer(rotor, rotor)
    wind = turn - rotor
    energy = (bent * weights) @ bent.T + ends.spring * np.outer(wind, wind)
    return mass, energy


def hertz(ends: BeamEnds, count: int, *, length: float, line_mass: float, bending: float) -> Array:
    """Return link frequencies [Hz] from length [m], rhoA [kg/m] and EI [N m^2]."""
    scale = math.sqrt(bending / (line_mass * length**4)) / (2 * math.pi)
    return beam_roots(ends, count) ** 2 * scale


@pytest.mark.parametrize(("ends", "printed"), PRINTED)
def test_eigenvalues_agree_with_every_printed_digit(ends: BeamEnds, printed: str) -> None:
    agree(beam_roots(ends, len(printed.split())), printed)


def test_pinned_pinned_eigenvalues_are_multiples_of_pi() -> None:
    expected = math.pi * np.arange(1, 41)
    np.testing.assert_allclose(beam_roots(PINNED_PINNED, 40), expected, rtol=1e-15)


@pytest.mark.parametrize("stiffness", [1e-3, 1.0, 7.0, 1e4])
def test_elastic_joint_is_the_dual_of_a_tip_mass(stiffness: float) -> None:
    joint = beam_roots(BeamEnds(spring=stiffness), 20)
    np.testing.assert_allclose(joint, beam_roots(clamped_mass(1 / stiffness), 20), rtol=4e-15)


def test_guided_pinned_and_clamped_guided_beams_have_their_textbook_eigenvalues() -> None:
    guided = BeamEnds(hub=math.inf, translation=True, tip_pinned=True)
    expected = math.pi * (np.arange(1, 11) - 0.5)
    np.testing.assert_allclose(beam_roots(guided, 10), expected, rtol=1e-15)


@pytest.mark.few(5)
@pytest.mark.parametrize("ends", TEN + NASTY)
def test_exact_determinant_changes_sign_within_1e_13_of_each_root(ends: BeamEnds) -> None:
    roots = beam_roots(ends, 40)
    with mp.workdps(170):
        for lam in roots[[0, 1, 2, 3, 4, 9, 24, 39]]:
            exact = mp.mpf(float(lam))
            below, above = exact * (1 - mp.mpf("1e-13")), exact * (1 + mp.mpf("1e-13"))
            assert exact_sign(ends, below) == -exact_sign(ends, above)


@pytest.mark.few(5)
@pytest.mark.parametrize("ends", TEN + NASTY)
def test_finite_elements_count_the_same_eigenvalues_between_the_roots(ends: BeamEnds) -> None:
    stiffness, mass = finite_elements(ends, 90)
    roots = beam_roots(ends, 24)
    assert np.all(np.diff(roots) > 0)
    for index in [0, 1, 2, 3, 5, 8, 12, 17, 22]:
        middle = (roots[index] + roots[index + 1]) / 2
        negative = int(np.sum(np.linalg.eigvalsh(stiffness - middle**4 * mass) < 0))
        assert negative == index + 1 + ends.rigid_modes == count_below(ends, middle)


@pytest.mark.few(3)
@pytest.mark.parametrize("ends", [*TEN, *NASTY, CLAMPED_FREE, PINNED_PINNED])
def test_shapes_agree_with_the_exact_null_vector(ends: BeamEnds) -> None:
    roots = beam_roots(ends, 40)
    xi = np.linspace(0, 1, 14)
    with mp.workdps(170):
        for lam in roots[[0, 1, 5, 39]].tolist():
            bracket = (mp.mpf(lam) * (1 - mp.mpf("1e-13")), mp.mpf(lam) * (1 + mp.mpf("1e-13")))
            root = mp.findroot(
                lambda x: mp.det(exact_conditions(ends, x)) / mp.cosh(x) ** 2,
                bracket,
                solver="illinois",
                tol=mp.mpf("1e-60"),
                verify=False,
            )
            null = exact_shape(ends, root)
            exact = np.array(
                [
                    [float(mp.fdot(null, exact_solutions(root, x, nu)) / root**nu) for x in xi]
                    for nu in range(4)
                ]
            )
            shape = beam_shape(ends, lam)
            ours = np.array([shape.evaluate(xi, nu) / lam**nu for nu in range(4)])
            peak = np.unravel_index(np.argmax(np.abs(exact)), exact.shape)
            scaled = exact * ours[peak] / exact[peak]
            np.testing.assert_allclose(ours, scaled, rtol=0, atol=1e-12 * np.abs(ours[peak]))


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "ends", [*TEN, *NASTY, CLAMPED_FREE, PINNED_FREE, PINNED_PINNED, FREE_FREE]
)
def test_forty_shapes_are_orthonormal_in_mass_and_diagonal_in_energy(ends: BeamEnds) -> None:
    mass, energy = products(ends, 40)
    roots = beam_roots(ends, 40)
    np.testing.assert_allclose(mass, np.eye(40), rtol=0, atol=1e-11)
    scaled = energy / np.outer(roots**2, roots**2)
    np.testing.assert_allclose(scaled, np.eye(40), rtol=0, atol=1e-11)


@pytest.mark.parametrize("ends", [*TEN, CLAMPED_FREE, FREE_FREE])
def test_tips_are_positive(ends: BeamEnds) -> None:
    assert all(beam_shape(ends, lam).evaluate(1.0) > 0 for lam in beam_roots(ends, 12))


def test_a_pinned_tip_has_a_positive_slope() -> None:
    for n, lam in enumerate(beam_roots(PINNED_PINNED, 6), start=1):
        slope = beam_shape(PINNED_PINNED, lam).evaluate(1.0, 1)
        assert slope == pytest.approx(math.sqrt(2) * n * math.pi, rel=1e-13)


def test_shapes_keep_the_form_of_their_argument() -> None:
    shape = beam_shape(CLAMPED_FREE, beam_roots(CLAMPED_FREE, 1)[0])
    assert shape.evaluate(0.5).shape == ()
    assert shape.evaluate(np.zeros((2, 3)), 3).shape == (2, 3)


def test_a_hub_grows_into_a_clamp_and_a_rotor_into_the_ground() -> None:
    held = beam_roots(CLAMPED_FREE, 5)
    np.testing.assert_allclose(beam_roots(hub_mass(1e10), 5), held, rtol=1e-10)
    spring = beam_roots(BeamEnds(spring=5, hub=0.2), 5)
    heavy = beam_roots(BeamEnds(spring=5, hub=0.2, rotor=1e10), 5)
    np.testing.assert_allclose(heavy, spring, rtol=1e-10)


def test_a_very_heavy_tip_moves_on_a_beam_without_mass() -> None:
    # Static stiffness 3 EI/L^3 under a force and EI/L under a moment; the beam's mass is 1e-12.
    assert beam_roots(clamped_mass(1e12), 1)[0] ** 4 * 1e12 == pytest.approx(3, rel=2e-12)
    assert beam_roots(clamped_mass(0, 1e12), 1)[0] ** 4 * 1e12 == pytest.approx(1, rel=2e-12)


def test_a_trial_value_that_is_exactly_a_root_is_found_once() -> None:
    # The spring is such that the determinant rounds to 0 at a point that the halving visits.
    for mass, inertia, spring in [
        (0.405, 0.0039, 116.51446551410507),
        (0.365, 0.0021, 22.315164144691195),
        (0.32, 0.0037, 48.02862557411389),
    ]:
        roots = beam_roots(BeamEnds(spring=spring, tip_mass=mass, tip_inertia=inertia), 3)
        assert np.all(np.diff(roots) > 1)


@pytest.mark.parametrize(("stiffness", "split"), [(1e-6, 1e-2), (1e-9, 1e-3), (1e-36, 1e-13)])
def test_nearly_equal_eigenvalues_are_both_found(stiffness: float, split: float) -> None:
    # A weak spring to a rotor tuned to the second eigenvalue splits it in two.
    for mass, detuning in itertools.product([0.125, 0.3, 1.0, 1.45], [-4.4e-16, -2.2e-16, 4.4e-16]):
        first, lam, third = beam_roots(hub_mass(0.0, mass), 3).tolist()
        rotor = stiffness / lam**4 * (1 + detuning)
        joint = BeamEnds(spring=stiffness, rotor=rotor, tip_mass=mass)
        roots = beam_roots(joint, 4)
        np.testing.assert_allclose(roots, [first, lam, lam, third], rtol=split)
        assert 0 <= roots[2] - roots[1] < split


def test_an_offset_beyond_its_bound_by_rounding_counts_as_a_point_mass() -> None:
    exact = beam_roots(clamped_mass(4e6, 1e4, 2e5), 40)
    rounded = beam_roots(clamped_mass(4e6, 1e4, 2e5 * (1 + 5e-10)), 40)
    np.testing.assert_allclose(rounded, exact, rtol=2e-9)


@pytest.mark.parametrize(
    ("cosine", "printed"),
    [(0, "0.479693 1.796589"), (1, "0.440983 1.985852"), (-1, "0.530751 1.654051")],
)
def test_de_luca_siciliano_first_link_agrees_at_each_elbow_angle(cosine: int, printed: str) -> None:
    length, rho = 0.5, 0.2
    second = rho * length
    mass = 1.0 + second + 0.1
    inertia = 0.1 + second * length**2 / 3 + 5e-4 + 0.1 * length**2
    offset = (second * length / 2 + 0.1 * length) * cosine
    body = clamped_mass(
        mass / (rho * length), inertia / (rho * length**3), offset / (rho * length**2)
    )
    agree(hertz(body, 2, length=length, line_mass=rho, bending=1.0), printed)


def test_de_luca_siciliano_second_link_agrees() -> None:
    body = clamped_mass(0.1 / (0.2 * 0.5), 5e-4 / (0.2 * 0.5**3))
    agree(hertz(body, 2, length=0.5, line_mass=0.2, bending=1.0), "2.178334 15.914513")


@pytest.mark.parametrize(
    ("length", "printed"),
    [(0.3, "175.6187 1720.119"), (0.65, "49.04398 385.0750"), (1.0, "23.38656 168.5833")],
)
def test_theodore_ghosal_third_link_agrees_at_each_extension(length: float, printed: str) -> None:
    line_mass = 0.4303 / 1.3
    body = clamped_mass(0.0828 / (line_mass * length))
    agree(hertz(body, 2, length=length, line_mass=line_mass, bending=1165.4916), printed)


def test_theodore_ghosal_table_1_is_in_radians_per_second() -> None:
    values = 2 * math.pi * hertz(CLAMPED_FREE, 5, length=1, line_mass=0.331, bending=1165.4916)
    agree(values, "208.637 1307.506 3661.054 7174.205 11859.474")


def test_korayem_shafei_link_agrees() -> None:
    values = hertz(CLAMPED_FREE, 3, length=1.0, line_mass=5.0, bending=2e11 * 5e-9)
    agree(values, "7.913815 49.595031 138.867522")


def test_chen_zhang_liu_link_agrees() -> None:
    values = hertz(CLAMPED_FREE, 3, length=7.11, line_mass=314.88 / 7.11, bending=3.8e6)
    agree(values, "3.242543 20.32067 56.898465")
    assert 2 * math.pi * values[0] == pytest.approx(20.3735, abs=5e-5)


def test_gu_link_agrees() -> None:
    line_mass, bending = 2700 * 0.05 * 0.004, 6.9e10 * 0.05 * 0.004**3 / 12
    values = hertz(
        clamped_mass(0.25 / line_mass), 2, length=1.0, line_mass=line_mass, bending=bending
    )
    agree(values, "1.921906 15.786739")


def test_tokhi_link_agrees_on_its_hub_and_clamped() -> None:
    width, height, length = 19.008e-3, 3.2004e-3, 0.9
    line_mass, bending = 2710 * width * height, 71e9 * width * height**3 / 12
    hub = hub_mass(5.8598e-4 / (line_mass * length**3))
    on_hub = hertz(hub, 3, length=length, line_mass=line_mass, bending=bending)
    agree(on_hub, "13.310354 35.106485 64.818549")
    clamped = hertz(CLAMPED_FREE, 3, length=length, line_mass=line_mass, bending=bending)
    agree(clamped, "3.266962 20.4737 57.3270")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hub", -0.1),
        ("hub", math.nan),
        ("spring", math.inf),
        ("rotor", -1.0),
        ("tip_mass", math.inf),
        ("tip_inertia", -1e-9),
        ("tip_offset", 0.3),
        ("tip_offset", math.nan),
    ],
)
def test_impossible_ends_are_refused_by_name(name: str, value: float) -> None:
    values: dict[str, float] = {"tip_mass": 1.0, "tip_inertia": 0.05, name: value}
    with pytest.raises(ShapeError, match=f"^{name}: expected"):
        BeamEnds(**values)  # type: ignore[arg-type]


def test_a_point_mass_beyond_the_tip_is_accepted_although_rounded() -> None:
    for c in np.linspace(0.01, 0.9, 50).tolist():
        assert beam_roots(clamped_mass(0.7, 0.7 * c * c, 0.7 * c), 1).size == 1


def test_wrong_requests_are_refused() -> None:
    with pytest.raises(ShapeError, match="count: expected at least 1"):
        beam_roots(CLAMPED_FREE, 0)
    with pytest.raises(ShapeError, match=r"is no eigenvalue .* take it from beam_roots"):
        beam_shape(CLAMPED_FREE, 1.876)
    with pytest.raises(ShapeError, match="expected an elastic eigenvalue > 0"):
        beam_shape(PINNED_FREE, 0.0)
    shape = beam_shape(CLAMPED_FREE, beam_roots(CLAMPED_FREE, 1)[0])
    with pytest.raises(ShapeError, match="derivative: expected 0, 1, 2 or 3, got 4"):
        shape.evaluate(0.5, 4)
