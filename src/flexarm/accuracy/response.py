"""Response of a linear arm with more shapes to loads, exact over stretches of constant modes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from flexarm.linear_model import undamped
from flexarm.links.base import Array

NEARLY = 0.999  # largest damping ratio; overdamped modes get this one
SLOW = 1e-3  # [rad] per step: slower modes count as free


@dataclass(frozen=True)
class Stretch:
    """Consecutive samples of a motion with constant matrices."""

    first: int  # index of its first sample
    last: int  # index of its last sample
    free: list[int]  # coordinates that move, (m,); the others are held where they are
    mass: Array  # rows of the mass matrix at its middle, of the coordinates that move, (m, n)
    stiffness: Array  # stiffness matrix at its middle, (m, m)
    damping: Array  # damping matrix at its middle, (m, m)
    kick: Array | None = None  # impulses on all coordinates at its beginning, (n, L), or None

    def stiffer(self, stiffness: Array, damping: Array) -> "Stretch":
        """Return it with stiffness and damping of all coordinates, (n, n) each, added."""
        own = np.ix_(self.free, self.free)
        return replace(
            self, stiffness=self.stiffness + stiffness[own], damping=self.damping + damping[own]
        )


def respond(t: Array, loads: Array, stretches: Iterator[Stretch]) -> Array:
    """Integrate ``M x'' + D x' + K x = f`` from rest, K and M constant over each stretch.

    Parameters
    ----------
    t
        Times [s], (T,).
    loads
        Loads f, linear between the times, of L motions at once, (T, n, L).
    stretches
        Consecutive stretches that cover all times.

    Returns
    -------
    Array
        x, (T, n, L).

    Notes
    -----
    In the modes of each stretch it is exact; damping that couples modes is left out.  Coordinates
    that become held stop at once, all other momenta stay; released, they begin from rest.
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
    """Return the matrices that propagate modes over a step, (modes, 2, 4).

    They act on place, rate, and the load at the beginning and at the end of the step.
    """
    omega = np.sqrt(np.maximum(squares, 0.0))
    decay = np.clip(loss / 2, 0.0, NEARLY * omega)  # negative values are rounding
    damped = np.sqrt(omega**2 - decay**2)
    cosine, sine = np.exp(-decay * h) * np.array(
        [np.cos(damped * h), h * np.sinc(damped * h / np.pi)]
    )
    own = np.array([[cosine + decay * sine, sine], [-(omega**2) * sine, cosine - decay * sine]])
    slow = omega * h < SLOW
    square = np.where(slow, 1.0, omega**2)
    # Particular solutions for a constant load, and for one that grows from 0 to 1.
    rise = 1 / (h * square)
    held = np.array([[1 / square, -2 * decay * rise / square], [0 * rise, rise]])
    reached = held + np.array([[0 * rise, h * rise], [0 * rise, 0 * rise]])
    loads = reached - np.einsum("ijm,jkm->ikm", own, held)
    drift = np.array([[h**2 / 2, h**2 / 6], [h, h / 2]])[:, :, None]
    loads = np.where(slow, drift, loads)
    loads = np.stack([loads[:, 0] - loads[:, 1], loads[:, 1]], axis=1)
    return np.asarray(np.concatenate([own, loads], axis=1).transpose(2, 0, 1))
