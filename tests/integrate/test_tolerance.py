"""Motions keep the tolerance: random ones of every kind, and arms that once missed it."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexarm
from flexarm.integrate.methods import METHODS
from flexarm.io.model_file import change_arm, loads
from flexarm.model import build
from flexarm.runs.run import Run
from tests.accuracy.test_stated import PENDULUM
from tests.integrate.damped_arms import FRICTION, HOLDING, LINKS, changed, error, task_of
from tests.integrate.promise import (
    LAST,
    REFERENCES,
    RTOLS,
    Motion,
    errors,
    held,
    held_hard,
    is_measured,
    motion,
    outcome,
    outcomes,
    thrown,
)
from tests.physics.cases import campaign_if
from tests.physics.random_arms import late_arm, random_arm
from tests.physics.test_carriage import railed

SOFT = Path(__file__).with_name("soft_damped.json")
# Links that vibrate undamped behind a slow joint that is damped: one pushed out of its hub, so that
# its frequencies change, and a stiff one.
PUSHED_OUT = """
flexarm: 1
name: pushed out
gravity: [0, 0, -9.81]
links:
  - joint: {kind: revolute, axis: [-1, 0.3, -0.1], start: {position: 1.75, speed: 1.9}}
    length: 1.9
    section: {mass_per_length: 1.3}
    rigid: true
  - joint:
      kind: sliding
      actuation: prescribed
      motion: {kind: cycloid, start: 0.72, end: 1.0, duration: 0.5}
      drive: {rotor_inertia: 8e-4, gear_ratio: -22, stiffness: 120, damping: 0.1}
    length: 1.45
    section: {mass_per_length: 1.05, EIz: 2350}
    tip_piece: {length: 0.14, body: {mass: 0.06}}
"""
STIFF = """
flexarm: 1
name: stiff link on a soft joint
gravity: [0, 0, -9.81]
links:
  - joint: {kind: revolute, axis: [0, 1, 0], spring: {stiffness: 30, damping: 1.5},
            start: {speed: 1}}
    length: 0.6
    section: {mass_per_length: 2}
    rigid: true
  - joint: {kind: revolute, axis: [0.5, 0.8, 0], start: {position: 1, speed: -2},
            drive: {rotor_inertia: 3e-5, gear_ratio: 20, stiffness: 3000}}
    length: 0.4
    section: {material: {E: 7e10, density: 2700},
              shape: {kind: rectangle, width: 0.02, height: 0.01}}
"""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "values", "t_end"),
    [
        ("tg-rr", FRICTION, 0.6),
        ("tg-rr", FRICTION | LINKS, 0.6),
        ("driven-link-payload", HOLDING, 1.2),
    ],
    ids=["dry friction", "dry friction and damped links", "a damper that holds"],
)
def test_auto_is_within_the_tolerance_where_joints_damp(
    name: str, values: dict[str, Any], t_end: float
) -> None:
    arm = changed(name, values)
    reference = flexarm.simulate(arm, t_end=t_end, method="rodas4", rtol=1e-8, dt=t_end / 500)
    for rtol in (1e-2, 1e-3, 1e-4, 1e-5):
        assert (
            error(flexarm.simulate(arm, t_end=t_end, rtol=rtol, dt=t_end / 500), reference) < rtol
        )


@cache
def exact(text: str, t_end: float) -> Run:
    """Simulate an arm closely."""
    return flexarm.simulate(loads(text), t_end=t_end, method="dop853", rtol=1e-8)


@pytest.mark.campaign
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("text", "t_end", "method"),
    [
        pytest.param(text, t_end, method, id=f"{method}-{name}", marks=campaign_if(method in left))
        for name, text, t_end, left in (
            ("pushed out", PUSHED_OUT, 0.5, ("etd4",)),
            ("stiff", STIFF, 0.2, ("auto", "etd4", "dop853")),
        )
        for method in ("auto", "etd4", "dop853")
    ],
)
def test_a_slow_damped_joint_does_not_excuse_errors_of_a_link(
    text: str, t_end: float, method: str
) -> None:
    arm, reference = loads(text), exact(text, t_end)
    assert task_of(arm).shares.damping < 1e-3
    for rtol in (1e-2, 1e-3, 1e-4, 1e-5):
        run = flexarm.simulate(arm, t_end=t_end, method=method, rtol=rtol)
        assert error(run, reference) < rtol


def test_a_step_after_a_jump_does_not_trust_the_one_before() -> None:
    """At 1 s the torque jumps while steps are 66 rad of the slowest vibration long."""
    torque = "{kind: bang-bang, amplitude: %g, times: [0, 1, 2]}"
    link = """
  - {joint: {kind: revolute, input: %s}, length: 1, damping: 0.01,
     section: {mass_per_length: 5, EIz: 1e5}, shapes: {kind: loaded, bending_y: 2}}"""
    links = "".join(link % (torque % size) for size in (20, 5))
    arm = loads("flexarm: 1\nname: stepped\ngravity: [0, 0, 0]\nlinks:" + links)
    options: dict[str, Any] = {"t_end": 1.3, "dt": 0.01}
    reference = flexarm.simulate(arm, method="dop853", rtol=1e-9, **options)
    assert error(flexarm.simulate(arm, method="etd4", rtol=1e-2, **options), reference) < 1e-2


# Small arms with sliding links, tables of springs, dry friction, a free base, jumps, locks, laws;
# from 500 on with servos, stops, walls and a carriage too.
SAMPLE = (
    11, 13, 14, 23, 24, 44, 47, 89, 92, 94, 95, 284, 291, 295, 297, 302, 321, 322, 330, 331, 343,
    348, 511, 514, 524, 589, 592, 594, 595, 784, 791, 795, 797, 802, 821, 822, 830, 831, 843, 848,
)  # fmt: skip
ALL_WAYS = 92
# Campaigns take these too: the other arms of the list have every option and every kind of load,
# joint, law and lock that these have, by every method and at every tolerance.
REPEATED = (
    11, 14, 24, 44, 47, 89, 95, 284, 291, 295, 297, 321, 343, 348, 514, 524, 589, 592, 594, 595,
    784, 795, 802, 821, 822, 830, 831, 848,
)  # fmt: skip
# Each by one method at one tolerance, and one by all.
CASES: list[tuple[int, str, float]] = [
    (number, (*METHODS, "auto")[k % (len(METHODS) + 1)], RTOLS[k % len(RTOLS)])
    for k, number in enumerate(SAMPLE)
    if number != ALL_WAYS
]
CASES += [(ALL_WAYS, method, RTOLS[k % 3]) for k, method in enumerate((*METHODS, "auto"))]
# Steps follow a fast mode that hardly counts; rates of a fast mode; a fast mode as large as the
# tolerance.  Campaigns also have a damped link on a wall (690), a base whose work has fast modes in
# it (306), and others.
CASES += [(814, "dop853", 1e-6), (324, "etd4", 1e-2), (290, "etd4", 1e-6), (169, "etd4", 1e-4)]
CASES += [(1270, "rodas4", 1e-2), (1270, "dop853", 1e-6)]  # a link that bounces
# Servos at the end of their effort, a spring's table, dampers as fast as modes, undamped rates.
CASES += [(632, "etd4", 1e-4), (1132, "etd4", 1e-4), (1069, "etd4", 1e-6), (986, "rodas4", 1e-4)]
CASES += [(1015, "dop853", 1e-6), (1189, "etd4", 1e-2)]
CASES += [(791, "etd4", 1e-6)]  # work integrals under a servo, at times within steps


@lru_cache(maxsize=1)
def closely(make: Callable[..., Motion], *numbers: int) -> tuple[Motion, Run]:
    """Make a motion, and give its reference; that another method agrees on it, campaigns see."""
    moved = make(*numbers)
    return moved, moved.run(*REFERENCES[0])


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("number", "method", "rtol"),
    [pytest.param(*case, marks=campaign_if(case[0] in REPEATED)) for case in CASES],
)
def test_random_motions_keep_the_tolerance(number: int, method: str, rtol: float) -> None:
    """Every coordinate, rate, the tip and the work integrals, as promise.py says."""
    found = outcome(*closely(motion, number), method, rtol)
    assert found.worst <= 1, found


def test_samples_that_one_run_alone_has_do_not_count() -> None:
    """Such as those at which dry friction begins to hold: runs are compared at equal times."""
    run = Motion(0, flexarm.example_arm("driven-link-payload"), {}, None).run("dop853", 1e-3)
    kept = np.delete(np.arange(len(run.t)), 3)
    fields = ("t", "q", "v", "tip", "work_integrals", "reference_attitudes", "energy")
    rows = {each: getattr(run, each)[kept] for each in fields}
    fewer = replace(run, **rows)
    assert max(errors(run, fewer).values()) == max(errors(fewer, run).values()) == 0.0
    off = errors(replace(fewer, q=fewer.q + 1e-3), run)
    assert off["joint"] > 0.0


def on_a_damped_rail() -> Motion:
    """A body rides along a link of elements."""
    rides = "joint: {kind: carriage, actuation: free, start: {position: 0.55, speed: 0.4}}"
    body = "body: {mass: 0.7, com: [0.05, 0, 0.1], inertia: [0.002, 0.03, 0.004]}"
    arm = railed("kind: elements, bending_z: 3", f"{rides}, {body}")
    return Motion(0, change_arm(arm, {"links.1.damping": 0.1}), {}, None)


@pytest.mark.parametrize(("method", "rtol"), [("etd4", 1e-4), ("dop853", 1e-6)])
def test_what_rides_on_a_damped_rail_keeps_the_tolerance(method: str, rtol: float) -> None:
    """Its modes change under way and are jolted at nodes: damping excuses nothing."""
    assert outcome(*closely(on_a_damped_rail), method, rtol).worst < 0.5


@pytest.mark.campaign
@pytest.mark.usefixtures("little_effort")
@pytest.mark.parametrize("number", range(LAST))
def test_every_random_motion_keeps_every_tolerance(number: int) -> None:
    if not is_measured(number):
        pytest.skip("larger than most")
    found = list(outcomes(number))
    if isinstance(found[0], str):
        assert found[0].startswith("cannot begin"), found[0]
        pytest.skip(found[0])
    missed = [each for each in found if isinstance(each, str) or each.worst > 1]
    assert not missed


def held_by_a_hard_servo() -> Motion:
    """Stages of etd4 are off to either side, and the servo's power has the square of that."""
    arm = changed("driven-link-payload", {"links.1.damping": 0.01})
    return Motion(0, held_hard(arm, 3e3, 2e5), {}, None)


def jerked_by_a_hard_servo() -> Motion:
    """Modes of etd4 are coupled by the damper: their errors add up before they die away."""
    return Motion(0, held_hard(random_arm(243).arm, 4.9e3, 4.9e4, at_once=True), {}, None)


def held_by_an_integral() -> Motion:
    """A servo sums its error up, and is cut at its effort."""
    target = {"kind": "cycloid", "start": 0.0, "end": 0.3, "duration": 0.3}
    servo = {"stiffness": 60.0, "damping": 6.0, "integral_time": 0.2, "effort": 1.0}
    changes = {"links.1.damping": 0.02, "links.1.joint.servo": servo | {"target": target}}
    return Motion(0, changed("driven-link-payload", changes), {}, None)


@pytest.mark.campaign
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("make", "rtol"),
    [(held_by_a_hard_servo, 1e-4), (jerked_by_a_hard_servo, 1e-6), (held_by_an_integral, 1e-4)],
)
def test_arms_on_servos_keep_the_tolerance(make: Callable[[], Motion], rtol: float) -> None:
    assert outcome(*closely(make), "etd4", rtol).worst < 1


SWINGS = """
flexarm: 1
name: swings
gravity: [0, -9.81, 0]
links: [LINK, LINK]
"""
RIGID = (
    "{joint: {kind: revolute, actuation: free}, length: 1,"
    " body: {mass: 1, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1]}}"
)
FLEXIBLE = (
    "{joint: {kind: revolute, actuation: free}, length: 1, damping: 0.005, section:"
    " {mass_per_length: 1, EIz: 100}, shapes: {kind: loaded, bending_y: 2, bending_z: 0}}"
)


@pytest.mark.parametrize(
    ("link", "rtol"),
    [(RIGID, 1e-2), (RIGID, 1e-3), pytest.param(FLEXIBLE, 1e-3, marks=pytest.mark.campaign)],
)
def test_the_tolerance_is_kept_where_errors_grow(link: str, rtol: float) -> None:
    """A double pendulum magnifies the errors of 10 s some hundred times."""
    arm = loads(SWINGS.replace("LINK", link))
    options: dict[str, Any] = {"t_end": 10, "dt": 0.1, "errors": "off"}
    truth = flexarm.simulate(arm, method="dop853", rtol=1e-12, **options)
    with pytest.MonkeyPatch.context() as once:
        once.setattr("flexarm.integrate.simulate.solve_until_kept",
                     lambda tolerance, solve, *_: (*solve(tolerance), tolerance))  # fmt: skip
        careless = flexarm.simulate(arm, rtol=rtol, **options)
    run = flexarm.simulate(arm, rtol=rtol, **options)
    assert error_of_joints(careless, truth) > 5 * rtol
    assert error_of_joints(run, truth) < rtol
    assert "the motion or a balance was off by more than" in run.why


def test_the_tolerance_is_kept_over_two_thousand_swings() -> None:
    arm = loads(PENDULUM)
    run, truth = (
        flexarm.simulate(arm, t_end=5000, dt=100, rtol=rtol, errors="off") for rtol in (1e-3, 1e-9)
    )
    assert error_of_joints(run, truth) < 1e-3


def error_of_joints(run: Run, truth: Run) -> float:
    """Return the largest error of a joint angle over its range."""
    joints = list(run.model.scales)
    apart = np.abs(run.q[:, joints] - truth.q[:, joints]).max(axis=0)
    return float((apart / np.ptp(truth.q[:, joints], axis=0)).max())


@pytest.mark.campaign
@pytest.mark.parametrize("rtol", [1e-3, 1e-4, 1e-6])
def test_auto_keeps_the_tolerance_of_a_soft_arm_that_whirls(rtol: float) -> None:
    """Its slopes reach 2.25 rad: the error estimate of etd4 is a hundred times too small."""
    arm = loads(SOFT.read_text())
    moved = Motion(0, arm, {}, None)
    assert outcome(*closely(lambda: moved), "auto", rtol).worst < 1


def wound_past_a_corner() -> Motion:
    """A transmission that is a table: an error estimate may miss a corner within a step."""
    return Motion(0, late_arm(20218).arm, {}, None)


def swung_past_a_corner() -> Motion:
    """A spring that is a table, and a law: runs in smaller steps differ by less than they err."""
    arm = thrown(late_arm(20117).arm, 117)
    return Motion(0, arm, {}, held(build(arm)))


@pytest.mark.campaign
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("make", "method", "rtol"),
    [(wound_past_a_corner, "etd4", 1e-4), (swung_past_a_corner, "rk4", 1e-6)],
)
def test_springs_that_are_tables_keep_the_tolerance(
    make: Callable[[], Motion], method: str, rtol: float
) -> None:
    assert outcome(*closely(make), method, rtol).worst < 0.5


def bounces() -> Motion:
    """A damped link falls on a hard floor, again and again: every impact magnifies errors."""
    floor = {"kind": "plane", "point": [0, 0, 0], "normal": [0, 1, 0]}
    contact = {"name": "floor", "stiffness": 1.25e5, "damping": 0.1, "obstacle": floor}
    arm = changed(
        "driven-link-payload",
        {
            "links.1.damping": 0.008,
            "gravity": [0, -9.81, 0],
            "links.1.joint.start.position": 0.29,
            "contacts": [contact],
        },
    )
    return Motion(0, arm, {}, None)


@pytest.mark.parametrize("method", ["auto", "dop853"])
def test_a_link_that_bounces_keeps_the_tolerance(method: str) -> None:
    assert outcome(*closely(bounces), method, 1e-2).worst < 1
