"""Start of a simulation in equilibrium, and its derivatives (implicit function theorem).

At the equilibrium the forces R(y, p) along the free coordinates y are 0 for all parameters p, so
that dy/dp = -(dR/dy)^-1 dR/dp. The matrix dR/dy is the tangent stiffness.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from flexarm.formulations.equation import Equation
from flexarm.formulations.numbers import Nearby
from flexarm.integrate.drivetrain import windings
from flexarm.integrate.mission.starts import SteadyProblem
from flexarm.integrate.task import State
from flexarm.linear.equilibrium import held_state, settling_directions
from flexarm.linear.tangent import OperatingPoint, Tangent
from flexarm.linear_model import LinearModel
from flexarm.mechanics.loads import wrench_factors
from flexarm.model import Model
from flexarm.spatial import Array


class EquationTangent(Tangent):
    """Equation of motion of a model, whose compiled functions all similar models share."""

    def __init__(self, equation: Equation, model: Model) -> None:
        super().__init__(model)
        formulation = replace(equation.formulation, model=model)
        self.equation = replace(equation, formulation=formulation, _compiled={})

    def force(self, point: OperatingPoint, a: Array) -> Array:
        """Compute the generalised force for accelerations a, inputs left out, (n,)."""
        return self.equation.inverse_dynamics(point.q, point.v, a, point.t)

    def matrices(self, point: OperatingPoint, a: Array) -> LinearModel:
        """Return M, D, K: derivatives of the generalised force with respect to a, v, q."""
        factors = wrench_factors(self.model, point.t)
        results = self.equation.compiled("linear_model").call(
            point.q, point.v, a, factors, *self.equation.common_arguments
        )
        mass, stiffness, damping = (matrix.reshape(self.model.size, -1).T for matrix in results)
        return LinearModel(mass, stiffness, damping, self.model.names, self.inputs)


@dataclass(frozen=True)
class SteadyStart:
    """Start of a simulation in equilibrium, with the conditions that determine it."""

    problem: SteadyProblem
    state: State
    state_names: tuple[str, ...]  # names of the states of servos and drives

    def slopes(self, nearby: Sequence[Nearby], equation: Equation) -> Array:
        """Compute the derivatives of the initial state with respect to k parameters, (k, size).

        The argument ``nearby`` contains, for each parameter, models in which this parameter is
        slightly changed.
        """
        return np.array([
            self._slope([self._of(model, equation) for model in near.models], near.weights)
            for near in nearby
        ]).reshape(len(nearby), -1)  # fmt: skip

    def slopes_by_inputs(self) -> Array:
        """Compute d state / d inputs at the start, for constants added to k inputs, (k, size)."""
        problem, q = self.problem, self.state.q
        every, settling = _directions(problem)
        forces = problem.forces_at(q)[2][-len(q) :, len(q) :]
        missing = np.zeros((every.shape[1], forces.shape[1]))
        missing[: settling.shape[1]] = -settling.T @ forces
        moved = -np.linalg.lstsq(_jacobian(problem, q), missing, rcond=1e-12)[0]
        by_position, by_input = self._partial
        return (by_position @ every @ moved + by_input).T

    @cached_property
    def _partial(self) -> tuple[Array, Array]:
        """Derivatives of the state by coordinates, (size, n), and by k inputs, (size, k)."""
        problem, q = self.problem, self.state.q
        n, k = len(q), len(problem.u)
        own = problem.forces_at(q)[2][:k]
        tangent = problem.tangent.matrices(OperatingPoint(q, problem.rates, problem.u), 0 * q)
        holding = np.linalg.pinv(problem.tangent.inputs) @ np.hstack(
            [tangent.stiffness, np.zeros((n, k))]
        )
        integrating = [x.column for x in problem.servos if x.name in problem.integrating]
        inputs = own.copy()
        inputs[integrating] = holding[integrating]
        rows = {x.name: (inputs - own)[x.column] for x in problem.servos}
        for winding in windings(problem.model):
            limit = winding.motor.current_limit or np.inf
            limited = abs(self.state.x.get(winding.name, 0.0)) >= limit
            gain = winding.settled(1.0, problem.rates) - winding.settled(0.0, problem.rates)
            rows[winding.name] = 0.0 if limited else gain * inputs[winding.column]
        partial = np.eye(2 * n + len(self.state_names), n + k)
        partial[n : 2 * n] = 0.0
        for row, name in enumerate(self.state_names, 2 * n):
            partial[row] = rows.get(name, 0.0)
        return partial[:, :n], partial[:, n:]

    def _of(self, model: Model, equation: Equation) -> SteadyProblem:
        """Return the equilibrium conditions of a model in which one parameter is changed."""
        problem = self.problem
        other = SteadyProblem.of(
            model, {}, law=problem.law, positions=problem.positions,
            tangent=lambda weightless: EquationTangent(equation, weightless),
        )  # fmt: skip
        # The joints that settle, and the inputs, are those of the unperturbed run.
        integrating = {name: other.goals[name] for name in problem.goals}
        return replace(
            other, u=problem.u, goals=integrating, settled=problem.settled,
            limited=problem.limited,
        )  # fmt: skip

    def _slope(self, others: Sequence[SteadyProblem], weights: Array) -> Array:
        """Compute the derivative d state / d value at the start for a parameter, (size,).

        The argument ``others`` contains the equilibrium conditions for several small changes of the
        parameter, and ``weights`` their weights in the finite-difference formula.
        """
        problem, q = self.problem, self.state.q
        directions = _directions(problem)[0]
        held = _held(problem)
        y = np.linalg.lstsq(directions, q - held, rcond=None)[0]
        residual, here = _residual(problem, q), self._vector(problem, q)
        places = [_held(other) + _directions(other)[0] @ y for other in others]
        missing = np.array([
            _residual(other, place) - residual
            for other, place in zip(others, places, strict=True)
        ])  # fmt: skip
        change = np.array([
            self._vector(other, place) - here
            for other, place in zip(others, places, strict=True)
        ])  # fmt: skip
        moved = -np.linalg.lstsq(_jacobian(problem, q), weights @ missing, rcond=1e-12)[0]
        return np.asarray(weights @ change + self._partial[0] @ directions @ moved)

    def _vector(self, problem: SteadyProblem, q: Array) -> Array:
        state = problem.state(q)
        return np.concatenate([q, state.v, [state.x.get(name, 0.0) for name in self.state_names]])


def _held(problem: SteadyProblem) -> Array:
    """Return the coordinates (n,) of undeformed links with all joints at their start."""
    return held_state(problem.tangent.model, problem.positions, {}, 0.0)[0]


def _directions(problem: SteadyProblem) -> tuple[Array, Array]:
    """Return the directions of all r unknowns, (n, r), and those of force balance alone."""
    model, columns = problem.tangent.model, []
    for axis in model.axes:
        if axis.name in problem.goals:
            places = [axis.index] if axis.motor is None else [axis.index, axis.motor]
            columns.append(np.isin(np.arange(model.size), places).astype(float))
    settling = settling_directions(model, problem.settled)
    return np.column_stack([settling, *columns]), settling


def _rows(problem: SteadyProblem) -> tuple[Array, Array]:
    """Return the measured rows (position = row @ q) and targets of servos that hold a target."""
    goals = [problem.goals[axis.name] for axis in problem.model.axes if axis.name in problem.goals]
    rows = np.array([row for row, _ in goals]).reshape(len(goals), problem.model.size)
    return rows, np.array([target for _, target in goals])


def _residual(problem: SteadyProblem, q: Array) -> Array:
    """Return the unbalanced forces, and the distances of servo positions from targets."""
    rows, targets = _rows(problem)
    force = problem.effort(q) - problem.push(q)[0]
    return np.concatenate([_directions(problem)[1].T @ force, rows @ q - targets])


def _jacobian(problem: SteadyProblem, q: Array) -> Array:
    """Return the derivatives of the residual with respect to the r unknown coordinates, (r, r)."""
    every, settling = _directions(problem)
    point = OperatingPoint(q, problem.rates, problem.u)
    stiffness = problem.tangent.matrices(point, np.zeros(len(q))).stiffness
    stiffness = stiffness - problem.push(q)[1]
    return np.vstack([settling.T @ stiffness, _rows(problem)[0]]) @ every
