"""Response of a linear arm with more shapes to loads, exact for piecewise constant modes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from flexarm.linear_model import integral_of_exponential, undamped
from flexarm.spatial import Array


@dataclass(frozen=True)
class Stretch:
    """An interval of a motion over which the linear model's matrices are constant."""

    first: int  # index of its first sample
    last: int  # index of its last sample
    free: list[int]  # coordinates that move, (m,); the others are held where they are
    mass: Array  # rows of the mass matrix at its middle, of the coordinates that move, (m, n)
    stiffness: Array  # stiffness matrix at its middle, (m, m)
    damping: Array  # damping matrix at its middle, (m, m)
    kick: Array | None = None  # impulses on all coordinates at its beginning, (n, L), or None

    def stiffer(self, stiffness: Array, damping: Array) -> "Stretch":
        """Return a copy with stiffness and damping matrices, (n, n) each, added."""
        own = np.ix_(self.free, self.free)
        return replace(
            self, stiffness=self.stiffness + stiffness[own], damping=self.damping + damping[own]
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
    for part in stretches:
        mass = part.mass[:, part.free]
        squares, vectors = undamped(mass, part.stiffness)
        loss = np.einsum("im,ij,jm->m", vectors, part.damping, vectors)
        y, dy = vectors.T @ mass @ x[part.free], vectors.T @ part.mass @ rate
        if part.kick is not None:
            dy += vectors.T @ part.kick[part.free]
        pushes = vectors.T @ loads[part.first : part.last + 1, part.free]
        steps = {}
        for k in range(part.first, part.last):
            h = float(t[k + 1] - t[k])
            same = round(h / (t[-1] - t[0]), 12)
            if same not in steps:
                steps[same] = _step(squares, loss, h)
            ends = pushes[k - part.first : k - part.first + 2]
            y, dy = np.einsum("miv,vml->iml", steps[same], np.stack([y, dy, *ends]))
            x[part.free] = vectors @ y
            result[k + 1] = x
        rate[:] = 0.0
        rate[part.free] = vectors @ dy
    return result


def _step(squares: Array, loss: Array, h: float) -> Array:
    """Return the matrices that propagate each mode over a step of length h, (modes, 2, 4).

    They multiply position, rate, and the load at the beginning and at the end of the step.
    """
    rates = np.zeros((len(squares), 4, 4))  # of place, rate, load, and the load's change per step
    rates[:, [0, 1, 2], [1, 2, 3]] = 1.0, 1.0, 1 / h
    rates[:, 1, :2] = -np.column_stack([np.maximum(squares, 0.0), np.maximum(loss, 0.0)])
    fastest = float(np.abs(np.linalg.eigvals(rates[:, :2, :2])).max(initial=0.0))
    solved = np.eye(4) + rates @ integral_of_exponential(rates, h, fastest)
    ends = np.array([[1.0, 0.0], [-1.0, 1.0]])  # load and its change, of the loads at the two ends
    return np.asarray(np.concatenate([solved[:, :2, :2], solved[:, :2, 2:] @ ends], axis=2))
