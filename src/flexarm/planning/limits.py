"""Limits of a motion: joint ranges, speeds, deflections, strains, base force and torque."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from flexarm.arguments import WithUnit, is_number, refused, require_mapping, require_positive
from flexarm.constants import NEGLIGIBLE
from flexarm.errors import FlexarmError
from flexarm.formulations import formulation
from flexarm.mechanics.deformed import flexible_links, section_forces, tip_rows
from flexarm.mechanics.loads import input_limits
from flexarm.model import Axis, Model
from flexarm.planning.constants import DIFFERENCE_STEP, STRAIN_STATIONS, USED_SHARE
from flexarm.planning.problem import MotionProblem
from flexarm.spatial import Array

Measure = Callable[[Array, Array, Array], Array]  # (q, v, u), (T, ...) each, to (T, r)
ByName = WithUnit | Mapping[str, WithUnit] | None
FORCES = {"base_force": "N", "base_torque": "N m"}


@dataclass(frozen=True)
class Limits:
    """Limits of a motion; None stands for the limit of the model file, if it states one.

    Attributes
    ----------
    effort, speed
        Inputs, and speeds of driven joints [rad/s], [m/s]: one number, or by name of the joint.
    deflection
        Deflections of links' tips from their roots [m]: one number, or by name of the link.
    strain
        Strain of any fibre of any link.
    base_force, base_torque
        Force [N] and torque [N m] of the ground on the first joint; not on a free base.
    """

    effort: ByName = None
    speed: ByName = None
    deflection: ByName = None
    strain: float | None = None
    base_force: float | None = None
    base_torque: float | None = None


@dataclass(frozen=True)
class Limit:
    """A scalar or vector quantity with a largest allowed absolute value."""

    name: str
    unit: str
    allowed: float  # largest absolute value
    measure: Measure  # computes it, (T, r), from coordinates, rates and inputs
    share: float = USED_SHARE  # share of the allowed value that plans use; samples miss peaks

    def peak(self, q: Array, v: Array, u: Array) -> float:
        """Return the quantity's largest absolute value in a motion over its allowed value."""
        return float(np.abs(self.measure(q, v, u)).max() / self.allowed)

    def tightened(self, peak: float) -> "Limit":
        """Return the limit, lowered by as much as a peak between samples exceeds it."""
        return replace(self, share=self.share * min(1.0, 0.995 / peak))

    def linear(self, q: Array, v: Array, u: Array) -> tuple[Array, Array, Array, Array]:
        """Return the quantity, (T, r), and its derivatives by q, v and u, (T, r, n) and (T, r, k).

        Derivatives are finite differences.
        """
        value, slopes = self.measure(q, v, u), []
        for k, values in enumerate((q, v, u)):
            columns = []
            for i in range(values.shape[1]):
                size = DIFFERENCE_STEP * max(float(np.abs(values[:, i]).max()), 1e-3)
                moved = [q, v, u]
                moved[k] = values.copy()
                moved[k][:, i] += size
                columns.append((self.measure(*moved) - value) / size)
            slopes.append(np.stack(columns, axis=2))
        return value, slopes[0], slopes[1], slopes[2]


def largest_inputs(model: Model, limits: Limits, names: tuple[str, ...]) -> Array:
    """Return the largest allowed input of each driven joint, infinite if unlimited, shape (k,)."""
    limit_by_name = _by_name("effort", limits.effort, names, "N m|N|A|V")
    return np.array([
        limit_by_name.get(name, top)
        for name, top in zip(names, input_limits(model).tolist(), strict=True)
    ])  # fmt: skip


def list_limits(problem: MotionProblem, limits: Limits) -> tuple[Limit, ...]:
    """Return the limits of joint positions, speeds, deflections, strains and base reactions."""
    return (
        *_positions(problem), *_speeds(problem, limits), *_deflections(problem, limits),
        *_strain(problem, limits), *_base(problem, limits),
    )  # fmt: skip


def linear_limits(problem: MotionProblem, limits: Limits) -> tuple[Array, Array, Array]:
    """Return rows, low and top of the linear limits ``low <= rows @ (q, v) <= top``.

    They limit speeds, deflections and joint positions; speeds and deflections are relative to their
    limits.
    """
    for name in ("strain", "base_force", "base_torque"):
        if getattr(limits, name):
            raise FlexarmError(
                f"limits: {name} is for plans only. Limit efforts or deflections instead."
            )
    n, rows, low, top = problem.model.size, [np.zeros((0, 2 * problem.model.size))], [], []
    unit, still = np.eye(n), np.zeros((n, n))
    for limit in (*_speeds(problem, limits), *_deflections(problem, limits)):
        by_q, by_v = (limit.measure(*ways, still).T for ways in ((unit, still), (still, unit)))
        rows.append(np.hstack([by_q, by_v]) / limit.allowed)
        low += [-limit.share] * len(by_q)
        top += [limit.share] * len(by_q)
    for axis in problem.model.axes:
        joint_range = axis.acts.limits if axis.driven else None
        sides = (None, None) if joint_range is None else (joint_range.lower, joint_range.upper)
        if sides != (None, None):
            rows.append(np.eye(1, 2 * n, axis.index))
            low.append(-np.inf if sides[0] is None else float(sides[0]))
            top.append(np.inf if sides[1] is None else float(sides[1]))
    return np.vstack(rows), np.array(low), np.array(top)


def _positions(problem: MotionProblem) -> list[Limit]:
    """Return the limits of joint positions; each is measured from the motion's farther end.

    Joints with mechanical stops are not limited, since the stops may be touched.
    """
    listed = []
    for axis in problem.model.axes:
        joint_range = axis.acts.limits if axis.driven else None
        sides = () if joint_range is None else ((1.0, joint_range.upper), (-1.0, joint_range.lower))
        for sign, bound in sides:
            if bound is not None:
                ends = sign * np.array([problem.start[axis.index], problem.goal[axis.index]])
                left = sign * float(bound) - ends
                _require_room(axis, float(bound), sign * ends, left)
                if axis.acts.stops is None:
                    top = float(left.max())
                    share = USED_SHARE if left[0] >= (1 - USED_SHARE) * top else 1.0
                    name = f"{'highest' if sign > 0 else 'lowest'} position of {axis.name}"
                    measure = _beyond(axis.index, sign, float(ends.min()))
                    listed.append(Limit(name, axis.unit, top, measure, share))
    return listed


def _require_room(axis: Axis, bound: float, ends: Array, left: Array) -> None:
    """Raise an error if the start violates a joint limit, or if the goal is too near one."""
    room = (
        0.0
        if axis.acts.stops is not None
        else max((1 - USED_SHARE) * float(left.max()), NEGLIGIBLE)
    )
    for where, place, rest, least in zip(("start", "to"), ends, left, (0, room), strict=True):
        if rest < least - NEGLIGIBLE / 2:
            raise FlexarmError(
                f"{where}: {axis.name} must be within its limits, at least {least:.2g} "
                f"{axis.unit} away from {bound:g}, got {place:g}. Choose another position, or "
                "widen the joint's limits."
            )


def _beyond(index: int, sign: float, begin: float) -> Measure:
    return lambda q, v, u: np.maximum(sign * q[:, [index]] - begin, 0.0)


def _speeds(problem: MotionProblem, limits: Limits) -> list[Limit]:
    model, names = problem.model, problem.names
    speeds = _by_name("speed", limits.speed, names, "rad/s|m/s")
    listed = []
    for axis in (axis for axis in model.axes if axis.driven):
        stated = axis.acts.limits
        top = speeds.get(axis.name, None if stated is None else stated.speed)
        if top is not None:
            rate = _linear(np.zeros((1, model.size)), np.eye(1, model.size, axis.index))
            listed.append(Limit(f"speed of {axis.name}", f"{axis.unit}/s", float(top), rate))
    return listed


def _deflections(problem: MotionProblem, limits: Limits) -> list[Limit]:
    model = problem.model
    names = tuple(part.name for part in flexible_links(model))
    deflections = _by_name("deflection", limits.deflection, names, "m")
    rows = {name: tip_rows(model, name, problem.start) for name in deflections}
    return [
        Limit(f"deflection of {name}", "m", top, _linear(rows[name], 0 * rows[name]))
        for name, top in deflections.items()
    ]


def _linear(by_q: Array, by_v: Array) -> Measure:
    return lambda q, v, u: q @ by_q.T + v @ by_v.T


def _strain(problem: MotionProblem, limits: Limits) -> list[Limit]:
    if limits.strain is None:
        return []
    model, top = problem.model, require_positive("strain", limits.strain)
    parts = flexible_links(model)

    def measure(q: Array, v: Array, u: Array) -> Array:
        return np.hstack([section_forces(model, part, q, STRAIN_STATIONS).strain for part in parts])

    if not np.all(np.isfinite(measure(*(np.zeros((1, model.size)),) * 3))):
        raise FlexarmError(
            "strain: cannot be limited, since a link has neither a section shape nor EA, and the "
            "distance of its outer fibres is unknown. Give one of them."
        )
    return [Limit("strain", "", top, measure)]


def _base(problem: MotionProblem, limits: Limits) -> list[Limit]:
    base_limits = {"base_force": limits.base_force, "base_torque": limits.base_torque}
    limits_in_use = {
        name: require_positive(name, top, unit=FORCES[name])
        for name, top in base_limits.items()
        if top is not None
    }
    if limits_in_use and problem.model.floats:
        raise FlexarmError(
            f"{min(limits_in_use)}: must be left out, since a free base transmits no force to the "
            "ground"
        )
    composite = formulation("composite", problem.model)

    def wrench(q: Array, v: Array, u: Array) -> Array:
        a = problem.equation.forward_dynamics(q, v, u)
        return composite.joint_wrench(q, v, a)[:, 0]

    parts = {"base_force": slice(0, 3), "base_torque": slice(3, 6)}
    return [
        Limit(name.replace("_", " "), FORCES[name], top, _part(wrench, parts[name]))
        for name, top in limits_in_use.items()
    ]


def _part(measure: Measure, columns: slice) -> Measure:
    return lambda q, v, u: measure(q, v, u)[:, columns]


def _by_name(quantity: str, limit: ByName, names: tuple[str, ...], unit: str) -> dict[str, float]:
    """Return a limit, given as one number or by name, as a mapping from names to numbers."""
    if limit is None:
        return {}
    if is_number(limit) or isinstance(limit, str):
        return dict.fromkeys(names, require_positive(quantity, limit, unit=unit))
    listed = require_mapping(quantity, limit, "numbers by name")
    for name in listed:
        if name not in names:
            raise refused(quantity, name, f"one of {', '.join(names)}")
    return {
        name: require_positive(f"{quantity}: {name}", value, unit=unit)
        for name, value in listed.items()
    }
