"""Rules for stick and slip of brakes and dry friction, shared by simulations and exported C.

The way of a coordinate is its stick-slip state: stick (0), slip in a direction (-1, 1), or `OPEN`
if no brake or dry friction acts.
"""

import math

from flexarm.constants import ACCUMULATED
from flexarm.loops.kernel import kernel

OPEN = 2


@kernel
def way_moving(rate: float, largest: float) -> int:
    """Return the stick-slip state at a rate; rates at rounding level count as sticking."""
    if abs(rate) <= ACCUMULATED * largest:
        return 0
    return 1 if rate > 0.0 else -1


@kernel
def way_closed(way: int, rate: float, capacity: float) -> int:
    """Return the stick-slip state after a brake of a given effort has closed."""
    if way == 0 or not math.isfinite(capacity):
        return 0
    way_at_rate: int = way_moving(rate, 0.0)
    return way_at_rate


@kernel
def way_next(way: int, effort: float, capacity: float, rate: float, change: float) -> int:
    """Return the next stick-slip state of a coordinate that is not locked.

    A sticking coordinate slips if its holding effort exceeds `capacity`.  A slipping coordinate
    sticks if its rate opposes the slip direction, or if the rate is 0 and `change` is not in that
    direction.
    """
    if way == 0:
        return -1 if effort > capacity else 1 if effort < -capacity else 0
    stops = float(way) * rate < 0.0 or (rate == 0.0 and float(way) * change <= 0.0)
    return 0 if way != OPEN and stops else way
