"""Curves over time and numbers of arms, of many designs; computed in arrays where possible.

A name is a column of a run's table, `flexarm.runs.contents.table_columns`, without its unit.
"""

from collections.abc import Sequence

import numpy as np

from flexarm.errors import FlexarmError, SimulationError
from flexarm.integrate.kept import run_of
from flexarm.integrate.method import Method
from flexarm.integrate.solve import Solution
from flexarm.integrate.task import InitialValueProblem
from flexarm.linear.elastic import moves
from flexarm.linear_model import LinearModel
from flexarm.links.base import Array
from flexarm.mechanics.deformed import along, flexible_links
from flexarm.mechanics.weightless import total_mass
from flexarm.model import Model
from flexarm.runs.contents import ENERGIES, WORKS, table_columns
from flexarm.runs.run import Run
from flexarm.studies.design.plan import DesignQuantity

TIP = tuple(f"tip {axis}" for axis in "xyz")
OBSERVED = {**{f"{name} energy": k for k, name in enumerate(ENERGIES)}, "total energy": -1,
            **{name: 3 + k for k, name in enumerate(TIP)}}  # fmt: skip
STATE_WORKS = tuple(name.replace("_", " ") for name in list(WORKS)[:-1])  # part of the state


def curve_names(task: InitialValueProblem, method: Method) -> list[str]:
    """List the names of an arm's curves."""
    start = Solution(
        task.times[:1], task.state[None], np.array(task.equation.anchor, dtype=float)[None]
    )
    run = run_of(task, method, start, task.wanted, "")
    names = [header.rpartition(" [")[0] for header, _ in table_columns(run)]
    return [*names[1:], "total energy"]


def together(task: InitialValueProblem, name: str, states: Array) -> Array | None:
    """Evaluate a curve in runs of one arm that differ only in their states, (N, T).

    The arm has no free base and no ball joint.

    Parameters
    ----------
    task
        The initial-value problem of the arm.
    name
        Name of the curve.
    states
        States at the task's times, (N, T, size).

    Returns
    -------
    ndarray or None
        None if the curve takes a `Run` of its own.
    """
    model = task.equation.model
    n, shape = model.size, states.shape[:2]
    values = _in_states(model, name, states)
    if values is not None:
        return values
    q, v = (states[:, :, part].reshape(-1, n) for part in (slice(n), slice(n, 2 * n)))
    for link in flexible_links(model):
        for k, axis in enumerate("xyz"):
            if name == f"{link.name} tip deflection {axis}":
                return along(model, link, q, np.array([1.0])).deflection[:, 0, k].reshape(shape)
    if name not in OBSERVED:
        return None
    energy, _, tip = task.equation.observe(q, v)
    columns = np.column_stack([energy, tip, energy.sum(axis=1)])
    return np.asarray(columns[:, OBSERVED[name]].reshape(shape))


def _in_states(model: Model, name: str, states: Array) -> Array | None:
    """Return a curve that is part of the states, (N, T), or None."""
    n, plain = model.size, name.removesuffix(" rate")
    if plain in model.names:
        return np.asarray(states[:, :, model.names.index(plain) + (n if plain != name else 0)])
    if name not in STATE_WORKS:
        return None
    return np.asarray(states[:, :, 2 * n + STATE_WORKS.index(name)])


def curve(run: Run, name: str) -> Array:
    """Return a curve of a run, (T,)."""
    if name == "total energy":
        return np.asarray(run.energy.sum(axis=1))
    for header, values in table_columns(run):
        if header.rpartition(" [")[0] == name:
            return values
    raise FlexarmError(f"the run has no '{name}'")


def of_arm(task: InitialValueProblem, of: DesignQuantity) -> float:
    """Return the mass [kg] or a frequency [Hz] of an arm."""
    model: Model = task.equation.model
    if of.mass:
        return float(total_mass(model))
    anchor = (task.equation.anchor,) if model.attitudes else ()
    matrices = task.equation.compiled("matrices").call(task.start.q, task.start.v, *anchor)
    return _frequency(model, [m.reshape(model.size, -1) for m in matrices], of)


def _frequency(model: Model, matrices: Sequence[Array], of: DesignQuantity) -> float:
    """Compute a natural frequency of the elastic modes at the start [Hz]."""
    mass, stiffness, damping = matrices
    locked = {axis.name for axis in model.axes} if of.joints == "locked" else set[str]()
    linear = LinearModel(mass, stiffness, damping, model.names).along(*moves(model, locked))
    frequencies = linear.elastic_modes().frequencies
    assert of.frequency is not None
    if of.frequency > len(frequencies):
        raise SimulationError(f"the arm has {len(frequencies)} frequencies, no {of.frequency}")
    return float(frequencies[of.frequency - 1] / (2 * np.pi))
