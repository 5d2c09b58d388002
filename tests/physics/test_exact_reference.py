"""Links bent by any angle: the reference against rods, rotating beams and its own definition.

What `tests.physics.steady` finds of the reference here can be asked of the library: `of_library`.
"""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from flexarm.io.model_file import load
from flexarm.links.families.tabulated import write_modal_data
from flexarm.model import Flexible, Model, build
from tests.physics.exact_checks import (
    HEAVY,
    STIFF,
    YOO_SHIN,
    arc_error,
    arm,
    elastica_error,
    link,
    rod_error,
    rotation_error,
)
from tests.physics.exact_convergence import convergence
from tests.physics.exact_reference import POINTS, ExactBeam, entire
from tests.physics.placement import E_X, Array, Expr, gauss, running, unit_rule
from tests.physics.reference import Reference
from tests.physics.rods import Rod, RotatingBeam, elastica
from tests.physics.steady import Motion, of_library, of_reference

NONE = np.zeros(0)
FORCE, BESIDE = np.array([-12.0, 25.0, 20.0]), np.array([0.1, 0.2, 0.1])


def flexible(model: Model) -> Flexible:
    """Give the elastic part of the first link."""
    elastic = model.links[0].beam
    assert elastic is not None
    return elastic


def exact(model: Model) -> Motion:
    """Equation of motion of the geometrically exact reference."""
    return of_reference(Reference(model, exact=True))


@pytest.mark.parametrize(
    ("load", "across", "along"),
    [
        (1, 0.30172, 0.05643),
        (2, 0.49346, 0.16064),
        (5, 0.71379, 0.38763),
        (10, 0.81061, 0.55500),
    ],
)
def test_elastica_has_the_deflections_of_mattiasson(
    load: float, across: float, along: float
) -> None:
    assert elastica(load) == pytest.approx((across, along), abs=6e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("load", "count", "within"), [(1, 8, 1e-12), (5, 10, 1e-9), (10, 12, 1e-10)]
)
def test_cantilever_bends_as_the_elastica(load: float, count: int, within: float) -> None:
    assert elastica_error(exact, load, count) < within


@pytest.mark.parametrize("moment", [0.5, 3.0])
def test_cantilever_under_a_moment_is_an_arc_of_a_circle(moment: float) -> None:
    assert arc_error(exact, moment, 1) < 1e-12


@pytest.mark.parametrize("extension", [np.inf, pytest.param(300.0, marks=pytest.mark.campaign)])
def test_link_under_a_force_beside_its_tip_is_a_cosserat_rod(extension: float) -> None:
    rod = Rod(length=1.0, EIy=10, EIz=20, GJ=4, EA=extension)
    assert np.degrees(np.arccos(rod.held(FORCE, BESIDE)[0][0, 0])) > 60
    assert rod_error(exact, rod, FORCE, BESIDE, 7) < 1e-6


def test_rod_without_torsion_in_a_plane_is_the_elastica() -> None:
    across, along = elastica(5.0)
    position = Rod(length=1.0, EIy=3, EIz=1, GJ=2).held(np.array([0.0, 5.0, 0.0]))[1]
    assert position == pytest.approx([1 - along, across, 0], abs=1e-11)


@pytest.mark.parametrize(
    ("beam", "speed", "expected"),
    [
        (HEAVY, 10, (20.655, 129.28)),
        (HEAVY, 80, (20.995, 202.97)),
        (STIFF, 80, (33.325, 225.979)),
        (YOO_SHIN, 10, (4.94872,)),
    ],
)
def test_rotating_beam_vibrates_as_known(
    beam: RotatingBeam, speed: float, expected: tuple[float, ...]
) -> None:
    found = beam.frequencies(speed)[: len(expected)]
    assert found == pytest.approx(expected, rel=3e-5)
    assert found == pytest.approx(beam.frequencies(speed, 24)[: len(expected)], rel=1e-9)


@pytest.mark.few(1)
@pytest.mark.parametrize(("beam", "speed"), [(HEAVY, 10), (HEAVY, 80), (YOO_SHIN, 10)])
def test_rotating_link_vibrates_about_its_stretched_state(beam: RotatingBeam, speed: float) -> None:
    assert rotation_error(exact, beam, speed, 10, 6) < 1e-6


SECTION = (
    "stations: [{at: 0, mass_per_length: 2, EIz: 20, EIy: 15, GJ: 9, EA: 90, Jx: 0.3, Jy: 0.02,"
    " Jz: 0.01}, {at: 0.8, mass_per_length: 1, EIz: 9, EIy: 12, GJ: 5, EA: 70, Jx: 0.2, Jy: 0.03,"
    " Jz: 0.02}]"
)
EVERY_WAY = "kind: clamped-free, bending_y: 2, bending_z: 2, torsion: 1, stretch: 1"


@dataclass(frozen=True)
class Placed:
    """A link of a revolute joint about z, placed by rotation vectors of its slopes."""

    model: Model

    @property
    def beam(self) -> Flexible:
        """Its span and shapes."""
        return flexible(self.model)

    def rotation(self, q: Array, x: Array) -> Rotation:
        """Rotations of sections in the world."""
        a, b = (self.beam.shapes.values(k, x, 1) @ q[1:] for k in ("y", "z"))
        f = self.beam.shapes.values("twist", x) @ q[1:]
        tilt = Rotation.from_rotvec(np.stack([0 * a, -b, a], axis=1))
        roll = Rotation.from_rotvec(np.outer(f, E_X))
        return Rotation.from_euler("z", q[0]) * tilt * roll

    def point(self, q: Array, end: float) -> Array:
        """Place of the axis in the world."""
        edges = self.beam.shapes.edges
        x, weight = gauss(np.append(edges[edges < end], end), 50)
        stretch = 1 + self.beam.shapes.values("x", x, 1) @ q[1:]
        return np.asarray((weight * stretch) @ self.rotation(q, x).as_matrix()[:, :, 0])

    def kinetic(self, q: Array, v: Array, h: float = 1e-4) -> float:
        """Energy of moving sections, whose places are differentiated by time numerically."""
        span = self.beam.span
        x, weight = gauss(self.beam.shapes.edges, 24)
        velocity = np.stack(
            [(self.point(q + h * v, end) - self.point(q - h * v, end)) / (2 * h) for end in x]
        )
        spin = (self.rotation(q - h * v, x).inv() * self.rotation(q + h * v, x)).as_rotvec()
        total = (weight * span.at("mass_per_length", x)) @ (velocity**2).sum(axis=1)
        for k, name in enumerate(("Jx", "Jy", "Jz")):
            total += (weight * span.at(name, x)) @ (spin[:, k] / (2 * h)) ** 2
        return float(total / 2)

    def elastic(self, q: Array, h: float = 1e-4) -> float:
        """Energy of curvatures, from rotations that are differentiated along x numerically."""
        span = self.beam.span
        x, weight = gauss(self.beam.shapes.edges, 24)
        bend = (self.rotation(q, x - h).inv() * self.rotation(q, x + h)).as_rotvec() / (2 * h)
        stretch = self.beam.shapes.values("x", x, 1) @ q[1:]
        total = (weight * span.at("EA", x)) @ stretch**2
        for k, name in enumerate(("GJ", "EIy", "EIz")):
            total += (weight * span.at(name, x)) @ bend[:, k] ** 2
        return float(total / 2)


@cache
def spatial() -> tuple[Placed, Reference]:
    """A link that bends, twists and stretches, and its reference."""
    model = arm(link("revolute", 0.8, SECTION, EVERY_WAY))
    return Placed(model), Reference(model, exact=True)


def bent_state(beam: Flexible, angle: float) -> tuple[Array, Array]:
    """Coordinates at which the axis turns by an angle [rad] at most, and rates."""
    q, v = np.random.default_rng(3).uniform(-1, 1, (2, 1 + len(beam.shapes.names)))
    x = np.linspace(0, beam.span.length, 81)
    slopes = [beam.shapes.values(k, x, 1)[:, :4] @ q[1:5] for k in ("y", "z")]
    q[1:5] *= angle / np.hypot(*slopes).max()
    return q, v


@pytest.mark.parametrize("angle", [0.1, 1.0, 2.8])
def test_energies_are_those_of_sections_turned_by_rotation_vectors(angle: float) -> None:
    placed, reference = spatial()
    q, v = bent_state(placed.beam, angle)
    assert reference.kinetic(q, v) == pytest.approx(placed.kinetic(q, v), rel=1e-6)
    assert reference.potential(q)[0] == pytest.approx(placed.elastic(q), rel=1e-6)


@pytest.mark.parametrize("angle", [0.1, 1.0, 2.8])
def test_tip_is_where_rotation_vectors_lead(angle: float) -> None:
    placed, reference = spatial()
    q, _ = bent_state(placed.beam, angle)
    rotation, position = reference.tip(q)
    turned = placed.rotation(q, np.array([0.8])).as_matrix()[0]
    assert rotation == pytest.approx(turned, abs=1e-13)
    assert position == pytest.approx(placed.point(q, 0.8), abs=1e-13)


@pytest.mark.parametrize("x", [0.1, 0.4, 0.55])
def test_places_along_a_link_are_where_rotation_vectors_lead(x: float) -> None:
    placed, _ = spatial()
    q, _ = bent_state(placed.beam, 2.8)
    pose = ExactBeam(placed.beam.span, placed.beam.shapes, ca.SX(q[1:])).pose(x)
    q[0] = 0.0
    turned = placed.rotation(q, np.array([x])).as_matrix()[0]
    assert np.array(ca.DM(pose.rotation)) == pytest.approx(turned, abs=1e-13)
    assert number(pose.position) == pytest.approx(placed.point(q, x), abs=1e-13)


def test_straight_link_has_the_inertia_of_the_linear_theory() -> None:
    _, reference = spatial()
    q = np.zeros(7)
    expected = Reference(reference.model, exact=False).mass_matrix(q)
    assert reference.mass_matrix(q) == pytest.approx(expected, rel=1e-13, abs=1e-13)
    assert np.array_equal(reference.elastic(q), q)


@pytest.mark.parametrize("first", range(4))
def test_series_are_the_functions_they_stand_for(first: int) -> None:
    h = np.linspace(0.2, np.pi, 40)
    functions = (np.cos(h), np.sin(h) / h, (1 - np.cos(h)) / h**2, (h - np.sin(h)) / h**3)
    square = ca.SX.sym("s")
    series = ca.Function("series", [square], [entire(square, first)])
    assert np.array(series.map(len(h))(h**2)).ravel() == pytest.approx(functions[first], abs=2e-15)


def test_running_integrals_are_exact_for_polynomials() -> None:
    node, _ = unit_rule(9)
    assert running(9) @ (9 * node**8) == pytest.approx(node**9 + 1, abs=1e-14)


def test_more_points_of_quadrature_change_nothing() -> None:
    beam = spatial()[0].beam
    d = bent_state(beam, 2.8)[0][1:]
    fine, usual = (ExactBeam(beam.span, beam.shapes, ca.SX(d), n) for n in (80, POINTS))
    assert number(usual.energy()) == pytest.approx(number(fine.energy()), rel=1e-13)
    assert number(usual.pose(0.8).position) == pytest.approx(
        number(fine.pose(0.8).position), abs=1e-14
    )


def test_lumped_link_is_a_chain_of_rigid_pieces() -> None:
    section = "mass_per_length: 1, EIz: 7, EA: 90"
    shapes = "kind: lumped, bending_y: 2, stretch: 1"
    model = arm(link("fixed", 0.8, section, shapes))
    q = np.array([0.7, 0.9, 0.05])  # springs at 0.2, 0.6 and, of stretch, at 0.4
    reference = Reference(model, exact=True)
    pieces = 0.2 + 0.45 * np.exp(0.7j) + 0.2 * np.exp(1.6j)
    assert reference.tip(q)[1] == pytest.approx([pieces.real, pieces.imag, 0], abs=1e-13)
    assert reference.potential(q)[0] == pytest.approx(q @ flexible(model).shapes.stiffness @ q / 2)


def test_measured_modal_mass_adds_what_sections_lack(tmp_path: Path) -> None:
    section = "mass_per_length: 1, EIz: 7, EIy: 5, Jy: 0.1"
    text = link("revolute", 0.8, section, "kind: clamped-free, bending_y: 2, bending_z: 1")
    beam = flexible(arm(text))
    heavier = beam.integrals.modal_mass * 1.02
    write_modal_data(tmp_path / "modes.yaml", replace(beam.shapes, mass=heavier), beam.span)
    table = link("revolute", 0.8, section, "kind: table, file: modes.yaml")
    path = tmp_path / "arm.yaml"
    path.write_text(f"flexarm: 1\nname: c\nstiffening: false\nlinks:\n  - {table}\n", "utf-8")
    model = build(load(path))
    q, v, a = np.random.default_rng(0).uniform(-0.3, 0.3, (3, model.size))
    got, expected = (m.needed(q, v, a, NONE) for m in (of_library(model), exact(model)))
    assert got == pytest.approx(expected, rel=1e-10)


def test_linear_theory_is_the_same_exact_or_not() -> None:
    text = link("revolute", 0.8, SECTION, EVERY_WAY)
    model = arm(text, text, gravity="[1, 2, -9]", more="stiffening: false")
    (found,) = convergence(lambda _: model, Reference(model, exact=True), (1,), slopes=(0.5,))
    assert max(found.mass, found.coriolis, found.elastic, found.acceleration) < 1e-10


def number(value: Expr) -> Array:
    """Value of an expression without symbols."""
    return np.array(ca.DM(value)).ravel()
