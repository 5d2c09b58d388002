"""Time histories of runs by name, computed for many runs at once where possible.

A name is a column of a run's table, `flexarm.runs.contents.table_columns`, without its unit.
"""

from collections.abc import Sequence

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.integrate.method import Method
from flexarm.integrate.results import run_of
from flexarm.integrate.solve import Solution
from flexarm.integrate.task import InitialValueProblem
from flexarm.mechanics.deformed import along, flexible_links
from flexarm.model import LinkModel, Model
from flexarm.runs.contents import ENERGIES, WORKS, table_columns
from flexarm.runs.run import Run
from flexarm.spatial import Array

TIP = tuple(f"tip {axis}" for axis in "xyz")
TOTAL = "total energy"
OBSERVED = {**{f"{name} energy": k for k, name in enumerate(ENERGIES)}, TOTAL: -1,
            **{name: 3 + k for k, name in enumerate(TIP)}}  # fmt: skip
STATE_WORKS = tuple(name.replace("_", " ") for name in list(WORKS)[:-1])  # part of the state


def curve_units(task: InitialValueProblem, method: Method) -> dict[str, str]:
    """Return the units of the time histories that a run of the arm has, by name."""
    reference_attitude = np.array(task.equation.reference_attitude, dtype=float)
    start = Solution(task.times[:1], task.state[None], reference_attitude[None])
    return _units(run_of(task, method, start, task.rtol, ""))


def _units(run: Run) -> dict[str, str]:
    headers = [header.removesuffix("]").rpartition(" [") for header, _ in table_columns(run)]
    return {name: unit for name, _, unit in headers[1:]} | {TOTAL: "J"}


def curve(run: Run, name: str) -> Array:
    """Return the named time history of a run, shape (T,)."""
    if name == TOTAL:
        return np.asarray(run.energy.sum(axis=1))
    for header, values in table_columns(run):
        if header.rpartition(" [")[0] == name:
            return values
    raise FlexarmError(f"the run has no '{name}'. There are {', '.join(_units(run))}.")


def curves_of_states(
    task: InitialValueProblem, names: Sequence[str], states: Array
) -> Array | None:
    """Return time histories of runs of one arm with the same reference attitudes.

    Parameters
    ----------
    task
        The initial-value problem of the arm.
    names
        Names of the curves.
    states
        States at the sample times, (N, T, size).

    Returns
    -------
    ndarray or None
        Time histories, (N, T, names); None if one of them can only be computed from a `Run`.
    """
    model = task.equation.model
    n, shape = model.size, states.shape[:2]
    q, v = (states[:, :, part].reshape(-1, n) for part in (slice(n), slice(n, 2 * n)))
    curves = np.empty((*shape, len(names)))
    if any(name in OBSERVED for name in names):
        energy, _, tip = task.equation.observe(q, v)
        observed = np.column_stack([energy, tip, energy.sum(axis=1)])
    for k, name in enumerate(names):
        values = curve_in_states(model, name, states)
        if name in OBSERVED:
            values = observed[:, OBSERVED[name]].reshape(shape)
        elif name in tip_deflections(model):
            link, axis = tip_deflections(model)[name]
            deflections = along(model, link, q, np.array([1.0])).deflection
            values = deflections[:, 0, axis].reshape(shape)
        if values is None:
            return None
        curves[:, :, k] = values
    return curves


def tip_deflections(model: Model) -> dict[str, tuple[LinkModel, int]]:
    """Return link and axis of each tip deflection, by the name of its curve."""
    return {
        f"{link.name} tip deflection {axis}": (link, k)
        for link in flexible_links(model)
        for k, axis in enumerate("xyz")
    }


def curve_in_states(model: Model, name: str, states: Array) -> Array | None:
    """Return a time history that is a state variable, (N, T), as a view; None if it is not one."""
    n, coordinate = model.size, name.removesuffix(" rate")
    if coordinate in model.names:
        return np.asarray(
            states[:, :, model.names.index(coordinate) + (n if coordinate != name else 0)]
        )
    if name not in STATE_WORKS:
        return None
    return np.asarray(states[:, :, 2 * n + STATE_WORKS.index(name)])
