"""Fixed step sizes that meet a tolerance, found by repeating a simulation in smaller steps."""

from collections.abc import Callable, Generator
from dataclasses import replace

import numpy as np

from flexarm.integrate.constants import ERROR_MARGIN, MOST_REFINEMENTS
from flexarm.integrate.method import Method
from flexarm.integrate.solve import Ending, Solution, interruption, new_state, solve
from flexarm.integrate.task import InitialValueProblem, bumps, has_tables
from flexarm.integrate.tolerance import step_limits
from flexarm.mechanics.loads import coulomb_frictions
from flexarm.spatial import rotations_between

# Lag of a vibration by rk4 [rad], per radian and fourth power of the step times the frequency.
PHASE_LAG = 1 / 120


Refinement = Generator[float, Solution, Solution]


def solve_in_equal_steps(
    task: InitialValueProblem,
    method: Method,
    rtol: float,
    progress: Callable[[float], None] | None = None,
    live: Callable[[Callable[[], Solution]], None] | None = None,
) -> Solution:
    """Solve a motion in fixed steps, refined until the solution meets a tolerance."""
    steps, solution = refinement(task, method, rtol), None
    step = next(steps)
    while True:
        try:
            solution = solve(new_state(task, method, rtol, step), progress, None, live)
            step = steps.send(solution)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        except KeyboardInterrupt as interrupt:  # between two solutions
            if solution is None:
                raise
            return replace(solution, ending=interruption(interrupt, float(solution.times[-1])))


def refinement(task: InitialValueProblem, method: Method, rtol: float) -> Refinement:
    """Yield ever smaller fixed steps [s] until the solution sent back meets the tolerance.

    The generator returns the last solution, whose CPU time includes that of all previous ones.
    After an interrupt, it returns the interrupted solution at once.

    Notes
    -----
    If the steps of two solutions have the ratio r, their difference is ``r^order - 1`` times the
    error of the finer solution. This relation holds if forces are smooth and the steps resolve the
    fastest mode; otherwise order 1 is assumed. Solutions that stop early are compared at common
    samples, and must end with the same status.
    """
    has_smooth_forces, fastest = is_smooth(task), task.vibration.fastest
    longest = float(np.median(np.diff(task.times)))  # steps end at samples
    step = min(step_limits(task, method, rtol).first, longest)
    solution = yield step
    seconds = solution.seconds
    ratio = 2.0
    for _ in range(MOST_REFINEMENTS):
        if solution.ending.status == "interrupted":
            break
        finer = yield step / ratio
        seconds += finer.seconds
        if finer.ending.status == "interrupted":
            solution = finer
            break
        phase_lag = PHASE_LAG * fastest * task.times[-1] * (step * fastest) ** method.order  # [rad]
        order = method.order if has_smooth_forces and phase_lag < 1 else 1
        error = _error(solution, finer, step, task, order)
        step, solution = step / ratio, finer
        if ERROR_MARGIN * error <= rtol:
            break
        power = 1 / method.order if has_smooth_forces else 0.5
        reduction = (ERROR_MARGIN * error / rtol) ** power if np.isfinite(error) else 2.0
        ratio = float(np.clip(reduction, 2.0, 16.0))
    else:
        if solution.ending.status == "finished" and error > rtol:
            reason = (
                f"equal steps did not reach the tolerance. Their error is about {error:.2g}, the "
                f"tolerance {rtol:.2g}. Try method 'auto'."
            )
            solution = replace(solution, ending=Ending("finished", reason))
    return replace(solution, seconds=seconds)


def is_smooth(task: InitialValueProblem) -> bool:
    """Return whether forces are smooth, except at times where steps end.

    If forces are not smooth, as at limits of servos or in springs given by tables, the difference
    of two solutions is a poor estimate of the discretisation error.
    """
    model = task.equation.model
    corners = coulomb_frictions(model) or bumps(model) or has_tables(model)
    return not (corners or task.motion.actuators.servos)


def _error(
    coarser: Solution,
    finer: Solution,
    step: float,
    task: InitialValueProblem,
    order: int,
) -> float:
    """Return the estimated error of the finer of two solutions; infinite without comparison."""
    # Steps end at samples, so that the actual steps are not in the requested ratio.
    ratio = finer.steps * coarser.times[-1] / max(coarser.steps * finer.times[-1], 1e-300)
    same_status = coarser.ending.status == finer.ending.status
    if ratio < 1.2 or not same_status or abs(coarser.times[-1] - finer.times[-1]) > 2 * step:
        return np.inf
    return float(difference(coarser, finer, task) / (ratio**order - 1))


def difference(first: Solution, second: Solution, task: InitialValueProblem) -> float:
    """Return the largest difference between two solutions, relative to the error scales."""
    measures, attitudes = task.measures, task.equation.model.attitudes
    n, actuators = task.equation.model.size, task.motion.actuators
    ends = np.cumsum([n, n, actuators.work_integrals, actuators.impulses]).tolist()
    values, rates, work_integrals, _, states = np.split(second.states, ends, axis=1)
    # The last state of a stopped run is not at a common sample.
    count = min(
        len(solution.times) - (solution.ending.status != "finished") for solution in (first, second)
    )
    differences = first.states[:count] - second.states[:count]
    rebased = np.any(
        first.reference_attitudes[:count] != second.reference_attitudes[:count], axis=(1, 2)
    )
    first_rebased, second_rebased = (
        (solution.reference_attitudes[:count][rebased], solution.states[:count][rebased])
        for solution in (first, second)
    )
    for i, index in enumerate(attitudes):
        rows, angles = slice(3 * i, 3 * i + 3), slice(index, index + 3)
        differences[rebased, angles] = rotations_between(
            first_rebased[0][:, rows],
            first_rebased[1][:, angles],
            second_rebased[0][:, rows],
            second_rebased[1][:, angles],
        )
        differences[rebased, n + index : n + index + 3] = 0.0  # rates of angles about other axes
    scale, top = measures.floor.copy(), measures.rate_floor.copy()
    np.maximum.at(scale, measures.group, np.ptp(values @ measures.rows.T, axis=0))
    np.maximum.at(top, measures.group, np.abs(rates @ measures.rows.T).max(axis=0))
    top = np.maximum(top, measures.pace * scale)
    kinetic = ((rates @ measures.to_modes[0].T) ** 2).sum(axis=1).max() / 2
    energy = max(measures.energy_floor[0], kinetic, np.ptp(work_integrals, axis=0).max())
    shares = (
        differences[:, :n] @ measures.rows.T / scale[measures.group],
        differences[:, n : 2 * n] @ measures.rows.T / top[measures.group],
        differences[:, ends[1] : ends[2]] / energy,
        differences[:, ends[3] :] / np.maximum(measures.state_floor, np.ptp(states, axis=0)),
    )
    return max(float(np.abs(share).max(initial=0.0)) for share in shares)
