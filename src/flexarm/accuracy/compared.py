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
        Error of the link with the largest error of the tip deflection, relative to the larger of
        the deflection's range and size.
    tip
        Error of the arm's tip position [m].
    converged
        Whether the second addition of shapes changed the deflections by less than half as much as
        the first, or by less than the tolerance; otherwise the error may be larger.
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

    Shapes are added in two steps. The error is the change by the first step plus twice the change
    by the second. It is an upper bound if every further step at least halves the change.

    Parameters
    ----------
    model, motion, tip, rtol
        The arm, its motion, the positions of its tip (T, 3) and the tolerance.
    simulate
        Function that simulates the same motion of another arm, and returns this motion and the
        positions of its tip.
    """
    unloaded = RicherArm(model).unloaded_directions(motion, RESOLUTION * rtol)
    richer, richest = (
        enriched(model, number, unloaded).model for number in (ADDED_SHAPES, MORE_ADDED_SHAPES)
    )
    runs = [(motion_, *simulate(motion_)) for motion_ in (richer, richest)]
    rows = [common_samples(motion.t, motion_.t) for _, motion_, _ in runs]
    samples = np.intersect1d(rows[0][0], rows[1][0])
    other_samples = [
        rows_of_theirs[np.searchsorted(rows_of_ours, samples)]
        for rows_of_ours, rows_of_theirs in rows
    ]
    arms, qs, tip_positions = (model, richer, richest), [motion.q[samples]], [tip[samples]]
    for (_, other_motion, tip_position), sample_rows in zip(runs, other_samples, strict=True):
        qs.append(other_motion.q[sample_rows])
        tip_positions.append(tip_position[sample_rows])
    largest_error, converged = 0.0, True
    for index, part in enumerate(model.links):
        if not part.flexible:
            continue
        own, with_few, with_many = (
            tip_deflection(arm, arm.links[index], q) for arm, q in zip(arms, qs, strict=True)
        )
        size = max(float(np.ptp(with_many, axis=0).max()), float(np.abs(with_many).max()))
        if size <= ACCUMULATED * max(part.length, 1e-3):
            continue
        first, last = (
            float(np.abs(a - b).max()) / size for a, b in ((own, with_few), (with_few, with_many))
        )
        largest_error = max(largest_error, first + 2 * last)
        converged &= last <= max(CONVERGENT_RATIO * first, rtol)
    own, with_few, with_many = tip_positions
    tip_error = (
        np.linalg.norm(own - with_few, axis=1).max()
        + 2 * np.linalg.norm(with_few - with_many, axis=1).max()
    )
    return ShapeComparison(largest_error, float(tip_error), converged)
