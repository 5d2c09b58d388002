"""Explicit Runge-Kutta methods, from their tables."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm.integrate.method import zeros
from flexarm.integrate.state import IntegratorState, measure
from flexarm.integrate.system import rates
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array
from flexarm.loops.sums import weigh


@dataclass(kw_only=True)
class RungeKuttaState(IntegratorState):
    """A run by an explicit Runge-Kutta method."""

    # stages, extra: number of stages, the rate at the new state not counted, and of those that
    # dense output adds.
    stages: int
    extra: int
    # a, b, c, e, e3: the method's table: ``a`` and ``c`` include the row of the new state and the
    # extra stages; two error estimates.
    a: Array
    b: Array
    c: Array
    e: Array
    e3: Array
    k: Array  # rates at the stages, (stages + 1 + extra, size)
    # terms, d: degree of the dense output, and its table (terms - 3, stages + 1 + extra).
    terms: int
    d: Array
    polynomial: Array  # dense output of the last step, (terms, size)
    trial: Array  # a state


Row = Sequence[float] | Array
Rows = Sequence[Row]


def coefficients(rows: Rows, width: int) -> Array:
    """Return rows of numbers as an array (rows, width), with zeros to their right."""
    table = np.zeros((len(rows), width))
    for r, row in enumerate(rows):
        table[r, : len(row)] = row
    return table


@dataclass(frozen=True)
class Tableau:
    """Coefficients of an explicit Runge-Kutta method.

    Rows end with their last coefficient that is not 0.
    """

    a: Rows  # of the stages from the second on
    b: Row  # of the new state
    c: Row  # times of the stages, as parts of the step
    # Error estimates: weights less those of the embedded formulas, as for Dormand and Prince's
    # method of order 8; none of a method in equal steps.
    e: Row = ()
    e3: Row = ()
    # Stages after the new state that dense output adds: their rows and times.
    extra_a: Rows = ()
    extra_c: tuple[float, ...] = ()
    d: Rows = ()  # of the dense output's terms beyond the cubic ones

    @property
    def stages(self) -> int:
        """Number of stages; the rate at the new state is not one."""
        return len(self.b)

    @property
    def upper(self) -> Array:
        """Coefficients of the stages and, last, of the new state, (stages + 1, stages)."""
        return coefficients(((), *self.a, self.b), self.stages)

    @property
    def weights(self) -> Array:
        """Weights of the new state and of the two error estimates, (3, stages + 1)."""
        return coefficients((self.b, self.e, self.e3), self.stages + 1)

    @property
    def nodes(self) -> Array:
        """Times of the stages and of the new state, (stages + 1,)."""
        return np.append(self.c, 1.0)

    @property
    def table(self) -> Array:
        """Coefficients of all rows, those of dense output included, square."""
        rows = ((), *self.a, self.b, *self.extra_a)
        return coefficients(rows, len(rows))

    def begin(self, shared: dict[str, Any]) -> RungeKuttaState:
        """Build the state of a run by this method from the fields that all methods share."""
        width, size, terms = len(self.table), shared["size"], 3 + len(self.d)
        b, e, e3 = (row.copy() for row in self.weights)
        dense = coefficients(self.d, width).ravel() if len(self.d) else np.zeros(1)
        return RungeKuttaState(
            **shared,
            stages=self.stages,
            extra=len(self.extra_c),
            a=self.table.ravel(),
            b=b,
            e=e,
            e3=e3,
            c=np.array([*self.nodes, *self.extra_c]),
            terms=terms,
            d=dense,
            **zeros({"k": width * size, "polynomial": terms * size, "trial": size}),
        )


@kernel
def stage(m: RungeKuttaState, i: int, t: float, h: float, y: Array) -> None:
    """Compute the rate at stage i of a step from t."""
    width = m.stages + 1 + m.extra
    weigh(i, m.size, m.k, m.a[i * width :], m.trial)
    for r in range(m.size):
        m.trial[r] = y[r] + h * m.trial[r]
    rates(m.system, t + m.c[i] * h, m.trial, m.k[i * m.size :])


@kernel
def combined(m: RungeKuttaState, weights: Array, out: Array) -> None:
    """Sum the rates of all stages with weights, times the step."""
    weigh(m.stages + 1, m.size, m.k, weights, out)
    for r in range(m.size):
        out[r] *= m.h


@kernel
def explicit_step(m: RungeKuttaState) -> int:
    """Try one step."""
    for r in range(m.size):
        m.k[r] = m.f[r]
    for i in range(1, m.stages):
        stage(m, i, m.t, m.h, m.y)
    for r in range(m.size):
        m.k[m.stages * m.size + r] = 0.0
    combined(m, m.b, m.trial)
    for r in range(m.size):
        m.y_new[r] = m.y[r] + m.trial[r]
    rates(m.system, m.t + m.h, m.y_new, m.f_new)
    for r in range(m.size):
        m.k[m.stages * m.size + r] = m.f_new[r]
    m.error = 0.0
    if m.adaptive == 1:
        combined(m, m.e, m.trial)
        fifth = measure(m, m.trial)
        combined(m, m.e3, m.trial)
        third = measure(m, m.trial)
        if fifth > 0.0 or not math.isfinite(fifth):
            m.error = fifth * fifth / math.sqrt(fifth * fifth + 0.01 * third * third) / m.tolerance
    return 0


@kernel
def prepare_dense(m: RungeKuttaState) -> None:
    """Compute the extra stages and the polynomial of the last step (Hairer, Norsett & Wanner)."""
    h = m.h_done
    width = m.stages + 1 + m.extra
    for i in range(m.stages + 1, width):
        stage(m, i, m.t_old, h, m.y_old)
    for r in range(m.size):
        change = m.y[r] - m.y_old[r]
        first = h * m.k[r] - change
        m.polynomial[r] = change
        m.polynomial[m.size + r] = first
        m.polynomial[2 * m.size + r] = 2.0 * change - h * (m.k[m.stages * m.size + r] + m.k[r])
    for p in range(m.terms - 3):
        row = m.polynomial[(3 + p) * m.size :]
        weigh(width, m.size, m.k, m.d[p * width :], row)
        for r in range(m.size):
            row[r] *= h
    m.sample_ready = 1


@kernel
def explicit_sample(m: RungeKuttaState) -> int:
    """Evaluate the dense output of the last step."""
    if m.sample_ready == 0:
        prepare_dense(m)
    x = (m.sample_time - m.t_old) / m.h_done
    for r in range(m.size):
        value = 0.0
        for p in range(m.terms - 1, -1, -1):
            value += m.polynomial[p * m.size + r]
            value *= x if p % 2 == 0 else 1.0 - x
        m.sampled[r] = m.y_old[r] + value
    return 0
