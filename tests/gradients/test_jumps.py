"""Gradients through events at which rates jump, against a closed form and differences of runs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import SimulationError
from flexarm.formulations import numbers
from flexarm.io.model_file import loads
from flexarm.model import Model
from flexarm.spatial import Array

CATCHES = """
flexarm: 1
name: catches a mote at an angle
links:
  - joint: {kind: revolute, axis: [0, 0, 1], input: {kind: constant, value: 2}}
    length: 0.5
    body: {mass: 1, com: [0.25, 0, 0], inertia: [0, 0.02, 0.02]}
bodies:
  - {name: mote, body: {mass: 0.7}, position: [0.45, 0.1, 0], velocity: [0.1, -0.2, 0], reach: 1}
events:
  - {name: catch, when: {quantity: joint1, above: 0.3}, capture: mote}
"""
TIMES = np.linspace(0, 0.9, 10)
KEYS = ["bodies.1.body.mass", "events.1.when.above", "bodies.1.velocity.2"]


CATCH = {"name": "catch", "when": {"quantity": "joint1", "above": 0.3}, "capture": "mote"}
AGAIN = [
    {"when": {"quantity": "joint1", "above": 0.8}, "let_go": "mote"},
    {"when": {"quantity": "joint1", "above": 1.3}, "capture": "mote"},
]


def closed_form(mass: Any, angle: Any, drift: Any, q: Any, v: Any, *, again: bool = False) -> Array:
    """Turn a bar by a torque of 2 N m: it catches a mote that drifts by, (T, 2).

    It may let go of it at 0.8 rad, and catch it again at 1.3 rad.
    """
    bare = 0.02 + 1 * 0.25**2
    place, rate = [0.45, 0.1], [0.1, drift]
    legs = [(0.0, q, v, bare)]  # when they begin, angle, rate, inertia

    def until(to: Any) -> tuple[Any, Any]:
        t, q, v, inertia = legs[-1]
        speed = np.sqrt(v**2 + 4 / inertia * (to - q))
        return t + (speed - v) * inertia / 2, speed

    def catch(to: Any, since: Any) -> None:
        t, speed = until(to)
        place[:] = (x + u * (t - since) for x, u in zip(place, rate, strict=True))
        loaded = bare + mass * (place[0] ** 2 + place[1] ** 2)
        brought = mass * (place[0] * rate[1] - place[1] * rate[0])
        legs.append((t, to, (bare * speed + brought) / loaded, loaded))

    catch(angle, 0.0)
    if again:
        (t, speed), (x, y) = until(0.8), place
        c, s = np.cos(0.8 - angle), np.sin(0.8 - angle)
        place[:] = c * x - s * y, s * x + c * y
        rate[:] = -speed * place[1], speed * place[0]
        legs.append((t, 0.8, speed, bare))
        catch(1.3, t)
    found = np.zeros((len(TIMES), 2), dtype=complex)
    for t, q, v, inertia in legs:
        late = TIMES - t
        motion = np.column_stack([q + v * late + late**2 / inertia, v + 2 * late / inertia])
        found = np.where(late.real[:, None] < 0, found, motion)
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize(("method", "again"), [("rk4", False), ("etd4", False), ("dop853", True)])
def test_a_mote_caught_at_an_angle(method: str, again: bool) -> None:
    arm = loads(CATCHES)
    if again:
        arm = flexarm.change_arm(arm, {"events": [CATCH, *AGAIN]})
    runs = flexarm.differentiable(arm, t_end=0.9, dt=0.1, parameters=KEYS, method=method)
    run = runs.at(q=np.array([0.01]), v=np.array([0.2]))
    at = np.array([0.7, 0.3, -0.2, 0.01, 0.2])
    expected = closed_form(*at, again=again).real
    np.testing.assert_allclose(np.hstack([run.q, run.v]), expected, atol=1e-11)
    weights = np.random.default_rng(1).normal(size=(len(TIMES), 2))
    slopes = np.concatenate(run.sensitivities(), axis=1)
    gradient = run.gradient(weights[:, :1], weights[:, 1:])
    found = [*gradient.parameters, *gradient.q, *gradient.v]
    for k in range(5):
        expected = closed_form(*(at + 1e-30j * np.eye(5)[k]), again=again).imag / 1e-30
        if k < len(KEYS):
            np.testing.assert_allclose(slopes[:, :, k], expected, rtol=1e-9, atol=1e-9)
        assert found[k] == pytest.approx(np.sum(weights * expected), rel=1e-9)


MISSION = """
flexarm: 1
name: catches a can, stops a joint and lets go
stiffening: false
gravity: [0, 0, 0]
links:
  - joint:
      kind: revolute
      axis: [0, 0, 1]
      input: {kind: constant, value: 0.3}
      start: {speed: 0.4}
      brake: {closed: false}
    length: 0.5
    section: {mass_per_length: 0.3, EIz: 2.0, EIy: 2.0}
    shapes: {kind: loaded, root: held, bending_y: 1, bending_z: 0, torsion: 0}
  - joint: {kind: revolute, axis: [0, 0, 1], brake: {}, hub: {inboard: {mass: 0.2}}}
    length: 0.4
    body: {mass: 0.5, com: [0.2, 0, 0], inertia: [0, 0.01, 0.01]}
payload: {mass: 0.2}
bodies:
  - name: can
    body: {mass: 0.4, com: [0.02, 0.01, 0], inertia: [0.001, 0.002, 0.0025]}
    position: [0.9, 0.1, 0]
    velocity: [0.1, 0.2, 0]
    spin: [0, 0, 0.7]
    reach: 1
events:
  - {at: 0.02, release: [joint2]}
  - {when: {quantity: joint1, above: 0.06}, capture: can}
  - {when: {quantity: joint1, above: 0.13}, after: 0.11, brake: [joint1]}
  - {at: 0.41, let_go: payload, release: [joint1]}
"""
NUMBERS = ["bodies.1.body.mass", "links.1.length", "events.3.when.above", "payload.mass"]
EVENTS = [
    {"when": {"quantity": "joint1", "above": 0.06}, "capture": "can"},
    {"at": 0.25, "brake": ["joint1"]},
]
PLACES, WEIGHTS = (-3, -2, -1, 1, 2, 3), np.array([-1, 9, -45, 45, -9, 1]) / 60


def checked_runs(arm: flexarm.Arm, keys: list[str], **options: Any) -> tuple[Any, Any, Array]:
    """Compare derivatives by numbers with differences of runs; give runs, one, and its slopes."""
    runs = flexarm.differentiable(arm, parameters=keys, **options)
    run = runs.at()
    slopes = np.concatenate(run.sensitivities(), axis=1)
    for k, key in enumerate(keys):
        h = 3e-4 * runs.values[k] * np.eye(len(keys))[k]
        found = [runs.at(runs.values + place * h, steps=run).states for place in PLACES]
        expected = np.tensordot(WEIGHTS, found, axes=1) / h[k]
        off = np.abs(slopes[:, :, k] - expected).max(axis=0)
        assert np.all(off <= 1e-7 * np.abs(expected).max(axis=0)), key
    return runs, run, slopes


@pytest.mark.campaign
@pytest.mark.parametrize("again", [False, pytest.param(True, marks=pytest.mark.campaign)])
def test_a_rod_that_is_captured(again: bool) -> None:
    """It has no inertia about its axis, and no spin: numbers that change must leave it so."""
    body = {"mass": 0.7, "com": [0.02, 0.03, 0.01], "inertia": [0, 0.02, 0.02]}
    rod = {"body": body, "rotation": [0.3, 0.4, -0.5], "spin": [0, -0.8, 1]}
    changes = {f"bodies.1.{key}": value for key, value in rod.items()}
    events = [CATCH, *(AGAIN if again else ())]
    arm = flexarm.change_arm(loads(CATCHES), changes | {"events": events})
    _, run, slopes = checked_runs(arm, KEYS[:2], t_end=0.6, dt=0.1, method="dop853")
    assert len(run.parts) == 2 * len(events) + 1
    gradient = run.gradient(*np.hsplit(np.ones((len(run.t), 2)), 2))
    np.testing.assert_allclose(gradient.parameters, slopes.sum(axis=(0, 1)), rtol=1e-9)


@pytest.mark.campaign
def test_a_flexible_link_that_catches_and_brakes() -> None:
    arm = loads(MISSION)
    change = {"links": arm.links[:1], "payload": None, "bodies.1.spin": [0, 0, 0]}
    arm = flexarm.change_arm(arm, change | {"events": EVENTS})
    _, run, slopes = checked_runs(arm, NUMBERS[:1], t_end=0.3, dt=0.1, method="dop853")
    assert len(run.parts) == 4
    assert np.abs(slopes[-1]).max() > 1e-3
    gradient = run.gradient(*np.hsplit(np.ones((len(run.t), 2 * run.n)), 2))
    np.testing.assert_allclose(gradient.parameters, slopes.sum(axis=(0, 1)), rtol=1e-9)


@pytest.mark.campaign
@pytest.mark.parametrize("method", ["rk4", "dop853", "etd4"])
def test_captures_and_brakes_are_differences(method: str) -> None:
    step = 1e-3 if method == "rk4" else None
    options: dict[str, Any] = {"t_end": 0.5, "dt": 0.1, "method": method, "step": step}
    arm = loads(MISSION)
    runs, run, slopes = checked_runs(arm, NUMBERS, **options)
    simulated = flexarm.simulate(arm, **options)
    assert len(simulated.event_records) == 4
    own = np.searchsorted(simulated.t, runs.times - 1e-9)
    assert np.abs(simulated.q[own] - run.q).max() < (
        1e-6 if step else 1e-4
    )  # between steps, by a cubic
    weights = np.random.default_rng(1).normal(size=(len(run.t), 2 * run.n))
    gradient = run.gradient(*np.hsplit(weights, 2))
    back = np.einsum("ts,tsk->k", weights, slopes)
    np.testing.assert_allclose(gradient.parameters, back, rtol=1e-9)
    (q, v), way = runs.start, np.array([0.02, 0.01, -0.03])  # of a link that is bent, and turned
    for name, h in (("q", 1e-3 * way), ("v", 1e-2 * np.array([0.3, 0.1, 0.0]))):
        given = {"q": q, "v": v}
        places = [given | {name: given[name] + place * h} for place in PLACES]
        expected = WEIGHTS @ [
            np.sum(weights * runs.at(steps=run, **each).states) for each in places
        ]
        assert np.sum(getattr(gradient, name) * h) == pytest.approx(expected, rel=1e-7)


FLOATS = """
flexarm: 1
name: lets go on a base that floats, and is turned
gravity: [0, 0, 0]
base: {kind: free, rotation: [0.3, -0.5, 0.7], body: {mass: 3, inertia: [0.3, 0.2, 0.4]}}
links:
  - joint: {kind: revolute, axis: [0, 0, 1], input: {kind: constant, value: 2}}
    length: 0.5
    body: {mass: 1, com: [0.25, 0, 0], inertia: [0, 0.02, 0.02]}
payload: {mass: 0.4}
events:
  - {when: {quantity: tip.x, below: 0.2}, let_go: payload}
"""


def test_an_event_on_a_base_that_floats() -> None:
    arm = loads(FLOATS)
    run = flexarm.differentiable(arm, t_end=0.4, dt=0.1, method="dop853").at()
    simulated = flexarm.simulate(arm, t_end=0.4, dt=0.1, method="dop853")
    (happened,) = simulated.event_records
    assert run.parts[-2].t[-1] == pytest.approx(happened.t, abs=1e-9)
    own = np.searchsorted(simulated.t, run.t - 1e-9)
    np.testing.assert_allclose(run.q, simulated.q[own], atol=1e-9)


@pytest.mark.campaign
def test_an_event_on_a_base_that_floats_is_differences() -> None:
    runs = flexarm.differentiable(
        loads(FLOATS), t_end=0.4, dt=0.1, parameters=["payload.mass"], method="dop853"
    )
    run = runs.at()
    two = [runs.at(runs.values + h, steps=run) for h in (-1e-4, 1e-4)]
    expected = (two[1].q - two[0].q) / 2e-4
    assert np.abs(expected).max() > 1e-2
    np.testing.assert_allclose(run.sensitivities()[0][:, :, 0], expected, atol=1e-7)


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_what_is_released_and_braked_at_once_is_held(names: str) -> None:
    close, free = (
        {"name": name, "at": 0.2, key: ["joint1"]}
        for name, key in zip(names, ("brake", "release"), strict=True)
    )
    joint = {"links.1.joint.brake": {"closed": False}, "events": [close, free]}
    arm = flexarm.change_arm(loads(CATCHES), joint)
    run = flexarm.differentiable(arm, t_end=0.4, dt=0.1, method="dop853").at()
    simulated = flexarm.simulate(arm, t_end=0.4, dt=0.1, method="dop853")
    assert simulated.v[-1] == run.v[-1] == 0
    assert run.q[-1] == pytest.approx(simulated.q[-1])


def test_what_is_released_after_it_was_braked_at_one_instant_is_refused() -> None:
    close = {"at": 0.2, "brake": ["joint1"]}
    free = {"when": {"quantity": "joint1", "above": 0.01}, "after": 0.2, "release": ["joint1"]}
    joint = {"links.1.joint.brake": {"closed": False}, "events": [close, free]}
    arm = flexarm.change_arm(loads(CATCHES), joint)
    with pytest.raises(SimulationError, match="releases joint1 at t ="):
        flexarm.differentiable(arm, t_end=0.4, dt=0.1, method="dop853").at()


def test_a_rate_of_a_joint_that_is_held_is_refused() -> None:
    arm = flexarm.change_arm(loads(CATCHES), {"links.1.joint.brake": {}})
    runs = flexarm.differentiable(arm, t_end=0.2)
    assert not runs.at(q=np.array([0.1])).v.any()
    with pytest.raises(SimulationError, match="joint1 must be at rest, since its brake is closed"):
        runs.at(v=np.array([0.5]))


def test_an_event_that_ends_the_run_at_a_time_is_its_end() -> None:
    arm = flexarm.change_arm(loads(CATCHES), {"events": [CATCH, {"at": 0.37, "end": True}]})
    runs = flexarm.differentiable(arm, t_end=0.9, dt=0.1, parameters=KEYS, method="dop853")
    run, simulated = runs.at(), flexarm.simulate(arm, t_end=0.9, dt=0.1, method="dop853")
    np.testing.assert_allclose(run.t, [0, 0.1, 0.2, 0.3, 0.37])
    np.testing.assert_allclose(run.q[-1], simulated.q[-1], atol=1e-9)
    assert run.t[-1] == simulated.t[-1]
    with pytest.raises(SimulationError, match=r"may happen from t = 0\.37 s on"):
        replace(runs, times=TIMES)


def test_arms_of_the_last_values_are_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = flexarm.differentiable(loads(CATCHES), t_end=0.1, parameters=KEYS[:1])
    seeds = np.ones(runs.at().q.shape)
    plain, built = numbers.nearby, list[float]()

    def nearby(model: Model, keys: Sequence[str]) -> dict[str, numbers.Nearby]:
        built.append(model.arm.bodies[0].body.mass)
        return plain(model, keys)

    monkeypatch.setattr("flexarm.gradients.runs.nearby", nearby)
    for mass in (0.8, 0.8, 0.9, 0.9, 0.8):
        runs.at([mass]).gradient(seeds)
    assert built == [0.8, 0.9, 0.8]


def test_slopes_that_are_kept_are_those_of_the_start() -> None:
    """From the model file's start it moves with its number, from a given one it does not."""
    arm = flexarm.change_arm(loads(CATCHES), {"links.1.joint.start": {"position": 0.01}})
    keys = ["links.1.joint.start.position"]
    runs = flexarm.differentiable(arm, t_end=0.1, dt=0.05, parameters=keys, rtol=1e-6)
    found = [runs.at(q=q).sensitivities()[0] for q in (None, np.array([0.01]), None)]
    np.testing.assert_allclose(np.ravel(found), [1, 1, 1, 0, 0, 0, 1, 1, 1], atol=1e-9)


def test_slopes_that_were_broken_off_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted while it differentiates the start, the next call has all of it."""
    arm = flexarm.change_arm(loads(CATCHES), {"links.1.joint.start": {"position": 0.01}})
    keys = ["links.1.joint.start.position"]
    runs = flexarm.differentiable(arm, t_end=0.1, dt=0.05, parameters=keys, rtol=1e-6)
    with monkeypatch.context() as patch:
        patch.setattr("flexarm.gradients.trajectory.start_state", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            runs.at().sensitivities()
    np.testing.assert_allclose(np.ravel(runs.at().sensitivities()[0]), 1.0, atol=1e-9)


def _interrupted(model: Model) -> None:
    raise KeyboardInterrupt


def test_a_capture_at_the_start_is_refused_before_a_run() -> None:
    arm = flexarm.change_arm(loads(CATCHES), {"events.1": {"at": 0.0, "capture": "mote"}})
    with pytest.raises(SimulationError, match="happens at the start"):
        flexarm.differentiable(arm, t_end=0.2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"links.1.joint.brake": {"effort": 3.0, "closed": False}}, "closes a brake that can slip"),
        ({"events.1": {"at": 0.1, "capture": "can"}}, "can cannot be captured, since the tip"),
        ({"events.2": {"at": 0.0, "capture": "can"}}, "happens at the start"),
        ({"links.2.joint.start": {"speed": 0.1}}, "brakes that slip or close at a speed"),
        ({"events.1": {"at": 0.1, "attach": {"name": "rope", "stiffness": 9.0}}}, "attach"),
    ],
)  # fmt: skip
def test_what_is_not_differentiated_is_refused(change: dict[str, Any], said: str) -> None:
    arm = flexarm.change_arm(loads(MISSION), change)
    with pytest.raises(SimulationError, match=said):
        flexarm.differentiable(arm, t_end=0.5, parameters=NUMBERS[:1]).at()
