"""Static deflection of an arm, also in steady rotation, and its errors by a refined arm."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flexarm.accuracy.constants import MORE_SHAPES
from flexarm.accuracy.defect import Motion
from flexarm.accuracy.frequencies import FrequencyErrors
from flexarm.accuracy.integration import IntegrationError
from flexarm.accuracy.richer import enriched, is_complete, why_not_refined
from flexarm.accuracy.stated import RestErrors, RunErrors, run_errors
from flexarm.accuracy.validity import validity
from flexarm.arguments import (
    WithUnit,
    renamed,
    require_flag,
    require_known,
    require_names,
    require_number,
    require_numbers,
)
from flexarm.arm import Arm
from flexarm.arm.summary import Summarised, Summary
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.linear.balance import Push, balance
from flexarm.linear.constants import MIXING_DISTANCE, SAME_MODE_SHARE, STEADY_CHANGE
from flexarm.linear.tangent import OperatingPoint, Tangent, moves
from flexarm.linear_model import Complex
from flexarm.mechanics.deformed import along, flexible_links
from flexarm.mechanics.loads import input_matrix
from flexarm.model import LinkModel, Model, build, prescribed_motion, start_state, undeformed
from flexarm.runs.data import RunData
from flexarm.spatial import Array
from flexarm.threads import one_blas_thread


@dataclass(frozen=True)
class Steps:
    """Values of a quantity for a refined arm, with all or only some of its shape functions."""

    active: Array  # value with all shapes in the directions in which the original arm has shapes
    active_coarser: Array  # like ``active``, without the last two shapes of each direction
    full: Array  # value with all shapes in every direction
    full_coarser: Array  # like ``full``, without the last two shapes of each direction

    def shapes(self, value: Array) -> Array:
        """Return the error of a quantity caused by too few shapes of the original arm."""
        return np.abs(value - self.active) + np.abs(self.active - self.active_coarser)

    def beyond(self, other: "Steps") -> Array:
        """Return the difference from another theory's value, plus a discretisation error."""
        change, coarser = self.active - other.active, self.active_coarser - other.active_coarser
        return np.abs(change) + np.abs(change - coarser)

    def stiffness(self) -> Array:
        """Return the error of a quantity caused by elastic directions without shapes."""
        coarser = (self.full - self.full_coarser) - (self.active - self.active_coarser)
        return np.abs(self.full - self.active) + np.abs(coarser)


class RefinedArm:
    """An arm with more shape functions than the original arm, near a state of the original arm.

    Parameters
    ----------
    model, point
        The original arm and its state.
    held
        Names of the held joints.
    complete
        Whether links are geometrically exact beams, with shear and rotary inertia where the model
        file states them; if false, links keep the original arm's beam theory.
    push
        Generalised forces of inputs and drive trains, (n,), which balance the joints that are not
        held.
    """

    def __init__(
        self,
        model: Model,
        point: OperatingPoint,
        held: Set[str],
        *,
        complete: bool,
        push: Array | None = None,
    ) -> None:
        self.refined = enriched(model, MORE_SHAPES, complete=complete)
        self.model = self.refined.model
        self.point, self.held = point, held
        self.base = frozenset(range(6 if model.floats else 0))  # coordinates of a free base
        self.tangent = Tangent(self.model)
        self.push: Push | None = None
        if push is not None:
            force, no_stiffness = self.refined.placed(push), np.zeros((self.model.size,) * 2)
            self.push = lambda _: (force, no_stiffness)

    def columns(self, locked: Set[str], without: Set[int]) -> tuple[list[int], Array]:
        """Return the coordinates that stay free if given amplitudes are fixed, and a motion matrix.

        Column j of the motion matrix, (n, r), is the motion of all n coordinates per unit of free
        coordinate j. The amplitudes with the indices ``without`` are fixed.
        """
        coordinates, columns = moves(self.model, locked)
        selected = [k for k, index in enumerate(coordinates) if index not in without]
        return [coordinates[k] for k in selected], columns[:, selected]

    def state(self, without: Set[int], *, balanced: bool) -> OperatingPoint:
        """Return the refined arm's state with given amplitudes set to 0.

        The state is an equilibrium if ``balanced``, else it has the original arm's deflection.
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
    """Estimate the errors of the links' tip deflections in an equilibrium.

    Parameters
    ----------
    model, point
        The arm and its state; only joints and base may have nonzero rates.
    held
        Names of the held joints; at all other joints the forces must balance.
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

    def refine_by(*, complete: bool) -> Steps:
        refined = RefinedArm(model, point, held, complete=complete, push=push)

        def tips(without: Set[int]) -> Array:
            return _tip_displacements(refined.model, refined.state(without, balanced=True).q, names)

        return refined.steps(tips)

    best = refine_by(complete=True)
    own = best if is_complete(model) else refine_by(complete=False)
    beyond = best.beyond(own)
    is_exact = model.link_theory == "exact"
    rows = {
        "shapes": own.shapes(_tip_displacements(model, point.q, names)),
        "theory": np.zeros_like(beyond) if is_exact else beyond,
        "stiffness": best.stiffness(),
        "section": beyond if is_exact else np.zeros_like(beyond),
    }
    largest = {cause: deflections.max(axis=1).tolist() for cause, deflections in rows.items()}
    return RestErrors(
        {cause: dict(zip(names, by_link, strict=True)) for cause, by_link in largest.items()},
        dict(zip(names, np.abs(best.full).max(axis=1).tolist(), strict=True)),
    )


def run_rest_errors(run: RunData) -> RestErrors:
    """Estimate the errors of the tip deflections of a run in which nothing moves.

    Joints that are locked, braked, prescribed, rotating, or held by a servo or a law keep their
    position. All other joints are in equilibrium under their inputs.

    Raises
    ------
    FlexarmError
        If the arm cannot be refined, or no equilibrium of the refined arm is found.
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
    """Estimate the errors of the natural frequencies of modes about a state.

    Parameters
    ----------
    model, point
        The arm and the state, at rest or turning steadily.
    locked
        Names of joints that do not move in the modes. The state itself is computed with all joints
        held.
    modes
        Eigenvalue [1/s] and shape (n,) of each mode.
    balanced
        Whether the state is an equilibrium; if false, the refined arm has the deflection of the
        original arm.

    Returns
    -------
    tuple
        One entry per mode, None if the mode does not oscillate or the refined arm has no matching
        mode. All entries are None if a link cannot have more shapes or the refined arm has no
        equilibrium.
    """
    unknown = (None,) * len(modes)
    if not flexible_links(model) or why_not_refined(model):
        return unknown
    shapes = np.array([shape for _, shape in modes]).reshape(-1, model.size).T
    sizes = np.abs([value for value, _ in modes])

    def refine_by(*, complete: bool) -> Steps:
        arm = RefinedArm(model, point, {axis.name for axis in model.axes}, complete=complete)
        return arm.steps(_RefinedModes(arm, locked, shapes, balanced).frequencies)

    try:
        best = refine_by(complete=True)
        own = best if is_complete(model) else refine_by(complete=False)
    except FlexarmError:
        return unknown
    theory = best.beyond(own) + best.stiffness()
    slowest = np.where(sizes > 0, sizes, np.nan)
    rounding = len(sizes) * np.finfo(float).eps * (sizes.max(initial=0.0) / slowest) ** 2
    columns = np.array([theory / best.full, own.shapes(sizes) / best.full, rounding]).T
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
        Shapes of the original arm's modes, (n, k).
    balanced
        Whether to use the refined arm's own equilibrium instead of the original deflection.
    """

    def __init__(self, arm: RefinedArm, locked: Set[str], shapes: Complex, balanced: bool) -> None:
        self.arm, self.locked, self.balanced = arm, locked, balanced
        self.shapes = arm.refined.placed(shapes)

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
        for k, shape in enumerate(self.shapes.T):
            weight = np.abs(modes.conj().T @ linear.mass @ shape) ** 2
            weight[solution.values.imag <= 0] = 0.0
            closest = int(np.argmax(weight))
            neighbours = np.abs(values - values[closest]) <= MIXING_DISTANCE * values[closest]
            if weight[neighbours].sum() < SAME_MODE_SHARE * np.real(
                shape.conj() @ linear.mass @ shape
            ):
                continue
            result[k] = values[closest]
        return result


@dataclass(frozen=True, repr=False)
class Equilibrium(Summarised):
    """State of an arm at rest or in steady motion of its joints.

    Attributes
    ----------
    point
        The state, with coordinates ``q``, rates ``v`` and the inputs ``u`` that hold the arm.
    effort
        Generalised holding force on every coordinate, (n,); 0 for coordinates that are not held.
    iterations
        Number of steps of Newton's method.
    notes
        Warnings of loads that nothing supports, of motions that are not steady, and of bending
        slopes beyond the model's validity.
    straight
        Whether links are kept straight, even if loads would bend them.
    settled
        Names of the joints that are not held.
    """

    model: Model
    point: OperatingPoint
    effort: Array
    iterations: int
    notes: tuple[str, ...]
    straight: bool = False
    settled: tuple[str, ...] = ()

    @cached_property
    def errors(self) -> RunErrors:
        """Relative errors of the deflections caused by beam theory and shape functions.

        The errors are estimated by comparison with a refined arm, also for steadily rotating
        joints.
        """
        model, point = self.model, self.point
        rows = np.array([0.0]), point.q[None], point.v[None], point.u[None]
        bending = validity(model, *rows[:2])
        held_joints = {axis.name for axis in model.axes} - set(self.settled)
        return run_errors(
            model, Motion(*rows, np.zeros((1, 0, 3))), bending, solved=IntegrationError(0.0),
            at_rest=lambda: rest_errors(model, point, held_joints),
        )  # fmt: skip

    @property
    def q(self) -> Array:
        """Coordinates, (n,), in the order of ``model.names``."""
        return self.point.q

    @property
    def u(self) -> Array:
        """Inputs [N m], [N] that hold the arm, one per driven joint."""
        return self.point.u

    def _summary(self) -> Summary:
        names = zip(self.model.names, self.point.q, self.model.units, strict=True)
        rows = [(name, f"{value:.6g}", unit) for name, value, unit in names]
        inputs = ", ".join(f"{name} {value:.4g}" for name, value in self.holding().items())
        title = f"Equilibrium of {self.model.arm.name}"
        lines = (f"held by {inputs or 'nothing'}", *self.notes)
        return Summary(title, lines, ("coordinate", "value", "unit"), rows)

    def deflections(self) -> dict[str, float]:
        """Return all coordinates of the equilibrium by name."""
        return dict(zip(self.model.names, self.point.q.tolist(), strict=True))

    def holding(self) -> dict[str, float]:
        """Return the inputs that hold the arm [N m], [N], by joint."""
        names = [axis.name for axis in self.model.axes if axis.driven]
        return dict(zip(names, self.point.u.tolist(), strict=True))


@renamed({"positions": "at"}, joints="at")
@one_blas_thread
def equilibrium(
    arm: Arm | Model,
    *,
    at: Mapping[str, WithUnit] | None = None,
    speeds: Mapping[str, WithUnit] | None = None,
    settle: Sequence[str] = (),
    straight: bool = False,
    t: WithUnit = 0.0,
) -> Equilibrium:
    """Compute the static deflection of an arm under gravity and loads with its joints held.

    Steady rotation of joints is included.

    Parameters
    ----------
    arm
        The arm, or its model.
    at
        Positions of held joints [rad], [m], by name; joints without a value keep their initial
        position. An elastic joint is held at its motor.
    speeds
        Speeds [rad/s], [m/s] of joints in steady motion, by name; all other joints are at rest.
    settle
        Names of joints that are not held but move to a stable equilibrium.
    straight
        Whether to keep the links straight.
    t
        Time [s] at which wrenches and prescribed positions are evaluated.

    Returns
    -------
    Equilibrium
        The state and the holding inputs.

    Raises
    ------
    FlexarmError
        If a name is wrong, or no equilibrium is found.
    """
    model = arm if isinstance(arm, Model) else build(arm)
    if model.orbit:
        raise FlexarmError(
            "an equilibrium cannot be computed for a base in orbit, since a base at rest need "
            "not stay there"
        )
    positions, rates = positions_and_speeds(model, at, speeds)
    require_names("settle", settle, "joints")
    require_flag("straight", straight)
    t = require_number("t", t, unit="s")
    return settle_down(Tangent(model), positions, rates, settle, straight=straight, t=t)


def positions_and_speeds(
    model: Model, at: Mapping[str, WithUnit] | None, speeds: Mapping[str, WithUnit] | None
) -> tuple[dict[str, float], dict[str, float]]:
    """Return validated positions and speeds of joints by name, in SI units."""
    units = model.axis_units
    rates = {name: f"{unit}/s" for name, unit in units.items()}
    return (
        require_numbers("at", at, "positions by joint", units=units),
        require_numbers("speeds", speeds, "speeds by joint", units=rates),
    )


def settle_down(
    tangent: Tangent,
    joints: Mapping[str, float],
    speeds: Mapping[str, float],
    settle: Sequence[str] = (),
    *,
    straight: bool = False,
    t: float = 0.0,
    push: Push | None = None,
    rates: Array | None = None,
) -> Equilibrium:
    """Compute an equilibrium from compiled equations; arguments as for `equilibrium`.

    ``push`` is an additional generalised force on joints that are free to settle; ``rates`` (n,)
    replace the speeds.
    """
    model = tangent.model
    q, v = held_state(model, joints, speeds, t)
    v = v if rates is None else rates
    names = {axis.name for axis in model.axes}
    for name in settle:
        require_known(name, sorted(names))
    columns = settling_directions(model, settle)
    point = OperatingPoint(q, v, np.zeros(tangent.inputs.shape[1]), t)
    no_acceleration, steps = np.zeros(model.size), 0
    largest_force = float(np.abs(tangent.force(point, no_acceleration)).max(initial=0.0))
    if not straight and columns.shape[1]:
        point, steps = balance(tangent, point, columns, stable=bool(settle), push=push)
    effort = tangent.force(point, no_acceleration)
    largest_force = max(largest_force, float(np.abs(effort).max(initial=0.0)))
    u = np.asarray(np.linalg.lstsq(tangent.inputs, effort, rcond=None)[0], dtype=np.float64)
    point = OperatingPoint(point.q, v, u, t)
    unbalanced = effort - tangent.inputs @ u
    unbalanced[np.abs(unbalanced) <= NEGLIGIBLE * largest_force] = 0.0
    notes = _unbalanced_notes(model, unbalanced, straight=straight) + _unsteady_notes(
        tangent, point, largest_force
    )
    if not straight:
        notes += list(validity(model, np.zeros(1), point.q[None]).warnings)
    return Equilibrium(model, point, effort, steps, tuple(notes), straight, tuple(settle))


def settling_directions(model: Model, settle: Sequence[str]) -> Array:
    """Return the directions in which links and joints ``settle`` move, (n, k); the base is held."""
    locked = {axis.name for axis in model.axes} - set(settle)
    _, columns = moves(model, locked)
    return np.asarray(columns[:, ~_base_columns(model, columns)])


def held_state(
    model: Model, joints: Mapping[str, float], speeds: Mapping[str, float], t: float
) -> tuple[Array, Array]:
    """Return coordinates and rates, (n,) each, for given joint values and undeformed links."""
    q, v = undeformed(model, start_state(model)[0]), np.zeros(model.size)
    prescribed = list(model.prescribed)
    q[prescribed] = prescribed_motion(model, t)[0]
    axes = {axis.name: axis for axis in model.axes}
    for axis in model.axes:
        if axis.motor is not None:
            q[axis.index] = q[axis.motor]
    for values, target in ((joints, q), (speeds, v)):
        for name, value in values.items():
            require_known(name, sorted(axes))
            if not np.isfinite(value):
                raise FlexarmError(f"{name}: must be a finite number, got {value}")
            axis = axes[name]
            target[axis.index] = value
            if axis.motor is not None:
                target[axis.motor] = value
            if target is q:
                _require_in_range(model.links[axis.link], value)
    return q, v


def _require_in_range(part: LinkModel, value: float) -> None:
    if part.range is None:
        return
    low, high = part.range
    if not low - 1e-9 * high <= value <= high * (1 + 1e-9):
        raise FlexarmError(
            f"{part.joint_name}: must be {low:g} to {high:g} m, the range of lengths that the "
            f"shapes are built for, got {value:g} m. Change the position, or the limits of the "
            "joint."
        )


def _base_columns(model: Model, columns: Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return a mask of the coordinates of a free base, which an equilibrium excludes."""
    if not model.floats:
        return np.zeros(columns.shape[1], dtype=bool)
    return np.asarray(np.any(columns[:6] != 0, axis=0))


def _unbalanced_notes(model: Model, unbalanced: Array, *, straight: bool) -> list[str]:
    """Return sentences on coordinates and links whose loads are not balanced."""
    notes = []
    for i, name in enumerate(model.names):
        free = i < 6 and model.floats
        for axis in model.axes:
            if i == axis.index and axis.motor is None:
                free = axis.acts.actuation == "free"
        if free and unbalanced[i]:
            unit = "N m" if model.units[i] == "rad" else "N"
            notes.append(
                f"no equilibrium: {name} is free and would need {unbalanced[i]:.4g} {unit} to stay"
            )
    amplitudes = [i for part in model.links for i in range(part.modes.start, part.modes.stop)]
    if straight and np.any(unbalanced[amplitudes]):
        notes.append("links are taken as straight, so the loads that bend them are not balanced")
    return notes


def _unsteady_notes(tangent: Tangent, point: OperatingPoint, size: float) -> list[str]:
    """Return a sentence if the forces change along the joints' motion, else an empty list."""
    speed = float(np.abs(point.v).max(initial=0.0))
    if speed == 0:
        return []
    no_acceleration = np.zeros(tangent.model.size)
    gradient = tangent.matrices(point, no_acceleration).stiffness @ (point.v / speed)
    free = [i for i in range(len(gradient)) if i not in tangent.model.prescribed]
    if np.any(np.abs(gradient[free]) > STEADY_CHANGE * size):
        return [
            "not a steady motion: forces change as the joints move on, and the modes "
            "are those of the instant"
        ]
    return []
