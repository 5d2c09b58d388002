"""Plans: simulated motions that leave no vibration, against known optima, and refusals."""

import re
import sys
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import fsolve

import flexarm
from flexarm.cli import main
from flexarm.control.statics import Statics
from flexarm.errors import PlanRefused
from flexarm.integrate.mission.starts import SteadyProblem
from flexarm.io.model_file import loads
from flexarm.model import build
from flexarm.planning import Limits, Plan
from flexarm.planning.constants import NEAR_MISS
from flexarm.planning.problem import MotionProblem, undriven
from flexarm.planning.program import Iterate, NonlinearProgram
from flexarm.runs.run import Run
from flexarm.spatial import Array

TO = {"joint1": 0.8, "joint2": 0.6}
ARM = flexarm.example_arm("deluca-siciliano")
LINK = flexarm.change_arm(flexarm.example_arm("driven-link"), {
    "stiffening": False, "links.1.shapes": {"kind": "loaded", "root": "free", "bending_y": 1},
})  # fmt: skip
LUGRE = {"kind": "lugre", "coulomb": 0.1, "bristle_stiffness": 100.0}


UNIVERSAL = """
flexarm: 1
name: on two axes
links:
  - joint: {kind: universal}
    length: 1
    section: {mass_per_length: 1, EIy: 100, EIz: 100}
"""


@pytest.fixture(scope="module")
def planned() -> Plan:
    return flexarm.plan(ARM, TO, duration=2.0)


@pytest.mark.campaign
def test_plan_of_two_links_leaves_nothing_though_its_intervals_are_longer_than_a_period(
    planned: Plan,
) -> None:
    assert planned.times[1] - planned.times[0] > 2 * planned.fastest
    assert planned.residual < 1e-3 * planned.unshaped_residual
    assert planned.unshaped_residual > 0.05
    # The model file alone, at another tolerance, does the same.
    arm = flexarm.Arm.model_validate(planned.arm.model_dump(exclude_unset=True, mode="json"))
    run = flexarm.simulate(arm, t_end=float(planned.run.t[-1]), dt=0.01, rtol=1e-6)
    after = run.tip[run.t >= planned.duration]
    assert np.ptp(after, axis=0).max() / 2 < 1e-3 * planned.unshaped_residual
    hubs = [run.model.names.index(name) for name in TO]
    assert run.q[-1, hubs] == pytest.approx(list(TO.values()), abs=1e-3)


def test_plan_is_less_robust_than_it_is_good_and_says_how_much(planned: Plan) -> None:
    found = {each.name: each.residual for each in planned.robustness}
    assert list(found) == ["payload -20%", "payload +20%", "stiffness -10%", "stiffness +10%"]
    assert min(found.values()) > 10 * planned.residual
    assert max(found.values()) < planned.unshaped_residual
    assert "that of the unshaped motion by" in repr(planned)
    assert len(planned.plot().axes) == 2


def test_limits_bind_and_are_kept() -> None:
    force = np.abs(swung().run.u).max()
    with pytest.raises(
        flexarm.FlexarmError, match=r"no motion was found\. The best one, simulated"
    ):
        swung("effort", 0.9 * force)
    found = swung("effort", 0.97 * force)
    assert np.abs(found.run.u).max() <= 0.97 * force * (1 + 1e-9)
    assert found.margins["effort of joint1"] > 0.95  # splines stay below their values


@cache
def swung(kind: str = "", allowed: float = 1e6) -> Plan:
    """Plan a swing with one limit."""
    thick = flexarm.change_arm(LINK, {"links.1.section.EA": 1e6})
    limits = Limits(**{kind: allowed}) if kind else Limits()
    return flexarm.plan(thick, {"joint1": 0.5}, duration=1.0, intervals=12, limits=limits)


def largest(run: Run, kind: str) -> float:
    """Find what is limited otherwise than plans do: from places, momentum and torque."""
    turned = np.array([np.cos(run.q[:, 0]), np.sin(run.q[:, 0])]).T
    found: dict[str, Callable[[], Any]] = {
        "speed": lambda: np.gradient(run.q[:, 0], run.t),
        "deflection": lambda: np.linalg.norm(run.tip[:, :2] - run.tip[0, 0] * turned, axis=1),
        "strain": lambda: run.section_forces(stations=21)["strain"].to_numpy(),
        "base_force": lambda: np.gradient(
            run.momenta()["linear_momentum"].to_numpy(), run.t, axis=0
        )[1:],
        "base_torque": lambda: run.u,
    }
    return float(np.abs(found[kind]()).max())


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("kind", "share"),
    [
        ("speed", 0.9),
        ("deflection", 0.8),
        ("strain", 0.8),
        ("base_force", 0.9),
        ("base_torque", 0.95),
    ],
)
def test_each_limit_binds_where_it_is_tight_and_is_kept_in_another_simulation(
    kind: str, share: float
) -> None:
    allowed = share * largest(swung().run, kind)
    run = flexarm.simulate(swung(kind, allowed).arm, t_end=1.2, dt=0.002, rtol=1e-6)
    assert 0.95 < largest(run, kind) / allowed < 1.01


def test_motion_that_rings_is_kept_and_says_what_is_left() -> None:
    arm = flexarm.change_arm(LINK, {"links.1.joint.friction": LUGRE})
    ask = partial(flexarm.plan, arm, {"joint1": 0.5}, duration=1.0, intervals=12, tolerance=1e-9)
    with pytest.warns(UserWarning, match=r"the tip vibrates by .* m afterwards, more than") as told:
        rings = ask()
    atol = re.findall(r"--atol ([-+.e0-9]+)", str(told[0].message))[0]
    assert rings.residual > rings.tolerated
    assert "0.01 mm are tolerated" in str(rings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ask(atol=f"{atol} m")
    assert 0.9 * float(atol) < found.residual == rings.residual < float(atol) == found.tolerated
    assert "tolerated" not in str(found)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("friction", "said"),
    [
        ({"kind": "dry", "coulomb": 0.1}, "misses its goal by"),
        ({"coulomb": 2, "smoothing": 0.05}, r"no motion was found\. .* misses its goal by"),
        (LUGRE, "the tip vibrates by"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_coulomb_friction_is_named_where_a_plan_fails(friction: dict[str, Any], said: str) -> None:
    arm = flexarm.change_arm(LINK, {"links.1.joint.friction": friction})
    cause = rf"{said}.*\. Coulomb friction is the cause, of joint1 \({friction['coulomb']} N m\)"
    with pytest.raises((flexarm.FlexarmError, UserWarning), match=cause):
        flexarm.plan(arm, {"joint1": 0.5}, duration=1.0, intervals=12)


def test_goal_and_limits_are_judged_by_the_tight_simulation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A search that calls a rigid arm's motion good is not believed."""
    monkeypatch.setattr(NonlinearProgram, "solve", lambda self, first: (first, 0))
    ask = partial(flexarm.plan, LINK, {"joint1": 0.05}, duration=0.47, intervals=8, tolerance=1e3)
    with pytest.raises(PlanRefused, match="at a tolerance of 1e-08, it misses its goal") as told:
        ask()
    assert "friction" not in str(told.value)
    assert told.value.plan.miss > NEAR_MISS
    assert told.value.plan.run.t[-1] > 0.47
    monkeypatch.setattr(sys.modules["flexarm.planning.plan"], "NEAR_MISS", np.inf)
    fastest = np.abs(ask().run.v[:, 0]).max()
    with pytest.raises(PlanRefused, match=r"speed of joint1 is 1\.001 times its limit") as told:
        ask(limits=Limits(speed=fastest / 1.001))
    assert told.value.plan.margins["speed of joint1"] == pytest.approx(1.001, rel=1e-3)


def test_first_duration_counts_what_holding_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    def solve(self: NonlinearProgram, first: Iterate) -> None:
        raise flexarm.FlexarmError(f"{first.duration:.3f}")

    monkeypatch.setattr(NonlinearProgram, "solve", solve)
    heavy = flexarm.change_arm(LINK, {"gravity": [0, -9.81, 0], "links.1.joint.input": None})
    held = Statics(flexarm.build(heavy)).effort(np.zeros(2))[0]
    ask = partial(flexarm.plan, heavy, {"joint1": 0.05}, aim="time")
    took = []
    for share in (2.0, 1.25):
        with pytest.raises(flexarm.FlexarmError) as told:
            ask(limits=Limits(effort=share * held))
        took.append(float(str(told.value)))
    # Where a quarter of the room is left, a motion takes twice the time.
    assert took[1] == pytest.approx(2 * took[0], rel=0.05)
    with pytest.raises(
        flexarm.FlexarmError,
        match="start: joint1 cannot hold the arm at this position",
    ):
        ask(limits=Limits(effort=0.9 * held))


def test_ranges_of_joints_are_kept_and_ends_beyond_them_are_refused_at_once() -> None:
    narrow = flexarm.change_arm(LINK, {"links.1.joint.limits": {"lower": -0.1, "upper": 0.3}})
    for goal in (0.5, 0.3, -0.2):
        with pytest.raises(flexarm.FlexarmError, match=f"to: joint1 must be within .* got {goal}"):
            flexarm.plan(narrow, {"joint1": goal}, duration=1.0)
    with pytest.raises(flexarm.FlexarmError, match="start: joint1 must be within its limits"):
        flexarm.plan(narrow, {"joint1": 0.1}, duration=1.0, start={"joint1": 0.4})
    found = flexarm.plan(narrow, {"joint1": 0.29}, duration=1.0, intervals=12)
    assert 0.29 / 0.3 <= found.margins["highest position of joint1"] <= 1
    again = flexarm.simulate(found.arm, t_end=1.0)
    assert (again.status, again.q[-1, 0]) == ("finished", pytest.approx(0.29, abs=1e-4))


def test_least_time_of_a_link_is_that_of_bang_bang() -> None:
    w = flexarm.modes(LINK, joints="free").elastic()[0].frequency_rad_s
    inertia = flexarm.formulation("composite", flexarm.build(LINK)).mass_matrix(np.zeros(2))[0, 0]
    angle, torque = 0.05, 0.5

    def left(x: Array) -> list[float]:
        """What a torque leaves that changes its sign at x1, at x0 and at 2 x0 - x1, from 0 on."""
        return [
            x[0] ** 2 - 2 * (x[0] - x[1]) ** 2 - angle * inertia / torque,
            np.cos(w * x[0]) - 2 * np.cos(w * (x[0] - x[1])) + 1,
        ]

    middle, switch = fsolve(left, np.sqrt(angle * inertia / torque) * np.array([1.05, 0.8]))
    found = flexarm.plan(
        LINK, {"joint1": angle}, aim="time", joining="hold", intervals=20, duration=0.47,
        limits=Limits(effort=torque),
    )  # fmt: skip
    assert 0.9995 < found.duration / (2 * middle) < 1.005
    full = found.times[:-1] < switch - 2 * found.times[1]
    assert found.u[:-1][full].min() > 0.99 * torque


def test_start_that_moves_is_refused() -> None:
    moving = flexarm.change_arm(ARM, {"links.1.joint.start": {"speed": 0.3}})
    with pytest.raises(flexarm.FlexarmError, match="'joint1' starts with a rate of"):
        flexarm.plan(moving, TO, duration=2.0)
    bent = flexarm.change_arm(LINK, {"links.1.start": {"y1": 0.05}})
    with pytest.raises(flexarm.FlexarmError, match="does not stay at its start"):
        flexarm.plan(bent, {"joint1": 0.5}, duration=1.0)


def test_servos_and_brakes_of_universal_joints_are_left_out() -> None:
    servo = {"stiffness": 50.0, "damping": 5.0}
    axes = {"first": {"servo": servo}, "second": {"brake": {"effort": 5.0}}}
    arm = loads(UNIVERSAL)
    with_them = flexarm.change_arm(arm, {f"links.1.joint.{k}": v for k, v in axes.items()})
    left = undriven(with_them).links[0].joint.model_dump(exclude_defaults=True)
    assert "servo" not in str(left)
    assert "brake" not in str(left)


def test_too_little_effort_is_refused_at_once_with_a_duration() -> None:
    with pytest.raises(flexarm.FlexarmError, match=r"move the rigid arm there .* such as") as told:
        flexarm.plan(LINK, {"joint1": 0.5}, duration=1.0, limits=Limits(effort=0.1))
    length = float(str(told.value).split()[-2])
    inertia = flexarm.formulation("composite", flexarm.build(LINK)).mass_matrix(np.zeros(2))[0, 0]
    assert length > np.sqrt(4 * 0.5 * inertia / 0.1)  # of bang-bang


def test_command_plans_and_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    goal = ["plan", "deluca-siciliano", "--to", "joint1=0.8", "--to", "joint2=0.6"]
    assert main([*goal, "--duration", "0.4"]) == 1
    assert "Take a longer duration" in capsys.readouterr().err
    assert main([*goal, "--to", "joint1"]) == 2
    assert main([*goal, "--to", "joint1=1"]) == 2
    assert "--to: joint1 is given twice: give it once" in capsys.readouterr().err


@pytest.mark.campaign
def test_shapes_that_follow_the_actuation_do_not_hinder_the_comparison() -> None:
    changes = {"links.1.shapes": None, "gravity": [0, -9.81, 0]}
    arm = flexarm.change_arm(flexarm.example_arm("driven-link"), changes)
    told = flexarm.plan(arm, {"joint1": "20 deg"}, duration=1.0, tolerance=0.5)
    assert told.residual < 0.5 * told.unshaped_residual


@pytest.mark.campaign
def test_canadarm_on_its_free_base_arrives_without_ringing() -> None:
    to = {"shoulder-yaw": 0.3236, "shoulder-pitch": -0.8472, "elbow-pitch": 1.5453}
    found = flexarm.plan(flexarm.example_arm("canadarm-free-base"), to, duration=15.0)
    assert found.residual < 1e-3 * found.unshaped_residual
    assert found.times[1] > 50 * found.fastest


def test_a_plan_begins_where_servos_let_the_arm_sag() -> None:
    arm = flexarm.change_arm(
        flexarm.example_arm("driven-link-payload"),
        {"start": "equilibrium", "gravity": [0, -9.81, 0], "links.1.shapes.bending_y": 1,
         "links.1.joint.servo": {"stiffness": 30.0, "damping": 3.0}},
    )  # fmt: skip
    sagging = SteadyProblem.of(build(arm), {}, law=False).solve().q
    assert abs(sagging[0]) > 1e-2
    problem = MotionProblem.staying(arm, {}, {})
    np.testing.assert_allclose(problem.start, sagging, atol=1e-9)


def test_servos_follow_the_planned_motion_and_the_inputs_are_their_feedforward() -> None:
    servo = {"stiffness": 20.0, "damping": 2.0}
    arm = flexarm.change_arm(LINK, {"links.1.joint.servo": servo})
    found = flexarm.plan(arm, {"joint1": 0.5}, duration=1.0, intervals=12)
    run = flexarm.simulate(found.arm, t_end=found.run.t[-1], rtol=1e-8)
    assert run.settling(1.0).swing < 1e-4 * found.unshaped_residual
    assert abs(run.q[-1, 0] - 0.5) < 1e-5
    # Friction that was not planned: the servo still brings the joint there, inputs alone do not.
    rubbed = flexarm.change_arm(found.arm, {"links.1.joint.friction": {"viscous": 0.5}})
    alone = flexarm.change_arm(rubbed, {"links.1.joint.servo": None})
    misses = [abs(flexarm.simulate(x, t_end=2.0).q[-1, 0] - 0.5) for x in (rubbed, alone)]
    assert misses[0] < 0.02 < 0.1 < misses[1]
