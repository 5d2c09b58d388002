"""Physical identities at random states: every formulation, every sample, random arms.

Coordinates are scaled by sqrt(diag M); errors are at most 1e-10 of the largest entry, or
100 eps cond(M) where that is larger.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context

import numpy as np
import pytest

import flexarm
from flexarm.formulations import FORMULATIONS, formulation
from flexarm.mechanics.loads import prescribed_accelerations, wrench_factors
from flexarm.model import build
from tests.physics.cases import (
    CORE,
    gives_wrenches,
    pairs,
    skip_if_refused,
)
from tests.physics.identities import IDENTITIES, OF_JOINT_WRENCHES, agreement
from tests.physics.random_arms import (
    BLOCK,
    CHOSEN,
    OPTIONS,
    RandomArm,
    block,
    chosen,
    late_arm,
    random_arm,
)
from tests.physics.survey import Equations, Survey, other_than, survey_arm, survey_block, trace
from tests.physics.traced import Traced

CAMPAIGN_ARMS = 1000
AGREE = agreement.__name__
# Every kind of joint, shape and drive that a sample has, at few coordinates.
LIGHT = (
    "chen-rotating-link", "driven-link-payload", "korayem-two-link", "puma-560", "telescope",
    "tg-rr-elements",
)  # fmt: skip
FIRST = 15  # random arms: they take every option
# Beyond the first block: one joint alone, all coordinates prescribed, and a fixed rigid first link.
MORE = ("94", "297", "366")
RANDOM = [*map(str, range(FIRST)), *MORE]
BALLS = "crossed-joints"  # which no random arm has
# Arms on which all formulations agree; the first two, which are compared, do so on every arm.
AGREEING = ("korayem-two-link", "telescope", "tg-rr-elements", "4", *MORE)
WHOLE = ("korayem-two-link", "94")  # and on which they meet every identity


@lru_cache(maxsize=1)
def traced(arm: str) -> Equations:
    """A sample, or the random arm of a number, under every formulation."""
    if arm in flexarm.example_arm_names():
        return trace(RandomArm(0, flexarm.example_arm(arm), frozenset()))
    return trace(random_arm(int(arm)))


def checks(arms: Sequence[str]) -> list[object]:
    """List arms under the first formulation, and some under all, arm by arm: each is traced once.

    Campaigns take everything on every arm.
    """
    return [
        pytest.param(name, arm, id=f"{arm}-{name}")
        for arm in arms
        for name in FORMULATIONS
        if name == CORE[0] or arm in WHOLE or (arm in AGREEING and name != CORE[1])
    ]


def check(name: str, arm: str) -> None:
    """Assert that a formulation of an arm agrees with another one, and what else it obeys."""
    equations = traced(arm)
    skip_if_refused(name, equations.model)
    verdicts = {AGREE: agreement(equations[name], equations[other_than(name)])}
    if name == CORE[0] or arm in WHOLE:
        for identity, verdict_of in IDENTITIES.items():
            if identity not in OF_JOINT_WRENCHES or gives_wrenches(name):
                verdicts[identity] = verdict_of(equations[name])
    bad = {identity: str(verdict) for identity, verdict in verdicts.items() if not verdict.good}
    assert not bad


@pytest.mark.few(10)
@pytest.mark.parametrize(("name", "arm"), checks([*LIGHT, BALLS]))
def test_sample_obeys(name: str, arm: str) -> None:
    check(name, arm)


@pytest.mark.few(16)
@pytest.mark.parametrize(("name", "arm"), checks(RANDOM))
def test_random_arm_obeys(name: str, arm: str) -> None:
    check(name, arm)


def test_points_of_an_element_that_slides_bends_and_twists_are_enough() -> None:
    check("element-jacobian", "591")


def test_the_first_random_arms_take_every_option() -> None:
    taken = frozenset().union(*(arm.options for arm in block(0)[:FIRST]))
    assert taken == set(OPTIONS)


@pytest.mark.few(1)
@pytest.mark.parametrize("index", range(len(CHOSEN)))
def test_drafts_that_are_kept_are_those_that_take_most_options(index: int) -> None:
    assert list(CHOSEN[index]) == chosen(index)


@pytest.mark.parametrize("number", [*MORE, "591"])
def test_late_arms_are_those_of_their_blocks(number: str) -> None:
    assert late_arm(int(number)) == random_arm(int(number))


@pytest.mark.parametrize(
    ("name", "arm"),
    [
        *pairs(["driven-link"], ()),
        *pairs(["graves-rms", "canadarm-free-base"], (), core=()),
    ],
)
def test_compiled_functions_give_what_is_traced(name: str, arm: str) -> None:
    model = build(flexarm.example_arm(arm))
    skip_if_refused(name, model)
    traced, equation, t = Traced(name, model, {}), formulation(name, model), 0.3
    s, n = traced.state, model.size
    w, given = wrench_factors(model, t), prescribed_accelerations(model, t)
    (a, effort) = traced("forward_dynamics", s.q, s.v, s.u, w, given)
    parts = traced.parts
    wanted = [
        (equation.mass_matrix(s.q), traced.mass, (n, n)),
        (equation.bias(s.q, s.v), np.sum([*parts.values()], axis=0), (n,)),
        (equation.gravity(s.q), parts["gravity"], (n,)),
        (equation.forward_dynamics(s.q, s.v, s.u, t), a, (n,)),
        (equation.reaction(s.q, s.v, s.u, t), effort[list(model.prescribed)], given.shape),
        (equation.inverse_dynamics(s.q, s.v, s.a, t), traced.inverse(s.v, s.a, w), (n,)),
        (equation.tip_jacobian(s.q), traced("tip_jacobian", s.q)[0], (6, n)),
    ]
    if gives_wrenches(name):
        wrench = traced("joint_wrench", s.q, s.v, s.a, w)[0].T
        wanted.append((equation.joint_wrench(s.q, s.v, s.a, t), wrench, (len(model.links), 6)))
    for got, expected, shape in wanted:
        assert got.shape == shape
        assert np.allclose(got, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max(initial=0))


@pytest.mark.campaign
@pytest.mark.parametrize("arm", flexarm.example_arm_names())
def test_every_sample_obeys_every_identity_under_every_formulation(arm: str) -> None:
    assert survey_arm(RandomArm(0, flexarm.example_arm(arm), frozenset())).failures == []


@pytest.mark.campaign
def test_a_thousand_random_arms_obey(capsys: pytest.CaptureFixture[str]) -> None:
    total = Survey()
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for found in pool.map(survey_block, range(CAMPAIGN_ARMS // BLOCK)):
            total.join(found)
    with capsys.disabled():
        print("\n" + total.report())
    assert total.arms == CAMPAIGN_ARMS
    assert min(total.options[option] for option in OPTIONS) >= CAMPAIGN_ARMS // BLOCK
    assert not total.failures
