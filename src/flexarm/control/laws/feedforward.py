"""Feedforward by inverse dynamics of the rigid arm, which ignores vibration."""

import casadi as ca
import numpy as np

from flexarm.control.statics import drives, felt_by_joints, remaining, rigid_motions
from flexarm.control.trajectory import Trajectory, require_trajectory
from flexarm.formulations import formulation
from flexarm.mechanics.loads import dissipative_force, elastic_force


def rigid_feedforward(trajectory: Trajectory) -> ca.Function:
    """Return the inputs of the rigid arm's inverse dynamics as a function of time.

    Parameters
    ----------
    trajectory
        The motion.  With sag, the arm is rigid in its bent postures.

    Returns
    -------
    casadi.Function
        Time [s] to inputs (k,).

    Notes
    -----
    Amplitudes have the values of the posture and no rates; a motor moves with its joint.  A free
    base moves by the conservation of momentum, a moved one as prescribed.
    """
    require_trajectory(trajectory)
    model = felt_by_joints(trajectory.model)
    driven = drives(model)
    t = ca.SX.sym("t")
    symbols = [ca.SX.sym(name, model.size) for name in "qva"]
    force = formulation("composite", model).formulation.inertial_expression(*symbols, gravity=True)
    force = force + elastic_force(model, symbols[0]) + dissipative_force(model, *symbols[:2])
    inverse = ca.Function("inverse", symbols, [force])
    joints, left = rigid_motions(model), set(remaining(model))
    # The base, joints, and what goes along with them: not the amplitudes.
    indices = [axis.index for axis in model.axes]
    unbent = np.eye(model.size)
    unbent[:, sorted(left)] = 0.0
    unbent[:, indices] = joints
    q, v, a = trajectory.motion(t)
    force = inverse(q, ca.DM(unbent) @ v, ca.DM(unbent) @ a)
    # What the rigid motions feel of the inputs, and of everything else.
    moving = joints[:, [index in left for index in indices]]
    weak = ca.DM(np.linalg.pinv(moving.T @ driven.inputs))
    return ca.Function("feedforward", [t], [weak @ (ca.DM(moving.T) @ force)], ["t"], ["u"])
