"""Hermite and linear elements against published tables and their orders of convergence."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from flexarm.arm import shapes as choices
from flexarm.links.base import Counts, Direction, Ends, Shapes, Span
from flexarm.links.families.spans import ElementShapes
from tests.links.spans import (
    BARE,
    HELD,
    Array,
    curves_of,
    frequencies,
    measured_order,
    tapered,
    uniform,
)

# omega T of a clamped-free beam by number of elements.
HERMITE = {
    1: "3.53273154 34.80689311",
    2: "3.51771504 22.22147447 75.15708306 218.13802456",
    3: "3.51637158 22.1068592 62.46598194 140.67105181 264.74330667 527.7961561",
    8: "3.51602259 22.03625342 61.73474119",
}
# Theodore & Ghosal 1995, Table 1: headed Hz, in rad/s; clamped-free, EI 1165.4916, rhoA .331, L 1.
THEODORE = {
    1: ("2.0963e2", "2.0654e3"),
    2: ("2.0873e2", "1.3186e3", "4.4597e3", "1.2944e4"),
    3: ("2.0864e2", "1.3118e3", "3.7067e3", "8.3473e3", "1.5709e4", "3.1318e4"),
}
THEODORE_EXACT = ("2.0864e2", "1.3075e3", "3.6611e3", "7.1742e3", "1.1860e4", "1.7716e4")


def elements(span: Span, counts: Counts, ends: Ends = BARE, reduce: int | None = None) -> Shapes:
    """Build element shapes."""
    choice = choices.Elements(kind="elements", reduce=reduce)
    return ElementShapes().shapes(choice, span, ends, counts)


def along_y(count: int) -> Counts:
    """Count elements in one plane of bending."""
    return Counts(count, 0, 0, 0)


def prints_as(value: float, printed: str) -> bool:
    """Whether a five-digit entry is the value, rounded or cut off."""
    unit = 10.0 ** (int(printed[-1]) - 4)
    difference = value - float(printed)
    return abs(difference) <= unit / 2 or 0 <= difference < unit


@pytest.mark.parametrize("count", HERMITE)
def test_hermite_frequencies_agree_with_the_table_to_all_printed_digits(count: int) -> None:
    found = frequencies(elements(uniform(), along_y(count)), uniform())
    for value, text in zip(found, HERMITE[count].split(), strict=False):
        digits = len(text.partition(".")[2])
        assert value == pytest.approx(float(text), abs=0.51 * 10.0**-digits, rel=0)
    assert len(found) == 2 * count


@pytest.mark.parametrize(
    ("count", "mode", "printed"),
    [
        (count, mode, text)
        for count, column in THEODORE.items()
        for mode, text in enumerate(column)
        if (count, mode) != (3, 0)
    ],
)
def test_theodore_and_ghosal_table_1_is_reproduced_in_rad_per_s(
    count: int, mode: int, printed: str
) -> None:
    span = uniform(mass_per_length=0.331, EIz=1165.4916)
    assert prints_as(frequencies(elements(span, along_y(count)), span)[mode], printed)


def test_theodore_and_ghosal_table_1_misprints_mode_1_of_three_elements() -> None:
    span = uniform(mass_per_length=0.331, EIz=1165.4916)
    value = frequencies(elements(span, along_y(3)), span)[0]
    assert value == pytest.approx(208.658, abs=5e-4)
    assert not prints_as(value, THEODORE[3][0])


def test_theodore_and_ghosal_exact_column_is_the_limit_but_for_the_last_digit_of_mode_5() -> None:
    span = uniform(mass_per_length=0.331, EIz=1165.4916)
    found = frequencies(elements(span, along_y(60)), span)
    for mode, printed in enumerate(THEODORE_EXACT):
        rounded = float(f"{found[mode]:.4e}")
        assert rounded == (11859.0 if mode == 4 else float(printed))


def test_bending_converges_at_order_4() -> None:
    errors = [
        frequencies(elements(uniform(), along_y(n)), uniform())[1] - 4.69409113297**2
        for n in (4, 8, 16)
    ]
    assert min(errors) > 0
    assert measured_order(errors, 2) == pytest.approx(4, abs=0.05)


@pytest.mark.parametrize("counts", [Counts(0, 0, 1, 0), Counts(0, 0, 0, 1)])
def test_twist_and_stretch_converge_at_order_2(counts: Counts) -> None:
    errors = []
    for n in (8, 16, 32):
        many = Counts(0, 0, n * counts.twist, n * counts.x)
        errors.append(frequencies(elements(uniform(), many), uniform())[1] - 1.5 * math.pi)
    assert min(errors) > 0
    assert measured_order(errors, 2) == pytest.approx(2, abs=0.02)


def test_coordinates_are_nodal_values_in_the_documented_order() -> None:
    shapes = elements(uniform(1.5), Counts(2, 3, 2, 1))
    expected = ["node1.y", "node1.slope_y", "node2.y", "node2.slope_y"]
    expected += [f"node{k}.{c}" for k in (1, 2, 3) for c in ("z", "slope_z")]
    expected += ["node1.twist", "node2.twist", "node1.stretch"]
    assert list(shapes.names) == expected
    for name, each in zip(shapes.names, curves_of(shapes), strict=True):
        node, _, what = name.partition(".")
        ((direction, curve),) = each.items()
        count = {"y": 2, "z": 3, "twist": 2, "x": 1}[direction]
        nodes = 1.5 * np.arange(count + 1) / count
        own = np.arange(count + 1) == int(node[4:])
        slope = what.startswith("slope")
        assert curve(nodes) == pytest.approx(own * float(not slope), abs=1e-14)
        if direction in ("y", "z"):
            assert curve(nodes, 1) == pytest.approx(1.0 * own * slope, abs=1e-14)


def test_stiffness_has_no_entry_between_nodes_that_share_no_element() -> None:
    stiffness = elements(tapered(), along_y(5)).stiffness
    apart = np.abs(np.subtract.outer(np.arange(10) // 2, np.arange(10) // 2)) > 1
    assert np.all(stiffness[apart] == 0)
    assert np.all(np.diag(stiffness) > 0)


def test_stiffness_integrates_sections_that_vary_inside_an_element() -> None:
    span = tapered()
    shapes = elements(span, Counts(3, 0, 3, 0))

    def energy(i: int, j: int, name: str, direction: Direction, nu: int) -> float:
        a, b = (curves_of(shapes)[k][direction] for k in (i, j))

        def value(x: float) -> float:
            at = np.array([x])
            return float((span.at(name, at) * a(at, nu) * b(at, nu))[0])

        nodes = [1.4 / 3, 0.5, 2.8 / 3]
        return float(quad(value, 0, 1.4, points=nodes, epsabs=1e-12, epsrel=1e-12)[0])

    for i, j in ((0, 0), (0, 1), (1, 2), (3, 5), (5, 5)):
        exact = energy(i, j, "EIz", "y", 2)
        assert shapes.stiffness[i, j] == pytest.approx(exact, rel=1e-9)
    for i, j in ((6, 6), (6, 7), (8, 8)):
        exact = energy(i, j, "GJ", "twist", 1)
        assert shapes.stiffness[i, j] == pytest.approx(exact, rel=1e-9)


def test_reduction_keeps_the_slowest_modes_with_the_tip_body() -> None:
    span = tapered()
    ends = Ends((0.0, 0.0, 0.0), 0.4, (0.03, 0.1, 0.09), 0.3)
    full = elements(span, Counts(6, 0, 6, 0))
    modal = elements(span, Counts(6, 0, 6, 0), ends, reduce=3)
    assert modal.names == ("y1", "y2", "y3", "twist1", "twist2", "twist3")
    assert np.count_nonzero(modal.stiffness - np.diag(np.diag(modal.stiffness))) == 0
    held = Ends(HELD, ends.tip_mass, ends.tip_inertia, ends.tip_offset)
    all_of_them, kept = (frequencies(s, span, held) for s in (full, modal))
    for value in kept:
        assert np.min(np.abs(all_of_them / value - 1)) < 1e-10
    bending = frequencies(elements(span, Counts(6, 0, 0, 0)), span, held)[:3]
    twisting = frequencies(elements(span, Counts(0, 0, 6, 0)), span, held)[:3]
    assert kept == pytest.approx(np.sort(np.concatenate([bending, twisting])), rel=1e-10)


def test_reduction_keeps_all_modes_where_the_elements_have_fewer() -> None:
    modal = elements(uniform(), Counts(1, 0, 1, 0), reduce=5)
    assert modal.names == ("y1", "y2", "twist1")


def test_many_elements_are_reduced_without_losing_the_slow_modes() -> None:
    modal = elements(uniform(), along_y(120), reduce=3)
    lam: Array = np.array([1.87510406871, 4.69409113297, 7.85475743824])
    assert frequencies(modal, uniform()) == pytest.approx(lam**2, rel=1e-7)
