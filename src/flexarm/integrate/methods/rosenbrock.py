"""Linearly implicit Runge-Kutta steps with the exact tangent (Hairer & Wanner, RODAS)."""

from dataclasses import dataclass

from flexarm.integrate.state import IntegratorState, measure
from flexarm.integrate.system import drive, moving, prescribe, rates
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Ints, run_equations
from flexarm.loops.sums import weigh

STAGES = 6


@dataclass(kw_only=True)
class RosenbrockState(IntegratorState):
    """A run by a Rosenbrock method."""

    # tangent, tangent_table: compiled derivatives of the equations and the table of the pointers
    # that they take.
    tangent: int
    tangent_table: Ints
    acceleration: Array  # at the present state, (n,)
    # mass, by_q, by_v, power_by_q, power_by_v, power_by_a: derivatives of the force that
    # accelerations take, column after column (n, n), and of powers (works, n).
    mass: Array
    by_q: Array
    by_v: Array
    power_by_q: Array
    power_by_v: Array
    power_by_a: Array
    timely: int  # whether time itself is part of the equations
    # gamma, alpha, d, a, c: the method's table; (6, 6) the last two.
    gamma: float
    alpha: Array
    d: Array
    a: Array
    c: Array
    dense: Array  # table of the dense output, (2, 5)
    # matrix, pivots: the factorised matrix of the stages.
    matrix: Array
    pivots: Ints
    # stages, right, trial, drift, polynomial: stage vectors (6, size), a right side, a state, the
    # rates' derivative by time, dense output.
    stages: Array
    right: Array
    trial: Array
    drift: Array
    polynomial: Array


@kernel
def factorise(n: int, a: Array, pivots: Ints) -> int:
    """Factorise a matrix in place, column after column, with row exchanges; 0 if it is regular."""
    for k in range(n):
        column = a[k * n :]
        best = k
        for i in range(k + 1, n):
            if abs(column[i]) > abs(column[best]):
                best = i
        pivots[k] = best
        if column[best] == 0.0:
            return 1
        if best != k:
            for j in range(n):
                kept = a[j * n + k]
                a[j * n + k] = a[j * n + best]
                a[j * n + best] = kept
        scale = 1.0 / column[k]
        for i in range(k + 1, n):
            column[i] *= scale
        for j in range(k + 1, n):
            factor = a[j * n + k]
            if factor != 0.0:
                subtract(n - k - 1, factor, column[k + 1 :], a[j * n + k + 1 :])
    return 0


@kernel
def subtract(n: int, factor: float, x: Array, y: Array) -> None:
    """Subtract x times a factor from y."""
    for i in range(n):
        y[i] -= factor * x[i]


@kernel
def back_substitute(n: int, a: Array, pivots: Ints, x: Array) -> None:
    """Solve with a factorised matrix."""
    for k in range(n):
        best = pivots[k]
        kept = x[k]
        x[k] = x[best]
        x[best] = kept
    for k in range(n):
        subtract(n - k - 1, x[k], a[k * n + k + 1 :], x[k + 1 :])
    for k in range(n - 1, -1, -1):
        x[k] /= a[k * n + k]
        subtract(k, x[k], a[k * n :], x)


@kernel
def linearise(m: RosenbrockState) -> int:
    """Evaluate the tangent at the present state, and factorise the matrix of the stages."""
    n = m.system.n
    drive(m.system, m.t)
    for i in range(n):
        m.system.q[i] = m.y[i]
        m.system.v[i] = m.y[n + i]
        m.acceleration[i] = m.f[n + i]
    run_equations(m.tangent, m.tangent_table)
    for c in range(m.system.known):
        k = m.system.coordinates[c]
        for i in range(n):
            m.mass[i * n + k] = 0.0
            m.by_q[k * n + i] = 0.0
            m.by_v[k * n + i] = 0.0
            m.by_q[i * n + k] = 0.0
            m.by_v[i * n + k] = 0.0
        m.mass[k * n + k] = 1.0
        for i in range(m.system.works):
            m.power_by_q[i * n + k] = 0.0
            m.power_by_v[i * n + k] = 0.0
    g = 1.0 / (m.h * m.gamma)
    for k in range(n * n):
        m.matrix[k] = g * m.mass[k] + m.by_v[k] + m.by_q[k] / g
    find_drift(m)
    singular: int = factorise(n, m.matrix, m.pivots)
    return singular


@kernel
def find_drift(m: RosenbrockState) -> None:
    """Differentiate the rates by time, through the channels."""
    for r in range(m.size):
        m.drift[r] = 0.0
    if m.timely == 0 and moving(m.system) == 0:
        return
    small = 1e-2 * m.h  # of a shorter time the difference is rounding, as long as accelerations
    for r in range(m.size):
        m.trial[r] = m.y[r]
    rates(m.system, m.t + small, m.trial, m.drift)
    for r in range(m.size):
        m.trial[r] = m.y[r]
    rates(m.system, m.t - small, m.trial, m.right)
    for r in range(m.size):
        m.drift[r] = (m.drift[r] - m.right[r]) / (2.0 * small)


@kernel
def solve_stage(m: RosenbrockState, u: Array) -> None:
    """Solve for a stage: eliminate positions, solve for rates, then positions and works."""
    n = m.system.n
    g = 1.0 / (m.h * m.gamma)
    weigh(n, n, m.mass, m.right[n:], u[n:])
    weigh(n, n, m.by_q, m.right, u)
    subtract(n, 1.0 / g, u, u[n:])
    back_substitute(n, m.matrix, m.pivots, u[n:])
    for i in range(n):
        u[i] = (m.right[i] + u[n + i]) / g
    for c in range(m.system.known):  # its rate is a function of time, not of the state
        k = m.system.coordinates[c]
        u[k] = m.right[k] / g
    for i in range(m.system.works):
        value = m.right[2 * n + i]
        for j in range(n):
            value += m.power_by_q[i * n + j] * u[j] + m.power_by_v[i * n + j] * u[n + j]
            # what accelerations change by in the stage
            value += m.power_by_a[i * n + j] * (g * u[n + j] - m.right[n + j])
        u[2 * n + i] = value / g


@kernel
def rosenbrock_step(m: RosenbrockState) -> int:
    """Try one step."""
    size = m.size
    if linearise(m) != 0:
        m.error = 1e300
        return 1
    for i in range(STAGES):
        for r in range(size):
            m.trial[r] = m.y[r]
        for j in range(i):
            weight = m.a[i * STAGES + j]
            if weight != 0.0:
                for r in range(size):
                    m.trial[r] += weight * m.stages[j * size + r]
        if i == 0:
            for r in range(size):
                m.right[r] = m.f[r]
        else:
            rates(m.system, m.t + m.alpha[i] * m.h, m.trial, m.right)
        for j in range(i):
            weight = m.c[i * STAGES + j] / m.h
            for r in range(size):
                m.right[r] += weight * m.stages[j * size + r]
        for r in range(size):
            m.right[r] += m.d[i] * m.h * m.drift[r]
        solve_stage(m, m.stages[i * size :])
    last = m.stages[(STAGES - 1) * size :]
    for r in range(size):
        m.y_new[r] = m.trial[r] + last[r]
    m.error = measure(m, last) / m.tolerance
    rates(m.system, m.t + m.h, m.y_new, m.f_new)
    return 0


@kernel
def rosenbrock_sample(m: RosenbrockState) -> int:
    """Evaluate the dense output of the last step."""
    size = m.size
    if m.sample_ready == 0:
        for p in range(2):
            for r in range(size):
                total = 0.0
                for j in range(5):
                    total += m.dense[p * 5 + j] * m.stages[j * size + r]
                m.polynomial[p * size + r] = total
        m.sample_ready = 1
    x = (m.sample_time - m.t_old) / m.h_done
    for r in range(size):
        inner = m.polynomial[r] + x * m.polynomial[size + r]
        m.sampled[r] = m.y_old[r] * (1.0 - x) + x * (m.y[r] + (1.0 - x) * inner)
    prescribe(m.system, m.sample_time, m.sampled)
    return 0
