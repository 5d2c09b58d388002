"""Response of a linear arm with more shapes to loads, exact for piecewise constant modes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from flexarm.linear_model import integral_of_exponential, undamped
from flexarm.spatial import Array


@dataclass(frozen=True)
class Stretch:
    """Time interval of a motion in which the matrices of the linear model are constant."""

    first: int  # index of its first sample
    last: int  # index of its last sample
    free: list[int]  # coordinates that move, (m,); the others do not move
    mass: Array  # rows of the mass matrix at its middle, of the coordinates that move, (m, n)
    stiffness: Array  # stiffness matrix at its middle, (m, m)
    damping: Array  # damping matrix at its middle, (m, m)
    kick: Array | None = None  # impulses on all coordinates at its beginning, (n, L), or None

    def stiffer(self, stiffness: Array, damping: Array) -> "Stretch":
        """Return a copy of the interval with (n, n) matrices added to stiffness and damping."""
        block = np.ix_(self.free, self.free)
        return replace(
            self, stiffness=self.stiffness + stiffness[block], damping=self.damping + damping[block]
        )


def respond(t: Array, loads: Array, stretches: Iterator[Stretch]) -> Array:
    """Integrate ``M x'' + D x' + K x = f`` from rest, with constant matrices in each interval.

    Parameters
    ----------
    t
        Times [s], (T,).
    loads
        Loads f, linear between the times, of L motions at once, (T, n, L).
    stretches
        Consecutive intervals that cover all times.

    Returns
    -------
    Array
        x, (T, n, L).

    Notes
    -----
    The solution is exact in the modes of each interval; damping that couples modes is neglected.
    Coordinates stop at once when they become held, and start at rest when released.
    """
    x, rate = np.zeros(loads.shape[1:]), np.zeros(loads.shape[1:])
    result = np.zeros(loads.shape)
    for stretch in stretches:
        mass = stretch.mass[:, stretch.free]
        squares, vectors = undamped(mass, stretch.stiffness)
        loss = np.einsum("im,ij,jm->m", vectors, stretch.damping, vectors)
        y, dy = vectors.T @ mass @ x[stretch.free], vectors.T @ stretch.mass @ rate
        if stretch.kick is not None:
            dy += vectors.T @ stretch.kick[stretch.free]
        modal_loads = vectors.T @ loads[stretch.first : stretch.last + 1, stretch.free]
        steps = {}
        for k in range(stretch.first, stretch.last):
            h = float(t[k + 1] - t[k])
            length = round(h / (t[-1] - t[0]), 12)
            if length not in steps:
                steps[length] = _step(squares, loss, h)
            ends = modal_loads[k - stretch.first : k - stretch.first + 2]
            y, dy = np.einsum("miv,vml->iml", steps[length], np.stack([y, dy, *ends]))
            x[stretch.free] = vectors @ y
            result[k + 1] = x
        rate[:] = 0.0
        rate[stretch.free] = vectors @ dy
    return result


def _step(squares: Array, loss: Array, h: float) -> Array:
    """Return the matrices that propagate each mode over a step of length h, (modes, 2, 4).

    They multiply position, rate, and the load at the beginning and at the end of the step.
    """
    rates = np.zeros((len(squares), 4, 4))  # of place, rate, load, and the load's change per step
    rates[:, [0, 1, 2], [1, 2, 3]] = 1.0, 1.0, 1 / h
    rates[:, 1, :2] = -np.column_stack([np.maximum(squares, 0.0), np.maximum(loss, 0.0)])
    fastest = float(np.abs(np.linalg.eigvals(rates[:, :2, :2])).max(initial=0.0))
    propagator = np.eye(4) + rates @ integral_of_exponential(rates, h, fastest)
    ends = np.array([[1.0, 0.0], [-1.0, 1.0]])  # load and its change, of the loads at the two ends
    return np.asarray(np.concatenate([propagator[:, :2, :2], propagator[:, :2, 2:] @ ends], axis=2))
