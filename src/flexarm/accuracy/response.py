"""How an arm with more shapes would answer to what a motion leaves unbalanced in them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from flexarm.linear_model import undamped
from flexarm.links.base import Array

NEARLY = 0.999  # of critical damping: more counts as that
SLOW = 1e-3  # of a radian per step: slower modes count as free


@dataclass(frozen=True)
class Stretch:
    """Samples from ``first`` to ``last`` of a motion, and what holds between them."""

    # first, last: the samples.
    first: int
    last: int
    free: list[int]  # coordinates that move, (m,); the others are held where they came to
    mass: Array  # rows of the mass matrix of its middle that move, (m, n)
    # stiffness, damping: matrices of its middle, (m, m).
    stiffness: Array
    damping: Array
    kick: Array | None = None  # impulses on all coordinates where it begins, (n, L), or None

    def stiffer(self, stiffness: Array, damping: Array) -> "Stretch":
        """Add stiffness and damping of all coordinates, (n, n) each."""
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
        What covers all times, one after the other.

    Returns
    -------
    Array
        x, (T, n, L).

    Notes
    -----
    In the modes of each stretch it is exact; damping that couples modes is left out.  What is held
    from a stretch on stops at once, all other momenta stay; let go, it begins from rest.
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
    """Give the matrices that take modes over a step, (modes, 2, 4).

    They act on place, rate, and the load at the begin and at the end of the step.
    """
    omega = np.sqrt(np.maximum(squares, 0.0))
    decay = np.clip(loss / 2, 0.0, NEARLY * omega)  # less than 0 is rounding
    damped = np.sqrt(omega**2 - decay**2)
    cosine, sine = np.exp(-decay * h) * np.array(
        [np.cos(damped * h), h * np.sinc(damped * h / np.pi)]
    )
    own = np.array([[cosine + decay * sine, sine], [-(omega**2) * sine, cosine - decay * sine]])
    slow = omega * h < SLOW
    square = np.where(slow, 1.0, omega**2)
    # a load that is constant, and one that grows from 0 to 1: where they would hold the mode
    rise = 1 / (h * square)
    held = np.array([[1 / square, -2 * decay * rise / square], [0 * rise, rise]])
    reached = held + np.array([[0 * rise, h * rise], [0 * rise, 0 * rise]])
    loads = reached - np.einsum("ijm,jkm->ikm", own, held)
    drift = np.array([[h**2 / 2, h**2 / 6], [h, h / 2]])[:, :, None]
    loads = np.where(slow, drift, loads)
    loads = np.stack([loads[:, 0] - loads[:, 1], loads[:, 1]], axis=1)
    return np.asarray(np.concatenate([own, loads], axis=1).transpose(2, 0, 1))
