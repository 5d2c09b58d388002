"""The horizon that moves along: predicted states, and the slope of what they cost."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flexarm.links.base import Array
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array as Floats
from flexarm.loops.language import Record


@dataclass(frozen=True)
class Goal:
    """Where a horizon looks to, and what being away from it costs.

    Attributes
    ----------
    x, u
        States and inputs, (J, 2n) and (J, k): at every sample from time 0 on, the last for ever.
    stage, last
        Roots of the weights of (x, u) over an interval, (2n + k, 2n + k), and of x after the
        horizon: what the best regulator without limits would still spend, (2n, 2n).
    fastest
        Size of the largest eigenvalue there [rad/s].
    """

    x: Array
    u: Array
    stage: Array
    last: Array
    fastest: float

    @cached_property
    def stage_weight(self) -> Array:
        """Weights of (x, u) over an interval, flat."""
        return np.ravel(self.stage.T @ self.stage)

    @cached_property
    def last_weight(self) -> Array:
        """Weights of x after the horizon, flat."""
        return np.ravel(self.last.T @ self.last)


@dataclass
class Horizon(Record):
    """What a prediction is improved by; arrays are flat, s states and k inputs at N intervals."""

    s: int
    k: int
    N: int
    own: Floats
    integrals: Floats
    pushed: Floats
    rates: Floats
    x: Floats
    u: Floats
    goal_x: Floats
    goal_u: Floats
    stage: Floats  # weights of (x, u), and of the last x
    last: Floats
    there: Floats  # states if inputs stay; its first is that measured
    slope: Floats  # of the cost, by inputs
    change: Floats  # of inputs
    pull: Floats  # work, (2 s)


@kernel
def foresee(r: Horizon) -> None:
    """Find where states go if inputs stay, and the cost's slope by inputs, by its adjoint."""
    s, k, w = r.s, r.k, r.s + r.k
    for j in range(r.N):
        here, after = j * s, (j + 1) * s
        for a in range(s):
            row = (here + a) * s
            found = r.x[here + a]
            for b in range(s):
                found += r.integrals[row + b] * r.rates[here + b]
                found += r.own[row + b] * (r.there[here + b] - r.x[here + b])
            r.there[after + a] = found
    for a in range(s):
        found = 0.0
        for b in range(s):
            found += r.last[a * s + b] * (r.there[r.N * s + b] - r.goal_x[r.N * s + b])
        r.pull[a] = found
    for j in range(r.N - 1, -1, -1):
        for c in range(k):
            found = 0.0
            for b in range(s):
                off = r.there[j * s + b] - r.goal_x[j * s + b]
                found += r.stage[(s + c) * w + b] * off
                found += r.pushed[(j * s + b) * k + c] * r.pull[b]
            for b in range(k):
                found += r.stage[(s + c) * w + s + b] * (r.u[j * k + b] - r.goal_u[j * k + b])
            r.slope[j * k + c] = found
        for a in range(s):
            r.pull[s + a] = 0.0
            for b in range(k):
                spent = r.u[j * k + b] - r.goal_u[j * k + b]
                r.pull[s + a] += r.stage[a * w + s + b] * spent
        for b in range(s):
            off, pull = r.there[j * s + b] - r.goal_x[j * s + b], r.pull[b]
            for a in range(s):
                r.pull[s + a] += r.stage[b * w + a] * off + r.own[(j * s + b) * s + a] * pull
        for a in range(s):
            r.pull[a] = r.pull[s + a]


@kernel
def move(r: Horizon) -> None:
    """Change inputs, and states by what follows from that."""
    s, k = r.s, r.k
    for a in range(s):
        r.pull[a] = 0.0
        r.x[a] = r.there[a]
    for j in range(r.N):
        for a in range(s):
            row = j * s + a
            found = 0.0
            for b in range(s):
                found += r.own[row * s + b] * r.pull[b]
            for b in range(k):
                found += r.pushed[row * k + b] * r.change[j * k + b]
            r.pull[s + a] = found
        for a in range(s):
            r.pull[a] = r.pull[s + a]
            r.x[(j + 1) * s + a] = r.there[(j + 1) * s + a] + r.pull[a]
    for c in range(r.N * k):
        r.u[c] += r.change[c]
