"""Look for shapes that err no more than is wished: run, judge by richer ones, take more."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm.arm import Arm
from flexarm.errors import FlexarmError
from flexarm.integrate.simulate import simulate
from flexarm.model import build
from flexarm.runs.plot import tip_deflection
from flexarm.runs.run import Run
from flexarm.study.bases import Basis, enriched, grown, title

TOLERANCE = 1e-5  # of the runs: far below what shapes are to be judged by
SAMPLES = 400
TRIALS = 8
MOST_COORDINATES = 100


@dataclass(frozen=True)
class Answer:
    """The shapes that a search came to.

    Attributes
    ----------
    basis
        The shapes, in words.
    shapes
        What to write as ``shapes`` in the model file, by link.
    coordinates
        Number of coordinates.
    estimate
        Their truncation error, as for the shapes given; None if no trial could be judged.
    within
        Whether that is within the wish.
    trials
        How many shapes were judged.
    """

    basis: str
    shapes: dict[str, dict[str, Any]]
    coordinates: int
    estimate: float | None
    within: bool
    trials: int


class ShapeRuns:
    """One motion of an arm on different shapes, each run made once.

    Parameters
    ----------
    t_end
        Duration [s].
    wish
        Error that would do, which the runs' tolerance must be well below.
    """

    def __init__(self, t_end: float, wish: float) -> None:
        self.t_end, self.tolerance = t_end, min(TOLERANCE, wish / 10)
        self._made: list[tuple[Arm, Run]] = []

    def of(self, arm: Arm) -> Run:
        """Run an arm, or give its run again."""
        for known, run in self._made:
            if known == arm:
                return run
        run = simulate(arm, t_end=self.t_end, dt=self.t_end / SAMPLES, rtol=self.tolerance)
        self._made.append((arm, run))
        return run

    def estimate(self, arm: Arm) -> float | None:
        """Judge shapes by the run with enriched ones; None if a run fails or nothing deflects."""
        try:
            run, best = self.of(arm), self.of(enriched(arm))
        except FlexarmError:
            return None
        if {run.status, best.status} != {"finished"}:
            return None
        return max(differences(run, best).values(), default=None)


def differences(run: Run, best: Run) -> dict[str, float]:
    """Compare the tip deflections of two runs, per link that deflects, over their range."""
    found = {}
    for part, other in zip(run.model.links, best.model.links, strict=True):
        if not part.flexible:
            continue
        true = tip_deflection(best, other)
        spread = float(np.ptp(true, axis=0).max())
        if spread > 1e-12 * max(part.length, 1e-3):
            error = np.abs(tip_deflection(run, part) - true).max()
            found[part.name] = float(error) / spread
    return found


def search(
    runs: ShapeRuns,
    tried: Sequence[tuple[Basis, float | None]],
    *,
    wish: float,
    trials: int,
    say: Callable[[str], None],
) -> Answer:
    """Judge the best of the shapes tried, and take more of them until they are within a wish.

    Parameters
    ----------
    runs
        Where runs are made.
    tried
        Shapes and their error against one rich run, if known; the first are those given.
    wish
        Error that would do.
    trials
        How many shapes are judged at most, each by a run with richer ones; arms of more than 100
        coordinates are not.
    say
        Called with what is run next.
    """
    best, estimate, count = tried[0][0].arm, None, 0
    for arm in _candidates(tried, wish):
        if count == trials or build(enriched(arm), stiffening=False).size > MOST_COORDINATES:
            break
        say(f"trial {count + 1}: {title(arm)}")
        count += 1
        found = runs.estimate(arm)
        if found is not None and (estimate is None or found < estimate):
            best, estimate = arm, found
        if found is not None and found <= wish:
            break
    shapes = {
        name: link.shapes.model_dump(mode="json", exclude_defaults=True)
        | {"kind": link.shapes.kind}
        for name, link in zip(best.link_names, best.links, strict=True)
        if link.flexible
    }
    within = estimate is not None and estimate <= wish
    size = build(best, stiffening=False).size
    return Answer(title(best), shapes, size, estimate, within, count)


def _candidates(tried: Sequence[tuple[Basis, float | None]], wish: float) -> Iterator[Arm]:
    """Give shapes in the order in which they are worth a trial, without end."""
    known = [(error, basis.arm) for basis, error in tried if error is not None]
    sizes = [build(arm, stiffening=False).size for _, arm in known]
    promising = [
        (size, error, arm) for size, (error, arm) in zip(sizes, known, strict=True) if error <= wish
    ]
    if promising:
        yield min(promising, key=lambda each: each[:2])[2]
    given = build(tried[0][0].arm, stiffening=False).size
    few = [(error, arm) for size, (error, arm) in zip(sizes, known, strict=True) if size <= given]
    arm = min(few or known, key=lambda each: each[0])[1]
    while True:
        arm = grown(arm)
        yield arm
