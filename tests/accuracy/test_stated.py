"""Computed errors of runs are no less than the true ones, and not much more."""

from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import flexarm
from flexarm.accuracy.integration import IntegrationError
from flexarm.accuracy.stated import RicherRuns, RunErrors
from flexarm.arm import Arm
from flexarm.engine.functions import keep_note
from flexarm.io.model_file import loads
from flexarm.runs.run import Run
from flexarm.studies.bases import differences
from tests.accuracy.motions import cases, converged
from tests.integrate.mission_arms import one_joint

pytestmark = pytest.mark.usefixtures("little_effort")
SAMPLE = ("random 13",)


@cache
def compared(name: str) -> tuple[float, RunErrors]:
    """Give the true error of a run with defaults, and those that it states."""
    case = cases()[name]
    arm = case.make()
    run, truth = case.run(arm), case.run(converged(arm), 1e-6)
    assert (run.status, truth.status) == ("finished", "finished")
    return max(differences(run, truth).values()), run.errors


def stated(errors: RunErrors) -> float:
    """Sum the errors but shear and strain, which the truth does not have either."""
    assert errors.total is not None
    assert errors.model is not None
    parts = [errors.parts[name] for name in ("theory", "stiffness")]
    return sum(part or 0.0 for part in parts) + (errors.shapes or 0.0) + (errors.integration or 0.0)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.campaign) for name in cases()],
)
def test_stated_errors_are_no_less_than_the_true_error(name: str) -> None:
    true, errors = compared(name)
    assert stated(errors) >= true


def test_stated_errors_of_the_sample_are_not_much_more_than_the_true_ones() -> None:
    for true, errors in map(compared, SAMPLE):
        assert stated(errors) <= 2 * true + 1e-3  # what the tolerance leaves


@pytest.mark.campaign
def test_half_of_all_stated_errors_are_within_twice_the_true_ones() -> None:
    ratios = [stated(errors) / true for true, errors in map(compared, cases())]
    assert np.median(ratios) < 2


@pytest.mark.campaign
def test_twist_that_bending_both_ways_causes_is_judged() -> None:
    """Linear theory has none: in a beam of two stiffnesses it is of their difference."""
    text = (
        "flexarm: 1\nname: oblique\ngravity: [0, -7, -7]\npayload: {mass: 1}\nlinks:\n"
        "  - {joint: {kind: fixed}, length: 1, damping: 0.02, section: {material: {E: 2e8,"
        " density: 8, nu: 0.3}, shape: {kind: rectangle, width: 0.04, height: 0.08}},"
        " shapes: {kind: polynomials, bending_y: 2, bending_z: 2, torsion: TWIST}}\n"
    )
    run, truth = (
        flexarm.simulate(loads(text.replace("TWIST", twist)), t_end=0.3, dt=1e-3, rtol=1e-5)
        for twist in ("1", "3")
    )
    true = max(differences(run, truth).values())
    assert 1e-4 < true <= computed(run) < 1.1 * true


def computed(run: Run) -> float:
    """Compute the error of a run's shapes by further runs."""
    errors = replace(run, judged="computed").errors
    assert errors.shapes is not None
    assert errors.compared is not None
    assert errors.compared.converged
    return errors.shapes


def on_polynomials(arm: Arm) -> Arm:
    """Put an arm on four shapes per link that have what joints let through."""
    shapes = {"kind": "polynomials", "bending_y": 4}
    keys = [f"links.{k}.shapes" for k in range(1, len(arm.links) + 1)]
    return flexarm.change_arm(arm, dict.fromkeys(keys, shapes))


@pytest.mark.campaign
def test_servos_hold_the_arm_with_more_shapes_too() -> None:
    """Joints that were free to yield to what is left in these would hide half of it."""
    case = cases()["servos, clamped-free"]
    arm = case.make()
    run = case.run(arm)
    true = max(differences(run, case.run(on_polynomials(arm))).values())
    assert 0.01 < true <= computed(run) < 2 * true


@pytest.mark.campaign
def test_damping_of_a_link_is_no_error_of_its_shapes() -> None:
    """Added shapes that its modes' damping did not reach would be pushed by all of it."""
    arm = loads(
        "flexarm: 1\nname: damped\ngravity: [0, 0, 0]\nlinks:\n"
        "  - {joint: {kind: revolute, hub: {outboard: {inertia: [0, 0, 0.01]}},"
        " input: {kind: sine, amplitude: 1, frequency: 2}}, length: 1, damping: 0.05,"
        " section: {mass_per_length: 1, EIz: 100}, shapes: {kind: loaded, bending_y: 2}}\n"
    )
    run, truth = (
        flexarm.simulate(each, t_end=0.2, dt=5e-4, rtol=1e-5) for each in (arm, converged(arm, 2))
    )
    true = max(differences(run, truth).values())
    assert true <= computed(run) < 2 * true


@pytest.mark.campaign
def test_an_impact_excites_more_shapes() -> None:
    arm = loads(
        "flexarm: 1\nname: stopped\ngravity: [0, -9.81, 0]\npayload: {mass: 1}\nlinks:\n"
        "  - {joint: {kind: revolute, brake: {closed: false}, start: {speed: 1}}, length: 1,"
        " damping: 0.01, section: {mass_per_length: 1, EIz: 1000},"
        " shapes: {kind: clamped-free, bending_y: 1}}\n"
        "events: [{at: 0.1, brake: [joint1]}]\n"
    )
    pair = (arm, on_polynomials(arm))
    run, truth = (flexarm.simulate(each, t_end=0.3, dt=5e-4) for each in pair)
    true = max(differences(run, truth).values())
    assert 0.005 < true <= computed(run) < 2 * true


def test_why_shapes_are_not_judged_is_said() -> None:
    run = flexarm.simulate(flexarm.example_arm("telescope"), t_end=0.01)
    assert run.errors.shapes is None
    assert run.errors.lines()[1].endswith("which compares more shapes")  # fmt: skip


def test_what_is_said_of_one_link_is_not_said_of_another() -> None:
    arm = loads(
        "flexarm: 1\nname: two\ngravity: [0, -9.81, 0]\nstiffening: false\nlinks:\n"
        "  - {joint: {kind: revolute, actuation: free}, length: 0.3,"
        " section: {mass_per_length: 1, EIz: 500}, shapes: {kind: lumped, bending_y: 2}}\n"
        "  - {joint: {kind: revolute, actuation: free}, length: 1,"
        " section: {mass_per_length: 1, EIz: 3}, shapes: {kind: clamped-free, bending_y: 1}}\n"
    )
    model, shapes, _ = flexarm.simulate(arm, t_end=0.4, dt=0.01).errors.lines()
    assert "link1: it is lumped" in shapes
    assert model.startswith("error of the model: may exceed 100 %")
    assert "switch stiffening on" in model
    assert "lumped" not in model


@pytest.mark.campaign
def test_nodes_of_limp_links_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    one = (
        "  - {joint: {kind: revolute, actuation: free}, length: 0.6,"
        " section: {mass_per_length: 0.5, EIz: 1}, shapes: {kind: loaded, bending_y: 2}}\n"
    )
    arm = loads(f"flexarm: 1\nname: limp\ngravity: [0, -9.81, 0]\nlinks:\n{one}{one}")
    run = flexarm.simulate(arm, t_end=0.4, dt=2e-3, rtol=1e-6)
    monkeypatch.setattr("flexarm.model.elastic.chosen_nodes", lambda *_: 8)
    many = flexarm.simulate(arm, t_end=0.4, dt=2e-3, rtol=1e-6)
    true, shapes = max(differences(run, many).values()), computed(run)
    assert shapes > 0
    assert 1e-5 < true < shapes


def test_integration_is_judged_by_a_closer_solution() -> None:
    arm = flexarm.example_arm("deluca-siciliano")
    arm = flexarm.change_arm(arm, {"gravity": [0, -9.81, 0], "stiffening": True})
    run = flexarm.simulate(arm, t_end=0.2, dt=1e-3, rtol=1e-2)
    tight = flexarm.simulate(arm, t_end=0.2, dt=1e-3, rtol=1e-8)
    found = run.errors.integration
    assert found is not None
    assert max(differences(run, tight).values()) <= found < 2 * 1e-2


BRAKED = """
flexarm: 1
name: braked
gravity: [0, -9.81, 0]
links:
  - {joint: {kind: revolute, brake: {closed: false, effort: 20}}, length: 1, damping: 0.01,
     section: {mass_per_length: 1, EIz: 100}, shapes: {kind: loaded, bending_y: 2}}
events: [{at: 0.2, brake: [joint1]}, {at: 0.5, release: [joint1]}]
"""


@pytest.mark.parametrize("rtol", [1e-2, 1e-3])
def test_integration_is_judged_across_events_and_brakes_that_slip(rtol: float) -> None:
    arm = loads(BRAKED)
    run, tight = (flexarm.simulate(arm, t_end=0.7, dt=2e-3, rtol=x) for x in (rtol, 1e-9))
    count = min(len(run.t), len(tight.t))
    rows = [np.unique(np.round(each.t, 9), return_index=True) for each in (run, tight)]
    _, mine, theirs = np.intersect1d(rows[0][0], rows[1][0], return_indices=True)
    assert len(mine) > 0.9 * count
    own, exact = run.q[rows[0][1][mine]], tight.q[rows[1][1][theirs]]
    off = np.abs(own - exact).max(axis=0) / np.ptp(exact, axis=0)
    assert run.errors.integration is not None
    assert off.max() <= run.errors.integration < 2 * off.max() + 0.02 * rtol


def test_slow_machines_state_the_same_error_of_the_integration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arm, clock = flexarm.example_arm("driven-link"), count(0.0, 10.0)
    monkeypatch.setattr("time.process_time", lambda: 0.0)
    run = flexarm.simulate(arm, t_end=0.05, dt=1e-3)
    monkeypatch.setattr("time.process_time", lambda: next(clock))
    slow = flexarm.simulate(arm, t_end=0.05, dt=1e-3)
    assert slow.statistics.cpu_seconds > 1 > run.statistics.cpu_seconds
    assert slow.errors.integration == run.errors.integration
    monkeypatch.setattr("flexarm.accuracy.constants.REPEATED_SECONDS", 1e-9)
    dear = flexarm.simulate(arm, t_end=0.05, dt=1e-3).errors
    assert dear.integration is None
    assert dear.lines()[-1].endswith("not computed, the tolerance is 0.1 %")


def test_a_closer_solution_that_is_interrupted_judges_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    run = flexarm.simulate(flexarm.example_arm("driven-link"), t_end=0.05, dt=1e-3)
    with monkeypatch.context() as interrupted:
        interrupted.setattr("flexarm.integrate.solve._integrate", stop)
        with pytest.raises(KeyboardInterrupt):
            assert run.errors
    assert run.errors.integration is not None
    assert 0 < run.errors.integration < run.rtol


@pytest.mark.parametrize(
    ("method", "rtol"), [("dop853", 1e-3), ("dop853", 1e-10), ("rodas4", 1e-8)]
)
def test_rounding_of_wind_ups_is_stated(method: str, rtol: float) -> None:
    """The same motion from 0 rad has a hundred thousand times the digits for its wind-up."""

    def run(place: float, method: str, rtol: float) -> Run:
        drive = {"rotor_inertia": 20.0, "gear_ratio": 1.0, "stiffness": 1e6}
        push = {"kind": "sine", "amplitude": 20.0, "frequency": 1.0}
        arm = one_joint(drive=drive, input=push, start={"position": place})
        return flexarm.simulate(arm, t_end=0.5, dt=5e-3, method=method, rtol=rtol)

    found = run(-2.0, method, rtol)
    wound, exact = (x.q[:, 0] - x.q[:, 1] for x in (found, run(0.0, "dop853", 1e-12)))
    true, errors = np.abs(wound - exact).max() / np.ptp(exact), found.errors
    assert errors.integration is not None
    assert true <= errors.integration < 30 * true
    assert ("most of it is rounding" in errors.lines()[2]) == (rtol < 1e-3)


def test_without_a_tolerance_nothing_is_said_of_the_integration() -> None:
    run = flexarm.simulate(flexarm.example_arm("driven-link"), t_end=0.05, method="rk4", step=1e-4)
    assert run.errors.integration is None
    assert run.errors.total is None


PENDULUM = """
flexarm: 1
name: pendulum
gravity: [9.81, 0, 0]
links:
  - joint: {kind: revolute, actuation: free, start: {position: 1}}
    length: 1
    body: {mass: 1, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1]}
"""


def test_long_swings_of_rigid_arms_state_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps that keep the tolerance lose energy, and so the pendulum's phase."""
    arm = loads(PENDULUM)
    with monkeypatch.context() as once:  # as long runs are solved
        once.setattr("flexarm.integrate.simulate.solve_until_kept",
                     lambda tolerance, solve, *_: (*solve(tolerance), tolerance))  # fmt: skip
        runs = {t: flexarm.simulate(arm, t_end=t, dt=t / 50) for t in (20, 500, 5000)}
    for t, run in runs.items():
        truth = flexarm.simulate(arm, t_end=t, dt=t / 50, rtol=1e-10)
        off = np.abs(run.q[:, 0] - truth.q[:, 0]) / np.ptp(truth.q)
        solved = run.errors.solved
        assert solved.error is not None
        assert off.max() <= solved.error <= 1.2 * off.max() + 1e-4
        assert (solved.error > run.rtol) == (t > 20) == solved.beyond
        assert ("beyond the tolerance" in run.errors.lines()[-1]) == solved.beyond
        assert (solved.kept_until is not None) == solved.beyond
        kept = run.t <= (t if solved.kept_until is None else solved.kept_until)
        assert off[kept].max() <= run.rtol
        assert solved.kept_until is None or off[run.t <= 1.1 * solved.kept_until].max() > 5e-4
        assert bool(run.unbalanced) == (run.energy_balance > run.rtol) == (t > 500)
    without = replace(runs[5000], repetition=None).errors  # as of a run that takes long
    assert without.integration == runs[5000].energy_balance
    assert without.solved.at_least
    assert "% of the motion or more" in without.lines()[-1]
    assert "the energy balance is off by" in repr(runs[5000])


def test_the_integration_of_a_rigid_arm_is_unknown_if_it_is_not_repeated() -> None:
    run = flexarm.simulate(one_joint(start={"speed": 1.0}), t_end=1.0)
    errors = replace(run, repetition=None).errors
    assert (errors.model, errors.shapes, errors.integration) == (0.0, 0.0, None)
    assert run.errors.integration is not None
    assert 0 < run.errors.integration < run.rtol


@pytest.mark.campaign
def test_directions_without_shapes_count_as_the_models_error() -> None:
    arm = loads(
        "flexarm: 1\nname: strip\ngravity: [0, -9.81, 0]\nlinks:\n"
        "  - joint: {kind: fixed}\n    length: 1\n"
        "    section: {mass_per_length: 1, EIz: 50, EA: 2000}\n"
        "    shapes: {kind: loaded, bending_y: 2, stretch: 0}\n"
        "    wrenches: [{at: tip, force: [20, 0, 0]}]\n"
    )
    run = flexarm.simulate(arm, t_end=0.3, dt=1e-3)
    softer = flexarm.change_arm(arm, {"links.1.shapes.stretch": 3})
    true = max(differences(run, flexarm.simulate(softer, t_end=0.3, dt=1e-3)).values())
    assert 0.01 < true <= computed(run) < 2 * true
    found = flexarm.simulate(arm, t_end=0.3, dt=1e-3, errors="estimated").errors
    assert found.compared is None
    assert found.parts["stiffness"] is not None
    assert 0.3 * true < found.parts["stiffness"] < 3 * true
    assert "--errors computed" in found.lines()[1]


def test_what_the_tip_is_off_is_told_and_whether_the_steps_converge() -> None:
    found = RunErrors(
        0.0,
        0.02,
        IntegrationError(1e-5),
        {"theory": 0.0},
        compared=RicherRuns(0.02, 3e-3, False),
    )
    shapes = found.lines(against=False)[1]
    assert shapes.startswith("error of the shapes: 2 % of the deflections or less, 3 mm at the tip")
    assert "not converged, it may be larger" in shapes
    rough = replace(found, compared=None, estimated=True).lines(against=False)[1]
    assert rough.startswith("error of the shapes: about 2 % of the deflections;")


def test_errors_are_computed_by_default_where_they_were_computed_before_and_are_cheap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEXARM_CACHE", str(tmp_path))
    arm = flexarm.change_arm(flexarm.example_arm("korayem-two-link"), {"payload.mass": 0.0625})
    heavier = flexarm.change_arm(arm, {"payload.mass": 0.0875})
    assert flexarm.simulate(arm, t_end=0.3).errors.estimated
    stated = flexarm.simulate(arm, t_end=0.3, errors="computed").errors
    assert flexarm.simulate(arm, t_end=0.3).errors == stated
    run = flexarm.simulate(heavier, t_end=0.3)
    assert run.repetition is not None
    assert not run.errors.estimated  # another number, the same code
    costly = replace(run.repetition, recipe="of an arm whose richer runs take six times the run")
    keep_note(costly.recipe, "6")
    assert replace(costly, seconds=0.4).is_cheap  # within 3 s
    assert not replace(costly, seconds=0.6).is_cheap
    assert flexarm.simulate(arm, t_end=0.3, errors="estimated").errors.estimated


def test_errors_that_are_off_are_unknown_and_cost_nothing() -> None:
    run = flexarm.simulate(flexarm.example_arm("driven-link"), t_end=0.05, errors="off")
    assert run.errors.total is None
    assert run.errors.why == "errors are off"


def test_estimates_of_vibrations_that_samples_miss_are_unknown() -> None:
    arm = flexarm.example_arm("driven-link")
    run = flexarm.simulate(arm, t_end=1, dt=0.1)
    assert run.missed
    assert run.errors.shapes is None
    assert run.errors.why == run.missed


RUBBER = """
flexarm: 1
name: rubber rod
gravity: [0, -9.81, 0]
links:
  - joint: {kind: revolute, actuation: free}
    length: 1
    section: {material: {E: 5e6, density: 1100, nu: 0.49}, shape: {kind: tube, diameter: 0.01}}
    shapes: {kind: loaded, bending_y: COUNT, bending_z: 0, torsion: 0, stretch: 0}
"""


@pytest.mark.campaign
def test_a_rubber_rod_that_falls_states_the_error_of_its_shapes() -> None:
    *coarse, exact = (
        flexarm.simulate(loads(RUBBER.replace("COUNT", str(n))), t_end=0.5, dt=5e-3, rtol=x)
        for n, x in ((2, 1e-3), (3, 1e-3), (10, 1e-5))
    )
    for run in coarse:
        assert run.validity.slope > 1
        true = max(differences(run, exact).values())
        errors = replace(run, judged="computed").errors  # with 3 shapes the steps do not halve
        assert errors.shapes is not None
        assert errors.integration is not None
        assert true <= errors.shapes + errors.integration < 3 * true


def test_errors_above_the_deflections_are_no_numbers() -> None:
    _, shapes, _ = RunErrors(1e-5, 1.4, IntegrationError(1e-5), {"theory": 1e-5}).lines()
    assert shapes.startswith("error of the shapes: may exceed 100 % of the deflections")
    assert shapes.endswith("run flexarm converge to choose others")


def test_remedies_are_said_of_large_errors_only() -> None:
    parts: dict[str, float | None] = {"theory": 1e-5, "stiffness": 0.05, "section": 0, "strain": 0}
    large, small, unknown = RunErrors(0.05, 1e-4, IntegrationError(None), parts).lines()
    assert large.startswith("error of the model: 5 % of the deflections or less, against beams")
    assert "give the link shapes in every direction" in large
    assert small.endswith("0.01 % of the deflections or less, against the same beams with all "
                          "their shapes")  # fmt: skip
    assert "unknown" in unknown
    assert "--rtol" in unknown
