"""Legs of a run between events: how one begins and ends, and legs joined to a run."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from flexarm.arm.mission import Event
from flexarm.integrate.laws import Sampled
from flexarm.integrate.mission.acting import Acting
from flexarm.integrate.mission.course import Course
from flexarm.integrate.mission.lookouts import Lookout
from flexarm.integrate.solve import Solution
from flexarm.integrate.system import instant
from flexarm.integrate.task import State, Task, prepare
from flexarm.links.base import Array
from flexarm.mechanics.loads import input_names
from flexarm.model import Model
from flexarm.runs.data import PendingEvent, Statistics
from flexarm.runs.run import Run

# Arrays of a run with a row per sample.
SAMPLED = ("t", "q", "v", "u", "tip", "tip_rotation", "energy", "works", "momentum", "impulse",
           "anchors")  # fmt: skip


def times_of(times: Array, begin: float, end: float) -> Array:
    """Pick the times to keep in a leg, its begin and end included."""
    inside = times[(times > begin + instant(begin)) & (times < end - instant(end))]
    return np.concatenate([[begin], inside, [end]])


def leg_task(
    course: Course,
    state: State,
    times: Array,
    *,
    inputs: Mapping[str, Any] | None = None,
    control: ca.Function | Sampled | None = None,
    wanted: float = 1e-3,
    acting: tuple[Acting, ...] = (),
    compiles: bool = True,
) -> Task:
    """Prepare the leg of a course that begins at a state.

    Raises
    ------
    SimulationError
        If it cannot begin.
    """
    equation, situation = course.equation(state.anchor), course.situation
    servoed = situation.servoed(equation.model)
    task = prepare(
        servoed,
        times_of(times, state.t, course.leg_end(state.t)),
        inputs=inputs,
        control=control,
        equation=equation,
        locked=situation.locked,
        state=(state.q, state.v),
        actuators=replace(course.actuators(servoed), wrenches=acting),
        home=course.home,
        begins={name: begin for name, (_, begin, _) in situation.servos.items()},
        wanted=wanted,
        when="at the start" if state.t == 0 else "here",
        compiles=compiles,
    )
    task = task.holding(situation.holding(course.model).values()).begun(state)
    return replace(
        task,
        groups=(*task.groups[:3], [*task.groups[3], *course.tied()]),
        efforts=course.efforts(),
        bounds=course.bounds(state),
    )


def after(task: Task, solution: Solution, before: State) -> dict[str, Any]:
    """Give the state that a leg ended in, by its fields."""
    n, last = task.equation.model.size, solution.states[-1]
    actuators = task.motion.actuators
    first = 2 * n + actuators.works + actuators.impulses
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


def pending_events(
    course: Course, run: Run, sought: Sequence[tuple[float, Mapping[int, Lookout]]]
) -> tuple[PendingEvent, ...]:
    """Return the events that did not happen in a run, with the nearest that each came at a sample.

    Parameters
    ----------
    course
        The run's events, as they are at its end.
    run
        The run.
    sought
        By leg: its begin [s], and what it looked out for by the number of the event.
    """
    ends = [*(begin for begin, _ in sought[1:]), float(run.t[-1])]
    found = []
    for i in (i for i in range(len(course.events)) if i not in course.situation.done):
        spans = [
            (looks[i], (run.t >= begin) & (run.t <= end))
            for (begin, looks), end in zip(sought, ends, strict=True)
            if i in looks
        ]
        found.append(_pending(course.events[i], run, spans))
    return tuple(found)


def _pending(
    event: Event, run: Run, spans: Sequence[tuple[Lookout, NDArray[np.bool_]]]
) -> PendingEvent:
    """Say why an event did not happen that was looked for at some samples."""
    end = float(run.t[-1])
    if event.when is None:
        return PendingEvent(event.title, f"it is at {event.at:g} s, and the run ends at {end:g} s")
    if not spans and event.after >= end - instant(end):
        why = f"it is looked for after {event.after:g} s, and the run ends at {end:g} s"
        return PendingEvent(event.title, why)
    if not spans:
        return PendingEvent(event.title, f"the body of {event.when.quantity} was not free")
    rises = event.when.below is None
    limit, far = (event.when.above, -np.inf) if rises else (event.when.below, np.inf)
    values = np.full(len(run.t), far)
    for look in {look for look, _ in spans}:
        inside = np.any([mask for other, mask in spans if other == look], axis=0)
        values = np.where(inside, look.values(run), values)
    k = int(np.argmax(values) if rises else np.argmin(values))
    value, t, unit = float(values[k]), float(run.t[k]), spans[0][0].unit(run.model)
    why = (
        f"{event.when.quantity} must be {'above' if rises else 'below'} {limit:g} {unit}, and came "
        f"to {value:.3g} {unit} at t = {t:.4g} s"
    )
    return PendingEvent(event.title, why, value, t)


def joined(first: Run, second: Run) -> Run:
    """Put two legs together; the instant between them is kept once, after the change."""
    kept = slice(0, -1)
    changes: dict[str, Any] = {
        name: np.concatenate([getattr(first, name)[kept], getattr(second, name)])
        for name in SAMPLED
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
