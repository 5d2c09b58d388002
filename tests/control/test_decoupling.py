"""Under the decoupling law driven joints are the linear oscillators that were asked for."""

from typing import Any, TypedDict

import casadi as ca
import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.control import (
    Timing,
    Trajectory,
    closed_loop_eigenvalues,
    decoupling_law,
    joint_move,
    link_decoupling_law,
    start_at,
)
from flexarm.errors import FlexarmError, ModelError
from flexarm.model import Model
from tests.control.arms import elastic_joint, one_link, two_links


class Gains(TypedDict):
    """Gains of both joints."""

    kp: list[float]
    kd: list[float]


GAINS: Gains = {"kp": [100.0, 64.0], "kd": [12.0, 16.0]}
JOINTS, AMPLITUDES = [0, 2], [1, 3]


def moving(arm: Arm, duration: float = 0.5) -> tuple[Model, Trajectory]:
    """Build an arm and a motion for it."""
    model = flexarm.build(arm)
    return model, joint_move(model, {"joint1": 1.0, "joint2": 0.2}, Timing("cycloid", duration))


@pytest.mark.parametrize("error", [0.0, 0.3])
def test_inputs_are_those_of_the_partitioned_equations_of_the_paper(error: float) -> None:
    _, reference = moving(two_links(gravity=-9.81, damping=0.01))
    laws = [decoupling_law(reference, **GAINS, stiffness_error=error, paper=x)
            for x in (False, True)]  # fmt: skip
    random = np.random.default_rng(1)
    for t in (0.0, 0.2, 0.7):
        q_d, v_d, _ = (each[0] for each in reference.at(t))
        q = q_d + np.array([0.1, 0.01, 0.1, 0.01]) * random.standard_normal(4)
        v = v_d + random.standard_normal(4)
        general, printed = (np.array(law(t, q, v)).ravel() for law in laws)
        np.testing.assert_allclose(general, printed, rtol=1e-12)


def test_partitions_are_for_arms_of_the_paper_alone() -> None:
    model = flexarm.build(elastic_joint())
    motion = joint_move(model, {model.links[0].joint_name: 0.5}, Timing("cycloid", 0.5))
    with pytest.raises(FlexarmError, match=r"driven rigid joints only.*Use paper=False"):
        decoupling_law(motion, kp=1, kd=1, paper=True)


def test_joints_follow_a_fast_motion_to_a_millionth() -> None:
    arm = two_links(gravity=-9.81)
    model, reference = moving(arm, duration=0.3)
    start = start_at(arm, model, reference.path.at(0.0))
    run = flexarm.simulate(start, t_end=0.5, control=decoupling_law(reference, **GAINS), rtol=1e-5)
    assert run.status == "finished"
    assert np.abs(run.q - reference.at(run.t)[0])[:, JOINTS].max() < 1e-6
    assert np.abs(run.q - reference.at(run.t)[0])[:, AMPLITUDES].max() > 1e-3


def test_errors_of_joints_die_out_as_the_second_order_equation_says() -> None:
    """e'' + G_v e' + G_p e = 0 from e = e_0 at rest, whatever the links do meanwhile."""
    arm = two_links(gravity=-9.81)
    model, reference = moving(arm)
    off = np.array([0.2, 0.0, -0.1, 0.0])
    start = start_at(arm, model, reference.path.at(0.0) + off)
    run = flexarm.simulate(start, t_end=0.6, control=decoupling_law(reference, **GAINS), rtol=1e-6)
    errors = (run.q - reference.at(run.t)[0])[:, JOINTS]
    swing = np.exp(-6 * run.t) * (np.cos(8 * run.t) + 6 / 8 * np.sin(8 * run.t))
    creep = np.exp(-8 * run.t) * (1 + 8 * run.t)
    np.testing.assert_allclose(errors[:, 0], 0.2 * swing, atol=2e-6)
    np.testing.assert_allclose(errors[:, 1], -0.1 * creep, atol=2e-6)


def test_the_poles_asked_for_are_eigenvalues_at_every_state_of_a_run() -> None:
    arm = two_links(gravity=-9.81)
    model, reference = moving(arm)
    law = decoupling_law(reference, **GAINS)
    start = start_at(arm, model, reference.path.at(0.0))
    run = flexarm.simulate(start, t_end=0.6, dt=0.05, control=law)
    values = closed_loop_eigenvalues(law, run)
    assert values.shape == (13, 8)
    for pole, accuracy in ((-6 + 8j, 1e-6), (-6 - 8j, 1e-6), (-8, 1e-3)):  # -8 is double
        assert np.abs(values - pole).min(axis=1).max() < accuracy
    rest = values[np.abs(values) > 12]
    assert rest.size == 13 * 4  # two undamped vibrations at each of 13 states
    assert np.all(np.abs(rest.imag) > 5 * np.abs(rest.real))


def test_eigenvalues_keep_their_column_along_a_run() -> None:
    arm = two_links()
    _, reference = moving(arm)
    law = decoupling_law(reference, **GAINS)
    run = flexarm.simulate(arm, t_end=0.5, dt=0.01, control=law)
    values = closed_loop_eigenvalues(law, run, every=2)
    jumps = np.abs(np.diff(values, axis=0))
    assert jumps.max() < 0.1 * np.abs(values).max()


def test_a_law_that_knows_less_of_the_links_loses_the_joints() -> None:
    arm = two_links(gravity=-9.81)
    model, reference = moving(arm)
    start = start_at(arm, model, reference.path.at(0.0))
    law = decoupling_law(reference, **GAINS, stiffness_error=0.2)
    run = flexarm.simulate(start, t_end=0.5, control=law)
    assert np.abs(run.q - reference.at(run.t)[0])[:, JOINTS].max() > 1e-4


def test_the_link_side_of_an_elastic_joint_gets_the_four_poles_asked_for() -> None:
    arm = elastic_joint(gravity=-9.81)
    model = flexarm.build(arm)
    reference = joint_move(model, {"joint1": 1.0}, Timing("septic", 1.0))
    poles = (-5, -6, -7 + 2j, -7 - 2j)
    law = link_decoupling_law(reference, poles=poles)
    start = start_at(arm, model, reference.path.at(0.0))
    run = flexarm.simulate(start, t_end=1.5, dt=0.1, control=law, rtol=1e-6)
    link = model.names.index("joint1")
    assert np.abs(run.q - reference.at(run.t)[0])[:, link].max() < 1e-5
    rest = (run.t == 0) | (run.t > 1.05)  # only there the law is linear in the state
    values = closed_loop_eigenvalues(law, run)[rest]
    for pole in poles:
        assert np.abs(values - pole).min(axis=1).max() < 1e-4


def test_a_rigid_joint_has_no_link_side_of_its_own() -> None:
    reference = joint_move(flexarm.build(one_link()), {"joint1": 1.0}, Timing("quintic", 1.0))
    with pytest.raises(ModelError, match="an elastic transmission in every driven joint"):
        link_decoupling_law(reference, poles=(-1, -2, -3, -4))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kp": [1.0, 2.0, 3.0]}, r"kp: must be one number or 2 \(joint1, joint2\)"),
        ({"kd": -1.0}, "kd: must be >= 0"),
        ({"stiffness_error": -1.0}, "stiffness_error: must be between -1 and"),
    ],
)
def test_gains_that_are_none_are_refused(options: dict[str, Any], said: str) -> None:
    _, reference = moving(two_links())
    with pytest.raises(FlexarmError, match=said):
        decoupling_law(reference, **({"kp": 1.0, "kd": 1.0} | options))


def test_a_law_is_a_function_of_time_coordinates_and_rates() -> None:
    _, reference = moving(two_links())
    law = decoupling_law(reference, **GAINS)
    assert isinstance(law, ca.Function)
    assert law.name_in() == ["t", "q", "v"]
    assert law.name_out() == ["u"]
