"""Rest-to-rest motion problem: arm, start and goal, inputs as splines, and their simulation."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from flexarm.arm import Arm, FreeBase
from flexarm.arm.side_files import files_of
from flexarm.constants import NEGLIGIBLE
from flexarm.control.statics import Statics, drives, remaining, start_at
from flexarm.errors import FlexarmError, ModelError
from flexarm.formulations import DEFAULT, formulation
from flexarm.formulations.equation import Equation
from flexarm.integrate.mission.starts import SteadyProblem
from flexarm.integrate.simulate import simulate_whole
from flexarm.io.overrides import change_arm
from flexarm.linear.tangent import OperatingPoint, Tangent
from flexarm.mechanics.loads import coulomb_frictions
from flexarm.model import Model, build, start_state
from flexarm.planning.constants import (
    LEAST_LOOSER_RTOL,
    LONG_PHASE,
    LOOSER_FACTOR,
    START_DEFLECTION,
)
from flexarm.planning.shape_inputs import joint_key
from flexarm.runs.contents import contact_variables
from flexarm.runs.run import Run
from flexarm.spatial import Array

Joining = Literal["cubic", "hold"]
DEGREES: dict[Joining, int] = {"cubic": 3, "hold": 0}  # degree of the B-splines


@dataclass(frozen=True)
class Inputs:
    """Inputs as B-splines over normalised time 0 to 1, bounded by their control values.

    Cubic splines have continuous second derivatives, like cubic tables of the model file; their
    first and last three control values hold the arm at rest.
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
        """Number of table points per interval for which a table equals the spline exactly."""
        return 2 if self.degree else 1

    @cached_property
    def shares(self) -> Array:
        """Normalised times at which each basis function is largest, shape (count,)."""
        middles = np.arange(self.count) + 0.5 - self.degree / 2
        return np.clip(middles / self.intervals, 0.0, 1.0)

    @cached_property
    def fixed(self) -> tuple[list[int], list[int]]:
        """Indices of control values to be fixed for rest: those of the start, those of the end."""
        return list(range(self.degree)), list(range(self.intervals, self.count))

    @cached_property
    def derivatives(self) -> Array:
        """Basis functions and their derivatives at the start of each part, (orders, steps, count).

        Derivatives are with respect to normalised time.
        """
        begins = (np.arange(self.steps) + 1e-9) / self.steps  # the highest one jumps at knots
        orders = range(self.degree + 1)
        return np.array([self._spline(np.eye(self.count), begins, k) for k in orders])

    @cached_property
    def at_ends(self) -> Array:
        """Basis functions at the end of each part, shape (steps, count).

        Piecewise constant inputs have the value after the end there.
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

        It is evaluated at the normalised times ``shares``.
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
    """Return the arm without servos, brakes, inputs, events and other bodies.

    On a free base, contacts are removed too, since control laws there do not include them;
    `require_clear` checks the result.
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
    """Return the positions of driven joints in the equilibrium at which the arm starts, by name."""
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
            raise FlexarmError(
                "the planned motion is refused. On its way the arm touches the obstacle of its "
                f"contact '{arm.contacts[int(np.argmax(depth))].name}'. Plan another way."
            )


def require_rest(model: Model, rest: Array) -> None:
    """Raise an error if the arm's start has nonzero rates or is no equilibrium of the links."""
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
    goal: Array  # coordinates at rest at the goal, (n,); a free base's are arbitrary
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

        Unlike with `of`, these may be the positions at the start. Joints that are not in ``start``
        are where the arm starts; with ``start: equilibrium``, servos may let them sag.
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
        """The arm without joint limits, so that simulations in the search may exceed them.

        Joints with stops, and joints of links whose shape functions are valid in a range only, keep
        their position limits.
        """
        ranged = {part.exposed for part in self.model.links if part.range is not None}
        no_limits: dict[str, None] = {}
        for axis in self.model.axes:
            needs_limits = axis.acts.stops is not None or axis.index in ranged
            for name in ("speed",) if needs_limits else ("lower", "upper", "speed"):
                if getattr(axis.acts.limits, name, None) is not None:
                    no_limits[f"{joint_key(axis)}.limits.{name}"] = None
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
    def friction(self) -> str:
        """A sentence that names Coulomb friction as a cause of failure; empty without friction."""
        forces = {
            friction.axis.name: f"{friction.force:.3g} {friction.axis.effort_unit}"
            for friction in coulomb_frictions(self.model, smooth=False)
        }
        if not forces:
            return ""
        listed = ", ".join(f"{name} ({force})" for name, force in forces.items())
        return (
            f" Coulomb friction is a likely cause, of {listed}. Plan without it, and let "
            "a servo work against it."
        )

    @cached_property
    def kept(self) -> list[int]:
        """Indices of the coordinates with a goal: all, except the coordinates of a free base."""
        return remaining(self.model)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs, one per driven joint."""
        return self.equation.input_names

    def profiles(self, inputs: Inputs, values: Array, duration: float) -> dict[str, Any]:
        """Return input tables for the model file by joint, from control values (count, k)."""
        return {
            name: inputs.profile(values[:, k], duration, float(self.holds[1, k]))
            for k, name in enumerate(self.names)
        }

    def simulate(
        self, inputs: Inputs, values: Array, duration: float, *, rtol: float, after: float = 0.0,
        finer: int = 1,
    ) -> Run:  # fmt: skip
        """Simulate the arm with control values (count, k), and ``after`` more seconds.

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
        """Return how far a sample of a run is from rest at the goal, in coordinates and rates."""
        return np.concatenate([(run.q[row] - self.goal)[self.kept], run.v[row][self.kept]])
