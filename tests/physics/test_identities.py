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
    LONG,
    SIBLINGS,
    gives_wrenches,
    pairs,
    skip_if_refused,
)
from tests.physics.identities import IDENTITIES, OF_JOINT_WRENCHES, agreement
from tests.physics.random_arms import BLOCK, OPTIONS, RandomArm, block, random_arm
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
MORE = (94, 209, 366)
RANDOM = [str(number) for number in (*range(FIRST), *MORE)]
SAMPLES = [name for name in flexarm.sample_names() if name not in (*LONG, *SIBLINGS)]
# Further samples with what the light ones lack: a free base, elastic joints, balls, long chains.
DISTINCT = ("canadarm-free-base", "chen-two-link", "crossed-joints")
AGREEING = ("chu-example-1", "crossed-joints")
LIGHT_RANDOM = [str(number) for number in MORE]
AGREEING_RANDOM = ("4", "12")


@lru_cache(maxsize=1)
def traced_sample(name: str) -> Equations:
    """A sample under every formulation."""
    return trace(RandomArm(0, flexarm.sample(name), frozenset()))


@lru_cache(maxsize=1)
def traced_random(number: str) -> Equations:
    """A random arm under every formulation."""
    return trace(random_arm(int(number)))


def checks(
    arms: Sequence[str], light: Sequence[str], core: Sequence[str], agree: Sequence[str]
) -> list[object]:
    """List the checks of every formulation, arm by arm, so that each is traced once.

    Every formulation meets every identity on the light arms, `CORE` on further ones; the others
    agree with it on some.  Campaigns take everything on every arm.
    """
    return [
        pytest.param(identity, name, arm, id=f"{arm}-{name}-{identity}")
        for arm in arms
        for name in FORMULATIONS
        for identity in (AGREE, *IDENTITIES)
        if arm in light or (name in CORE and arm in core) or (identity == AGREE and arm in agree)
    ]


def check(identity: str, name: str, equations: Equations) -> None:
    """Assert an identity of one formulation of an arm, or that it agrees with another one."""
    if identity in OF_JOINT_WRENCHES and not gives_wrenches(name):
        pytest.skip(f"{name} gives no joint wrenches")
    skip_if_refused(name, equations.model)
    if identity == AGREE:
        verdict = agreement(equations[name], equations[other_than(name)])
    else:
        verdict = IDENTITIES[identity](equations[name])
    assert verdict.good, str(verdict)


@pytest.mark.few(220)
@pytest.mark.parametrize(
    ("identity", "name", "arm"), checks(SAMPLES, LIGHT, DISTINCT, agree=AGREEING)
)
def test_sample_obeys(identity: str, name: str, arm: str) -> None:
    check(identity, name, traced_sample(arm))


@pytest.mark.few(220)
@pytest.mark.parametrize(
    ("identity", "name", "arm"), checks(RANDOM, LIGHT_RANDOM, RANDOM, agree=AGREEING_RANDOM)
)
def test_random_arm_obeys(identity: str, name: str, arm: str) -> None:
    check(identity, name, traced_random(arm))


def test_points_of_an_element_that_slides_bends_and_twists_are_enough() -> None:
    check(AGREE, "element-jacobian", traced_random("591"))


def test_every_block_of_random_arms_takes_every_option() -> None:
    for arms in (block(0)[:FIRST], *map(block, range(3))):
        taken = frozenset().union(*(arm.options for arm in arms))
        assert taken == set(OPTIONS)


@pytest.mark.parametrize(
    ("name", "arm"),
    [
        *pairs(["driven-link"], ()),
        *pairs(["graves-rms"], (), core=CORE[:1]),
        *pairs(["canadarm-free-base"], (), core=()),
    ],
)
def test_compiled_functions_give_what_is_traced(name: str, arm: str) -> None:
    model = build(flexarm.sample(arm))
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
@pytest.mark.parametrize("arm", flexarm.sample_names())
def test_every_sample_obeys_every_identity_under_every_formulation(arm: str) -> None:
    assert survey_arm(RandomArm(0, flexarm.sample(arm), frozenset())).failures == []


@pytest.mark.campaign
def test_a_thousand_random_arms_obey(capsys: pytest.CaptureFixture[str]) -> None:
    total = Survey()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for found in pool.map(survey_block, range(CAMPAIGN_ARMS // BLOCK)):
            total.join(found)
    with capsys.disabled():
        print("\n" + total.report())
    assert total.arms == CAMPAIGN_ARMS
    assert min(total.options[option] for option in OPTIONS) >= CAMPAIGN_ARMS // BLOCK
    assert not total.failures
