"""Numbers of an arm kept as symbols give the equations of the arm that has these numbers."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.engine.family import Family
from flexarm.engine.functions import compile_function, jacobian
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations.equation import Equation
from flexarm.io.model_file import loads
from flexarm.io.overrides import change_arm
from flexarm.model import Model

CASES = {
    "deluca-siciliano": ["payload.mass", "links.1.section.EIz", "links.2.section.mass_per_length"],
    "driven-link-payload": ["payload.mass", "links.1.section.EIz"],
    "korayem-two-link": ["links.1.section.EIz", "links.2.section.mass_per_length"],
    "tg-rr-elements": ["links.2.section.EIz", "links.1.section.mass_per_length"],
    "chen-two-link": ["links.1.joint.drive.stiffness", "links.1.joint.drive.rotor_inertia"],
    "canadarm-free-base": ["payload.mass", "base.body.mass"],
}

LARGE = ("chen-two-link", "canadarm-free-base", "korayem-two-link")
# Their shapes do not depend on these numbers, so the arm with other ones can be built anew.
ANEW = ("korayem-two-link", "tg-rr-elements")


@cache
def kept(sample: str, *keys: str) -> Equation:
    """Keep numbers of a sample as symbols."""
    model = flexarm.build(flexarm.sample(sample))
    return flexarm.formulation("composite", model, parameters=list(keys))


def state(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw coordinates, rates and accelerations."""
    random = np.random.default_rng(4)
    q, v, a = random.normal(size=(3, model.size))
    for part in model.links:
        q[part.modes] *= 0.02
        v[part.modes] *= 0.1
        if part.sliding is not None:
            q[part.exposed] = np.mean(part.sliding.range)
    return q, v, a


@pytest.mark.parametrize(
    "sample",
    [pytest.param(name, marks=pytest.mark.campaign) if name in LARGE else name for name in CASES],
)
def test_equations_are_those_of_the_arm_with_these_values(sample: str) -> None:
    equation = kept(sample, *CASES[sample])
    values = equation.values * np.linspace(0.4, 2.3, len(equation.values))
    changed = change_arm(equation.model.arm, dict(zip(CASES[sample], values.tolist(), strict=True)))
    shapes_of = None if sample in ANEW else equation.model
    other = flexarm.formulation("composite", flexarm.build(changed, shapes_of=shapes_of))
    moved = equation.at(values)
    q, v, a = state(equation.model)
    u = np.ones(len(equation.input_names))
    for name, arguments in (
        ("mass_matrix", (q,)),
        ("bias", (q, v)),
        ("inverse_dynamics", (q, v, a)),
        ("energy", (q, v)),
        ("forward_dynamics", (q, v, u)),
    ):
        got, expected = (np.array(getattr(one, name)(*arguments)) for one in (moved, other))
        size = np.abs(expected).max()
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * size, err_msg=name)
    assert moved.compiled("bias") is equation.compiled("bias")


@pytest.mark.parametrize("sample", ["driven-link-payload", "deluca-siciliano"])
def test_stiffness_is_proportional_to_that_of_the_section(sample: str) -> None:
    equation = kept(sample, "links.1.section.EIz")
    still = np.zeros(equation.model.size)
    matrices = equation.function("matrices")
    one, two = (np.array(matrices(still, still, share * equation.values)[1]) for share in (1, 2))
    own = equation.model.links[0].modes
    assert np.diag(one)[own].min() > 0
    np.testing.assert_allclose(two[own, own], 2 * one[own, own], rtol=1e-9, atol=1e-9 * one.max())


def test_energy_grows_with_the_payload_by_its_own_motion_and_height() -> None:
    equation = kept("driven-link-payload", "payload.mass")
    q, v, _ = state(equation.model)
    energy = equation.function("energy")
    slope = compile_function(jacobian(energy, of="kinetic", by=["p"]), level="quick")
    pull = compile_function(jacobian(energy, of="gravitational", by=["p"]), level="quick")
    plain = flexarm.formulation("composite", equation.model)
    speed = (plain.tip_jacobian(q) @ v)[:3]
    place = plain.tip_pose(q)[1]
    kinetic = slope.call(q, v, equation.values)[1].item()
    height = pull.call(q, v, equation.values)[1].item()
    assert kinetic == pytest.approx(speed @ speed / 2, rel=1e-9)
    assert height == pytest.approx(-equation.model.gravity @ place, rel=1e-9, abs=1e-12)


def test_stiffness_and_payload_are_identified_from_torques() -> None:
    keys = ["payload.mass", "links.1.section.EIz"]
    equation = kept("driven-link-payload", *keys)
    truth = np.array([0.31, 12.5])
    random = np.random.default_rng(1)
    efforts = jacobian(equation.function("inverse_dynamics"), of="tau", by=["p"])
    compiled = compile_function(efforts, level="quick")
    rows, rest = [], []
    for _ in range(5):
        q, v, a = random.normal(size=(3, equation.model.size))
        q[1:] *= 0.01
        factors = np.zeros(0)
        tau, slope = compiled.call(q, v, a, factors, equation.values)
        measured = equation.at(truth).inverse_dynamics(q, v, a)
        rows.append(slope)
        rest.append(measured - tau)
    found = np.linalg.lstsq(np.concatenate(rows), np.concatenate(rest), rcond=None)[0]
    np.testing.assert_allclose(equation.values + found, truth, rtol=1e-7)


def test_few_operations_are_added() -> None:
    equation = kept("driven-link-payload", "payload.mass")
    plain = flexarm.formulation("composite", equation.model)
    name = "forward_dynamics"
    count = equation.compiled(name).operations / plain.compiled(name).operations
    assert 1.0 < count < 1.2


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["links.1.length"], "'links.1.length' cannot be kept as a symbol: .* not linear"),
        (["payload.mass", "gravity.2"], "payload.mass, gravity.2: some of these multiply"),
        (["name"], "parameter 'name': must be a number of the arm, got"),
        (["payload.mas"], "'payload.mas': no 'mas' in payload: there are mass, com, inertia"),
        (["links.elbow.length"], "no 'elbow' in links"),
        (["links.1.joint.limits.effort"], "changes nothing in the equations of this arm"),
        ([3], r"parameters: must be a list of keys of the model file, such as .*, got \[3\]"),
        ("payload.mass", "parameters: must be a list of keys .*, got 'payload.mass'"),
        (["payload.mass", "payload.mass"], "parameters: each key once, got payload.mass, payload"),
    ],
)
def test_what_cannot_be_kept_is_told(keys: list[str], message: str) -> None:
    more = {"gravity": [0.0, -9.81, 0.0], "links.1.joint.limits.effort": 5.0}
    arm = change_arm(flexarm.sample("driven-link-payload"), more)
    with pytest.raises((FlexarmError, ModelError), match=message):
        flexarm.formulation("composite", flexarm.build(arm), parameters=keys)


def test_a_sliding_link_keeps_its_section() -> None:
    with pytest.raises(ModelError, match="shapes of a sliding link hold its numbers"):
        kept("telescope", "links.1.section.EIz")


def test_other_formulations_and_other_functions_refuse() -> None:
    model = flexarm.build(flexarm.sample("driven-link-payload"))
    with pytest.raises(FlexarmError, match="parameters: formulation 'articulated' has none"):
        flexarm.formulation("articulated", model, parameters=["payload.mass"])
    with pytest.raises(FlexarmError, match="'tip_pose' with parameters: there are"):
        kept("driven-link-payload", "payload.mass").function("tip_pose")


STIFF = """
flexarm: 1
name: stiff arm with a small wrist
links:
  - joint: {kind: revolute, axis: [0, -1, 0]}
    length: 0.5
    section: {mass_per_length: 4.2, EIz: 4.4e+5, EIy: 4.4e+5, GJ: 3.3e+5, EA: 1.1e+8, Jx: 0.007}
    shapes: {kind: loaded, bending_y: 3, bending_z: 3, torsion: 1, stretch: 0}
  - joint: {kind: revolute, axis: [1, 0, 0]}
    body: {mass: 0.2, inertia: [0.0002, 0.001, 0.001]}
payload: {mass: 0.2, com: [0.05, 0.03, 0]}
"""

SPRING = """
flexarm: 1
name: pendulum on a spring
links:
  - joint:
      kind: revolute
      spring: {stiffness: 10, rest: 0.2}
      drive: {rotor_inertia: 0, gear_ratio: 6, motor_torque: true}
    length: 1
    body: {mass: 1, com: [1, 0, 0]}
"""

FLOATING = """
flexarm: 1
name: pendulum on a free body
gravity: [0, 0, -2]
base: {kind: free, position: [0, 0, 3], body: {mass: 5, inertia: [0.5, 0.6, 0.7]}}
links: [{joint: {kind: revolute}, length: 1, body: {mass: 1, com: [1, 0, 0]}}]
"""


def of(text: str, keys: list[str]) -> Equation:
    """Keep numbers of an arm as symbols."""
    return flexarm.formulation("composite", flexarm.build(loads(text)), parameters=keys)


@pytest.mark.parametrize("key", ["payload.com.1", "payload.com.2"])
def test_stiff_links_do_not_hide_that_inertias_are_not_linear(key: str) -> None:
    with pytest.raises(FlexarmError, match=f"'{key}' cannot be kept as a symbol: .* not linear"):
        of(STIFF, [key])


def test_rounding_is_no_change() -> None:
    with pytest.raises(FlexarmError, match=r"'links.1.section.EA' changes nothing"):
        of(STIFF, ["links.1.section.EA"])


def test_a_gear_that_only_inputs_see_is_kept() -> None:
    equation = of(SPRING, ["links.1.joint.drive.gear_ratio"])
    still = np.zeros(1)
    for ratio in (6.0, 9.0):
        moved = equation.at([ratio])
        pushed, free = (moved.forward_dynamics(still, still, np.array([u])) for u in (1.0, 0.0))
        assert (pushed - free) * moved.mass_matrix(still)[0] == pytest.approx(ratio)


def test_energy_is_refused_where_it_is_not_linear() -> None:
    key = "links.1.joint.spring.rest"
    equation = of(SPRING, [key])
    still = np.zeros(1)
    for rest in (0.2, 0.4):
        assert equation.at([rest]).parts(still, still)["elastic"] == pytest.approx(-10 * rest)
    with pytest.raises(FlexarmError, match=f"'energy' with parameters: it is not linear in {key}"):
        equation.at([0.4]).energy(still, still)
    keys = ["base.body.mass", "base.position.3"]
    with pytest.raises(FlexarmError, match=f"it is not linear in {' and '.join(keys)}"):
        of(FLOATING, keys).function("energy")
    # by itself each of these is kept for energy too: m g z
    still = np.zeros(7)
    assert of(FLOATING, keys[:1]).at([2.0]).energy(still, still)[2] == pytest.approx(2 * 3 * 3)
    assert of(FLOATING, keys[1:]).at([4.0]).energy(still, still)[2] == pytest.approx(6 * 2 * 4)


def test_a_free_base_is_anchored_anew_and_shares_code() -> None:
    equation = of(FLOATING, ["base.body.mass"]).at([7.0])
    model = flexarm.build(change_arm(equation.model.arm, {"base.body.mass": 7.0}))
    plain = flexarm.formulation("composite", model)
    turned = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    q, v = np.random.default_rng(2).normal(size=(2, model.size)) * 0.3
    family = Family()
    for one, other in (
        (equation.anchored(turned), plain.anchored(turned)),
        (equation.among(family), plain),
        (equation.among(family).anchored(turned), plain.anchored(turned)),
    ):
        np.testing.assert_allclose(one.mass_matrix(q), other.mass_matrix(q), rtol=0, atol=1e-12)
        np.testing.assert_allclose(one.bias(q, v), other.bias(q, v), rtol=0, atol=1e-11)
    assert family.compiles == 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([np.nan], r"values: must be finite \(base.body.mass\), got \[nan\]"),
        ([-1e9], "base.body.mass: must be >= 0, got -1000000000.0"),
        (["x"], r"values: must be numbers \(base.body.mass\), got \['x'\]"),
        (5, r"values: must be of shape \(1,\) \(base.body.mass\), got shape \(\)"),
        ([[1]], r"must be of shape \(1,\) \(base.body.mass\), got shape \(1, 1\)"),
        ([1, 2], r"must be of shape \(1,\) \(base.body.mass\), got shape \(2,\)"),
    ],
)
def test_values_that_no_arm_has_are_told(values: Any, message: str) -> None:
    with pytest.raises(FlexarmError, match=message):
        of(FLOATING, ["base.body.mass"]).at(values)
