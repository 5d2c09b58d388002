"""How an arm with more shapes would answer to what a motion leaves unbalanced in them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from flexarm.links.base import Array

NEARLY = 0.999  # of critical damping: more counts as that
SLOW = 1e-3  # of a radian per step: slower modes count as free


@dataclass(frozen=True)
class Stretch:
    """Samples from ``first`` to ``last`` of a motion, and the matrices of its middle, (n, n)."""

    first: int
    last: int
    mass: Array
    stiffness: Array
    damping: Array


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
    In the modes of each stretch it is exact; damping that couples modes is left out.
    """
    x, rate = np.zeros(loads.shape[1:]), np.zeros(loads.shape[1:])
    result = np.zeros(loads.shape)
    for part in stretches:
        squares, vectors = scipy.linalg.eigh(part.stiffness, part.mass)
        loss = np.einsum("im,ij,jm->m", vectors, part.damping, vectors)
        back = vectors.T @ part.mass
        y, dy = back @ x, back @ rate
        pushes = vectors.T @ loads[part.first : part.last + 1]
        steps = {}
        for k in range(part.first, part.last):
            h = float(t[k + 1] - t[k])
            same = round(h / (t[-1] - t[0]), 12)
            if same not in steps:
                steps[same] = _step(squares, loss, h)
            ends = pushes[k - part.first : k - part.first + 2]
            y, dy = np.einsum("miv,vml->iml", steps[same], np.stack([y, dy, *ends]))
            result[k + 1] = vectors @ y
        x, rate = vectors @ y, vectors @ dy
    return result


def _step(squares: Array, loss: Array, h: float) -> Array:
    """Give the matrices that take modes over a step, (modes, 2, 4).

    They act on place, rate, and the load at the begin and at the end of the step.
    """
    omega = np.sqrt(np.maximum(squares, 0.0))
    decay = np.minimum(loss / 2, NEARLY * omega)
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
