"""Equilibria by Newton's method; stable equilibria by bounded descent steps."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.linear.constants import (
    BALANCED,
    CONVERGED_STEP,
    DESCENT_STEPS,
    LOAD_STAGES,
    LONGEST_DESCENT,
    LONGEST_STEP,
    NEWTON_STEPS,
    UNBALANCED,
)
from flexarm.linear.tangent import OperatingPoint, Tangent
from flexarm.spatial import Array

Push = Callable[[Array], tuple[Array, Array]]  # generalised force at q, (n,), and its derivative
NOWHERE = (
    "no equilibrium was found. The load may be more than the arm can carry (a link "
    "buckles, a joint falls). Lighten it, hold more joints, or take the links as "
    "straight."
)


@dataclass(frozen=True)
class Constraint:
    """A constraint on coordinates q: functions with target values, and directions of reactions."""

    function: Push  # values at q, (r,), and their derivatives, (r, n)
    target: Array  # values that the functions must have, (r,)
    reactions: Array  # directions of the constraint's generalised forces, (n, k)
    reach: float  # reach of the arm [m], which scales the values and steps

    @classmethod
    def none(cls, tangent: Tangent) -> "Constraint":
        """Return a constraint without functions and reactions: all coordinates are free."""
        nothing, reach = np.zeros((tangent.model.size, 0)), tangent.model.reach
        return cls(lambda q: (np.zeros(0), nothing.T), np.zeros(0), nothing, reach)


@dataclass(frozen=True)
class Balance:
    """Static balance of the generalised forces along given directions, under a constraint."""

    tangent: Tangent | None  # the arm's equation of motion; if None, no force acts
    columns: Array  # directions in the space of the n coordinates, (n, k)
    constraint: Constraint
    push: Push | None = None  # additional generalised force on the arm

    def force(self, point: OperatingPoint) -> Array:
        """Compute the generalised force that holds the arm at rest, minus the push, (n,)."""
        no_acceleration = np.zeros(len(self.columns))
        if self.tangent is None:
            return no_acceleration
        force = self.tangent.force(point, no_acceleration)
        return force if self.push is None else np.asarray(force - self.push(point.q)[0])

    def derivatives(self, point: OperatingPoint) -> tuple[Array, Array]:
        """Compute d force / da and d force / dq for accelerations a and coordinates q, (n, n)."""
        no_acceleration = np.zeros(len(self.columns))
        if self.tangent is None:
            return np.diag(no_acceleration), np.diag(no_acceleration)
        linear = self.tangent.matrices(point, no_acceleration)
        gradient = 0.0 if self.push is None else self.push(point.q)[1]
        return linear.mass, linear.stiffness - gradient

    def residual(self, point: OperatingPoint) -> Array:
        """Compute residual forces along the directions, followed by the constraint's violation.

        Reactions of the constraint are subtracted from the forces by least squares.
        """
        force = self.columns.T @ self.force(point)
        reactions = self.columns.T @ self.constraint.reactions
        force = force - reactions @ np.linalg.lstsq(reactions, force)[0]
        return np.concatenate(
            [force, self.constraint.function(point.q)[0] - self.constraint.target]
        )

    def matrix(self, point: OperatingPoint) -> tuple[Array, Array, Array]:
        """Compute the scaled Jacobian of the residual with respect to directions and reactions.

        Returns
        -------
        matrix, rows, size
            The scaled Jacobian; the divisors of its rows; and the scale of the directions, (k,),
            which divides its columns.
        """
        stiffness = self.columns.T @ self.derivatives(point)[1] @ self.columns
        size = np.sqrt(np.maximum(np.abs(np.diag(stiffness)), 1e-300))
        if len(self.constraint.target):  # with equal scales a Newton step is the shortest in q
            size = np.full(len(size), max(float(size.max()), 1e-6))
        gradient = self.constraint.function(point.q)[1] @ self.columns
        reactions = self.columns.T @ self.constraint.reactions
        zeros = np.zeros((len(gradient), reactions.shape[1]))
        matrix = np.block([[stiffness / np.outer(size, size), -reactions],
                           [gradient / self.constraint.reach, zeros]])  # fmt: skip
        rows = np.append(size, np.full(len(gradient), self.constraint.reach) / size[:1])
        return matrix, rows, size

    def step(self, point: OperatingPoint, residual: Array) -> tuple[Array, Array] | None:
        """Compute a Newton step along the directions, (k,), and the scales of the residual.

        Return None if the residual or its Jacobian is not finite.
        """
        matrix, rows, size = self.matrix(point)
        if not (np.all(np.isfinite(matrix)) and np.all(np.isfinite(residual))):
            return None
        step = -np.linalg.lstsq(matrix, residual / rows, rcond=1e-14)[0][: len(size)] / size
        return (step, rows) if np.all(np.isfinite(step)) else None

    def meets_constraint(self, residual: Array) -> bool:
        """Return whether a residual's constraint part is within tolerance."""
        k = self.columns.shape[1]
        return bool(np.all(np.abs(residual[k:]) <= NEGLIGIBLE * self.constraint.reach))

    def modes(self, point: OperatingPoint) -> "_Modes":
        """Compute the modes of stiffness and mass at a point, and accelerations along the modes.

        Raises
        ------
        FlexarmError
            If the modes cannot be computed.
        """
        mass, stiffness = (self.columns.T @ m @ self.columns for m in self.derivatives(point))
        mass = mass + 1e-14 * np.trace(mass) * np.eye(len(mass))
        try:
            values, shapes = np.linalg.eig(np.linalg.solve(mass, stiffness))
            a = -np.linalg.solve(mass, self.residual(point))
            return _Modes(shapes, values, np.linalg.solve(shapes, a.astype(complex)))
        except np.linalg.LinAlgError:
            raise FlexarmError(NOWHERE) from None


@dataclass(frozen=True)
class _Modes:
    """Modes of stiffness and mass at a point, and accelerations of the modes by residual forces."""

    shapes: Any  # modes of stiffness by mass, (k, k)
    values: Any  # squared frequencies of the modes [1/s^2], (k,)
    pushes: Any  # accelerations along the modes, (k,)

    @property
    def off(self) -> float:
        """Largest distance from equilibrium along any mode [rad], [m]."""
        return float(np.abs(self.pushes / np.maximum(np.abs(self.values), 1.0)).max(initial=0.0))

    @property
    def falling(self) -> Any:
        """Mask of the unstable modes, whose stiffness is negative, (k,)."""
        return self.values.real < -1e-9 * np.abs(self.values).max(initial=1.0)

    def step(self) -> Array:
        """Return a Newton step in stable modes plus a descent step in unstable modes, (k,)."""
        slopes = np.where(self.falling, np.abs(self.values), self.values)
        slopes = np.where(np.abs(slopes) > 1e-12, slopes, 1e-12)
        lengths = self.pushes / slopes
        shares = LONGEST_DESCENT / np.maximum(np.abs(lengths), LONGEST_DESCENT)
        return np.asarray((self.shapes @ (shares * lengths)).real)

    def kick(self) -> Array:
        """Return a step along the most unstable mode, away from an equilibrium, (k,)."""
        direction = self.shapes[:, np.argmin(self.values.real)].real
        return np.asarray(LONGEST_DESCENT / 3 * direction / np.abs(direction).max())


def balance(
    tangent: Tangent | None,
    start: OperatingPoint,
    columns: Array,
    *,
    stable: bool = False,
    constraint: Constraint | None = None,
    push: Push | None = None,
) -> tuple[OperatingPoint, int]:
    """Find the equilibrium of the forces along k directions, the columns of a matrix (n, k).

    Newton's method is followed by bounded descent steps if the point must be stable, or if Newton's
    method does not balance the forces along all modes.

    Returns
    -------
    point, steps
        The balanced point, and the number of steps.

    Raises
    ------
    FlexarmError
        If no equilibrium is found.
    """
    if constraint is None:
        assert tangent is not None  # without an equation there is nothing to balance
        problem = Balance(tangent, columns, Constraint.none(tangent), push)
    else:
        problem = Balance(tangent, columns, constraint, push)
    count = 0
    if not stable:
        point, count = _newton(problem, start)
        if (
            constraint is not None
            or _is_small(problem, start, point)
            or problem.modes(point).off <= BALANCED
        ):
            return point, count
    point, descent_steps = _descend(problem, start)
    closer, newton_steps = _converge(problem, point, 0.0)
    if closer is not None and np.abs(closer.q - point.q).max() <= LONGEST_DESCENT * BALANCED**0.5:
        point = closer
    return point, count + descent_steps + newton_steps


def _is_small(problem: Balance, start: OperatingPoint, end: OperatingPoint) -> bool:
    """Return whether residual forces are negligible relative to the largest force."""
    applied = [problem.force(point) for point in (start, end)]
    residual = np.abs(problem.columns.T @ applied[1]).max()
    return bool(residual <= UNBALANCED * np.abs(applied).max())


def _descend(problem: Balance, point: OperatingPoint) -> tuple[OperatingPoint, int]:
    """Return a stable equilibrium found by descent steps, and the number of steps."""
    for count in range(DESCENT_STEPS):
        modes = problem.modes(point)
        if modes.off > BALANCED:
            point = _descent_step(problem, point, modes.step())
        elif np.any(modes.falling):
            point = replace(point, q=point.q + problem.columns @ modes.kick())
        else:
            return point, count
    raise FlexarmError(NOWHERE)


def _descent_step(problem: Balance, point: OperatingPoint, step: Array) -> OperatingPoint:
    """Return the point after the largest step fraction that lowers residual or energy."""
    residual_before = problem.residual(point)
    share, candidate = 1.0, point
    while share > 1e-9:
        candidate = replace(point, q=point.q + problem.columns @ (share * step))
        residual_after = problem.residual(candidate)
        if np.linalg.norm(residual_after) < np.linalg.norm(residual_before):
            break
        if residual_before @ step < 0 and residual_after @ step <= -0.9 * (residual_before @ step):
            break
        share /= 2
    return candidate


def _newton(problem: Balance, start: OperatingPoint) -> tuple[OperatingPoint, int]:
    """Return an equilibrium found by Newton's method, and the number of steps.

    The load is applied in increments if necessary.
    """
    count = 0
    for stages in LOAD_STAGES:
        point = start
        initial = problem.residual(start)
        for stage in range(1, stages + 1):
            result, steps = _converge(problem, point, (1 - stage / stages) * initial)
            count += steps
            if result is None:
                break
            point = result
        else:
            return point, count
    raise FlexarmError(NOWHERE)


def _converge(
    problem: Balance, point: OperatingPoint, target: Array | float
) -> tuple[OperatingPoint | None, int]:
    """Return the point whose residual equals ``target``, and the number of Newton steps.

    The point is None if Newton's method diverges.
    """
    reach, residual = problem.constraint.reach, problem.residual(point) - target
    for count in range(1, NEWTON_STEPS + 1):
        newton_step = problem.step(point, residual)
        if newton_step is None:
            return None, count
        step, rows = newton_step
        longest = float(np.abs(step).max(initial=0.0))
        if longest <= CONVERGED_STEP * reach:
            end = replace(point, q=point.q + problem.columns @ step)
            return (end if problem.meets_constraint(residual) else None), count
        share = 1.0
        if len(problem.constraint.target):
            share = min(1.0, LONGEST_STEP * min(1.0, reach) / longest)
        point, residual, share = _advance(problem, point, share * step, target, residual, rows)
        if share == 0:
            return (point if longest <= np.sqrt(CONVERGED_STEP) * reach else None), count
    return None, NEWTON_STEPS


def _advance(
    problem: Balance,
    point: OperatingPoint,
    step: Array,
    target: Array | float,
    residual: Array,
    rows: Array,
) -> tuple[OperatingPoint, Array, float]:
    """Return the point after the largest step fraction that reduces the residual.

    The residual at that point and the step fraction are returned too; the fraction is 0 if no step
    reduces the residual.
    """
    norm_before = float(np.linalg.norm(residual / rows))
    share = 1.0
    while share > 1e-4:
        candidate = replace(point, q=point.q + problem.columns @ (share * step))
        residual_after = problem.residual(candidate) - target
        if (
            np.all(np.isfinite(residual_after))
            and float(np.linalg.norm(residual_after / rows)) < norm_before
        ):
            return candidate, residual_after, share
        share /= 2
    return point, residual, 0.0
