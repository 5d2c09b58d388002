"""How methods keep the tolerance: who runs, what damps, rk4 without a step, rounding, samples."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.integrate.batch.many import simulate_many
from flexarm.integrate.choice import choose
from flexarm.integrate.choice.choose import TrialRun, race
from flexarm.integrate.constants import DECAYING_RATIO
from flexarm.integrate.methods import METHODS
from flexarm.integrate.methods.rk4 import STABLE
from flexarm.integrate.solve import make_ready, new_state
from flexarm.integrate.state import measure
from flexarm.io.model_file import change_arm, loads
from flexarm.model import build
from tests.integrate.damped_arms import FRICTION, HOLDING, LINKS, changed, error, task_of
from tests.integrate.mission_arms import one_joint


def drive(damping: float) -> dict[str, Any]:
    given = {"rotor_inertia": 1e-3, "gear_ratio": 10, "stiffness": 200, "damping": damping}
    return {"links.1.joint.drive": given}


def test_dry_friction_and_a_damper_that_holds_a_joint_damp_no_vibration() -> None:
    assert task_of(changed("tg-rr", FRICTION)).shares.damping == pytest.approx(0.0, abs=1e-9)
    assert task_of(changed("driven-link-payload", HOLDING)).shares.damping < 5e-4
    damped, rubbing = (task_of(changed("tg-rr", x)) for x in (LINKS, FRICTION | LINKS))
    assert 0.01 < rubbing.shares.damping == pytest.approx(damped.shares.damping)
    free = flexarm.example_arm("driven-link-payload")
    some = [
        task_of(change_arm(free, {"links.1.joint.friction": {"viscous": c}})).shares.damping
        for c in (30.0, 1e3)
    ]
    assert some[0] > 0.01 > DECAYING_RATIO > some[1]


def test_a_strong_damper_is_for_the_implicit_method() -> None:
    run = flexarm.simulate(changed("driven-link-payload", HOLDING), t_end=0.3)
    assert run.method == "rodas4"
    assert "etd4 took" in run.why
    assert "dop853 took" in run.why


def held(stiffness: float, damping: float) -> tuple[Arm, ca.Function]:
    """Hold the joints of two links that fall by a law that is part of the equations."""
    arm = changed("tg-rr", {"gravity": [0, -9.81, 0]} | LINKS)
    names = build(arm).names
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", len(names)), ca.SX.sym("v", len(names))
    at = [names.index(name) for name in ("joint1", "joint2")]
    u = [stiffness * (0.3 * ca.sin(2 * t) - q[k]) - damping * v[k] for k in at]
    return arm, ca.Function("law", [t, q, v], [ca.vertcat(*u)])


def test_who_won_a_race_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same motion: another tolerance is another."""
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))
    raced: list[float] = []

    def counted(running: Any, whole: float) -> tuple[dict[str, float], float]:
        raced.append(whole)
        return race(running, whole)

    monkeypatch.setattr(choose, "race", counted)
    arm = changed("driven-link-payload", HOLDING)
    first, again, closer = (flexarm.simulate(arm, t_end=0.3, rtol=x) for x in (1e-3, 1e-3, 1e-4))
    assert len(raced) == 2
    assert (again.method, again.why) == (first.method, first.why)
    assert closer.why != first.why


def test_an_error_of_a_rotor_that_a_servo_holds_is_its_own() -> None:
    """Every undamped mode has a part of it, but none of them vibrates: they cancel elsewhere."""
    drive = {"rotor_inertia": 5.0, "gear_ratio": 1.0, "stiffness": 1.33e6}
    link = one_joint(drive=drive, servo={"stiffness": 1e4, "damping": 3e5}).model_dump(
        exclude_unset=True
    )["links"][0]
    link["body"] = {"mass": 300.0, "com": [0.5, 0, 0], "inertia": [1e3, 1e3, 1e3]}
    names = ("one", "two", "three")
    links = [link | {"joint": link["joint"] | {"name": name}} for name in names]
    task = task_of(Arm.model_validate({"flexarm": 1, "name": "rotors", "links": links}))
    assert np.all(task.vibration.rates < 0)
    m, n = make_ready(new_state(task, METHODS["rodas4"], 1e-3)), task.equation.model.size
    for axis in task.equation.model.axes:
        error = np.zeros(m.size)
        error[n + cast(int, axis.motor)] = 1e-3
        own = np.abs(task.measures.rows @ error[n : 2 * n]) / m.top_scale[m.group_of]
        assert measure(m, error) == pytest.approx(own.max(), rel=1e-6)


@pytest.mark.campaign
def test_contacts_that_are_far_make_no_smaller_steps() -> None:
    """But for a share of the tolerance, which is left for what they make of errors."""
    free = changed("driven-link-payload", {"links.1.damping": 0.1})
    runs = []
    for height, rtol in ((None, 3e-4), (-5.0, 1e-3), (0.0, 1e-3)):
        plane = {"kind": "plane", "point": [0, 0, height], "normal": [0, 0, 1]}
        wall = [{"name": "wall", "stiffness": 100.0, "damping": 2.0, "obstacle": plane}]
        arm = free if height is None else change_arm(free, {"contacts": wall})
        runs.append(flexarm.simulate(arm, t_end=0.5, method="rodas4", rtol=rtol).statistics)
    assert runs[0].steps == runs[1].steps < 0.8 * runs[2].steps


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["law", "sampled law", "dry friction", "strong damper"])
def test_auto_takes_little_more_evaluations_than_the_best(kind: str) -> None:
    """Where stiffness may sit outside the links; a step of rodas4 is dear: it takes a tangent."""
    arm, law = held(200.0, 20.0)
    options: dict[str, Any] = {"t_end": 1.0}
    if kind == "law":
        options["control"] = law
    elif kind == "sampled law":
        options["control"] = flexarm.Sampled(lambda t, q, v: [-5 * q[0] - v[0], 0.0], 2e-3)
    else:
        arm = changed(*(("tg-rr", FRICTION) if kind == "dry friction" else
                        ("driven-link-payload", HOLDING)))  # fmt: skip
    weights = {"etd4": 1.0, "dop853": 1.0, "rodas4": 3.0}
    taken = {
        name: weight * flexarm.simulate(arm, method=name, **options).statistics.evaluations
        for name, weight in weights.items()
    }
    chosen = flexarm.simulate(arm, **options).method
    assert taken[chosen] <= 3 * min(taken.values()), taken


def test_many_runs_by_rk4_are_those_of_one_by_one() -> None:
    arm = flexarm.example_arm("korayem-two-link")
    options: dict[str, Any] = {"t_end": 1.0, "dt": 0.02}
    reference = flexarm.simulate(arm, method="dop853", rtol=1e-10, **options)
    for rtol in (1e-2, 1e-5):
        (run,) = simulate_many(arm, starts=[{}], method="rk4", rtol=rtol, **options)
        assert error(run, reference) < rtol
        alone = flexarm.simulate(arm, method="rk4", rtol=rtol, **options)
        assert run.q == pytest.approx(alone.q, abs=1e-13)


def test_rk4_wants_a_step_under_a_sampled_law() -> None:
    arm = flexarm.example_arm("driven-link")
    law = flexarm.Sampled(lambda t, q, v: [0.1], 0.01)
    with pytest.raises(
        flexarm.SimulationError, match=r"^step: rk4 needs a step under a sampled law"
    ):
        flexarm.simulate(arm, t_end=0.1, method="rk4", control=law)
    run = flexarm.simulate(arm, t_end=0.1, method="rk4", step=1e-4, control=law)
    assert run.status == "finished"


def limp(arm: Arm) -> Arm:
    """Take servos, brakes, events and contacts from an arm."""
    bare = {"servo": None, "brake": None}
    links = tuple(
        link.model_copy(update={"joint": link.joint.model_copy(update=bare)})
        if link.joint.axes
        else link
        for link in arm.links
    )
    return arm.model_copy(update={"links": links, "events": (), "bodies": (), "contacts": ()})


@pytest.mark.campaign
@pytest.mark.parametrize("rtol", [1e-2, 1e-3])
def test_rk4_keeps_the_tolerance_of_a_run_that_stops(rtol: float) -> None:
    arm = limp(flexarm.example_arm("canadarm-free-base"))
    push = {"kind": "bang-bang", "amplitude": 200.0, "times": [0.0, 5.0, 10.0]}
    arm = flexarm.change_arm(arm, {"links.4.joint.input": push})
    reference = flexarm.simulate(arm, t_end=7.0, method="dop853", rtol=1e-8, dt=0.014)
    run = flexarm.simulate(arm, t_end=7.0, method="rk4", rtol=rtol, dt=0.014)
    assert run.status == reference.status == "stopped"
    assert run.t[-1] == pytest.approx(reference.t[-1], abs=1e-3)
    assert error(run, reference) < rtol


def test_rk4_that_is_interrupted_is_given_as_it_is() -> None:
    def stop(t: float) -> None:
        raise KeyboardInterrupt

    arm = flexarm.example_arm("driven-link")
    run = flexarm.simulate(arm, t_end=50.0, method="rk4", rtol=1e-6, progress=stop)
    assert run.status == "interrupted"
    assert run.t[-1] < 50.0


def test_rk4_compares_attitudes_of_a_base_whose_angles_begin_anew() -> None:
    """Runs in other steps count the angles from other attitudes; and steps end at samples, so that
    halving them makes two thirds of them here."""
    arm = loads(
        "flexarm: 1\nname: tumbling\ngravity: [0, 0, 0]\n"
        "base: {kind: free, body: {mass: 3, inertia: [1, 2, 3]}, spin: [0.5, 8, 0.3]}\n"
        "links:\n  - joint: {kind: revolute, input: {kind: constant, value: 2}}\n    length: 1\n"
        "    section: {mass_per_length: 1, EIz: 200}\n"
        "    shapes: {kind: loaded, bending_y: 1}\n"
    )
    run = flexarm.simulate(arm, t_end=1.0, method="rk4", dt=2e-3)
    reference = flexarm.simulate(arm, t_end=1.0, method="dop853", rtol=1e-9, dt=2e-3)
    assert len({reference_attitude.tobytes() for reference_attitude in run.reference_attitudes}) > 2
    assert error(run, reference) < 1e-3
    assert run.statistics.steps < 20_000


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "values",
    [drive(1e4), pytest.param(drive(100.0), marks=pytest.mark.campaign), HOLDING],
    ids=["hard", "soft", "spring"],
)
def test_rk4_steps_within_the_fastest_decay(values: dict[str, Any]) -> None:
    arm = changed("driven-link-payload", values)
    run = flexarm.simulate(arm, t_end=0.1, method="rk4", dt=2e-4)
    assert run.status == "finished"
    reference = flexarm.simulate(arm, t_end=0.1, method="rodas4", rtol=1e-8, dt=2e-4)
    assert error(run, reference) < 1e-3
    with pytest.raises(flexarm.SimulationError, match=r"rk4\. The fastest decay, by damping"):
        flexarm.simulate(arm, t_end=0.1, method="rk4", step=5e-3)
    step = 0.99 * STABLE / task_of(arm).vibration.largest
    assert flexarm.simulate(arm, t_end=0.1, method="rk4", step=step).status == "finished"


def test_rk4_steps_within_the_slope_of_friction_that_comes_to_rest() -> None:
    """At the start it slips, and has next to none."""
    arm = one_joint(friction={"coulomb": 3.0, "smoothing": 1e-3}, start={"speed": 2.0})
    with pytest.raises(
        flexarm.SimulationError, match=r"by damping \(3000 1/s\), needs a step of at most"
    ):
        flexarm.simulate(arm, t_end=2.0, method="rk4", step=2e-3)
    run = flexarm.simulate(arm, t_end=2.0, method="rk4", step=8e-4, dt=0.02)
    assert abs(run.v[-1]) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("method", ["rodas4", "dop853"])
def test_rounding_is_no_error_of_a_step(method: str) -> None:
    """A motor turned by 1.5 rad, which holds a link whose wind-up is 1e-10 rad.

    What digits leave out of its angle, times the stiffness, shakes it by more than 1e-6 of that.
    """
    target = {"kind": "cycloid", "start": 1.5, "end": 1.9, "duration": 20.0}
    arm = one_joint(
        drive={"rotor_inertia": 5.0, "gear_ratio": 1.0, "stiffness": 1.33e6},
        servo={"stiffness": 1e5, "damping": 3e5, "target": target}, start={"position": 1.5},
    )  # fmt: skip
    run = flexarm.simulate(arm, t_end=0.1, dt=0.1, method=method, rtol=1e-6)
    assert run.statistics.steps + run.statistics.rejections < 1500
    turned = 0.4 * 2 * np.pi / 20.0**2 * np.sin(2 * np.pi * 0.1 / 20.0)  # [rad/s^2] of a cycloid
    wound = run.q[-1, 0] - run.q[-1, 1]  # and vibrates about it by 1.3e-12 rad
    assert wound == pytest.approx(turned / 1.33e6, abs=2e-12)


@pytest.mark.parametrize(("method", "rtol"), [("rodas4", 1e-8), ("dop853", 1e-9)])
def test_rounding_does_not_make_steps_cycle(method: str, rtol: float) -> None:
    """An error that counts only beyond rounding lets steps grow until they are rejected."""
    drive = {"rotor_inertia": 1.0, "gear_ratio": 1.0, "stiffness": 1e6}
    push = {"kind": "sine", "amplitude": 20.0, "frequency": 1.01}
    arm = one_joint(drive=drive, input=push, start={"position": 1.5})
    spent = flexarm.simulate(arm, t_end=0.2, dt=0.01, method=method, rtol=rtol).statistics
    assert spent.rejections < 0.02 * spent.steps


def test_a_pilot_whose_trials_are_all_rejected_would_never_arrive() -> None:
    pilot = TrialRun(task_of(flexarm.example_arm("driven-link")), METHODS["dop853"], 1e-3, None)
    pilot.march.tolerance, pilot.march.smallest = 1e-300, 0.0
    assert pilot.go(0.1, 0.0) == np.inf


@pytest.mark.parametrize(("explicit", "heats"), [(1.4, 4), (1.6, 1)])
def test_who_is_behind_an_implicit_method_at_its_slowest_is_out(
    explicit: float, heats: int
) -> None:
    class Runner:
        march, begin = SimpleNamespace(t=np.inf), 0.0

        def __init__(self, name: str, work: float) -> None:
            self.name, self.work, self.slow_at_first = name, work, name == "rodas4"
            self.heats = 0

        def go(self, *limits: float) -> float:
            self.heats += 1
            return self.work

    running = [Runner("rodas4", 1.0), Runner("dop853", explicit)]
    race(cast(Any, running), 1.0)
    assert [each.heats for each in running] == [heats, heats]


@pytest.mark.parametrize("ratio", [0.0, 0.1, 0.3, 0.54, 0.8, 0.99])
def test_the_largest_step_of_rk4_is_stable_at_any_damping(ratio: float) -> None:
    z = STABLE * (-ratio + 1j * np.sqrt(1 - ratio**2))
    assert abs(1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24) <= 1


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "damping", "rtol"),
    [
        ("driven-link-payload", 0.1, 1e-6),
        ("driven-link-payload", 0.2, 1e-5),
        ("driven-link-payload", 0.5, 1e-5),
        ("driven-link-payload", 0.5, 1e-6),
        ("driven-link", 0.5, 1e-5),
    ],
)
def test_dop853_is_within_the_tolerance_between_its_steps(
    name: str, damping: float, rtol: float
) -> None:
    arm = changed(name, {"links.1.damping": damping})
    options: dict[str, Any] = {"t_end": 1.5, "dt": 1.5 / 400, "method": "dop853"}
    reference = flexarm.simulate(arm, rtol=1e-11, **options)
    assert error(flexarm.simulate(arm, rtol=rtol, **options), reference) < rtol
