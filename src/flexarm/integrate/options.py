"""What a simulation can be asked for; nothing heavy is loaded to refuse the rest."""

import math
from numbers import Real

from flexarm.errors import SimulationError

SHORTEST = 1e-12  # [s] of a run
TIGHTEST, LOOSEST = 1e-12, 0.1  # error of the deflections over their range
MOST_SAMPLES = 10**7  # that are kept, or at which a law is asked
MOST_STEPS = 10**10


def is_positive(value: object) -> bool:
    """Tell whether a value is a finite number > 0."""
    return isinstance(value, Real) and math.isfinite(value) and float(value) > 0


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
            raise SimulationError(f"{name}: must be > 0 and a finite number, got {value!r}")
    if t_end < SHORTEST:
        raise SimulationError(f"t_end: is too small, must be at least {SHORTEST:g} s, got {t_end}")
    if dt is not None and dt > t_end:
        raise SimulationError(f"dt: must be at most the duration, {t_end:g} s, got {dt:g}")
    if dt is not None and t_end / dt > MOST_SAMPLES:
        raise SimulationError(
            f"dt: {dt:g} s makes {t_end / dt:.3g} samples, more than {MOST_SAMPLES:.0e}: "
            "take a larger one, or a shorter duration"
        )
    if not (isinstance(rtol, Real) and TIGHTEST <= rtol <= LOOSEST):
        raise SimulationError(f"rtol: must be between {TIGHTEST:g} and {LOOSEST:g}, got {rtol!r}")
    if step is not None and t_end / step > MOST_STEPS:
        raise SimulationError(
            f"step: {step:g} s makes {t_end / step:.3g} steps, more than {MOST_STEPS:.0e}: "
            "take a larger one, a shorter duration, or method 'auto'"
        )
