"""Brakes: what they hold, when they slip, and what they take."""

import itertools
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.io.model_file import loads
from tests.integrate.mission_arms import flexible_arm, one_joint

TIGHT = (1e-3, 1e-9)
FREE = {"kind": "free", "body": {"mass": 40.0, "inertia": [6.0, 7.0, 8.0]}}


def test_a_brake_that_slips_stops_a_joint_after_its_speed_over_its_effort() -> None:
    for method, rtol in itertools.product(("auto", "etd4", "rodas4", "rk4"), TIGHT[1:]):
        arm = one_joint(
            start={"speed": 2.0}, brake={"effort": 0.5, "closed": False},
            events=[{"at": 1.0, "brake": ["hinge"]}],
        )  # fmt: skip
        run = flexarm.simulate(arm, t_end=8.0, rtol=rtol, method=method)
        assert run.event_records[-1].t == pytest.approx(5.0, abs=1e-9)
        assert run.q[-1, 0] == pytest.approx(6.0, abs=1e-9)
        assert run.v[-1, 0] == 0.0
        assert run.work_integrals[-1] == pytest.approx([0, 0, 0, 2.0, 0], abs=1e-9)


@pytest.mark.parametrize("rtol", TIGHT)
def test_a_brake_holds_until_its_effort_is_reached(rtol: float) -> None:
    """Under a ramp of torque it breaks away at its effort: v = (t - 2)^2/2 from then on."""
    ramp = {"kind": "table", "times": [0.0, 10.0], "values": [0.0, 10.0]}
    run = flexarm.simulate(one_joint(input=ramp, brake={"effort": 2.0}), t_end=4.0, rtol=rtol)
    assert run.event_records[0].t == pytest.approx(2.0, abs=1e-12)
    after = np.maximum(run.t - 2.0, 0.0)
    assert np.abs(run.q[:, 0] - after**3 / 6).max() <= 1e-9
    assert run.work_integrals[-1, 3] == pytest.approx(2.0 * run.q[-1, 0], rel=1e-9)


def test_stick_and_slip_of_a_mass_pulled_by_a_spring() -> None:
    """A servo that moves on at v0 pulls a joint against dry friction: it creeps without a jump.

    With equal static and sliding friction the joint moves as I q'' = k (v0 t - q) - f from the
    instant at which the spring holds the friction, and never stops again.
    """
    k, f, v0 = 40.0, 2.0, 0.1
    target = {"kind": "table", "times": [0.0, 10.0], "values": [0.0, 1.0]}
    arm = one_joint(servo={"stiffness": k, "target": target}, brake={"effort": f})
    run = flexarm.simulate(arm, t_end=4.0, rtol=1e-8)
    begin, w = f / (k * v0), np.sqrt(k)
    after = np.maximum(run.t - begin, 0.0)
    assert run.event_records[0].t == pytest.approx(begin, abs=1e-10)
    assert np.abs(run.q[:, 0] - v0 * (after - np.sin(w * after) / w)).max() <= 1e-8


@pytest.mark.few(2)
@pytest.mark.parametrize("method", ["etd4", "dop853", "rodas4"])
def test_a_brake_on_a_flexible_arm_breaks_away_once(method: str) -> None:
    """Rounding of the first accelerations is no standstill: it held and slipped 200 times before.

    Two links fall: the elbow slips, then the shoulder too, and the elbow comes to rest for 0.5 ms.
    """
    brakes = {f"links.{k}.joint.brake": {"effort": f} for k, f in ((1, 2.0), (2, 0.5))}
    arm = flexarm.change_arm(flexarm.example_arm("tg-rr"), brakes | {"gravity": [0, -9.81, 0]})
    run, close = (
        flexarm.simulate(arm, t_end=0.1, dt=1e-3, method=each, rtol=rtol)
        for each, rtol in ((method, 1e-2), ("dop853", 1e-8))
    )
    found = [each.what for each in run.event_records]
    begins = [f"brake of joint{k} begins to slip" for k in (2, 1, 2)]
    assert found == [*begins[:2], "brake of joint2 holds", begins[2]]
    for one, other in zip(run.event_records, close.event_records, strict=True):
        assert one.t == pytest.approx(other.t, abs=2e-5)
    _, here, there = np.intersect1d(run.t, close.t, return_indices=True)
    scale = np.ptp(close.q, axis=0)
    assert len(here) > 100
    assert np.all(np.abs(run.q[here] - close.q[there]) < 1e-2 * scale)


def test_an_ideal_brake_stops_at_once_and_says_what_it_takes() -> None:
    arm = one_joint(
        start={"speed": 2.0}, brake={"closed": False},
        events=[{"name": "stop", "at": 1.0, "brake": ["hinge"]}, {"at": 2.0, "release": ["hinge"]}],
    )  # fmt: skip
    run = flexarm.simulate(arm, t_end=3.0)
    assert [each.what for each in run.event_records] == ["stop", "release hinge"]
    assert run.event_records[0].lost == pytest.approx(2.0)
    assert run.q[-1, 0] == pytest.approx(2.0)


@pytest.mark.parametrize("base", [None, pytest.param(FREE, marks=pytest.mark.campaign)])
def test_the_brake_of_an_elastic_joint_holds_its_motor(base: Any) -> None:
    arm = flexible_arm(base=base, brake={}, start={"speed": 0.3, "motor_speed": 0.0})
    run = flexarm.simulate(arm, t_end=2.0, rtol=1e-8)
    motor, hub = (run.model.names.index(name) for name in ("hinge.motor", "hinge"))
    assert np.all(run.q[:, motor] == 0.0)
    assert np.ptp(run.q[:, hub]) > 1e-3
    assert run.energy_balance < 1e-7
    a = flexarm.formulation("composite", run.phases[0].model(run.model)).with_reference(
        run.reference_attitudes
    )
    held = a.forward_dynamics(run.q, run.v, run.u, run.t)
    assert np.abs(held[:, motor]).max() == 0.0
    moved = run.tip_motion().velocity.values
    assert np.abs(np.gradient(run.tip, run.t, axis=0)[1:-1] - moved[1:-1]).max() < 2e-2


def test_modes_hold_what_a_closed_brake_holds() -> None:
    braked = flexarm.modes(flexarm.build(flexible_arm(brake={})))
    locked = flexarm.modes(flexarm.build(flexible_arm()), joints="locked")
    found, wanted = ([mode.eigenvalue for mode in each.modes] for each in (braked, locked))
    assert found == pytest.approx(wanted)


STIFF = """
flexarm: 1
name: a stiff servo, and a brake
gravity: [0, 0, 0]
links:
  - joint:
      name: joint
      kind: revolute
      drive: {rotor_inertia: 0.002, gear_ratio: 1, stiffness: 300}
      servo:
        stiffness: 400
        damping: 200
        target: {kind: cycloid, start: 0, end: 1, duration: 0.4 s}
      brake: {closed: false}
    length: 1
    section: {mass_per_length: 1, EIz: 30}
    shapes: {kind: loaded, bending_y: 3}
events:
  - {name: hold, at: 0.5 s, brake: [joint]}
"""


@pytest.mark.campaign
def test_where_a_brake_holds_what_is_stiff_vibrations_are_followed_by_another_method() -> None:
    arm = loads(STIFF)
    run, implicit, close = (
        flexarm.simulate(arm, t_end=2.0, dt=0.01, method=method, rtol=rtol)
        for method, rtol in (("auto", 1e-3), ("rodas4", 1e-3), ("dop853", 1e-6))
    )
    assert run.method == "rodas4"
    assert run.why.endswith("; etd4 where brakes hold stiff joints")
    assert implicit.why == "asked for"
    assert run.statistics.steps < 0.6 * implicit.statistics.steps
    assert np.all(np.abs(run.q - close.q) < 1e-3 * np.ptp(close.q, axis=0))
    until = run.t <= 0.5
    assert np.array_equal(run.q[until], implicit.q[until])
