"""Cost of a run: by a trial of its steps, with the arm's shapes and with half of them."""

import numpy as np
import pytest

import flexarm
from flexarm.check.check import check, half_the_shapes
from flexarm.integrate.choice import choose as effort
from flexarm.integrate.choice.choose import by_count
from flexarm.integrate.constants import OPERATION_TIME
from flexarm.integrate.methods import METHODS
from flexarm.integrate.task import prepare
from flexarm.io.model_file import loads

LINK = """
flexarm: 1
name: link
gravity: [0, 0, 0]
payload: {mass: 0.3}
links:
  - joint: {kind: revolute}
    length: 1
    section: {mass_per_length: 1, EIz: 30}
"""


def test_halves_are_rounded_up_and_one_shape_is_left_alone() -> None:
    arm = loads(LINK)
    (counts,) = half_the_shapes(arm).values()
    assert counts == {"bending_y": 2, "bending_z": 0, "torsion": 0, "stretch": 0}
    one = flexarm.change_arm(arm, {"links.1.shapes": {"kind": "loaded", "bending_y": 1}})
    assert half_the_shapes(one) == {}
    assert len(check(one).costs) == 1


def test_fewer_shapes_cost_less_and_change_the_frequencies_as_such_an_arm_has_them() -> None:
    arm = loads(LINK)
    own, fewer = check(arm).costs
    assert (own.coordinates, fewer.coordinates) == (5, 3)
    assert own.seconds > fewer.seconds > 0
    assert (own.frequency_change, own.shapes) == (0.0, {})
    changed = flexarm.change_arm(arm, {"links.1.shapes": {"kind": "arm-modes", "bending_y": 2}})
    assert fewer.shapes["link1"]["bending_y"] == 2
    (again, _) = check(changed).costs
    assert again.seconds == fewer.seconds
    frequencies = [
        [mode.frequency.hz for mode in check(each).modes_free or ()] for each in (arm, changed)
    ]
    (slowest, *_), (other, *_) = frequencies
    assert fewer.frequency_change == pytest.approx(abs(other / slowest - 1), abs=1e-12)


def test_a_rigid_arm_has_the_cost_of_its_shapes_alone() -> None:
    assert [each.method for each in check(flexarm.example_arm("puma-560")).costs] == ["dop853"]


def test_modes_that_fewer_shapes_leave_out_are_not_compared_with_others() -> None:
    own, fewer = check(flexarm.example_arm("spin-up-beam")).costs
    assert own.frequency_change == 0.0
    assert fewer.frequency_change < 0.1


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["driven-link", "korayem-two-link"])  # by etd4, by dop853
def test_steps_are_those_of_a_run(name: str) -> None:
    """The trial goes all the way; nothing is left to a rule."""
    arm = flexarm.example_arm(name)
    own, *_ = check(arm).costs
    run = flexarm.simulate(arm, t_end=1.0, dt=1.0)
    assert own.method == run.method
    taken = run.statistics.steps + run.statistics.rejections
    assert own.steps == pytest.approx(taken, rel=0.02)
    task = prepare(flexarm.build(arm), np.array([0.0, 1.0]))
    assert own.seconds == pytest.approx(by_count(task, METHODS[own.method], taken), rel=0.3)


def test_a_trial_that_is_cut_short_says_what_all_of_the_run_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arm = flexarm.example_arm("korayem-two-link")
    (whole,) = check(arm).costs
    monkeypatch.setattr(effort, "FORECAST_OPERATIONS", 0.5 * whole.seconds / OPERATION_TIME)
    (part,) = check(arm).costs
    assert part.steps != whole.steps
    assert part.steps == pytest.approx(whole.steps, rel=0.2)


def test_an_arm_that_names_its_shapes_is_not_halved() -> None:
    arm = flexarm.change_arm(loads(LINK), {"links.1.damping": [0.01, 0.02, 0.03]})
    assert len(check(arm).costs) == 1


def test_an_arm_without_inertia_has_no_costs() -> None:
    text = "{joint: {kind: revolute, axis: [1, 0, 0]}, length: 1, body: {mass: 1, com: [1, 0, 0]}}"
    assert check(loads(f"flexarm: 1\nname: on its axis\nlinks: [{text}]")).costs == ()
