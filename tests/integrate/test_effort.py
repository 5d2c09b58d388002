"""A run says beforehand that it will take long, and why; what takes hours does not begin."""

import re
import warnings
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.errors import LongRun
from flexarm.integrate.choice import choose as effort
from flexarm.integrate.choice.choose import consider, preparation, shape_numbers, solution
from flexarm.integrate.constants import PROBED_TIME
from flexarm.integrate.methods import METHODS
from flexarm.integrate.mission.hybrid import HybridSimulation
from flexarm.integrate.task import equation_of, prepare
from flexarm.io.model_file import loads
from flexarm.model import build
from tests.physics.cases import LONG, distinct_samples

HARD_SPRINGS = {f"links.{k}.joint.spring": {"stiffness": 1e12} for k in (1, 2)}
STIFF = {f"links.{k}.section.EIz": 1e14 for k in (1, 2)}
FAST = {"links.1.joint.input": {"kind": "sine", "amplitude": 1, "frequency": 1e9}}
SPINNING = {"links.1.joint.start": {"speed": 1e6}}
MANY = {f"links.{k}.shapes": {"kind": "elements", "bending_y": 50} for k in (1, 2)}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "values", "t_end", "cause"),
    [
        ("korayem-two-link", STIFF, 1000.0, r"elastic modes of .* softer or rigid"),
        ("korayem-two-link", HARD_SPRINGS, 200.0, r"elastic modes of .* softer or rigid"),
        ("driven-link", FAST, 10.0, r"inputs of 6\.28e\+09 rad/s\. .* Leave them out"),
        ("driven-link", SPINNING, 1e3, r"a turning joint of 1e\+06 rad/s\. Shorten the run"),
    ],
    ids=["EI 1e14", "springs 1e12", "1e9 Hz", "spinning"],
)
def test_what_would_take_hours_is_refused(
    name: str, values: dict[str, Any], t_end: float, cause: str
) -> None:
    arm = flexarm.change_arm(flexarm.example_arm(name), values)
    with pytest.raises(
        flexarm.SimulationError, match=rf"^the run would take about .*{cause}.* --yes"
    ):
        flexarm.simulate(arm, t_end=t_end)


def test_many_elements_are_said_before_they_are_built() -> None:
    arm = flexarm.change_arm(flexarm.example_arm("korayem-two-link"), MANY)
    with pytest.warns(LongRun, match=r"Link 1 has 100 elastic coordinates, .* Use fewer elements"):
        consider([preparation(arm, 501)], allow_long=False)


def test_samples_that_do_not_fit_into_memory_are_refused() -> None:
    arm = flexarm.example_arm("chain-30")
    with pytest.raises(
        flexarm.SimulationError, match=r"and \d+ GB\. Its 10000001 samples .* larger dt"
    ):
        flexarm.simulate(arm, t_end=10.0, dt=1e-6)


def test_a_long_run_says_so_and_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = flexarm.example_arm("driven-link")
    monkeypatch.setattr(effort, "NOTED_CPU_TIME", 0.0)
    with pytest.warns(
        LongRun, match=r"the run would take about .* s of CPU. .* elastic modes .* shorten the run"
    ):
        run = flexarm.simulate(arm, t_end=0.1)
    assert run.status == "finished"
    monkeypatch.setattr(effort, "MOST_CPU_TIME", 1e-9)
    with pytest.raises(flexarm.SimulationError, match="allow_long=True"):
        flexarm.simulate(arm, t_end=0.1)
    with pytest.warns(LongRun):
        assert flexarm.simulate(arm, t_end=0.1, allow_long=True).status == "finished"


def test_many_runs_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    arm, starts = flexarm.example_arm("driven-link"), [{"joint1": 0.1 * k} for k in range(20)]
    size, samples = 2 * build(arm).size + 4, 3_000_001
    said = rf"about {20 * samples * size * 8 / 1e9:.2g}\d* GB for 20 runs. 20 runs keep {samples}"
    with pytest.raises(flexarm.SimulationError, match=said):
        flexarm.simulate_many(arm, t_end=3.0, dt=1e-6, starts=starts)
    task = prepare(build(arm), np.linspace(0.0, 1.0, 101))
    one = solution(task, METHODS["dop853"], 1e-3, duration=1.0, step=None, period=None).seconds
    monkeypatch.setattr(effort, "TRACING_TIME", 0.0)
    monkeypatch.setattr(effort, "BUILDING_TIME", 0.0)
    monkeypatch.setattr(effort, "MOST_CPU_TIME", 10 * one)
    monkeypatch.setattr(effort, "NOTED_CPU_TIME", 10 * one)
    with pytest.raises(flexarm.SimulationError, match="of CPU for 20 runs"):
        flexarm.simulate_many(arm, t_end=1.0, starts=starts, method="dop853")
    assert len(flexarm.simulate_many(arm, t_end=1.0, starts=starts[:2], method="dop853")) == 2


@pytest.mark.parametrize(
    "name",
    [
        "driven-link",
        pytest.param("count-6-6-3", marks=pytest.mark.campaign),
        "tg-rr",
        pytest.param("chen-two-link", marks=pytest.mark.campaign),
    ],
)
def test_the_estimate_is_right_within_a_factor_of_ten(name: str) -> None:
    """Compare steps: how long one takes depends on the machine."""
    arm = flexarm.example_arm(name)
    for t_end in (0.5, 5.0):
        run = flexarm.simulate(arm, t_end=t_end)
        task, method = prepare(run.model, run.t), METHODS[run.method]
        many = solution(task, method, 1e-3, duration=t_end, step=None, period=None, runs=150)
        found = re.match(r"(\S+) steps of", many.cause)
        assert found is not None
        taken = run.statistics.steps + run.statistics.rejections
        # Below that nothing is tried: an arm at rest takes next to nothing.
        small = PROBED_TIME / 150 / effort.by_count(task, method, 1.0)
        assert 0.1 < (float(found[1]) + small) / (taken + small) < 10


@pytest.mark.few(6)
@pytest.mark.parametrize("name", distinct_samples(LONG))
def test_no_sample_is_called_long(name: str) -> None:
    arm = flexarm.example_arm(name)
    model = build(arm)
    numbers = [len(range(*part.modes.indices(model.size))) for part in model.links]
    assert shape_numbers(arm) == numbers
    assert preparation(arm, 501).seconds < 20


def test_an_ordinary_run_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flexarm.simulate(flexarm.example_arm("driven-link"), t_end=2.0)


def braked(joints: int, *events: str) -> Arm:
    """Make rigid links that turn about z, each with a brake that can slip."""
    link = (
        "  - joint: {kind: revolute, start: {speed: SPEED}, brake: {effort: 50, closed: false}}\n"
        "    length: 1\n    body: {mass: 1, com: [0.5, 0, 0], inertia: [0, 0, 0.1]}\n"
    )
    links = "".join(link.replace("SPEED", str(0.5 + k)) for k in range(joints))
    return loads(
        f"flexarm: 1\nname: braked\nlinks:\n{links}"
        + "".join(["events:\n"] * bool(events) + [*events])
    )


def test_legs_that_brakes_make_are_counted_before_the_run() -> None:
    """One for every joint that stops; what is after the end, or known, is none."""
    arm = braked(
        2,
        "  - {at: 0.01, brake: [joint1, joint2]}\n",
        "  - {at: 0.6, release: [joint1, joint2]}\n",
        "  - {at: 2, brake: [joint1]}\n",
    )
    run = flexarm.simulate(arm, t_end=1.0)
    assert run.status == "finished"
    hybrid = HybridSimulation(flexarm.build(arm), {}, 1.0, equation_of)
    assert hybrid.expected_phases() == len({phase.held for phase in run.phases}) - 1 == 2
    assert HybridSimulation(flexarm.build(braked(1)), {}, 1.0, equation_of).expected_phases() == 0


def test_compiling_legs_counts_as_time(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = braked(3, "  - {at: 0.001, brake: [joint1, joint2, joint3]}\n")
    alone = flexarm.change_arm(arm, {"events": []})
    once = effort.preparation(arm, 0).seconds
    monkeypatch.setattr(effort, "NOTED_CPU_TIME", 2.5 * once)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flexarm.simulate(alone, t_end=0.002)
    with pytest.warns(LongRun, match="3 phases between events have equations of their own"):
        flexarm.simulate(arm, t_end=0.002)
