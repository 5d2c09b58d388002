"""Gradients through events that a quantity brings about, against closed forms; what is refused."""

from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.errors import FlexarmError, SimulationError
from flexarm.io.model_file import loads
from flexarm.spatial import Array

LETS_GO = """
flexarm: 1
name: lets its load go at an angle
links:
  - joint: {kind: revolute, axis: [0, 0, 1], input: {kind: constant, value: 2}}
    length: 0.5
    body: {mass: 1, com: [0.25, 0, 0], inertia: [0, 0.02, 0.02]}
payload: {mass: 0.7}
events:
  - {name: drop, when: {quantity: joint1, above: 0.3}, let_go: payload}
"""
DROP = {"name": "drop", "when": {"quantity": "joint1", "above": 0.3}}
TIMES = np.linspace(0, 0.9, 10)


def closed_form(mass: Any, angle: Any, q: Any, v: Any) -> Array:
    """Turn a bar by a torque of 2 N m: it lets its load go at an angle, (T, 2)."""
    bare = 0.02 + 1 * 0.25**2
    slow, quick = 2 / (bare + mass * 0.5**2), 2 / bare
    speed = np.sqrt(v**2 + 2 * slow * (angle - q))
    late = TIMES - (speed - v) / slow
    loaded = [q + v * TIMES + slow * TIMES**2 / 2, v + slow * TIMES]
    free = [angle + speed * late + quick * late**2 / 2, speed + quick * late]
    return np.where(np.real(late) < 0, loaded, free).T


@pytest.mark.parametrize("method", ["rk4", "dop853", "etd4"])
def test_a_load_let_go_at_an_angle(method: str) -> None:
    keys = ["payload.mass", "events.1.when.above"]
    runs = flexarm.differentiable(loads(LETS_GO), t_end=0.9, dt=0.1, parameters=keys, method=method)
    run = runs.at(q=np.array([0.01]), v=np.array([0.2]))
    at = np.array([0.7, 0.3, 0.01, 0.2])
    np.testing.assert_allclose(np.hstack([run.q, run.v]), closed_form(*at), atol=1e-11)
    weights = np.random.default_rng(1).normal(size=(len(TIMES), 2))
    slopes = np.concatenate(run.sensitivities(), axis=1)
    gradient = run.gradient(weights[:, :1], weights[:, 1:])
    found = [*gradient.parameters, *gradient.q, *gradient.v]
    for k in range(4):
        expected = closed_form(*(at + 1e-30j * np.eye(4)[k])).imag / 1e-30
        if k < len(keys):
            np.testing.assert_allclose(slopes[:, :, k], expected, rtol=1e-10, atol=1e-11)
        assert found[k] == pytest.approx(np.sum(weights * expected), rel=1e-10)


def throwing(height: float) -> flexarm.Arm:
    """Throw a bar against a torque that stops it at 0.5 rad; it lets its load go before, or not."""
    stop = (0.0825 + 0.7 * 0.25) / 2  # inertia over the torque, s^2
    return flexarm.change_arm(
        loads(LETS_GO),
        {
            "links.1.joint.start": {"speed": float(stop**-0.5)},
            "links.1.joint.input": {"kind": "constant", "value": -2.0},
            "events.1.when.above": 0.5 + height,
        },
    )


def test_a_value_that_is_only_touched_is_refused() -> None:
    flexarm.differentiable(throwing(-1e-6), t_end=0.9, parameters=["payload.mass"]).at()
    with pytest.raises(SimulationError, match=r"'drop' happens at t = 0.35\d+ s, where .* touches"):
        flexarm.differentiable(throwing(-3e-10), t_end=0.9, parameters=["payload.mass"]).at()
    past = flexarm.differentiable(throwing(1e-6), t_end=0.9, parameters=["payload.mass"]).at()
    assert len(past.parts) == 1  # it never happens


def test_a_quantity_beyond_its_value_from_the_begin() -> None:
    arm = flexarm.change_arm(loads(LETS_GO), {"links.1.joint.start": {"position": 0.4}})
    runs = flexarm.differentiable(arm, t_end=0.9, dt=0.1, parameters=["payload.mass"])
    run = runs.at()
    assert not run.sensitivities()[0].any()  # it is let go at once
    bare = 0.02 + 1 * 0.25**2
    np.testing.assert_allclose(run.q[:, 0], 0.4 + TIMES**2 / bare, rtol=1e-11)


DAMP = {"servo": {"joint1": {"damping": 1.0}}}
TOO = {"when": {"quantity": "tip.y", "above": 0.5 * np.sin(0.3)}}
SWING = {"target": {"kind": "sine", "amplitude": 0.1, "frequency": 1.0}}


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([DROP | {"end": True}], "'drop' may happen from t = 0 s on"),
        ([DROP | {"let_go": "payload"}, TOO | DAMP], "values at the same time"),
        ([DROP | {"servo": {"joint1": SWING}}], "moves from the time of an event"),
    ],
)
def test_what_happens_in_no_order_is_refused(events: list[dict[str, Any]], said: str) -> None:
    servo = {"links.1.joint.servo": {"stiffness": 0.1, "damping": 0.1}}
    arm = flexarm.change_arm(loads(LETS_GO), servo)
    arm = flexarm.change_arm(arm, {"events": events})
    with pytest.raises(SimulationError, match=said):
        flexarm.differentiable(arm, t_end=0.9, parameters=["payload.mass"]).at().sensitivities()


def test_a_moving_target_in_the_steps_of_another_run() -> None:
    """It counts from when the event happens in the run itself, which has no derivative."""
    servo = {"stiffness": 20.0, "damping": 2.0, "target": {"kind": "constant", "value": 0.6}}
    arm = flexarm.change_arm(
        loads(LETS_GO), {"links.1.joint": {"kind": "revolute", "servo": servo}}
    )
    arm = flexarm.change_arm(arm, {"events": [DROP | {"servo": {"joint1": SWING}}]})
    runs = flexarm.differentiable(arm, t_end=0.9, dt=0.9, parameters=["payload.mass"], rtol=1e-6)
    run = runs.at([0.8], steps=runs.at())
    np.testing.assert_allclose(run.states, runs.at([0.8]).states, rtol=1e-6)
    with pytest.raises(SimulationError, match="moves from the time of an event"):
        run.sensitivities()


def test_an_event_that_passes_a_sample_of_the_run_whose_steps_are_taken() -> None:
    runs = flexarm.differentiable(loads(LETS_GO), t_end=0.9, dt=0.1, parameters=["payload.mass"])
    base = runs.at()
    found = runs.at([0.75], steps=base)
    expected = closed_form(0.75, 0.3, 0.0, 0.0)
    np.testing.assert_allclose(np.hstack([found.q, found.v]), expected, atol=1e-11)
    for mass, passed in ((1.2, "0.3 s"), (0.2, "0.2 s")):
        with pytest.raises(SimulationError, match=f"A sample or event at {passed} lies between"):
            runs.at([mass], steps=base)


def test_distances_of_bodies_are_refused() -> None:
    body = {"name": "mote", "body": {"mass": 1.0}, "position": [0.0, 1.0, 0.0]}
    event = DROP | {"when": {"quantity": "distance.mote", "below": 0.3}, "let_go": "payload"}
    arm = flexarm.change_arm(loads(LETS_GO), {"bodies": [body], "events": [event]})
    with pytest.raises(SimulationError, match="the distance of a free body"):
        flexarm.differentiable(arm, t_end=0.9)


def test_distances_that_count_after_the_end_are_not_looked_at() -> None:
    body = {"name": "mote", "body": {"mass": 1.0}, "position": [0.0, 1.0, 0.0]}
    event = {"when": {"quantity": "distance.mote", "below": 0.3}, "after": 1.0, "let_go": "payload"}
    arm = flexarm.change_arm(loads(LETS_GO), {"bodies": [body], "events": [event]})
    alone = flexarm.change_arm(loads(LETS_GO), {"events": []})
    one, other = (
        flexarm.differentiable(each, t_end=0.3, method="dop853").at() for each in (arm, alone)
    )
    np.testing.assert_array_equal(one.q, other.q)


PRESCRIBED = """
flexarm: 1
name: drops its load while a joint moves along a table
links:
  - joint:
      kind: revolute
      axis: [0, 0, 1]
      actuation: prescribed
      motion: {kind: table, times: [0, 0.1, 0.2, 0.5], values: [0, 0.2, 0.1, 0.4]}
    length: 0.5
    body: {mass: 1, com: [0.25, 0, 0], inertia: [0, 0.02, 0.02]}
  - joint: {kind: revolute, axis: [0, 0, 1], actuation: free}
    length: 0.4
    body: {mass: 0.5, com: [0.2, 0, 0], inertia: [0, 0.01, 0.01]}
payload: {mass: 0.2}
events:
  - {at: 0.3, let_go: payload}
"""


def test_a_joint_moves_on_as_prescribed_at_an_event() -> None:
    """A phase begins on the piece of the table that is valid there, each time that it is run."""
    arm, options = loads(PRESCRIBED), dict[str, Any](t_end=0.4, dt=0.1, step=1e-3)
    run = flexarm.differentiable(arm, method="rk4", parameters=["payload.mass"], **options).at()
    table = np.array([0.0, 0.2, 0.1, 0.1 + 0.3 / 3, 0.1 + 0.6 / 3])
    np.testing.assert_allclose(run.q[:, 0], table, atol=1e-14)
    expected = flexarm.simulate(arm, method="rk4", **options)
    own = np.searchsorted(expected.t, run.t - 1e-9)
    np.testing.assert_allclose(run.q, expected.q[own], atol=1e-12)
    slopes = np.concatenate(run.sensitivities(), axis=1)
    weights = np.random.default_rng(1).normal(size=(len(run.t), 2 * run.n))
    gradient = run.gradient(*np.hsplit(weights, 2))
    expected_sum = np.einsum("ts,tsk->k", weights, slopes)
    np.testing.assert_allclose(gradient.parameters, expected_sum, rtol=1e-9)


def test_when_an_event_is_looked_for_is_no_parameter() -> None:
    arm = flexarm.change_arm(loads(LETS_GO), {"events.1.after": 0.1})
    with pytest.raises(FlexarmError, match="is the time of an event"):
        flexarm.differentiable(arm, t_end=0.9, parameters=["events.1.after"]).at()
