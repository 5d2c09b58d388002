"""What a simulation can be asked for; nothing heavy is loaded to refuse the rest."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flexarm.arguments import (
    WithUnit,
    in_unit,
    is_number,
    listed,
    refused,
    require_flag,
    require_function,
    require_mapping,
    require_number,
)
from flexarm.errors import SimulationError

SHORTEST, LONGEST = 1e-12, 1e9  # [s] of a run
TIGHTEST, LOOSEST = 1e-12, 0.1  # error of the deflections over their range
CLOSER = 30  # times smaller is the tolerance of a solution that another one is judged by
MOST_SAMPLES = 10**7  # that are kept, or at which a law is asked
MOST_STEPS = 10**10


def is_positive(value: object) -> bool:
    """Tell whether a value is a finite number > 0."""
    return is_number(value) and float(value) > 0  # type: ignore[arg-type]


def seconds(
    *, t_end: WithUnit, dt: WithUnit | None = None, step: WithUnit | None = None
) -> tuple[float, float | None, float | None]:
    """Read times that are texts with units [s]; the rest stays, to be refused or not."""
    given = {"t_end": t_end, "dt": dt, "step": step}
    read = [in_unit(name, value, "s", SimulationError) for name, value in given.items()]
    return read[0], read[1], read[2]


def refuse_options(*, t_end: float, dt: float | None, rtol: float, step: float | None) -> None:
    """Refuse options of `simulate` that are no numbers, out of range, or endless work.

    Raises
    ------
    SimulationError
        If so; the message begins with the name of the option.
    """
    given = {"t_end": t_end, "dt": dt, "step": step}
    for name, value in given.items():
        if not (is_positive(value) or (value is None and name != "t_end")):
            raise refused(name, value, "> 0 and a finite number", SimulationError)
    t_end = float(t_end)
    dt, step = (None if each is None else float(each) for each in (dt, step))
    if not SHORTEST <= t_end <= LONGEST:
        size = "small, must be at least" if t_end < SHORTEST else "large, must be at most"
        limit = SHORTEST if t_end < SHORTEST else LONGEST
        raise SimulationError(f"t_end: is too {size} {limit:g} s, got {t_end:g}")
    if dt is not None and dt > t_end:
        raise SimulationError(f"dt: must be at most the duration, {t_end:g} s, got {dt:g}")
    if dt is not None and t_end / dt > MOST_SAMPLES:
        raise SimulationError(
            f"dt: {dt:g} s makes {t_end / dt:.3g} samples, more than {MOST_SAMPLES:.0e}: "
            "take a larger one, or a shorter duration"
        )
    require_number("rtol", rtol, SimulationError, TIGHTEST, LOOSEST)
    if step is not None and t_end / step > MOST_STEPS:
        raise SimulationError(
            f"step: {step:g} s makes {t_end / step:.3g} steps, more than {MOST_STEPS:.0e}: "
            "take a larger one, a shorter duration, or method 'auto'"
        )


def refuse_kinds(
    *,
    inputs: Mapping[str, Any] | None,
    locks: Mapping[str, Sequence[tuple[float, float]]] | None,
    energy_audit: bool,
    progress: Callable[[float], None] | None,
    live: Callable[..., None] | None,
) -> None:
    """Refuse arguments of `simulate` that are of another kind than they must be.

    Raises
    ------
    SimulationError
        If so; the message begins with the name of the argument.
    """
    require_mapping("inputs", inputs, "numbers or profiles by joint", SimulationError)
    require_mapping("locks", locks, "lists of intervals by joint", SimulationError)
    for name, intervals in (locks or {}).items():
        found = listed(intervals)
        if found is None or not all(_is_pair(each) for each in found):
            what = "a list of pairs (begin, end) of numbers [s]"
            raise refused(f"locks: {name}", intervals, what, SimulationError)
    require_flag("energy_audit", energy_audit, SimulationError)
    require_function("progress", progress, "of the time reached [s]", SimulationError)
    require_function("live", live, "such as a LiveFile(path)", SimulationError)


def _is_pair(interval: object) -> bool:
    pair = listed(interval)
    return bool(pair and len(pair) == 2 and is_number(pair[0]) and is_number(pair[1], finite=False))
