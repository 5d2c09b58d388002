"""Statistics of a fit: covariance, identifiability of parameters, tests of residuals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm.constants import NAMED_SHARE
from flexarm.fitting.constants import CORRELATION_LAGS, FALSE_ALARM, UNDETERMINED
from flexarm.spatial import Array


@dataclass(frozen=True)
class ResidualTest:
    """Statistics of the residuals of one sensor in one run."""

    run: str  # name of the run
    sensor: str  # name of the sensor
    error: float  # rms residual divided by the standard deviation of the readings
    rms: float  # rms residual, in SI units
    whiteness: float  # p-value of the test of Ljung & Box with 20 lags
    # largest correlation with an input, divided by the 95 % quantile for white noise
    from_inputs: float

    @property
    def white(self) -> bool:
        """Whether the Ljung-Box test does not reject white noise, at a level of 0.01."""
        return self.whiteness > FALSE_ALARM


@dataclass(frozen=True)
class ParameterCombination:
    """A linear combination of relative parameter changes, with its standard error."""

    shares: dict[str, float]  # share of each parameter
    error: float  # relative standard error

    @property
    def open(self) -> bool:
        """Whether the data leave the combination uncertain: a relative error of 0.3 or more."""
        return not self.error < UNDETERMINED

    def words(self) -> str:
        """Return a description of the combination and of its relative error."""
        main = {k: v for k, v in self.shares.items() if abs(v) > NAMED_SHARE}
        uncertainty = f"to {100 * self.error:.2g} %" if self.error < 100 else "not at all"
        if len(main) == 1:
            return f"{next(iter(main))}: known {uncertainty}"
        signs = " and ".join(f"{k} {'up' if v > 0 else 'down'}" for k, v in main.items())
        return f"{signs} together: known {uncertainty}"


def covariance(
    jacobian: Array,
    residuals: Array,
    lengths: Sequence[int],
    *,
    white: bool,
    prior: Array | None = None,
) -> Array:
    """Return the estimated covariance matrix of the fitted values, shape (k, k).

    Parameters
    ----------
    jacobian, residuals
        Jacobian and residuals, both divided by the noise, (N, k) and (N,), series after series.
    lengths
        Length of each series: one per sensor and run.
    prior
        Derivatives of m weighted distances from the initial guesses, (m, k); the weights make the
        distances' standard deviations 1.
    white
        Whether residuals are white noise. If false, correlation in time is estimated with a
        Bartlett window over each series (Newey & West 1987).
    """
    sizes = np.linalg.norm(jacobian, axis=0)
    acts = sizes > 0
    result = np.diag(np.where(acts, 0.0, math.inf))  # infinite without effect on readings
    if not acts.any():
        return result
    scaled = jacobian[:, acts] / sizes[acts]  # magnitudes range from 1e-3 kg to 1e11 Pa
    known = np.zeros((0, len(sizes))) if prior is None else prior
    known = known[:, acts] / sizes[acts]
    spread = bread = _inverse_square(np.vstack([scaled, known]))
    if not white:
        spread = bread @ (_scatter(scaled, residuals, lengths) + known.T @ known) @ bread
        # The variances are at least those for white residuals: correlated errors never carry more
        # information than equally many independent errors.
        np.fill_diagonal(spread, np.maximum(np.diag(spread), np.diag(bread)))
    result[np.ix_(acts, acts)] = spread / np.outer(sizes[acts], sizes[acts])
    return result


def _scatter(jacobian: Array, residuals: Array, lengths: Sequence[int]) -> Array:
    """Return the covariance matrix of J^T r for residuals correlated in time, shape (k, k)."""
    filling = np.zeros((jacobian.shape[1],) * 2)
    for end, length in zip(np.cumsum(lengths), lengths, strict=True):
        moments = jacobian[end - length : end] * residuals[end - length : end, None]
        reach = max(1, min(length // 4, _memory(residuals[end - length : end])))
        filling += moments.T @ moments
        for lag in range(1, reach):
            share = moments[lag:].T @ moments[:-lag]
            filling += (1 - lag / reach) * (share + share.T)
    values, vectors = np.linalg.eigh(filling)  # nonnegative except for rounding
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _inverse_square(jacobian: Array) -> Array:
    """Return (J^T J)^-1, with very large entries for parameters without effect on the residuals."""
    enough = np.vstack([jacobian, np.zeros((jacobian.shape[1], jacobian.shape[1]))])
    _, values, rows = np.linalg.svd(enough, full_matrices=False)
    half = rows.T / np.maximum(values, 1e-15 * max(float(values[0]), 1e-150))
    return np.asarray(half @ half.T)


def _memory(series: Array) -> int:
    """Return a series' correlation length, four times the first lag of small correlation."""
    rho = _correlations(series, min(len(series) // 4, 2000))
    small = np.flatnonzero(np.abs(rho) < 2 / math.sqrt(len(series)))
    return 4 * int(small[0] + 1 if len(small) else len(rho))


def redundancy(series: Array) -> float:
    """Return the number of a series' readings with the information of an independent one."""
    rho = _correlations(series, min(len(series) // 4, 2000))
    small = np.flatnonzero(np.abs(rho) < 2 / math.sqrt(len(series)))
    return max(1.0, 1.0 + 2.0 * float(np.sum(rho[: small[0] if len(small) else len(rho)])))


def _correlations(series: Array, lags: int) -> Array:
    """Return the autocorrelation coefficients of a series at lags 1 to ``lags``."""
    from scipy.signal import correlate

    x = series - series.mean()
    products = correlate(x, x)[len(x) - 1 :]
    return np.asarray(products[1 : lags + 1] / max(float(products[0]), 1e-300))


def whiteness(series: Array) -> float:
    """Return the p-value of the Ljung-Box test that a series is white noise."""
    from scipy.stats import chi2

    count, lags = len(series), min(CORRELATION_LAGS, len(series) // 4)
    rho = _correlations(series, lags)
    total = count * (count + 2) * float(np.sum(rho**2 / (count - np.arange(1, lags + 1))))
    return float(chi2.sf(total, lags))


def from_inputs(series: Array, inputs: Array) -> float:
    """Return the largest correlation of residuals with an input, relative to white noise.

    The reference is the 95 % quantile of the correlation for white noise.
    """
    lags = min(CORRELATION_LAGS, len(series) // 4)
    x = (series - series.mean()) / max(float(series.std()), 1e-300)
    worst = 0.0
    for column in inputs.T:
        if column.std() > 0:
            u = (column - column.mean()) / column.std()
            several = [float(np.mean(x[lag:] * u[: len(u) - lag])) for lag in range(lags + 1)]
            worst = max(worst, float(np.abs(several).max()))
    return worst * math.sqrt(len(series)) / 2.0


def combinations(
    names: Sequence[str],
    sizes: Array,
    jacobian: Array,
    residuals: Array,
    lengths: Sequence[int],
    *,
    white: bool,
) -> tuple[ParameterCombination, ...]:
    """Return the principal combinations of the fitted parameters, least certain first.

    Parameters
    ----------
    names, sizes
        Names of the fitted values and their scales, (k,).
    jacobian, residuals, lengths, white
        As for `covariance`. Combinations are right singular vectors of the scaled Jacobian.
    """
    rows, values, shares = np.linalg.svd(jacobian * sizes, full_matrices=False)
    wider = np.ones(len(values))
    if not white:
        wider = np.sqrt(np.maximum(np.diag(_scatter(rows, residuals, lengths)), 1.0))
    errors = np.where(values > 1e-12 * values[0], wider / np.maximum(values, 1e-300), math.inf)
    listed = [
        ParameterCombination(dict(zip(names, (row * np.sign(row[np.argmax(np.abs(row))])).tolist(),
                             strict=True)), float(error))
        for row, error in zip(shares, errors, strict=True)
    ]  # fmt: skip
    return tuple(sorted(listed, key=lambda combination: -combination.error))


def moved_by(jacobian: Array, off: Array) -> tuple[Array, float]:
    """Return the shifts of the fitted values caused by errors of the readings, shape (k,).

    The largest shift of any parameter combination, in standard errors, is returned too.

    Parameters
    ----------
    jacobian, off
        Jacobian of the residuals and errors of the readings, both divided by the noise, (N, k) and
        (N,).
    """
    rows, values, shares = _seen(jacobian)
    along = rows.T @ off
    return np.abs(along / values @ shares), float(np.linalg.norm(along))


def _seen(jacobian: Array) -> tuple[Array, Array, Array]:
    """Return the singular value decomposition of the Jacobian with normalised columns.

    Directions with negligible singular values, without effect on the residuals, are omitted.

    Returns
    -------
    rows, values, shares
        Left singular vectors, (N, r), singular values, (r,), and right singular vectors over the
        scales, (r, k).
    """
    sizes = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-150)
    rows, values, shares = np.linalg.svd(jacobian / sizes, full_matrices=False)
    significant = values > 1e-12 * values.max(initial=1e-150)
    return rows[:, significant], values[significant], shares[significant] / sizes


def left_to_go(jacobian: Array, gradient: Array, errors: Array, free: Array) -> Array:
    """Return the estimated distance of each fitted value from the minimum, shape (k,).

    The distances, in standard errors, follow from the local quadratic model of the squared
    residuals.

    Parameters
    ----------
    jacobian, gradient
        Jacobian of the residuals, (N, k), and gradient of half the sum of their squares, (k,).
    errors, free
        Standard errors, and a mask of the values that are not at a bound, (k,).
    """
    distance = np.zeros(len(errors))
    _, values, rows = _seen(jacobian[:, free])
    along = rows @ gradient[free] / values**2
    distance[free] = np.abs(along @ rows) / np.maximum(errors[free], 1e-300)
    return distance
