"""Physical identities at random states: every formulation, every sample, random arms.

Coordinates are scaled by sqrt(diag M); errors are at most 1e-10 of the largest entry, or
100 eps cond(M) where that is larger.
"""

from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context

import numpy as np
import pytest

import flexarm
from flexarm.formulations import formulation
from flexarm.formulations.loads import prescribed_accelerations, wrench_factors
from flexarm.model import build
from tests.physics.cases import FORMULATION_CASES
from tests.physics.identities import IDENTITIES, formulations_agree
from tests.physics.random_arms import BLOCK, OPTIONS, RandomArm, block, random_arm
from tests.physics.survey import REFERENCE, Survey, survey_block, trace
from tests.physics.traced import Traced

LONG = ("chain-30",)  # whose mass matrix takes long to trace
CAMPAIGN_ARMS = 1000


def sample_cases() -> list[object]:
    """List the samples; the long ones are for campaigns."""
    return [
        pytest.param(name, marks=pytest.mark.campaign) if name in LONG else name
        for name in flexarm.sample_names()
    ]


@lru_cache(maxsize=1)
def traced_sample(name: str) -> dict[str, Traced]:
    """A sample under every formulation."""
    return trace(RandomArm(0, flexarm.sample(name), frozenset()))


@lru_cache(maxsize=1)
def traced_random(number: int) -> dict[str, Traced]:
    """A random arm under every formulation."""
    return trace(random_arm(number))


# The arm comes last, so that pytest goes from arm to arm and each is traced once.
every_identity = pytest.mark.parametrize("identity", IDENTITIES)
every_formulation = pytest.mark.parametrize("name", FORMULATION_CASES)
every_other = pytest.mark.parametrize("name", [n for n in FORMULATION_CASES if n != REFERENCE])
every_sample = pytest.mark.parametrize("sample", sample_cases(), scope="module")
# Beyond the first block: one joint alone, all coordinates prescribed, and a fixed rigid first link.
MORE = (158, 163, 366)
every_random_arm = pytest.mark.parametrize("number", [*range(BLOCK), *MORE], scope="module")


@every_identity
@every_formulation
@every_sample
def test_sample_obeys(identity: str, name: str, sample: str) -> None:
    verdict = IDENTITIES[identity](traced_sample(sample)[name])
    assert verdict.good, str(verdict)


@every_other
@every_sample
def test_formulations_agree_on_sample(name: str, sample: str) -> None:
    traced = traced_sample(sample)
    verdict = formulations_agree(traced[name], traced[REFERENCE])
    assert verdict.good, str(verdict)


@every_identity
@every_formulation
@every_random_arm
def test_random_arm_obeys(identity: str, name: str, number: int) -> None:
    verdict = IDENTITIES[identity](traced_random(number)[name])
    assert verdict.good, str(verdict)


@every_other
@every_random_arm
def test_formulations_agree_on_random_arm(name: str, number: int) -> None:
    traced = traced_random(number)
    verdict = formulations_agree(traced[name], traced[REFERENCE])
    assert verdict.good, str(verdict)


def test_every_block_of_random_arms_takes_every_option() -> None:
    for index in range(3):
        taken = frozenset().union(*(arm.options for arm in block(index)))
        assert taken == set(OPTIONS)


@every_formulation
@pytest.mark.parametrize("sample", ["graves-rms", "driven-link", "canadarm-free-base"])
def test_compiled_functions_give_what_is_traced(name: str, sample: str) -> None:
    model = build(flexarm.sample(sample))
    traced, equation, t = Traced(name, model, {}), formulation(name, model), 0.3
    s, n = traced.state, model.size
    w, given = wrench_factors(model, t), prescribed_accelerations(model, t)
    (a, effort) = traced("forward_dynamics", s.q, s.v, s.u, w, given)
    parts = traced.parts
    for got, expected, shape in (
        (equation.mass_matrix(s.q), traced.mass, (n, n)),
        (equation.bias(s.q, s.v), sum(parts.values()), (n,)),
        (equation.gravity(s.q), parts["gravity"], (n,)),
        (equation.forward_dynamics(s.q, s.v, s.u, t), a, (n,)),
        (equation.reaction(s.q, s.v, s.u, t), effort[list(model.prescribed)], given.shape),
        (equation.inverse_dynamics(s.q, s.v, s.a, t), traced.inverse(s.v, s.a, w), (n,)),
        (equation.tip_jacobian(s.q), traced("tip_jacobian", s.q)[0], (6, n)),
        (
            equation.joint_wrench(s.q, s.v, s.a, t),
            traced("joint_wrench", s.q, s.v, s.a, w)[0].T,
            (len(model.links), 6),
        ),
    ):
        assert got.shape == shape
        assert np.allclose(got, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max(initial=0))


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
