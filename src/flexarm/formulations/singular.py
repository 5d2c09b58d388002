"""Diagnosis of singular or indefinite mass matrices.

The exact mass matrix is positive definite at every posture, but approximations of it may not be.
With one point per element, the mass matrix is singular (element-jacobian). With first-order tip
rotations (lagrange and recursive-lagrange) or without a second-order term (gibbs-appell), the mass
matrix is indefinite at deflections of a few per cent of the length.
"""

import numpy as np

from flexarm.constants import SINGULAR
from flexarm.formulations.constants import NAMED_COORDINATES
from flexarm.mechanics.weightless import least_inertia
from flexarm.model import Model
from flexarm.spatial import Array


def why_singular(name: str, model: Model, mass: Array, *, paper: bool) -> str:
    """Return the reason why a mass matrix (n, n) is singular or indefinite; "" if it is regular."""
    names, prescribed = model.names, model.prescribed
    free = [i for i in range(len(names)) if i not in prescribed]
    smallest, pattern = least_inertia(mass[np.ix_(free, free)])
    if not smallest <= SINGULAR:
        return ""
    order = np.argsort(-np.abs(pattern))[:NAMED_COORDINATES]
    coordinates = ", ".join(names[free[k]] for k in order)
    state, inertia_word = (
        ("indefinite", "a negative") if smallest < -SINGULAR else ("singular", "no")
    )
    return (
        f"{name}: its approximation leaves the mass matrix {state} at these coordinates "
        f"(least eigenvalue {smallest:.0e} when scaled to a unit diagonal). A motion, "
        f"mostly of {coordinates}, has {inertia_word} inertia there. Choose other coordinates, or "
        f"{_remedy(model, paper)}."
    )


def _remedy(model: Model, paper: bool) -> str:
    if paper:
        return "set paper=False"
    if model.tip_rotation == "first-order":
        return "build the model with tip_rotation='cayley'"
    return "set points=4"
