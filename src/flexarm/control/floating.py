"""Arms on a free base: the motion of the base, and joint motions that do not turn it.

Starting from rest, momentum stays 0: ``H_b b' + H_bm m' = 0`` determines the base's rates from
those of the other coordinates, and the tip moves by the generalised Jacobian ``J_m - J_b H_b^-1
H_bm`` (Umetani & Yoshida 1989). Here m are joints, motors and amplitudes; the amplitudes follow the
joints statically.
"""

from collections.abc import Callable

import numpy as np

from flexarm.control.statics import Statics
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations import formulation
from flexarm.links.base import Array
from flexarm.model import Model, start_state
from flexarm.spatial import ACCUMULATED, NEGLIGIBLE

Along = Callable[[float], Array]  # coordinates (n,) as a function of progress
STEEPEST = 1.4  # largest angle ry of the base [rad]: at 1.57 its angles are singular
LONGEST = 0.02  # longest step of progress, since the solution between steps is less accurate
STEP = 1e-5  # step of progress of the differences for a path's direction


class Floating:
    """An arm on a free base with a total momentum of 0.

    Raises
    ------
    ModelError
        If its base is not free, is in orbit, or moves at the start.
    """

    def __init__(self, model: Model) -> None:
        if not model.floats:
            raise ModelError("the base is not free. Say 'base: {kind: free, body: ...}'.")
        if np.any(start_state(model)[1][:6]):
            raise ModelError(
                "the base moves at the start. The path of an arm that has momentum "
                "depends on its timing. Leave base.velocity and base.spin out of the "
                "law's arm, no law needs them."
            )
        if model.orbit:
            raise ModelError(
                "the base is in orbit, whose frame turns, so momentum is not conserved "
                "there. Leave base.orbit out of the law's arm, and simulate with it."
            )
        self.model = model
        self.equation = formulation("composite", model)

    def along(self, q: Array, columns: Array) -> Array:
        """Add the base's motion to motions (n, k) of the other coordinates, (n, k)."""
        mass = self.equation.mass_matrix(q)[:6]
        moved = columns.copy()
        moved[:6] = -np.linalg.solve(mass[:, :6], mass[:, 6:] @ columns[6:])
        return moved

    def turning(self, q: Array, columns: Array) -> Array:
        """Compute the angular momentum of motions (n, k) that turns the base, (3, k).

        The base keeps its attitude and may translate.
        """
        mass = self.equation.mass_matrix(q)[:6]
        pushed = np.linalg.solve(mass[:3, :3], mass[:3, 6:])
        coupling: Array = (mass[3:, 6:] - mass[3:, :3] @ pushed) @ columns[6:]
        return coupling

    def tip_along(
        self, statics: Statics, point: Callable[[float], Array], first: Array, axes: list[int]
    ) -> Along:
        """Return coordinates (n,) by progress with the tip at given points of the world [m]."""

        def rates(s: float, q: Array) -> Array:
            low, high = max(s - STEP, 0.0), min(s + STEP, 1.0)
            direction = (point(high) - point(low)) / (high - low)
            moved = self.along(q, statics.moved_by_joints(q))
            jacobian = self.equation.tip_jacobian(q)[axes] @ moved
            # Feedback of the position error compensates errors of the integration.
            off = point(s) - self.equation.tip_pose(q)[1][axes]
            return np.asarray(moved @ np.linalg.lstsq(jacobian, direction + 10 * off)[0])

        return _integrated(rates, first)

    def still_along(self, statics: Statics, direction: Array, first: Array) -> Along:
        """Move driven joints along the part of a direction (k,) that keeps the base's attitude.

        Raises
        ------
        FlexarmError
            If every motion turns it.
        """

        def rates(s: float, q: Array) -> Array:
            columns = statics.moved_by_joints(q)
            free = self._still(q, columns) @ direction
            return self.along(q, columns @ free[:, None])[:, 0]

        names = statics.drives.names
        projector = self._still(first, statics.moved_by_joints(first))
        if np.linalg.norm(projector @ direction) <= NEGLIGIBLE * np.linalg.norm(direction):
            left = round(float(np.trace(projector)))
            what = (
                f"{left} motions of {', '.join(names)} do not turn the base, and none leads "
                "that way"
            )
            if not left:
                what = f"every motion of {', '.join(names)} turns the base"
            raise FlexarmError(
                f"to: there is no reaction-free path, since {what}. It takes more joints."
            )
        return _integrated(rates, first)

    def _still(self, q: Array, columns: Array) -> Array:
        """Return the projector of joint motions on those that keep the base's attitude, (k, k)."""
        coupling = self.turning(q, columns)
        return np.asarray(
            np.eye(columns.shape[1]) - np.linalg.pinv(coupling, NEGLIGIBLE) @ coupling
        )


def base_along(
    floating: Floating, path: Callable[[float], Array], slope: Callable[[float], Array]
) -> Along:
    """Add the base's motion to a path of the other coordinates, (n,) by progress."""

    def rates(s: float, q: Array) -> Array:
        here = np.concatenate([q[:6], path(s)[6:]])
        return floating.along(here, slope(s)[:, None])[:, 0]

    return _integrated(rates, path(0.0))


def _integrated(rates: Callable[[float, Array], Array], first: Array) -> Along:
    """Integrate coordinates along progress from 0 to 1."""
    from scipy.integrate import solve_ivp

    def steep(s: float, q: Array) -> float:
        return float(STEEPEST - abs(q[4]))

    steep.terminal = True  # type: ignore[attr-defined]
    found = solve_ivp(
        rates, (0.0, 1.0), first, method="DOP853", rtol=ACCUMULATED, atol=ACCUMULATED,
        max_step=LONGEST, dense_output=True, events=steep,
    )  # fmt: skip
    if found.t[-1] < 1:
        why = "turns the base too far" if found.status == 1 else "comes to a singular posture"
        raise FlexarmError(
            f"the motion {why} after {found.t[-1]:.0%} of its path. Make it shorter, or "
            "choose another."
        )
    assert found.sol is not None
    return found.sol
