"""Brakes, events, bodies captured and let go: closed forms, conserved quantities, refusals."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import brentq

import flexarm
from flexarm.arm import Arm
from flexarm.check.check import check
from flexarm.cli import main
from flexarm.errors import ModelError, SimulationError
from flexarm.integrate import solve
from flexarm.integrate.loop import RUNNING, march
from flexarm.integrate.mission.bodies import FreeBodyState
from flexarm.integrate.state import IntegratorState
from flexarm.integrate.system import rates
from flexarm.io.model_file import dumps
from flexarm.runs.contents import accelerations
from flexarm.runs.read import load_run
from tests.integrate.mission_arms import flexible_arm, one_joint, parsed
from tests.physics.random_arms import random_arm

TIGHT = (1e-3, 1e-9)
FREE = {"kind": "free", "body": {"mass": 40.0, "inertia": [6.0, 7.0, 8.0]}}
SATELLITE: dict[str, Any] = {
    "name": "satellite",
    "body": {"mass": 5.0, "com": [0.1, -0.2, 0.05], "inertia": [0.4, 0.5, 0.6]},
    "position": [1.2, 0.1, 0.2],
    "rotation": [0.3, -0.4, 0.5],
    "velocity": [-0.05, 0.1, 0.02],
    "spin": [0.2, 0.1, -0.3],
    "reach": 5.0,
}


@pytest.mark.parametrize("rtol", TIGHT)
def test_an_event_comes_when_a_quantity_crosses_its_value(rtol: float) -> None:
    """A pendulum of a servo's spring: q = 1 - cos(2 t) crosses 1.5 at arccos(-0.5)/2."""
    arm = one_joint(
        servo={"stiffness": 4.0, "target": {"kind": "constant", "value": 1.0}},
        events=[
            {"when": {"quantity": "hinge", "above": 1.5}, "end": True},
            {"when": {"quantity": "hinge.speed", "above": 1.9}, "name": "fast",
             "servo": {"hinge": {"side": "motor"}}},
        ],
    )  # fmt: skip
    run = flexarm.simulate(arm, t_end=3.0, rtol=rtol)
    assert run.status == "finished"
    assert run.t[-1] == pytest.approx(np.arccos(-0.5) / 2, abs=rtol)
    assert run.event_records[0].what == "fast"
    assert run.event_records[0].t == pytest.approx(np.arcsin(0.95) / 2, abs=rtol)


def test_a_value_that_is_crossed_and_left_within_a_step_is_seen() -> None:
    """The tip comes within 2 cm of a body for 36 ms; steps are three times as long."""
    body = {"name": "ball", "body": {"mass": 2.0}, "position": [np.cos(1), np.sin(1), 0.5],
            "velocity": [0, 0, -0.5]}  # fmt: skip
    arm = one_joint(
        start={"speed": 1.0}, bodies=[body],
        events=[{"when": {"quantity": "distance.ball", "below": 0.02}, "capture": "ball"}],
    )  # fmt: skip
    run = flexarm.simulate(arm, t_end=5.0)
    assert run.statistics.steps < 150
    (caught,) = run.event_records
    assert caught.t == pytest.approx(1.0 - 0.02 / np.sqrt(1.25), abs=1e-4)
    assert caught.lost == pytest.approx(0.75 - 1 / 6, rel=1e-3)


@pytest.mark.parametrize("rtol", TIGHT)
def test_a_swinging_arm_captures_a_point_mass_by_its_distance(rtol: float) -> None:
    """At q = sin(2 t)/2 on a servo's spring, when a ball that falls by is 3 cm away."""
    ball = {"name": "ball", "body": {"mass": 2.0}, "position": [np.cos(0.46), np.sin(0.46), 0.3],
            "velocity": [0, 0, -0.5]}  # fmt: skip
    arm = one_joint(
        servo={"stiffness": 4.0}, start={"speed": 1.0}, bodies=[ball],
        events=[{"when": {"quantity": "distance.ball", "below": 0.03}, "capture": "ball"}],
    )  # fmt: skip
    run = flexarm.simulate(arm, t_end=0.7, rtol=rtol)

    def away(t: float) -> float:
        turn = np.sin(2 * t) / 2 - 0.46
        return float(np.hypot(2 * np.sin(turn / 2), 0.3 - 0.5 * t) - 0.03)

    t = brentq(away, 0.4, 0.58, xtol=1e-14)
    speed = np.cos(2 * t)
    (caught,) = run.event_records
    assert caught.t == pytest.approx(t, rel=rtol)
    after = run.v[np.searchsorted(run.t, caught.t), 0]
    assert after == pytest.approx(speed / 3, abs=rtol)  # 1 kg m^2, and 2 kg at 1 m
    lost = 0.5 * speed**2 + 0.25 - 1.5 * (speed / 3) ** 2
    assert caught.lost == pytest.approx(lost, abs=rtol)


@pytest.mark.parametrize("rtol", TIGHT)
@pytest.mark.parametrize("rate", [0.05, 3.0])
def test_a_spinning_body_is_captured_by_the_distance_of_its_fixture(
    rtol: float, rate: float
) -> None:
    """The fixture circles its centre of mass at 0.5 m; after a turn it is 14 mm from the tip."""
    end, reach = 7.5 / rate, 0.05
    speed = 0.19 * rate / (2 * np.pi)
    body = {"name": "sat", "body": {"mass": 20.0, "com": [0.5, 0, 0], "inertia": [2, 3, 3]},
            "position": [1.01, 0, 0.2], "velocity": [0, -0.5 * rate, -speed],
            "spin": [0, 0, rate]}  # fmt: skip
    arm = one_joint(
        brake={"closed": True}, bodies=[body],
        events=[{"name": "grapple", "when": {"quantity": "distance.sat", "below": reach},
                 "capture": "sat"}],
    )  # fmt: skip
    run = flexarm.simulate(arm, t_end=end, rtol=rtol)

    def away(t: float) -> float:
        circle = -0.5 * np.array([np.cos(rate * t), np.sin(rate * t)])
        place = np.array([1.51 + circle[0], circle[1], 0.2 - speed * t])
        return float(np.linalg.norm(place - [1, 0, 0]) - reach)

    t = np.linspace(0, end, 1000)
    first = int(np.argmax(np.array([away(each) for each in t]) < 0))
    (grapple,) = run.event_records
    assert grapple.t == pytest.approx(brentq(away, t[first - 1], t[first], xtol=1e-13), rel=1e-9)


TUMBLING = {
    "any": ([2, 3, 4], [0.3, 0.2, 0.5]),
    "near a stable axis": ([2, 3, 4], [0.3, 1e-3, 1e-3]),
    "near the unstable axis": ([2, 3, 4], [1e-3, 1, 1e-3]),
    "symmetric": ([2, 2, 3], [0.1, 1, 0.2]),
    "a ball": ([2, 2, 2], [0.1, 1, 0.2]),
    "about a principal axis": ([2, 3, 4], [0, 0, 0.7]),
    "products of inertia": ([2, 3, 3, 0.1, 0.2, -0.1], [0.1, -1, 0.2]),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("case", TUMBLING)
def test_the_path_of_a_tumbling_fixture_is_that_of_the_solved_spin(case: str) -> None:
    """A Fourier series over one period against the spin solved over many."""
    inertia, spin = TUMBLING[case]
    body = SATELLITE | {"spin": spin, "body": {"mass": 20.0, "com": [0.5, 0.1, 0.2],
                                               "inertia": inertia}}  # fmt: skip
    model = flexarm.build(one_joint(bodies=[body]))
    drift = FreeBodyState.of(model.arm.bodies[0], model)
    for later in (drift, drift.at(7.0)):
        path = later.path()
        for t in (7.0, 20.0, 90.0):
            place = np.array(path.trace(ca.DM(t))).ravel()
            np.testing.assert_allclose(place, drift.at(t).pose.position, atol=2e-10)


@pytest.mark.campaign
def test_a_method_is_chosen_once_something_moves() -> None:
    """At rest until a capture, an arm on a hard servo would be taken for one of long steps."""
    joint = {"kind": "revolute", "name": "j", "servo": {"stiffness": 300, "damping": 100}}
    arm = parsed({
        "flexarm": 1, "name": "grapple", "gravity": [0, 0, 0],
        "links": [{"name": "a", "joint": joint, "length": 1, "damping": 0.01,
                   "section": {"mass_per_length": 1.5, "EIz": 200}}],
        "bodies": [{"name": "sat", "body": {"mass": 20, "com": [0.5, 0, 0], "inertia": [2, 3, 3]},
                    "position": [1, 0, 0.2], "velocity": [0, 0, -0.05], "spin": [0, 0, 0.02],
                    "reach": 0.5}],
        "events": [{"when": {"quantity": "distance.sat", "below": 0.19}, "capture": "sat"}],
    })  # fmt: skip
    run = flexarm.simulate(arm, t_end=0.4)
    assert (run.status, len(run.event_records)) == ("finished", 1)
    assert run.statistics.steps < 1000  # 20,000 by the method of the first phase


def test_a_distance_that_has_no_closed_form_names_its_event() -> None:
    """A spin that rounding decides: within 1e-9 of the axis of middle inertia."""
    body = SATELLITE | {"spin": [1e-9, 1, 1e-9], "body": {"mass": 5, "com": [1, 0, 0],
                                                          "inertia": [2, 3, 4]}}  # fmt: skip
    event = {"when": {"quantity": "distance.satellite", "below": 0.1}, "end": True}
    with pytest.raises(SimulationError, match=r"events\[1\].when: .* unstable axis"):
        flexarm.simulate(one_joint(bodies=[body], events=[event]), t_end=0.1)


@pytest.mark.parametrize("rtol", TIGHT)
def test_a_rigid_arm_captures_a_point_mass(rtol: float) -> None:
    """Angular momentum about the joint is kept: w = (I w0 + m (c x u)) / (I + m c^2)."""
    ball = {"name": "ball", "body": {"mass": 2.0}, "position": [0, 1, 0], "velocity": [0.3, 0, 0],
            "reach": 3.0}  # fmt: skip
    arm = one_joint(
        start={"speed": 2.0}, bodies=[ball],
        events=[{"at": 0.1, "capture": "ball"}, {"at": 0.5, "let_go": "ball"}],
    )  # fmt: skip
    run = flexarm.simulate(arm, t_end=1.0, rtol=rtol)
    c = np.array([0.03, 1.0])
    w = (2.0 + 2.0 * (c[0] * 0.0 - c[1] * 0.3)) / (1.0 + 2.0 * c @ c)
    assert run.v[-1, 0] == pytest.approx(w, rel=1e-12)
    assert run.event_records[0].lost == pytest.approx(
        2.0 + 0.09 - (1 + 2 * c @ c) * w**2 / 2, rel=1e-12
    )
    assert run.work_integrals[-1, 4] == pytest.approx(0.09 - c @ c * w**2, rel=1e-12)
    assert run.energy_balance < 1e-12


@pytest.mark.parametrize(
    ("name", "braked"),
    [("articulated", True), pytest.param("composite", False, marks=pytest.mark.campaign)],
)
def test_capture_on_a_free_base_keeps_both_momenta(name: str, braked: bool) -> None:
    """Those of arm and body before it are those of both after it, to 1e-12."""
    arm = flexible_arm(
        base=FREE | {"velocity": [0.1, 0.0, -0.05], "spin": [0.1, 0.2, 0.05]},
        brake={"closed": braked}, start={"speed": 0.0 if braked else 0.4}, bodies=[SATELLITE],
        events=[{"at": 0.3, "capture": "satellite"}],
    )  # fmt: skip
    kept = [0.2, 0.3, 0.5]
    run = flexarm.simulate(arm, t_end=0.5, dt=0.1, rtol=1e-9, formulation=name)
    found = run.momenta()
    linear, angular = (found[key].values for key in ("linear_momentum", "angular_momentum"))
    before, at, after = (int(np.searchsorted(run.t, t - 1e-9)) for t in kept)
    alone = _satellite_momenta()
    total, turned = linear[before] + alone[0], angular[before] + alone[1]
    for k in (at, after):
        assert np.abs(linear[k] - total).max() < 1e-8 * np.abs(total).max()
        assert np.abs(angular[k] - turned).max() < 1e-7 * np.abs(turned).max()
    assert run.energy_balance < 1e-8
    assert run.event_records[0].lost > 0


def _satellite_momenta() -> tuple[np.ndarray, np.ndarray]:
    """Find linear and angular momentum of the satellite, about the world's origin, by hand."""
    a, b, c = SATELLITE["rotation"]
    sa, ca, sb, cb, sc, cc = (f(x) for x in (a, b, c) for f in (np.sin, np.cos))
    X = np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
    Y = np.array([[cb, 0, sb], [0, 1, 0], [-sb, 0, cb]])
    Z = np.array([[cc, -sc, 0], [sc, cc, 0], [0, 0, 1]])
    R, body = Z @ Y @ X, SATELLITE["body"]
    spin, com = np.array(SATELLITE["spin"]), np.array(body["com"])
    linear = body["mass"] * (SATELLITE["velocity"] + R @ np.cross(spin, com))
    about = np.cross(SATELLITE["position"] + R @ com, linear)
    return linear, about + R @ (body["inertia"] * spin)


def test_what_happens_does_not_depend_on_the_list_or_on_samples() -> None:
    events = [
        {"at": 0.2, "let_go": "payload"},
        {"at": 0.2, "brake": ["hinge"]},
        {"at": 0.4, "release": ["hinge"]},
        {"when": {"quantity": "tip.speed", "above": 0.5}, "brake": ["hinge"]},
    ]
    ends = []
    for order, dt in ((events, 0.01), (events[::-1], 0.037), (events[1:] + events[:1], None)):
        arm = flexible_arm(
            events=order, brake={"closed": False, "effort": 30.0}, start={"speed": 1.0}
        )
        arm = arm.model_copy(update={"payload": flexarm.arm.Payload(mass=2.0)})
        run = flexarm.simulate(arm, t_end=1.0, rtol=1e-8, dt=dt)
        ends.append(run.q[-1])
        assert run.energy_balance < 1e-8
    assert np.abs(np.array(ends) - ends[0]).max() < 1e-8


def test_what_comes_at_once_does_not_depend_on_the_list() -> None:
    """Two targets of one servo, a brake and an end, at a place and at the time of it."""
    there = {"when": {"quantity": "hinge", "above": 0.5}}
    near, far = ({"servo": {"hinge": {"target": {"kind": "constant", "value": x}}}} for x in (1, 2))
    brake, end = {"brake": ["hinge"]}, {"end": True}
    for one, other in ((there | near, there | far), (there | near, {"at": 0.5} | far),
                       (there | end, there | brake)):  # fmt: skip
        runs = [
            flexarm.simulate(
                one_joint(servo={"stiffness": 1e-9}, start={"speed": 1.0}, brake={"closed": False},
                          events=events),
                t_end=1.0,
            )
            for events in ([one, other], [other, one])
        ]  # fmt: skip
        assert runs[0].event_records == runs[1].event_records
        assert runs[0].q[-1] == runs[1].q[-1]


@pytest.mark.campaign
def test_a_run_with_events_goes_through_its_file(tmp_path: Path) -> None:
    arm = flexible_arm(
        base=FREE, brake={"closed": False, "effort": 1.0}, start={"speed": 0.4}, bodies=[SATELLITE],
        events=[{"at": 0.2, "brake": ["hinge"]}, {"at": 0.3, "capture": "satellite"}],
    )  # fmt: skip
    run = flexarm.simulate(arm, t_end=0.6)
    run.save(tmp_path / "run.nc")
    back = flexarm.load_run(tmp_path / "run.nc")
    assert back.event_records == run.event_records
    for of in ("momenta", "tip_motion", "joint_wrenches"):
        one, other = getattr(run, of)(), getattr(back, of)()
        assert all(np.array_equal(one[key], other[key]) for key in one)
    assert back.energy_balance == run.energy_balance


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([{"at": 1.0}], "nothing happens"),
        (
            [{"at": 1.0, "when": {"quantity": "hinge", "above": 1}, "end": True}],
            "a time or a condition",
        ),
        ([{"at": 1.0, "brake": ["elbow"]}], "'elbow' is not a joint with a brake"),
        ([{"at": 1.0, "servo": {"hinge": {"stiffness": 1.0}}}], "not a joint with a servo"),
        ([{"at": 1.0, "capture": "moon"}], "there is no body 'moon'"),
        (
            [{"at": 1.0, "brake": ["hinge"], "release": ["hinge"]}],
            "braked and released by the same event",
        ),
        ([{"when": {"quantity": "hinge"}, "end": True}], "Give 'above' or 'below'"),
        ([{"at": -1.0, "end": True}], "must be >= 0"),
    ],
)
def test_events_that_are_none_are_refused(events: Any, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        one_joint(brake={}, events=events)


def test_a_joint_that_an_event_brakes_needs_one() -> None:
    said = "'hinge' is not a joint with a brake. Give it 'brake: {closed: false}'."
    with pytest.raises(ModelError, match=said):
        one_joint(events=[{"at": 1.0, "brake": ["hinge"]}])


def test_a_servo_of_an_event_is_checked_like_one_of_the_file() -> None:
    with pytest.raises(ModelError, match=r"events\[1\].servo.hinge.stiffness: must be > 0"):
        one_joint(
            servo={"stiffness": 1.0}, events=[{"at": 1.0, "servo": {"hinge": {"stiffness": -1}}}]
        )


def test_what_cannot_happen_ends_the_run_in_words() -> None:
    far = SATELLITE | {"reach": 0.01}
    run = flexarm.simulate(
        one_joint(bodies=[far], events=[{"at": 0.5, "capture": "satellite"}]), t_end=1.0
    )
    assert run.status == "stopped"
    assert "at t = 0.5 s: satellite cannot be captured: its fixture is" in run.reason
    run = flexarm.simulate(one_joint(events=[{"at": 0.5, "let_go": "payload"}]), t_end=1.0)
    assert "payload cannot be released, since the tip holds nothing" in run.reason


@pytest.mark.usefixtures("without_costs")
def test_an_unknown_quantity_is_refused_with_those_there_are() -> None:
    arm = one_joint(events=[{"when": {"quantity": "tip.w", "above": 1.0}, "end": True}])
    with pytest.raises(
        SimulationError, match=r"no quantity 'tip.w'. The quantities are hinge, hinge.speed"
    ):
        flexarm.simulate(arm, t_end=1.0)
    with pytest.raises(ModelError, match=r"events\[1\].when: there is no quantity 'tip.w'"):
        check(arm)


def test_the_force_of_a_contact_makes_an_event() -> None:
    wall = {"kind": "plane", "point": [0, 0.1, 0], "normal": [0, -1, 0]}
    arm = one_joint(
        start={"speed": 0.5},
        events=[{"when": {"quantity": "contact.wall", "above": 20.0}, "end": True}],
    )
    touching = {"name": "wall", "obstacle": wall, "stiffness": 1e4, "exponent": 1.0}
    run = flexarm.simulate(flexarm.change_arm(arm, {"contacts": [touching]}), t_end=1.0, rtol=1e-8)
    assert float(run.contacts().normal_force[-1, 0]) == pytest.approx(20.0, rel=1e-6)
    assert run.t[-1] < 1.0


def test_what_stops_a_joint_is_charged_with_its_energy() -> None:
    """Two brakes close at one instant; the joint of one of them moves."""
    data = one_joint(brake={"closed": False}, start={"speed": 2.0}).model_dump(exclude_unset=True)
    joint = {"kind": "revolute", "name": "wrist", "brake": {"closed": False}, "axis": [1, 0, 0]}
    still = {"joint": joint, "length": 0.1, "body": {"mass": 0.1, "inertia": [0.1] * 3}}
    events = [{"at": 0.5, "name": name, "brake": [name]} for name in ("hinge", "wrist")]
    arm = flexarm.change_arm(one_joint(), {"links": [data["links"][0], still], "events": events})
    run = flexarm.simulate(arm, t_end=1.0)
    lost = {each.what: each.lost for each in run.event_records}
    assert lost["hinge"] == pytest.approx(run.work_integrals[-1, 3])
    assert lost["hinge"] > 1.9
    assert lost["wrist"] == pytest.approx(0.0, abs=1e-12)


def test_a_table_that_an_event_names_lies_beside_the_model_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "arms"
    folder.mkdir()
    (folder / "ramp.csv").write_text("time,value\n0,0\n2,1\n")
    target = {"kind": "csv", "file": "ramp.csv"}
    events = [{"at": 0.5, "servo": {"hinge": {"target": target}}}]
    flexarm.save(one_joint(servo={"stiffness": 400.0, "damping": 40.0}), folder / "arm.yaml")
    text = (folder / "arm.yaml").read_text().replace("events: []", f"events: {json.dumps(events)}")
    (folder / "arm.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    run = flexarm.simulate(flexarm.load(folder / "arm.yaml"), t_end=2.0)
    assert run.q[-1, 0] == pytest.approx(0.75, abs=0.01)
    run.save(tmp_path / "run.nc")
    (folder / "ramp.csv").unlink()
    assert flexarm.load_run(tmp_path / "run.nc").model.arm.events[0].servo


def test_many_runs_refuse_what_they_would_ignore() -> None:
    with pytest.raises(SimulationError, match="events, brakes and dry friction"):
        flexarm.simulate_many(one_joint(brake={}), t_end=1.0, parameters=[{}])


@pytest.mark.parametrize("number", [29, pytest.param(60, marks=pytest.mark.campaign)])
def test_formulations_agree_where_motors_are_held(number: int) -> None:
    """Also of rotors whose spin momentum acts on the link that carries them."""
    model = flexarm.build(random_arm(number).arm)
    motors = [axis.motor for axis in model.axes if axis.motor is not None]
    assert motors
    held = replace(model, prescribed=tuple(sorted({*model.prescribed, *motors})))
    random = np.random.default_rng(0)
    q, v = (0.2 * random.standard_normal(model.size) for _ in range(2))
    u = random.standard_normal(len(flexarm.formulation("composite", held).input_names))
    found = []
    for name in ("articulated", "composite"):
        equation = flexarm.formulation(name, held)
        found.append(
            np.concatenate([equation.forward_dynamics(q, v, u), equation.reaction(q, v, u)])
        )
    assert np.all(found[1][motors] == 0.0)
    assert np.abs(found[0] - found[1]).max() <= 1e-10 * np.abs(found[1]).max()


def slider(events: list[dict[str, Any]], **start: float) -> Arm:
    """Make a slide of 1 kg along x whose tip is 0.5 m ahead of it."""
    joint = {"kind": "prismatic", "axis": [1, 0, 0], "name": "slide", "start": start}
    links = [{"joint": joint, "length": 0.5, "body": {"mass": 1.0}}]
    data = {"flexarm": 1, "name": "slide", "gravity": [0, 0, 0], "links": links, "events": events}
    return parsed(data)


@pytest.mark.parametrize("rtol", TIGHT)
def test_a_tip_is_tied_to_the_ground_and_let_loose(rtol: float) -> None:
    """A spring of 25 N/m and a damper of 6 N s/m from 0.4 s to 1 s: exp(-3 t) sin(4 t)/4."""
    tie = {"name": "rope", "stiffness": 25.0, "damping": 6.0}
    arm = slider([{"at": 0.4, "attach": tie}, {"at": 1.0, "detach": "rope"}], speed=1.0)
    run = flexarm.simulate(arm, t_end=2.0, rtol=rtol)

    def swing(t: Any) -> Any:
        return np.exp(-3 * t) * np.sin(4 * t) / 4

    loose = 0.4 + swing(0.6) + (run.t - 1) * np.exp(-1.8) * (np.cos(2.4) - 0.75 * np.sin(2.4))
    tied = 0.4 + swing(np.maximum(run.t - 0.4, 0))
    wanted = np.where(run.t < 0.4, run.t, np.where(run.t < 1, tied, loose))
    assert np.abs(run.q[:, 0] - wanted).max() <= rtol
    assert run.event_records[1].lost == pytest.approx(12.5 * swing(0.6) ** 2, rel=10 * rtol)
    assert run.losses["tie rope"][-1] > 0
    assert run.energy_balance <= max(10 * rtol, 1e-8)


@pytest.mark.parametrize("base", [None, FREE])
def test_a_tip_is_towed_by_a_moving_place(base: dict[str, Any] | None) -> None:
    still = {"kind": "constant", "value": 0.0}
    path = [{"kind": "table", "times": [0, 9], "values": [0.5, 2.3]}, still, still]
    tie = {"name": "rope", "stiffness": 25.0, "damping": 6.0, "path": path}
    arm = slider([{"at": 0.0, "attach": tie}])
    if base is None:
        run = flexarm.simulate(arm, t_end=1.0, rtol=1e-9)
        behind = -0.2 * np.exp(-3 * run.t) * np.sin(4 * run.t) / 4
        assert np.abs(run.q[:, 0] - 0.2 * run.t - behind).max() <= 1e-9
        assert run.work_integrals[-1, 2] > 0
    else:
        rubs = {"kind": "lugre", "coulomb": 0.1, "bristle_stiffness": 50.0, "bristle_damping": 1.0}
        arm = flexarm.change_arm(arm, {"base": base, "links.1.joint.friction": rubs})
        run = flexarm.simulate(arm, t_end=1.0, rtol=1e-9)
        a = accelerations(run)
        slope = np.gradient(run.v[:, -1], run.t)
        assert np.abs(a[2:-2, -1] - slope[2:-2]).max() <= 1e-3 * np.abs(a).max()
    assert run.energy_balance <= 1e-8


def test_a_tip_is_towed_by_its_own_deck() -> None:
    """Slide and deck swing as two masses with a spring and damper between them."""
    path = [{"kind": "constant", "value": x} for x in (0.3, 0.0, 0.0)]
    tie = {"name": "rope", "stiffness": 25.0, "damping": 6.0, "path": path}
    arm = slider([{"at": 0.0, "attach": tie | {"to": {"link": "base"}}}])
    body = {"mass": 4.0, "inertia": [1.0, 1.0, 1.0]}
    run = flexarm.simulate(
        flexarm.change_arm(arm, {"base": {"kind": "free", "body": body}}), t_end=1.0, rtol=1e-9
    )
    mass = 1.0 * 4.0 / 5.0
    damped, rate = 3.0 / mass, np.sqrt(25.0 / mass - (3.0 / mass) ** 2)
    swing = np.cos(rate * run.t) + damped / rate * np.sin(rate * run.t)
    assert np.abs(run.q[:, -1] + 0.2 - 0.2 * np.exp(-damped * run.t) * swing).max() <= 1e-8
    assert run.momentum_balance is not None
    assert run.momentum_balance <= 1e-8
    assert run.energy_balance <= 1e-8


def test_a_tie_between_links_of_a_drifting_tree_keeps_momentum_and_energy() -> None:
    beam = {"length": 1.0, "section": {"mass_per_length": 1.0, "EIz": 30.0, "EIy": 50.0},
            "shapes": {"kind": "clamped-free", "bending_y": 1, "bending_z": 1}}  # fmt: skip
    links = [
        {"name": "left", "joint": {"kind": "revolute", "start": {"speed": 0.5}}, **beam},
        {
            "name": "right",
            "parent": "base",
            "joint": {"kind": "revolute", "axis": [0, 1, 1]},
            **beam,
        },
    ]
    tie = {"name": "rope", "stiffness": 40.0, "damping": 3.0, "point": {"link": "left", "at": 0.6},
           "to": {"link": "right", "at": [0.4, 0.1, 0.2]}}  # fmt: skip
    moved = [{"kind": "constant", "value": 0.3}, {"kind": "sine", "amplitude": 0.1, "frequency": 1},
             {"kind": "constant", "value": 0.0}]  # fmt: skip
    crane = tie | {"name": "crane", "path": moved}
    events = [
        {"at": 0.2, "attach": tie},
        {"at": 0.5, "attach": crane},
        {"at": 0.8, "detach": "rope"},
    ]
    base = {"kind": "free", "body": {"mass": 4.0, "inertia": [1.0, 1.2, 0.9]}}
    data = {"flexarm": 1, "name": "tree", "gravity": [0, 0, 0], "base": base, "links": links}
    run = flexarm.simulate(parsed(data | {"events": events}), t_end=1.0, rtol=1e-8)
    assert not run.reason
    assert run.losses["tie rope"][-1] > 0
    assert run.momentum_balance is not None
    assert run.momentum_balance <= 1e-7
    assert run.energy_balance <= 1e-7


def test_ties_are_refused_in_words() -> None:
    tie = {"name": "rope", "stiffness": 25.0}
    with pytest.raises(ModelError, match="nothing is attached under the name 'chain'"):
        slider([{"at": 0.4, "attach": tie}, {"at": 1.0, "detach": "chain"}])
    with pytest.raises(ModelError, match="place on the arm"):
        slider([{"at": 0.4, "attach": tie | {"to": {"world": [0, 0, 0]}}}])
    with pytest.raises(ModelError, match="there is no link 'deck'"):
        slider([{"at": 0.4, "attach": tie | {"to": {"link": "deck"}}}])
    run = flexarm.simulate(
        slider([{"at": 0.4, "attach": tie}, {"at": 0.2, "detach": "rope"}]), t_end=1.0
    )
    assert "rope cannot be detached, since it is not attached at this time" in run.reason


@pytest.mark.parametrize("method", ["rodas4", "rk4"])
def test_one_event_is_not_taken_for_another_within_a_step(method: str) -> None:
    events = [
        {"name": "near", "when": {"quantity": "hinge", "above": 0.2}, "brake": ["hinge"]},
        {"name": "far", "when": {"quantity": "hinge", "above": 0.9}, "release": ["hinge"]},
    ]
    servo = {"stiffness": 4.0, "damping": 1.0}
    arm = one_joint(start={"speed": 2.0}, servo=servo, brake={"closed": False}, events=events)
    run = flexarm.simulate(arm, t_end=0.4, method=method, dt=0.13)
    assert [each.what for each in run.event_records] == ["near"]
    assert run.q[-1, 0] == pytest.approx(0.2, abs=1e-12)


def test_looking_within_a_step_leaves_rates_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    noted, right = [], []

    def step(m: IntegratorState) -> int:
        m.budget = min(m.budget, 1)
        code = int(march(m))
        if code == RUNNING:
            noted.append(m.event_rates_at_t.copy())
            rates(m.system, m.t, m.y, np.zeros(m.size))
            right.append(m.event_rates.copy())
        return code

    monkeypatch.setattr(solve, "march", step)
    never = {"when": {"quantity": "hinge", "above": 9.0}, "release": ["hinge"]}
    drive = {"rotor_inertia": 0.002, "gear_ratio": 20.0, "stiffness": 900.0}
    arm = one_joint(start={"speed": 1.0}, drive=drive, brake={"effort": 1e4}, events=[never])
    flexarm.simulate(arm, t_end=0.3, method="dop853")
    assert len(right) > 3
    assert np.abs(right).max() > 1e-3
    assert np.abs(np.array(noted) - right).max() < 1e-9 * np.abs(right).max()


def test_events_that_did_not_happen_are_listed_with_the_nearest_value() -> None:
    """A ball falls past the tip at 0.3 m; the hinge swings up to 1 - cos(2 t) = 2."""
    ball = {"name": "ball", "body": {"mass": 2.0}, "position": [1.3, 0, 0.2],
            "velocity": [0, 0, -0.5]}  # fmt: skip
    looked = {
        "grapple": {"quantity": "distance.ball", "below": 0.03},
        "far": {"quantity": "hinge", "above": 2.5},
        "fast": {"quantity": "hinge.speed", "above": 3.0},
        "high": {"quantity": "tip.speed", "above": 3.0},
        "back": {"quantity": "tip.x", "below": -2.0},
    }
    arm = one_joint(
        servo={"stiffness": 4.0, "target": {"kind": "constant", "value": 1.0}},
        brake={"closed": False}, bodies=[ball],
        events=[
            {"name": "hold", "at": 0.01, "servo": {"hinge": {"side": "motor"}}},
            *({"name": name, "when": when, "end": True} for name, when in looked.items()),
            {"name": "late", "when": {"quantity": "hinge", "above": 0.1}, "after": 5, "end": True},
            {"name": "later", "at": 2.0, "end": True},
        ],
    )  # fmt: skip
    run = flexarm.simulate(arm, t_end=2.0, dt=0.001, rtol=1e-6)
    assert [each.what for each in run.event_records] == ["hold"]
    found = {each.what: each for each in run.pending}
    assert list(found) == [*looked, "late", "later"]
    near = {
        "far": (2.0, np.pi / 2), "fast": (2.0, np.pi / 4), "high": (2.0, np.pi / 4),
        "back": (np.cos(2.0), np.pi / 2),
    }  # fmt: skip
    for name, (value, t) in near.items():
        assert found[name].value == pytest.approx(value, abs=1e-4)
        assert found[name].t == pytest.approx(t, abs=0.001)
    away = np.hypot(np.linalg.norm(run.tip[:, :2] - [1.3, 0], axis=1), 0.2 - 0.5 * run.t)
    assert found["grapple"].value == pytest.approx(away.min(), abs=1e-12)
    assert found["grapple"].t == run.t[np.argmin(away)]
    assert "distance.ball must be below 0.03 m, and came to" in found["grapple"].why
    assert found["late"].why == "the event is enabled after 5 s, and the run ends at 2 s"
    assert found["later"].why == "it is at 2 s, and the run ends at 2 s"


def test_the_command_and_the_file_list_what_did_not_happen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    event = {"name": "grapple", "when": {"quantity": "tip.y", "above": 3}, "end": True}
    (tmp_path / "arm.yaml").write_text(dumps(one_joint(start={"speed": 1.0}, events=[event])))
    out = tmp_path / "run.nc"
    asked = ["simulate", str(tmp_path / "arm.yaml"), "--t-end", "2", "--out", str(out)]
    assert main(asked) == 0
    text = capsys.readouterr().out
    said = "did not happen: grapple: tip.y must be above 3 m, and came to 1 m at t = 1.572 s"
    assert said in text
    (kept,) = load_run(out).pending
    assert f"did not happen: grapple: {kept.why}" in text
    assert "grapple did not happen" in repr(load_run(out))
    assert main([*asked[:-2], "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["pending"]
    assert listed["value"] == pytest.approx(1.0, abs=1e-5)
