"""What a motion must not exceed: speeds, deflections, strains, what the base takes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flexarm.links.base import Array

Measure = Callable[[Array, Array, Array], Array]  # (q, v, u), (T, ...) each, to (T, r)
NUDGE = 1e-6


@dataclass(frozen=True)
class Limit:
    """A quantity that stays within a number either way.

    Attributes
    ----------
    name, unit
        What it is.
    allowed
        Its largest size.
    measure
        Gives it, (T, r), from coordinates, rates and inputs.
    share
        Of what is allowed that a program may use: less than 1 where samples miss peaks.
    """

    name: str
    unit: str
    allowed: float
    measure: Measure
    share: float = 1.0

    def linear(self, q: Array, v: Array, u: Array) -> tuple[Array, Array, Array, Array]:
        """Evaluate it and its derivatives by q, v and u, (T, r) and (T, r, ...) each."""
        value = self.measure(q, v, u)
        slopes = []
        for k in range(3):
            arrays = [q, v, u]
            columns = []
            for i in range(arrays[k].shape[1]):
                moved = [each.copy() for each in arrays]
                size = NUDGE * max(float(np.abs(arrays[k][:, i]).max()), 1e-3)
                moved[k][:, i] += size
                columns.append((self.measure(*moved) - value) / size)
            slopes.append(np.stack(columns, axis=2))
        return value, slopes[0], slopes[1], slopes[2]
