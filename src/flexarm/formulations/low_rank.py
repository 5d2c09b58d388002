"""Elimination of all amplitudes of a link at once: diagonal mass plus a rank-six tip term.

The mass of a link's amplitudes is ``M + C^T P C`` with P the articulated inertia at the tip and C
the tip's motion per rate of the amplitudes.  Without stiffening M is constant and
``C = frame rows`` with constant rows, at most six.  Modes are orthogonal by the mass of their span,
or by that and a body at its tip: ``M = diagonal - rows^T body rows``.  By Woodbury the cost is then
linear in the number of amplitudes.
"""

from dataclasses import dataclass

import casadi as ca
import numpy as np

from flexarm.constants import ROUNDING
from flexarm.formulations.base import ldl_solve
from flexarm.formulations.constants import MORE_AMPLITUDES, WORST_CONDITION
from flexarm.formulations.recursion import symmetric
from flexarm.mechanics.bodies import body_of
from flexarm.model import LinkModel, Model
from flexarm.spatial import Array, Expr, constant


@dataclass(frozen=True)
class LowRank:
    """Low-rank form of a link: ``frame rows`` is the tip motion per orthogonal amplitude rate."""

    frame: Expr  # spatial motion of the tip per row, (6, r)
    rows: Array  # rows of the tip motion, constant, (r, m)
    diagonal: Array  # diagonal part of the amplitudes' mass ``diagonal - rows^T body rows``, (m,)
    body: Array  # mass of the body in it, (r, r)

    def solve(self, inertia: Expr, right: Expr) -> Expr:
        """Solve ``(mass + rows^T inertia rows) x = right``, (m, k).

        With ``rows diagonal^-1 rows^T = L L^T`` and ``G = L^T (inertia - body) L`` the solution is
        ``x = diagonal^-1 (right - rows^T z)`` and ``L^T z = (1 + G)^-1 G L^-1 rows diagonal^-1
        right``, for any inertia.
        """
        weighted = self.rows / self.diagonal
        factor: Array = np.linalg.cholesky(weighted @ self.rows.T).astype(np.float64)
        inverse_factor: Array = np.tril(np.linalg.inv(factor)).astype(np.float64)
        inverse = constant(inverse_factor)
        tip_inertia = inertia - constant(self.body)
        scaled_inertia = symmetric(constant(factor.T) @ tip_inertia @ constant(factor))
        projection = inverse @ (constant(weighted) @ right)
        z = inverse.T @ ldl_solve(
            ca.SX.eye(len(factor)) + scaled_inertia, scaled_inertia @ projection
        )
        return (right - constant(self.rows.T) @ z) / constant(self.diagonal[:, None])


def low_rank(model: Model, part: LinkModel, q: Expr, modal: Expr) -> LowRank | None:
    """Return a link's low-rank form; None if there is none, or if it saves no operations.

    Parameters
    ----------
    model, part
        The link.
    q
        Coordinates of the arm.
    modal
        Mass of the link's own coordinates, without what its tip carries.
    """
    body = body_of(model, part)
    tip_motion = body.linear_tip()
    if tip_motion is None or not modal.is_constant():
        return None
    motion_rows = np.vstack(tip_motion)
    if motion_rows.dtype == object:  # numbers of the model are symbols
        return None
    nonzero = [k for k in range(6) if np.any(motion_rows[k])]
    rows = motion_rows[nonzero]
    if rows.shape[1] < len(rows) + MORE_AMPLITUDES:
        return None
    diagonal_and_body = _split(np.array(ca.DM(modal)), rows)
    if (
        diagonal_and_body is None
        or np.linalg.cond(rows / diagonal_and_body[0] @ rows.T) > WORST_CONDITION
    ):
        return None
    rotations = body.turned(constant(tip_motion[0]) @ q[part.modes.start : part.modes.stop])
    frame = ca.diagcat(rotations[1], ca.SX.eye(3))[:, nonzero]
    return LowRank(frame, rows, *diagonal_and_body)


def _split(mass: Array, rows: Array) -> tuple[Array, Array] | None:
    """Split a mass into ``diagonal - rows^T body rows``; return None if it has another form."""
    r, m = rows.shape
    size = np.sqrt(np.diag(mass))
    off_diagonal = ~np.eye(m, dtype=bool)
    pairs = [(a, b) for a in range(r) for b in range(a, r)]
    products = [np.outer(rows[a], rows[b]) + np.outer(rows[b], rows[a]) for a, b in pairs]
    scaled = mass / np.outer(size, size)
    body = np.zeros((r, r))
    if np.any(scaled[off_diagonal]):
        columns = np.stack(
            [(product / np.outer(size, size))[off_diagonal] for product in products], axis=1
        )
        coefficients = np.linalg.lstsq(columns, -scaled[off_diagonal], rcond=1e-13)[0]
        for (a, b), value in zip(pairs, coefficients, strict=True):
            body[a, b] += value
            body[b, a] += value
    full_mass = mass + rows.T @ body @ rows
    diagonal = np.diag(full_mass).copy()
    error = np.abs(full_mass - np.diag(diagonal)) / np.outer(size, size)
    if error.max() > ROUNDING * m or diagonal.min() <= 0:
        return None
    return diagonal, body
