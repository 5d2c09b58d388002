"""What runs of many designs say over time, in arrays: no object for each run where none is needed.

A name is a column of a run's table, `flexarm.runs.contents.table_columns`, without its unit.
"""

from collections.abc import Sequence

import numpy as np

from flexarm.errors import FlexarmError
from flexarm.integrate.methods.base import Method
from flexarm.integrate.solve import Solution
from flexarm.integrate.task import Task
from flexarm.links.base import Array
from flexarm.mechanics.deformed import along, flexible_links
from flexarm.runs.contents import ENERGIES, WORKS, table_columns
from flexarm.runs.run import Run

TIP = tuple(f"tip {axis}" for axis in "xyz")
OBSERVED = {**{f"{name} energy": k for k, name in enumerate(ENERGIES)}, "total energy": -1,
            **{name: 3 + k for k, name in enumerate(TIP)}}  # fmt: skip
KEPT = tuple(name.replace("_", " ") for name in list(WORKS)[:-1])  # works that a state holds


def curve_names(task: Task, method: Method) -> list[str]:
    """List the names of an arm's curves."""
    start = Solution(task.times[:1], task.state[None], _anchors(task, 1))
    run = task.run(method, start, task.wanted, "")
    found = [header.rpartition(" [")[0] for header, _ in table_columns(run)]
    return [*found[1:], "total energy"]


def _anchors(task: Task, count: int) -> Array:
    return np.tile(np.array(task.equation.anchor, dtype=float), (count, 1, 1))


def together(task: Task, name: str, states: Array, anchors: Array | None = None) -> Array | None:
    """Give a curve of runs of one arm that differ in their states, (N, T).

    Parameters
    ----------
    task
        Of the arm.
    name
        Of the curve.
    states
        At its times, (N, T, size).
    anchors
        Attitudes that a free base's angles are relative to, (N, T, 3, 3).

    Returns
    -------
    ndarray or None
        None of what takes a run for itself.
    """
    model = task.equation.model
    n, shape = model.size, states.shape[:2]
    plain = name.removesuffix(" rate")
    if plain in model.names:
        return np.asarray(states[:, :, model.names.index(plain) + (n if plain != name else 0)])
    if name in KEPT:
        return np.asarray(states[:, :, 2 * n + KEPT.index(name)])
    q, v = (states[:, :, part].reshape(-1, n) for part in (slice(n), slice(n, 2 * n)))
    for link in flexible_links(model):
        for k, axis in enumerate("xyz"):
            if name == f"{link.name} tip deflection {axis}":
                return along(model, link, q, np.array([1.0])).deflection[:, 0, k].reshape(shape)
    if name not in OBSERVED:
        return None
    equation = task.equation
    if anchors is not None and model.attitudes:
        equation = equation.anchored(anchors.reshape(-1, *anchors.shape[2:]))
    energy, _, tip = equation.observe(q, v)
    found = np.column_stack([energy, tip, energy.sum(axis=1)])
    return np.asarray(found[:, OBSERVED[name]].reshape(shape))


def curve(run: Run, name: str) -> Array:
    """Give a curve of a run, (T,)."""
    if name == "total energy":
        return np.asarray(run.energy.sum(axis=1))
    for header, values in table_columns(run):
        if header.rpartition(" [")[0] == name:
            return values
    raise FlexarmError(f"the run has no '{name}'")


def curves_of(
    tasks: Sequence[Task], solutions: Sequence[Solution], name: str, method: Method
) -> Array:
    """Give a curve of runs that all went to the end, (N, T); those of one arm go together."""
    found = np.zeros((len(tasks), len(tasks[0].times)))
    groups: dict[int, list[int]] = {}
    for k, task in enumerate(tasks):
        groups.setdefault(id(task.equation), []).append(k)
    for mine in groups.values():
        states = np.stack([solutions[k].states for k in mine])
        anchors = np.stack([solutions[k].anchors for k in mine])
        rows = together(tasks[mine[0]], name, states, anchors)
        for row, k in enumerate(mine):
            if rows is not None:
                found[k] = rows[row]
            else:
                found[k] = curve(tasks[k].run(method, solutions[k], tasks[k].wanted, ""), name)
    return found
