"""Newton's method for the places where an arm's forces balance, and the way downhill to them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.linear.tangent import Point, Tangent
from flexarm.linear_model import LinearModel
from flexarm.links.base import Array
from flexarm.model import Model

Push = Callable[[Array], tuple[Array, Array]]  # generalised force at q, (n,), and its derivative
ITERATIONS = 40
STAGES = (1, 4, 16, 64)  # in which the load is put on, where all at once does not converge
CONVERGED = 1e-13  # step over deflection, both by their strain energy's square root
SMALL = 1e-10  # of the largest force: what needs no further look
DESCENT = 100  # steps downhill
STRIDE = 0.3  # [rad], [m]: how far a step downhill moves a coordinate by one mode
BALANCED = 1e-8  # [rad], [m] off, or [rad/s^2], [m/s^2] of what no stiffness holds: an equilibrium
NOWHERE = (
    "no equilibrium was found: the load may be more than the arm can carry (a link buckles, a "
    "joint that settles falls): lighten it, hold more joints, or take the links as straight"
)


@dataclass(frozen=True)
class Pushed:
    """An arm's equation under forces that depend on its coordinates."""

    tangent: Tangent
    push: Push

    @property
    def model(self) -> Model:
        """The arm."""
        return self.tangent.model

    def force(self, point: Point, a: Array) -> Array:
        """Compute the force that accelerations a take beside what pushes, (n,)."""
        return np.asarray(self.tangent.force(point, a) - self.push(point.q)[0])

    def matrices(self, point: Point, a: Array) -> LinearModel:
        """Differentiate the force, what pushes included."""
        found = self.tangent.matrices(point, a)
        return replace(found, stiffness=found.stiffness - self.push(point.q)[1])


Balanced = Tangent | Pushed


def balance(tangent: Balanced, start: Point, columns: Array, *, stable: bool) -> tuple[Point, int]:
    """Balance the forces along given directions (n, k); where it must be stable, downhill.

    Gives the point, and the steps that it took.

    Raises
    ------
    FlexarmError
        If no such point is found.
    """
    count = 0
    if not stable:
        point, count = _newton(tangent, start, columns)
        if _is_small(tangent, start, point, columns) or (
            _modes(tangent, point, columns).off <= BALANCED
        ):
            return point, count
    point, more = _descend(tangent, start, columns)
    deflected: Array = np.linalg.lstsq(columns, point.q - start.q)[0].astype(float)
    closer, last = _converge(tangent, point, columns, np.zeros(columns.shape[1]), deflected)
    if closer is not None and np.abs(closer.q - point.q).max() <= STRIDE * BALANCED**0.5:
        point = closer
    return point, count + more + last


def _is_small(tangent: Balanced, start: Point, end: Point, columns: Array) -> bool:
    """Tell whether the forces along directions are small beside those at play, at either point."""
    still = np.zeros(tangent.model.size)
    force = [tangent.force(each, still) for each in (start, end)]
    return bool(np.abs(columns.T @ force[1]).max() <= SMALL * np.abs(force).max())


@dataclass(frozen=True)
class _Modes:
    """What forces do along the modes at a point."""

    # shapes, values: modes of stiffness by mass: shapes (k, k), squared frequencies [1/s^2], (k,).
    shapes: Any
    values: Any
    pushes: Any  # accelerations along the modes, (k,)

    @property
    def off(self) -> float:
        """How far from balance the point is at most."""
        return float(np.abs(self.pushes / np.maximum(np.abs(self.values), 1.0)).max(initial=0.0))

    @property
    def falling(self) -> Any:
        """Tell which modes the stiffness pushes away, (k,)."""
        return self.values.real < -1e-9 * np.abs(self.values).max(initial=1.0)

    def step(self) -> Array:
        """Step to balance where the stiffness is positive, and downhill elsewhere, (k,)."""
        slopes = np.where(self.falling, np.abs(self.values), self.values)
        slopes = np.where(np.abs(slopes) > 1e-12, slopes, 1e-12)
        lengths = self.pushes / slopes
        most = STRIDE / np.maximum(np.abs(lengths), STRIDE)
        return np.asarray((self.shapes @ (most * lengths)).real)

    def kick(self) -> Array:
        """Step off a point that is balanced but not stable, (k,)."""
        shape = self.shapes[:, np.argmin(self.values.real)].real
        return np.asarray(STRIDE / 3 * shape / np.abs(shape).max())


def _modes(tangent: Balanced, point: Point, columns: Array) -> _Modes:
    at = tangent.matrices(point, np.zeros(tangent.model.size))
    mass, stiffness = (columns.T @ each @ columns for each in (at.mass, at.stiffness))
    mass = mass + 1e-14 * np.trace(mass) * np.eye(len(mass))
    try:
        values, shapes = np.linalg.eig(np.linalg.solve(mass, stiffness))
        a = -np.linalg.solve(mass, _pushed(tangent, point, columns))
        return _Modes(shapes, values, np.linalg.solve(shapes, a.astype(complex)))
    except np.linalg.LinAlgError:
        raise FlexarmError(NOWHERE) from None


def _descend(tangent: Balanced, point: Point, columns: Array) -> tuple[Point, int]:
    """Go downhill in bounded steps to where forces balance and the stiffness is not negative."""
    for count in range(DESCENT):
        modes = _modes(tangent, point, columns)
        if modes.off > BALANCED:
            point = _downhill(tangent, point, columns, modes.step())
        elif np.any(modes.falling):
            point = replace(point, q=point.q + columns @ modes.kick())
        else:
            return point, count
    raise FlexarmError(NOWHERE)


def _downhill(tangent: Balanced, point: Point, columns: Array, step: Array) -> Point:
    """Take the largest share of a step that does not go far uphill again."""
    before = _pushed(tangent, point, columns)
    share, moved = 1.0, point
    while share > 1e-9:
        moved = replace(point, q=point.q + columns @ (share * step))
        after = _pushed(tangent, moved, columns)
        if np.linalg.norm(after) < np.linalg.norm(before):
            break
        if before @ step < 0 and after @ step <= -0.9 * (before @ step):
            break
        share /= 2
    return moved


def _newton(tangent: Balanced, start: Point, columns: Array) -> tuple[Point, int]:
    """Balance the forces along given directions (n, k), the load put on in stages if need be."""
    count = 0
    for stages in STAGES:
        point = start
        first = _pushed(tangent, start, columns)
        for stage in range(1, stages + 1):
            rest = (1 - stage / stages) * first
            found = _converge(tangent, point, columns, rest)
            count += found[1]
            if found[0] is None:
                break
            point = found[0]
        else:
            return point, count
    raise FlexarmError(NOWHERE)


def _converge(
    tangent: Balanced, point: Point, columns: Array, rest: Array, deflected: Array | None = None
) -> tuple[Point | None, int]:
    """Make the forces along directions equal to a rest; None if that does not converge.

    ``deflected`` is how far the point is from the start along the directions, (k,).
    """
    still = np.zeros(tangent.model.size)
    travelled = np.zeros(columns.shape[1]) if deflected is None else deflected
    residual = _pushed(tangent, point, columns) - rest
    for count in range(ITERATIONS):
        if not np.any(residual):
            return point, count
        stiffness = tangent.matrices(point, still).stiffness
        if not (np.all(np.isfinite(stiffness)) and np.all(np.isfinite(residual))):
            return None, count
        tangents = columns.T @ stiffness @ columns
        size = np.sqrt(np.maximum(np.abs(np.diag(tangents)), 1e-300))
        scaled = tangents / np.outer(size, size)
        step = -np.linalg.lstsq(scaled, residual / size, rcond=1e-14)[0] / size
        if not np.all(np.isfinite(step)):
            return None, count
        point, residual, share = _advance(tangent, point, columns, step, rest, residual)
        travelled = travelled + share * step
        moved = float(np.linalg.norm(size * step))
        if moved <= CONVERGED * float(np.linalg.norm(size * travelled)) + 1e-300:
            return point, count + 1
        if share == 0:
            done = moved <= np.sqrt(CONVERGED) * float(np.linalg.norm(size * travelled))
            return (point if done else None), count + 1
    return None, ITERATIONS


def _advance(
    tangent: Balanced, point: Point, columns: Array, step: Array, rest: Array, residual: Array
) -> tuple[Point, Array, float]:
    """Take a step, or the largest share of it that lessens the residual; 0 if none does."""
    before = float(np.linalg.norm(residual))
    share = 1.0
    while share > 1e-4:
        q = point.q + columns @ (share * step)
        moved = Point(q, point.v, point.u, point.t)
        after = _pushed(tangent, moved, columns) - rest
        if np.all(np.isfinite(after)) and float(np.linalg.norm(after)) < before:
            return moved, after, share
        share /= 2
    return point, residual, 0.0


def _pushed(tangent: Balanced, point: Point, columns: Array) -> Array:
    return np.asarray(columns.T @ tangent.force(point, np.zeros(tangent.model.size)))
