"""Steps of a run that is differentiated: those that a run by the method has taken, or as many."""

import numpy as np

from flexarm.errors import SimulationError
from flexarm.gradients.events.phases import looks, refuse_at_once
from flexarm.gradients.plan import roundings
from flexarm.gradients.steps import record
from flexarm.integrate.loop import FINISHED, SEEN
from flexarm.integrate.methods.base import Method
from flexarm.integrate.mission.seen import beyond
from flexarm.integrate.solve import at_sight, begin_march
from flexarm.integrate.task import Task
from flexarm.links.base import Array

ROUNDS = 100  # of a run that is recorded, at a time


def recorded(
    task: Task, method: Method, rtol: float, step: float | None = None
) -> tuple[Array, Array, tuple[int, ...], float]:
    """Run by the method: ends of its steps, where it takes modes, what it sees, its end."""
    beginning = task.beginning(method, rtol, step)
    m, tries = begin_march(beginning), method.renewed_after
    found, renewed, seen = [task.times[:1]], [], bool(beyond(m) >= 0)
    while m.t < m.t_end and not seen:
        begins, ends = np.full(ROUNDS, np.inf), np.full(ROUNDS * tries, np.inf)
        code = record(m, ROUNDS, tries, begins, ends)
        if code == SEEN:
            seen = at_sight(m, beginning, np.array(task.equation.anchor)) is not None
        # Nothing is there, or a corner of the equations that the motion goes on from.
        if code > FINISHED and not seen and (code != SEEN or m.h_done == 0.0):
            raise SimulationError(
                f"gradients: the run stops at t = {m.t:.4g} s: flexarm.simulate says why"
            )
        found += [ends[ends < m.t], np.array([m.t])]
        renewed.append(begins[begins < m.t])
    out = np.flatnonzero((m.seen < m.seen_low) | (m.seen > m.seen_high)).tolist() if seen else []
    events = tuple(list(looks(task.equation.model))[k] for k in out)
    refuse_at_once(task.equation.model, events, m.t)
    return np.concatenate(found), np.concatenate([*renewed, []]), events, m.t


def divided(stops: Array, taken: Array, count: Array, finer: int = 1) -> Array:
    """Divide the time between stops [s] into few steps, none longer than those that are taken.

    Those are counted at their ends; steps may be cut into finer parts.
    """
    passed = np.interp(stops, taken, count)
    parts = np.maximum(1, np.floor(np.diff(passed) + 0.999999)).astype(int) * finer
    ends = [stops[:1]]
    for a, b, end, steps in zip(passed[:-1], passed[1:], stops[1:], parts, strict=True):
        inside = np.interp(a + (b - a) * np.arange(1, steps) / steps, count, taken)
        ends += [inside, np.array([end])]
    return np.concatenate(ends)


def apart(times: Array) -> Array:
    """Sort times, and keep one of those that rounding makes two."""
    times = np.unique(times)
    near = np.append(True, np.diff(times) > roundings(times[1:]))
    kept = np.asarray(times[near])
    kept[-1] = times[-1]
    return kept
