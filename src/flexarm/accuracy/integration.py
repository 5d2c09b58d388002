"""Integration error of a run, from a comparison with a run at a smaller tolerance."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flexarm.accuracy.constants import LEAST_ERROR_RATIO, RESOLUTION, SAME_TIME, WIND_UP_ROUNDING
from flexarm.accuracy.defect import Motion
from flexarm.constants import ACCUMULATED, NEGLIGIBLE
from flexarm.mechanics.deformed import flexible_links, tip_deflection
from flexarm.model import Model
from flexarm.spatial import Array, rotations_between

Rows = npt.NDArray[np.int_]


@dataclass(frozen=True)
class IntegrationError:
    """Error of a run relative to the exact solution of the same equations.

    Attributes
    ----------
    error
        Largest error of tip deflections, wind-ups, joint coordinates and base coordinates, each
        relative to its range in the run; None if it was not computed.
    kept_until
        Time up to which the error is within the tolerance [s]; None if the error is within the
        tolerance in the whole run, or was not computed.
    rounding
        Part of the error caused by rounding, which a smaller tolerance does not reduce.
    at_least
        Whether ``error`` is the error of an energy or momentum balance; the true error may be
        larger.
    rtol
        Relative tolerance of the run; None if the user gave a step size instead.
    """

    error: float | None
    kept_until: float | None = None
    rounding: float = 0.0
    at_least: bool = False
    rtol: float | None = None

    @property
    def beyond(self) -> bool:
        """Whether the integration error without rounding exceeds the tolerance of the run."""
        if self.error is None or self.rtol is None:
            return False
        return self.error - self.rounding > self.rtol


def integration_error(
    model: Model,
    motion: Motion,
    closer: Motion | None,
    *,
    rtol: float,
    falls: float,
    steps: int,
    balance: float,
) -> IntegrationError:
    """Compute the integration error of a motion from the same motion at a smaller tolerance.

    Parameters
    ----------
    model, motion
        The arm and its motion.
    closer
        The same motion, computed at a smaller tolerance; None if it was not computed.
    rtol
        Relative tolerance at which the motion was computed.
    falls
        Expected ratio of the integration errors of the two motions, from their step sizes.
    steps
        Number of integration steps, from which the accumulated rounding error is estimated.
    balance
        Largest error of the energy and momentum balances, relative to the exchanged energy and
        momentum. If the error of a balance exceeds the tolerance, it is a lower bound of the
        integration error.
    """
    error, kept_until, rounding = None, None, 0.0
    if any(axis.motor is not None for axis in model.axes):
        rounding = _rounding(model, motion.q, steps)
    if closer is not None:
        rows, other_rows = common_samples(motion.t, closer.t)
        # Share of the error that appears in the difference of the two motions.
        fraction = 1 - 1 / max(falls, LEAST_ERROR_RATIO)
        errors = (
            relative_differences(model, motion, rows, closer, other_rows) / fraction
            + RESOLUTION * rtol
        )
        late_rows = np.flatnonzero(errors > rtol)
        kept_until = float(motion.t[rows[max(late_rows[0] - 1, 0)]]) if len(late_rows) else None
        error = float(errors.max(initial=0.0)) + rounding
    at_least = balance > max(rtol, error or 0.0)
    return IntegrationError(balance if at_least else error, kept_until, rounding, at_least, rtol)


def relative_differences(
    model: Model, motion: Motion, rows: Rows, other: Motion, other_rows: Rows
) -> Array:
    """Return the largest relative difference of two motions at each of S common samples, (S,).

    Differences of tip deflections and wind-ups are relative to the ranges of these quantities.
    Differences of joint and base coordinates are relative to the larger of their range and their
    scale (1 rad, or the length of the arm).
    """
    q, other_q = motion.q, _coordinates(model, motion, rows, other, other_rows)
    differences = [np.zeros(len(rows))]
    for part in flexible_links(model):
        tip, other_tip = (tip_deflection(model, part, x) for x in (q, other_q))
        size = float(np.ptp(tip, axis=0).max())
        if size > ACCUMULATED * max(part.length, 1e-3):
            differences.append(np.abs(other_tip - tip[rows]).max(axis=1) / size)
    if any(axis.motor is not None for axis in model.axes):
        own_wind_ups = wind_ups(model, q)
        differences += [
            *(np.abs(wind_ups(model, other_q) - own_wind_ups[rows]) / _range(own_wind_ups)).T
        ]
    ranges = np.ptp(q, axis=0)
    for k, scale in model.scales.items():
        differences.append(np.abs(other_q[:, k] - q[rows, k]) / max(scale, ranges[k]))
    return np.asarray(np.max(differences, axis=0))


def wind_ups(model: Model, q: Array) -> Array:
    """Return the wind-up of each elastic joint, motor minus joint angle, (T, elastic joints)."""
    pairs = [(axis.motor, axis.index) for axis in model.axes if axis.motor is not None]
    return np.array([q[:, motor] - q[:, joint] for motor, joint in pairs]).reshape(-1, len(q)).T


def common_samples(t: Array, other: Array) -> tuple[Rows, Rows]:
    """Return the indices of the S samples at which two motions have common times, (S,) each."""
    tolerance = SAME_TIME * float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    nearest = np.minimum(np.searchsorted(other, t - tolerance), len(other) - 1)
    rows = np.flatnonzero(np.abs(other[nearest] - t) <= tolerance)
    return rows, nearest[rows]


def _coordinates(
    model: Model, motion: Motion, rows: Rows, other: Motion, other_rows: Rows
) -> Array:
    """Return the coordinates of another motion at S common samples, (S, n).

    Attitude angles are those of the first motion plus the rotation vector between the attitudes of
    the two motions.
    """
    q = other.q[other_rows].copy()
    for k, first in enumerate(model.attitudes):
        axes, angles = slice(3 * k, 3 * k + 3), slice(first, first + 3)
        own_attitudes, other_attitudes = (
            motion.reference_attitudes[rows][:, axes],
            other.reference_attitudes[other_rows][:, axes],
        )
        own_angles = motion.q[rows, angles]
        q[:, angles] = own_angles + rotations_between(
            own_attitudes, own_angles, other_attitudes, q[:, angles]
        )
    return q


def _range(values: Array) -> Array:
    """Return the range of the wind-up of each elastic joint, (joints,)."""
    return np.asarray(np.maximum(np.ptp(values, axis=0), NEGLIGIBLE))


def _rounding(model: Model, q: Array, steps: int) -> float:
    """Return the estimated rounding error of wind-ups, relative to the range of each.

    The rounding error of a wind-up causes the same relative error of the transmission's torque, and
    of the deflections that this torque causes.
    """
    pairs = [[axis.motor, axis.index] for axis in model.axes if axis.motor is not None]
    angles = np.array([np.abs(q[:, pair]).max(axis=0).sum() for pair in pairs])
    shares = angles / _range(wind_ups(model, q))
    return float(WIND_UP_ROUNDING * steps**0.5 * shares.max(initial=0.0))
