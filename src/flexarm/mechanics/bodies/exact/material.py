"""Mass points of an exact beam as a vector field in terms of its tangents.

The rotary inertia (Jx, Jy, Jz) of a section about its own axes equals that of masses
``(Jy + Jz - Jx)/2``, ... at the ends of unit vectors along the section's x, y and z axes; the
vectors rotate with the section and are unaffected by translation.
"""

import casadi as ca
import numpy as np

from flexarm.links.collocation import Collocation
from flexarm.links.fields import AXES, Basis
from flexarm.mechanics.bodies.exact.tangents import Angles, turned
from flexarm.spatial import Array, Expr, constant

# Masses at the three unit vectors per inertia about the three axes.
SHARES = np.array([[-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, -1.0]]) / 2


def material_basis(nodes: Collocation, mass: float) -> Basis:
    """Return the mass integrals [kg] of the functions in a span's position field."""
    weights = vector_masses(nodes)[nodes.count :]
    gram = {
        (p, q): _joined(nodes.gram[a, b], weights)
        for a, p in enumerate(AXES)
        for b, q in enumerate(AXES)
    }
    mean = {p: np.concatenate([nodes.mean[a], 0 * weights]) for a, p in enumerate(AXES)}
    return Basis(gram, mean, mass)


def section_vectors(nodes: Collocation, d: Expr, rates: Expr) -> list[tuple[Expr, Expr, Expr]]:
    """Return the sections' unit vectors as an argument of `AxisMotion.field`."""
    places, gains, sweeps = list[Expr](), list[Expr](), list[Expr]()
    for g in range(nodes.count):
        bend, twist = nodes.turn[:, g : g + 1], nodes.twist[g : g + 1]
        rows = bend, twist, 0 * twist
        at = turned(Angles.at(*rows, d), Angles.at(*rows, rates))
        turns = at.columns([constant(row) for row in (*bend, twist)])
        for k in range(3):
            vector = at.rotation[:, k]
            places.append(vector)
            gains.append(ca.cross(at.bias, vector) + ca.cross(at.spin, ca.cross(at.spin, vector)))
            sweeps.append(-ca.skew(vector) @ turns)
    return [
        (
            ca.vertcat(*[place[a] for place in places]),
            ca.vertcat(*[gain[a] for gain in gains]),
            ca.vertcat(*[sweep[a, :] for sweep in sweeps]),
        )
        for a in range(3)
    ]


def vector_masses(nodes: Collocation) -> Array:
    """Return masses [kg m^2] of tangents, (G,), and of sections' unit vectors, (3G,) or (0,)."""
    units = (SHARES @ nodes.rotary).T.ravel() if np.any(nodes.rotary) else np.zeros(0)
    return np.concatenate([nodes.point, units])


def _joined(gram: Array, weights: Array) -> Array:
    """Return the block-diagonal matrix of a Gram matrix and a diagonal of masses."""
    none = np.zeros((len(gram), len(weights)))
    return np.block([[gram, none], [none.T, np.diag(weights)]])
