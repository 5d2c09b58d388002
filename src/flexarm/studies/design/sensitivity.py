"""Sobol indices of a quantity by parameter, with bootstrap bounds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm.arguments import require_count, require_number
from flexarm.errors import FlexarmError
from flexarm.spatial import Array
from flexarm.studies.constants import LEAST_SOBOL_POINTS


@dataclass(frozen=True)
class SobolIndices:
    """First-order and total Sobol indices of one quantity, with bootstrap bounds.

    Attributes
    ----------
    parameters
        Names of the parameters.
    first, total
        First-order and total index of each parameter, shape (k,): its share of the variance without
        and with interactions.
    first_bounds, total_bounds
        Bootstrap bounds, low and high, (2, k).
    """

    parameters: tuple[str, ...]
    first: Array
    total: Array
    first_bounds: Array
    total_bounds: Array


def sobol_indices(
    name: str,
    values: Array,
    parameters: Sequence[str],
    count: int,
    *,
    confidence: float,
    resamples: int,
) -> SobolIndices:
    """Estimate the Sobol indices of a quantity from the designs of a Saltelli sampling.

    Parameters
    ----------
    name
        Name of the quantity.
    values
        Values of the quantity at the points of A, of B, and of A with each column in turn replaced
        by that of B, shape (count (k + 2),).
    parameters
        Names.
    count
        Points of A.
    confidence, resamples
        Confidence level and number of resamples of the bootstrap bounds.

    Notes
    -----
    First order by Saltelli et al. 2010, total by Jansen 1999.  A design without a number excludes
    its group of k + 2 designs.
    """
    require_number("confidence", confidence, least=0.5, largest=0.9999)
    require_count("resamples", resamples, 10)
    blocks = np.asarray(values, dtype=float).reshape(-1, count)
    whole = blocks[:, np.isfinite(blocks).all(axis=0)]
    if whole.shape[1] < LEAST_SOBOL_POINTS:
        raise FlexarmError(
            f"sobol: '{name}' is a number at {whole.shape[1]} points, and {LEAST_SOBOL_POINTS} are "
            "needed. Take more points."
        )
    drawn = np.random.default_rng(0).integers(0, whole.shape[1], (resamples, whole.shape[1]))
    again = np.array([_estimate(whole[:, which]) for which in drawn])
    edges = [(1 - confidence) / 2, (1 + confidence) / 2]
    bounds = np.quantile(again, edges, axis=0)
    first, total = _estimate(whole)
    return SobolIndices(tuple(parameters), first, total, bounds[:, 0], bounds[:, 1])


def _estimate(blocks: Array) -> Array:
    """Return first-order and total Sobol indices, shape (2, k); 0 if the quantity is constant.

    ``blocks`` has one row each for A, B and the k mixed matrices of Saltelli's design.
    """
    a, b, ab = blocks[0], blocks[1], blocks[2:]
    variance = float(np.var(blocks[:2]))
    if not variance:
        return np.zeros((2, len(ab)))
    middle = blocks[:2].mean()
    first = np.mean((b - middle) * (ab - a), axis=1)
    total = np.mean((a - ab) ** 2, axis=1) / 2
    return np.stack([first, total]) / variance
