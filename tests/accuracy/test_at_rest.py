"""Errors of arms at rest and of frequencies about bent states, beside elastica computed apart."""

from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.io.model_file import loads
from flexarm.linear.equilibrium import rest_errors
from flexarm.mechanics.deformed import along
from flexarm.model import Model
from flexarm.runs.run import Run
from flexarm.spatial import Array
from tests.accuracy.elastica import Chain, Rod, rod_tip
from tests.accuracy.rest_cases import random_chain, random_rod

pytestmark = pytest.mark.usefixtures("little_effort")
REFUSED = (8, 34, 45)  # seeds of arms whose few shapes have no equilibrium
ROUNDING = 1e-9  # of a deflection or frequency: what both computations have of it
ARC = """
flexarm: 1
name: arc
gravity: [0, 0, 0]
start: equilibrium
links:
  - joint: {kind: fixed}
    length: 1
    section: {mass_per_length: 1, EIz: 10}
    wrenches: [{torque: [0, 0, 15]}]
"""
SPRUNG = """
flexarm: 1
name: two links on springs
gravity: [0, -9.81, 0]
start: equilibrium
links:
  - joint: {kind: revolute, actuation: free, spring: {stiffness: 60}}
    length: 1
    section: {mass_per_length: 1, EIz: 40}
  - joint: {kind: revolute, actuation: free, spring: {stiffness: 30}}
    length: 0.8
    section: {mass_per_length: 0.5, EIz: 10}
    shapes: {kind: clamped-free, bending_y: 1}
payload: {mass: 1, com: [0.1, -0.2, 0]}
"""
TURNING = """
flexarm: 1
name: bar
gravity: [0, 0, 0]
start: equilibrium
links:
  - joint: {kind: revolute, actuation: free, start: {speed: 3}}
    length: 1
    section: {mass_per_length: 1, EA: 1000}
"""
STRIP = """
flexarm: 1
name: strip
links:
  - joint: {kind: fixed, before: {rotation: [45 deg, 0, 0]}}
    length: 0.508
    section: {mass_per_length: 0.1109806, GJ: 3.105, EIy: 36.281, EIz: 2.4288, Jx: 2.0e-6}
payload: {mass: 1.36035}
"""


def tips(model: Model, q: Array) -> Array:
    """Find how far the tips of all links are from where straight ones have them [m], (links, 3)."""
    end = np.array([1.0])
    return np.array([along(model, part, q[None], end).deflection[0, 0] for part in model.links])


def at_rest(text: str) -> Run:
    run = flexarm.simulate(loads(text), t_end=0.01, dt=0.01)
    assert np.ptp(tips(run.model, run.q[0]) - tips(run.model, run.q[-1])) < 1e-12
    return run


@pytest.mark.campaign
def test_the_reference_has_circles_tip_loads_and_vibrations_of_cantilevers() -> None:
    arc = Chain((Rod(1.0, 1.0, 10.0, 0.0, 15.0),), 0.0, 0.0)
    circle = [np.sin(1.5) / 1.5 - 1, (1 - np.cos(1.5)) / 1.5]
    assert arc.tips(arc.equilibrium())[0] == pytest.approx(circle, rel=1e-12)
    loaded = Chain((Rod(1.0, 1e-9, 1.0, 0.0),), 1.0, 1.0)  # Mattiasson 1981: P L^2/EI = 1
    assert loaded.tips(loaded.equilibrium())[0] == pytest.approx([-0.05643, -0.30172], abs=5e-6)
    straight = Chain((Rod(1.0, 1.0, 1.0, 0.0),), 0.0, 0.0)
    found = straight.frequencies(straight.equilibrium())
    assert found[:2] == pytest.approx([1.8751041**2, 4.6940911**2], rel=1e-7)
    stiffness = (1.0, 1.0, 1.0, np.inf)
    turned = rod_tip(1.0, 1e-9, stiffness, 1.0, np.array([0.0, -0.6, -0.8]))
    assert turned == pytest.approx([-0.05643, -0.18103, -0.24138], abs=1e-5)


def test_an_arm_at_rest_states_the_error_of_its_deflection() -> None:
    """The tip of a link bent to an arc is 1.7 % of its deflection off."""
    run = at_rest(ARC)
    exact = np.array([np.sin(1.5) / 1.5 - 1, (1 - np.cos(1.5)) / 1.5, 0.0])
    found = tips(run.model, run.q[-1])[0]
    true = np.abs(found - exact).max() / np.abs(found).max()
    assert run.errors.shapes is not None
    assert 0.01 < true <= run.errors.shapes + ROUNDING
    assert run.errors.shapes < 1.05 * true


@pytest.mark.campaign
def test_joints_on_springs_begin_in_balance_to_rounding_and_count_as_at_rest() -> None:
    """By shooting the tips are (-20.2497, -180.862) mm and (-5.00879, -83.2220) mm off."""
    run = at_rest(SPRUNG)
    exact = 1e-3 * np.array([[-20.24971, -180.86193, 0], [-5.00879, -83.22204, 0]])
    assert np.abs(run.v).max() < 1e-12
    off = np.abs(tips(run.model, run.q[-1]) - exact).max(axis=1)
    true = float((off / np.abs(exact).max(axis=1)).max())
    assert run.errors.model == 0
    assert run.errors.shapes is not None
    assert 0.99 * true <= run.errors.shapes <= 1.05 * true


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", [seed for seed in range(50) if seed not in REFUSED])
def test_bent_links_state_no_less_than_their_errors(seed: int) -> None:
    arm, chain = random_chain(seed)
    amplitudes = chain.equilibrium()
    found = flexarm.modes(arm)
    point = found.equilibrium.point
    given, exact = tips(found.model, point.q)[:, :2], chain.tips(amplitudes)
    stated = rest_errors(found.model, point, set()).tips["shapes"]
    for name, mine, true in zip(stated, given, exact, strict=True):
        off, size = np.abs(mine - true).max(), np.abs(true).max()
        assert off - ROUNDING * size <= stated[name] <= 2 * off + ROUNDING * size
    truths = chain.frequencies(amplitudes)
    for mode, errors, omega in list(zip(found.modes, found.errors, truths, strict=False))[:2]:
        assert errors is not None
        assert errors.total is not None
        off = abs(mode.frequency_rad_s / omega - 1)
        assert off - ROUNDING <= errors.total
        assert errors.total <= 2 * off + 0.01


@pytest.mark.campaign
@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(40))
def test_links_bent_in_space_state_no_less_than_their_errors(seed: int) -> None:
    arm, exact = random_rod(seed)
    found = flexarm.equilibrium(arm)
    given = tips(found.model, found.point.q)[0]
    parts = rest_errors(found.model, found.point, set()).tips
    stated = sum(parts[what]["link1"] for what in ("shapes", "theory", "stiffness"))
    off, size = np.abs(given - exact).max(), np.abs(exact).max()
    assert off - ROUNDING * size <= stated <= 2 * off + 1e-8 * size


def test_frequencies_about_a_bent_and_twisted_state_state_their_errors() -> None:
    """By shooting they are 6.8360, 21.030 and 135.82 rad/s."""
    found = flexarm.modes(loads(STRIP))
    pairs = list(zip(found.modes, found.errors, [6.8360, 21.030, 135.815], strict=False))
    assert len(pairs) == 3
    for mode, errors, omega in pairs:
        assert errors is not None
        assert errors.total is not None
        true = mode.frequency_rad_s / omega - 1
        assert 5e-4 < true <= errors.total + 1e-5
        assert errors.total < 1.1 * true


@pytest.mark.campaign
def test_linear_links_state_the_error_of_their_theory() -> None:
    """A link that hangs is stiffened by its weight, which linear theory does not know."""
    text = (
        "flexarm: 1\nname: hanging\ngravity: [0, -9.81, 0]\nstart: equilibrium\nSTIFF\nlinks:\n"
        "  - joint: {kind: fixed, before: {rotation: [0, 0, -80 deg]}}\n    length: 1\n"
        "    section: {mass_per_length: 2, EIz: 5}\n    shapes: {kind: polynomials, bending_y: 4}\n"
    )
    linear, exact = (at_rest(text.replace("STIFF", each)) for each in ("stiffening: false", ""))
    given, true = (tips(run.model, run.q[-1])[0] for run in (linear, exact))
    theory = linear.errors.parts["theory"]
    assert theory is not None
    assert theory == pytest.approx(np.abs(given - true).max() / np.abs(given).max(), rel=1e-3)
    assert theory > 0.1
    slow = [flexarm.modes(run.model).modes[0].frequency_rad_s for run in (linear, exact)]
    errors = flexarm.modes(linear.model).errors[0]
    assert errors is not None
    assert errors.model == pytest.approx(1 - slow[0] / slow[1], rel=0.05)


@pytest.mark.campaign
def test_joints_that_nothing_holds_settle_in_the_richer_arm_too() -> None:
    text = (
        "flexarm: 1\nname: hung\ngravity: [0, -9.81, 0]\nstart: equilibrium\nlinks:\n"
        "  - {joint: {kind: revolute, actuation: free, spring: {stiffness: 3}}, length: 1,"
        " section: {mass_per_length: 0.5, EIz: 1}, shapes: {kind: KIND}}\n"
        "payload: {mass: 0.3}\n"
    )
    few, many = (
        at_rest(text.replace("KIND", kind))
        for kind in ("clamped-free, bending_y: 1", "polynomials, bending_y: 6")
    )
    given, exact = (tips(run.model, run.q[-1])[0] for run in (few, many))
    true = np.abs(given - exact).max() / np.abs(given).max()
    assert few.errors.shapes is not None
    assert 0.004 < true <= few.errors.shapes + ROUNDING
    assert few.errors.shapes < 2 * true


@pytest.mark.campaign
def test_directions_without_shapes_count_at_rest() -> None:
    shapes = "shapes: {kind: arm-modes, stretch: 0}\n    wrenches"
    text = ARC.replace("EIz: 10", "EIz: 10, EA: 500").replace("wrenches", shapes)
    run = at_rest(text.replace("torque: [0, 0, 15]", "at: tip, force: [20, 1, 0]"))
    found = run.errors.parts["stiffness"]
    assert found is not None
    stretched = 20 / 500 / np.abs(tips(run.model, run.q[-1])).max()
    assert found == pytest.approx(stretched, rel=0.2)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (ARC.replace("    wrenches", "    shapes: {kind: lumped, bending_y: 4}\n    wrenches"),
         "link1: it is lumped"),
        (ARC.replace("15", "0"), "no link bends"),
    ],
)  # fmt: skip
def test_errors_at_rest_that_are_not_computed_are_unknown(text: str, why: str) -> None:
    errors = at_rest(text).errors
    assert errors.shapes is None
    assert errors.model is None
    assert errors.total is None
    assert set(errors.parts.values()) == {None}
    assert all(why in line for line in errors.lines()[:2])


def test_a_bar_that_turns_states_the_error_of_its_stretch() -> None:
    """Places x along it are sin(k s) / (k cos k), with k the speed over that of sound."""
    for speed in (3.0, 15.0):
        run = at_rest(TURNING.replace("speed: 3", f"speed: {speed}"))
        k = speed / np.sqrt(1000)
        exact, given = np.tan(k) / k - 1, tips(run.model, run.q[-1])[0, 0]
        assert run.errors.shapes is not None
        assert abs(given / exact - 1) <= run.errors.shapes + ROUNDING
        assert run.errors.shapes < 2 * abs(given / exact - 1) + 1e-7


BLADE = """
flexarm: 1
name: blade
gravity: [0, 0, -9.81]
links:
  - joint: {kind: revolute}
    length: 1
    section: {mass_per_length: 1, EIy: 10, EIz: 20}
    shapes: {kind: clamped-free, bending_y: COUNT, bending_z: COUNT}
"""


@pytest.mark.few(1)
@pytest.mark.parametrize("count", [1, 2])
def test_a_blade_that_turns_states_the_errors_of_its_state_and_frequencies(count: int) -> None:
    at: dict[str, Any] = {"speeds": {"joint1": 15.0}}
    few, many = (loads(BLADE.replace("COUNT", str(k))) for k in (count, 4))
    state, exact = (flexarm.equilibrium(arm, **at) for arm in (few, many))
    given, true = (tips(each.model, each.q)[0] for each in (state, exact))
    off = np.abs(given - true).max() / np.abs(given).max()
    assert state.errors.shapes is not None
    assert 0.9 * off <= state.errors.shapes <= 1.5 * off
    found, best = (flexarm.modes(arm, **at) for arm in (few, many))
    for mode, errors, other in list(zip(found.modes, found.errors, best.modes, strict=False))[:2]:
        assert errors is not None
        assert errors.total is not None
        wrong = mode.frequency_rad_s / other.frequency_rad_s - 1
        assert 5e-4 < 0.99 * wrong <= errors.total <= 1.2 * wrong


def test_an_equilibrium_states_what_a_run_at_rest_does() -> None:
    run, state = at_rest(ARC), flexarm.equilibrium(loads(ARC))
    assert state.errors.shapes == pytest.approx(run.errors.shapes, rel=1e-6)
    assert (state.errors.model, state.errors.integration) == (0.0, 0.0)
    straight = flexarm.equilibrium(loads(ARC), straight=True).errors
    assert straight.shapes is None
    assert straight.why.startswith("no link bends")


def test_no_error_is_said_to_be_none_and_not_0() -> None:
    model, shapes, _ = at_rest(ARC).errors.lines()
    assert model.startswith("error of the model: none, against beams")
    assert " 1.8 % of the deflections or less" in shapes


@pytest.mark.campaign
def test_joints_that_move_in_modes_are_held_at_the_state_that_they_are_about() -> None:
    text = (
        "flexarm: 1\nname: soft\ngravity: [0, -9.81, 0]\nlinks:\n"
        "  - {joint: {kind: revolute}, length: 1, section: {mass_per_length: 1, EIz: 20},"
        " shapes: {kind: KIND}}\n"
        "  - {joint: {kind: revolute, start: {position: 60 deg}}, length: 0.5,"
        " section: {mass_per_length: 1, EIz: 3}, shapes: {kind: KIND}}\n"
    )
    kinds = ("clamped-free, bending_y: 2", "polynomials, bending_y: 10")
    few, many = (flexarm.modes(loads(text.replace("KIND", kind))) for kind in kinds)
    pairs = list(zip(few.modes, few.errors, many.modes, strict=False))[:4]
    for mode, errors, exact in pairs:
        if mode.kind == "vibration":
            assert errors is not None
            true = abs(mode.frequency_rad_s / exact.frequency_rad_s - 1)
            assert true <= errors.shapes + ROUNDING
            assert errors.shapes <= 3 * true
    assert sum(errors is not None for errors in few.errors) >= 2
