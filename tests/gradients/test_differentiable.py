"""Gradients of runs against differences of whole runs, and what cannot be differentiated."""

import re
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError, SimulationError
from flexarm.gradients.events.crossing import HybridTrajectory
from flexarm.gradients.runs import Differentiable
from flexarm.io.model_file import loads
from flexarm.spatial import Array
from tests.physics.cases import campaign_if

EXACT = 1e-7
KEYS = ["payload.mass", "links.1.joint.servo.damping", "links.1.joint.friction.coulomb"]


@pytest.fixture(scope="module")
def arm() -> flexarm.Arm:
    """One bending link under a servo with an integral, with friction."""
    return flexarm.change_arm(
        flexarm.example_arm("driven-link-payload"),
        {
            "stiffening": False,
            "links.1.shapes.bending_y": 1,
            "links.1.joint.servo": {"stiffness": 10.0, "damping": 1.0, "integral_time": 0.5,
                                    "target": {"kind": "constant", "value": 0.3}},
            "links.1.joint.friction": {"viscous": 0.3, "coulomb": 0.2, "smoothing": 0.1},
        },
    )  # fmt: skip


EVENTS = [
    {"at": 0.1, "servo": {"joint1": {"stiffness": 25.0, "target": {"kind": "constant",
                                                                   "value": -0.4}}}},
    {"at": 0.17, "let_go": "payload"},
    {"at": 0.24, "servo": {"joint1": {"damping": 2.0}}},
]  # fmt: skip
SEEN = [
    {"when": {"quantity": "joint1", "above": 0.02}, "after": 0.01,
     "servo": {"joint1": {"stiffness": 25.0, "target": {"kind": "constant", "value": -0.4}}}},
    {"when": {"quantity": "tip.speed", "above": 0.6}, "after": 0.1, "let_go": "payload"},
    {"at": 0.24, "servo": {"joint1": {"damping": 2.0}}},
]  # fmt: skip
KINDS: dict[str, list[dict[str, Any]]] = {"": [], " events": EVENTS, " events seen": SEEN}
QUICK = ("rk4", "dop853 events seen", "etd4 events")  # every method and every kind
CASES = [
    pytest.param(method + kind, marks=campaign_if(method + kind not in QUICK))
    for kind in KINDS
    for method in ("rk4", "dop853", "etd4")
]


@pytest.fixture(scope="module", params=CASES)
def runs(request: pytest.FixtureRequest, arm: flexarm.Arm) -> Differentiable:
    method, kind, _ = re.split("( .*)?$", request.param, maxsplit=1)
    step = 5e-4 if method == "rk4" else None
    if kind:
        arm = flexarm.change_arm(arm, {"events": KINDS[kind]})
    return flexarm.differentiable(
        arm, t_end=0.3, dt=0.03, parameters=KEYS, method=method, step=step
    )


def differences(
    runs: Differentiable, key: int, like: HybridTrajectory, share: float = 1e-3
) -> Array:
    """Differentiate the samples of whole runs in the same steps, at fourth order, (T, 2n)."""
    h = share * runs.values[key]
    found = []
    for place in (-2, -1, 1, 2):
        values = runs.values.copy()
        values[key] += place * h
        run = runs.at(values, steps=like)
        found.append(np.hstack([run.q, run.v]))
    return np.asarray((found[0] - 8 * found[1] + 8 * found[2] - found[3]) / (12 * h))


@pytest.mark.few(1)
def test_sensitivities_are_the_differences_of_runs(runs: Differentiable) -> None:
    run = runs.at()
    by_q, by_v = run.sensitivities()
    slopes = np.concatenate([by_q, by_v], axis=1)
    for k in range(len(KEYS)):
        expected = differences(runs, k, run)
        scale = np.abs(expected).max(axis=0) + 1e-6 * np.abs(expected).max()
        assert np.all(np.abs(slopes[:, :, k] - expected) <= EXACT * scale), KEYS[k]


@pytest.mark.few(1)
def test_adjoint_is_the_transpose_of_the_sensitivities(runs: Differentiable) -> None:
    run = runs.at()
    rng = np.random.default_rng(1)
    by_q, by_v = rng.normal(size=(2, *run.q.shape))
    gradient = run.gradient(by_q, by_v)
    slopes = run.sensitivities()
    expected = np.einsum("tn,tnk->k", by_q, slopes[0]) + np.einsum("tn,tnk->k", by_v, slopes[1])
    np.testing.assert_allclose(gradient.parameters, expected, rtol=1e-9)


@pytest.mark.campaign
@pytest.mark.few(1)
def test_gradients_by_start_and_inputs_are_differences(runs: Differentiable) -> None:
    rng = np.random.default_rng(2)
    (q, v), u = runs.start, runs.input_samples
    run = runs.at(q=q, v=v, inputs=u)
    weights = rng.normal(size=run.q.shape)
    gradient = run.gradient(weights)
    given: dict[str, Any] = {"q": q, "v": v, "inputs": u}
    for name, value in given.items():
        way = rng.normal(size=value.shape)
        h, found = 2e-5 if name == "inputs" else 2e-6, []
        for place in (-2, -1, 1, 2):
            changed = given | {name: value + place * h * way}
            found.append(float(np.sum(weights * runs.at(steps=run, **changed).q)))
        expected = (found[0] - 8 * found[1] + 8 * found[2] - found[3]) / (12 * h)
        assert np.sum(getattr(gradient, name) * way) == pytest.approx(expected, rel=EXACT)


def test_gradients_by_etd4_are_those_of_the_motion(arm: flexarm.Arm) -> None:
    # Steps are longer than the periods of its fast modes: with modes held they are 10 % off.
    undriven = flexarm.change_arm(arm, {"links.1.joint.servo": None})
    found = {}
    for method, rtol in (("etd4", 1e-3), ("dop853", 1e-6)):
        runs = flexarm.differentiable(
            undriven, t_end=0.3, dt=0.03, parameters=["payload.mass"], method=method, rtol=rtol
        )
        found[method] = np.concatenate(runs.at().sensitivities(), axis=1)[:, :, 0]
    size = np.abs(found["dop853"]).max(axis=0)
    off = np.abs(found["etd4"] - found["dop853"]) / (size + 1e-3 * size.max())
    assert off.max() < 1e-3


def test_runs_are_those_of_simulate(runs: Differentiable) -> None:
    rk4 = runs.method.name == "rk4"
    step = 5e-4 if rk4 else None
    arm = runs.equation.model.arm
    run = flexarm.simulate(arm, t_end=0.3, dt=0.03, method=runs.method.name, step=step)
    own = np.searchsorted(run.t, runs.times - 1e-9)  # those of events are kept too
    off = np.abs(run.q[own] - runs.at().q).max() / np.abs(run.q).max()
    seen = any(event.when is not None for event in arm.events)  # between steps, by a cubic
    assert off < (1e-3 if not rk4 else 1e-6 if seen else 1e-12)


def test_an_adjoint_costs_at_most_six_simulations(runs: Differentiable) -> None:
    # The run, its stages once more from checkpoints, and the pulled rates at every stage.
    whole = runs.at()
    whole.gradient(whole.q)
    run = whole.parts[0]
    spent = 2.0 * run._member("rates").operations + run._member("pulled rates").operations
    if runs.method.name == "etd4":  # in every twentieth step of six stages
        turned = 2 * run._member("matrices").operations
        spent += (turned + run._member("pulled matrices").operations) / 120
    assert spent <= 6 * run.task.motion.compiled().operations


def test_equal_steps_are_stable_where_friction_comes_to_rest(arm: flexarm.Arm) -> None:
    rough = flexarm.change_arm(arm, {"links.1.joint.friction.smoothing": 1e-3})
    runs = flexarm.differentiable(rough, t_end=0.01)
    still, moving = (runs.at(v=np.eye(runs.equation.model.size)[0] * v) for v in (0.0, 0.5))
    assert len(moving.parts[0].steps) == len(still.parts[0].steps)


def test_numbers_at_their_upper_bound_have_derivatives(arm: flexarm.Arm) -> None:
    runs = flexarm.differentiable(arm, t_end=0.03, parameters=["links.1.damping"], step=5e-4)
    run = runs.at([0.99999])
    before = runs.at([0.9989], steps=run)
    slope = (run.q[-1] - before.q[-1]) / (0.99999 - 0.9989)
    assert run.sensitivities()[0][-1, :, 0] == pytest.approx(slope, rel=1e-2, abs=1e-9)


def test_checkpoints_grow_as_the_root_of_the_steps(runs: Differentiable) -> None:
    run = runs.at().parts[0]
    count, starts = len(run.steps), run.plan.starts
    states = len(starts) + np.diff(starts).max()
    # By etd4 they stand where modes are taken anew, every 24 tries.
    assert states <= 2 * np.sqrt(count) + (20 if runs.method.name == "etd4" else 2)


TOUCHING = """
flexarm: 1
name: hits a floor under a servo that saturates
links:
  - joint:
      kind: revolute
      axis: [0, 1, 0]
      limits: {effort: 2}
      servo: {stiffness: 60, damping: 3, target: {kind: constant, value: 0.4}}
    length: 0.5
    body: {mass: 1, com: [0.25, 0, 0], inertia: [0, 0.02, 0.02]}
contacts:
  - name: floor
    point: {tip: [0, 0, 0]}
    obstacle: {kind: plane, point: [0, 0, -0.05]}
    stiffness: 2.0e+4
    damping: 1 s/m
"""


def test_contacts_and_servos_at_their_limits_are_differentiated() -> None:
    keys = ["links.1.body.mass", "contacts.1.stiffness", "links.1.joint.limits.effort"]
    runs = flexarm.differentiable(loads(TOUCHING), t_end=0.4, dt=0.02, parameters=keys, step=1e-3)
    run = runs.at()
    assert run.q.max() > 0.1  # it has touched,
    assert np.any(np.diff(run.q[:, 0]) < 0)  # and was thrown back
    slopes = np.concatenate(run.sensitivities(), axis=1)
    for k in range(len(keys)):
        expected = differences(runs, k, run, share=1e-6)
        off = np.abs(slopes[:, :, k] - expected).max(axis=0)
        assert np.all(off <= EXACT * np.abs(expected).max(axis=0)), keys[k]


def test_bristles_that_begin_at_standstill_are_differentiated(arm: flexarm.Arm) -> None:
    lugre = {"kind": "lugre", "coulomb": 0.2, "static": 0.3, "stribeck_speed": 0.1,
             "bristle_stiffness": 500.0, "bristle_damping": 1.0}  # fmt: skip
    rough = flexarm.change_arm(arm, {"links.1.joint.friction": lugre})
    keys = [f"links.1.joint.friction.{name}" for name in ("static", "stribeck_speed")]
    runs = flexarm.differentiable(rough, t_end=0.1, dt=0.01, parameters=keys, step=5e-4)
    run = runs.at()
    slopes = np.concatenate(run.sensitivities(), axis=1)
    for k in range(len(keys)):
        expected = differences(runs, k, run)
        off = np.abs(slopes[:, :, k] - expected).max(axis=0)
        assert np.all(off <= EXACT * np.abs(expected).max(axis=0)), keys[k]


RAIL = """
flexarm: 1
name: rail
links:
  - joint: {kind: fixed}
    length: 1
    section: {mass_per_length: 1, EIy: 9}
    shapes: {kind: elements}
  - {joint: {kind: carriage, actuation: free, start: {position: 0.3}}, body: {mass: 1}}
"""


@pytest.mark.parametrize(
    "event",
    [
        {"when": {"quantity": "joint1", "above": 0.1}, "end": True},
        {"at": 0.1, "attach": {"name": "rope", "stiffness": 9.0}},
    ],
)
def test_runs_end_before_events_that_make_them_jump(
    arm: flexarm.Arm, event: dict[str, Any]
) -> None:
    late = {"name": "jump", "after": 0.1, **event} if "when" in event else {"name": "jump", **event}
    jumps = flexarm.change_arm(arm, {"events": [late]})
    options: dict[str, Any] = {"parameters": KEYS[:1], "step": 5e-4}
    found, expected = (
        flexarm.differentiable(each, t_end=0.1, **options).at().sensitivities()[0]
        for each in (jumps, arm)
    )
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(SimulationError, match=r"'jump' may happen from t = 0.1 s on"):
        flexarm.differentiable(jumps, t_end=0.2, **options)


def test_an_event_at_a_sample_that_rounding_moves(arm: flexarm.Arm) -> None:
    """The sample at 3 * 0.1 is after 0.3: inputs act from the event on as after that sample."""
    eventful = flexarm.change_arm(
        arm, {"events": [{"at": 0.3, "servo": {"joint1": {"damping": 9}}}]}
    )
    runs = flexarm.differentiable(eventful, t_end=0.4, dt=0.1, parameters=KEYS[:1], step=4e-3)
    run, inputs = runs.at(), runs.input_samples
    weights = np.random.default_rng(1).normal(size=run.q.shape)
    found = runs.at(inputs=inputs, steps=run).gradient(weights).inputs

    def moved(k: int, by: float) -> float:
        other = inputs.copy()
        other[k] += by
        return float(np.sum(weights * runs.at(inputs=other, steps=run).q))

    expected = [(moved(k, 1e-3) - moved(k, -1e-3)) / 2e-3 for k in range(len(inputs))]
    assert np.abs(found[:, 0] - expected).max() < 1e-6 * np.abs(expected).max()


def test_times_and_targets_of_events_are_no_parameters(arm: flexarm.Arm) -> None:
    eventful = flexarm.change_arm(arm, {"events": EVENTS})
    with pytest.raises(FlexarmError, match="is the time of an event"):
        flexarm.differentiable(eventful, t_end=0.3, parameters=["events.1.at"]).at()
    target = "events.1.servo.joint1.target.value"
    with pytest.raises(FlexarmError, match="as a function of time"):
        flexarm.differentiable(eventful, t_end=0.3, parameters=[target]).at()


def test_what_jumps_is_refused(arm: flexarm.Arm) -> None:
    dry = flexarm.change_arm(arm, {"links.1.joint.friction": {"kind": "dry", "coulomb": 1.0}})
    with pytest.raises(SimulationError, match="dry friction"):
        flexarm.differentiable(dry, t_end=0.1)
    with pytest.raises(SimulationError, match="etd4, dop853, rk4"):
        flexarm.differentiable(arm, t_end=0.1, method="rodas4")
    with pytest.raises(SimulationError, match="nodes of its rail"):
        flexarm.differentiable(loads(RAIL), t_end=0.1)
    target = "links.1.joint.servo.target.value"
    with pytest.raises(FlexarmError, match="as a function of time"):
        flexarm.differentiable(arm, t_end=0.1, parameters=[target]).at()


@pytest.fixture(scope="module")
def driven_runs() -> Differentiable:
    """Runs that a sine drives, sampled a few times a period, from a start that is a parameter."""
    wave = {"kind": "sine", "amplitude": 2.0, "frequency": 8.0}
    link = {
        "joint": {
            "kind": "revolute",
            "start": {"position": 0.3},
            "friction": {"viscous": 0.1},
            "input": wave,
        },
        "length": 0.5,
        "body": {"mass": 1.0, "com": [0.25, 0, 0], "inertia": [0, 0, 0.02]},
    }
    arm = flexarm.Arm.model_validate({"flexarm": 1, "name": "driven", "links": [link]})
    keys = ["links.1.joint.start.position", "links.1.body.mass"]
    return flexarm.differentiable(arm, t_end=0.2, dt=0.02, parameters=keys, step=1e-3)


def test_inputs_by_name_and_offsets_leave_other_inputs_as_they_are(
    driven_runs: Differentiable,
) -> None:
    run = driven_runs.at()
    assert np.array_equal(driven_runs.at(inputs={}).q, run.q)
    lines = driven_runs.at(inputs={"joint1": driven_runs.input_samples[:, 0]}).q
    assert np.array_equal(lines, driven_runs.at(inputs=driven_runs.input_samples).q)
    assert np.abs(lines - run.q).max() > 1e-3 * np.ptp(run.q)  # lines are another function of time
    moved = (driven_runs.at(offsets={"joint1": 1e-3}).q - run.q) / 1e-3
    pushed = run.parts[0].state_sensitivities(1)[:, :1, -1]
    np.testing.assert_allclose(moved, pushed, rtol=1e-5, atol=1e-12)
    for name in ("inputs", "offsets"):
        with pytest.raises(
            SimulationError, match=f"{name}: there is no driven joint 'joint2'.*joint1"
        ):
            driven_runs.at(**{name: {"joint2": 0.0 if name == "offsets" else np.zeros(11)}})  # type: ignore[arg-type]


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_functions_of_other_libraries_run_the_arm_as_it_is(
    driven_runs: Differentiable, library: str
) -> None:
    """Without a start and inputs: those of the arm, a start that moves with its number."""
    other = pytest.importorskip(library)
    run = driven_runs.at()
    if library == "jax":
        other.config.update("jax_enable_x64", True)
        function = driven_runs.jax()
        q = function(driven_runs.values)[0]
        by = other.grad(lambda values: (function(values)[0] ** 2).sum())(driven_runs.values)
        inputs = other.grad(
            lambda u: (function(driven_runs.values, inputs=u)[0] ** 2).sum()
        )(driven_runs.input_samples)  # fmt: skip
    else:
        values = other.tensor(driven_runs.values, requires_grad=True)
        u = other.tensor(driven_runs.input_samples, requires_grad=True)
        q = driven_runs.torch()(values)[0].detach()
        (driven_runs.torch()(values)[0] ** 2).sum().backward()
        (driven_runs.torch()(values.detach(), inputs=u)[0] ** 2).sum().backward()
        by, inputs = values.grad, u.grad
    np.testing.assert_allclose(q, run.q, rtol=1e-12)
    np.testing.assert_allclose(by, run.gradient(2 * run.q).parameters, rtol=1e-9)
    lines = driven_runs.at(inputs=driven_runs.input_samples)
    np.testing.assert_allclose(inputs, lines.gradient(2 * lines.q).inputs, rtol=1e-9)


def test_a_start_in_equilibrium_moves_with_parameters_and_inputs() -> None:
    """Derivatives of a bent start, with an elastic drive and an integral term, are differences."""
    arm = loads("""
flexarm: 1
name: two links at rest
gravity: [0, -9.81, 0]
start: equilibrium
stiffening: false
links:
  - joint:
      kind: revolute
      servo: {stiffness: 300, damping: 20, integral_time: 0.5, target: {kind: constant, value: 0.2}}
      drive: {rotor_inertia: 0.1, stiffness: 500, damping: 1}
    length: 1
    section: {mass_per_length: 1, EIz: 60}
    shapes: {kind: loaded, root: held, bending_y: 1, bending_z: 0, torsion: 0}
  - joint: {kind: revolute, spring: {stiffness: 30}, friction: {viscous: 0.2}}
    length: 0.6
    section: {mass_per_length: 0.6, EIz: 20}
    shapes: {kind: loaded, root: held, bending_y: 1, bending_z: 0, torsion: 0}
payload: {mass: 0.3}
""")
    keys = ["payload.mass", "links.1.section.EIz", "links.1.joint.drive.stiffness"]
    runs = flexarm.differentiable(arm, t_end=0.1, dt=0.02, parameters=keys, step=2e-3)
    u = runs.input_samples + np.sin(9 * runs.times)[:, None] + 0.3
    run = runs.at(inputs=u)
    assert np.abs(run.q[0]).min() > 1e-3  # all coordinates are deflected
    assert np.abs(run.parts[0].rates_at(0)).max() < 1e-8  # nothing accelerates
    slopes = run.state_sensitivities()
    h = 1e-3 * runs.values
    for k, way in enumerate(np.diag(h)):
        there = [runs.at(runs.values + p * way, inputs=u, steps=run).states for p in (-2, -1, 1, 2)]
        expected = (there[0] - 8 * there[1] + 8 * there[2] - there[3]) / (12 * h[k])
        scale = np.abs(expected).max(axis=0) + 1e-6 * np.abs(expected).max()
        assert np.all(np.abs(slopes[:, :, k] - expected) <= EXACT * scale), keys[k]
    rng = np.random.default_rng(1)
    weights, way = rng.normal(size=run.q.shape), rng.normal(size=u.shape)
    found = [
        np.sum(weights * runs.at(inputs=u + p * 1e-3 * way, steps=run).q) for p in (-2, -1, 1, 2)
    ]
    expected_by_inputs = (found[0] - 8 * found[1] + 8 * found[2] - found[3]) / 12e-3
    by_inputs = np.sum(run.gradient(weights).inputs * way)
    assert by_inputs == pytest.approx(expected_by_inputs, rel=EXACT)
    held = runs.at(inputs=u, positions={"joint2": 0.4})
    assert held.q[0, runs.equation.model.names.index("joint2")] == pytest.approx(0.4, abs=1e-12)
