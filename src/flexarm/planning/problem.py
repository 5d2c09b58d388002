"""Rest-to-rest motion problem: arm, start, goal, inputs as splines, simulation, and limits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from flexarm.arguments import WithUnit, is_number, refused, require_mapping, require_positive
from flexarm.arm import Arm, FreeBase
from flexarm.arm.side_files import files_of
from flexarm.check.report import axis_place
from flexarm.constants import NEGLIGIBLE
from flexarm.control.statics import Statics, drives, remaining, start_at
from flexarm.errors import FlexarmError, ModelError, PlanRefused
from flexarm.formulations import DEFAULT, formulation
from flexarm.formulations.equation import Equation
from flexarm.integrate.mission.starts import SteadyProblem
from flexarm.integrate.simulate import simulate_whole
from flexarm.io.model_file import change_arm
from flexarm.linear.tangent import OperatingPoint, Tangent
from flexarm.mechanics.deformed import flexible_wholes, section_forces, tip_rows
from flexarm.mechanics.loads import coulomb_frictions, input_limits
from flexarm.model import Axis, Model, build, start_state
from flexarm.planning.constants import (
    DIFFERENCE_STEP,
    LEAST_LOOSER_RTOL,
    LONG_PHASE,
    LOOSER_FACTOR,
    START_DEFLECTION,
    STRAIN_STATIONS,
    USED_SHARE,
)
from flexarm.runs.contents import contact_variables
from flexarm.runs.run import Run
from flexarm.spatial import Array

Joining = Literal["cubic", "hold"]
DEGREES: dict[Joining, int] = {"cubic": 3, "hold": 0}  # degree of the B-splines


@dataclass(frozen=True)
class Inputs:
    """Inputs as B-splines over normalised time 0 to 1, bounded by their control values.

    Cubic splines have continuous second derivatives, like cubic tables of the model file. The first
    three and last three control values of a cubic spline are the inputs that hold the arm at rest.
    """

    joining: Joining
    intervals: int  # number of intervals, of equal length
    parts: int  # number of equal integration parts per interval

    @property
    def degree(self) -> int:
        """Polynomial degree of the B-splines."""
        return DEGREES[self.joining]

    @property
    def count(self) -> int:
        """Number of control values per input."""
        return self.intervals + self.degree

    @property
    def steps(self) -> int:
        """Number of integration steps in all intervals together."""
        return self.intervals * self.parts

    @property
    def fine(self) -> int:
        """Number of table points per interval with which a table reproduces the spline exactly."""
        return 2 if self.degree else 1

    @cached_property
    def shares(self) -> Array:
        """Normalised times at which each basis function is largest, shape (count,)."""
        middles = np.arange(self.count) + 0.5 - self.degree / 2
        return np.clip(middles / self.intervals, 0.0, 1.0)

    @cached_property
    def fixed(self) -> tuple[list[int], list[int]]:
        """Indices of the control values that are fixed for rest at the start and at the end."""
        return list(range(self.degree)), list(range(self.intervals, self.count))

    @cached_property
    def derivatives(self) -> Array:
        """Basis functions and their derivatives at the start of each part, (orders, steps, count).

        Derivatives are with respect to normalised time.
        """
        # the highest derivative jumps at knots
        begins = (np.arange(self.steps) + 1e-9) / self.steps
        orders = range(self.degree + 1)
        return np.array([self._spline(np.eye(self.count), begins, k) for k in orders])

    @cached_property
    def at_ends(self) -> Array:
        """Basis functions at the end of each part, shape (steps, count).

        At these times piecewise constant inputs have the value of the next part.
        """
        last = self._spline(np.eye(self.count), np.ones(1)) if self.degree else 0.0
        return np.vstack([self.derivatives[0][1:], np.zeros((1, self.count)) + last])

    @cached_property
    def gram(self) -> Array:
        """Gram matrix of the basis functions over normalised time, shape (count, count)."""
        places = (np.arange(8 * self.intervals) + 0.5) / (8 * self.intervals)
        values = self._spline(np.eye(self.count), places)
        return np.asarray(values.T @ values / len(places))

    def _spline(self, values: Array, shares: Array, order: int = 0) -> Array:
        """Return the spline with control values (count, ...), or a derivative of it.

        The spline is evaluated at the normalised times ``shares``.
        """
        from scipy.interpolate import BSpline

        knots = (np.arange(self.count + self.degree + 1) - self.degree) / self.intervals
        return np.asarray(BSpline(knots, values, self.degree)(shares, nu=order))

    def profile(self, values: Array, duration: float, hold: float) -> dict[str, Any]:
        """Return one input with control values (count,) as a table for the model file.

        After the motion, the table has the constant value ``hold``.
        """
        points, after = self.fine * self.intervals, self.degree + 1
        times = np.arange(points + after) / points
        rows = self._spline(values, np.minimum(times, 1.0))
        rows[-after:] = hold
        return {
            "kind": "table", "times": (times * duration).tolist(), "values": rows.tolist(),
            "interpolation": self.joining,
        }  # fmt: skip


METHOD = "dop853"  # integrator for tight tolerances


def undriven(arm: Arm) -> Arm:
    """Return the arm without servos, brakes, inputs, events and other free bodies.

    If the base is free, contacts are removed too, since control laws on a free base do not include
    contact forces; `require_clear` checks the planned motion for contacts.
    """
    data = arm.model_dump(exclude_unset=True, mode="json")
    touching = ("contacts",) if isinstance(arm.base, FreeBase) else ()
    for key in ("events", "bodies", "start", *touching):
        data.pop(key, None)
    for link in data["links"]:
        joint = link["joint"]
        for acts in (joint, joint.get("first"), joint.get("second")):
            for key in ("servo", "brake", "input") if acts else ():
                acts.pop(key, None)
    return Arm.model_validate(data, context={"files": files_of(arm)})


def _resting_positions(arm: Arm) -> dict[str, float]:
    """Return the positions of driven joints in the equilibrium in which the arm starts, by name."""
    model = build(arm)
    q = SteadyProblem.of(model, {}, law=False).solve().q
    driven = drives(model)
    return dict(zip(driven.names, (driven.hubs @ q).tolist(), strict=True))


def require_clear(arm: Arm, planned: Arm, run: Run) -> None:
    """Raise an error if a motion planned without contacts touches an obstacle."""
    if arm.contacts and not planned.contacts:
        listed = arm.model_dump(exclude_unset=True, mode="json")["contacts"]
        with_them = replace(run, model=build(change_arm(planned, {"contacts": listed})))
        variables = {variable.name: variable.values for variable in contact_variables(with_them)}
        depth = variables["penetration"].max(axis=0)
        if np.any(depth > 0):
            raise PlanRefused(
                "the planned motion is refused. On its way the arm touches the obstacle of its "
                f"contact '{arm.contacts[int(np.argmax(depth))].name}'. Plan another way."
            )


def require_rest(model: Model, rest: Array) -> None:
    """Raise an error if the arm starts with nonzero rates or out of the links' equilibrium."""
    q, rates = start_state(model)
    k = int(np.argmax(np.abs(rates)))
    if abs(rates[k]) > NEGLIGIBLE:
        raise FlexarmError(
            f"start: a plan begins at rest, and '{model.names[k]}' starts with a rate of "
            f"{rates[k]:.3g}. Remove that rate from the model file."
        )
    bent = [i for part in model.links for i in range(*part.modes.indices(model.size))]
    for i in bent:
        if q[i] != 0 and abs(q[i] - rest[i]) > START_DEFLECTION * abs(q[i]):
            raise FlexarmError(
                f"start: a plan begins at rest, and '{model.names[i]}' does not stay at its "
                f"start {q[i]:.3g}. Remove that start from the model file."
            )


@dataclass(frozen=True)
class MotionProblem:
    """A rest-to-rest motion problem of an arm."""

    arm: Arm  # the arm at rest at the start, driven by inputs alone
    model: Model  # model of the arm
    start: Array  # coordinates at rest at the start, (n,)
    goal: Array  # coordinates at rest at the goal, (n,); arbitrary for a free base
    holds: Array  # inputs that hold the arm at start and goal, (2, k)

    @classmethod
    def of(
        cls, arm: Arm, to: Mapping[str, float], start: Mapping[str, float] | None = None
    ) -> "MotionProblem":
        """Build the problem of moving driven joints to positions ``to`` [rad], [m].

        Raise an error if no driven joint would move.
        """
        problem = cls.staying(arm, to, start or {})
        if not np.any(np.abs(drives(problem.model).hubs @ (problem.goal - problem.start)) > 1e-9):
            raise FlexarmError("to: must move a driven joint, got the position that the arm is at")
        return problem

    @classmethod
    def staying(
        cls, arm: Arm, to: Mapping[str, float], start: Mapping[str, float]
    ) -> "MotionProblem":
        """Build the problem of moving driven joints to positions ``to`` [rad], [m].

        Unlike in `of`, final and initial positions may be equal. Joints that are not in ``start``
        keep the arm's initial positions; with ``start: equilibrium``, servos may let joints sag.
        """
        bare = undriven(arm)
        model = build(bare)
        if arm.start == "equilibrium":
            start = {**_resting_positions(arm), **start}
        if model.prescribed:
            names = ", ".join(model.names[i] for i in model.prescribed)
            raise ModelError(
                f"arm: a plan is for joints driven by torques, got prescribed motions: {names}"
            )
        statics = Statics(model)
        first = statics.at_joints(start)
        if model.floats:
            first[:6] = 0.0
        last = statics.at_joints(to, first)
        holds = np.array([statics.effort(first), statics.effort(last)])
        begun = start_at(bare, model, first)
        return cls(begun, build(begun), first, last, holds)

    @cached_property
    def unlimited(self) -> Arm:
        """The arm without joint limits, so that simulations in the search may exceed these limits.

        Position limits remain at joints with mechanical stops, and at joints whose links have shape
        functions that are valid in a limited range only.
        """
        ranged = {part.exposed for part in self.model.links if part.range is not None}
        no_limits: dict[str, None] = {}
        for axis in self.model.axes:
            needs_limits = axis.acts.stops is not None or axis.index in ranged
            for name in ("speed",) if needs_limits else ("lower", "upper", "speed"):
                if getattr(axis.acts.limits, name, None) is not None:
                    no_limits[f"{axis_place(axis)}.limits.{name}"] = None
        return change_arm(self.arm, no_limits) if no_limits else self.arm

    @cached_property
    def tangent(self) -> Tangent:
        """Linearisation of the equations of motion of the arm."""
        return Tangent(self.model)

    @cached_property
    def equation(self) -> Equation:
        """The equations of motion of the arm."""
        return formulation(DEFAULT, self.model)

    @cached_property
    def fastest(self) -> float:
        """Frequency of the fastest vibration at the start with joints free [rad/s]."""
        still = np.zeros(self.model.size)
        linear = self.tangent.matrices(OperatingPoint(self.start, still, self.holds[0]), still)
        return float(np.sqrt(np.abs(linear.undamped()[0]).max()))

    @cached_property
    def friction(self) -> dict[str, str]:
        """Coulomb friction by joint, as text with its unit."""
        return {
            friction.axis.name: f"{friction.force:.3g} {friction.axis.effort_unit}"
            for friction in coulomb_frictions(self.model, smooth=False)
        }

    @cached_property
    def frictionless(self) -> Arm:
        """The arm without Coulomb friction."""
        changes: dict[str, Any] = {}
        for axis in self.model.axes:
            places = {"friction": axis.acts.friction}
            if axis.acts.drive is not None:
                places["drive.friction"] = axis.acts.drive.friction
            for place, friction in places.items():
                if friction is not None:
                    viscous = {"viscous": friction.viscous} if friction.viscous else None
                    changes[f"{axis_place(axis)}.{place}"] = viscous
        return change_arm(self.arm, changes)

    @cached_property
    def kept(self) -> list[int]:
        """Indices of the coordinates with a goal: all, except the coordinates of a free base."""
        return remaining(self.model)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs, one per driven joint."""
        return self.equation.input_names

    def profiles(self, inputs: Inputs, values: Array, duration: float) -> dict[str, Any]:
        """Return input tables for the model file, by joint name, from control values (count, k)."""
        return {
            name: inputs.profile(values[:, k], duration, float(self.holds[1, k]))
            for k, name in enumerate(self.names)
        }

    def simulate(
        self, inputs: Inputs, values: Array, duration: float, *, rtol: float, after: float = 0.0,
        finer: int = 1,
    ) -> Run:  # fmt: skip
        """Simulate a motion with input control values (count, k), and ``after`` more seconds.

        Samples are at the beginnings, middles and ends of the inputs' parts, or ``finer`` times as
        dense.
        """
        return simulate_whole(
            self.unlimited, t_end=duration + after, dt=duration / (2 * finer * inputs.steps),
            rtol=self.tolerance(rtol, duration), method=METHOD, start="stated",
            inputs=self.profiles(inputs, values, duration),
        )  # fmt: skip

    def tolerance(self, tight: float, duration: float) -> float:
        """Return the relative tolerance of simulations, looser for many vibration periods."""
        many = self.fastest * duration > LONG_PHASE
        return max(LOOSER_FACTOR * tight, LEAST_LOOSER_RTOL) if many else tight

    def miss(self, run: Run, row: int = -1) -> Array:
        """Return a sample's deviations from rest at the goal, in coordinates and rates."""
        return np.concatenate([(run.q[row] - self.goal)[self.kept], run.v[row][self.kept]])


# function of q, v and u, (T, ...) each, with values (T, r)
Measure = Callable[[Array, Array, Array], Array]
ByName = WithUnit | Mapping[str, WithUnit] | None
FORCES = {"base_force": "N", "base_torque": "N m"}


@dataclass(frozen=True)
class Limits:
    """Limits of a motion; None means the limit of the model file, or no limit if it has none.

    Attributes
    ----------
    effort, speed
        Inputs, and speeds of driven joints [rad/s], [m/s]: one number for all joints, or numbers by
        joint name.
    deflection
        Deflections of the links' tips relative to their roots [m]: one number for all links, or
        numbers by link name.
    strain
        Largest strain of any fibre of any link.
    base_force, base_torque
        Force [N] and torque [N m] of the ground on the first joint; not allowed for a free base.
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
    measure: Measure  # computes the quantity, (T, r), from coordinates, rates and inputs
    share: float = USED_SHARE  # share of the allowed value that plans use; samples miss peaks

    def peak(self, q: Array, v: Array, u: Array) -> float:
        """Return the largest absolute value in a motion, divided by the allowed value."""
        return float(np.abs(self.measure(q, v, u)).max() / self.allowed)

    def tightened(self, peak: float) -> "Limit":
        """Return the limit lowered by the amount by which a peak between samples exceeds it."""
        return replace(self, share=self.share * min(1.0, 0.995 / peak))

    def linear(self, q: Array, v: Array, u: Array) -> tuple[Array, Array, Array, Array]:
        """Return the quantity, (T, r), and its q-, v- and u-derivatives, (T, r, n) and (T, r, k).

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
    """Return the arrays rows, low and top of the linear limits ``low <= rows @ (q, v) <= top``.

    The rows limit speeds, deflections and joint positions; speeds and deflections are relative to
    their limits.
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
    """Return joint position limits, as distances from the farther of start and goal.

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
    """Raise an error if the start violates a joint limit, or if the goal is too near the limit."""
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
    links = {link.name: link for link in flexible_wholes(model)}
    deflections = _by_name("deflection", limits.deflection, tuple(links), "m")
    rows = {name: tip_rows(model, links[name], problem.start) for name in deflections}
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
    links = flexible_wholes(model)

    def measure(q: Array, v: Array, u: Array) -> Array:
        return np.hstack([section_forces(model, link, q, STRAIN_STATIONS).strain for link in links])

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
