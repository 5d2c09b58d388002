"""Several arms abreast, each in its lane of the machine's vector registers."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from flexarm.formulations.numbers.structures import BoundKernel, abreast
from flexarm.integrate.methods.base import Method
from flexarm.integrate.problem import Measures, Watch, jumps, system_of
from flexarm.integrate.solve import Solution, solve
from flexarm.integrate.task import Task
from flexarm.links.base import Array


def compile_abreast(tasks: Sequence[Task]) -> BoundKernel | None:
    """Compile as many motions as there are lanes for one register.

    None if they cannot go abreast: their operations differ, a base is free, there is a law or a
    servo, or an arm may touch something.
    """
    members = [task.motion.compiled() for task in tasks]
    if any(_is_alone(task) for task in tasks):
        return None
    return abreast([member for member in members if isinstance(member, BoundKernel)])


def _is_alone(task: Task) -> bool:
    model = task.equation.model
    driven = task.motion.law is not None or bool(task.motion.actuators.key)
    return driven or bool(model.attitudes or model.arm.contacts)


def solve_abreast(
    tasks: Sequence[Task],
    compiled: BoundKernel,
    method: Method,
    progress: Callable[[float], None] | None = None,
) -> list[Solution] | None:
    """Solve motions in common steps, as small as the hardest needs.

    None if one of them has to stop before the end.
    """
    width = len(tasks)
    groups = tuple(
        [channel for channels in zip(*each, strict=True) for channel in channels]
        for each in zip(*(task.groups for task in tasks), strict=True)
    )
    equation = tasks[0].equation
    system, buffers = system_of(equation, compiled, groups, lanes=width)
    singles = [task.beginning(method, task.wanted) for task in tasks]
    beginning = replace(
        singles[0],
        system=system,
        buffers=buffers,
        measures=_spread_measures([task.measures for task in tasks]),
        watched=_spread_watches([task.watches for task in tasks]),
        times=singles[0].times.copy(),
        breaks=jumps([channel for group in groups for channel in group]),
        y=np.stack([each.y for each in singles], axis=1).ravel(),
        tolerance=min(each.tolerance for each in singles),
        h=min(each.h for each in singles),
        largest=min(each.largest for each in singles),
    )
    found = solve(beginning, progress)
    if found.ending.status != "finished":
        return None
    return [_lane(found, lane, width) for lane in range(width)]


def _lane(found: Solution, lane: int, width: int) -> Solution:
    states = found.states.reshape(len(found.times), -1, width)[:, :, lane]
    return replace(found, states=np.ascontiguousarray(states), seconds=found.seconds / width)


def _spread(rows: Array, lane: int, width: int) -> Array:
    wide = np.zeros((*rows.shape, width))
    wide[..., lane] = rows
    return wide.reshape(*rows.shape[:-1], -1)


def _spread_measures(each: Sequence[Measures]) -> Measures:
    width = len(each)
    groups = [len(measures.floor) for measures in each]
    first = np.concatenate([[0], np.cumsum(groups)[:-1]])
    return Measures(
        np.concatenate([_spread(m.rows, lane, width) for lane, m in enumerate(each)]),
        np.concatenate([_spread(m.rate_rows, lane, width) for lane, m in enumerate(each)]),
        np.concatenate([m.to_modes for m in each]),
        np.concatenate([m.frequencies for m in each]),
        np.concatenate([m.group + start for m, start in zip(each, first, strict=True)]),
        np.concatenate([m.floor for m in each]),
        np.concatenate([m.rate_floor for m in each]),
        np.concatenate([m.pace for m in each]),
        tuple(kind for m in each for kind in m.deflects),
        np.concatenate([m.energy_floor for m in each]),
    )


def _spread_watches(each: Sequence[Sequence[Watch]]) -> tuple[Watch, ...]:
    width = len(each)
    return tuple(
        replace(watch, row=_spread(watch.row, lane, width))
        for lane, watches in enumerate(each)
        for watch in watches
    )
