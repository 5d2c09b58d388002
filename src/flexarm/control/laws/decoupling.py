"""Decoupling laws: driven joints become double integrators, on the motor or the link side.

| paper symbol | eq. | code name |
|---|---|---|
| Gamma | 31 | u |
| u_I, u_II | 32, 37 | accelerations |
| G_p, G_v | 32 | kp, kd |
| K^ = (1 + alpha) K | 48 | stiffness_error |

Equation and symbol numbers are those of Theodore & Ghosal 1995, who eliminate the accelerations of
the modal amplitudes with partitions of the mass matrix M. (An erratum: the inverse of M in their
appendix has its off-diagonal blocks swapped.) Here the input u follows from the accelerations a of
all coordinates q, which are affine in u: ``a = a_0 + A u``. The driven coordinates ``y = H q`` get
commanded accelerations w by ``u = (H A)^-1 (w - H a_0)``. The law also holds for mode shapes that
turn the hub, for elastic joints (on the motor side) and for passive joints. The accelerations
include all forces: damping, friction, and the stiffness of a sliding link, which changes with its
length. A free base is eliminated together with the amplitudes; for a rigid arm on a free base, ``(H
A)^-1`` is the generalised inertia.
"""

from collections.abc import Sequence

import casadi as ca
import numpy as np

from flexarm.arguments import WithUnit, refused, renamed, require_kind, require_number
from flexarm.control.constants import FASTEST_POLE
from flexarm.control.laws.lqr import Regulator
from flexarm.control.statics import (
    Drives,
    Gain,
    drives,
    felt_by_joints,
    require_stiffness_error,
    solve_input,
)
from flexarm.control.trajectory import Trajectory, require_trajectory
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations import formulation
from flexarm.formulations.articulated import Articulated
from flexarm.formulations.composite import Composite
from flexarm.mechanics.bodies import body_of
from flexarm.mechanics.loads import (
    applied_force,
    dissipative_force,
    elastic_force,
    wrench_list,
)
from flexarm.model import Model, fingerprint, start_state, trace_prescribed
from flexarm.spatial import Array, Expr


@renamed(stiffness="kp", damping="kd")
def decoupling_law(
    trajectory: Trajectory,
    *,
    kp: Gain,
    kd: Gain,
    stiffness_error: float = 0.0,
    regulator: Regulator | None = None,
    switch: WithUnit | None = None,
    paper: bool = False,
) -> ca.Function:
    """Return a law that makes the tracking errors of driven joints decay as linear oscillators.

    The error e of each joint obeys ``e'' + kd e' + kp e = 0``.

    Parameters
    ----------
    trajectory
        The trajectory; its ``model`` is the model of the arm that the law uses.
    kp, kd
        Position gain G_p [1/s^2] and rate gain G_v [1/s], each one number or one per driven joint.
    stiffness_error
        Relative error alpha of the link stiffness that the law assumes (eq. 48).
    regulator
        Regulator of the joints and the vibrations (eq. 37), which replaces the tracking gains from
        time ``switch`` on.
    switch
        Time [s] at which the regulator takes over; the end of the motion if None. With 0 the
        regulator acts along the whole path.
    paper
        Whether to compute the law by partitions of M, as Theodore & Ghosal 1995 do, with the same
        inputs as result. The arm must have a fixed base, and all its joints must be rigid and
        driven.

    Returns
    -------
    casadi.Function
        (t, q, v) to u, for ``flexarm.simulate(control=...)``.
    """
    require_trajectory(trajectory)
    model = trajectory.model
    driven = drives(model)
    gains = driven.gains("kp", kp, "1/s^2")
    rates = driven.gains("kd", kd, "1/s")
    stiffness_error = require_stiffness_error(stiffness_error)
    at = trajectory.end if switch is None else require_number("switch", switch, unit="s")
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", model.size), ca.SX.sym("v", model.size)
    q_d, v_d, a_d = trajectory.motion(t)
    rows = ca.DM(driven.motors)
    error, rate = rows @ (q - q_d), rows @ (v - v_d)
    accelerations = rows @ a_d - rates * rate - gains * error  # (eqs 32, 33)
    if regulator is not None:
        _require_regulator(regulator, model, driven)
        second = rows @ a_d - regulator.trace(t) @ ca.vertcat(q - q_d, v - v_d)  # (eq. 37)
        accelerations = ca.if_else(t < at, accelerations, second)
    trace = partitioned_input if paper else decoupled_input
    u = trace(model, driven, (t, q, v), accelerations, stiffness_error=stiffness_error)
    return ca.Function("law", [t, q, v], [u], ["t", "q", "v"], ["u"])


def _require_regulator(value: object, model: Model, driven: Drives) -> None:
    """Raise an error unless the value is a `Regulator` for the trajectory's arm."""
    require_kind("regulator", value, Regulator, "a Regulator, as lqr returns")
    assert isinstance(value, Regulator)
    expected_shape, gains_shape = (len(driven.names), 2 * model.size), value.gains.shape[1:]
    if gains_shape != expected_shape or not _is_same(value.arm, model):
        raise FlexarmError(
            f"regulator: must be made for the arm of the trajectory, '{model.arm.name}', whose "
            f"gains have the shape {expected_shape}. This regulator is for "
            f"'{value.arm.arm.name}', with gains of shape {gains_shape}. Make one with lqr of this "
            "trajectory."
        )


def _is_same(first: Model, other: Model) -> bool:
    """Return whether two models have equal equations of motion.

    Initial states and inputs may differ.
    """
    if first is other or fingerprint(first) == fingerprint(other):
        return True
    if first.names != other.names or np.any(first.gravity != other.gravity):
        return False
    q, v = start_state(other)
    descriptions = [
        formulation("composite", model).function("matrices")(
            q, v, *([model.start_references] if model.attitudes else [])
        )
        for model in (first, other)
    ]
    return all(
        np.allclose(np.array(a), np.array(b), rtol=1e-9) for a, b in zip(*descriptions, strict=True)
    )


def decoupled_input(
    model: Model,
    driven: Drives,
    state: tuple[Expr, Expr, Expr],
    accelerations: Expr,
    *,
    stiffness_error: float = 0.0,
) -> Expr:
    """Return symbolic inputs for given accelerations of the driven coordinates, shape (k,).

    Equations 31 and 48 of Theodore & Ghosal 1995; ``state`` is (time, coordinates, rates).
    """
    t, q, v = state
    equation = Articulated(felt_by_joints(model))
    u = ca.SX.sym("u", len(driven.names))
    applied = applied_force(model, q, v, u, ca.SX.zeros(len(wrench_list(model))))
    if stiffness_error:
        for part in model.links:
            effort = body_of(model, part).effort(q)
            for i, column in enumerate(part.own):
                applied[column] -= stiffness_error * effort[i]
    a, _ = equation.forward_expression(q, v, trace_prescribed(model, t)[2], applied)
    # Forces and their derivatives with respect to u share most operations, so that eliminating
    # common subexpressions leaves a third of the operations.
    return ca.cse(solve_input(ca.DM(driven.motors) @ a, u, accelerations))


def partitioned_input(
    model: Model,
    driven: Drives,
    state: tuple[Expr, Expr, Expr],
    accelerations: Expr,
    *,
    stiffness_error: float = 0.0,
) -> Expr:
    """Compute the inputs of `decoupled_input` by partitions of the mass matrix M, shape (k,).

    Raises
    ------
    FlexarmError
        If the partitions of Theodore & Ghosal 1995 do not apply to the arm.
    """
    _, q, v = state
    joints = np.argmax(np.abs(driven.motors), axis=1).tolist()
    rest = [k for k in range(model.size) if k not in joints]
    plain = not model.base_moves and len(joints) == len(model.links)
    if not plain or np.any(driven.inputs[rest]) or np.any(driven.motors != driven.hubs):
        raise FlexarmError(
            "paper: the law as published is for arms with driven rigid joints only and a fixed "
            f"base, which '{model.arm.name}' is not. Use paper=False, which takes any arm."
        )
    equation = Composite(felt_by_joints(model))
    M, springs = equation.mass_expression(q), elastic_force(model, q)
    c = equation.inertial_expression(q, v, None, gravity=True) + dissipative_force(model, q, v)
    c = c + (1 + stiffness_error) * springs  # (eq. 48)
    back = ca.solve(M[rest, rest], M[joints, rest].T).T  # M_rf M_ff^-1
    reduced = M[joints, joints] - back @ M[joints, rest].T
    return (reduced @ accelerations + c[joints] - back @ c[rest]) / ca.DM(driven.gear)  # (eq. 31)


def link_decoupling_law(trajectory: Trajectory, *, poles: Sequence[complex]) -> ca.Function:
    """Return the control law that assigns four poles to the link-side error of each joint.

    Parameters
    ----------
    trajectory
        The trajectory. The timing of the trajectory should be ``septic``: with other timings the
        jerk jumps at the ends of the motion, which causes a tracking error that decays with the
        poles.
    poles
        Four poles [1/s] of each joint's error; complex poles come in conjugate pairs.

    Returns
    -------
    casadi.Function
        (t, q, v) to u, for ``flexarm.simulate(control=...)``.

    Notes
    -----
    With a spring between motor and link, the input determines the fourth derivative of the link's
    angle (Spong 1987). All driven joints must be elastic, with ``rotor: simple``: each rotor's
    inertia acts on the rotor's spin alone.
    """
    polynomial = _polynomial(poles)
    require_trajectory(trajectory)
    model = felt_by_joints(trajectory.model)
    driven = drives(model)
    t, q, v = ca.SX.sym("t"), ca.SX.sym("q", model.size), ca.SX.sym("v", model.size)
    u = ca.SX.sym("u", len(driven.names))
    applied = applied_force(model, q, v, u, ca.SX.zeros(len(wrench_list(model))))
    a, _ = Articulated(model).forward_expression(q, v, trace_prescribed(model, t)[2], applied)
    rows = ca.DM(driven.hubs)
    second = ca.simplify(rows @ a)
    if ca.depends_on(second, u):
        raise ModelError(
            "link-side decoupling needs an elastic transmission in every driven joint, without "
            "rotor momentum on the link that carries it. Give drive.stiffness and 'rotor: "
            "simple'."
        )
    state, change = ca.vertcat(t, q, v), ca.vertcat(1, v, a)
    third = ca.jtimes(second, state, change)
    if ca.depends_on(third, u):
        raise ModelError(
            "link-side decoupling needs undamped transmissions, since damping lets the input "
            "act on the link at once. Leave drive.damping out."
        )
    fourth = ca.jtimes(third, state, change)
    derivatives = [rows @ q, rows @ v, second, third]
    reference = _derivatives(trajectory, t, rows)
    target = reference[4]
    for k, gain in enumerate(polynomial[:0:-1]):
        target = target - float(gain) * (derivatives[k] - reference[k])
    return ca.Function("law", [t, q, v], [solve_input(fourth, u, target)], ["t", "q", "v"], ["u"])


def _polynomial(poles: object) -> Array:
    """Return the coefficients of the polynomial with four given roots, shape (5,).

    The highest power comes first.
    """
    expected = "four with negative real parts, none faster than 1e+12 1/s"
    try:
        roots = np.asarray(poles)
    except Exception:  # rows of different length, or any error of a foreign object
        raise refused("poles", poles, expected) from None
    valid = roots.shape == (4,) and roots.dtype.kind in "iufc"
    if not valid or not np.all((roots.real < 0) & (np.abs(roots) <= FASTEST_POLE)):
        raise refused("poles", poles, expected)
    polynomial = np.poly(roots)
    if np.abs(polynomial.imag).max() > 1e-9 * np.abs(polynomial).max():
        raise FlexarmError(
            f"poles: complex poles must come in conjugate pairs, got {roots.tolist()}"
        )
    return np.asarray(polynomial.real)


def _derivatives(trajectory: Trajectory, t: Expr, rows: ca.DM) -> list[Expr]:
    """Return the symbolic link-side reference positions and their first four derivatives."""
    q, v, a = (rows @ derivative for derivative in trajectory.motion(t))
    jerk = ca.jacobian(a, t)
    return [q, v, a, jerk, ca.jacobian(jerk, t)]
