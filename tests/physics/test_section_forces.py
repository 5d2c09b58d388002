"""Section forces of exact links against the balance of all that is beyond the section."""

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.io.model_file import loads
from flexarm.mechanics.deformed import along, section_forces
from flexarm.mechanics.kinematics import frames, section
from flexarm.model import Model, build
from flexarm.runs.run import Run
from flexarm.spatial import Array
from tests.physics.placement import unit_rule
from tests.physics.steady import equilibrium, of_library

STATIONS = np.array([0.15, 0.4, 0.65, 0.9])
GRAVITY, PUSH = np.array([1.0, -3.0, -9.81]), np.array([-4.0, 18.0, 25.0])
HELD = """
flexarm: 1
name: bent and twisted
gravity: [1, -3, -9.81]
links:
  - joint: {kind: fixed}
    length: 1
    section: {mass_per_length: 0.7, EIz: 20, EIy: 10, GJ: 4, EA: 300}
    shapes: {kind: polynomials, bending_y: 8, bending_z: 8, torsion: 8, stretch: 6}
  - joint: {kind: fixed, before: {position: [0, 0.2, 0.1]}}
    length: 0.1
    body: {mass: 0.2}
    wrenches: [{force: [-4, 18, 25]}]
"""
SWUNG = """
flexarm: 1
name: swung in space
gravity: [0, -9.81, 0]
links:
  - joint: {kind: revolute, axis: [1, 2, 2], actuation: prescribed,
            motion: {kind: cycloid, start: 0, end: 1.5, duration: 0.5}}
    length: 1
    section: {mass_per_length: 1, EIz: 12, EIy: 18, GJ: 6, EA: 4000, Jx: 2e-4}
    shapes: {kind: polynomials, bending_y: 6, bending_z: 6, torsion: 3, stretch: 3}
payload: {mass: 0.3}
"""


def beyond(force: Array, model: Model, q: Array) -> Array:
    """Turn forces at stations, (S, 3), from link axes into those of the sections."""
    part = model.links[0]
    turned = [np.array(section(model, part, ca.DM(q), float(x)).rotation) for x in STATIONS]
    found: Array = np.einsum("sji,sj->si", np.array(turned), force)
    return found


def test_forces_of_a_link_bent_and_twisted_far_hold_all_that_is_beyond() -> None:
    model = build(loads(HELD), nodes=4)
    q = equilibrium(of_library(model), np.zeros(model.size), np.ones(1))
    assert np.abs(along(model, model.links[0], q[None], STATIONS).slope[..., 1:]).max() > 0.5
    weight = (0.2 + 0.7 * (1 - STATIONS))[:, None] * GRAVITY
    found = section_forces(model, model.links[0], q[None], STATIONS).force[0]
    assert found == pytest.approx(beyond(PUSH + weight, model, q), abs=0.01)


def places(run: Run, k: int, x: Array) -> Array:
    """Places along the first link in the world at a sample."""
    frame = frames(run.model, ca.DM(run.q[k]))[0]
    bent = along(run.model, run.model.links[0], run.q[k][None], x).deflection[0]
    moved: Array = (bent + np.outer(x, [1, 0, 0])) @ np.array(frame.R_WL).T
    return np.asarray(moved + np.array(frame.p_WL).ravel())


def felt(run: Run, k: int, x: Array) -> Array:
    """Acceleration less gravity along the first link, by differences in time."""
    weights = ((-2, -1 / 12), (-1, 16 / 12), (0, -30 / 12), (1, 16 / 12), (2, -1 / 12))
    step = run.t[1] - run.t[0]
    second = np.sum([w * places(run, k + j, x) for j, w in weights], axis=0)
    return np.asarray(second / step**2 - run.model.gravity)


@pytest.mark.campaign
def test_forces_of_a_link_swung_in_space_hold_the_inertia_of_all_that_is_beyond() -> None:
    run = flexarm.simulate(loads(SWUNG), t_end=0.3, dt=2e-4, rtol=1e-8)
    k, (node, weight) = len(run.t) - 3, unit_rule(40)
    held = []
    for s in STATIONS:
        x = s + (1 - s) * (node + 1) / 2
        heavy = felt(run, k, x) * (weight * (1 - s) / 2)[:, None]
        held.append(heavy.sum(axis=0) + 0.3 * felt(run, k, np.ones(1))[0])
    R_WL = np.array(frames(run.model, ca.DM(run.q[k]))[0].R_WL)
    expected = beyond(-np.array(held) @ R_WL, run.model, run.q[k])
    found = section_forces(run.model, run.model.links[0], run.q[k][None], STATIONS).force[0]
    assert np.abs(expected).max() > 40
    assert found == pytest.approx(expected, abs=1.5)  # 2.3 with four shapes in each plane
