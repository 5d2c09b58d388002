"""Linear model of an arm's elasticity at a posture, and the motions that locked joints permit."""

from collections.abc import Set

import casadi as ca
import numpy as np

from flexarm.engine.operators import direct_operators
from flexarm.formulations import formulation
from flexarm.formulations.base import inertial_force, mass_of
from flexarm.formulations.composite import momentum_expression
from flexarm.formulations.quantities import symbol
from flexarm.linear_model import LinearModel
from flexarm.mechanics.loads import dissipative_force, elastic_force, elastic_stiffness, hub_row
from flexarm.model import Model, undeformed
from flexarm.spatial import Array


@direct_operators()
def trace(model: Model) -> ca.Function:
    """Trace the matrices and forces of an arm as one CasADi function of q and v.

    The outputs are: mass matrix (n, n), inertial force with gravity at zero acceleration (n,),
    elastic force (n,), elastic stiffness without preload (n, n), the damping force's derivative by
    v (n, n), and the centre of mass of all moving bodies, (3,).
    """
    q, v = symbol(model, "q"), symbol(model, "v")
    equation = formulation("composite", model).formulation
    outputs = [
        mass_of(equation, q),
        inertial_force(equation, q, v),
        elastic_force(model, q),
        elastic_stiffness(model, q),
        ca.jacobian(dissipative_force(model, q, v), v),
        momentum_expression(model, q, v)[2],
    ]
    return ca.Function("arm", [q, v], [ca.densify(ca.SX(output)) for output in outputs])


def linearise_elastic(model: Model, traced: ca.Function, pose: Array) -> LinearModel:
    """Evaluate mass, elastic stiffness and damping at a posture, at rest with undeformed links.

    Notes
    -----
    The stiffness of gravity, loads and preloaded springs is left out: it depends on
    the equilibrium.
    """
    values = [np.array(m) for m in traced(undeformed(model, pose), np.zeros(model.size))]
    mass, stiffness, damping = ((m + m.T) / 2 for m in (values[0], values[3], values[4]))
    return LinearModel(mass, stiffness, damping, model.names)


def lock_drives(model: Model, linear: LinearModel) -> LinearModel:
    """Return a linear model with prescribed coordinates and driven hubs locked.

    Of an elastic joint the motor is locked.
    """
    return linear.along(*moves(model, {axis.name for axis in model.axes if axis.driven}))


def moves(model: Model, locked: Set[str]) -> tuple[list[int], Array]:
    """Compute the motions that remain with given joints locked and prescribed joints at rest.

    Parameters
    ----------
    model
        The arm.
    locked
        Names of joints with locked hub, or with locked motor if the joint is elastic.

    Returns
    -------
    coordinates, columns
        Indices of the r free coordinates, and the motion of all n coordinates per free coordinate,
        (n, r): where shapes turn a locked hub, the joint's coordinate moves against them.
    """
    fixed_indices = set(model.prescribed)
    locked_hubs: list[tuple[int, Array]] = []
    for axis in model.axes:
        if axis.name in locked and axis.index not in model.prescribed:
            fixed_indices.add(axis.index if axis.motor is None else axis.motor)
            if axis.motor is None:
                locked_hubs.append((axis.index, hub_row(model, axis)))
    coordinates = [i for i in range(model.size) if i not in fixed_indices]
    columns = np.eye(model.size)[:, coordinates]
    for index, row in locked_hubs:
        columns[index] = -row[coordinates]
    return coordinates, columns
