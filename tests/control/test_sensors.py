"""Encoders and strain gauges: what they read, and what a law makes of it."""

import numpy as np
import pytest

import flexarm
from flexarm.control import (
    Gauge,
    Timing,
    decoupling_law,
    joint_move,
    limited_law,
    measured_law,
    sensors,
)
from flexarm.errors import FlexarmError
from flexarm.io.model_file import loads
from tests.control.arms import one_link, two_links

TIMING = Timing("cycloid", 0.4)
GAUGES = [Gauge(link, at, distance=0.01) for link in ("link1", "link2") for at in (0.0, 0.5)]
TELESCOPE = """
flexarm: 1
name: telescope
gravity: [0, 0, 0]
links:
  - joint: {kind: revolute}
    body: {mass: 1, inertia: [0, 0, 1]}
  - joint: {kind: sliding, limits: {lower: 0.3, upper: 1.1}, start: {position: 0.5}}
    length: 1.2
    section: {mass_per_length: 0.5, EIz: 20}
    shapes: {kind: clamped-mass, tip: auto, follow: true, bending_y: 2}
payload: {mass: 0.1}
"""


def test_a_gauge_reads_the_moment_over_the_stiffness() -> None:
    arm = two_links(modes=2)
    model = flexarm.build(arm.model_copy(update={"stiffening": False}))
    sensed = sensors(model, GAUGES)
    run = flexarm.simulate(
        model.arm, t_end=0.2, dt=0.1, inputs={"joint1": 3.0, "joint2": -1.0}, rtol=1e-5
    )
    moments = run.section_forces(np.array([0.0, 0.5])).moment.sel(axis="z").values
    read = np.array(sensed.measure(run.q[-1], run.v[-1])[0]).ravel()
    np.testing.assert_allclose(read[:2], run.q[-1, [0, 3]], rtol=1e-12)
    np.testing.assert_allclose(read[2:], -0.01 * moments[-1].ravel() / 60, rtol=1e-9)


@pytest.mark.parametrize("text", ["", TELESCOPE])
def test_with_a_gauge_per_shape_the_whole_state_is_known(text: str) -> None:
    model = flexarm.build(loads(text) if text else two_links(modes=2))
    gauges = [Gauge(part.name, at) for part in model.links if part.link.flexible for at in (0, 0.4)]
    sensed = sensors(model, gauges)
    random = np.random.default_rng(0)
    q, v = 0.4 + 0.1 * random.standard_normal(model.size), random.standard_normal(model.size)
    known = [np.array(each).ravel() for each in sensed.estimate(*sensed.measure(q, v))]
    np.testing.assert_allclose(known[0], q, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(known[1], v, rtol=1e-8, atol=1e-10)


def test_a_sliding_links_gauge_reads_the_curvature_of_its_shapes_at_that_length() -> None:
    model = flexarm.build(loads(TELESCOPE))
    part = model.links[1]
    length, d = 0.7, np.array([0.01, -0.002])
    sensed = sensors(model, [Gauge("link2", 0.25)])
    q = np.array([0.3, length, *d])
    bend = part.sliding_beam.shapes.at(length).values("y", np.array([0.25 * length]), 2) @ d
    assert float(sensed.measure(q, 0 * q)[0][2]) == pytest.approx(-float(bend[0]), rel=1e-9)


def test_a_law_that_sees_joints_and_enough_strains_controls_as_one_that_sees_all() -> None:
    arm = two_links(modes=2)
    model = flexarm.build(arm)
    motion = joint_move(model, {"joint1": 1.0}, TIMING)
    law = decoupling_law(motion, kp=100, kd=20)
    q, v = np.array([0.5, 0.01, -0.001, 0.7, 0.02, 0.002]), np.ones(6)
    seen = measured_law(law, sensors(model, GAUGES))
    np.testing.assert_allclose(np.array(seen(0.1, q, v)), np.array(law(0.1, q, v)), rtol=1e-7)


@pytest.mark.few(1)
@pytest.mark.parametrize(("gauges", "least", "most"), [(GAUGES, 0.0, 1e-6), ([], 1e-4, 1.0)])
def test_joints_follow_by_strains_and_do_not_without(
    gauges: list[Gauge], least: float, most: float
) -> None:
    """The controller's model has two shapes per link as the arm has; its gauges make the state."""
    arm = two_links(modes=2, damping=0.02)
    model = flexarm.build(arm)
    motion = joint_move(model, {"joint1": 1.0, "joint2": 0.3}, TIMING)
    law = measured_law(decoupling_law(motion, kp=100, kd=20), sensors(model, gauges))
    run = flexarm.simulate(arm, t_end=0.5, control=law, rtol=1e-7)
    assert run.status == "finished"
    errors = np.abs(run.q - motion.at(run.t)[0])[:, [0, 3]]
    assert least <= errors.max() < most


def test_a_controller_that_knows_one_shape_of_four_is_a_little_off() -> None:
    arm = one_link(modes=4, damping=0.02)
    plant, known = flexarm.build(arm), flexarm.build(one_link(modes=1, damping=0.02))
    motion = joint_move(known, {"joint1": 0.5}, TIMING)
    gauges = [Gauge("link1", at) for at in (np.arange(8) + 0.5) / 8]
    law = measured_law(decoupling_law(motion, kp=100, kd=20), sensors(plant, gauges, known=known))
    run = flexarm.simulate(arm, t_end=0.6, control=law, rtol=1e-5)
    assert run.status == "finished"
    errors = np.abs(run.q[:, 0] - motion.at(run.t)[0][:, 0])
    assert 1e-4 < errors.max() < 1e-3


def test_rates_of_amplitudes_can_be_left_out() -> None:
    model = flexarm.build(two_links(modes=2))
    sensed = sensors(model, GAUGES, rates="none")
    q, v = np.full(6, 0.01), np.ones(6)
    known = np.array(sensed.estimate(*sensed.measure(q, v))[1]).ravel()
    np.testing.assert_allclose(known, [1, 0, 0, 1, 0, 0], atol=1e-12)


def test_inputs_are_cut_at_what_actuators_give() -> None:
    arm = two_links()
    model = flexarm.build(arm)
    motion = joint_move(model, {"joint1": 1.5}, TIMING)
    law = decoupling_law(motion, kp=100, kd=20)
    free = flexarm.simulate(arm, t_end=0.6, control=law)
    assert np.abs(free.u).max(axis=0)[0] > 25
    tight = flexarm.simulate(arm, t_end=0.6, control=limited_law(law, model, [20.0, 10.0]))
    assert tight.status == "finished"
    np.testing.assert_allclose(np.abs(tight.u).max(axis=0)[0], 20.0, rtol=1e-12)
    errors = [np.abs(run.q - motion.at(run.t)[0])[:, 0].max() for run in (free, tight)]
    assert errors[0] < 1e-4 < errors[1] < 0.5


def test_limits_come_from_the_model_file() -> None:
    data = two_links().model_dump(exclude_unset=True)
    data["links"][0]["joint"]["limits"] = {"effort": 7.0}
    model = flexarm.build(flexarm.Arm.model_validate(data))
    motion = joint_move(model, {}, TIMING)
    law = limited_law(decoupling_law(motion, kp=100, kd=20), model)
    u = np.array(law(0.0, [2.0, 0, 2.0, 0], np.zeros(4))).ravel()
    assert abs(u[0]) == 7.0
    with pytest.raises(FlexarmError, match=r"no joint\.limits\.effort"):
        limited_law(law, flexarm.build(two_links()))


@pytest.mark.parametrize(
    ("gauge", "said"),
    [
        (Gauge("link3", 0.5), "no flexible link 'link3'. The flexible links are link1, link2"),
        (Gauge("link1", 0.2, axis="z"), "cannot separate its 0 shapes"),
        (Gauge("link1", 1.0), "cannot separate its 1 shapes"),
    ],
)
def test_a_gauge_that_is_nowhere_is_refused(gauge: Gauge, said: str) -> None:
    with pytest.raises(FlexarmError, match=said):
        sensors(flexarm.build(two_links()), [gauge])
