"""Craig-Bampton shapes: exact statics and the block structure of their stiffness."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad

from flexarm.arm import shapes as choices
from flexarm.errors import ShapeError
from flexarm.links.base import Counts, Direction, Ends, Shapes, Span
from flexarm.links.basis import MOTIONS
from flexarm.links.beams.finite import Conditions, modes
from flexarm.links.families.spans import CraigBamptonShapes
from tests.links.spans import BARE, HELD, curves_of, frequencies, tapered, uniform


def craig_bampton(span: Span, counts: Counts, normalise: str = "tip") -> Shapes:
    """Build Craig-Bampton shapes."""
    choice = choices.CraigBampton.model_validate({"kind": "craig-bampton", "normalise": normalise})
    return CraigBamptonShapes().shapes(choice, span, BARE, counts)


def integral(function: Callable[[float], float], end: float) -> float:
    """Integrate over the tapered span up to a point."""
    inner = [0.5] if end > 0.5 else None
    return float(quad(function, 0, end, points=inner, epsabs=1e-13, epsrel=1e-12, limit=200)[0])


@pytest.mark.parametrize(("direction", "name"), [("y", "EIz"), ("z", "EIy")])
@pytest.mark.parametrize(("force", "moment"), [(1.0, 0.0), (0.0, 1.0)])
def test_tip_force_and_tip_moment_bend_a_tapered_link_exactly(
    direction: Direction, name: str, force: float, moment: float
) -> None:
    span = tapered()
    counts = Counts(2, 0, 0, 0) if direction == "y" else Counts(0, 2, 0, 0)
    shapes = craig_bampton(span, counts)
    tip = np.array([1.4])
    load = force * shapes.values(direction, tip)[0] + moment * shapes.values(direction, tip, 1)[0]
    amplitudes = np.linalg.solve(shapes.stiffness, load)

    def curvature(s: float) -> float:
        return (force * (1.4 - s) + moment) / float(span.at(name, np.array([s]))[0])

    for x in (0.3, 0.5, 0.9, 1.4):
        exact = integral(lambda s, x=x: (x - s) * curvature(s), x)  # type: ignore[misc]
        value = float(shapes.values(direction, np.array([x]))[0] @ amplitudes)
        assert value == pytest.approx(exact, rel=1e-9)
    assert amplitudes[2:] == pytest.approx(np.zeros(2), abs=1e-12)


@pytest.mark.parametrize(("direction", "name"), [("twist", "GJ"), ("x", "EA")])
def test_tip_torque_and_axial_force_deform_a_tapered_rod_exactly(
    direction: Direction, name: str
) -> None:
    span = tapered()
    counts = Counts(0, 0, 2, 0) if direction == "twist" else Counts(0, 0, 0, 2)
    shapes = craig_bampton(span, counts)
    load = shapes.values(direction, np.array([1.4]))[0]
    amplitudes = np.linalg.solve(shapes.stiffness, load)
    for x in (0.3, 0.9, 1.4):
        exact = integral(lambda s: 1 / float(span.at(name, np.array([s]))[0]), x)
        value = float(shapes.values(direction, np.array([x]))[0] @ amplitudes)
        assert value == pytest.approx(exact, rel=1e-10)


def test_first_two_amplitudes_are_tip_displacement_and_tip_slope() -> None:
    for span in (uniform(), tapered()):
        shapes = craig_bampton(span, Counts(2, 2, 2, 1))
        tip = np.array([span.length])
        assert shapes.names == (
            "y1", "y2", "y3", "y4", "z1", "z2", "z3", "z4", "twist1", "twist2", "twist3",
            "stretch1", "stretch2",
        )  # fmt: skip
        for direction in ("y", "z"):
            values = shapes.values(direction, tip)[0]
            slopes = shapes.values(direction, tip, 1)[0]
            first = shapes.names.index(f"{direction}1")
            assert values == pytest.approx(np.eye(13)[first], abs=1e-11)
            assert slopes == pytest.approx(np.eye(13)[first + 1], abs=1e-10)
        assert shapes.values("twist", tip)[0] == pytest.approx(np.eye(13)[8], abs=1e-12)
        assert shapes.values("x", tip)[0] == pytest.approx(np.eye(13)[11], abs=1e-12)


@pytest.mark.parametrize("normalise", ["tip", "mass", "none"])
def test_normalisation_leaves_the_constraint_shapes_alone(normalise: str) -> None:
    shapes = craig_bampton(uniform(), Counts(1, 0, 1, 0), normalise)
    assert shapes.stiffness[:2, :2] == pytest.approx(
        np.array([[12.0, -6.0], [-6.0, 4.0]]), rel=1e-11
    )
    assert shapes.stiffness[3, 3] == pytest.approx(1.0, rel=1e-12)


def test_strain_energy_integrals_confirm_that_modes_and_constraint_shapes_do_not_couple() -> None:
    span = tapered()
    shapes = craig_bampton(span, Counts(2, 0, 2, 0))
    for direction, name, nu in (("y", "EIz", 2), ("twist", "GJ", 1)):
        for i, a in enumerate(curves_of(shapes)):
            for j, b in enumerate(curves_of(shapes)[: i + 1]):
                if direction not in a or direction not in b:
                    continue

                def energy(x: float, a=a, b=b, d=direction, name=name, nu=nu) -> float:  # type: ignore[no-untyped-def]
                    at = np.array([x])
                    return float((span.at(name, at) * a[d](at, nu) * b[d](at, nu))[0])

                size = math.sqrt(shapes.stiffness[i, i] * shapes.stiffness[j, j])
                value = quad(energy, 0, 1.4, points=[0.5], epsabs=1e-11 * size, limit=200)[0]
                assert shapes.stiffness[i, j] == pytest.approx(value, abs=1e-9 * size)
    assert np.all(shapes.stiffness[:2, 2:] == 0)


def test_fixed_interface_modes_vibrate_as_clamped_clamped_links() -> None:
    shapes = craig_bampton(uniform(), Counts(3, 0, 3, 0), "mass")
    lam = np.array([4.73004074486, 7.8532046241, 10.995607838])
    stiffness = np.diag(shapes.stiffness)
    assert stiffness[2:5] == pytest.approx(lam**4, rel=1e-10)
    assert stiffness[6:] == pytest.approx((np.arange(1, 4) * math.pi) ** 2, rel=1e-10)


def test_modes_of_the_loaded_link_converge_as_fixed_interface_modes_are_added() -> None:
    span, ends = tapered(), Ends(HELD, 0.8, (0.1, 0.3, 0.2))
    exact = modes(span, MOTIONS["y"], Conditions.of(ends, MOTIONS["y"]), 2).frequencies
    errors = [
        frequencies(craig_bampton(span, Counts(n, 0, 0, 0)), span, ends)[:2] / exact - 1
        for n in (1, 3, 6)
    ]
    assert np.all(np.diff(errors, axis=0) < 0)
    assert np.max(errors[-1]) < 1e-5
    assert np.min(errors) > 0


def test_direction_with_count_zero_has_no_shapes() -> None:
    assert craig_bampton(uniform(), Counts(1, 0, 0, 0)).names == ("y1", "y2", "y3")


def test_fixed_interface_modes_of_a_rod_without_inertia_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"torsion: 2 needs inertia.*torsion: 0"):
        craig_bampton(uniform(Jx=0.0), Counts(0, 0, 2, 0))
