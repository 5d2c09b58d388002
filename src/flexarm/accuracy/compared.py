"""Error of the shapes of a run, by comparison with two runs of arms with more shapes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flexarm.accuracy.constants import ADDED_SHAPES, CONVERGENT_RATIO, MORE_ADDED_SHAPES, RESOLUTION
from flexarm.accuracy.defect import Motion, RicherArm
from flexarm.accuracy.integration import common_samples
from flexarm.accuracy.richer import enriched
from flexarm.constants import ACCUMULATED
from flexarm.mechanics.deformed import tip_deflection
from flexarm.model import Model
from flexarm.spatial import Array


@dataclass(frozen=True)
class ShapeComparison:
    """Error of the shapes of a run.

    Attributes
    ----------
    error
        Error of the tip deflections relative to the larger of their range and their size, of the
        worst link.
    tip
        Error of the arm's tip position [m].
    converged
        Whether the second step changed the deflections by less than half of the first, or by less
        than the tolerance; else the error may be larger.
    """

    error: float
    tip: float
    converged: bool


def compare(
    model: Model,
    motion: Motion,
    tip: Array,
    rtol: float,
    simulate: Callable[[Model], tuple[Motion, Array]],
) -> ShapeComparison:
    """Compute the error of the shapes of a motion from the motions of two richer arms.

    The error is the change by the first step and twice that by the second, which bounds the sum of
    all further ones if every step at least halves the change.

    Parameters
    ----------
    model, motion, tip, rtol
        The arm, its motion, the positions of its tip (T, 3) and the tolerance.
    simulate
        Simulates the same motion of another arm, and returns it and the positions of its tip.
    """
    still = RicherArm(model).still(motion, RESOLUTION * rtol)
    few, many = (enriched(model, number, still) for number in (ADDED_SHAPES, MORE_ADDED_SHAPES))
    runs = [(each, *simulate(each)) for each in (few, many)]
    rows = [common_samples(motion.t, each.t) for _, each, _ in runs]
    mine = np.intersect1d(rows[0][0], rows[1][0])
    theirs = [others[np.searchsorted(own, mine)] for own, others in rows]
    arms, qs, places = (model, few, many), [motion.q[mine]], [tip[mine]]
    for (_, other, place), at in zip(runs, theirs, strict=True):
        qs.append(other.q[at])
        places.append(place[at])
    worst, converged = 0.0, True
    for index, part in enumerate(model.links):
        if not part.flexible:
            continue
        given, less, best = (
            tip_deflection(arm, arm.links[index], q) for arm, q in zip(arms, qs, strict=True)
        )
        size = max(float(np.ptp(best, axis=0).max()), float(np.abs(best).max()))
        if size <= ACCUMULATED * max(part.length, 1e-3):
            continue
        first, last = (float(np.abs(a - b).max()) / size for a, b in ((given, less), (less, best)))
        worst = max(worst, first + 2 * last)
        converged &= last <= max(CONVERGENT_RATIO * first, rtol)
    given, less, best = places
    off = np.linalg.norm(given - less, axis=1).max() + 2 * np.linalg.norm(less - best, axis=1).max()
    return ShapeComparison(worst, float(off), converged)
