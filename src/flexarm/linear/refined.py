"""Errors of equilibria and of natural frequencies, by comparison with a refined arm.

The refined arm has more shapes in every elastic direction. The error is the difference from
the refined arm plus the change due to its last two shapes. That bounds the changes due to all
further shapes if every two shapes at least halve the change.
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

import numpy as np

from flexarm.accuracy.constants import MORE_SHAPES
from flexarm.accuracy.frequencies import FrequencyErrors
from flexarm.accuracy.richer import enriched, why_not_refined
from flexarm.accuracy.slender import section_errors
from flexarm.accuracy.stated import RestErrors
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.linear.balance import Push, balance
from flexarm.linear.constants import MIXING_DISTANCE, SAME_MODE_SHARE
from flexarm.linear.tangent import OperatingPoint, Tangent, moves
from flexarm.linear_model import Complex
from flexarm.mechanics.deformed import along, flexible_links
from flexarm.mechanics.loads import input_matrix
from flexarm.model import Model
from flexarm.runs.data import RunData
from flexarm.spatial import Array


@dataclass(frozen=True)
class Steps:
    """A quantity's values for a refined arm, with all its shapes and with subsets of them."""

    active: Array  # with all shapes in the directions in which the given arm has shapes
    active_coarser: Array  # as ``active``, without the last two shapes of each direction
    full: Array  # with all shapes in every direction
    full_coarser: Array  # as ``full``, without the last two shapes of each direction

    def shapes(self, value: Array) -> Array:
        """Return the error of a quantity caused by too few shapes of the original arm."""
        return np.abs(value - self.active) + np.abs(self.active - self.active_coarser)

    def stiffness(self) -> Array:
        """Return the error of a quantity caused by elastic directions without shapes."""
        coarser = (self.full - self.full_coarser) - (self.active - self.active_coarser)
        return np.abs(self.full - self.active) + np.abs(coarser)


class RefinedArm:
    """A refined arm near a state of the original arm, with the same joints locked.

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
        self.refined = enriched(model, MORE_SHAPES, exact=exact)
        self.model = self.refined.model
        self.point, self.held = point, held
        self.base = frozenset(range(6 if model.floats else 0))  # coordinates of a free base, held
        self.tangent = Tangent(self.model)
        self.push: Push | None = None
        if push is not None:
            force, no_stiffness = self.refined.placed(push), np.zeros((self.model.size,) * 2)
            self.push = lambda _: (force, no_stiffness)

    def columns(self, locked: Set[str], without: Set[int]) -> tuple[list[int], Array]:
        """Return the free coordinates without given amplitudes, and the motion per coordinate.

        The motion matrix (n, r) has all n coordinates as rows and r free coordinates as columns.
        """
        coordinates, columns = moves(self.model, locked)
        selected = [k for k, index in enumerate(coordinates) if index not in without]
        return [coordinates[k] for k in selected], columns[:, selected]

    def state(self, without: Set[int], *, balanced: bool) -> OperatingPoint:
        """Return the refined arm's state with given amplitudes set to 0.

        The state is an equilibrium if ``balanced``, else the given state.
        """
        q = self.refined.placed(self.point.q)
        q[list(without)] = 0.0
        rates = self.refined.placed(self.point.v)
        start = OperatingPoint(q, rates, self.point.u, self.point.t, self.point.reference_attitude)
        _, columns = self.columns(self.held, without | self.base)
        if not balanced or not columns.shape[1]:
            return start
        return balance(self.tangent, start, columns, push=self.push)[0]

    def steps(self, value: Callable[[Set[int]], Array]) -> Steps:
        """Evaluate a function of excluded amplitudes for each subset of shapes in `Steps`."""
        added, last_amplitudes = frozenset(self.refined.left_out), frozenset(self.refined.last)
        active, active_coarser = value(added), value(added | last_amplitudes)
        if not added:
            return Steps(active, active_coarser, active, active_coarser)
        return Steps(active, active_coarser, value(frozenset()), value(last_amplitudes))


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
    if reason := why_not_refined(model):
        raise FlexarmError(reason)
    names = [part.name for part in flexible_links(model)]

    def refine_by(*, exact: bool) -> tuple[RefinedArm, Steps]:
        refined = RefinedArm(model, point, held, exact=exact, push=push)

        def tips(without: Set[int]) -> Array:
            return _tip_displacements(refined.model, refined.state(without, balanced=True).q, names)

        return refined, refined.steps(tips)

    exact_arm, exact_steps = refine_by(exact=True)
    model_steps = exact_steps if model.link_theory == "exact" else refine_by(exact=False)[1]
    rows = {
        "shapes": model_steps.shapes(_tip_displacements(model, point.q, names)),
        "theory": np.abs(exact_steps.active - model_steps.active),
        "stiffness": exact_steps.stiffness(),
        "section": _shear_displacements(exact_arm, names),
    }
    largest = {cause: deflections.max(axis=1).tolist() for cause, deflections in rows.items()}
    return RestErrors(
        {cause: dict(zip(names, by_link, strict=True)) for cause, by_link in largest.items()}
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
    fixed_indices = set(run.phases[-1].held if run.phases else model.prescribed)
    fixed_indices |= {int(k) for k in np.flatnonzero(np.abs(run.v[-1]) > NEGLIGIBLE)}
    held_joints = {
        axis.name
        for axis in model.axes
        if axis.is_braked
        or axis.acts.servo is not None
        or (axis.driven and run.feedback is not None)
        or fixed_indices & {axis.index, axis.motor}
    }
    push = input_matrix(model) @ u
    if run.drives is not None:
        push = push + run.drives.push[-1]
    reference_attitude = run.reference_attitudes[-1] if model.attitudes else None
    point = OperatingPoint(run.q[-1], run.v[-1], u, float(run.t[-1]), reference_attitude)
    return rest_errors(model, point, held_joints, push)


def _shear_displacements(arm: RefinedArm, names: Sequence[str]) -> Array:
    """Estimate the shear displacement of each tip at rest, to first order [m], (links, 3)."""
    without = frozenset(arm.refined.left_out)
    point = arm.state(without, balanced=True)
    _, columns = arm.columns(arm.held, without | arm.base)
    stiffness = arm.tangent.matrices(point, np.zeros(arm.model.size)).stiffness
    load = columns.T @ section_errors(arm.model)[0] @ point.q
    displacement = columns @ np.linalg.lstsq(columns.T @ stiffness @ columns, load)[0]
    tips = (_tip_displacements(arm.model, q, names) for q in (point.q + displacement, point.q))
    return np.abs(np.subtract(*tips))


def _tip_displacements(model: Model, q: Array, names: Sequence[str]) -> Array:
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

    def refine_by(*, exact: bool) -> tuple["_RefinedModes", Steps]:
        arm = RefinedArm(model, point, {axis.name for axis in model.axes}, exact=exact)
        modes = _RefinedModes(arm, locked, shapes, balanced)
        return modes, arm.steps(modes.frequencies)

    try:
        exact_modes, exact_steps = refine_by(exact=True)
        model_steps = exact_steps if model.link_theory == "exact" else refine_by(exact=False)[1]
    except FlexarmError:
        return unknown
    theory = (
        np.abs(exact_steps.active - model_steps.active)
        + exact_steps.stiffness()
        + exact_modes.sheared * exact_steps.active
    )
    slowest = np.where(sizes > 0, sizes, np.nan)
    rounding = len(sizes) * np.finfo(float).eps * (sizes.max(initial=0.0) / slowest) ** 2
    columns = np.array(
        [theory / exact_steps.full, model_steps.shapes(sizes) / exact_steps.full, rounding]
    ).T
    return tuple(
        FrequencyErrors(row[0], row[1], row[2])
        if value.imag > 0 and np.all(np.isfinite(row))
        else None
        for (value, _), row in zip(modes, columns.tolist(), strict=True)
    )


class _RefinedModes:
    """Modes of a refined arm, matched to the modes of the original arm.

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
        self.shapes = arm.refined.placed(shapes)
        self.sheared = np.zeros(shapes.shape[1])  # relative error of frequencies by shear, (k,)

    def frequencies(self, without: Set[int]) -> Array:
        """Compute the frequencies of the matching modes [rad/s], NaN without a match, (k,)."""
        point = self.arm.state(without, balanced=self.balanced)
        coordinates, columns = self.arm.columns(self.locked, without)
        linear = self.arm.tangent.matrices(point, np.zeros(self.arm.model.size))
        solution = linear.along(coordinates, columns).modes()
        modes, values = columns @ solution.vectors, np.abs(solution.values)
        result = np.full(self.shapes.shape[1], np.nan)
        if not len(values):
            return result
        shear_compliance, rotary_inertia = section_errors(self.arm.model)
        estimates_shear = without == set(self.arm.refined.left_out)
        for k, shape in enumerate(self.shapes.T):
            weight = np.abs(modes.conj().T @ linear.mass @ shape) ** 2
            weight[solution.values.imag <= 0] = 0.0
            closest = int(np.argmax(weight))
            neighbours = np.abs(values - values[closest]) <= MIXING_DISTANCE * values[closest]
            if weight[neighbours].sum() < SAME_MODE_SHARE * np.real(
                shape.conj() @ linear.mass @ shape
            ):
                continue
            result[k], mode = values[closest], modes[:, closest]
            if estimates_shear:
                compliance_share, inertia_share = (
                    np.real(mode.conj() @ matrix @ mode)
                    for matrix in (shear_compliance, rotary_inertia)
                )
                self.sheared[k] = 1 - 1 / np.sqrt(
                    1 + compliance_share / values[closest] ** 2 + inertia_share
                )
        return result
