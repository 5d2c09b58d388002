"""Linearised dynamics of an arm under the decoupling law."""

import numpy as np

from flexarm.control.statics import Drives, remaining
from flexarm.linear.tangent import OperatingPoint, Tangent, moves
from flexarm.linear_model import StateMatrices
from flexarm.model import Model
from flexarm.spatial import Array


def decoupled(tangent: Tangent, driven: Drives, q: Array, effort: Array) -> StateMatrices:
    """Return the linear state-space model about an equilibrium, under the decoupling law.

    States are the r coordinates that belong neither to a free base nor to prescribed motions, and
    their rates. Inputs are the commanded accelerations of the driven coordinates. The position of a
    free base has no effect on the arm's motion about rest, so it is left out.
    """
    model = tangent.model
    states, (free, columns) = remaining(model), moves(model, set())
    n, rows = len(states), driven.motors[:, states]
    point = OperatingPoint(q, np.zeros(model.size), effort)
    a = tangent.accelerations(point, columns)
    whole = tangent.matrices(point, a).along(free, columns).state_space()
    # A free base comes first; prescribed coordinates are no states.
    size = len(free)
    chosen = np.concatenate([np.arange(size - n, size), np.arange(2 * size - n, 2 * size)])
    A, inputs = whole.A[np.ix_(chosen, chosen)], whole.B[-n:]
    back = inputs @ np.linalg.inv(rows @ inputs)
    A[n:] -= back @ rows @ A[n:]
    return StateMatrices(A, np.vstack([np.zeros_like(back), back]))


def carried_mass(model: Model, mass: Array) -> Array:
    """Return the mass matrix of the remaining coordinates, free base eliminated, shape (r, r).

    A free base is eliminated by its momentum balance.
    """
    states = remaining(model)
    reduced: Array = mass[np.ix_(states, states)]
    if model.floats:
        pulled = np.linalg.solve(mass[:6, :6], mass[:6][:, states])
        reduced = reduced - mass[states][:, :6] @ pulled
    return reduced
