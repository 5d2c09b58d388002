"""Motions of the papers, whole or not at all: what someone stopped decides no statement."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from flexarm.integrate.simulate import simulate as simulate_as_far_as
from flexarm.runs.run import Run

P = ParamSpec("P")


def _whole(simulated: Callable[P, Run]) -> Callable[P, Run]:
    @wraps(simulated)
    def whole(*args: P.args, **options: P.kwargs) -> Run:
        run = simulated(*args, **options)
        if run.status == "interrupted":
            raise KeyboardInterrupt(run.reason)
        return run

    return whole


simulate = _whole(simulate_as_far_as)
