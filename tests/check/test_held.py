"""Servos that cannot hold the weight, brakes that servos push against, straight starts."""

import numpy as np
import pytest

import flexarm
from flexarm.arm import Arm
from flexarm.check.check import check
from flexarm.check.report import Notice
from flexarm.io.model_file import loads

# 2 kg at 0.5 m: 9.81 N m when level.
RIGID = "length: 1\n    body: {mass: 2, com: [0.5, 0, 0], inertia: [0, 0, 0.2]}"
SOFT = (
    "length: 1\n    section: {mass_per_length: 1, EIz: 20}\n"
    "    shapes: {kind: clamped-free, bending_y: 2}"
)
DOWN = "[0, -9.81, 0]"
UP = "target: {kind: cycloid, start: 1.5707963267948966, end: 0, duration: 2}"


def arm(joint: str, link: str = RIGID, *, gravity: str = DOWN, top: str = "") -> Arm:
    """Make one link on a joint about z."""
    return loads(
        f"flexarm: 1\nname: arm\ngravity: {gravity}\n{top}\nlinks:\n"
        f"  - joint: {{name: hinge, kind: revolute, {joint}}}\n    {link}\n"
    )


def notices(arm: Arm, code: str) -> list[Notice]:
    """List the notices of one code."""
    return [each for each in check(arm).notices if each.code == code]


def servo(more: str) -> str:
    """Write a servo with more keys."""
    return f"servo: {{stiffness: 500, damping: 50, {more}}}"


WEAK = {
    "effort": servo("effort: 9"),
    "limits": servo("") + ", limits: {effort: 9}",
    "speed": servo("speed: 0.15"),
    "geared": servo("effort: 0.08") + ", drive: {rotor_inertia: 1.0e-4, gear_ratio: 100}",
    "elastic": servo("effort: 9") + ", drive: {rotor_inertia: 0.1, stiffness: 1000}",
}
STRONG = {
    "effort": servo("effort: 10"),
    "limits": servo("") + ", limits: {effort: 10}",
    "speed": servo("speed: 0.2"),
    "integral": servo("speed: 0.15, integral_time: 1"),
    "input": servo("speed: 0.15") + ", input: {kind: constant, value: 5}",
    "spring": servo("effort: 2") + ", spring: {stiffness: 9, rest: 1}",
    "friction": servo("effort: 9") + ", friction: {kind: dry, coulomb: 1, static: 1}",
    "brake": servo("effort: 9") + ", brake: {closed: true}",
}


@pytest.mark.few(3)
@pytest.mark.parametrize("case", WEAK)
def test_a_servo_that_cannot_hold_the_weight_is_a_warning(case: str) -> None:
    (notice,) = notices(arm(WEAK[case]), "weak-servo")
    assert (notice.severity, notice.place) == ("warning", "links[1].joint.servo")
    assert notice.message.startswith("hinge needs 9.81 N m against the weight at its target of 0")
    assert notices(arm(WEAK[case], gravity="[0, 0, -9.81]"), "weak-servo") == []
    run = flexarm.simulate(arm(WEAK[case]), t_end=2.0)
    assert run.q[-1, 0] < -0.05


@pytest.mark.few(4)
@pytest.mark.parametrize("case", STRONG)
def test_what_holds_the_weight_is_no_warning(case: str) -> None:
    assert notices(arm(STRONG[case]), "weak-servo") == []
    run = flexarm.simulate(arm(STRONG[case]), t_end=2.0)
    assert abs(run.q[-1, 0]) < 0.05


def test_the_weight_counts_along_the_targets_and_those_of_events() -> None:
    raised = f"start: {{position: 1.5707963267948966}}, servo: {{stiffness: 500, effort: 9, {UP}}}"
    (notice,) = notices(arm(raised), "weak-servo")
    assert "at its target of 0 rad, at t = 2 s" in notice.message
    stays = raised.replace("end: 0", "end: 1.5707963267948966")
    assert notices(arm(stays), "weak-servo") == []
    event = f"events: [{{at: 3, servo: {{hinge: {{{UP}}}}}}}]"
    (notice,) = notices(arm(stays, top=event), "weak-servo")
    assert "at its target of 0 rad, at t = 5 s" in notice.message
    held = f"events: [{{at: 3, brake: [hinge], servo: {{hinge: {{{UP}}}}}}}]"
    assert notices(arm(stays + ", brake: {closed: false}", top=held), "weak-servo") == []


MOVES = servo("effort: 30, target: {kind: cycloid, start: 0, end: 1, duration: 2}")


@pytest.mark.parametrize(
    ("events", "since", "push"),
    [
        ("events: [{at: 1, brake: [hinge]}]", "1 s", "30 N m"),
        ("events: [{at: 1.95, brake: [hinge]}]", "1.95 s", "0.0513 N m"),
        ("events: [{at: 2, brake: [hinge]}]", "", ""),
        ("events: [{at: 3, brake: [hinge]}]", "", ""),
        ("events: [{at: 3, brake: [hinge]}, {at: 4, servo: {hinge: {target: "
         "{kind: constant, value: 0}}}}]", "4 s", "30 N m"),
        ("events: [{at: 1, brake: [hinge], servo: {hinge: {target: "
         "{kind: constant, value: 0.5}}}}]", "", ""),
    ],
    ids=["while it moves", "at the end", "after", "later", "sent home", "told"],
)  # fmt: skip
def test_a_brake_that_a_servo_pushes_against_is_a_warning(
    events: str, since: str, push: str
) -> None:
    joint = f"{MOVES}, brake: {{closed: false, effort: 100}}"
    found = notices(arm(joint, gravity="[0, 0, 0]", top=events), "brake-against-servo")
    assert len(found) == bool(since)
    for notice in found:
        assert notice.place == "links[1].joint.brake"
        assert f"by up to {push} against the brake of 100, closed from {since}" in notice.message


def test_a_brake_that_is_closed_at_the_start_counts_too() -> None:
    assert len(notices(arm(f"{MOVES}, brake: {{closed: true}}"), "brake-against-servo")) == 1
    still = arm(f"{servo('effort: 30')}, brake: {{closed: true}}")
    assert notices(still, "brake-against-servo") == []


def test_a_straight_start_under_gravity_is_a_note() -> None:
    """A clamped beam under its weight sags by m g L^4 / 8 EI, but for what its shapes leave."""
    joint = servo("effort: 30")
    (notice,) = notices(arm(joint, SOFT), "straight-start")
    assert notice.severity == "note"
    assert f"by {9.81 / 8 / 20:.2g} m at the tip" in notice.message
    run = flexarm.simulate(arm(joint, SOFT), t_end=1.0, start="equilibrium")
    stated = flexarm.simulate(arm(joint, SOFT), t_end=1.0)
    assert np.ptp(stated.tip[:, 1]) > 9.81 / 8 / 20 > 100 * np.ptp(run.tip[:, 1])


@pytest.mark.parametrize(
    "other",
    [
        arm(servo(""), SOFT, top="start: equilibrium"),
        arm(servo(""), SOFT, gravity="[0, 0, -9.81]"),
        arm(servo(""), f"{SOFT}\n    start: {{y1: -0.06}}"),
        arm("actuation: free", SOFT),
        arm(servo("")),
    ],
    ids=["equilibrium", "across", "bent", "it falls", "rigid"],
)
def test_other_starts_are_none(other: Arm) -> None:
    assert notices(other, "straight-start") == []
