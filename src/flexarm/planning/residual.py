"""How much a motion still moves when it should be over."""

import numpy as np

from flexarm.errors import SimulationError
from flexarm.links.base import Array
from flexarm.runs.run import Run


def residual_vibration(run: Run, after: float) -> float:
    """Give half the largest range of the tip's coordinates from a time [s] on [m].

    Raises
    ------
    SimulationError
        If the run stopped before its end: nothing is known of it then.
    """
    if run.status != "finished":
        raise SimulationError(f"the motion cannot be judged: its simulation stopped: {run.reason}")
    places: Array = run.tip[run.t >= after - 1e-9]
    return float(np.ptp(places, axis=0).max() / 2)
