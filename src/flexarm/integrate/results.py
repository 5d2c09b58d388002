"""Construction of a run from a solution: all results are evaluated at the samples."""

from collections.abc import Mapping
from dataclasses import astuple, replace
from typing import Any

import casadi as ca
import numpy as np

from flexarm.formulations.equation import Equation
from flexarm.integrate.laws import held_of, integral_of
from flexarm.integrate.method import Method
from flexarm.integrate.problem import STILL
from flexarm.integrate.solve import Solution
from flexarm.integrate.system import WORKS
from flexarm.integrate.task import InitialValueProblem
from flexarm.linear.equilibrium import run_rest_errors
from flexarm.mechanics.loads import input_matrix, input_names
from flexarm.mechanics.orbit.hill import inertial_axes
from flexarm.model import Model
from flexarm.runs.data import DriveData, Statistics
from flexarm.runs.run import Run
from flexarm.spatial import Array

# Arrays of a run with a row per sample.
SAMPLED = ("t", "q", "v", "u", "tip", "tip_rotation", "energy", "work_integrals", "momentum",
"impulse",
           "reference_attitudes")  # fmt: skip


def run_of(
    task: InitialValueProblem, method: Method, solution: Solution, rtol: float, why: str
) -> Run:
    """Return the run of a solution, with all results evaluated at the samples."""
    n = task.equation.model.size
    q, v = solution.states[:, :n], solution.states[:, n : 2 * n]
    placed = replace(task.equation, reference_attitude=solution.reference_attitudes)
    energy, rotation, position = placed.observe(q, v)
    work_integrals = solution.states[:, 2 * n : 2 * n + WORKS]
    actuators, first = task.motion.actuators, 2 * n + WORKS
    losses = {name: solution.states[:, first + k] for k, name in enumerate(actuators.loss_channels)}
    last = 2 * n + actuators.work_integrals + actuators.impulses
    u = _inputs(task, solution)
    remembers = actuators.loss_channels or any(servo.remembers for servo in actuators.servos)
    drives = _drives(task, solution, u) if remembers else None
    profiles = {axis.name: axis.acts.input for axis in task.equation.model.axes}
    unchanged = (channel.profile == (profiles[channel.name] or STILL) for channel in task.groups[0])
    has_law = task.motion.law or (solution.held is not None and not actuators.sampled)
    return Run(
        model=task.equation.model,
        t=solution.times,
        q=q,
        v=v,
        u=u,
        tip=position,
        tip_rotation=rotation,
        energy=energy,
        work_integrals=np.column_stack(
            [work_integrals, np.full(len(work_integrals), task.start.brought)]
        ),
        momentum=_momentum(placed, solution.times, q, v) if actuators.impulses else u[:, :0],
        impulse=solution.states[:, last - actuators.impulses : last],
        reference_attitudes=solution.reference_attitudes,
        losses=losses,
        drives=drives,
        status=solution.ending.status,
        reason=solution.ending.reason,
        method=method.name,
        why=why,
        rtol=rtol,
        formulation=task.equation.name,
        paper=task.equation.paper,
        feedback=None if task.motion.law is None else _feedback(task.motion.law, task),
        at_rest=run_rest_errors,
        own=not has_law and all(unchanged),
        statistics=Statistics(
            solution.steps,
            solution.rejections,
            solution.evaluations,
            solution.seconds,
        ),
    )


def _momentum(placed: Equation, times: Array, q: Array, v: Array) -> Array:
    """Return the momenta of an arm on a free base at T samples, in inertial axes, (T, 15)."""
    momenta, rate = np.hstack(placed.inertial_momentum(q, v)), placed.model.orbit
    if rate:
        t, row = ca.SX.sym("t"), ca.SX.sym("row", momenta.shape[1])
        turn = ca.Function("turn", [t, row], [inertial_axes(rate, t, row)])
        momenta = np.array(turn(times[None, :], momenta.T)).T
    return momenta


def _feedback(law: ca.Function, task: InitialValueProblem) -> tuple[Array, Array]:
    """Return symmetric stiffness and damping matrices, (n, n), of a control law at the start."""
    n = task.equation.model.size
    q, v = ca.MX.sym("q", n), ca.MX.sym("v", n)
    u = law(float(task.times[0]), q, v)
    slopes = ca.Function("slopes", [q, v], [ca.jacobian(u, q), ca.jacobian(u, v)])
    K, D = (
        -input_matrix(task.equation.model) @ np.array(x) for x in slopes(task.start.q, task.start.v)
    )
    return (K + K.T) / 2, (D + D.T) / 2


def _inputs(task: InitialValueProblem, solution: Solution) -> Array:
    """Return the inputs at T samples, with servo action, (T, inputs)."""
    n = task.equation.model.size
    count = len(solution.times)
    if solution.held is not None and not task.motion.actuators.sampled:
        return solution.held
    if task.motion.law is not None:
        q, v = solution.states[:, :n], solution.states[:, n : 2 * n]
        rows = task.motion.law(solution.times[None, :], q.T, v.T)
        return np.array(rows).T.reshape(count, -1)
    values = [channel.at(solution.times)[0] for channel in task.groups[0]]
    u = np.array(values).reshape(-1, count)
    servoed = task.motion.actuators
    if servoed.servos:
        targets = _targets(task, solution.times)
        sizes = {"u": len(values), "q": n, "v": n, "r": len(targets), "x": servoed.states,
                 "h": servoed.sampled}  # fmt: skip
        symbols = [ca.SX.sym(name, size) for name, size in sizes.items()]
        total = ca.Function("u", symbols, [servoed.inputs(*symbols)[0]])
        x = _states_of(task, solution)
        q, v = solution.states[:, :n], solution.states[:, n : 2 * n]
        h = _held(task, solution)[:, : servoed.sampled]
        u = np.array(total(u, q.T, v.T, targets, x.T, h.T))
    return u.T.reshape(count, len(values))


def _states_of(task: InitialValueProblem, solution: Solution) -> Array:
    """Return the states of servos, friction and windings at T samples, (T, states)."""
    actuators = task.motion.actuators
    first = 2 * task.equation.model.size + actuators.work_integrals + actuators.impulses
    return solution.states[:, first:]


def _targets(task: InitialValueProblem, times: Array) -> Array:
    """Return targets of servos and ties, followed by target rates, at T times [s]."""
    rows = [channel.at(times) for channel in task.groups[3]]
    values = np.array(rows).reshape(-1, 3, len(times))
    return np.concatenate([values[:, 0], values[:, 1]])


def _drives(task: InitialValueProblem, solution: Solution, u: Array) -> DriveData:
    """Return generalised forces, stored energy and states of drive trains at the samples."""
    model, actuators, n = task.equation.model, task.motion.actuators, task.equation.model.size
    x, v = _states_of(task, solution), solution.states[:, n : 2 * n]
    q, reference_attitudes = solution.states[:, :n], solution.reference_attitudes
    rows = _targets(task, solution.times)
    sizes = {"u": u.shape[1], "q": n, "v": n, "r": len(rows), "x": x.shape[1],
             "b": len(task.efforts)}  # fmt: skip
    symbols = [ca.SX.sym(name, size) for name, size in sizes.items()]
    reference_attitude = ca.SX.sym("reference_attitude", *reference_attitudes.shape[1:])
    placed = model.with_reference(reference_attitude) if model.attitudes else model
    share, effective_inputs, currents = actuators.shares(placed, *symbols)
    push = share.push + ca.DM(input_matrix(model)) @ (effective_inputs - symbols[0])
    efforts = np.tile(task.efforts[:, None], len(v))
    arguments = (u.T, q.T, v.T, rows, x.T, efforts, np.concatenate(reference_attitudes, axis=1))
    results = [push, share.stored, ca.vertcat(*currents)]
    outputs = ca.Function("drives", [*symbols, reference_attitude], results)(*arguments)
    forces, stored, amperes = (np.array(element) for element in outputs)
    states = dict(zip(actuators.state_names, x.T, strict=True))
    states_by_name = {element.name: states[element.name] for element in actuators.bristles}
    states_by_name |= dict(
        zip([element.name for element in actuators.windings], amperes, strict=True)
    )
    states_by_name |= _integrals(task, solution, states)
    return DriveData(forces.T, stored.ravel(), states_by_name)


def _held(task: InitialValueProblem, solution: Solution) -> Array:
    """Return held inputs and integral terms of sampled servos at T samples, (T, 2 servos)."""
    if solution.held is not None:
        return solution.held
    return np.zeros((len(solution.times), 2 * task.motion.actuators.sampled))


def _integrals(
    task: InitialValueProblem, solution: Solution, states: Mapping[str, Array]
) -> dict[str, Array]:
    """Return integral terms and held inputs of servos at the samples, by name."""
    servos = task.motion.actuators.servos
    series = {integral_of(x.name): states[x.name] for x in servos if x.state is not None}
    held_values, sampled = _held(task, solution), [x for x in servos if x.servo.period is not None]
    for k, servo in enumerate(sampled):
        series[held_of(servo.name)] = held_values[:, k]
        series[integral_of(servo.name)] = held_values[:, len(sampled) + k]
    return series


def of_model(run: Run, model: Model) -> Run:
    """Return a run with locked joints in the coordinates of the unlocked model."""
    u = np.zeros((len(run.t), len(input_names(model))))
    for k, name in enumerate(input_names(run.model)):
        u[:, input_names(model).index(name)] = run.u[:, k]
    return replace(run, model=model, u=u)


def joined(first: Run, second: Run) -> Run:
    """Join the runs of two successive phases; the common instant is stored once."""
    before_end = slice(0, -1)
    changes: dict[str, Any] = {
        name: np.concatenate([getattr(first, name)[before_end], getattr(second, name)])
        for name in SAMPLED
    }
    changes["losses"] = {
        name: np.concatenate([values[before_end], second.losses[name]])
        for name, values in first.losses.items()
    }
    if first.drives is not None and second.drives is not None:
        changes["drives"] = first.drives.joined(second.drives)
    counts = [
        sum(pair)
        for pair in zip(astuple(first.statistics), astuple(second.statistics), strict=True)
    ]
    begin = len(first.t) - 1
    change = second.v[0] - first.v[-1]
    jump = tuple(change.tolist()) if np.any(change) else ()
    phases = (
        *(phase for phase in first.phases if phase.first < begin),
        *(replace(phase, first=begin, jump=jump) for phase in second.phases),
    )
    return replace(
        second,
        phases=phases,
        statistics=Statistics(int(counts[0]), int(counts[1]), int(counts[2]), counts[3]),
        **changes,
    )
