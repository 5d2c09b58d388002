"""Linearly implicit Runge-Kutta steps with the exact Jacobian (Hairer & Wanner, RODAS)."""

from dataclasses import dataclass

from flexarm.integrate.state import IntegratorState, measure
from flexarm.integrate.system import drive, enter_state, moving, prescribe, rates
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Ints, run_equations
from flexarm.loops.sums import add, clear, copy, weighted_sum

STAGES = 6


@dataclass(kw_only=True)
class RosenbrockState(IntegratorState):
    """Integrator state of a Rosenbrock method."""

    # tangent, tangent_table: address and pointer table of the compiled Jacobian.
    tangent: int
    tangent_table: Ints
    acceleration: Array  # accelerations at the present state, (n,)
    # mass, by_q, by_v: derivatives of the generalised force with respect to accelerations,
    # coordinates and rates, column-major (n, n). power_by_q, power_by_v, power_by_a: derivatives of
    # the powers, (work integrals, n).
    mass: Array
    by_q: Array
    by_v: Array
    power_by_q: Array
    power_by_v: Array
    power_by_a: Array
    timely: int  # 1 if the equations depend on time explicitly
    # gamma, alpha, d, a, c: coefficients of the method; ``a`` and ``c`` have shape (6, 6).
    gamma: float
    alpha: Array
    d: Array
    a: Array
    c: Array
    dense: Array  # coefficients of the dense output, (2, 5)
    # matrix, pivots: LU factors and pivots of the stages' system matrix.
    matrix: Array
    pivots: Ints
    stages: Array  # stage vectors, (6, size)
    rhs: Array  # right-hand side of a stage, (size,)
    trial: Array  # trial state, (size,)
    drift: Array  # partial derivative of the rates with respect to time, (size,)
    polynomial: Array  # dense output, (2, size)


@kernel
def factorise(n: int, a: Array, pivots: Ints) -> int:
    """Factorise a column-major matrix (n, n) in place as LU with partial pivoting.

    The return value is 0, or 1 if the matrix is singular.
    """
    for k in range(n):
        column = a[k * n :]
        pivot = k
        for i in range(k + 1, n):
            if abs(column[i]) > abs(column[pivot]):
                pivot = i
        pivots[k] = pivot
        if column[pivot] == 0.0:
            return 1
        if pivot != k:
            for j in range(n):
                entry = a[j * n + k]
                a[j * n + k] = a[j * n + pivot]
                a[j * n + pivot] = entry
        scale = 1.0 / column[k]
        for i in range(k + 1, n):
            column[i] *= scale
        for j in range(k + 1, n):
            factor = a[j * n + k]
            if factor != 0.0:
                add(n - k - 1, -factor, column[k + 1 :], a[j * n + k + 1 :])
    return 0


@kernel
def back_substitute(n: int, a: Array, pivots: Ints, x: Array) -> None:
    """Solve a linear system for x in place, with the factors and pivots of `factorise`."""
    for k in range(n):
        pivot = pivots[k]
        entry = x[k]
        x[k] = x[pivot]
        x[pivot] = entry
    for k in range(n):
        add(n - k - 1, -x[k], a[k * n + k + 1 :], x[k + 1 :])
    for k in range(n - 1, -1, -1):
        x[k] /= a[k * n + k]
        add(k, -x[k], a[k * n :], x)


@kernel
def linearise(m: RosenbrockState) -> int:
    """Evaluate the Jacobian at the current state, and factorise the matrix of the stages.

    The return value is 0, or 1 if the matrix is singular.
    """
    n = m.system.n
    drive(m.system, m.t)
    enter_state(m.system, m.y)
    copy(n, m.f[n:], m.acceleration)
    run_equations(m.tangent, m.tangent_table)
    for c in range(m.system.prescribed):
        k = m.system.coordinates[c]
        for i in range(n):
            m.mass[i * n + k] = 0.0
            m.by_q[k * n + i] = 0.0
            m.by_v[k * n + i] = 0.0
            m.by_q[i * n + k] = 0.0
            m.by_v[i * n + k] = 0.0
        m.mass[k * n + k] = 1.0
        for i in range(m.system.work_integrals):
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
    """Compute the partial time derivative of the state derivative by central differences."""
    clear(m.size, m.drift)
    if m.timely == 0 and moving(m.system) == 0:
        return
    dt = 1e-2 * m.h  # [s]; for a shorter time rounding errors dominate the difference
    copy(m.size, m.y, m.trial)
    rates(m.system, m.t + dt, m.trial, m.drift)
    copy(m.size, m.y, m.trial)
    rates(m.system, m.t - dt, m.trial, m.rhs)
    for r in range(m.size):
        m.drift[r] = (m.drift[r] - m.rhs[r]) / (2.0 * dt)


@kernel
def solve_stage(m: RosenbrockState, u: Array) -> None:
    """Solve the linear system of a stage, first for rates, then for positions and work."""
    n = m.system.n
    g = 1.0 / (m.h * m.gamma)
    weighted_sum(n, n, m.mass, m.rhs[n:], u[n:])
    weighted_sum(n, n, m.by_q, m.rhs, u)
    add(n, -1.0 / g, u, u[n:])
    back_substitute(n, m.matrix, m.pivots, u[n:])
    for i in range(n):
        u[i] = (m.rhs[i] + u[n + i]) / g
    for c in range(m.system.prescribed):  # prescribed rates depend on time only
        k = m.system.coordinates[c]
        u[k] = m.rhs[k] / g
    for i in range(m.system.work_integrals):
        value = m.rhs[2 * n + i]
        for j in range(n):
            value += m.power_by_q[i * n + j] * u[j] + m.power_by_v[i * n + j] * u[n + j]
            # Power contributed by the change of the accelerations in the stage.
            value += m.power_by_a[i * n + j] * (g * u[n + j] - m.rhs[n + j])
        u[2 * n + i] = value / g


@kernel
def rosenbrock_step(m: RosenbrockState) -> int:
    """Attempt one step; return 0, or 1 if the matrix of the stages is singular."""
    size = m.size
    if linearise(m) != 0:
        m.error = 1e300
        return 1
    for i in range(STAGES):
        copy(size, m.y, m.trial)
        for j in range(i):
            weight = m.a[i * STAGES + j]
            if weight != 0.0:
                add(size, weight, m.stages[j * size :], m.trial)
        if i == 0:
            copy(size, m.f, m.rhs)
        else:
            rates(m.system, m.t + m.alpha[i] * m.h, m.trial, m.rhs)
        for j in range(i):
            add(size, m.c[i * STAGES + j] / m.h, m.stages[j * size :], m.rhs)
        add(size, m.d[i] * m.h, m.drift, m.rhs)
        solve_stage(m, m.stages[i * size :])
    last = m.stages[(STAGES - 1) * size :]
    for r in range(size):
        m.y_new[r] = m.trial[r] + last[r]
    m.error = measure(m, last) / m.tolerance
    rates(m.system, m.t + m.h, m.y_new, m.f_new)
    return 0


@kernel
def rosenbrock_sample(m: RosenbrockState) -> int:
    """Evaluate the dense output of the last step at m.sample_time; return 0."""
    size = m.size
    if m.sample_ready == 0:
        for p in range(2):
            for r in range(size):
                total = 0.0
                for j in range(5):
                    total += m.dense[p * 5 + j] * m.stages[j * size + r]
                m.polynomial[p * size + r] = total
        m.sample_ready = 1
    x = (m.sample_time - m.t_old) / m.last_step
    for r in range(size):
        inner = m.polynomial[r] + x * m.polynomial[size + r]
        m.sampled[r] = m.y_old[r] * (1.0 - x) + x * (m.y[r] + (1.0 - x) * inner)
    prescribe(m.system, m.sample_time, m.sampled)
    return 0
