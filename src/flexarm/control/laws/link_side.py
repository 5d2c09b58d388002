"""Decoupling of elastic joints by feedback on the link side, with four poles per joint."""

from collections.abc import Sequence

import casadi as ca
import numpy as np

from flexarm.arguments import refused
from flexarm.control.constants import FASTEST_POLE
from flexarm.control.statics import drives, felt_by_joints, solve_input
from flexarm.control.trajectory import Trajectory, require_trajectory
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations.articulated import Articulated
from flexarm.mechanics.loads import applied_force, wrench_list
from flexarm.model import trace_prescribed
from flexarm.spatial import Array, Expr


def link_decoupling_law(trajectory: Trajectory, *, poles: Sequence[complex]) -> ca.Function:
    """Return the control law that assigns four poles to the link-side error of each joint.

    Parameters
    ----------
    trajectory
        The trajectory, with a ``septic`` timing; with others the jerk jumps at the ends of the
        motion, which causes an error that decays with the poles.
    poles
        Four poles [1/s] of each joint's error, complex ones in pairs.

    Returns
    -------
    casadi.Function
        (t, q, v) to u, for ``flexarm.simulate(control=...)``.

    Notes
    -----
    Spong 1987: across a spring the input reaches the fourth derivative of the link's angle.  All
    driven joints must be elastic, and their rotors' momentum must act on their own spin only
    (``rotor: simple``).
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
    except Exception:  # rows of different length, and what a foreign object raises
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
