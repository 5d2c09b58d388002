"""Where a mass matrix cannot be inverted: some motion has no inertia there, or a negative one.

That of an arm's points is positive definite at every posture.  Approximations of it need not be:
one point per element loses rank (element-jacobian), tips that are no rotations (lagrange and
recursive-lagrange, first-order) and a term of second order left out (gibbs-appell) make it
indefinite at deflections of some hundredths of the length.
"""

from typing import TYPE_CHECKING

import numpy as np

from flexarm.links.base import Array

if TYPE_CHECKING:
    from flexarm.formulations.base import Formulation

SINGULAR = 1e-12  # least eigenvalue of the scaled mass matrix that still leaves some digits
NAMED = 3  # coordinates that a message names


def singularity(equation: "Formulation", q: Array) -> str:
    """Say why the mass matrix at coordinates q, (n,), cannot be inverted, or nothing."""
    names, prescribed = equation.model.names, equation.model.prescribed
    free = [i for i in range(len(names)) if i not in prescribed]
    arrays = (q, equation.anchor) if equation.model.floats else (q,)
    mass = equation.compiled("mass_matrix").call(*arrays)[0].reshape(len(names), -1)
    least, pattern = least_inertia(mass[np.ix_(free, free)])
    if not least <= SINGULAR:
        return ""
    order = np.argsort(-np.abs(pattern))[:NAMED]
    moved = ", ".join(names[free[k]] for k in order)
    what, has = ("indefinite", "a negative") if least < -SINGULAR else ("singular", "no")
    return (
        f"{equation.name}: its approximation leaves the mass matrix {what} at these coordinates "
        f"(least eigenvalue {least:.0e} when scaled to a unit diagonal): a motion, mostly of "
        f"{moved}, has {has} inertia there; take other coordinates, or {_remedy(equation)}"
    )


def _remedy(equation: "Formulation") -> str:
    if equation.paper:
        return "say paper=False"
    if equation.model.tip_rotation == "first-order":
        return "build the model with tip_rotation='cayley'"
    return "say points=4"


def least_inertia(mass: Array, rounding: Array | float = 0.0) -> tuple[float, Array]:
    """Find the least eigenvalue of M scaled to a unit diagonal, and its vector.

    A coordinate that moves nothing, or no more than rounding errors (k,), has the eigenvalue 0; a
    matrix that is none has an infinite one.
    """
    inertia = np.abs(np.diag(mass))
    if not len(inertia) or not np.all(np.isfinite(mass)):
        return np.inf, inertia
    none = inertia <= rounding
    if np.any(none):
        return 0.0, none.astype(float)
    size = np.sqrt(inertia)
    values, vectors = np.linalg.eigh(mass / np.outer(size, size))
    return float(values[0]), vectors[:, 0]
