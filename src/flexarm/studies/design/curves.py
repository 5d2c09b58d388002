"""Time histories and arm properties of many designs, vectorised over designs where possible.

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
    """Return the names of the time histories that a run of the arm has."""
    start = Solution(
        task.times[:1], task.state[None], np.array(task.equation.anchor, dtype=float)[None]
    )
    run = run_of(task, method, start, task.wanted, "")
    names = [header.rpartition(" [")[0] for header, _ in table_columns(run)]
    return [*names[1:], "total energy"]


def together(task: InitialValueProblem, name: str, states: Array) -> Array | None:
    """Return a time history of many runs of one arm that differ only in their states.

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
        Time history, (N, T), or None if it can only be computed from a `Run`.
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
    """Return a time history that is a state variable, shape (N, T), or None if it is not one."""
    n, plain = model.size, name.removesuffix(" rate")
    if plain in model.names:
        return np.asarray(states[:, :, model.names.index(plain) + (n if plain != name else 0)])
    if name not in STATE_WORKS:
        return None
    return np.asarray(states[:, :, 2 * n + STATE_WORKS.index(name)])


def curve(run: Run, name: str) -> Array:
    """Return the named time history of a run, shape (T,)."""
    if name == "total energy":
        return np.asarray(run.energy.sum(axis=1))
    for header, values in table_columns(run):
        if header.rpartition(" [")[0] == name:
            return values
    raise FlexarmError(f"the run has no '{name}'")


def of_arm(task: InitialValueProblem, of: DesignQuantity) -> float:
    """Return the total mass [kg] or a natural frequency [Hz] of an arm, as the quantity asks."""
    model: Model = task.equation.model
    if of.mass:
        return float(total_mass(model))
    anchor = (task.equation.anchor,) if model.attitudes else ()
    matrices = task.equation.compiled("matrices").call(task.start.q, task.start.v, *anchor)
    return _frequency(model, [m.reshape(model.size, -1) for m in matrices], of)


def _frequency(model: Model, matrices: Sequence[Array], of: DesignQuantity) -> float:
    """Return a natural frequency of the arm linearised at its initial state [Hz]."""
    mass, stiffness, damping = matrices
    locked = {axis.name for axis in model.axes} if of.joints == "locked" else set[str]()
    linear = LinearModel(mass, stiffness, damping, model.names).along(*moves(model, locked))
    frequencies = linear.elastic_modes().frequencies
    assert of.frequency is not None
    if of.frequency > len(frequencies):
        raise SimulationError(f"the arm has {len(frequencies)} frequencies, no {of.frequency}")
    return float(frequencies[of.frequency - 1] / (2 * np.pi))
