"""Errors of equilibria and of natural frequencies, by comparison with a refined arm.

The refined arm has four more shapes in every elastic direction. The error is the difference from
the refined arm plus the change due to its last two shapes. That bounds the changes due to all
further shapes if every two shapes at least halve the change.
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

import numpy as np

from flexarm.accuracy.frequencies import FrequencyErrors
from flexarm.accuracy.refined import refine, why_not_refined
from flexarm.accuracy.slender import section_errors
from flexarm.accuracy.stated import RestErrors
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.linear.balance import Push, balance
from flexarm.linear.constants import CLOSE, SAME_MODE
from flexarm.linear.elastic import moves
from flexarm.linear.tangent import OperatingPoint, Tangent
from flexarm.linear_model import Complex
from flexarm.mechanics.deformed import along, flexible_links
from flexarm.mechanics.loads import input_matrix
from flexarm.model import Model
from flexarm.runs.data import RunData
from flexarm.spatial import Array


@dataclass(frozen=True)
class Steps:
    """A quantity's values for a refined arm with all its shapes, and with subsets of them."""

    own: Array  # with all shapes in the directions in which the given arm has some
    own_less: Array  # without the last ones of these
    all: Array  # with all shapes in every direction
    all_less: Array  # without the last ones of these

    def shapes(self, given: Array) -> Array:
        """Return the error of a quantity due to the given arm's number of shapes."""
        return np.abs(given - self.own) + np.abs(self.own - self.own_less)

    def stiffness(self) -> Array:
        """Return the error of a quantity due to elastic directions that have no shapes."""
        last = np.abs((self.all - self.all_less) - (self.own - self.own_less))
        return np.abs(self.all - self.own) + last


class RefinedArm:
    """A refined arm near a state of the given arm, with the same joints held.

    Parameters
    ----------
    model, point
        The arm as given and its state.
    held
        Names of the held joints.
    exact
        Whether links are geometrically exact beams, regardless of the given arm's theory.
    push
        Generalised forces of inputs and drive trains, by which joints that are not held are in
        balance, (n,).
    """

    def __init__(
        self,
        model: Model,
        point: OperatingPoint,
        held: Set[str],
        *,
        exact: bool,
        push: Array | None = None,
    ) -> None:
        self.refined = refine(model, exact=exact)
        self.model = self.refined.model
        self.point, self.held = point, held
        self.base = frozenset(range(6 if model.floats else 0))  # coordinates of a free base, held
        self.tangent = Tangent(self.model)
        self.push: Push | None = None
        if push is not None:
            force, none = self.refined.joints.T @ push, np.zeros((self.model.size,) * 2)
            self.push = lambda _: (force, none)

    def columns(self, locked: Set[str], without: Set[int]) -> tuple[list[int], Array]:
        """Return the free coordinates except some amplitudes, and the motion per free coordinate.

        The motion matrix (n, kept) has all coordinates as rows.
        """
        kept, columns = moves(self.model, locked)
        some = [k for k, index in enumerate(kept) if index not in without]
        return [kept[k] for k in some], columns[:, some]

    def state(self, without: Set[int], *, balanced: bool) -> OperatingPoint:
        """Return the refined arm's state with some amplitudes 0.

        The state is an equilibrium if ``balanced``, else the fit of the given state.
        """
        q = self.refined.fit @ self.point.q
        q[list(without)] = 0.0
        turning = self.refined.fit @ self.point.v
        start = OperatingPoint(q, turning, self.point.u, self.point.t, self.point.anchor)
        _, columns = self.columns(self.held, without | self.base)
        if not balanced or not columns.shape[1]:
            return start
        return balance(self.tangent, start, columns, push=self.push)[0]

    def steps(self, value: Callable[[Set[int]], Array]) -> Steps:
        """Evaluate a function of excluded amplitudes for the subsets of shapes in `Steps`."""
        added, last = self.refined.added, self.refined.last
        own, less = value(added), value(added | last)
        if not added:
            return Steps(own, less, own, less)
        return Steps(own, less, value(frozenset()), value(last))


def rest_errors(
    model: Model, point: OperatingPoint, held: Set[str], push: Array | None = None
) -> RestErrors:
    """Compute the errors of an arm's tip deflections in an equilibrium.

    Parameters
    ----------
    model, point
        The arm and its state, in which only joints and base may have rates.
    held
        Names of the held joints; forces balance in the others.
    push
        Generalised forces of inputs and drive trains, (n,).

    Raises
    ------
    FlexarmError
        If the arm cannot be refined, or no equilibrium of the refined arm is found.
    """
    if why := why_not_refined(model):
        raise FlexarmError(why)
    names = [part.name for part in flexible_links(model)]

    def made(*, exact: bool) -> tuple[RefinedArm, Steps]:
        arm = RefinedArm(model, point, held, exact=exact, push=push)

        def tips(without: Set[int]) -> Array:
            return _tips(arm.model, arm.state(without, balanced=True).q, names)

        return arm, arm.steps(tips)

    best, steps = made(exact=True)
    own = steps if model.link_theory == "exact" else made(exact=False)[1]
    rows = {
        "shapes": own.shapes(_tips(model, point.q, names)),
        "theory": np.abs(steps.own - own.own),
        "stiffness": steps.stiffness(),
        "section": _sheared(best, names),
    }
    largest = {what: row.max(axis=1).tolist() for what, row in rows.items()}
    return RestErrors(
        {what: dict(zip(names, sizes, strict=True)) for what, sizes in largest.items()}
    )


def run_rest_errors(run: RunData) -> RestErrors:
    """Compute the errors of tip deflections of a run in which nothing moves.

    Joints that are locked, braked, prescribed, rotating, or held by a servo or a law keep their
    position; the others are in equilibrium under their inputs.

    Raises
    ------
    FlexarmError
        As `rest_errors` does.
    """
    model, u = run.model, run.u[-1]
    still = set(run.legs[-1].held if run.legs else model.prescribed)
    still |= {int(k) for k in np.flatnonzero(np.abs(run.v[-1]) > NEGLIGIBLE)}
    held = {
        axis.name
        for axis in model.axes
        if axis.is_braked
        or axis.acts.servo is not None
        or (axis.driven and run.feedback is not None)
        or still & {axis.index, axis.motor}
    }
    push = input_matrix(model) @ u
    if run.drives is not None:
        push = push + run.drives.push[-1]
    anchor = run.anchors[-1] if model.attitudes else None
    point = OperatingPoint(run.q[-1], run.v[-1], u, float(run.t[-1]), anchor)
    return rest_errors(model, point, held, push)


def _sheared(arm: RefinedArm, names: Sequence[str]) -> Array:
    """Estimate the shear displacement of each tip at rest, to first order [m], (links, 3)."""
    without = arm.refined.added
    point = arm.state(without, balanced=True)
    _, columns = arm.columns(arm.held, without | arm.base)
    stiffness = arm.tangent.matrices(point, np.zeros(arm.model.size)).stiffness
    load = columns.T @ section_errors(arm.model)[0] @ point.q
    moved = columns @ np.linalg.lstsq(columns.T @ stiffness @ columns, load)[0]
    pair = (_tips(arm.model, q, names) for q in (point.q + moved, point.q))
    return np.abs(np.subtract(*pair))


def _tips(model: Model, q: Array, names: Sequence[str]) -> Array:
    """Return the displacement of each tip from its undeformed position [m], (links, 3)."""
    parts, tip = {part.name: part for part in model.links}, np.array([1.0])
    return np.array([along(model, parts[name], q[None], tip).deflection[0, 0] for name in names])


def frequency_errors(
    model: Model,
    point: OperatingPoint,
    locked: Set[str],
    modes: Sequence[tuple[complex, Complex]],
    *,
    balanced: bool,
) -> tuple[FrequencyErrors | None, ...]:
    """Compute the errors of natural frequencies of modes about a state.

    Parameters
    ----------
    model, point
        The arm and the state, at rest or turning steadily.
    locked
        Names of joints that do not move in the modes; in the state all joints are held.
    modes
        Eigenvalue [1/s] and shape (n,) of each mode.
    balanced
        Whether the state is an equilibrium; else the refined arm has the same deflection.

    Returns
    -------
    tuple
        One entry per mode: None without oscillation or a matching mode of the refined arm; all None
        if a link can have no more shapes or the refined arm has no equilibrium.
    """
    unknown = (None,) * len(modes)
    if not flexible_links(model) or why_not_refined(model):
        return unknown
    shapes = np.array([shape for _, shape in modes]).reshape(-1, model.size).T
    sizes = np.abs([value for value, _ in modes])

    def made(*, exact: bool) -> tuple["_RefinedModes", Steps]:
        arm = RefinedArm(model, point, {axis.name for axis in model.axes}, exact=exact)
        modes = _RefinedModes(arm, locked, shapes, balanced)
        return modes, arm.steps(modes.frequencies)

    try:
        best, steps = made(exact=True)
        own = steps if model.link_theory == "exact" else made(exact=False)[1]
    except FlexarmError:
        return unknown
    theory = np.abs(steps.own - own.own) + steps.stiffness() + best.sheared * steps.own
    slowest = np.where(sizes > 0, sizes, np.nan)
    rounding = len(sizes) * np.finfo(float).eps * (sizes.max(initial=0.0) / slowest) ** 2
    columns = np.array([theory / steps.all, own.shapes(sizes) / steps.all, rounding]).T
    return tuple(
        FrequencyErrors(row[0], row[1], row[2])
        if value.imag > 0 and np.all(np.isfinite(row))
        else None
        for (value, _), row in zip(modes, columns.tolist(), strict=True)
    )


class _RefinedModes:
    """Modes of a refined arm, matched to those of the given arm.

    Parameters
    ----------
    arm
        The refined arm.
    locked
        Names of joints that do not move in the modes.
    shapes
        Shapes of the given arm's modes, (n, k).
    balanced
        Whether the refined arm is in equilibrium.
    """

    def __init__(self, arm: RefinedArm, locked: Set[str], shapes: Complex, balanced: bool) -> None:
        self.arm, self.locked, self.balanced = arm, locked, balanced
        self.shapes = arm.refined.fit @ shapes
        self.sheared = np.zeros(shapes.shape[1])  # relative error of frequencies by shear, (k,)

    def frequencies(self, without: Set[int]) -> Array:
        """Compute the frequencies of the matching modes [rad/s], NaN without a match, (k,)."""
        point = self.arm.state(without, balanced=self.balanced)
        kept, columns = self.arm.columns(self.locked, without)
        full = self.arm.tangent.matrices(point, np.zeros(self.arm.model.size))
        solved = full.along(kept, columns).modes()
        modes, values = columns @ solved.vectors, np.abs(solved.values)
        found = np.full(self.shapes.shape[1], np.nan)
        if not len(values):
            return found
        soft, heavy = section_errors(self.arm.model)
        judged = without == self.arm.refined.added
        for k, shape in enumerate(self.shapes.T):
            weight = np.abs(modes.conj().T @ full.mass @ shape) ** 2
            weight[solved.values.imag <= 0] = 0.0
            best = int(np.argmax(weight))
            near = np.abs(values - values[best]) <= CLOSE * values[best]
            if weight[near].sum() < SAME_MODE * np.real(shape.conj() @ full.mass @ shape):
                continue
            found[k], mode = values[best], modes[:, best]
            if judged:
                lost, more = (np.real(mode.conj() @ each @ mode) for each in (soft, heavy))
                self.sheared[k] = 1 - 1 / np.sqrt(1 + lost / values[best] ** 2 + more)
        return found
