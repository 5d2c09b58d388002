"""Small motions of an arm under the decoupling law."""

from dataclasses import dataclass

import numpy as np

from flexarm.control.drives import Drives
from flexarm.linear.state_space import state_space
from flexarm.linear.tangent import Point, Tangent
from flexarm.links.base import Array


@dataclass(frozen=True)
class Linear:
    """Small motions ``x' = A x + B w`` with x the changes of q and v.

    Attributes
    ----------
    A, B
        Matrices, (2n, 2n) and (2n, k).
    notices
        What became of Coulomb friction, joint by joint.
    """

    A: Array
    B: Array
    notices: tuple[str, ...]


def decoupled(tangent: Tangent, driven: Drives, q: Array, effort: Array) -> Linear:
    """Linearise about an equilibrium held by inputs, under the decoupling law.

    w are the accelerations of the driven coordinates that the law is asked for.
    """
    n, rows = tangent.model.size, driven.motors
    free = state_space(tangent, Point(q, np.zeros(n), effort), ())
    inputs = free.B[n:]
    back = inputs @ np.linalg.inv(rows @ inputs)
    A = free.A.copy()
    A[n:] -= back @ rows @ free.A[n:]
    return Linear(A, np.vstack([np.zeros_like(back), back]), free.notices)
