"""Sampling of designs: grid, random points, Latin hypercube, Sobol and Saltelli sequences."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm.spatial import Array
from flexarm.studies.constants import SEED_DESIGNS, TAIL
from flexarm.studies.design.plan import Sampling

CELLS = (bool, int, float, str)  # types that a column can hold


@dataclass(frozen=True)
class ParameterValues:
    """A varied parameter with its distribution or list of values in SI units."""

    name: str  # name of the parameter and of the result column
    keys: tuple[str, ...]  # keys of the model file or of the initial state that are set
    kind: str  # ``linear``, ``log``, ``normal`` or ``values``
    low: float = 0.0  # lower bound; mean of a normal distribution
    high: float = 0.0  # upper bound; standard deviation of a normal distribution
    levels: int = 0  # number of values in a grid
    values: tuple[Any, ...] = ()  # listed values of kind ``values``

    def at(self, share: Array) -> NDArray[Any]:
        """Return the parameter values at cumulative probabilities between 0 and 1."""
        if self.kind == "values":
            places = np.minimum((share * len(self.values)).astype(int), len(self.values) - 1)
            return np.asarray(self._cells[places])
        if self.kind == "normal":
            from scipy.special import ndtri

            return np.asarray(self.low + self.high * ndtri(np.clip(share, TAIL, 1 - TAIL)))
        if self.kind == "log":
            return np.asarray(self.low * (self.high / self.low) ** share)
        return np.asarray(self.low + (self.high - self.low) * share)

    @property
    def _cells(self) -> NDArray[Any]:
        """Return listed values as an array of one type, or as JSON texts if their types differ."""
        plain = len({*map(type, self.values)}) == 1 and isinstance(self.values[0], CELLS)
        return np.array(self.values if plain else [json.dumps(v, default=str) for v in self.values])

    def value(self, cell: Any) -> Any:
        """Return the parameter value of a cell in a result column, which may be JSON text."""
        if self.kind != "values":
            return cell
        return self.values[self._cells.tolist().index(cell)]


def design_count(sampling: Sampling, axes: Sequence[ParameterValues]) -> int:
    """Return the number of designs of a study."""
    if sampling.kind == "grid":
        return prod(axis.levels for axis in axes)
    return (sampling.count or 0) * (len(axes) + 2 if sampling.kind == "saltelli" else 1)


def shares(sampling: Sampling, axes: Sequence[ParameterValues], first: int, last: int) -> Array:
    """Return designs ``first`` to ``last - 1`` as points of the unit cube.

    The shape is (last - first, parameters), one row per design.
    """
    numbers, size = np.arange(first, last), len(axes)
    if sampling.kind == "grid":
        places = np.unravel_index(numbers, [axis.levels for axis in axes])
        return np.stack([_level(axis, k) for axis, k in zip(axes, places, strict=True)], axis=1)
    if sampling.kind == "random":
        blocks = range(first // SEED_DESIGNS, -(-last // SEED_DESIGNS))
        drawn = [
            np.random.default_rng([sampling.seed, k]).random((SEED_DESIGNS, size)) for k in blocks
        ]
        begin = first - blocks[0] * SEED_DESIGNS
        return np.concatenate(drawn)[begin : begin + last - first]
    if sampling.kind == "latin-hypercube":
        return _hypercube(size, sampling.count or 0, sampling.seed)[first:last]
    if sampling.kind == "sobol":
        return _sobol(size, sampling.seed, first, last)
    return _saltelli(sampling, size, first, last)


def _level(axis: ParameterValues, k: NDArray[np.intp]) -> Array:
    return np.asarray((k + 0.5) / axis.levels if axis.values else k / max(axis.levels - 1, 1))


@lru_cache(maxsize=2)
def _hypercube(size: int, count: int, seed: int) -> Array:
    from scipy.stats import qmc

    return np.asarray(qmc.LatinHypercube(size, seed=np.random.default_rng(seed)).random(count))


def _sobol(size: int, seed: int, first: int, last: int) -> Array:
    from scipy.stats import qmc

    points = qmc.Sobol(size, seed=np.random.default_rng(seed))
    with warnings.catch_warnings():  # a part of the sequence need not be a power of 2
        warnings.simplefilter("ignore", UserWarning)
        if first:  # SciPy refuses to skip 0 points
            points.fast_forward(first)
        return np.asarray(points.random(last - first))


def _saltelli(sampling: Sampling, size: int, first: int, last: int) -> Array:
    """Return points ``first`` to ``last - 1`` of Saltelli's design, one row per point.

    The blocks are matrices A and B, then A with each column in turn replaced by the column of B.
    """
    count, blocks = sampling.count or 0, []
    while first < last:
        block, begin = divmod(first, count)
        end = min(last - block * count, count)
        both = _sobol(2 * size, sampling.seed, begin, end)
        part = both[:, size:].copy() if block == 1 else both[:, :size].copy()
        if block > 1:
            part[:, block - 2] = both[:, size + block - 2]
        blocks.append(part)
        first = block * count + end
    return np.concatenate(blocks)
