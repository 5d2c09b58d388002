"""Coulomb friction in the linear models of controllers."""

import math

import numpy as np
import pytest

import flexarm
from flexarm.control import (
    Timing,
    closed_loop_eigenvalues,
    joint_move,
    lqr,
    pd_law,
    stiffness_error_along,
)
from flexarm.linear.tangent import FrictionChoice
from tests.control.arms import elastic_joint, two_links

FRICTION = {"coulomb": 0.4, "smoothing": 0.01}
CHOICES: dict[FrictionChoice, float] = {
    "off": 0.0,
    "secant": 4 * 0.4 / (math.pi * 0.1),
    "tangent": 40,
}


@pytest.mark.parametrize("friction", CHOICES)
def test_closed_loop_of_an_elastic_joint_that_rubs(friction: FrictionChoice) -> None:
    """J_m = J_l = 1, k = 100, friction c on the link's side."""
    c = CHOICES[friction]
    arm = flexarm.change_arm(elastic_joint(), {"links.1.joint.friction": FRICTION})
    law = pd_law(joint_move(flexarm.build(arm), {}, Timing("quintic", 1.0)), kp=5.0, kd=4.0)
    run = flexarm.simulate(arm, t_end=0.1, dt=0.1, control=law)
    motor, link = [1, 4, 105], [1, c, 100]
    expected = np.roots(np.polysub(np.polymul(motor, link), [100.0**2]))
    found = closed_loop_eigenvalues(law, run, friction=friction)[0]
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(expected), rtol=1e-7)


def test_regulator_and_lemma_say_what_became_of_it() -> None:
    arm = flexarm.change_arm(two_links(), {"links.2.joint.friction": FRICTION})
    move = joint_move(flexarm.build(arm), {"joint1": 1.0}, Timing("quintic", 1.0))
    results = (
        lqr(move, points=2, friction="secant"),
        stiffness_error_along(move, kp=25.0, kd=8.0, points=2, friction="secant"),
    )
    for found in results:
        assert len(found.notices) == 1
        assert found.notices[0].startswith("joint2: Coulomb friction of 0.4 N m counts as 5.093")
    smooth = joint_move(flexarm.build(two_links()), {"joint1": 1.0}, Timing("quintic", 1.0))
    assert lqr(smooth).notices == ()
