"""Arms on a free base: the motion of the base, and joint motions that preserve its attitude.

Starting from rest, momentum stays 0: ``H_b b' + H_bm m' = 0`` determines the rates b' of the base
from the rates m' of the other coordinates (joints, motors and modal amplitudes). The generalised
Jacobian of the tip is then ``J_m - J_b H_b^-1 H_bm`` (Umetani & Yoshida 1989). Modal amplitudes
have their static values for the joint positions.
"""

from collections.abc import Callable

import numpy as np

from flexarm.constants import ACCUMULATED, NEGLIGIBLE
from flexarm.control.constants import DIRECTION_STEP, LARGEST_PITCH, PROGRESS_STEP
from flexarm.control.statics import Statics
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations import formulation
from flexarm.model import Model, start_state
from flexarm.spatial import Array

Along = Callable[[float], Array]  # coordinates (n,) as a function of progress


class Floating:
    """Kinematics of an arm on a free base with zero total momentum.

    Raises
    ------
    ModelError
        If the base is not free, is in orbit, or moves at the start.
    """

    def __init__(self, model: Model) -> None:
        if not model.floats:
            raise ModelError("the base is not free. Write 'base: {kind: free, body: ...}'.")
        if np.any(start_state(model)[1][:6]):
            raise ModelError(
                "the base moves at the start, and then the path of an arm depends on its "
                "timing. Leave base.velocity and base.spin out of the arm of the law."
            )
        if model.orbit:
            raise ModelError(
                "the base is in orbit, where momentum is not conserved in the rotating frame. "
                "Leave base.orbit out of the arm of the law. Simulate with base.orbit."
            )
        self.model = model
        self.equation = formulation("composite", model)

    def along(self, q: Array, columns: Array) -> Array:
        """Return motions, (n, k), in which the base moves so that the total momentum stays zero.

        The columns of ``columns``, shape (n, k), are motions of the coordinates that do not belong
        to the base.
        """
        mass = self.equation.mass_matrix(q)[:6]
        moved = columns.copy()
        moved[:6] = -np.linalg.solve(mass[:, :6], mass[:, 6:] @ columns[6:])
        return moved

    def turning(self, q: Array, columns: Array) -> Array:
        """Return the angular momentum about the base per unit joint motion, shape (3, k).

        The base keeps its attitude and is free to translate. The columns of ``columns``, shape (n,
        k), are the motions of all coordinates per unit joint motion.
        """
        mass = self.equation.mass_matrix(q)[:6]
        pushed = np.linalg.solve(mass[:3, :3], mass[:3, 6:])
        coupling: Array = (mass[3:, 6:] - mass[3:, :3] @ pushed) @ columns[6:]
        return coupling

    def tip_along(
        self, statics: Statics, point: Callable[[float], Array], first: Array, axes: list[int]
    ) -> Along:
        """Return coordinates (n,) as a function of progress that move the tip along a path.

        ``point`` maps progress from 0 to 1 to the tip's position in the world [m], with one number
        for each of ``axes``.
        """

        def rates(s: float, q: Array) -> Array:
            low, high = max(s - DIRECTION_STEP, 0.0), min(s + DIRECTION_STEP, 1.0)
            direction = (point(high) - point(low)) / (high - low)
            moved = self.along(q, statics.moved_by_joints(q))
            jacobian = self.equation.tip_jacobian(q)[axes] @ moved
            # Feedback of the tip's position error keeps integration errors from accumulating.
            off = point(s) - self.equation.tip_pose(q)[1][axes]
            return np.asarray(moved @ np.linalg.lstsq(jacobian, direction + 10 * off)[0])

        return _integrated(rates, first)

    def still_along(self, statics: Statics, direction: Array, first: Array) -> Along:
        """Return a reaction-free joint motion: coordinates (n,) as a function of progress.

        The joint rates are ``direction``, shape (k,), projected on the joint motions that preserve
        the base's attitude.

        Raises
        ------
        FlexarmError
            If every joint motion turns the base.
        """

        def rates(s: float, q: Array) -> Array:
            columns = statics.moved_by_joints(q)
            free = self._still(q, columns) @ direction
            return self.along(q, columns @ free[:, None])[:, 0]

        names = statics.drives.names
        projector = self._still(first, statics.moved_by_joints(first))
        if np.linalg.norm(projector @ direction) <= NEGLIGIBLE * np.linalg.norm(direction):
            left = round(float(np.trace(projector)))
            reason = (
                f"{left} motions of {', '.join(names)} do not turn the base, and none of them "
                "moves the arm towards the goal"
            )
            if not left:
                reason = f"every motion of {', '.join(names)} turns the base"
            raise FlexarmError(
                f"to: no path without reaction on the base exists, since {reason}. Use an arm "
                "with more joints."
            )
        return _integrated(rates, first)

    def _still(self, q: Array, columns: Array) -> Array:
        """Return the projector onto joint motions that do not turn the base, (k, k)."""
        coupling = self.turning(q, columns)
        return np.asarray(
            np.eye(columns.shape[1]) - np.linalg.pinv(coupling, NEGLIGIBLE) @ coupling
        )


def base_along(
    floating: Floating, path: Callable[[float], Array], slope: Callable[[float], Array]
) -> Along:
    """Add the motion of the free base that momentum conservation implies to a path of the arm.

    The returned function maps progress from 0 to 1 to all coordinates, shape (n,).
    """

    def rates(s: float, q: Array) -> Array:
        here = np.concatenate([q[:6], path(s)[6:]])
        return floating.along(here, slope(s)[:, None])[:, 0]

    return _integrated(rates, path(0.0))


def _integrated(rates: Callable[[float, Array], Array], first: Array) -> Along:
    """Return the solution q(s) of dq/ds = rates(s, q) for progress s from 0 to 1."""
    from scipy.integrate import solve_ivp

    def steep(s: float, q: Array) -> float:
        return float(LARGEST_PITCH - abs(q[4]))

    steep.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(
        rates, (0.0, 1.0), first, method="DOP853", rtol=ACCUMULATED, atol=ACCUMULATED,
        max_step=PROGRESS_STEP, dense_output=True, events=steep,
    )  # fmt: skip
    if solution.t[-1] < 1:
        failure = (
            "turns the base too far" if solution.status == 1 else "comes to a singular posture"
        )
        raise FlexarmError(
            f"the motion {failure} after {solution.t[-1]:.0%} of the path. Make the path shorter, "
            "or choose another."
        )
    assert solution.sol is not None
    return solution.sol
