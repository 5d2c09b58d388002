"""Mass points of an exact beam as a field of its tangents.

The rotary inertia (Jx, Jy, Jz) of a section about its own axes equals that of masses
``(Jy + Jz - Jx)/2``, ... at the ends of unit vectors along the section's x, y and z axes; the
vectors rotate with the section and are unaffected by translation.
"""

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.collocation import Collocation
from flexarm.links.fields import AXES, Basis, Field, MovingField
from flexarm.mechanics.bodies.exact.space import XYZ, NodeMotion
from flexarm.mechanics.bodies.exact.tangents import (
    Angles,
    Tangents,
    angular_columns,
    node_tangents,
    turned,
)
from flexarm.spatial import Expr

# Masses at the three unit vectors per inertia about the three axes.
SHARES = np.array([[-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, -1.0]]) / 2


def exact_material(
    nodes: Collocation, mass: float, d: Expr, rates: Expr
) -> tuple[MovingField, Basis]:
    """Return the position field of a span with its integrals over the mass.

    The field includes the unit vectors of sections with rotary inertia.
    """
    turning = _vectors(nodes, d, rates) if np.any(nodes.rotary) else []
    return tangent_material(nodes, mass, node_tangents(nodes, d, rates), turning)


def tangent_material(
    nodes: Collocation, mass: float, t: Tangents, turning: list[tuple[Expr, Expr, Expr]]
) -> tuple[MovingField, Basis]:
    """Return the position field of a span and its integrals over the mass, from given tangents.

    Parameters
    ----------
    nodes, mass, t
        Nodes of the span, its mass [kg], and the tangents at the nodes.
    turning
        Unit vectors of the G sections along their x, y and z axes.  For each axis of the link:
        values (3G,), bias (3G,) and Jacobian (3G, m).  Empty without rotary inertia.
    """
    motion = NodeMotion.of(nodes, t)
    per = [motion.columns(a, np.eye(nodes.count)) for a in XYZ]
    value, bias = [t.place[a, :].T for a in range(3)], [t.bias[a, :].T for a in range(3)]
    weights = vector_masses(nodes)[nodes.count :]
    if turning:
        for a, (place, gained, swept) in enumerate(turning):
            value[a], bias[a] = ca.vertcat(value[a], place), ca.vertcat(bias[a], gained)
            per[a] = ca.vertcat(per[a], swept)
    basis = Basis(
        {
            (p, q): _joined(nodes.gram[a, b], weights)
            for a, p in enumerate(AXES)
            for b, q in enumerate(AXES)
        },
        {p: np.concatenate([nodes.mean[a], 0 * weights]) for a, p in enumerate(AXES)},
        mass,
    )
    moved = tuple(Field(*[per[a][:, j] for a in range(3)]) for j in range(nodes.twist.shape[1]))
    return MovingField(Field(*value), moved, Field(*bias)), basis


def _vectors(nodes: Collocation, d: Expr, rates: Expr) -> list[tuple[Expr, Expr, Expr]]:
    """Return the sections' unit vectors, in the form of the argument of `tangent_material`."""
    places, gains, sweeps = list[Expr](), list[Expr](), list[Expr]()
    for g in range(nodes.count):
        bend, twist = nodes.turn[:, g : g + 1], nodes.twist[g : g + 1]
        rows = bend, twist, 0 * twist
        at = turned(Angles.at(*rows, d), Angles.at(*rows, rates))
        turns = angular_columns(at, bend, twist)
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
