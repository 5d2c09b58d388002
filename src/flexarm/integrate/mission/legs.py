"""Legs of a run between events: where one ends, and legs joined to a run."""

from dataclasses import astuple, replace
from typing import Any

import numpy as np

from flexarm.integrate.mission.situation import State
from flexarm.integrate.solve import Solution
from flexarm.integrate.system import WORKS, instant
from flexarm.integrate.task import Task
from flexarm.links.base import Array
from flexarm.mechanics.loads import input_names
from flexarm.model import Model
from flexarm.runs.data import Statistics
from flexarm.runs.run import Run


def times_of(times: Array, begin: float, end: float) -> Array:
    """Pick the times to keep in a leg, its begin and end included."""
    inside = times[(times > begin + instant(begin)) & (times < end - instant(end))]
    return np.concatenate([[begin], inside, [end]])


def after(task: Task, solution: Solution, before: State) -> dict[str, Any]:
    """Give the state that a leg ended in, by its fields."""
    n, last = task.equation.model.size, solution.states[-1]
    actuators = task.motion.actuators
    first = 2 * n + WORKS + len(actuators.accounts)
    return {
        "t": float(solution.times[-1]),
        "q": last[:n].copy(),
        "v": last[n : 2 * n].copy(),
        "works": last[2 * n : first].copy(),
        "x": {**before.x, **dict(zip(actuators.state_names, last[first:].tolist(), strict=True))},
        "anchor": solution.anchors[-1],
        "memory": {**before.memory, **solution.memory},
        "ranges": solution.ranges,
    }


def of_model(run: Run, model: Model) -> Run:
    """Show a leg as a run of the arm with no joint locked: inputs of locked joints are 0."""
    u = np.zeros((len(run.t), len(input_names(model))))
    for k, name in enumerate(input_names(run.model)):
        u[:, input_names(model).index(name)] = run.u[:, k]
    return replace(run, model=model, u=u)


def joined(first: Run, second: Run) -> Run:
    """Put two legs together; the instant between them is kept once, after the change."""
    kept = slice(0, -1)
    changes: dict[str, Any] = {
        name: np.concatenate([getattr(first, name)[kept], getattr(second, name)])
        for name in ("t", "q", "v", "u", "tip", "tip_rotation", "energy", "works", "anchors")
    }
    changes["losses"] = {
        name: np.concatenate([values[kept], second.losses[name]])
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
    legs = (
        *(leg for leg in first.legs if leg.first < begin),
        *(replace(leg, first=begin, jump=jump) for leg in second.legs),
    )
    return replace(
        second,
        legs=legs,
        statistics=Statistics(int(counts[0]), int(counts[1]), int(counts[2]), counts[3]),
        **changes,
    )
