"""Every identity on many random arms: the worst figures, what failed, which options were taken."""

import traceback
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from flexarm.model import Model, build
from tests.physics.cases import CORE
from tests.physics.identities import IDENTITIES, formulations_agree
from tests.physics.random_arms import OPTIONS, RandomArm, block
from tests.physics.states import Verdict
from tests.physics.traced import Traced

REFERENCE = "composite"


@dataclass
class Survey:
    """What a survey found.

    Attributes
    ----------
    arms, rounding
        How many arms there were, and how many verdicts were by the condition of M.
    worst
        Per identity the verdict nearest to its bound (or furthest beyond), and the arm's number.
    failures
        A line for each failure.
    options
        How many arms took each option.
    """

    arms: int = 0
    rounding: int = 0
    worst: dict[str, tuple[Verdict, int]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    options: Counter[str] = field(default_factory=Counter)

    def take(self, name: str, verdict: Verdict, number: int) -> None:
        """Enter a verdict."""
        self.rounding += verdict.rule != "1e-10"
        if not verdict.good:
            self.failures.append(f"arm {number}: {name}: {verdict}")
        known = self.worst.get(name)
        if known is None or _share(verdict) > _share(known[0]):
            self.worst[name] = (verdict, number)

    def join(self, other: "Survey") -> None:
        """Enter what another survey found."""
        self.arms += other.arms
        self.rounding += other.rounding
        self.failures += other.failures
        self.options += other.options
        for name, (verdict, number) in other.worst.items():
            if name not in self.worst or _share(verdict) > _share(self.worst[name][0]):
                self.worst[name] = (verdict, number)

    def report(self) -> str:
        """Write the figures as a table."""
        lines = [f"{self.arms} random arms; {self.rounding} bounds were 100 eps cond(M)"]
        for name, (verdict, number) in sorted(self.worst.items()):
            lines.append(f"{name:45s} {verdict} at arm {number}")
        least = sorted(OPTIONS, key=lambda option: self.options[option])
        lines.append("arms per option: " + ", ".join(f"{o} {self.options[o]}" for o in least))
        return "\n".join([*lines, f"{len(self.failures)} failures", *self.failures])


def survey_block(index: int) -> Survey:
    """Try all identities on a block of random arms."""
    result = Survey()
    for arm in block(index):
        result.join(survey_arm(arm))
    return result


def survey_arm(random: RandomArm) -> Survey:
    """Try all identities on an arm, under every formulation."""
    result = Survey(arms=1, options=Counter(random.options))
    try:
        traced = trace(random)
        for name in CORE:
            arm = traced[name]
            for identity, verdict_of in IDENTITIES.items():
                result.take(f"{identity} [{name}]", verdict_of(arm), random.number)
            if name != REFERENCE:
                verdict = formulations_agree(arm, traced[REFERENCE])
                result.take(f"formulations_agree [{name}]", verdict, random.number)
    except Exception:
        result.failures.append(f"arm {random.number}: {traceback.format_exc(limit=-1)}")
    return result


def trace(random: RandomArm) -> "Equations":
    """Put a random arm under the formulations that will be asked for, at a state of its own."""
    return Equations(build(random.arm), random.number)


class Equations(dict[str, Traced]):
    """One arm under several formulations, each traced when it is first asked for."""

    def __init__(self, model: Model, seed: int) -> None:
        super().__init__()
        self.model, self.seed = model, seed
        self.shared: dict[Any, ca.Function] = {}

    def __missing__(self, name: str) -> Traced:
        self[name] = Traced(name, self.model, self.shared, seed=self.seed)
        return self[name]


def _share(verdict: Verdict) -> float:
    return verdict.error / verdict.allowed if verdict.allowed > 0 else verdict.error
