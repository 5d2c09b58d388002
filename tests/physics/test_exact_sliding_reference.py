"""Beams that grow out of their hubs: the reference against definitions, arcs and rigid rods."""

from dataclasses import dataclass
from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from flexarm.links.base import Shapes
from flexarm.links.growing.shapes import SlidingShapes
from flexarm.model import LinkModel, Model
from tests.physics.cases import campaign_if
from tests.physics.exact_checks import arm, link
from tests.physics.exact_reference import POINTS
from tests.physics.exact_sliding import ExactGrowing
from tests.physics.placement import E_X, Array, Growing, gauss
from tests.physics.reference import Reference

LENGTH, REACH, MASS = 1.3, 0.3, 1.1  # of the beam, of the hub from the axis, per length
ROTARY = (0.05, 0.03, 0.02)
TURN = "{joint: {kind: revolute}, length: 0.3, body: {mass: 2}}"
SLIDE = "sliding, start: {position: 0.6}, limits: {lower: 0.4}"
TILTED = f"{SLIDE}, before: {{rotation: [0.4, -0.7, 1.1]}}"
TILT = Rotation.from_euler("xyz", [0.4, -0.7, 1.1])
SECTION = f"mass_per_length: {MASS}, EIz: 14, EIy: 9, GJ: 6, EA: 400, Jx: 0.05, Jy: 0.03, Jz: 0.02"
EVERY_WAY = "bending_y: 2, bending_z: 2, torsion: 1, stretch: 1"
FOLLOWING = "kind: clamped-mass, follow: true, tip: {mass: 0.8}"
PLANAR = "bending_y: 2, bending_z: 0, torsion: 0, stretch: 0"
SHAPES = {
    "stretched": f"kind: clamped-free, {EVERY_WAY}",
    "following": f"{FOLLOWING}, normalise: mass, {EVERY_WAY}",
    "elements": "kind: elements, bending_y: 1, bending_z: 1, torsion: 1, stretch: 1",
}
ARC = "kind: polynomials, bending_y: 1"
every_kind = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=campaign_if(kind != "stretched")) for kind in SHAPES]
)
every_angle = pytest.mark.parametrize(
    "angle", [*(pytest.param(angle, marks=pytest.mark.campaign) for angle in (0.1, 1.0)), 2.5]
)


def reference(*links: str, gravity: str = "[0, 0, 0]") -> Reference:
    """Take the geometrically exact reference of an arm."""
    return Reference(arm(*links, gravity=gravity), exact=True, exact_sliding=True)


def growing(shapes: str, joint: str = SLIDE, section: str = SECTION) -> str:
    """Text of a beam that slides out."""
    return link(joint, LENGTH, section, shapes)


def sliding(model: Model) -> tuple[LinkModel, SlidingShapes]:
    """Give the last link and its shapes."""
    part = model.links[-1]
    return part, part.sliding_beam.shapes


@dataclass(frozen=True)
class Placed:
    """A beam that slides out of a hub turned about z, placed by rotation vectors of its slopes."""

    model: Model

    def shapes(self, q: Array) -> Shapes:
        """Shapes at the present length."""
        return sliding(self.model)[1].at(float(q[1]))

    def rotations(self, q: Array, x: Array) -> Rotation:
        """Rotations of sections in the world."""
        shapes, d = self.shapes(q), q[2:]
        a, b = (shapes.values(k, x, 1) @ d for k in ("y", "z"))
        tilt = Rotation.from_rotvec(np.stack([0 * a, -b, a], axis=1))
        roll = Rotation.from_rotvec(np.outer(shapes.values("twist", x) @ d, E_X))
        return Rotation.from_euler("z", q[0]) * TILT * tilt * roll

    def points(self, q: Array, ends: Array) -> Array:
        """Places in the world of the exposed axis at distances [m] from the mouth, (G, 3)."""
        shapes = self.shapes(q)
        rules = [gauss(np.append(shapes.edges[shapes.edges < x], x), 30) for x in ends]
        places, weight = (np.concatenate(parts) for parts in zip(*rules, strict=True))
        stretch = 1 + shapes.values("x", places, 1) @ q[2:]
        steps = (weight * stretch)[:, None] * self.rotations(q, places).as_matrix()[:, :, 0]
        first = np.cumsum([0, *(len(w) for _, w in rules[:-1])])
        return Rotation.from_euler("z", q[0]).apply([REACH, 0, 0]) + np.add.reduceat(steps, first)

    def kinetic(self, q: Array, v: Array, h: float = 1e-4) -> float:
        """Energy of moving particles, whose places are differentiated by time numerically."""
        x, weight = gauss(self.shapes(q).edges, 16)
        later, sooner = ((q + t * v, x + t * v[1]) for t in (h, -h))  # x moves on with the length
        velocity = (self.points(*later) - self.points(*sooner)) / (2 * h)
        turning = (self.rotations(*sooner).inv() * self.rotations(*later)).as_rotvec() / (2 * h)
        exposed = weight @ (MASS * (velocity**2).sum(axis=1) + turning**2 @ ROTARY)
        return float(exposed / 2) + self._inside(q, v)

    def elastic(self, q: Array, h: float = 1e-4) -> float:
        """Energy of curvatures, from rotations that are differentiated along x numerically."""
        x, weight = gauss(self.shapes(q).edges, 16)
        bend = (self.rotations(q, x - h).inv() * self.rotations(q, x + h)).as_rotvec() / (2 * h)
        stretch = self.shapes(q).values("x", x, 1) @ q[2:]
        return float(weight @ (400 * stretch**2 + bend**2 @ [6, 9, 14]) / 2)

    def _inside(self, q: Array, v: Array) -> float:
        """Kinetic energy of a straight rod behind the mouth."""
        spin, inside = TILT.inv().apply([0, 0, v[0]]), LENGTH - q[1]
        mouth = TILT.inv().apply([0, REACH * v[0], 0]) + v[1] * E_X
        middle, turned = mouth + np.cross(spin, [-inside / 2, 0, 0]), np.cross(spin, E_X)
        speeds = middle @ middle + turned @ turned * inside**2 / 12
        return float(inside * (MASS * speeds + spin**2 @ ROTARY) / 2)


@cache
def placed(kind: str) -> tuple[Placed, Reference]:
    """A beam of every deformation, and its reference."""
    made = reference(TURN, growing(SHAPES[kind], TILTED))
    return Placed(made.model), made


def bent(model: Model, angle: float, length: float = 0.7) -> tuple[Array, Array]:
    """Coordinates at which the axis turns by an angle [rad] at most, and rates."""
    part, shapes = sliding(model)
    q, v = np.random.default_rng(3).uniform(-1, 1, (2, model.size))
    q[part.exposed] = length
    x = np.linspace(0, length, 81)
    turned = shapes.at(length).rotation(x) @ q[part.modes]
    q[part.modes] *= angle / np.linalg.norm(turned[:, 1:], axis=1).max()
    return q, v


@every_kind
@every_angle
def test_energies_are_those_of_particles_that_keep_their_place_in_the_beam(
    kind: str, angle: float
) -> None:
    by_hand, made = placed(kind)
    q, v = bent(made.model, angle)
    assert made.kinetic(q, v) == pytest.approx(by_hand.kinetic(q, v), rel=1e-6)
    assert made.potential(q)[0] == pytest.approx(by_hand.elastic(q), rel=1e-6)


@every_kind
@every_angle
def test_tip_is_where_rotation_vectors_lead(kind: str, angle: float) -> None:
    by_hand, made = placed(kind)
    q, _ = bent(made.model, angle)
    rotation, position = made.tip(q)
    turned = by_hand.rotations(q, q[1:2]).as_matrix()[0]
    assert rotation == pytest.approx(turned, abs=1e-12)
    assert position == pytest.approx(by_hand.points(q, q[1:2])[0], abs=1e-12)


@pytest.mark.parametrize(
    "kind", ["stretched", pytest.param("elements", marks=pytest.mark.campaign)]
)
def test_held_beam_is_a_link_of_constant_length_behind_a_rod(kind: str) -> None:
    length, inside = 0.6, LENGTH - 0.6
    slides = placed(kind)[1]
    across = MASS * inside**3 / 12
    rod = (
        f"hub: {{inboard: {{mass: {MASS * inside}, com: [{-inside / 2}, 0, 0], inertia:"
        f" [{0.05 * inside}, {0.03 * inside + across}, {0.02 * inside + across}]}}}}"
    )
    fixed = f"fixed, before: {{rotation: [0.4, -0.7, 1.1]}}, {rod}"
    held = reference(TURN, link(fixed, length, SECTION, SHAPES[kind]))
    q, v = bent(slides.model, 1.0, length)
    v[1] = 0.0
    kept = [k for k in range(len(q)) if k != 1]
    assert slides.model.names[2:] == tuple(n for n in held.model.names if n != "joint1")
    pairs = (
        (slides.mass_matrix(q)[np.ix_(kept, kept)], held.mass_matrix(q[kept])),
        (slides.coriolis(q, v)[kept], held.coriolis(q[kept], v[kept])),
        (slides.elastic(q)[kept], held.elastic(q[kept])),
        (np.array(slides.potential(q)), np.array(held.potential(q[kept]))),
    )
    for got, expected in pairs:
        assert got == pytest.approx(expected, rel=1e-10, abs=1e-10 * np.abs(expected).max())


def test_straight_beam_moves_as_a_rod_that_is_pushed_out() -> None:
    made = reference(TURN, growing(f"kind: clamped-free, {PLANAR}"))
    q, v = np.array([0.4, 0.7, 0, 0]), np.array([1.5, -0.8, 0, 0])
    inner, outer = REACH + q[1] - LENGTH, REACH + q[1]  # ends of the rod from the axis
    inertia = MASS * (outer**3 - inner**3) / 3 + 0.02 * LENGTH
    change = MASS * (outer**2 - inner**2)  # of the inertia per length pushed out
    assert made.mass_matrix(q)[:2, :2] == pytest.approx(np.diag([inertia, MASS * LENGTH]))
    forces = [change * v[0] * v[1], -change * v[0] ** 2 / 2]
    assert made.coriolis(q, v)[:2] == pytest.approx(forces)


def arc(curvature: float, out: float) -> tuple[Reference, Array, Array]:
    """A beam pushed out at a speed along an arc of a circle, its coordinates and rates."""
    section = f"mass_per_length: {MASS}, EIz: 14"
    made = reference(TURN, growing(ARC, section=section))
    length = 0.9
    slope = sliding(made.model)[1].at(length).values("y", np.array([length]), 1)[0, 0]
    d = curvature * length / slope  # with the square of the length: the curvature stays
    return made, np.array([0.3, length, d]), np.array([0, out, 2 * d * out / length])


@pytest.mark.parametrize("curvature", [0.2, 2.0])
def test_beam_pushed_out_along_an_arc_moves_along_itself(curvature: float) -> None:
    made, q, v = arc(curvature, 0.7)
    assert made.kinetic(q, v) == pytest.approx(MASS * LENGTH * 0.7**2 / 2, rel=1e-12)
    v[0] = 1.3  # every particle: spin x place + speed along the arc
    x, weight = gauss(np.array([0.0, q[1]]))
    place = REACH + 1j * (1 - np.exp(1j * curvature * x)) / curvature
    moving = 1.3j * place + 0.7 * np.exp(1j * curvature * x)
    inner, outer = REACH + q[1] - LENGTH, REACH
    total = weight @ np.abs(moving) ** 2 + (LENGTH - q[1]) * 0.7**2
    total += 1.3**2 * (outer**3 - inner**3) / 3
    assert made.kinetic(q, v) == pytest.approx(MASS * total / 2, rel=1e-12)


@pytest.mark.parametrize("curvature", [0.2, 2.0])
def test_bent_beam_pushes_itself_out(curvature: float) -> None:
    made, q, _ = arc(curvature, 0.0)
    energy = 14 * curvature**2 * q[1] / 2  # with length^-3 while the amplitude stays
    assert made.potential(q)[0] == pytest.approx(energy, rel=1e-12)
    assert made.elastic(q)[1:] == pytest.approx([-3 * energy / q[1], 2 * energy / q[2]], rel=1e-12)


def test_small_deflections_are_those_of_the_series_to_second_order() -> None:
    exact = reference(TURN, growing(f"kind: clamped-free, {PLANAR}"))
    series = Reference(exact.model, exact=False, exact_sliding=False)
    q, v = bent(exact.model, 1.0)
    kinetic, elastic = [], []
    for size in (0.02, 0.01):
        small, moving = np.append(q[:2], size * q[2:]), np.append(v[:2], size * v[2:])
        kinetic.append(exact.kinetic(small, moving) - series.kinetic(small, moving))
        elastic.append(exact.potential(small)[0] - series.potential(small)[0])
    assert kinetic[0] / kinetic[1] == pytest.approx(8, rel=0.1)
    assert elastic[0] / elastic[1] == pytest.approx(16, rel=0.1)


@pytest.mark.campaign
def test_amplitudes_that_scale_with_the_length_describe_the_same_motion() -> None:
    shapes = f"{FOLLOWING}, {PLANAR}"
    text = f"mass_per_length: {MASS}, EIz: 14"
    tips, masses = (
        reference(TURN, growing(f"{shapes}, normalise: {n}", section=text)) for n in ("tip", "mass")
    )

    def scale(length: float) -> Array:
        made = (sliding(m.model)[1].at(length) for m in (tips, masses))
        one, other = (shapes.values("y", np.array([length]))[0] for shapes in made)
        return np.asarray(one / other)

    q, v = bent(tips.model, 1.0)
    h, length = 1e-4, float(q[1])
    change = (scale(length + h) - scale(length - h)) / (2 * h)
    same = np.append(q[:2], scale(length) * q[2:])
    moving = np.append(v[:2], scale(length) * v[2:] + change * v[1] * q[2:])
    assert np.abs(change / scale(length)).max() > 0.3
    assert masses.kinetic(same, moving) == pytest.approx(tips.kinetic(q, v), rel=1e-7)
    assert masses.potential(same)[0] == pytest.approx(tips.potential(q)[0], rel=1e-10)


# Forces are derivatives of the energies whatever these are: it could not show a wrong energy.
@pytest.mark.campaign
@pytest.mark.parametrize("kind", ["kind: clamped-free", FOLLOWING])
def test_energy_is_kept_while_a_soft_beam_slides(kind: str) -> None:
    section = f"mass_per_length: {MASS}, EIz: 3"
    made = reference(TURN, growing(f"{kind}, bending_y: 2", section=section), gravity="[1, -9, 0]")

    def rate(_: float, state: Array) -> Array:
        q, v = np.split(state, 2)
        force = made.coriolis(q, v) + made.gravity(q) + made.elastic(q)
        return np.append(v, np.linalg.solve(made.mass_matrix(q), -force))

    def energy(state: Array) -> float:
        q, v = np.split(state, 2)
        return made.kinetic(q, v) + sum(made.potential(q))

    q, _ = bent(made.model, 0.6)
    start = np.append(q, [2.0, 1.0, 0.5, 0.0])
    run = solve_ivp(rate, (0, 0.15), start, method="DOP853", rtol=1e-10, atol=1e-12)
    end = run.y[:, -1]
    assert end[1] - start[1] > 0.1
    scale = made.kinetic(*np.split(start, 2))
    assert energy(end) - energy(start) == pytest.approx(0, abs=1e-9 * scale)


@pytest.mark.campaign
def test_more_points_of_quadrature_change_nothing() -> None:
    part, shapes = sliding(placed("following")[1].model)
    q, _ = bent(placed("following")[1].model, 2.5)
    beam = Growing.of(shapes, ca.SX(q[1]), ca.SX(q[part.modes]), stiffening=True)
    fine, usual = (ExactGrowing(beam, points) for points in (60, POINTS))
    properties = {"EIz": 14.0, "EIy": 9.0, "GJ": 6.0, "EA": 400.0}
    found, expected = (
        np.append(np.array(ca.DM(b.tip().position)), float(b.energy(properties)))
        for b in (usual, fine)
    )
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-13)
