"""The receding horizon: predicted states, and the derivative of their cost by the inputs."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flexarm.links.base import Array
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array as Floats
from flexarm.loops.language import Record
from flexarm.planning.receding.active import QuadraticProgram, solve_active
from flexarm.planning.sensitivity import COVERED, SERIES

TERMS = SERIES.size


@dataclass(frozen=True)
class Goal:
    """Reference states and inputs, and weights of the differences from them."""

    x: Array  # states by sample from time 0 on, the last one for ever, (J, 2n)
    u: Array  # inputs by sample, (J, k)
    stage: Array  # root of the weight of (x, u) over an interval, (2n + k, 2n + k)
    last: Array  # root of the weight of x after the horizon: the cost of LQR without limits
    fastest: float  # size of the largest eigenvalue there [rad/s]

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
    """Data of the compiled iteration; arrays are flat, with s states, k inputs and N intervals."""

    s: int  # number of states
    k: int  # number of inputs
    N: int  # number of intervals
    own: Floats  # derivatives of states by those an interval before, (N, s, s)
    integrals: Floats  # integrals of the exponential over an interval, (N, s, s)
    pushed: Floats  # derivatives of states by the inputs of the interval, (N, s, k)
    rates: Floats  # rates of the states at the intervals' beginnings, (N, s)
    x: Floats  # predicted states, (N + 1, s)
    u: Floats  # inputs, (N, k)
    goal_x: Floats  # reference states, (N + 1, s)
    goal_u: Floats  # reference inputs, (N, k)
    stage: Floats  # weight of (x, u), (s + k, s + k)
    last: Floats  # weight of the last x, (s, s)
    there: Floats  # states with unchanged inputs from the measured state on, (N + 1, s)
    slope: Floats  # derivative of the cost by the inputs, (N k,)
    change: Floats  # change of the inputs, (N k,)
    pull: Floats  # work, (2 s,)
    largest: Floats  # largest inputs, (k,)
    rows: Floats  # limited combinations of states, (R, s)
    low: Floats  # their lower bounds, (R,)
    top: Floats  # their upper bounds, (R,)
    program: QuadraticProgram
    period: float  # length of an interval [s]
    fastest: float  # size of the largest eigenvalue [rad/s]
    first: int  # first interval that is linearised anew
    accelerations: Floats  # at all intervals' beginnings, then from the first on at nudged states
    nudges: Floats  # steps of the finite differences, (s + k,)
    A: Floats  # matrix of the linear equations, (s, s)
    work: Floats  # work, (2 s s,)


@kernel
def add_product(n: int, a: Floats, b: Floats, out: Floats) -> None:
    """Add A B to a matrix."""
    for i in range(n):
        row = out[i * n :]
        for k in range(n):
            weight = a[i * n + k]
            other = b[k * n :]
            for c in range(n):
                row[c] += weight * other[c]


@kernel
def _integrate(r: Horizon, out: Floats) -> None:
    """Integrate ``e^(A s)`` over a period: over a part by a series, then by doubling."""
    n, size, turn = r.s, r.s * r.s, r.fastest * r.period
    parts = 1.0
    while turn > COVERED * parts:
        parts *= 2.0
    X, other = r.work, r.work[size:]
    for i in range(size):
        X[i] = r.A[i] * (r.period / parts)
        out[i] = 0.0
    for term in range(TERMS, 0, -1):  # F = (1 + X F) / term
        for i in range(size):
            other[i] = 1.0 / float(term) if i % (n + 1) == 0 else 0.0
        if term < TERMS:
            for i in range(size):
                out[i] /= float(term)
            add_product(n, X, out, other)
        for i in range(size):
            out[i] = other[i]
    for i in range(size):
        out[i] *= r.period / parts
    while parts > 1.0:
        for i in range(size):
            X[i] = 1.0 if i % (n + 1) == 0 else 0.0
            other[i] = out[i]
        add_product(n, r.A, out, X)
        add_product(n, other, X, out)
        parts /= 2.0


@kernel
def linearise(r: Horizon) -> None:
    """Compute linear models from accelerations by differences, and solve them over intervals."""
    s, k, n = r.s, r.k, r.s // 2
    for j in range(r.N):
        for i in range(n):
            r.rates[j * s + i] = r.x[j * s + n + i]
            r.rates[j * s + n + i] = r.accelerations[j * n + i]
    for j in range(r.first, r.N):
        a = r.accelerations[j * n :]
        moved = r.accelerations[(r.N + (j - r.first) * (s + k)) * n :]
        own, whole, pushed = r.own[j * s * s :], r.integrals[j * s * s :], r.pushed[j * s * k :]
        for i in range(n):
            for c in range(s):
                r.A[i * s + c] = 1.0 if c == n + i else 0.0
                r.A[(n + i) * s + c] = (moved[c * n + i] - a[i]) / r.nudges[c]
        _integrate(r, whole)
        for i in range(s * s):
            own[i] = 1.0 if i % (s + 1) == 0 else 0.0
        add_product(s, r.A, whole, own)
        for i in range(s):
            for c in range(k):
                total = 0.0
                for b in range(n):
                    slope = (moved[(s + c) * n + b] - a[b]) / r.nudges[s + c]
                    total += whole[i * s + n + b] * slope
                pushed[i * k + c] = total


@kernel
def foresee(r: Horizon) -> None:
    """Predict states with unchanged inputs, and the cost's derivative by inputs by its adjoint."""
    s, k, w = r.s, r.k, r.s + r.k
    for j in range(r.N):
        here, after = j * s, (j + 1) * s
        for a in range(s):
            row = (here + a) * s
            total = r.x[here + a]
            for b in range(s):
                total += r.integrals[row + b] * r.rates[here + b]
                total += r.own[row + b] * (r.there[here + b] - r.x[here + b])
            r.there[after + a] = total
    for a in range(s):
        total = 0.0
        for b in range(s):
            total += r.last[a * s + b] * (r.there[r.N * s + b] - r.goal_x[r.N * s + b])
        r.pull[a] = total
    for j in range(r.N - 1, -1, -1):
        for c in range(k):
            total = 0.0
            for b in range(s):
                off = r.there[j * s + b] - r.goal_x[j * s + b]
                total += r.stage[(s + c) * w + b] * off
                total += r.pushed[(j * s + b) * k + c] * r.pull[b]
            for b in range(k):
                total += r.stage[(s + c) * w + s + b] * (r.u[j * k + b] - r.goal_u[j * k + b])
            r.slope[j * k + c] = total
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
    """Change the inputs, and the states accordingly."""
    s, k = r.s, r.k
    for a in range(s):
        r.pull[a] = 0.0
        r.x[a] = r.there[a]
    for j in range(r.N):
        for a in range(s):
            row = j * s + a
            total = 0.0
            for b in range(s):
                total += r.own[row * s + b] * r.pull[b]
            for b in range(k):
                total += r.pushed[row * k + b] * r.change[j * k + b]
            r.pull[s + a] = total
        for a in range(s):
            r.pull[a] = r.pull[s + a]
            r.x[(j + 1) * s + a] = r.there[(j + 1) * s + a] + r.pull[a]
    for c in range(r.N * k):
        largest = r.largest[c % k]
        r.u[c] = min(max(r.u[c] + r.change[c], -largest), largest)


@kernel
def improve(r: Horizon) -> int:
    """Compute the best change of the inputs; 1 if another solver is needed, 2 if not finite."""
    foresee(r)
    p, n = r.program, r.N * r.k
    for c in range(n):
        if not math.isfinite(r.slope[c]):
            return 2
        largest = r.largest[c % r.k]
        p.low[c] = -largest - r.u[c]
        p.top[c] = largest - r.u[c]
        p.g[c] = r.slope[c]
    count = p.m // r.N
    for row in range(p.m):
        i, here = row % count, r.there[(row // count + 1) * r.s :]
        value = 0.0
        for b in range(r.s):
            value += r.rows[i * r.s + b] * here[b]
        p.least[row] = r.low[i] - value
        p.most[row] = r.top[i] - value
    if solve_active(p) != 0:
        return 1
    for c in range(n):
        r.change[c] = p.x[c]
    return 0
