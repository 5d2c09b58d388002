"""Every registered formulation as test cases: a new one is met by all of them with no list to edit.

Two formulations, which everything rests on, take every check on every arm.  Any other takes every
check on the arms that a test calls light, and the rest in campaigns.  What a formulation refuses
is skipped in its own words.
"""

from collections.abc import Iterable, Sequence

import pytest

from flexarm.formulations import FORMULATIONS
from flexarm.formulations.base import Formulation
from flexarm.model import Model
from flexarm.samples import example_arm_names

CORE = ("articulated", "composite")
LONG = ("chain-30",)  # samples whose mass matrix takes long to trace
# Samples for campaigns: each has a sibling of the same structure, with other numbers of planes,
# links or elements, or without a payload.
SIBLINGS = (
    "chen-two-link-rigid-joints", "chu-example-2", "count-3-2-2", "tg-rp-2planes", "tg-rp-elements",
    "tg-rp-2planes-elements", "tg-rr-2planes", "tg-rr-2planes-elements", "tg-rr-payload",
    "tg-rr-payload-2planes", "tg-rr-payload-elements", "tg-rr-payload-2planes-elements",
    "tg-rrr-2planes", "tg-rrr-elements", "tg-rrr-2planes-elements", "tg-rrp", "tg-rrp-2planes",
    "tg-rrp-elements", "tg-rrp-2planes-elements", "theodore-rrp-elements", "theodore-rrp-motion",
)  # fmt: skip


def pairs(
    arms: Iterable[str],
    light: Iterable[str] | None = None,
    core: Sequence[str] = CORE,
    left: Iterable[str] = LONG,
) -> list[object]:
    """List every formulation with every arm, arm by arm, so that each is built once.

    Parameters
    ----------
    arms
        Names of the arms.
    light
        Those that CI gives to formulations outside the core; all if None.
    core
        The formulations that CI gives all arms.
    left
        Arms that CI leaves to campaigns.
    """
    quick = set(arms if light is None else light)
    return [
        pytest.param(
            name,
            arm,
            id=f"{arm}-{name}",
            marks=campaign_if(arm in left or not (name in core or arm in quick)),
        )
        for arm in arms
        for name in FORMULATIONS
    ]


def distinct_samples(left: Sequence[str] = ()) -> list[object]:
    """List the samples as cases; those that are like another one, and some, are for campaigns."""
    return [
        pytest.param(name, marks=campaign_if(name in (*SIBLINGS, *left)))
        for name in example_arm_names()
    ]


def campaign_if(heavy: bool) -> Sequence[pytest.MarkDecorator]:
    """Mark a case as one for campaigns, or not."""
    return (pytest.mark.campaign,) if heavy else ()


def skip_if_refused(name: str, model: Model) -> None:
    """Skip the test in the words of a formulation that refuses an arm."""
    reason = FORMULATIONS[name].refusal(model, paper=False)
    if reason is not None:
        pytest.skip(f"{name}: {reason}")


def gives_wrenches(name: str) -> bool:
    """Tell whether a formulation gives what joints transmit."""
    return FORMULATIONS[name].joint_wrench_expression is not Formulation.joint_wrench_expression
