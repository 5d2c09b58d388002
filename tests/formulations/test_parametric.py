"""Numbers of an arm kept as symbols give the equations of the arm that has these numbers."""

import numpy as np
import pytest

import flexarm
from flexarm.engine.functions import compile_function, jacobian
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations.parametric import Parametric
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

LARGE = ("chen-two-link", "canadarm-free-base")
# Their shapes do not depend on these numbers, so the arm with other ones can be built anew.
ANEW = ("korayem-two-link", "tg-rr-elements")


def kept(sample: str, keys: list[str]) -> Parametric:
    """Keep numbers of a sample as symbols."""
    found = flexarm.formulation("composite", flexarm.build(flexarm.sample(sample)), parameters=keys)
    assert isinstance(found, Parametric)
    return found


def state(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw coordinates, rates and accelerations."""
    random = np.random.default_rng(4)
    q, v, a = random.normal(size=(3, model.size))
    for part in model.links:
        q[part.modes] *= 0.02
        v[part.modes] *= 0.1
        if part.sliding is not None and part.joint is not None:
            q[part.joint] = np.mean(part.sliding.range)
    return q, v, a


@pytest.mark.parametrize(
    "sample",
    [pytest.param(name, marks=pytest.mark.campaign) if name in LARGE else name for name in CASES],
)
def test_equations_are_those_of_the_arm_with_these_values(sample: str) -> None:
    equation = kept(sample, CASES[sample])
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
    equation = kept(sample, ["links.1.section.EIz"])
    still = np.zeros(equation.model.size)
    matrices = equation.function("matrices")
    one, two = (np.array(matrices(still, still, share * equation.values)[1]) for share in (1, 2))
    own = equation.model.links[0].modes
    assert np.diag(one)[own].min() > 0
    np.testing.assert_allclose(two[own, own], 2 * one[own, own], rtol=1e-9, atol=1e-9 * one.max())


def test_energy_grows_with_the_payload_by_its_own_motion_and_height() -> None:
    equation = kept("driven-link-payload", ["payload.mass"])
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
    equation = kept("driven-link-payload", keys)
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
    equation = kept("driven-link-payload", ["payload.mass"])
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
    ],
)
def test_what_cannot_be_kept_is_told(keys: list[str], message: str) -> None:
    more = {"gravity": [0.0, -9.81, 0.0], "links.1.joint.limits.effort": 5.0}
    arm = change_arm(flexarm.sample("driven-link-payload"), more)
    with pytest.raises((FlexarmError, ModelError), match=message):
        flexarm.formulation("composite", flexarm.build(arm), parameters=keys)


def test_a_sliding_link_keeps_its_section() -> None:
    with pytest.raises(ModelError, match="shapes of a sliding link hold its numbers"):
        kept("telescope", ["links.1.section.EIz"])


def test_other_formulations_refuse_and_a_wrong_number_of_values_is_told() -> None:
    model = flexarm.build(flexarm.sample("driven-link-payload"))
    with pytest.raises(FlexarmError, match="parameters: formulation 'articulated' has none"):
        flexarm.formulation("articulated", model, parameters=["payload.mass"])
    with pytest.raises(FlexarmError, match=r"values: must be 1 \(payload.mass\), got 2"):
        kept("driven-link-payload", ["payload.mass"]).at([1.0, 2.0])
    with pytest.raises(FlexarmError, match="'tip_pose' with parameters: there are"):
        kept("driven-link-payload", ["payload.mass"]).function("tip_pose")
