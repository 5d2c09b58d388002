"""Momentum of arms on a free base against the impulse of all that acts from outside."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import flexarm
from flexarm.arm import Arm
from flexarm.integrate.method import Method, ToleranceRule
from flexarm.integrate.methods import METHODS
from flexarm.integrate.methods.dop853 import DOP853
from flexarm.integrate.methods.etd4 import ETD4
from flexarm.integrate.simulate import solve_until_kept
from flexarm.integrate.solve import Solution
from flexarm.integrate.task import InitialValueProblem
from flexarm.io.model_file import change_arm
from flexarm.runs.run import Run
from flexarm.spatial import Array
from tests.integrate.mission_arms import one_joint, parsed

BODY: dict[str, Any] = {"mass": 20.0, "com": [0.1, 0.2, 0.0], "inertia": [2.5, 2.0, 3.0]}
LINK: dict[str, Any] = {"mass": 3.0, "com": [0.5, 0, 0], "inertia": [0.1, 0.25, 0.25]}
BALL: dict[str, Any] = {"mass": 2.0, "com": [0.1, 0, 0.05], "inertia": [0.06, 0.06, 0.06]}
PLACE, SPEED, SPIN = np.array([[4.0, -1.8, 4.9], [0.1, -0.3, 0.2], [1.0, -0.5, 0.8]])  # of the ball
FREE: dict[str, Any] = {
    "kind": "free", "body": BODY, "position": [3, -2, 5], "velocity": [0.1, 0.2, -0.1],
    "spin": [0.3, -0.2, 0.5],
    "wrenches": [
        {
            "force": [1, 2, 0.5], "torque": [0.3, 0.1, 0.2], "frame": "link", "at": [0.3, 0.1, 0],
            "factor": {"kind": "sine", "amplitude": 1, "frequency": 1},
        }
    ],
}  # fmt: skip
CATCH = {
    "bodies": [
        {"name": "ball", "body": BALL, "position": PLACE.tolist(), "velocity": SPEED.tolist(),
         "spin": SPIN.tolist(), "reach": 3.0},
    ],
    "events": [
        {"at": 0.5, "attach": {"name": "rope", "stiffness": 30.0, "damping": 2.0}},
        {"at": 1.0, "capture": "ball"},
        {"at": 1.5, "detach": "rope"},
        {"at": 2.0, "let_go": "ball"},
    ],
}  # fmt: skip
TOUCH = {
    "gravity": [0.1, -0.2, 0.15],
    "springs": [
        {"name": "stay", "between": [{"world": [3, -2, 4]}, {"link": "link1", "at": 0.5}],
         "stiffness": 8.0, "damping": 0.5, "length": 0.5},
        {"name": "own", "between": [{"link": "base", "at": [0, 0.4, 0]}, "tip"],
         "stiffness": 3.0, "length": 0.5},
    ],
    "contacts": [
        {"name": "floor", "point": "tip", "radius": 0.1, "stiffness": 2000.0, "exponent": 1,
         "damping": 0.2, "friction": {"coefficient": 0.3},
         "obstacle": {"kind": "plane", "point": [3, -1.65, 5], "normal": [0, -1, 0]}},
    ],
}  # fmt: skip


def pushed(**changes: Any) -> Arm:
    """Make a rigid link on a free base that a wrench acts on."""
    return change_arm(one_joint(base=FREE, start={"position": 0.4, "speed": 0.8}), changes)


def turned(rate: float, t: float, rows: Array) -> Array:
    """Turn momenta (6,) of a frame that turns about z into its axes at time 0."""
    return np.asarray(Rotation.from_euler("z", rate * t).apply(rows.reshape(2, 3)).ravel())


def of_body(centre: Array, speed: Array, inertia: Array, spin: Array, mass: float) -> Array:
    """Compute momentum over angular momentum about the origin of a rigid body."""
    p = mass * speed
    return np.hstack([p, np.cross(centre, p) + inertia @ spin])


def ball_at(t: float, gravity: Array, rate: float) -> tuple[Array, Array]:
    """Integrate the way of the ball's centre of mass in a frame that goes round an orbit."""

    def rates(_: float, y: Array) -> Array:
        tide = rate**2 * np.array([3 * y[0], 0.0, -y[2]])
        return np.hstack([y[3:], gravity + tide - 2 * np.cross([0, 0, rate], y[3:])])

    lever = np.array(BALL["com"])
    start = np.hstack([PLACE + lever, SPEED + np.cross(SPIN, lever)])
    end = solve_ivp(rates, (0, t), start, rtol=1e-12, atol=1e-12).y[:, -1]
    return end[:3], end[3:]


def momenta(run: Run, gravity: Array, rate: float, *, catches: bool) -> Array:
    """Compute the momentum of base, link and captured ball at the samples, in inertial axes.

    By rigid-body kinematics of its own.  The ball turns like the tip from its capture on, and its
    inertia is the same about all axes.
    """
    n, found, lever = np.array([0, 0, rate]), [], np.zeros(3)
    for t, q, v, reference_attitude in zip(
        run.t, run.q, run.v, run.reference_attitudes, strict=True
    ):
        along = [np.eye(3)[k] for k in range(3)]
        first, second = (Rotation.from_euler("XYZ"[:k], q[3 : 3 + k]).as_matrix() for k in (1, 2))
        R = reference_attitude @ Rotation.from_euler("XYZ", q[3:6]).as_matrix()
        spin = reference_attitude @ (
            along[0] * v[3] + first @ along[1] * v[4] + second @ along[2] * v[5]
        )
        place, Q = (
            np.array(FREE["position"]) + q[:3],
            R @ Rotation.from_euler("z", q[6]).as_matrix(),
        )
        swung = spin + R[:, 2] * v[6]
        bodies = [(R, spin, R @ BODY["com"], BODY), (Q, swung, Q @ LINK["com"], LINK)]
        if catches and 1.0 <= t < 2.0:
            if t == 1.0:
                lever = Q.T @ (ball_at(t, gravity, rate)[0] - place)
            bodies.append((Q, swung, Q @ lever, BALL))
        total = np.zeros(6)
        for axes, whirl, arm, body in bodies:
            speed = v[:3] + np.cross(whirl, arm) + np.cross(n, place + arm)
            inertia = axes @ np.diag(body["inertia"]) @ axes.T
            total += of_body(place + arm, speed, inertia, whirl + n, body["mass"])
        found.append(turned(rate, t, total))
    return np.array(found)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("changes", "rate"),
    [
        (TOUCH, 0.0),
        ({"base.orbit": {"rate": 0.3}}, 0.3),
        (CATCH | {"gravity": [0.1, -0.2, 0.15]}, 0.0),
        (CATCH | {"base.orbit": {"rate": 0.3}}, 0.3),
    ],
    ids=["wrench, gravity, springs, contact", "orbit", "capture, tie", "capture, tie in orbit"],
)
def test_momentum_changes_by_the_impulse_of_all_that_acts_from_outside(
    changes: dict[str, Any], rate: float
) -> None:
    run = flexarm.simulate(pushed(**changes), t_end=2.5, dt=0.05, rtol=1e-9)
    assert run.status == "finished"
    catches, gravity = "events" in changes, np.array(changes.get("gravity", np.zeros(3)))
    own = momenta(run, gravity, rate, catches=catches)
    impulse = run.impulse - run.impulse[0]
    assert np.abs(impulse[run.t < 1]).max() > 0.1
    if "contacts" in changes:
        assert run.contacts().normal_force.values.max() > 1
    if catches:
        held = (run.t >= 1) & (run.t < 2)
        bare = momenta(run, gravity, rate, catches=False)
        assert np.abs(own - bare)[held].max() > 0.1
    np.testing.assert_allclose(own - own[0], impulse, atol=1e-7 * np.abs(own).max())
    assert run.momentum_balance is not None
    assert run.momentum_balance < 1e-7


SERVOED = {
    "flexarm": 1,
    "name": "rigid arm with hard servos",
    "gravity": [0, 0, 0],
    "base": {"kind": "free", "body": {"mass": 2000.0, "inertia": [1500.0, 2500.0, 2500.0]}},
    "links": [
        {
            "joint": {
                "name": "j1", "kind": "revolute", "before": {"position": [1, 0, 0]},
                "servo": {"stiffness": 2e5, "damping": 3e4, "target": {
                    "kind": "cycloid", "start": 0, "end": 0.5, "duration": 30}},
            },
            "length": 7.0,
            "body": {"mass": 150.0, "com": [3.5, 0, 0], "inertia": [1.0, 600.0, 600.0]},
        },
        {
            "joint": {"name": "j2", "kind": "revolute",
                      "servo": {"stiffness": 2e5, "damping": 3e4}},
            "length": 7.0,
            "body": {"mass": 450.0, "com": [5, 0, 0], "inertia": [10.0, 2000.0, 2000.0]},
        },
    ],
}  # fmt: skip


# By so much a step no promise is kept, and momentum drifts.
CARELESS = replace(ETD4, rule=ToleranceRule(0.7, np.inf))


@cache
def servoed() -> Run:
    """Move a rigid arm on a free base by hard servos, carelessly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(METHODS, "etd4", CARELESS)
        patch.setattr("flexarm.integrate.simulate.solve_until_kept",
                      lambda tolerance, solve, *_: (*solve(tolerance), tolerance))  # fmt: skip
        return flexarm.simulate(parsed(SERVOED), t_end=40, dt=0.1, method="etd4")


def test_steps_may_make_momentum_and_the_run_says_so() -> None:
    run = servoed()
    found = run.momenta()
    made = np.abs(found.linear_momentum.values).max()
    assert made > 0.01  # from nothing
    assert run.momentum_errors is not None
    linear, angular = run.momentum_errors.largest
    assert linear == pytest.approx(np.linalg.norm(found.linear_momentum, axis=1).max())
    about = np.linalg.norm(found.angular_momentum_about_centre, axis=1).max()
    assert angular == pytest.approx(about)
    base = np.linalg.norm(2000 * run.v[:, :3], axis=1).max()  # it gets what the arm gives
    assert run.momentum_balance is not None
    assert run.momentum_balance == pytest.approx(linear / base, rel=0.3)
    assert run.momentum_balance > run.rtol
    assert "the momentum balance is off by" in run.unbalanced
    assert ("the energy balance" in run.unbalanced) == (run.energy_balance > run.rtol)
    assert run.errors.integration == run.momentum_balance
    assert run.errors.solved.at_least
    assert "or more" in run.errors.lines()[-1]


@pytest.fixture
def careless_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``auto`` take a careless etd4 at the tolerance asked for, and dop853 at smaller ones."""

    def choose(task: InitialValueProblem, wanted: float, **_: Any) -> tuple[Method, str]:
        return (CARELESS if wanted == 1e-3 else DOP853), "first"

    monkeypatch.setattr("flexarm.integrate.simulate.choose", choose)
    monkeypatch.setattr("flexarm.integrate.batch.many.choose", choose)


@pytest.mark.usefixtures("careless_first")
def test_auto_takes_no_method_that_makes_momentum() -> None:
    run = flexarm.simulate(parsed(SERVOED), t_end=40, dt=0.1)
    assert (run.method, run.rtol) == ("dop853", 1e-3)
    assert run.momentum_balance is not None
    assert run.momentum_balance <= run.rtol
    assert not run.unbalanced
    assert "the motion or a balance was off" in run.why
    truth = flexarm.simulate(parsed(SERVOED), t_end=40, dt=0.1, method="dop853", rtol=1e-9)
    apart, before = (np.abs(each.q - truth.q).max(axis=0) for each in (run, servoed()))
    assert apart[:2].max() < 0.01 * before[:2].max()
    assert run.errors.integration is not None
    assert run.errors.integration >= apart.max() > 0


@pytest.mark.usefixtures("careless_first")
def test_auto_keeps_momentum_in_all_legs_and_in_many_runs() -> None:
    events = [{"at": 15.0, "servo": {"j2": {"stiffness": 2e5}}}, {"at": 30.0, "brake": ["j2"]}]
    arm = change_arm(parsed(SERVOED), {"links.2.joint.brake": {"closed": False}, "events": events})
    run = flexarm.simulate(arm, t_end=40, dt=0.5)
    assert len(run.phases) == 3
    one = flexarm.simulate_many(parsed(SERVOED), t_end=40, dt=0.5, rtol=[1e-3])[0]
    for each in (run, one):
        assert each.momentum_balance is not None
        assert each.momentum_balance <= each.rtol
        assert (each.method, each.why.count("the motion or a balance was off")) == ("dop853", 1)


@pytest.mark.parametrize("method", ["etd4", "dop853", "rodas4", "rk4"])
def test_all_methods_integrate_impulses(method: str) -> None:
    """In an orbit, where they depend on time; rodas4 has to differentiate by it."""
    arm = pushed(**{"base.orbit": {"rate": 0.3}})
    run = flexarm.simulate(arm, t_end=1, dt=0.1, method=method, rtol=1e-6)
    truth = flexarm.simulate(arm, t_end=1, dt=0.1, method="dop853", rtol=1e-11)
    assert run.momentum_balance is not None
    assert run.momentum_balance < 1e-6
    np.testing.assert_allclose(run.impulse, truth.impulse, atol=1e-5 * np.abs(truth.impulse).max())


def test_a_momentum_that_nothing_gave_is_an_error() -> None:
    run = flexarm.simulate(pushed(), t_end=1, dt=0.1, rtol=1e-6)
    later = (run.t > 0.5)[:, None]
    p, L = np.array([0.3, 0, 0]), np.array([0, 0.02, 0])
    given = np.hstack([p, L, np.zeros(9)])
    wrong = replace(run, momentum=run.momentum + later * given).momentum_errors
    assert wrong is not None
    about = L - np.cross(run.momentum[:, 12:], p)
    np.testing.assert_allclose(wrong.linear, later * p, atol=1e-6)
    np.testing.assert_allclose(wrong.angular, later * about, atol=1e-5)
    sizes = [np.linalg.norm(run.v[:, :3], axis=1).max(), 1.0]
    assert wrong.error > 0.3 / (23 * max(sizes))


@pytest.mark.campaign
def test_momentum_and_impulse_are_kept_in_files(tmp_path: Path) -> None:
    run = flexarm.simulate(pushed(gravity=[0, 0, -1]), t_end=0.5, dt=0.1)
    run.save(tmp_path / "run.nc")
    back = flexarm.load_run(tmp_path / "run.nc")
    assert back.momentum_balance == run.momentum_balance is not None
    assert back.dataset.attrs["momentum_balance"] == run.momentum_balance
    np.testing.assert_array_equal(back.dataset.impulse.values, run.impulse[:, :3])
    fixed = flexarm.simulate(one_joint(), t_end=0.1)
    assert fixed.momentum_balance is None
    fixed.save(tmp_path / "fixed.nc")
    assert flexarm.load_run(tmp_path / "fixed.nc").momentum_balance is None
    assert "impulse" not in fixed.dataset


def test_a_drift_that_no_tolerance_cures_is_not_chased() -> None:
    run = servoed()
    assert run.momentum_balance is not None
    tried: list[float] = []

    def solved(tolerance: float) -> tuple[Run, Solution]:
        tried.append(tolerance)
        return run, Solution(np.zeros(1), np.zeros((1, 1)), np.zeros((1, 3, 3)))

    best, _, tolerance = solve_until_kept(1e-3, solved, lambda *_: 0.0, lambda _: 0.0)
    assert best is run
    assert (len(tried), tolerance) == (2, 1e-3)


def test_an_interrupt_while_it_is_solved_again_keeps_what_is_known() -> None:
    run, solution = servoed(), Solution(np.zeros(1), np.zeros((1, 1)), np.zeros((1, 3, 3)))

    def solved(tolerance: float) -> tuple[Run, Solution]:
        if tolerance < 1e-3:
            raise KeyboardInterrupt("Ctrl-C")
        return run, solution

    kept, found, tolerance = solve_until_kept(1e-3, solved, lambda *_: 0.0, lambda _: 0.0)
    assert (kept.status, found.ending.status, tolerance) == ("interrupted", "interrupted", 1e-3)
    assert "Ctrl-C" in kept.reason
    np.testing.assert_array_equal(kept.q, run.q)
