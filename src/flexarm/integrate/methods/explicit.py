"""Explicit Runge-Kutta steps and dense output, from a table of coefficients (tableau)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm.integrate.method import zeros
from flexarm.integrate.state import IntegratorState, measure
from flexarm.integrate.system import rates
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array
from flexarm.loops.sums import clear, copy, weighted_sum


@dataclass(kw_only=True)
class RungeKuttaState(IntegratorState):
    """Integrator state of an explicit Runge-Kutta method."""

    # stages: number of stages, without the evaluation at the new state. extra: number of additional
    # stages of the dense output.
    stages: int
    extra: int
    # a, b, c: the tableau, where ``a`` and ``c`` include the new state and the additional stages.
    # e, e3: weights of two error estimates.
    a: Array
    b: Array
    c: Array
    e: Array
    e3: Array
    k: Array  # rates at the stages, (stages + 1 + extra, size)
    # terms: degree of the dense output. d: coefficients of the dense output, (terms - 3, stages + 1
    # + extra).
    terms: int
    d: Array
    polynomial: Array  # dense output of the last step, (terms, size)
    trial: Array  # trial state


def begin_explicit(shared: dict[str, Any]) -> RungeKuttaState:
    """Build the integrator state of a method from the fields common to all methods."""
    tableau = shared["method"].tableau
    width, size, terms = len(tableau.table), shared["size"], 3 + len(tableau.dense)
    b, e, e3 = (row.copy() for row in tableau.weights)
    return RungeKuttaState(
        **shared,
        stages=tableau.stages,
        extra=len(tableau.extra),
        a=tableau.table.ravel(),
        b=b,
        e=e,
        e3=e3,
        c=np.array([*tableau.nodes, *tableau.extra]),
        terms=terms,
        d=tableau.dense.ravel() if len(tableau.dense) else np.zeros(1),
        **zeros({"k": width * size, "polynomial": terms * size, "trial": size}),
    )


@kernel
def stage(m: RungeKuttaState, i: int, t: float, h: float, y: Array) -> None:
    """Compute the time derivative of the state at stage i of a step of length h from (t, y)."""
    weighted_sum(i, m.size, m.k, m.a[i * (m.stages + 1 + m.extra) :], m.trial)
    for r in range(m.size):
        m.trial[r] = y[r] + h * m.trial[r]
    rates(m.system, t + m.c[i] * h, m.trial, m.k[i * m.size :])


@kernel
def combined(m: RungeKuttaState, count: int, h: float, weights: Array, out: Array) -> None:
    """Compute the weighted sum of ``count`` stages' state derivatives, times the step length h."""
    weighted_sum(count, m.size, m.k, weights, out)
    for r in range(m.size):
        out[r] *= h


@kernel
def explicit_step(m: RungeKuttaState) -> int:
    """Attempt one step: compute the new state, and its error relative to the tolerance."""
    copy(m.size, m.f, m.k)
    for i in range(1, m.stages):
        stage(m, i, m.t, m.h, m.y)
    clear(m.size, m.k[m.stages * m.size :])
    combined(m, m.stages + 1, m.h, m.b, m.trial)
    for r in range(m.size):
        m.y_new[r] = m.y[r] + m.trial[r]
    rates(m.system, m.t + m.h, m.y_new, m.f_new)
    copy(m.size, m.f_new, m.k[m.stages * m.size :])
    m.error = 0.0
    if m.adaptive == 1:
        combined(m, m.stages + 1, m.h, m.e, m.trial)
        fifth = measure(m, m.trial)
        combined(m, m.stages + 1, m.h, m.e3, m.trial)
        third = measure(m, m.trial)
        if fifth > 0.0 or not math.isfinite(fifth):
            m.error = fifth * fifth / math.sqrt(fifth * fifth + 0.01 * third * third) / m.tolerance
    return 0


@kernel
def prepare_dense(m: RungeKuttaState) -> None:
    """Compute the polynomial of the dense output of the last step, with additional stages.

    The formulas are those of Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I.
    """
    h = m.last_step
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
        combined(m, width, h, m.d[p * width :], m.polynomial[(3 + p) * m.size :])
    m.sample_ready = 1


@kernel
def explicit_sample(m: RungeKuttaState) -> int:
    """Evaluate the dense output of the last step at m.sample_time; return 0."""
    if m.sample_ready == 0:
        prepare_dense(m)
    x = (m.sample_time - m.t_old) / m.last_step
    for r in range(m.size):
        value = 0.0
        for p in range(m.terms - 1, -1, -1):
            value += m.polynomial[p * m.size + r]
            value *= x if p % 2 == 0 else 1.0 - x
        m.sampled[r] = m.y_old[r] + value
    return 0
