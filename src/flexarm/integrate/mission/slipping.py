"""Rules by which brakes and dry friction hold or slip, the same in simulations and in exported C.

The way of a coordinate says what is closed on it: it holds (0), slips (-1, 1), or is `OPEN`.
"""

import math

from flexarm.loops.kernel import kernel
from flexarm.spatial import ACCUMULATED

OPEN = 2
MOST_AT_ONCE = 200  # changes of ways at one instant, after which they are taken to have no end


@kernel
def way_moving(rate: float, largest: float) -> int:
    """Return the way of a coordinate at a rate: within rounding of the largest rate it holds."""
    if abs(rate) <= ACCUMULATED * largest:
        return 0
    return 1 if rate > 0.0 else -1


@kernel
def way_closed(way: int, rate: float, most: float) -> int:
    """Return the way after a brake with a largest effort has closed."""
    if way == 0 or not math.isfinite(most):
        return 0
    way_at_rate: int = way_moving(rate, 0.0)
    return way_at_rate


@kernel
def way_next(way: int, effort: float, most: float, rate: float, change: float) -> int:
    """Return the way of a coordinate that nothing else holds.

    It slips where an effort is beyond the most that holds it, and holds where it has come to rest:
    where its rate is against the way, or 0 and about to be.
    """
    if way == 0:
        return -1 if effort > most else 1 if effort < -most else 0
    slowed = float(way) * rate < 0.0 or (rate == 0.0 and float(way) * change <= 0.0)
    return 0 if way != OPEN and slowed else way
