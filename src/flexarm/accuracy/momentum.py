"""Balance of the momentum of a run on a free base."""

from dataclasses import dataclass

import numpy as np

from flexarm.links.base import Array
from flexarm.spatial import ACCUMULATED


@dataclass(frozen=True)
class MomentumBalance:
    """Errors of a run's momentum: changes that no external impulse explains."""

    linear: Array  # error of the momentum in inertial axes [N s], (T, 3)
    angular: Array  # error of the angular momentum about the centre of mass [N m s], (T, 3)
    # Largest momentum of the base relative to the centre of mass, or outer impulse; of angular
    # momenta divided by the arm's length [N s].
    exchanged: float
    length: float  # length of the arm [m]

    @property
    def largest(self) -> tuple[float, float]:
        """The largest error of the momentum [N s] and of the angular momentum [N m s]."""
        return _largest(self.linear), _largest(self.angular)

    @property
    def error(self) -> float:
        """The largest of these errors, relative to the momentum exchanged."""
        error = _joint(self.linear, self.angular, self.length)
        return error / self.exchanged if error else 0.0


def compare_momenta(momentum: Array, impulse: Array, length: float) -> MomentumBalance:
    """Compare momenta with impulses at T instants, all in inertial axes.

    Parameters
    ----------
    momentum
        Momentum [N s] over angular momentum [N m s] about the origin of all that moves, the same of
        the base relative to the centre of mass and about it, and that centre [m], (T, 15).
    impulse
        Impulse [N s] over angular impulse [N m s] about the origin of all that acts from outside,
        (T, 6).
    length
        Length of the arm [m].
    """
    whole, base, centre = momentum[:, :6], momentum[:, 6:12], momentum[:, 12:]
    outer = impulse - impulse[0]
    error, outer = (
        (rows[:, :3], rows[:, 3:] - np.cross(centre, rows[:, :3]))
        for rows in (whole - whole[0] - outer, outer)
    )
    exchanged = max(_joint(*outer, length), _joint(base[:, :3], base[:, 3:], length))
    largest = _joint(whole[:, :3], whole[:, 3:], length)
    exchanged = largest if exchanged <= ACCUMULATED * largest else exchanged
    return MomentumBalance(*error, exchanged, length)


def _largest(rows: Array) -> float:
    """Return the norm of the largest vector of (T, 3)."""
    return float(np.linalg.norm(rows, axis=1).max())


def _joint(linear: Array, angular: Array, length: float) -> float:
    """Return the largest norm of vectors (T, 3), combined with others divided by a length."""
    return max(_largest(linear), _largest(angular) / length)
