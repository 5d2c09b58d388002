"""Error of the integration of a run, by comparison with a run at a tighter tolerance."""

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
    """Error of a run against the exact solution of the same equations.

    Attributes
    ----------
    error
        Largest error of tip deflections, wind-ups, joint and base coordinates, relative to their
        ranges; None if it was not computed.
    kept_until
        Time up to which the error is within the tolerance [s]; None if the error stays within it to
        the end of the run, or was not computed.
    rounding
        Part of the error due to rounding, which a smaller tolerance does not reduce.
    at_least
        Whether ``error`` is the error of an energy or momentum balance; the true error may be
        larger.
    rtol
        Tolerance of the run; None if the step size was given instead.
    """

    error: float | None
    kept_until: float | None = None
    rounding: float = 0.0
    at_least: bool = False
    rtol: float | None = None

    @property
    def beyond(self) -> bool:
        """Whether the integration error, less its rounding part, exceeds the tolerance."""
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
    """Compute the error of a motion by comparison with the same motion at a tighter tolerance.

    Parameters
    ----------
    model, motion
        The arm and its motion.
    closer
        The same motion at the tighter tolerance; None if it was not computed.
    rtol
        Tolerance of the motion.
    falls
        Expected ratio of the errors of the two motions, from their step lengths.
    steps
        Number of steps, from which the accumulated rounding error is estimated.
    balance
        Largest error of the energy and momentum balances, relative to the exchanged energy and
        momentum. If it exceeds the tolerance, it is a lower bound of the integration error.
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
    """Return the largest difference of two motions of an arm at each of S common samples, (S,).

    Differences of tip deflections and wind-ups are relative to their ranges; differences of joint
    and base coordinates are relative to the scale of their tolerance (1 rad, the length) or their
    range, if larger.
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
    """Return the indices of the samples of two motions at common times, (S,) each."""
    tolerance = SAME_TIME * float(np.median(np.diff(t))) if len(t) > 1 else 0.0
    nearest = np.minimum(np.searchsorted(other, t - tolerance), len(other) - 1)
    rows = np.flatnonzero(np.abs(other[nearest] - t) <= tolerance)
    return rows, nearest[rows]


def _coordinates(
    model: Model, motion: Motion, rows: Rows, other: Motion, other_rows: Rows
) -> Array:
    """Return the coordinates of another motion at common samples, (S, n).

    Attitude angles are replaced by the first motion's angles plus the rotation vector between the
    two attitudes.
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
    """Return the range of each wind-up, (joints,), to which errors of wind-ups are relative."""
    return np.asarray(np.maximum(np.ptp(values, axis=0), NEGLIGIBLE))


def _rounding(model: Model, q: Array, steps: int) -> float:
    """Return an estimate of the rounding error of wind-ups relative to their range.

    The torques of transmissions, and the deflections they cause, have the same relative error.
    """
    pairs = [[axis.motor, axis.index] for axis in model.axes if axis.motor is not None]
    angles = np.array([np.abs(q[:, pair]).max(axis=0).sum() for pair in pairs])
    shares = angles / _range(wind_ups(model, q))
    return float(WIND_UP_ROUNDING * steps**0.5 * shares.max(initial=0.0))
