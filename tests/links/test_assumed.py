"""Assumed modes: boundary conditions of each family, against exact functions of uniform beams."""

import math

import numpy as np
import pytest
from pydantic import TypeAdapter

from flexarm.arm.shapes import ShapeChoice
from flexarm.errors import ShapeError
from flexarm.links import discretisation
from flexarm.links.base import Counts, Ends, Shapes, Span
from flexarm.links.basis import MOTIONS
from flexarm_papers.beams.classical import (
    CLAMPED_FREE,
    FREE_FREE,
    PINNED_FREE,
    PINNED_PINNED,
    beam_roots,
    beam_shape,
    clamped_mass,
)
from tests.links.spans import (
    BARE,
    HELD,
    Array,
    Curve,
    curves_of,
    frequencies,
    stationed,
    tapered,
    uniform,
)

EXACT = {
    "clamped-free": CLAMPED_FREE,
    "pinned-free": PINNED_FREE,
    "pinned-pinned": PINNED_PINNED,
    "free-free": FREE_FREE,
}
FAMILIES = ("clamped-free", "clamped-mass", "pinned-free", "pinned-pinned", "free-free")
TIP = Ends(HELD, 0.6, (0.05, 0.2, 0.16), 0.3)
ROOT = np.zeros(1)


def assumed(
    kind: str, span: Span, counts: Counts, *, ends: Ends = TIP, normalise: str = "tip"
) -> Shapes:
    """Build assumed modes."""
    wish = {"kind": kind, "normalise": normalise}
    choice: ShapeChoice = TypeAdapter(ShapeChoice).validate_python(wish)
    return discretisation(kind).shapes(choice, span, ends, counts)


def bending(shapes: Shapes) -> list[Curve]:
    """List the curves along y."""
    return [each["y"] for each in curves_of(shapes) if "y" in each]


def shear_and_moment(span: Span, curve: Curve, x: float) -> tuple[float, float]:
    """Shear and moment of a bent uniform span."""
    at, stiffness = np.array([x]), float(span.table["EIz"][0])
    return stiffness * float(curve(at, 3)[0]), stiffness * float(curve(at, 2)[0])


@pytest.mark.parametrize("kind", FAMILIES)
def test_bending_of_uniform_spans_agrees_with_the_exact_functions(kind: str) -> None:
    length, density = 1.4, 1.7
    span = uniform(length, EIz=2.0, EIy=3.0, mass_per_length=density)
    shapes = assumed(kind, span, Counts(3, 3, 0, 0), normalise="none")
    own = density * length
    x = np.linspace(0, length, 23)
    for motion in (MOTIONS["y"], MOTIONS["z"]):
        assert motion.axis is not None
        body = (
            0.6 / own,
            TIP.tip_inertia[motion.axis] / (own * length**2),
            0.6 * 0.3 / own / length,
        )
        beam = EXACT.get(kind) or clamped_mass(*body)
        for k, lam in enumerate(beam_roots(beam, 3).tolist()):
            index = k + 3 * (motion.direction == "z")
            curve = curves_of(shapes)[index][motion.direction]
            psi = [beam_shape(beam, lam).evaluate(x / length, nu) / length**nu for nu in range(4)]
            if not kind.startswith("pinned"):
                psi[0], psi[1] = psi[0] - psi[0][0] - psi[1][0] * x, psi[1] - psi[1][0]
            for nu in range(4):
                assert curve(x, nu) == pytest.approx(psi[nu], abs=1e-8 * np.abs(psi[nu]).max())
            stiffness = float(span.table[motion.stiffness][0]) * lam**4 / length**3
            assert shapes.stiffness[index, index] == pytest.approx(stiffness, rel=1e-10)


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_hair_of_taper_changes_the_shapes_by_a_hair(kind: str) -> None:
    nearly = stationed([0.0, 1.0], EIz=[1.0, 1.0 + 1e-9])
    a, b = (assumed(kind, span, Counts(3, 0, 0, 0)) for span in (uniform(), nearly))
    x = np.linspace(0, 1, 11)
    assert a.values("y", x) == pytest.approx(b.values("y", x), abs=1e-7)
    assert np.diag(b.stiffness) == pytest.approx(np.diag(a.stiffness), rel=1e-7)


@pytest.mark.parametrize("span", [uniform(), tapered()])
@pytest.mark.parametrize("kind", ["clamped-free", "clamped-mass", "free-free"])
def test_clamped_and_free_free_shapes_have_no_root_displacement_or_slope(
    kind: str, span: Span
) -> None:
    for curve in bending(assumed(kind, span, Counts(3, 0, 0, 0))):
        assert curve(ROOT)[0] == pytest.approx(0, abs=1e-11)
        assert curve(ROOT, 1)[0] == pytest.approx(0, abs=1e-10)


@pytest.mark.parametrize("span", [uniform(), tapered()])
@pytest.mark.parametrize("kind", ["pinned-free", "pinned-pinned"])
def test_pinned_shapes_stay_in_the_joint_and_keep_their_root_slope(kind: str, span: Span) -> None:
    for curve in bending(assumed(kind, span, Counts(3, 0, 0, 0))):
        assert curve(ROOT)[0] == pytest.approx(0, abs=1e-11)
        assert abs(curve(ROOT, 1)[0]) > 0.5
        assert curve(ROOT, 2)[0] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("span", [uniform(), tapered()])
def test_pinned_pinned_shapes_have_their_tip_on_the_axis_and_unit_maximum(span: Span) -> None:
    for curve in bending(assumed("pinned-pinned", span, Counts(3, 0, 0, 0))):
        assert curve(np.array([span.length]))[0] == pytest.approx(0, abs=1e-11)
        x = np.linspace(0, span.length, 5001)
        assert np.abs(curve(x)).max() == pytest.approx(1, abs=1e-6)


def test_uniform_pinned_pinned_shapes_are_sines() -> None:
    shapes = assumed("pinned-pinned", uniform(2.0), Counts(3, 0, 0, 0))
    x = np.linspace(0, 2, 17)
    for k, curve in enumerate(bending(shapes), start=1):
        sine = np.sin(k * math.pi * x / 2)
        assert np.abs(curve(x)) == pytest.approx(np.abs(sine), abs=1e-9)
        assert shapes.stiffness[k - 1, k - 1] == pytest.approx((k * math.pi / 2) ** 4, rel=1e-9)


@pytest.mark.parametrize("kind", ["clamped-free", "pinned-free", "free-free"])
def test_free_tips_carry_neither_moment_nor_shear(kind: str) -> None:
    span = uniform()
    for curve in bending(assumed(kind, span, Counts(3, 0, 0, 0))):
        assert shear_and_moment(span, curve, 1.0) == pytest.approx((0, 0), abs=1e-8)
        assert max(np.abs(shear_and_moment(span, curve, 0.5))) > 0.1


def test_clamped_mass_tip_obeys_newton_and_euler() -> None:
    span = uniform(EIz=3.0, mass_per_length=2.0)
    shapes = assumed("clamped-mass", span, Counts(4, 0, 0, 0))
    squares = frequencies(shapes, span, TIP) ** 2
    tip = np.array([1.0])
    for curve, square in zip(bending(shapes), squares, strict=True):
        shear, moment = shear_and_moment(span, curve, 1.0)
        value, slope = float(curve(tip)[0]), float(curve(tip, 1)[0])
        # The body is accelerated by -shear and turned by the moment with opposite sign.
        assert shear == pytest.approx(-square * 0.6 * (value + 0.3 * slope), rel=1e-8)
        turned = 0.16 * slope + 0.6 * 0.3 * value
        assert moment == pytest.approx(square * turned, rel=1e-7)


def test_clamped_free_frequencies_follow_from_shapes_and_stiffness() -> None:
    span = uniform(0.5, EIz=2.0, mass_per_length=3.0, GJ=0.7, Jx=0.02, EA=50.0)
    shapes = assumed("clamped-free", span, Counts(3, 0, 2, 2))
    lam: Array = np.array([1.87510406871, 4.69409113297, 7.85475743824])
    expected = [
        *(lam**2 * math.sqrt(2.0 / (3.0 * 0.5**4))),
        *((np.arange(2) + 0.5) * math.pi * math.sqrt(0.7 / 0.02) / 0.5),
        *((np.arange(2) + 0.5) * math.pi * math.sqrt(50.0 / 3.0) / 0.5),
    ]
    assert frequencies(shapes, span) == pytest.approx(np.sort(expected), rel=1e-10)


@pytest.mark.parametrize("kind", FAMILIES)
def test_torsion_and_stretch_partners_are_fixed_at_the_root(kind: str) -> None:
    shapes = assumed(kind, uniform(), Counts(0, 0, 2, 2))
    assert shapes.names == ("twist1", "twist2", "stretch1", "stretch2")
    x = np.linspace(0, 1, 9)
    for each in curves_of(shapes):
        ((_, curve),) = each.items()
        assert curve(ROOT)[0] == pytest.approx(0, abs=1e-14)
    if kind != "clamped-mass":
        for name, direction in (("twist", "twist"), ("stretch", "x")):
            values = shapes.values(direction, x)  # type: ignore[arg-type]
            first = values[:, shapes.names.index(f"{name}1")]
            assert first == pytest.approx(np.sin(math.pi / 2 * x), abs=1e-12)


def test_clamped_mass_torsion_of_a_massless_rod_is_the_straight_line() -> None:
    shapes = assumed("clamped-mass", uniform(2.0, GJ=3.0, Jx=0.0), Counts(0, 0, 1, 0))
    x = np.linspace(0, 2, 5)
    assert shapes.values("twist", x)[:, 0] == pytest.approx(x / 2, abs=1e-12)
    assert shapes.stiffness[0, 0] == pytest.approx(1.5, rel=1e-12)


def test_section_rotary_inertia_is_left_out_of_the_eigenproblem() -> None:
    with_rotary, without_rotary = uniform(Jz=0.1), uniform(Jz=0.0)
    x = np.linspace(0, 1, 9)
    a, b = (
        assumed("clamped-free", span, Counts(3, 0, 0, 0)).values("y", x)
        for span in (with_rotary, without_rotary)
    )
    assert a == pytest.approx(b, abs=1e-14)
    slim = [stationed([0.0, 1.0], EIz=[1.0, 0.5], Jz=[rotary, rotary]) for rotary in (0.1, 0.0)]
    a, b = (assumed("clamped-free", span, Counts(3, 0, 0, 0)).values("y", x) for span in slim)
    assert a == pytest.approx(b, abs=1e-12)


def test_clamped_mass_ignores_what_the_root_could_turn() -> None:
    free = Ends((0.0, 0.0, 0.0), TIP.tip_mass, TIP.tip_inertia, TIP.tip_offset)
    x = np.linspace(0, 1, 9)
    a, b = (
        assumed("clamped-mass", uniform(), Counts(2, 0, 1, 0), ends=ends).values("y", x)
        for ends in (free, TIP)
    )
    assert a == pytest.approx(b, abs=1e-14)


@pytest.mark.parametrize("span", [uniform(), tapered()])
def test_impossible_tip_body_is_refused(span: Span) -> None:
    ends = Ends(HELD, 1.0, (0.0, 0.0, 0.1), 0.5)
    with pytest.raises(ShapeError, match=r"less than mass x offset\^2"):
        assumed("clamped-mass", span, Counts(1, 0, 0, 0), ends=ends)


def test_clamped_mass_without_a_body_is_clamped_free() -> None:
    x = np.linspace(0, 1, 9)
    a = assumed("clamped-mass", uniform(), Counts(3, 0, 1, 1), ends=BARE)
    b = assumed("clamped-free", uniform(), Counts(3, 0, 1, 1))
    assert a.values("y", x) == pytest.approx(b.values("y", x), abs=1e-12)
    assert a.stiffness == pytest.approx(b.stiffness, rel=1e-11, abs=1e-9)
