"""Exact links against elasticas, Cosserat rods, rotating beams and the continuum."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.io.model_file import loads
from flexarm.model import Model, build
from flexarm.spatial import Array
from tests.physics.cases import campaign_if
from tests.physics.exact_checks import (
    HEAVY,
    YOO_SHIN,
    arc_error,
    arm,
    elastica_error,
    link,
    rod_error,
    rotating_frequencies,
    rotor,
    tip_at_rest,
)
from tests.physics.exact_convergence import bent_state, convergence
from tests.physics.reference import Reference
from tests.physics.rods import Rod, elastica
from tests.physics.steady import of_library
from tests.physics.traced import Traced

BESIDE, FORCE = np.array([0.1, 0.2, 0.1]), np.array([-2.0, 12.0, 15.0])
AHEAD = np.array([0.1, 0.0, 0.0])


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("load", "across", "along"),
    # per cent
    [(1, 0.06, 0.15), (2, 0.03, 0.1), (5, 0.01, 0.03), (10, 0.01, 0.01)],
)
def test_cantilever_of_four_clamped_free_shapes_is_near_the_elastica(
    load: float, across: float, along: float
) -> None:
    model = arm(
        link(
            "fixed", 1.0, "mass_per_length: 1, EIz: 1", "kind: clamped-free, bending_y: 4",
            f", wrenches: [{{force: [0, {load}, 0]}}]",
        )
    )  # fmt: skip
    position = tip_at_rest(of_library(build(model.arm, nodes=2)))[1]
    expected = elastica(load)
    assert position[1] == pytest.approx(expected[0], rel=across / 100)
    assert 1 - position[0] == pytest.approx(expected[1], rel=along / 100)


def test_polynomials_reach_the_elastica_and_an_arc() -> None:
    assert elastica_error(of_library, 10, 10) < 1e-6
    assert arc_error(of_library, 2.0, 1) < 1e-6


def test_link_bent_and_twisted_by_a_force_beside_its_tip_is_a_cosserat_rod() -> None:
    rod = Rod(length=1.0, EIy=10, EIz=20, GJ=4)
    assert rod_error(of_library, rod, FORCE, BESIDE, 7) < 1e-4


@pytest.mark.few(1)
@pytest.mark.parametrize(("offset", "apart"), [(AHEAD, 2e-6), (BESIDE, 4e-5)])
def test_link_that_shears_is_a_reissner_rod(offset: Array, apart: float) -> None:
    """Shear follows bending: what a torque adds to it is left out."""
    rod = Rod(length=1.0, EIy=10, EIz=10, GJ=4, GA=(1e4, 1e4))
    assert rod_error(of_library, rod, FORCE, offset, 7) < apart
    (one, first), (two, second) = (
        each.held(FORCE, offset) for each in (rod, replace(rod, GA=(inf, inf)))
    )
    assert np.abs(first + one @ offset - second - two @ offset).max() > 8e-4


@pytest.mark.parametrize(("speed", "expected"), [(10, (20.655, 129.28)), (80, (20.995, 202.97))])
def test_rotating_link_that_stretches_vibrates_as_known(
    speed: float, expected: tuple[float, float]
) -> None:
    found = rotating_frequencies(of_library(rotor(HEAVY, 8, 4)), speed)[:2]
    assert found == pytest.approx(expected, rel=3e-5)


def test_rotating_beam_of_yoo_and_shin_about_its_stretched_state() -> None:
    (found,) = rotating_frequencies(of_library(rotor(YOO_SHIN, 8, 4)), 10)[:1]
    assert found == pytest.approx(4.94872, abs=5e-5)


SHEARING = "GAy: 9000, GAz: 5000, "
SPATIAL = "mass_per_length: 1, EIz: 20, EIy: 10, GJ: 8, EA: 2000, Jx: 0.01, Jy: 0.004, Jz: 0.007"
ARMS = {
    "plane": "kind: loaded, bending_y: 3, bending_z: 0, torsion: 0, stretch: 0",
    "plane that stretches": "kind: loaded, bending_y: 3, bending_z: 0, torsion: 0, stretch: 1",
    "space": "kind: clamped-free, bending_y: 2, bending_z: 2, torsion: 1, stretch: 1",
    "plane that shears": "kind: loaded, bending_y: 3, bending_z: 0, torsion: 0, stretch: 0",
    "space that shears": "kind: clamped-free, bending_y: 2, bending_z: 2, torsion: 1, stretch: 1",
    "elements": "kind: elements, bending_y: 1, bending_z: 1, torsion: 1, stretch: 1",
    "lumped": "kind: lumped, bending_y: 2, bending_z: 2, torsion: 2, stretch: 2",
}
LONG = ("plane", "elements", "plane that shears", "space")


def made(name: str) -> Arm:
    """Two links that turn about axes across each other."""
    shapes, section = ARMS[name], SHEARING * ("shears" in name) + SPATIAL
    return arm(
        link("revolute", 1.0, section, shapes),
        link("revolute, axis: [0, 1, 0]", 0.7, section, shapes),
        gravity="[1, 2, -9.81]", more="payload: {mass: 0.5}",
    ).arm  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("name", [pytest.param(n, marks=campaign_if(n in LONG)) for n in ARMS])
def test_equations_come_to_the_continuum_with_nodes(name: str) -> None:
    two = made(name)

    def make(nodes: int) -> Model:
        return build(two, nodes=nodes)

    few, some, many = convergence(make, Reference(make(1)), (1, 4, 12), slopes=(0.5,), states=1)
    for part in ("mass", "coriolis", "elastic", "acceleration"):
        assert getattr(few, part) < 0.3
        assert getattr(some, part) < 0.05 * getattr(few, part) + 1e-10
        assert getattr(many, part) < 1e-9


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ARMS)
def test_modal_mass_and_stiffness_at_rest_are_those_of_the_linear_theory(name: str) -> None:
    two = made(name)
    exact, linear = (Traced("composite", build(two, stiffening=s), {}) for s in (True, False))
    q = np.zeros(exact.model.size)
    masses = [each("mass_matrix", q)[0] for each in (exact, linear)]
    size = np.sqrt(np.diag(masses[1]))
    assert np.abs((masses[0] - masses[1]) / np.outer(size, size)).max() < 1e-13
    assert exact.model.names == linear.model.names


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "states", [12, pytest.param(1000, marks=pytest.mark.campaign)], ids=["few", "all"]
)
@pytest.mark.parametrize("name", ARMS)
def test_mass_matrix_is_positive_definite_at_slopes_to_two(name: str, states: int) -> None:
    model = build(made(name))
    traced = Traced("composite", model, {})
    for seed in range(states):
        q, _ = bent_state(model, 2.0 * (seed + 1) / states, seed)
        mass = traced("mass_matrix", q)[0]
        size = np.sqrt(np.diag(mass))
        assert np.linalg.eigvalsh(mass / np.outer(size, size))[0] > 0


def limp(shapes: str) -> Arm:
    """Two soft links that fall from the horizontal."""
    one = (
        "  - {joint: {kind: revolute, actuation: free}, length: 0.6,"
        f" section: {{mass_per_length: 0.5, EIz: 0.15}}, shapes: {{{shapes}}}}}\n"
    )
    return loads(f"flexarm: 1\nname: limp\ngravity: [0, -9.81, 0]\nlinks:\n{one}{one}")


@pytest.mark.campaign
@pytest.mark.parametrize(
    "kind", ["clamped-free", pytest.param("loaded", marks=pytest.mark.campaign)]
)
def test_amplitudes_of_a_soft_fall_are_within_a_per_cent_of_their_limit(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def amplitudes() -> tuple[Array, float]:
        run = flexarm.simulate(limp(f"kind: {kind}, bending_y: 2"), t_end=0.4, rtol=1e-5, dt=0.01)
        bent = [k for k, name in enumerate(run.model.names) if ".y" in name]
        return run.q[:, bent], run.validity.slope

    found, slope = amplitudes()
    assert slope > 0.3
    monkeypatch.setattr("flexarm.model.elastic.chosen_nodes", lambda *_: 10)
    limit, _ = amplitudes()
    assert (np.abs(found - limit).max(axis=0) < 0.01 * np.ptp(limit, axis=0)).all()
