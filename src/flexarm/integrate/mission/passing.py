"""What speeds become where the curvature of a rail jumps under a carriage that turns with it."""

import numpy as np

from flexarm.formulations.equation import Equation
from flexarm.links.base import Array

NEAR = 1e-13  # of the station, to either side


def speeds_beyond(
    equation: Equation, q: Array, v: Array, index: int, jump: float
) -> tuple[Array, float]:
    """Give the speeds (n,) on the far side of a jump of the rail's curvature, just passed.

    The carriage takes another spin there at once.  What turns it acts along the station alone, and
    does no work: all other momenta, and the energy, stay.  Given motions go on as they do; the work
    [J] that this takes of them comes second.

    Parameters
    ----------
    equation
        Of the arm.
    q, v
        Coordinates and speeds at the jump, (n,).
    index
        Of the station in q.
    jump
        The station at which it jumps [m].
    """
    before, beyond = q.copy(), q.copy()
    step = np.copysign(NEAR * jump, v[index])
    before[index], beyond[index] = jump - step, jump + step
    old, new = equation.mass_matrix(before), equation.mass_matrix(beyond)
    known = list(equation.model.prescribed)
    free = [i for i in range(len(q)) if i not in known]
    inner, push = new[np.ix_(free, free)], (old @ v)[free] - new[np.ix_(free, known)] @ v[known]
    found = v.copy()
    found[free] = np.linalg.solve(inner, push)
    if index not in known:
        found = _with_energy(old, new, v, found, index, free)
    return found, float(found @ new @ found - v @ old @ v) / 2


def _with_energy(
    old: Array, new: Array, v: Array, found: Array, index: int, free: list[int]
) -> Array:
    """Push a free station until the energy is what it was."""
    inner = new[np.ix_(free, free)]
    along = np.zeros_like(v)
    along[free] = np.linalg.solve(inner, np.eye(len(v))[free, index])

    def energy(mass: Array, speed: Array) -> float:
        """Kinetic energy of what is free, less that of given motions [J]."""
        still = speed.copy()
        still[free] = 0.0
        return float((speed - still) @ mass @ (speed - still) - still @ mass @ still) / 2

    excess = energy(new, found) - energy(old, v)
    slope, bend = float(found[free] @ inner @ along[free]), float(along[index])
    root = np.sqrt(max(slope**2 - 2 * bend * excess, 0.0))
    # Masses of all else do not jump: the energy lets the station go on as it went.
    return np.asarray(found + (np.copysign(root, v[index]) - slope) / bend * along)
