"""Joints that nothing holds, and that inputs drive into their limits."""

from typing import Any

import pytest

import flexarm
from flexarm.check.check import check
from tests.integrate.mission_arms import flexible_arm, one_joint

PUSH = {"kind": "constant", "value": 0.5}


def notices(arm: flexarm.arm.Arm) -> list[str]:
    return [each.message for each in check(arm).notices if each.code == "unheld-joint"]


@pytest.mark.parametrize(
    ("limits", "when"), [({"speed": 2.0}, 4.0), ({"upper": 1.0}, 2.0), ({"lower": -9.0}, None)]
)
def test_a_joint_of_known_inertia_reaches_its_limit_when_it_must(
    limits: dict[str, float], when: float | None
) -> None:
    found = notices(one_joint(input=PUSH, limits=limits))
    assert found == [] if when is None else f"after about {when:.2g} s" in found[0]
    run = flexarm.simulate(one_joint(input=PUSH, limits=limits), t_end=6.0)
    assert run.status == ("finished" if when is None else "stopped")
    assert run.t[-1] == pytest.approx(when or 6.0, rel=1e-3)


@pytest.mark.parametrize("held", [{"brake": {}}, {"servo": {"stiffness": 9.0}}])
def test_a_joint_that_is_held_is_not_told_of(held: dict[str, Any]) -> None:
    assert notices(one_joint(input=PUSH, limits={"speed": 0.1}, **held)) == []


def test_motor_and_link_of_an_elastic_joint_move_together() -> None:
    arm = flexible_arm(input=PUSH, limits={"speed": 0.2})
    (found,) = notices(arm)
    assert "the inputs drive hinge, which nothing holds" in found
