"""Decoupling of elastic joints on the link's side: two more derivatives, four poles per joint."""

from collections.abc import Sequence

import casadi as ca
import numpy as np

from flexarm.arguments import refused
from flexarm.control.drives import drives, felt_by_joints
from flexarm.control.trajectory import Trajectory, require_trajectory
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations.articulated import Articulated
from flexarm.links.base import Array
from flexarm.mechanics.loads import applied_force, wrench_list
from flexarm.model import trace_prescribed
from flexarm.spatial import Expr

FASTEST = 1e12  # [1/s], of poles


def link_decoupling_law(trajectory: Trajectory, *, poles: Sequence[complex]) -> ca.Function:
    """Make the law that puts four poles on the link's side of every driven joint.

    Parameters
    ----------
    trajectory
        What to follow; a ``septic`` timing, since with any other the jerk jumps at the ends of the
        motion and is followed with an error that dies out as the poles say.
    poles
        Four poles [1/s] of the error of each joint, complex ones in pairs.

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
            "a driven joint is rigid, or its rotor's momentum acts on the link that carries it: "
            "link-side decoupling is for joints with drive.stiffness and 'rotor: simple'"
        )
    state, change = ca.vertcat(t, q, v), ca.vertcat(1, v, a)
    third = ca.jtimes(second, state, change)
    if ca.depends_on(third, u):
        raise ModelError(
            "transmissions with damping let the input through: leave drive.damping out"
        )
    fourth = ca.jtimes(third, state, change)
    derivatives = [rows @ q, rows @ v, second, third]
    reference = _derivatives(trajectory, t, rows)
    wanted = reference[4]
    for k, gain in enumerate(polynomial[:0:-1]):
        wanted = wanted - float(gain) * (derivatives[k] - reference[k])
    slope = ca.jacobian(fourth, u)
    rest = ca.substitute(fourth, u, ca.SX.zeros(u.shape[0]))
    result = ca.solve(slope, wanted - rest)
    return ca.Function("law", [t, q, v], [result], ["t", "q", "v"], ["u"])


def _polynomial(poles: object) -> Array:
    """Multiply poles out, falling powers, (5,)."""
    expected = "four with negative real parts, none faster than 1e+12 1/s"
    try:
        roots = np.asarray(poles)
    except Exception:  # rows of different length, and what a foreign object raises
        raise refused("poles", poles, expected) from None
    if roots.shape != (4,) or roots.dtype.kind not in "iufc":
        raise refused("poles", poles, expected)
    if not np.all((roots.real < 0) & (np.abs(roots) <= FASTEST)):
        raise refused("poles", poles, expected)
    found = np.poly(roots)
    if np.abs(found.imag).max() > 1e-9 * np.abs(found).max():
        raise FlexarmError(f"poles: complex ones must come in pairs, got {roots.tolist()}")
    return np.asarray(found.real)


def _derivatives(trajectory: Trajectory, t: Expr, rows: ca.DM) -> list[Expr]:
    """Trace the joints' references with four derivatives."""
    q, v, a = (rows @ each for each in trajectory.motion(t))
    jerk = ca.jacobian(a, t)
    return [q, v, a, jerk, ca.jacobian(jerk, t)]
