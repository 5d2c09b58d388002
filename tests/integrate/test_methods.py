"""Integrators: their order, their tolerance, their dense output, what auto takes."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.integrate.choice.choose import by_count, choose
from flexarm.integrate.loop import FINISHED, march
from flexarm.integrate.methods import METHODS
from flexarm.integrate.solve import make_ready, new_state
from flexarm.integrate.task import InitialValueProblem, prepare
from flexarm.model import build
from flexarm.runs.run import Run
from flexarm.spatial import Array
from tests.integrate.arms import fall, fall_with_stretch, hub, rigid_fall, rubbed, slow, stepped
from tests.physics.cases import campaign_if

CASES = {
    "fall": (fall(), 1.0),
    "fall with stretch": (fall_with_stretch(), 0.5),
    "damped fall with stretch": (fall_with_stretch(damping=0.01), 0.5),
    "slow": (slow(), 1.0),
    "stepped": (stepped(), 1.5),
    "hub": (hub(3), 2.5),
    "korayem": (flexarm.example_arm("korayem-two-link"), 1.0),
    "dry friction": (rubbed(), 1.0),
}
# The same with more modes.
LARGE = {
    "large fall with stretch": (fall_with_stretch(2), 0.5),
    "large damped fall with stretch": (fall_with_stretch(3, 0.01), 0.5),
    "large stepped": (stepped(2), 1.5),
    "large hub": (hub(6), 2.5),
}
CASES |= LARGE
MET = [name for name in CASES if name not in ("korayem", "dry friction")]
HARD = ("fall with stretch", "stepped", "hub")  # for every method
ADAPTIVE = [name for name, method in METHODS.items() if method.adaptive]


def task_of(arm: Arm, t_end: float) -> InitialValueProblem:
    return prepare(build(arm), np.linspace(0.0, t_end, 2))


def by_equal_steps(task: InitialValueProblem, name: str, steps: int) -> Array:
    m = make_ready(new_state(task, METHODS[name], 1e-3))
    m.adaptive, m.next_step, m.largest, m.budget = 0, float(task.times[-1]) / steps, np.inf, 10**6
    if march(m) != FINISHED:  # too large a step
        return np.full_like(m.y, np.inf)
    assert m.steps == steps
    return m.y.copy()


def deflection_error(run: Run, reference: Run) -> float:
    """Give the largest error of the tips' deflections over their range."""
    task = prepare(run.model, run.t)
    deflects = np.array(task.measures.deflects)[task.measures.group]
    rows = task.measures.rows[deflects].T
    error = np.abs((run.q - reference.q) @ rows).max()
    return float(error / np.ptp(reference.q @ rows, axis=0).max())


@cache
def fallen(t_end: float, *, rigid: bool) -> tuple[InitialValueProblem, Array]:
    """Return a fall, and how it ends."""
    task = task_of(rigid_fall() if rigid else fall(), t_end)
    return task, by_equal_steps(task, "dop853", int(15000 * t_end))


def measured_order(name: str, t_end: float, *, rigid: bool) -> float:
    """Fit the power of the step that errors at the end fall with, between 1e-6 and 1e-10."""
    task, exact = fallen(t_end, rigid=rigid)
    size = 2 * task.equation.model.size
    steps, errors, count, error = [], [], int((30 if rigid else 300) * t_end), np.inf
    while error > 1e-10 and count < 30_000:
        error = float(np.abs(by_equal_steps(task, name, count) - exact)[:size].max())
        if 1e-10 < error < 1e-6:
            steps.append(count)
            errors.append(error)
        count = int(1.3 * count)
    assert len(errors) >= 4, f"too few errors between 1e-6 and 1e-10: {errors}"
    return float(-np.polyfit(np.log(steps), np.log(errors), 1)[0])


# Errors of an exponential method fall faster where forces hardly depend on the motion.
@pytest.mark.parametrize("name", METHODS)
def test_measured_order_is_the_declared_one(name: str) -> None:
    orders = []
    for t_end, rigid in ((0.2, False), (1.0, False), (1.0, True)):
        orders.append(measured_order(name, t_end, rigid=rigid))
        if abs(orders[-1] - METHODS[name].order) < 0.15:
            return
    pytest.fail(f"declared order {METHODS[name].order}, measured {orders}")


@cache
def reference_of(case: str, rtol: float, dt: float) -> Run:
    """Simulate a case closely."""
    arm, t_end = CASES[case]
    return flexarm.simulate(arm, t_end=t_end, dt=dt, method="dop853", rtol=rtol)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("case", "name"),
    [
        pytest.param(
            case, name, marks=campaign_if(case in LARGE or (name != "auto" and case not in HARD))
        )
        for case in MET
        for name in (*METHODS, "auto")
    ],
)
def test_the_tolerance_is_met(case: str, name: str) -> None:
    arm, t_end = CASES[case]
    reference = reference_of(case, 1e-8, 0.025)
    for rtol in (1e-2, 1e-3):
        run = flexarm.simulate(arm, t_end=t_end, dt=0.025, method=name, rtol=rtol)
        assert run.status == "finished"
        assert deflection_error(run, reference) < rtol


@pytest.mark.parametrize("name", [*METHODS, "auto"])
@pytest.mark.parametrize("rtol", [1e-2, 1e-3])
@pytest.mark.parametrize("case", ["korayem", "dry friction"])
def test_a_long_vibration_and_dry_friction_are_within_the_tolerance(
    case: str, rtol: float, name: str
) -> None:
    arm, t_end = CASES[case]
    run = flexarm.simulate(arm, t_end=t_end, method=name, rtol=rtol, dt=2e-3)
    assert deflection_error(run, reference_of(case, 1e-10, 2e-3)) < rtol


@pytest.mark.parametrize("name", ADAPTIVE)
def test_samples_do_not_cut_steps_and_lie_on_the_solution(name: str) -> None:
    arm = fall()
    few = flexarm.simulate(arm, t_end=0.5, dt=0.5, method=name)
    many = flexarm.simulate(arm, t_end=0.5, dt=0.0005, method=name)
    assert many.statistics.steps == few.statistics.steps
    assert many.q[-1].tolist() == few.q[-1].tolist()
    reference = flexarm.simulate(arm, t_end=0.5, dt=0.0005, method="dop853", rtol=1e-9)
    assert deflection_error(many, reference) < 1e-3
    assert (
        np.abs(many.work_integrals - reference.work_integrals).max()
        < 1e-3 * reference.energy[:, 0].max()
    )


def test_halving_the_tolerance_changes_results_within_it() -> None:
    coarse, fine = (flexarm.simulate(fall(), t_end=1.0, rtol=r, dt=2e-3) for r in (1e-3, 5e-4))
    assert deflection_error(coarse, fine) < 1e-3


@pytest.mark.parametrize("name", [*METHODS, "auto"])
def test_the_same_run_twice_gives_identical_bits(name: str) -> None:
    one, other = (flexarm.simulate(stepped(), t_end=0.5, method=name) for _ in range(2))
    assert one.q.tobytes() == other.q.tobytes()
    assert one.work_integrals.tobytes() == other.work_integrals.tobytes()
    assert one.method == other.method


# Every method on one of two arms, every other one on each; campaigns take all pairs.
@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("arm", "name"),
    [
        pytest.param(arm, name, id=f"{label}-{name}", marks=campaign_if((row + column) % 2 == 1))
        for row, (label, arm) in enumerate({"hub": hub(1), "rubbed": rubbed()}.items())
        for column, name in enumerate(METHODS)
    ],
)
def test_a_method_is_what_its_facts_say_whatever_its_name(
    arm: Arm, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, "twin", replace(METHODS[name], name="twin"))
    one, other = (flexarm.simulate(arm, t_end=0.2, method=m) for m in (name, "twin"))
    assert one.q.tobytes() == other.q.tobytes()
    several = [flexarm.simulate_many(arm, t_end=0.2, method=m, starts=[{}] * 4)[0]
               for m in (name, "twin")]  # fmt: skip
    assert several[0].q.tobytes() == several[1].q.tobytes()


@pytest.mark.parametrize(
    "case", ["hub", *(pytest.param(case, marks=pytest.mark.campaign) for case in LARGE)]
)
def test_auto_takes_about_the_least_work(case: str) -> None:
    arm, t_end = CASES[case]
    task = prepare(build(arm), np.linspace(0.0, t_end, 41))
    chosen, why = choose(task, 1e-3, audit=False)
    work = {}
    for name in ADAPTIVE:
        taken = flexarm.simulate(arm, t_end=t_end, dt=t_end / 40, method=name).statistics
        work[name] = by_count(task, METHODS[name], taken.steps + taken.rejections)
    assert work[chosen.name] < 3 * min(work.values()), (chosen.name, work)
    assert "Hz" in why


def test_an_arm_at_rest_stays_there_by_every_method() -> None:
    arm = flexarm.example_arm("tg-rp")  # a sliding link at 0.65 m: rounding of that is no vibration
    for method in ("etd4", "dop853", "rodas4"):
        run = flexarm.simulate(arm, t_end=0.02, method=method, energy_audit=True)
        assert not run.v.any()
        assert run.energy_balance == 0
        assert run.statistics.steps < 2000


def test_an_energy_audit_that_does_not_close_says_so() -> None:
    arm = fall()
    options: dict[str, Any] = {"t_end": 1.0, "dt": 0.02, "energy_audit": True}
    run = flexarm.simulate(arm, method="rk4", step=2e-3, **options)
    assert run.energy_balance > 1e-8
    assert run.reason.startswith("the energy balance closed to")
    assert flexarm.simulate(arm, **options).reason == ""


def test_an_energy_audit_keeps_the_energy_of_a_long_undamped_run() -> None:
    run = flexarm.simulate(fall(), t_end=20.0, energy_audit=True)
    assert run.method == "dop853"
    assert run.energy_balance < 1e-6


def test_rk4_refuses_a_step_beyond_its_stability_before_it_starts() -> None:
    with pytest.raises(flexarm.SimulationError, match=r"too large for rk4\. The fastest mode \("):
        flexarm.simulate(fall(), t_end=1.0, method="rk4", step=1e-2)


@pytest.mark.parametrize("step", [1e-4, 4e-4, 1e-3])
def test_static_deflection_does_not_depend_on_the_step(step: float) -> None:
    """The weight of a clamped link that has come to rest bends it by m g L^4 / (8 EI)."""
    arm = _cantilever()
    run = flexarm.simulate(arm, t_end=20.0, dt=1.0, method="rk4", step=step)
    tip = prepare(run.model, run.t).measures.rows[-1] @ run.q[-1]
    other = flexarm.simulate(arm, t_end=20.0, dt=1.0)
    assert tip == pytest.approx(prepare(run.model, run.t).measures.rows[-1] @ other.q[-1], rel=1e-6)
    assert tip == pytest.approx(-0.2 * 9.81 / (8 * 100), rel=2e-3)


def _cantilever() -> Arm:
    from flexarm.io.model_file import loads

    return loads(
        "flexarm: 1\nname: cantilever\ngravity: [0, -9.81, 0]\nstiffening: false\nlinks:\n"
        "  - joint: {kind: fixed}\n    length: 1\n    damping: 0.2\n"
        "    section: {mass_per_length: 0.2, EIz: 100}\n"
        "    shapes: {kind: clamped-free, bending_y: 2}\n"
    )
