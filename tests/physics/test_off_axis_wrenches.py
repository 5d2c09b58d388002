"""Wrenches at points off the axis of a link: equal torques, virtual work, energy."""

from functools import cache

import numpy as np
import pytest

import flexarm
from flexarm.formulations.equation import Equation
from flexarm.io.model_file import loads
from flexarm.model import build
from tests.physics.random_arms import random_arm

ARM = """
flexarm: 1
name: pushed beside its axis
gravity: [0, 0, 0]
base: {{kind: free, body: {{mass: 3, inertia: [0.1, 0.2, 0.3]}}, wrenches: [{base}]}}
links:
  - joint: {{kind: revolute, axis: [0, 1, 0], actuation: free}}
    length: 0.6
    section: {{mass_per_length: 0.5, EIz: 6, EIy: 8, GJ: 5, Jx: 1.0e-3}}
    shapes: {{kind: loaded, bending_y: 2, bending_z: 1, torsion: 1}}
    wrenches: [{link}]
"""
AT, FORCE = (0.6, 0.05, -0.08), (3.0, -2.0, 4.0)
NOTHING = "{at: 0}"


@cache
def equation(base: str = NOTHING, link: str = NOTHING) -> Equation:
    return flexarm.formulation("composite", build(loads(ARM.format(base=base, link=link))))


def state(size: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(5)
    return random.uniform(-0.1, 0.1, size), random.uniform(-1, 1, size)


def pushed(arm: Equation) -> np.ndarray:
    """Give the generalised force of the wrenches."""
    q, v = state(arm.model.size)
    without = equation()
    return without.inverse_dynamics(q, v, v) - arm.inverse_dynamics(q, v, v)


@pytest.mark.parametrize("along", [0.25, pytest.param(0.6, marks=pytest.mark.campaign)])
def test_a_force_off_the_axis_is_one_on_it_with_its_torque(along: float) -> None:
    place = [along, *AT[1:]]
    torque = np.cross([0.0, *AT[1:]], FORCE).tolist()
    off = equation(link=f"{{at: {place}, frame: link, force: {list(FORCE)}}}")
    on = equation(link=f"{{at: {along}, frame: link, force: {list(FORCE)}, torque: {torque}}}")
    assert pushed(off) == pytest.approx(pushed(on), rel=1e-12, abs=1e-12)
    assert np.abs(pushed(off)).max() > 1


def test_a_force_in_world_axes_does_the_virtual_work_of_its_deformed_point() -> None:
    arm = equation(link=f"{{at: {list(AT)}, force: {list(FORCE)}}}")
    q, _ = state(arm.model.size)
    offset, step = np.array([0.0, *AT[1:]]), 1e-5

    def point(q: np.ndarray) -> np.ndarray:
        placed = arm.link_frames(q)
        return np.asarray(placed.tip_position[0] + placed.tip_rotation[0] @ offset)

    moved = [(point(q + step * e) - point(q - step * e)) / (2 * step) for e in np.eye(len(q))]
    assert pushed(arm) == pytest.approx(np.array(moved) @ FORCE, abs=2e-9)


def test_a_force_beside_the_centre_of_a_free_base_turns_it() -> None:
    text = (
        "flexarm: 1\nname: base\ngravity: [0, 0, 0]\n"
        "base: {kind: free, body: {mass: 2, inertia: [0.1, 0.2, 0.3]},"
        " wrenches: [{at: [0.5, 0.3, -0.2], force: [1, 2, 3]}]}\n"
        "links: [{joint: {kind: fixed}}]\n"
    )
    arm = flexarm.formulation("articulated", build(loads(text)))
    found = arm.forward_dynamics(np.zeros(6), np.zeros(6), np.zeros(0))
    turning = np.cross([0.5, 0.3, -0.2], [1.0, 2.0, 3.0]) / [0.1, 0.2, 0.3]
    assert found == pytest.approx([0.5, 1.0, 1.5, *turning])


def test_the_energy_balance_counts_its_work() -> None:
    base = "{at: [0.1, 0.2, -0.3], frame: link, force: [2, 1, 3]}"
    factor = "{kind: sine, amplitude: 1, frequency: 3}"
    link = f"{{at: [0.3, 0.05, -0.08], force: {list(FORCE)}, factor: {factor}}}"
    arm = loads(ARM.format(base=base, link=link))
    run = flexarm.simulate(arm, t_end=0.5, rtol=1e-8, energy_audit=True)
    assert run.status == "finished"
    assert run.energy_balance < 1e-8
    assert np.ptp(run.work_integrals[:, 1]) > 0.1 * run.exchanged


def test_places_off_the_link_are_refused() -> None:
    for at, why in (("[0.7, 0, 0]", "beyond the link's length"), ("[0.1, 0]", "must have 3 items")):
        with pytest.raises(flexarm.ModelError, match=why):
            equation(link=f"{{at: {at}}}")


def test_places_along_the_span_go_with_parameters() -> None:
    """An equation with numbers as inputs keeps the place as it is."""
    text = ARM.format(base=NOTHING, link=f"{{at: [0.25, 0.05, 0.02], force: {list(FORCE)}}}")
    model = build(loads(text))
    open_ = flexarm.formulation("articulated", model, parameters=["links.1.wrenches.1.force.1"])
    q, v = state(model.size)
    changed = build(loads(text.replace("3.0, -2.0", "5.0, -2.0")))
    known = flexarm.formulation("articulated", changed).forward_dynamics(q, v, np.zeros(0))
    assert open_.at([5.0]).forward_dynamics(q, v, np.zeros(0)) == pytest.approx(known, rel=1e-10)


def test_random_arms_have_some() -> None:
    """The identities and the independent reference meet them there."""
    links = [link for number in range(15) for link in random_arm(number).arm.links]
    places = [wrench.at for link in links for wrench in link.wrenches]
    assert any(isinstance(at, tuple) and any(at[1:]) for at in places)
