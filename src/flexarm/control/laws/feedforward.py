"""Inputs from the rigid arm's inverse dynamics: causal, and blind to vibration."""

import casadi as ca
import numpy as np

from flexarm.control.drives import drives
from flexarm.control.trajectory import Trajectory, require_trajectory
from flexarm.formulations import formulation
from flexarm.mechanics.loads import wrench_list
from flexarm.model import Model


def rigid_feedforward(trajectory: Trajectory) -> ca.Function:
    """Make the inputs that the arm would need if its links and transmissions were rigid.

    Parameters
    ----------
    trajectory
        The motion.  Where it sags, the arm is taken for rigid in its bent postures.

    Returns
    -------
    casadi.Function
        Time [s] to inputs (k,).

    Notes
    -----
    Amplitudes stay where the posture has them and do not move; a motor moves with its joint.
    """
    require_trajectory(trajectory)
    model = trajectory.model
    driven = drives(model)
    t = ca.SX.sym("t")
    q, v, a = trajectory.motion(t)
    carried = ca.DM(_rigid_motions(model))
    inverse = formulation("composite", model).function("inverse_dynamics")
    joints = [axis.index for axis in model.axes]
    force = inverse(
        q, carried @ v[joints], carried @ a[joints], ca.SX.zeros(len(wrench_list(model)))
    )
    # What the rigid motions feel of the inputs, and of everything else.
    felt = carried.T @ ca.DM(driven.inputs)
    weak = ca.DM(np.linalg.pinv(np.array(felt)))
    return ca.Function("feedforward", [t], [weak @ (carried.T @ force)], ["t"], ["u"])


def _rigid_motions(model: Model) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Give how coordinates move with each joint if nothing bends, (n, joints)."""
    columns = []
    for axis in model.axes:
        column = np.zeros(model.size)
        column[[k for k in (axis.index, axis.motor) if k is not None]] = 1.0
        columns.append(column)
    return np.array(columns).T
