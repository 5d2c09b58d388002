"""Momentum balance of a run on a free base."""

from dataclasses import dataclass

import numpy as np

from flexarm.constants import ACCUMULATED
from flexarm.spatial import Array


@dataclass(frozen=True)
class MomentumBalance:
    """Errors of the momentum of a run: its change less the impulse of external forces."""

    linear: Array  # error of the momentum in inertial axes [N s], (T, 3)
    angular: Array  # error of the angular momentum about the centre of mass [N m s], (T, 3)
    # Momentum exchanged [N s]: the largest momentum of the base relative to the centre of mass, or
    # external impulse; angular momenta count divided by the arm's length.
    exchanged: float
    length: float  # length of the arm [m]

    @property
    def largest(self) -> tuple[float, float]:
        """Largest error of momentum [N s] and of angular momentum [N m s] in the run."""
        return largest_norm(self.linear), largest_norm(self.angular)

    @property
    def error(self) -> float:
        """Largest momentum error relative to the momentum exchanged.

        Errors of the angular momentum are divided by the arm's length, for comparison with errors
        of the momentum.
        """
        error = _joint(self.linear, self.angular, self.length)
        return error / self.exchanged if error else 0.0


def compare_momenta(momentum: Array, impulse: Array, length: float) -> MomentumBalance:
    """Compute the balance of momenta and external impulses at T times, in inertial axes.

    Parameters
    ----------
    momentum
        Array (T, 15) whose columns are, three each: momentum [N s] and angular momentum about the
        origin [N m s] of all bodies; momentum and angular momentum of the base relative to the
        arm's centre of mass; position of the arm's centre of mass [m].
    impulse
        Impulse [N s] and angular impulse about the origin [N m s] of all external forces, (T, 6).
    length
        Length of the arm [m].
    """
    total, base, centre = momentum[:, :6], momentum[:, 6:12], momentum[:, 12:]
    change_of_impulse = impulse - impulse[0]
    error, change_of_impulse = (
        (rows[:, :3], rows[:, 3:] - np.cross(centre, rows[:, :3]))
        for rows in (total - total[0] - change_of_impulse, change_of_impulse)
    )
    exchanged = max(_joint(*change_of_impulse, length), _joint(base[:, :3], base[:, 3:], length))
    largest = _joint(total[:, :3], total[:, 3:], length)
    exchanged = largest if exchanged <= ACCUMULATED * largest else exchanged
    return MomentumBalance(*error, exchanged, length)


def largest_norm(rows: Array) -> float:
    """Return the largest Euclidean norm among the rows of an array, (T, 3)."""
    return float(np.linalg.norm(rows, axis=1).max())


def _joint(linear: Array, angular: Array, length: float) -> float:
    """Return the largest Euclidean norm among the rows of ``linear`` and ``angular / length``."""
    return max(largest_norm(linear), largest_norm(angular) / length)
