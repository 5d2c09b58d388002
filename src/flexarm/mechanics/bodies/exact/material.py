"""The points of an exact beam as fields: tangents, times how far each reaches.

The rotary inertia J of a section about its own axis is that of masses J/2, J/2 and -J/2 at the ends
of unit vectors along its y, z and x, which turn with it and go nowhere.
"""

import casadi as ca
import numpy as np

from flexarm.links.base import Array
from flexarm.links.collocation import Collocation, Polar
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

SHARES = (-0.5, 0.5, 0.5)


def exact_material(
    nodes: Collocation, mass: float, d: Expr, rates: Expr
) -> tuple[MovingField, Basis]:
    """See the points of a span, and its sections' turning about their axes."""
    turning = [] if nodes.polar is None else _vectors(nodes.polar, d, rates)
    return tangent_material(nodes, mass, node_tangents(nodes, d, rates), turning)


def tangent_material(
    nodes: Collocation, mass: float, t: Tangents, turning: list[tuple[Expr, Expr, Expr]]
) -> tuple[MovingField, Basis]:
    """See the points of a span from its tangents.

    Parameters
    ----------
    nodes, mass, t
        The span, its mass [kg], and the tangents at its nodes.
    turning
        Of the unit vectors along x, y, z of the p sections that have rotary inertia, per axis:
        place, bias (3p,), columns (3p, m).  Empty if there are none.
    """
    motion = NodeMotion.of(nodes, t)
    per = [motion.columns(a, np.eye(nodes.count)) for a in XYZ]
    value, bias = [t.place[a, :].T for a in range(3)], [t.bias[a, :].T for a in range(3)]
    weights = np.zeros(0)
    if nodes.polar is not None:
        weights = np.outer(nodes.polar.inertia, SHARES).ravel()
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


def _vectors(sections: Polar, d: Expr, rates: Expr) -> list[tuple[Expr, Expr, Expr]]:
    """See the unit vectors of p sections along x, y, z: place, bias (3p,), columns (3p, m)."""
    places, gains, sweeps = list[Expr](), list[Expr](), list[Expr]()
    for g in range(len(sections.inertia)):
        bend, twist = sections.bend[:, g : g + 1], sections.twist[g : g + 1]
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


def _joined(gram: Array, weights: Array) -> Array:
    """Put a Gram matrix and single masses on one diagonal."""
    none = np.zeros((len(gram), len(weights)))
    return np.block([[gram, none], [none.T, np.diag(weights)]])
