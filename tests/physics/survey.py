"""Every identity on many random arms: the worst figures, what failed, which options were taken."""

import traceback
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from flexarm.formulations import FORMULATIONS
from flexarm.model import Model, build
from tests.physics.cases import gives_wrenches
from tests.physics.identities import IDENTITIES, OF_JOINT_WRENCHES, agreement
from tests.physics.random_arms import OPTIONS, RandomArm, block
from tests.physics.states import Verdict
from tests.physics.traced import Traced

REFERENCE, SECOND = "composite", "articulated"


def other_than(name: str) -> str:
    """Name the formulation that another one is compared with."""
    return SECOND if name == REFERENCE else REFERENCE


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
    options, refused
        How many arms took each option, and how many each formulation refused.
    """

    arms: int = 0
    rounding: int = 0
    worst: dict[str, tuple[Verdict, int]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    options: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

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
        self.refused += other.refused
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
        lines.append("refused: " + ", ".join(f"{n} {k}" for n, k in self.refused.items()))
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
        for name, kind in FORMULATIONS.items():
            if kind.refusal(traced.model, paper=False) is not None:
                result.refused[name] += 1
                continue
            for identity, verdict_of in IDENTITIES.items():
                if gives_wrenches(name) or identity not in OF_JOINT_WRENCHES:
                    result.take(f"{identity} [{name}]", verdict_of(traced[name]), random.number)
            verdict = agreement(traced[name], traced[other_than(name)])
            result.take(f"agreement [{name}]", verdict, random.number)
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
