"""Arms on a free base: how it goes along, and joint motions that do not turn it.

At rest in all, momentum stays 0: ``H_b b' + H_bm m' = 0`` gives the base's rates from those of what
it carries, and the tip moves by the generalised Jacobian ``J_m - J_b H_b^-1 H_bm`` (Umetani &
Yoshida 1989).  Here m are joints, motors and amplitudes alike, and the amplitudes go with the
joints as springs have them.
"""

from collections.abc import Callable

import numpy as np

from flexarm.control.statics import Statics
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations import formulation
from flexarm.linear_model import RANK
from flexarm.links.base import Array
from flexarm.model import Model, start_state

Along = Callable[[float], Array]  # coordinates (n,) by progress
TOLERANCE = 1e-12  # of coordinates along a path
STEEPEST = 1.4  # [rad], of the base's angle ry: at 1.57 its angles are singular
LONGEST = 0.02  # step of progress: between steps there is less accuracy
STEP = 1e-5  # of progress, for a path's direction


class Floating:
    """An arm whose base is free, at rest in all.

    ModelError: if its base is not free, is in orbit, or moves at the start.
    """

    def __init__(self, model: Model) -> None:
        if not model.floats:
            raise ModelError("the base is not free: say 'base: {kind: free, body: ...}'")
        if np.any(start_state(model)[1][:6]):
            raise ModelError(
                "the base moves at the start: the way of an arm that has momentum depends on its "
                "timing; leave base.velocity and base.spin out of the law's arm, no law needs them"
            )
        if model.orbit:
            raise ModelError(
                "the base is in orbit, whose frame turns: momentum is not kept there; leave "
                "base.orbit out of the law's arm, and simulate with it"
            )
        self.model = model
        self.equation = formulation("composite", model)

    def along(self, q: Array, columns: Array) -> Array:
        """Let the base go along with motions (n, k) of what it carries, (n, k)."""
        mass = self.equation.mass_matrix(q)[:6]
        moved = columns.copy()
        moved[:6] = -np.linalg.solve(mass[:, :6], mass[:, 6:] @ columns[6:])
        return moved

    def turning(self, q: Array, columns: Array) -> Array:
        """Find the angular momentum that motions (n, k) leave to the base's turning, (3, k).

        The base keeps its attitude and gives way in translation.
        """
        mass = self.equation.mass_matrix(q)[:6]
        pushed = np.linalg.solve(mass[:3, :3], mass[:3, 6:])
        coupling: Array = (mass[3:, 6:] - mass[3:, :3] @ pushed) @ columns[6:]
        return coupling

    def tip_along(
        self, statics: Statics, point: Callable[[float], Array], first: Array, axes: list[int]
    ) -> Along:
        """Carry the tip along points of the world [m] by progress: coordinates, (n,)."""

        def rates(s: float, q: Array) -> Array:
            low, high = max(s - STEP, 0.0), min(s + STEP, 1.0)
            wanted = (point(high) - point(low)) / (high - low)
            moved = self.along(q, statics.moved_by_joints(q))
            jacobian = self.equation.tip_jacobian(q)[axes] @ moved
            # What integration loses of the way is taken back.
            off = point(s) - self.equation.tip_pose(q)[1][axes]
            found: Array = moved @ np.linalg.lstsq(jacobian, wanted + 10 * off)[0]
            return found

        return _integrated(rates, first)

    def still_along(self, statics: Statics, wanted: Array, first: Array) -> Along:
        """Move driven joints towards a direction (k,) as far as it does not turn the base.

        FlexarmError: if every motion turns it.
        """

        def rates(s: float, q: Array) -> Array:
            columns = statics.moved_by_joints(q)
            free = self._still(q, columns) @ wanted
            found: Array = self.along(q, columns @ free[:, None])[:, 0]
            return found

        names = statics.drives.names
        projector = self._still(first, statics.moved_by_joints(first))
        if np.linalg.norm(projector @ wanted) <= RANK * np.linalg.norm(wanted):
            left = round(float(np.trace(projector)))
            what = f"{left} motions of {', '.join(names)} leave the base, none that way"
            if not left:
                what = f"every motion of {', '.join(names)} turns the base"
            raise FlexarmError(f"to: no reaction-free path: {what}; it takes more joints than that")
        return _integrated(rates, first)

    def _still(self, q: Array, columns: Array) -> Array:
        """Project motions of joints on those that do not turn the base, (k, k)."""
        coupling = self.turning(q, columns)
        return np.asarray(np.eye(columns.shape[1]) - np.linalg.pinv(coupling, RANK) @ coupling)


def base_along(
    floating: Floating, path: Callable[[float], Array], slope: Callable[[float], Array]
) -> Along:
    """Let the base go along with a path of what it carries: coordinates by progress, (n,)."""

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
        rates, (0.0, 1.0), first, method="DOP853", rtol=TOLERANCE, atol=TOLERANCE,
        max_step=LONGEST, dense_output=True, events=steep,
    )  # fmt: skip
    if found.t[-1] < 1:
        why = "turns the base too far" if found.status == 1 else "comes to a singular posture"
        raise FlexarmError(
            f"the motion {why} after {found.t[-1]:.0%} of its way: make it shorter, or go another"
        )
    assert found.sol is not None
    return found.sol
