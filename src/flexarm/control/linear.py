"""Small motions of an arm under the decoupling law."""

from dataclasses import dataclass

import numpy as np

from flexarm.control.drives import Drives, remaining
from flexarm.linear.state_space import state_space
from flexarm.linear.tangent import Point, Tangent
from flexarm.links.base import Array
from flexarm.model import Model


@dataclass(frozen=True)
class Linear:
    """Small motions ``x' = A x + B w`` with x the changes of r coordinates and their rates.

    These are all but a free base's and what is prescribed.
    """

    # A, B: matrices, (2r, 2r) and (2r, k).
    A: Array
    B: Array
    notices: tuple[str, ...]  # what became of Coulomb friction, joint by joint


def decoupled(tangent: Tangent, driven: Drives, q: Array, effort: Array) -> Linear:
    """Linearise about an equilibrium held by inputs, under the decoupling law.

    w are the accelerations of the driven coordinates that the law is asked for.  At rest nothing
    that a free base carries feels where it is, so that it can be left out.
    """
    kept = remaining(tangent.model)
    n, rows = len(kept), driven.motors[:, kept]
    free = state_space(tangent, Point(q, np.zeros(tangent.model.size), effort), ())
    size = len(free.A) // 2
    # A free base comes first; what is prescribed is no state.
    chosen = np.concatenate([np.arange(size - n, size), np.arange(2 * size - n, 2 * size)])
    A, inputs = free.A[np.ix_(chosen, chosen)], free.B[-n:]
    back = inputs @ np.linalg.inv(rows @ inputs)
    A[n:] -= back @ rows @ A[n:]
    return Linear(A, np.vstack([np.zeros_like(back), back]), free.notices)


def carried_mass(model: Model, mass: Array) -> Array:
    """Eliminate a free base from a mass matrix, and what is prescribed: (r, r)."""
    kept = remaining(model)
    found: Array = mass[np.ix_(kept, kept)]
    if model.floats:
        pulled = np.linalg.solve(mass[:6, :6], mass[:6][:, kept])
        found = found - mass[kept][:, :6] @ pulled
    return found
