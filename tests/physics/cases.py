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

CORE = ("articulated", "composite")
LONG = ("chain-30",)  # samples whose mass matrix takes long to trace


def pairs(arms: Iterable[str], light: Iterable[str] | None = None) -> list[object]:
    """List every formulation with every arm, arm by arm, so that each is built once.

    Parameters
    ----------
    arms
        Names of the arms.
    light
        Those that CI gives to formulations outside `CORE`; all if None.
    """
    quick = set(arms if light is None else light)
    return [
        pytest.param(
            name,
            arm,
            id=f"{arm}-{name}",
            marks=campaign_if(arm in LONG or not (name in CORE or arm in quick)),
        )
        for arm in arms
        for name in FORMULATIONS
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
