"""Solutions again at smaller tolerances where the momentum of a free base is not kept."""

from collections.abc import Callable
from dataclasses import asdict, replace

from flexarm.integrate.options import CLOSER, TIGHTEST
from flexarm.integrate.solve import Solution, interruption
from flexarm.runs.run import Run

Solved = tuple[Run, Solution]


def solve_until_kept(
    tolerance: float, solve: Callable[[float], Solved], *, again: bool = True
) -> tuple[Run, Solution, float]:
    """Solve a motion, again and ever closer while its momentum drifts beyond the run's ``rtol``.

    Errors of a free base are allowed over the length of the arm.  What a base does may be far less,
    and then steps that keep the tolerance need not keep the momentum.  It ends where a smaller
    tolerance does not halve the drift: that is not of the integration.

    Parameters
    ----------
    tolerance
        The tolerance to begin with.
    solve
        Solves it at a tolerance.
    again
        Whether it may be solved again.

    Returns
    -------
    run, solution, tolerance
        The best ones, and the tolerance of their steps.  Interrupted while it is solved again, the
        last whole ones, marked so.
    """
    run, solution = solve(tolerance)
    while again and run.status != "interrupted" and tolerance / CLOSER >= TIGHTEST:
        drift = run.momentum_balance or 0.0
        if drift <= run.rtol:
            break
        try:
            closer, other = solve(tolerance / CLOSER)
        except KeyboardInterrupt as stop:  # between two solutions
            ending = interruption(stop, float(run.t[-1]))
        else:
            ending = other.ending
        if ending.status == "interrupted":  # what is known of all of the motion stays
            run, solution = replace(run, **asdict(ending)), replace(solution, ending=ending)
            break
        left = closer.momentum_balance or 0.0
        if left < drift:
            run, solution, tolerance = closer, other, tolerance / CLOSER
        if left > drift / 2:
            break
    return run, solution, tolerance


def closer_because(method: str, asked: float, run: Run, tolerance: float) -> str:
    """Say why a run was solved at a smaller tolerance than asked by a method; empty if not."""
    if tolerance == asked:
        return ""
    return (
        f"; by {run.method} at a tolerance of {tolerance:.1e}, since by {method} at {asked:.1e} "
        f"the momentum drifted by more than {run.rtol:g} of what was exchanged"
    )
