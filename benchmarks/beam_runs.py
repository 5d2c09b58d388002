"""What was tried on a motion, and which of it keeps to an error."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from beam_exudyn import Setting
from beam_problems import Choice, Problem

# Which runs count.
ANY, DEPENDABLE, GIVEN = "Any run", "Dependable runs", "Dependable runs, EA as given"


def keeping(runs: Sequence["Tried"], level: float, *, dependable: bool) -> list["Tried"]:
    """List the runs that keep to an error, the cheapest first, those timed in turns before others.

    Parameters
    ----------
    runs
        What was tried.
    level
        Error that is allowed [%].
    dependable
        Whether all finer runs of the same kind must keep to the level too: one that does not was
        lucky, which nobody can know who has no reference.
    """
    kept = [
        run
        for run in runs
        if run.error <= level
        and (not dependable or all(other.error <= level for other in runs if other.refines(run)))
    ]
    return sorted(kept, key=lambda run: (not run.in_turns, run.seconds))


@dataclass(frozen=True)
class Tried:
    """A run.

    Attributes
    ----------
    setting
        What it was run with.
    error
        Its error [%].
    seconds, in_turns
        CPU time of its steps [s], and whether that is the median of timings in turns.
    method
        What flexarm chose.
    """

    setting: Choice | Setting
    error: float
    seconds: float
    method: str = ""
    in_turns: bool = False

    @property
    def stretch(self) -> float:
        """Return the factor on the stretching stiffness."""
        return self.setting.stretch if isinstance(self.setting, Setting) else 1.0

    def refines(self, other: "Tried") -> bool:
        """Tell whether this is a finer run of the same kind."""
        mine, its = self.setting, other.setting
        return mine.family == its.family and all(
            a >= b for a, b in zip(mine.fineness, its.fineness, strict=True)
        )

    def to_json(self) -> dict[str, Any]:
        """Return what is kept of a run."""
        kept = {
            "setting": str(self.setting),
            "error_percent": self.error if math.isfinite(self.error) else None,
            "seconds": self.seconds,
            "in_turns": self.in_turns,
        }
        return kept | ({"method": self.method} if self.method else {})


@dataclass(frozen=True)
class Outcome:
    """What was found of a motion: the reference, and both codes' runs.

    Attributes
    ----------
    problem
        The motion.
    converged
        The reference, and runs that show that it has converged.
    exudyn, defaults
        Exudyn's runs with settings that were looked for, and with its default ones.
    flexarm
        flexarm's.
    """

    problem: Problem
    converged: list[Tried]
    exudyn: list[Tried]
    defaults: list[Tried]
    flexarm: list[Tried]

    @property
    def least(self) -> float:
        """Return the error below which errors say little, since the reference is uncertain [%]."""
        return 3 * max((run.error for run in self.converged if run.stretch == 1), default=0.0)

    @property
    def rules(self) -> tuple[str, ...]:
        """Return the rules by which runs count."""
        softened = any(run.stretch != 1 for run in self.exudyn)
        return (ANY, DEPENDABLE, GIVEN) if softened else (ANY, DEPENDABLE)

    def keeping(self, rule: str, level: float) -> tuple[list[Tried], list[Tried]]:
        """List Exudyn's and flexarm's runs that keep to an error by a rule, the cheapest first."""
        if level < self.least:
            return [], []
        theirs = [run for run in self.exudyn if rule != GIVEN or run.stretch == 1]
        first, second = (
            keeping(runs, level, dependable=rule != ANY) for runs in (theirs, self.flexarm)
        )
        return first, second

    def to_json(self) -> dict[str, Any]:
        """Return what is kept of a motion."""
        return {
            "problem": self.problem.name,
            "reference": [run.to_json() for run in self.converged],
            "exudyn": [run.to_json() for run in self.exudyn],
            "exudyn_defaults": [run.to_json() for run in self.defaults],
            "flexarm": [run.to_json() for run in self.flexarm],
        }
