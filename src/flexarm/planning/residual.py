"""What was here is `Run.settling` now: how much a motion still moves when it should be over."""

import warnings

from flexarm.runs.run import Run


def residual_vibration(run: Run, after: float) -> float:
    """Give half the largest range of the tip's coordinates from a time [s] on [m]."""
    told = "residual_vibration(run, after) is run.settling(after).swing now"
    warnings.warn(told, DeprecationWarning, stacklevel=2)
    return run.settling(after).swing
