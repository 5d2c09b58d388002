"""Joint PD control with compensation of gravity and springs, and feedforward of the rigid arm."""

from typing import Literal

import casadi as ca
import numpy as np

from flexarm.arguments import renamed, require_kind, require_word
from flexarm.control.statics import (
    Drives,
    Gain,
    Side,
    drives,
    felt_by_joints,
    gravity_force,
    remaining,
    rigid_motions,
)
from flexarm.control.trajectory import Trajectory, require_trajectory
from flexarm.errors import FlexarmError
from flexarm.formulations import formulation
from flexarm.mechanics.loads import dissipative_force, elastic_force
from flexarm.model import Model
from flexarm.spatial import Expr


def rigid_feedforward(trajectory: Trajectory) -> ca.Function:
    """Return the inputs of the rigid arm's inverse dynamics as a function of time.

    Parameters
    ----------
    trajectory
        The motion. A trajectory with ``sag`` moves the arm rigidly in its statically bent postures.

    Returns
    -------
    casadi.Function
        Time [s] to inputs (k,).

    Notes
    -----
    Modal amplitudes keep the values of the posture and have no rates. Motors move with their
    joints. A free base moves by the conservation of momentum, a moving base as prescribed.
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
    # Coordinates of the rigid motions: base, joints and motors, without modal amplitudes.
    indices = [axis.index for axis in model.axes]
    unbent = np.eye(model.size)
    unbent[:, sorted(left)] = 0.0
    unbent[:, indices] = joints
    q, v, a = trajectory.motion(t)
    force = inverse(q, ca.DM(unbent) @ v, ca.DM(unbent) @ a)
    # Projections of the inputs and of all other forces on the rigid motions.
    moving = joints[:, [index in left for index in indices]]
    weak = ca.DM(np.linalg.pinv(moving.T @ driven.inputs))
    return ca.Function("feedforward", [t], [weak @ (ca.DM(moving.T) @ force)], ["t"], ["u"])


Gravity = Literal["posture", "state", "none"]


@renamed(stiffness="kp", damping="kd")
def pd_law(
    trajectory: Trajectory,
    *,
    kp: Gain,
    kd: Gain,
    side: Side = "motor",
    gravity: Gravity = "posture",
    feedforward: ca.Function | None = None,
) -> ca.Function:
    """Return a control law with independent PD feedback of every driven joint.

    Parameters
    ----------
    trajectory
        The trajectory. With ``sag`` its references are the bent posture and the motor angles of the
        wound-up transmissions, which compensates the static deflection.
    kp, kd
        Joint torque or force per position error [N m/rad], [N/m] and per rate error [N m s/rad], [N
        s/m], each one number or one per joint.
    side
        Side at which elastic joints are measured. Feedback of the ``motor`` side cannot destabilise
        a passive arm. Feedback of the ``link`` side acts through the transmission's spring and can.
    gravity
        Compensation of gravity: ``posture`` adds the inputs that hold the reference posture (De
        Luca & Siciliano 1993), ``state`` those that hold the present posture, ``none`` nothing.
    feedforward
        A function of time [s] that returns additional inputs (k,), such as `rigid_feedforward`,
        which includes gravity.

    Returns
    -------
    casadi.Function
        (t, q, v) to u, for ``flexarm.simulate(control=...)``.
    """
    require_trajectory(trajectory)
    model = trajectory.model
    driven = drives(model)
    gains = driven.gains("kp", kp, "N m/rad|N/m")
    rates = driven.gains("kd", kd, "N m s/rad|N s/m")
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", model.size), ca.SX.sym("v", model.size)
    q_d, v_d, _ = trajectory.motion(t)
    rows = ca.DM(driven.rows(side))
    u = -(gains * (rows @ (q - q_d)) + rates * (rows @ (v - v_d))) / driven.gear
    require_word("gravity", gravity, ("posture", "state", "none"))
    if gravity == "posture":
        u = u + holding_input(model, driven, q_d, springs=True)
    elif gravity == "state":
        u = u + holding_input(model, driven, q, springs=False)
    if feedforward is not None:
        _require_feedforward(feedforward, driven)
        u = u + feedforward(t)
    return ca.Function("law", [t, q, v], [ca.densify(u)], ["t", "q", "v"], ["u"])


def _require_feedforward(value: object, driven: Drives) -> None:
    """Raise an error unless the feedforward maps time to one input per driven joint."""
    count = len(driven.names)
    expected = f"a CasADi function of t that gives {count} inputs ({', '.join(driven.names)})"
    require_kind("feedforward", value, ca.Function, expected)
    assert isinstance(value, ca.Function)
    input_sizes = [value.numel_in(k) for k in range(value.n_in())]
    output_sizes = [value.numel_out(k) for k in range(value.n_out())]
    if input_sizes != [1] or output_sizes != [count]:
        raise FlexarmError(
            f"feedforward: must be {expected}, got a function of {input_sizes} numbers that "
            f"returns {output_sizes}"
        )


def holding_input(model: Model, driven: Drives, q: Expr, *, springs: bool) -> Expr:
    """Return symbolic inputs that balance gravity, and springs, at coordinates q, shape (k,).

    If ``springs`` is false, joint springs are ignored and the motor of an elastic joint balances
    gravity on the joint's link. Gravity has no effect on an arm whose free base falls with it.
    """
    symbols = ca.SX.sym("q", model.size)
    force = gravity_force(felt_by_joints(model), symbols)
    rows = driven.motors
    if springs:
        force = force + elastic_force(model, symbols)
    else:
        elastic = (driven.motors != driven.hubs).any(axis=1)
        rows = driven.hubs + elastic[:, None] * driven.motors
    # Each input acts on one driven coordinate only, so that the projection on that coordinate's row
    # yields the input.
    weights = driven.gear * (driven.motors**2).sum(axis=1)
    return ca.Function("hold", [symbols], [(ca.DM(rows) @ force) / weights])(q)
