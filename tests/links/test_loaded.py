"""Loaded modes: their ends, their root, their stiffness, and links of the literature."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from flexarm.arm import shapes as choices
from flexarm.arm.section import Material, Rectangle, Section
from flexarm.errors import ShapeError
from flexarm.links.base import Counts, Direction, Ends, Shapes, Span
from flexarm.links.basis import MOTIONS
from flexarm.links.beams.finite import Conditions, modes
from flexarm.links.families.spans import LOADED
from tests.links.spans import BARE, HELD, curves_of, frequencies, tapered, uniform, without

ENDS = Ends((0.02, 0.05, 0.3), 0.7, (0.04, 0.2, 0.15), 0.3)


def loaded(span: Span, ends: Ends, counts: Counts, **options: str) -> Shapes:
    """Build loaded modes."""
    choice = choices.Loaded.model_validate(options)
    return LOADED.shapes(choice, span, ends, counts)


def hertz(span: Span, direction: Direction, ends: Ends, count: int = 2) -> list[float]:
    """Link frequencies [Hz]."""
    motion = MOTIONS[direction]
    found = modes(span, motion, Conditions.of(ends, motion), count)
    return list(found.frequencies / (2 * math.pi))


def test_names_and_order_of_the_coordinates() -> None:
    shapes = loaded(tapered(), ENDS, Counts(2, 1, 2, 1))
    assert shapes.names == ("y1", "y2", "z1", "twist1", "twist2", "stretch1")
    assert [set(each) for each in curves_of(shapes)] == [
        {"y"}, {"y"}, {"z"}, {"twist"}, {"twist"}, {"x"}
    ]  # fmt: skip


def test_directions_without_a_count_have_no_shapes() -> None:
    assert loaded(uniform(), BARE, Counts(0, 0, 0, 0)).names == ()
    assert loaded(uniform(), BARE, Counts(0, 2, 0, 0)).names == ("z1", "z2")


@pytest.mark.parametrize("span", [uniform(), tapered()])
def test_root_neither_moves_nor_turns(span: Span) -> None:
    shapes = loaded(span, ENDS, Counts(4, 4, 2, 1))
    root = np.zeros(1)
    assert shapes.displacement(root) == pytest.approx(0, abs=1e-14)
    assert shapes.rotation(root) == pytest.approx(0, abs=1e-13)


def test_tip_displacement_and_twist_are_one() -> None:
    span = tapered()
    shapes = loaded(span, BARE, Counts(3, 2, 2, 2))
    tip = np.array([span.length])
    values = [float(next(iter(each.values()))(tip)[0]) for each in curves_of(shapes)]
    assert values == pytest.approx([1.0] * 9, rel=1e-12)


def test_shape_whose_tip_stands_still_has_unit_maximum() -> None:
    shapes = loaded(uniform(), Ends(HELD, 1e6, (0.0, 0.0, 0.0)), Counts(2, 0, 0, 0))
    second = curves_of(shapes)[1]["y"]
    x = np.linspace(0, 1, 4001)
    assert abs(second(x[-1:])[0]) < 1e-3
    assert second(x).max() == pytest.approx(1, abs=1e-6)
    assert second(x).min() > -1e-3


def test_mass_normalisation_counts_translation_and_rotary_inertia_of_the_span_alone() -> None:
    span = tapered()
    shapes = loaded(span, ENDS, Counts(2, 2, 2, 1), normalise="mass")
    for each in curves_of(shapes):
        ((direction, curve),) = each.items()
        motion = MOTIONS[direction]

        def density(x: float, curve=curve, motion=motion) -> float:  # type: ignore[no-untyped-def]
            at = np.array([x])
            value = span.at(motion.inertia, at) * curve(at) ** 2
            if motion.rotary is not None:
                value += span.at(motion.rotary, at) * curve(at, 1) ** 2
            return float(value[0])

        mass = quad(density, 0, 1.4, points=[0.5], epsabs=1e-12, epsrel=1e-12)[0]
        assert mass == pytest.approx(1, rel=1e-9)
        assert curve(np.array([1.4]))[0] > 0


@pytest.mark.few(1)
@pytest.mark.parametrize("normalise", ["tip", "mass", "none"])
def test_stiffness_is_the_strain_energy_integral(normalise: str) -> None:
    span = tapered()
    shapes = loaded(span, ENDS, Counts(2, 2, 2, 2), normalise=normalise)
    for i in range(8):
        for j in (i - i % 2, i):
            ((direction, a),) = curves_of(shapes)[i].items()
            b = curves_of(shapes)[j][direction]
            motion = MOTIONS[direction]

            def energy(x: float, a=a, b=b, motion=motion) -> float:  # type: ignore[no-untyped-def]
                at = np.array([x])
                product = a(at, motion.order) * b(at, motion.order)
                return float((span.at(motion.stiffness, at) * product)[0])

            size = math.sqrt(shapes.stiffness[i, i] * shapes.stiffness[j, j])
            value = quad(energy, 0, 1.4, points=[0.5], epsabs=1e-11 * size, epsrel=1e-11)[0]
            assert shapes.stiffness[i, j] == pytest.approx(value, abs=1e-9 * size)
    assert np.count_nonzero(shapes.stiffness - np.diag(np.diag(shapes.stiffness))) == 0


def test_with_the_joint_angle_the_shapes_vibrate_at_the_loaded_frequencies() -> None:
    # Adding x to the clamped shapes must give back hub, rigid motion and modes of one eigenproblem.
    span, ends = uniform(1.3, Jz=0.01), Ends((math.inf, math.inf, 0.3), 0.7, (0.0, 0.0, 0.15), 0.3)
    shapes = loaded(span, ends, Counts(4, 0, 0, 0))
    x, weight = span.quadrature(60)
    moved = np.column_stack([x, shapes.values("y", x)])
    turned = np.column_stack([np.ones_like(x), shapes.values("y", x, 1)])
    mass = moved.T @ (weight[:, None] * moved) + 0.01 * turned.T @ (weight[:, None] * turned)
    tip = np.concatenate([[1.3], shapes.values("y", np.array([1.3]))[0]])
    slope = np.concatenate([[1.0], shapes.values("y", np.array([1.3]), 1)[0]])
    far = tip + 0.3 * slope
    mass += 0.7 * np.outer(far, far) + (0.15 - 0.7 * 0.09) * np.outer(slope, slope)
    mass[0, 0] += 0.3
    stiffness = np.zeros((5, 5))
    stiffness[1:, 1:] = shapes.stiffness
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(mass, stiffness)).real)
    found = modes(span, MOTIONS["y"], Conditions.of(ends, MOTIONS["y"]), 4).frequencies
    assert squares[0] == pytest.approx(0, abs=1e-9)
    assert np.sqrt(squares[1:]) == pytest.approx(found, rel=1e-10)


def test_directions_read_their_own_end_inertias() -> None:
    span = uniform(Jx=0.3)
    ends = Ends((0.1, 0.2, math.inf), 0.5, (0.07, 0.11, 0.13), 0.2)
    expected = {
        "y": Conditions("clamped-free", 0.0, 0.5, 0.13, 0.2),
        "z": Conditions("pinned-free", 0.2, 0.5, 0.11, 0.2),
        "twist": Conditions("pinned-free", 0.1, 0.07),
        "x": Conditions("clamped-free", 0.0, 0.5),
    }
    for direction, conditions in expected.items():
        assert Conditions.of(ends, MOTIONS[direction]) == conditions  # type: ignore[index]
    held = loaded(span, Ends(HELD, 0.5, (0.07, 0.11, 0.13), 0.2), Counts(1, 1, 1, 1))
    own = frequencies(held, span, Ends(HELD, 0.5, (0.07, 0.11, 0.13), 0.2))
    each = [
        modes(span, m, Conditions.of(Ends(HELD, 0.5, (0.07, 0.11, 0.13), 0.2), m), 1).frequencies[0]
        for m in MOTIONS.values()
    ]
    assert own == pytest.approx(np.sort(each), rel=1e-10)


@pytest.mark.parametrize(
    ("lacking", "counts", "message"),
    [
        ("EIz", Counts(2, 0, 0, 0), "bending_y: 2 needs EIz in the section"),
        ("EIy", Counts(0, 1, 0, 0), "bending_z: 1 needs EIy in the section"),
        ("GJ", Counts(0, 0, 3, 0), "torsion: 3 needs GJ in the section"),
        ("EA", Counts(0, 0, 0, 1), "stretch: 1 needs EA in the section"),
    ],
)
def test_missing_stiffness_is_named(lacking: str, counts: Counts, message: str) -> None:
    span = without(uniform(), lacking)
    with pytest.raises(ShapeError, match=message):
        loaded(span, BARE, counts)
    assert loaded(span, BARE, Counts(0, 0, 0, 0)).names == ()


def test_mass_normalisation_of_a_massless_rod_is_refused() -> None:
    ends = Ends(HELD, 0.0, (0.5, 0.0, 0.0))
    with pytest.raises(ShapeError, match=r"twist1 moves no mass.*normalise: tip"):
        loaded(uniform(Jx=0.0), ends, Counts(0, 0, 1, 0), normalise="mass")
    assert loaded(uniform(Jx=0.0), ends, Counts(0, 0, 1, 0)).stiffness == pytest.approx(1)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (Ends(HELD, 1.2, (0, 0, 0.1 + 0.1 * 0.25 / 3 + 0.1 * 0.25 + 5e-4)), (0.479693, 1.796589)),
        (Ends(HELD, 0.1, (0, 0, 5e-4)), (2.178334, 15.914513)),
        (
            Ends(HELD, 1.2, (0, 0, 0.1 + 0.1 * 0.25 / 3 + 0.1 * 0.25 + 5e-4), 0.075 / 1.2),
            (0.440983, 1.985852),
        ),
        (
            Ends(HELD, 1.2, (0, 0, 0.1 + 0.1 * 0.25 / 3 + 0.1 * 0.25 + 5e-4), -0.075 / 1.2),
            (0.530751, 1.654051),
        ),
    ],
    ids=["link-1-at-90-deg", "link-2", "link-1-at-0-deg", "link-1-at-180-deg"],
)
def test_de_luca_and_siciliano_links(ends: Ends, expected: tuple[float, float]) -> None:
    span = uniform(0.5, mass_per_length=0.2)
    assert hertz(span, "y", ends) == pytest.approx(list(expected), abs=5.1e-7)


def test_korayem_and_shafei_link() -> None:
    span = uniform(EIz=1000.0, mass_per_length=5.0)
    expected = [7.913815, 49.595031, 138.867522]
    assert hertz(span, "y", BARE, 3) == pytest.approx(expected, abs=5.1e-7)


def test_theodore_and_ghosal_sliding_link_with_payload() -> None:
    payload = Ends(HELD, 0.0828, (0.0, 0.0, 0.0))
    for length, first, second, digits in (
        (0.3, 175.6187, 1720.119, 4),
        (0.65, 49.04398, 385.0750, 5),
        (1.0, 23.38656, 168.5833, 5),
    ):
        span = uniform(length, EIz=1165.4916, mass_per_length=0.331)
        found = hertz(span, "y", payload)
        assert found[0] == pytest.approx(first, abs=0.51 * 10.0**-digits)
        assert found[1] == pytest.approx(second, abs=0.51 * 10.0 ** (1 - digits))


def test_gu_link_with_tip_mass() -> None:
    section = Section(
        material=Material(E=6.9e10, density=2700),
        shape=Rectangle(kind="rectangle", width=0.004, height=0.05),
        rotary_inertia=False,
    )
    found = hertz(Span.of(section, 1.0), "y", Ends(HELD, 0.25, (0.0, 0.0, 0.0)))
    assert found == pytest.approx([1.921906, 15.786739], abs=5.1e-7)


def test_tokhi_link_on_its_hub_and_clamped() -> None:
    section = Section(
        material=Material(E=71e9, density=2710),
        shape=Rectangle(kind="rectangle", width=3.2004e-3, height=19.008e-3),
        rotary_inertia=False,
    )
    span = Span.of(section, 0.9)
    hub = Ends((math.inf, math.inf, 5.8598e-4), 0.0, (0.0, 0.0, 0.0))
    expected = [13.310354, 35.106485, 64.818549]
    assert hertz(span, "y", hub, 3) == pytest.approx(expected, abs=5.1e-7)
    clamped = hertz(span, "y", BARE, 3)
    assert clamped == pytest.approx([3.266962, 20.4737, 57.3270], abs=5.1e-5)
