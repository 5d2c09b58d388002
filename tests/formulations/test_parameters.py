"""Numbers of an arm as inputs give the equations of the arm that has these numbers."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations import FORMULATIONS
from flexarm.formulations.equation import Equation
from flexarm.formulations.numbers import Nearby, directions_of
from flexarm.formulations.quantities import QUANTITIES
from flexarm.io.model_file import change_arm, loads
from flexarm.linear.tangent import OperatingPoint, Tangent
from flexarm.mechanics.loads import prescribed_accelerations, wrench_factors
from flexarm.model import Model
from flexarm.samples import shown_names
from tests.physics.cases import campaign_if

CASES = {
    "deluca-siciliano": ["payload.mass", "links.1.section.EIz", "links.2.length"],
    "driven-link-payload": [
        "payload.mass",
        "links.1.section.EIz",
        "links.1.section.mass_per_length",
    ],
    "korayem-two-link": ["links.1.section.EIz", "links.2.section.mass_per_length"],
    "tg-rr-elements": ["links.2.section.EIz", "links.1.length"],
    "chen-two-link": ["links.1.joint.drive.stiffness", "links.1.joint.drive.gear_ratio"],
    "canadarm-free-base": ["payload.mass", "base.body.mass"],
    "theodore-rrp": ["links.2.section.EIz", "links.2.length"],
}
LARGE = ("chen-two-link", "canadarm-free-base", "theodore-rrp")
FUNCTIONS = {
    "mass_matrix": "q",
    "bias": "qv",
    "inverse_dynamics": "qva",
    "energy": "qv",
    "forward_dynamics": "qvu",
    "tip_pose": "q",
    "linear_model": "qva",
}
PAIRS = [
    (sample, name)
    for sample in CASES
    for name in FUNCTIONS
    if name != "linear_model" or sample not in LARGE  # whose derivatives take minutes
]
# The others on the first sample alone in `make test`.
FEW = ("forward_dynamics", "energy")
FIRST = "deluca-siciliano"
MATRIX = [
    pytest.param(
        *(sample, name),
        marks=()
        if sample == FIRST or (name in FEW and sample not in LARGE)
        else pytest.mark.campaign,
    )
    for sample, name in PAIRS
]


# Of which derivatives are taken in `make test`.
PLAIN = {
    FIRST: tuple(FUNCTIONS),
    "driven-link-payload": ("forward_dynamics",),
    "korayem-two-link": ("energy",),
    "tg-rr-elements": ("forward_dynamics",),
}


@cache
def kept(sample: str, *keys: str, name: str = "composite") -> Equation:
    """Make numbers of a sample inputs."""
    model = flexarm.build(flexarm.example_arm(sample))
    return flexarm.formulation(name, model, parameters=list(keys))


def state(model: Model) -> dict[str, np.ndarray]:
    """Draw coordinates, rates, accelerations and inputs."""
    random = np.random.default_rng(4)
    q, v, a = random.normal(size=(3, model.size))
    for part in model.links:
        q[part.modes] *= 0.02
        v[part.modes] *= 0.1
        if part.range is not None:
            q[part.exposed] = np.mean(part.range)
    driven = [axis for axis in model.axes if axis.driven]
    return {"q": q, "v": v, "a": a, "u": np.ones(len(driven))}


def results(equation: Equation, name: str) -> np.ndarray:
    """Evaluate a function at the state."""
    drawn = state(equation.model)
    inputs = [drawn[key] for key in FUNCTIONS[name]]
    if name == "linear_model":
        inputs = [*inputs, wrench_factors(equation.model, 0.0), *equation.common_arguments]
        found = tuple(equation.compiled(name).call(*inputs))
    else:
        found = getattr(equation, name)(*inputs)
    parts = found if isinstance(found, tuple) else (found,)
    return np.concatenate([np.ravel(part) for part in parts])


def plain_results(equation: Equation, name: str) -> np.ndarray:
    """Evaluate forward dynamics or energies at the state, numbers folded into the operations."""
    drawn, model = state(equation.model), equation.model
    timed = {"w": wrench_factors(model, 0.0), "prescribed_a": prescribed_accelerations(model, 0.0)}
    inputs = [(drawn | timed)[key] for key in QUANTITIES[name].inputs]
    found = equation.function(name)(*inputs, *equation.common_arguments)
    parts = found[:1] if name == "forward_dynamics" else found
    return np.concatenate([np.ravel(part) for part in parts])


def changed(equation: Equation, values: np.ndarray) -> Equation:
    """Build the arm with other values anew."""
    given = dict(zip(equation.parameters, values.tolist(), strict=True))
    model = flexarm.build(change_arm(equation.model.arm, given))
    return flexarm.formulation(equation.name, model)


@pytest.mark.few(2)
@pytest.mark.parametrize(("sample", "name"), MATRIX)
def test_equations_are_those_of_the_arm_with_these_values(sample: str, name: str) -> None:
    equation = kept(sample, *CASES[sample])
    values = equation.values * np.linspace(0.9, 1.2, len(equation.values))
    moved, before = equation.at(values), results(equation, name)
    got, expected = results(moved, name), results(changed(equation, values), name)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    plain = results(flexarm.formulation("composite", equation.model), name)
    np.testing.assert_allclose(before, plain, rtol=0, atol=1e-12 * np.abs(plain).max())
    code = {"partitioned": "mass_matrix"}.get(name, name)
    if code in QUANTITIES:
        kernels = [each.compiled(code) for each in (equation, moved)]
        assert kernels[0].address == kernels[1].address


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("sample", "name"),
    [
        pytest.param(sample, name, marks=campaign_if(name not in PLAIN.get(sample, ())))
        for sample, name in PAIRS
    ],
)
def test_derivatives_are_those_of_differences(sample: str, name: str) -> None:
    check_derivatives(kept(sample, *CASES[sample]), name)


@pytest.mark.campaign
@pytest.mark.usefixtures("little_effort")
@pytest.mark.parametrize("name", ["forward_dynamics", "linear_model"])
@pytest.mark.parametrize(
    ("sample", "key"),
    [
        ("canadarm-free-base", "links.4.length"),
        ("chain-30", "links.7.length"),
        ("chen-two-link", "links.1.length"),
        ("count-6-6-3", "links.1.length"),
        ("graves-rms", "links.3.length"),
        ("graves-rms", "links.3.section.material.E"),
        ("graves-rms", "links.3.tip_piece.body.mass"),
        ("tg-rp-2planes-elements", "links.1.length"),
        ("tg-rr-2planes-elements", "links.1.length"),
        ("tg-rr-payload-2planes-elements", "links.2.section.EIz"),
        ("tg-rrp-2planes-elements", "links.2.section.mass_per_length"),
        ("tg-rrr-2planes-elements", "links.2.length"),
        ("theodore-rrp", "links.2.length"),
    ],
)
def test_derivatives_of_the_largest_arms(sample: str, key: str, name: str) -> None:
    model = flexarm.build(flexarm.example_arm(sample))
    equation = flexarm.formulation("articulated", model, parameters=[key])
    assert equation.values > 0
    check_derivatives(equation, name)


def check_derivatives(equation: Equation, name: str) -> None:
    """Compare the derivatives of a function with differences of fourth order."""
    drawn, values = state(equation.model), equation.values
    found = equation.by_parameters(name, *(drawn[key] for key in FUNCTIONS[name]))
    shown = list(found.values())[:1] if name == "forward_dynamics" else list(found.values())
    rows = np.concatenate([each.reshape(-1, len(values)) for each in shown])
    for k, value in enumerate(values):
        step = 2e-4 * abs(value)
        ends = [values + place * step * np.eye(len(values))[k] for place in (-2, -1, 1, 2)]
        f = [results(equation.at(end), name) for end in ends]
        slope = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)
        noise = 1e-9 * np.abs(f).max() / abs(value)
        error = np.abs(rows[:, k] - slope).max()
        assert error <= 1e-7 * np.abs(slope).max() + noise, equation.parameters[k]


def test_the_linear_model_is_that_of_directional_derivatives() -> None:
    model = flexarm.build(flexarm.example_arm(FIRST))
    drawn, still = state(model), np.zeros(0)
    q, v, a, u = (drawn[key] for key in "qvau")
    found = flexarm.formulation("articulated", model).compiled("linear_model").call(q, v, a, still)
    linear = Tangent(model).matrices(OperatingPoint(q, v, u), a)
    for mine, other in zip(found, (linear.mass, linear.stiffness, linear.damping), strict=True):
        np.testing.assert_allclose(mine, other, rtol=0, atol=1e-11 * np.abs(other).max())


def test_a_number_that_is_0_has_a_derivative() -> None:
    arm = loads(
        SPRING.replace("rest: 0.2", "rest: 0").replace(
            "com: [1, 0, 0]", "com: [0.5, 0, 0], inertia: [0, 0, 0]"
        )
    )
    keys = ["links.1.joint.spring.rest", "links.1.body.inertia.3"]
    equation = flexarm.formulation("articulated", flexarm.build(arm), parameters=keys)
    q, v, u = np.array([0.3]), np.zeros(1), np.zeros(1)
    found = equation.by_parameters("bias", q, v)["c"]
    np.testing.assert_allclose(found, [[-10.0, 0.0]], rtol=1e-9, atol=1e-9)
    found = equation.by_parameters("mass_matrix", q)["M"]
    np.testing.assert_allclose(found.ravel(), [0.0, 1.0], rtol=1e-9, atol=1e-9)
    assert equation.by_parameters("forward_dynamics", q, v, u)["a"].shape == (1, 2)


def fitting(sample: str) -> list[str]:
    """List the formulations that take a sample."""
    model = flexarm.build(flexarm.example_arm(sample))
    return [name for name, kind in FORMULATIONS.items() if not kind.refusal(model, paper=False)]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("sample", "name"),
    [
        pytest.param(
            *(sample, name),
            marks=()
            if (sample, name) in {("deluca-siciliano", each) for each in FORMULATIONS}
            else pytest.mark.campaign,
        )
        for sample in shown_names()
        for name in FORMULATIONS
    ],
)
def test_every_formulation_takes_numbers_as_inputs(sample: str, name: str) -> None:
    if name not in fitting(sample):
        pytest.skip("refused")
    model = flexarm.build(flexarm.example_arm(sample))
    equation = flexarm.formulation(name, model)
    for what in ("forward_dynamics", "energy"):
        got, expected = results(equation, what), plain_results(equation, what)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_energy_grows_with_the_payload_by_its_own_motion_and_height() -> None:
    # With shapes that the payload does not change.
    model = flexarm.build(flexarm.example_arm("chu-example-2"))
    equation = flexarm.formulation("articulated", model, parameters=["payload.mass"])
    drawn = state(model)
    found = equation.by_parameters("energy", drawn["q"], drawn["v"])
    speed = equation.tip_velocity(drawn["q"], drawn["v"])[:3]
    place = equation.tip_pose(drawn["q"])[1]
    assert found["kinetic"].item() == pytest.approx(speed @ speed / 2, rel=1e-9)
    height = -model.gravity @ place
    assert found["gravitational"].item() == pytest.approx(height, rel=1e-9, abs=1e-12)


@pytest.mark.campaign
def test_stiffness_and_payload_are_identified_from_torques() -> None:
    keys = ["payload.mass", "links.1.section.EIz"]
    equation = kept("driven-link-payload", *keys)
    truth, random = np.array([0.31, 12.5]), np.random.default_rng(1)
    states = random.normal(size=(5, 3, equation.model.size)) * np.array([[0.01], [1.0], [1.0]])
    measured = [equation.at(truth).inverse_dynamics(*each) for each in states]
    values = equation.values
    for _ in range(9):
        here = equation.at(values)
        rows = [here.by_parameters("inverse_dynamics", *each)["tau"] for each in states]
        rest = np.array(measured) - [here.inverse_dynamics(*each) for each in states]
        step = np.linalg.lstsq(np.concatenate(rows), rest.ravel(), rcond=None)[0]
        values = values + step
    np.testing.assert_allclose(values, truth, rtol=1e-9)


def test_few_operations_are_added() -> None:
    equation = kept("driven-link-payload", "payload.mass")
    plain = flexarm.formulation("composite", equation.model)
    name = "forward_dynamics"
    count = equation.compiled(name).operations / plain.compiled(name).operations
    assert 0.98 < count < 1.03


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["name"], "parameter 'name': must be a number of the arm, got"),
        (
            ["payload.mas"],
            "'payload.mas': there is no 'mas' in payload: there are mass, com, inertia",
        ),
        (["links.elbow.length"], "no 'elbow' in links"),
        ([3], r"parameters: must be a list of keys of the model file, such as .*, got \[3\]"),
        ("payload.mass", "parameters: must be a list of keys .*, got 'payload.mass'"),
        (
            ["payload.mass", "payload.mass"],
            "parameters: must name each number of the arm once, got payload.mass, payl",
        ),
    ],
)
def test_what_is_no_number_is_told(keys: list[str], message: str) -> None:
    arm = flexarm.example_arm("driven-link-payload")
    with pytest.raises((FlexarmError, ModelError), match=message):
        flexarm.formulation("composite", flexarm.build(arm), parameters=keys)


def test_misuse_is_told() -> None:
    model = flexarm.build(flexarm.example_arm("driven-link-payload"))
    q = np.zeros(model.size)
    with pytest.raises(
        FlexarmError,
        match=r"no number of the arm is an input of these equations. Name numbers by formulation",
    ):
        flexarm.formulation("articulated", model).at([1.0])
    with pytest.raises(
        FlexarmError, match=r"no number of the arm is an input of these equations. Name numbers by"
    ):
        flexarm.formulation("articulated", model).by_parameters("bias", q, q)
    equation = kept("driven-link-payload", "payload.mass")
    with pytest.raises(FlexarmError, match="name"):
        equation.by_parameters("bia", q, q)
    with pytest.raises(FlexarmError, match="inputs"):
        equation.by_parameters("bias", q)


def test_a_number_that_changes_nothing_has_no_influence() -> None:
    arm = change_arm(
        flexarm.example_arm("driven-link-payload"), {"links.1.joint.limits.effort": 5.0}
    )
    model, key = flexarm.build(arm), "links.1.joint.limits.effort"
    equation = flexarm.formulation("articulated", model, parameters=[key])
    found = equation.by_parameters("bias", state(model)["q"], state(model)["v"])["c"]
    assert not found.any()


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


def test_a_gear_that_only_inputs_see_is_kept() -> None:
    equation = of(SPRING, ["links.1.joint.drive.gear_ratio"])
    still = np.zeros(1)
    for ratio in (6.0, 9.0):
        moved = equation.at([ratio])
        pushed, free = (moved.forward_dynamics(still, still, np.array([u])) for u in (1.0, 0.0))
        assert (pushed - free) * moved.mass_matrix(still)[0] == pytest.approx(ratio)


def test_energy_follows_numbers_that_it_is_not_linear_in() -> None:
    still = np.zeros(7)
    keys = ["base.body.mass", "base.position.3"]
    moved = of(FLOATING, keys).at([2.0, 4.0])  # m g z
    assert moved.energy(still, still)[2] == pytest.approx(3 * 2 * 4)


def test_a_free_base_is_anchored_anew_and_shares_code() -> None:
    equation = of(FLOATING, ["base.body.mass"]).at([7.0])
    model = flexarm.build(change_arm(equation.model.arm, {"base.body.mass": 7.0}))
    plain = flexarm.formulation("composite", model)
    turned = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    q, v = np.random.default_rng(2).normal(size=(2, model.size)) * 0.3
    for one, other in (
        (equation, plain),
        (equation.with_reference(turned), plain.with_reference(turned)),
    ):
        np.testing.assert_allclose(one.mass_matrix(q), other.mass_matrix(q), rtol=0, atol=1e-12)
        np.testing.assert_allclose(one.bias(q, v), other.bias(q, v), rtol=0, atol=1e-11)
    structures = {each.compiled("mass_matrix").structure for each in (equation, plain)}  # type: ignore[attr-defined]
    assert len(structures) == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([np.nan], r"values \(base.body.mass\): must be finite numbers, got \[nan\]"),
        ([-1e9], "base.body.mass: must be >= 0, got -1000000000.0"),
        (["x"], r"values \(base.body.mass\): must be finite numbers, got \['x'\]"),
        (5, r"values: must be of shape \(1,\) \(base.body.mass\), got shape \(\)"),
        ([[1]], r"must be of shape \(1,\) \(base.body.mass\), got shape \(1, 1\)"),
        ([1, 2], r"must be of shape \(1,\) \(base.body.mass\), got shape \(2,\)"),
    ],
)
def test_values_that_no_arm_has_are_told(values: Any, message: str) -> None:
    with pytest.raises(FlexarmError, match=message):
        of(FLOATING, ["base.body.mass"]).at(values)


def test_all_numbers_at_which_operations_change_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def values(pattern: Any, model: int, like: int) -> Any:
        return None if model in (2, 3) else np.array([float(model)])

    monkeypatch.setattr("flexarm.formulations.numbers.symbol_values", values)
    pattern: Any = None
    near: Any = {
        key: Nearby(models, np.array([0.5, -0.5]))  # type: ignore[arg-type]
        for key, models in {"a": (1, 2), "b": (5, 1), "c": (3, 4)}.items()
    }
    with pytest.raises(
        FlexarmError, match=r"^'a', 'c': the equations have no derivative at this value"
    ):
        directions_of(pattern, 0, near)  # type: ignore[arg-type]
    assert directions_of(pattern, 0, {"b": near["b"]}).tolist() == [[2.0]]  # type: ignore[arg-type]
