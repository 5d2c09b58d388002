"""Work of prescribed coordinates on modes that oscillate within an integration step.

The force that moves a prescribed coordinate contains the acceleration of each mode times a coupling
mass. The few evaluations per step do not resolve modes that oscillate within the step. The work
done on these modes is therefore integrated with the closed-form responses of the modal oscillators.
The *pull* of a mode is its coupling mass times the rates of prescribed coordinates. The pull
changes slowly, and is approximated by a parabola in time.
"""

from dataclasses import dataclass

from flexarm.integrate.methods.oscillator import POWERS
from flexarm.integrate.state import IntegratorState
from flexarm.integrate.system import PRESCRIBED, channel
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Ints, run_equations
from flexarm.loops.sums import clear, copy

BEGIN, END = 0, 1  # row indices of `masses`
AT_BEGIN, AT_MIDDLE, AT_END = 0, 1, 2  # row indices of `pulls`
STAGES = 7  # stages of a step: start, five inner stages, new state
NEW, ERROR = 6, 7  # row indices of the tableau: the new state, the error estimate


@dataclass(kw_only=True)
class ExponentialState(IntegratorState):
    """Integrator state of an exponential Runge-Kutta method."""

    # matrices, matrix_table: address and pointer table of the compiled functions of the matrices.
    # mass, stiffness, damping: the matrices, (n, n) each.
    matrices: int
    matrix_table: Ints
    # matrix_q, matrix_v: coordinates and rates at which the matrices are evaluated.
    matrix_q: Array
    matrix_v: Array
    mass: Array
    stiffness: Array
    damping: Array
    # renewal: step attempts between renewals of the modes. age: step attempts since the last
    # renewal.
    renewal: int
    age: int
    # modes, inverse: modes by rows, and inverse of this matrix, (n, n) each. squares: squared
    # frequencies. losses: damping rates.
    modes: Array
    inverse: Array
    squares: Array
    losses: Array
    error_modes: Array  # modes by rows, in coordinates of the error measure, (n, n)
    # One row per stage, then one for the new state and one for the error. forces: coefficients of
    # the polynomials that interpolate g, (8, 7, powers). weights: integrals of these polynomials,
    # (8, 7). nodes: times as fractions of the step, (8,).
    forces: Array
    weights: Array
    nodes: Array
    table_h: float  # step length for which the oscillator responses are tabulated [s]
    responses: Array  # responses at the quarters of this step, (4, n, RESPONSES)
    sample_responses: Array  # responses at the time of a sample, (n, RESPONSES)
    # masses: mass matrix rows of prescribed coordinates at the step's begin and end, (2, known, n).
    # masses_at: these two times [s].
    masses: Array
    masses_at: Array
    has_pulls: int  # 1 if modes oscillate within the step while prescribed coordinates move
    # Factors of modal accelerations in the power of prescribed coordinates, at the step's begin,
    # middle and end, (3, n).
    pulls: Array
    swings: Array  # modal accelerations at the stages, (7, n)
    servoed: int  # 1 with servos: powers are also evaluated in mid-step
    # x: modal state at the step's begin, (2n,), whose first half is 0. g: modal forcing at the
    # stages and the new state, (7, n). p: rates of work integrals and servo states at the stages
    # and the new state; the power of prescribed coordinates excludes pulls.
    x: Array
    g: Array
    p: Array
    end_modal: Array  # modal state at the end of the last trial, relative to its begin, (2n,)
    modal: Array  # modal state, or its error, (2n,)
    trial: Array  # trial state, (size,)
    k: Array  # rates of the state, (size,)
    e: Array  # error, with coordinates and rates in the basis of the error measure, (size,)
    scratch: Array  # work array of the eigenproblem, (n,)
    renewals: int  # number of modal bases computed so far


@kernel
def find_matrices(m: ExponentialState, y: Array) -> None:
    """Compute the mass, stiffness and damping matrices at the state y."""
    copy(m.system.n, y, m.matrix_q)
    copy(m.system.n, y[m.system.n :], m.matrix_v)
    run_equations(m.matrices, m.matrix_table)


@kernel
def _note(m: ExponentialState, row: int, t: float) -> None:
    """Store the mass matrix rows of prescribed coordinates for time t [s].

    The argument ``row`` is BEGIN or END, for the begin or the end of the step.
    """
    n = m.system.n
    for c in range(m.system.prescribed):
        k = m.system.coordinates[c]
        copy(n, m.mass[k * n :], m.masses[(row * m.system.prescribed + c) * n :])
    m.masses_at[row] = t


@kernel
def keep_masses(m: ExponentialState) -> None:
    """Store the mass matrix rows of prescribed coordinates at the begin of the step."""
    _note(m, BEGIN, m.t)


@kernel
def _find_masses(m: ExponentialState) -> None:
    """Compute the mass matrix rows of prescribed coordinates at both ends of the step.

    The matrix rows at the begin of the step are reused if the last step ended there.
    """
    if m.masses_at[BEGIN] != m.t:
        if m.masses_at[END] == m.t:
            size = m.system.prescribed * m.system.n
            copy(size, m.masses[END * size :], m.masses[BEGIN * size :])
            m.masses_at[BEGIN] = m.t
        else:
            find_matrices(m, m.y)
            keep_masses(m)
    find_matrices(m, m.y_new)
    _note(m, END, m.t + m.h)


@kernel
def _speed(m: ExponentialState, c: int, t: float) -> float:
    """Return the rate of the prescribed coordinate c at time t [s]."""
    value: float = channel(m.system, m.system.inputs + m.system.wrenches + c, t, 1)
    return value


@kernel
def moves_past(m: ExponentialState) -> int:
    """Return 1 if modes oscillate within a step while prescribed coordinates move; else 0."""
    oscillates = 0
    for r in range(m.system.n):
        if m.squares[r] * m.h * m.h > 1.0:
            oscillates = 1
    if oscillates == 1:
        for c in range(m.system.prescribed):
            for k in range(3):
                if _speed(m, c, m.t + 0.5 * k * m.h) != 0.0:
                    return 1
    return 0


@kernel
def _find_pulls(m: ExponentialState, node: int, t: float, first_row: int, second_row: int) -> None:
    """Compute the pull of each fast mode: coupling mass times prescribed rates.

    The argument ``node`` is the row of ``pulls`` to fill (begin, middle or end of the step), and t
    [s] is the time there. Coupling masses are the mean of the stored rows ``first_row`` and
    ``second_row``.
    """
    n = m.system.n
    prescribed = m.system.prescribed
    clear(n, m.scratch)
    for c in range(prescribed):
        half_rate = 0.5 * _speed(m, c, t)
        for i in range(n):
            entry = m.masses[(first_row * prescribed + c) * n + i]
            m.scratch[i] += half_rate * (entry + m.masses[(second_row * prescribed + c) * n + i])
    for r in range(n):
        pull = 0.0
        if m.squares[r] * m.h * m.h > 1.0:
            for i in range(n):
                pull += m.modes[r * n + i] * m.scratch[i]
        m.pulls[node * n + r] = pull


@kernel
def _pulled(m: ExponentialState, fraction: float, swings: Array) -> float:
    """Return the power [W] that prescribed coordinates transfer to fast modes.

    The argument ``fraction`` is the time as a fraction of the step, and ``swings`` contains the
    modal accelerations at this time, (n,).
    """
    n = m.system.n
    power = 0.0
    for r in range(n):
        pull = (1.0 - fraction) * (1.0 - 2.0 * fraction) * m.pulls[r]
        pull += 4.0 * fraction * (1.0 - fraction) * m.pulls[n + r]
        pull += fraction * (2.0 * fraction - 1.0) * m.pulls[2 * n + r]
        power += pull * swings[r]
    return power


@kernel
def replace_coupling_work(m: ExponentialState) -> None:
    """Replace the fast modes' part of the work in a trial step by its exact integral."""
    n = m.system.n
    extra = m.size - 2 * n
    _find_masses(m)
    _find_pulls(m, AT_BEGIN, m.t, BEGIN, BEGIN)
    _find_pulls(m, AT_MIDDLE, m.t + 0.5 * m.h, BEGIN, END)
    _find_pulls(m, AT_END, m.t + m.h, END, END)
    gain = 0.0
    for k in range(STAGES):
        pulled = _pulled(m, m.nodes[k], m.swings[k * n :])
        m.p[k * extra + PRESCRIBED] -= pulled
        gain += m.weights[NEW * STAGES + k] * pulled
    m.y_new[2 * n + PRESCRIBED] += coupling_work(m, m.h, m.h) - m.h * gain


@kernel
def coupling_work_error(m: ExponentialState, errors: Array) -> float:
    """Return the error [J] of the work of prescribed coordinates, due to errors of modal rates."""
    n = m.system.n
    total = 0.0
    for r in range(n):
        total += abs(m.pulls[AT_END * n + r] * errors[n + r])
    return total


@kernel
def coefficient(m: ExponentialState, stage: int, power: int, r: int) -> float:
    """Return a coefficient of the polynomial that approximates the forcing g of mode r.

    The polynomial in the step fraction is the one used up to the given stage. The argument
    ``power`` selects the coefficient of that power.
    """
    total = 0.0
    for j in range(stage):
        factor = m.forces[(stage * STAGES + j) * POWERS + power]
        total += factor * m.g[j * m.system.n + r]
    return total


@kernel
def coupling_work(m: ExponentialState, h: float, tau: float) -> float:
    """Return the work [J] that prescribed coordinates do on fast modes until a time in a step.

    The time tau [s] counts from the begin of the step, h is the step length [s], and m.modal is the
    modal state at tau. The integral of pull times modal acceleration is evaluated by parts, with
    the pull as a parabola in time; the equation of the oscillator yields the integral of the modal
    displacement.
    """
    n = m.system.n
    z = tau / h
    work = 0.0
    for r in range(n):
        if m.squares[r] * h * h > 1.0:
            begin = m.pulls[r]
            middle = m.pulls[n + r]
            end = m.pulls[2 * n + r]
            first = (4.0 * middle - 3.0 * begin - end) / h
            second = 4.0 * (begin - 2.0 * middle + end) / (h * h)
            forcing_integral = 0.0
            for k in range(POWERS - 1, -1, -1):
                forcing_integral = z * (forcing_integral + coefficient(m, NEW, k, r) / (k + 1.0))
            x = m.modal[r]
            v = m.modal[n + r]
            area = (h * forcing_integral - (v - m.x[n + r]) - m.losses[r] * x) / m.squares[r]
            pull = begin + tau * (first + 0.5 * tau * second)
            work += pull * v - begin * m.x[n + r] - (first + tau * second) * x + second * area
    return work
