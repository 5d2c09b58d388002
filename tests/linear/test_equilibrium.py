"""Equilibria: beam formulas, holding torques, published twist, steady rotation."""

import math

import numpy as np
import pytest

from flexarm import build, equilibrium, example_arm
from flexarm.errors import FlexarmError
from flexarm.formulations import formulation
from flexarm.io.model_file import loads
from flexarm.linear.tangent import Tangent
from tests.linear.linear_arms import one_link, two_links

G = 9.81
CRAIG = "{kind: craig-bampton, bending_y: 4}"


def test_a_cantilever_sags_by_the_beam_formula_and_needs_its_weight_times_its_lever() -> None:
    mass, stiffness, payload = 0.02, 5000.0, 0.01
    arm = one_link(
        section=f"mass_per_length: {mass}, EIz: {stiffness}", shapes=CRAIG,
        gravity=f"[0, -{G}, 0]", rest=f"payload: {{mass: {payload}}}\n",
    )  # fmt: skip
    found = equilibrium(arm)
    sag = -G * (mass / 8 + payload / 3) / stiffness
    assert found.deflections()["link1.y1"] == pytest.approx(sag, rel=1e-6)
    assert found.holding()["joint1"] == pytest.approx(G * (mass / 2 + payload), rel=1e-6)
    assert found.notes == ()


def test_a_large_sag_balances_the_gradient_of_the_potential_energy() -> None:
    arm = one_link(section="mass_per_length: 1, EIz: 4", shapes=CRAIG, gravity=f"[0, -{G}, 0]")
    found = equilibrium(arm)
    model, q = found.model, found.point.q
    assert abs(found.deflections()["link1.y1"]) > 0.2
    eq = formulation("composite", model)

    def potential(at: np.ndarray) -> float:
        energy = eq.energy(at, np.zeros(model.size))
        return float(energy.elastic + energy.gravitational)

    step = 1e-6
    slopes = [
        (potential(q + step * unit) - potential(q - step * unit)) / (2 * step)
        for unit in np.eye(model.size)
    ]
    assert slopes[0] == pytest.approx(found.holding()["joint1"], rel=1e-8)
    assert np.abs(slopes[1:]).max() < 1e-8 * slopes[0]


def test_the_weight_of_an_offset_boom_twists_the_one_that_carries_it() -> None:
    """Chen, Zhang & Liu 2012's arm; the twist follows from weight, offset and GJ by hand."""
    arm = example_arm("chen-two-link-rigid-joints")
    found = equilibrium(arm)
    twist = sum(
        value for name, value in found.deflections().items() if name.startswith("link1.twist")
    )
    by_hand = 314.88 * G * 0.475 * 7.11 / 1.93e6
    assert by_hand == pytest.approx(5.40530e-3, rel=1e-5)
    # Two fixed-free sines of a twist that is a straight line: 1 - (8/pi^2)(1 + 1/9) = 9.9 % less.
    part = 8 / math.pi**2 * (1 + 1 / 9)
    assert abs(twist) == pytest.approx(part * by_hand, rel=5e-3)


def test_wrenches_and_speeds_load_the_arm() -> None:
    stretch = one_link(
        section="mass_per_length: 2, EIz: 100, EA: 1.0e5",
        shapes="{kind: craig-bampton, bending_y: 1, stretch: 3}",
    )
    spun = equilibrium(stretch, speeds={"joint1": 10.0})
    wave = math.sqrt(2 * 10.0**2 / 1.0e5)  # the stretched link is a little farther out
    assert spun.deflections()["link1.stretch1"] == pytest.approx(
        math.tan(wave) / wave - 1, rel=1e-5
    )
    pushed = equilibrium(
        one_link(
            section="mass_per_length: 1, EIz: 1000",
            shapes=CRAIG,
            rest="    wrenches: [{at: tip, force: [0, 0.1, 0]}]\n",
        )
    )
    assert pushed.deflections()["link1.y1"] == pytest.approx(0.1 / 3000, rel=1e-6)


def test_a_joint_that_settles_hangs_down_and_one_that_cannot_hold_is_told() -> None:
    arm = one_link(
        joint="{kind: revolute, actuation: free, start: {position: -80 deg}}",
        section="mass_per_length: 1, EIz: 100", shapes=CRAIG, gravity=f"[0, -{G}, 0]",
    )  # fmt: skip
    hanging = equilibrium(arm, settle=["joint1"])
    assert hanging.deflections()["joint1"] == pytest.approx(-math.pi / 2, abs=1e-9)
    assert hanging.notes == ()
    held = equilibrium(arm)
    assert "joint1 is free and would need" in held.notes[0]


def test_two_joints_that_turn_are_no_steady_motion_and_one_is() -> None:
    arm = two_links("{kind: loaded, bending_y: 1}")
    assert equilibrium(arm, speeds={"joint1": 2.0}).notes == ()
    both = equilibrium(arm, speeds={"joint1": 2.0, "joint2": 1.0})
    assert any("not a steady motion" in note for note in both.notes)


def test_what_cannot_be_is_refused_by_name() -> None:
    arm = two_links("{kind: loaded, bending_y: 1}")
    with pytest.raises(FlexarmError, match=r"no joint 'elbow'. The joints are joint1, joint2"):
        equilibrium(arm, at={"elbow": 1.0})
    with pytest.raises(FlexarmError, match="joint1: must be a finite number, got nan"):
        equilibrium(arm, at={"joint1": math.nan})
    with pytest.raises(FlexarmError, match=r"joint1: must be 0\.4 to 1 m, the range of lengths"):
        equilibrium(
            loads(
                "flexarm: 1\nname: boom\nlinks:\n  - joint: {kind: sliding, limits: {lower: 0.4, "
                "upper: 1}, start: {position: 0.5}}\n    length: 1.2\n"
                "    section: {mass_per_length: 1, EIz: 1}\n    shapes: {kind: loaded}\n"
            ),
            at={"joint1": 2.0},
        )


def test_the_forces_of_a_sample_are_those_of_another_formulation() -> None:
    model = build(example_arm("chen-two-link"))
    tangent, rng = Tangent(model), np.random.default_rng(5)
    found = equilibrium(model)
    q = found.point.q + 1e-3 * rng.standard_normal(model.size)
    v, a = rng.standard_normal((2, model.size))
    point = type(found.point)(q, v, found.point.u)
    other = formulation("articulated", model).inverse_dynamics(q, v, a)
    assert tangent.force(point, a) == pytest.approx(other, rel=1e-10, abs=1e-8)


def test_its_coordinates_and_inputs_are_at_hand() -> None:
    found = equilibrium(example_arm("driven-link-payload"), at={"joint1": 0.3})
    assert found.q is found.point.q
    assert found.u is found.point.u
    assert dict(zip(found.model.names, found.q.tolist(), strict=True)) == found.deflections()
