"""Work of prescribed coordinates, including the part of modes that oscillate within a step.

The force that moves a prescribed coordinate contains the accelerations of all modes, each times a
mass.  Few evaluations per step do not resolve modes that oscillate within the step, so the work of
such modes is integrated with their oscillators.  A pull is the coupling mass of a mode times the
rates of prescribed coordinates; it changes slowly, and is a parabola in time.
"""

from dataclasses import dataclass

from flexarm.integrate.methods.oscillator import POWERS
from flexarm.integrate.state import IntegratorState
from flexarm.integrate.system import PRESCRIBED, channel
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Ints, run_equations

BEGIN, END = 0, 1  # rows of `masses`
AT_BEGIN, AT_MIDDLE, AT_END = 0, 1, 2  # rows of `pulls`
STAGES = 7  # of a step: its begin, five more, and the new state
NEW, ERROR = 6, 7  # rows of the tableau: the new state, the error estimate


@dataclass(kw_only=True)
class ExponentialState(IntegratorState):
    """Record of a run by an exponential Runge-Kutta method."""

    # matrices, matrix_table, mass, stiffness, damping: address and pointer table of the compiled
    # matrices; mass, stiffness and damping matrix, (n, n) each.
    matrices: int
    matrix_table: Ints
    # matrix_q, matrix_v: coordinates and rates at which the matrices are evaluated.
    matrix_q: Array
    matrix_v: Array
    mass: Array
    stiffness: Array
    damping: Array
    # renewal, age: step attempts between renewals of the modes, and attempts since the last
    # renewal.
    renewal: int
    age: int
    # modes, inverse, squares, losses: modes by rows and their inverse, (n, n) each; squared
    # frequencies; damping rates.
    modes: Array
    inverse: Array
    squares: Array
    losses: Array
    measured: Array  # modes by rows, in coordinates of the error measure, (n, n)
    # forces, weights, nodes: by stage and, in the last rows, of the new state and the error:
    # coefficients of the polynomials that interpolate g, (8, 7, powers); their integrals, (8, 7);
    # nodes as fractions of the step, (8,).
    forces: Array
    weights: Array
    nodes: Array
    # table_h, answers, part: step length for which oscillator responses are tabulated; responses at
    # its quarters, (4, n, responses); responses at one more time.
    table_h: float
    answers: Array
    part: Array
    # masses, masses_at: mass matrix rows of prescribed coordinates at the step's begin and end, (2,
    # known, n), and these times [s].
    masses: Array
    masses_at: Array
    # passed, pulls, swings: 1 if modes oscillate within the step while prescribed coordinates move;
    # pulls at the step's begin, middle and end, (3, n): factors of modal accelerations in the power
    # of prescribed coordinates; modal accelerations at the stages, (7, n).
    passed: int
    pulls: Array
    swings: Array
    servoed: int  # 1 with servos: powers are also evaluated in mid-step
    # x, g, p: modal state at the step's begin, (2n,), whose first half is 0; modal forcing at the
    # stages and the new state, (7, n); rates of works and of servo states there, where the power of
    # prescribed coordinates excludes pulls.
    x: Array
    g: Array
    p: Array
    ended: Array  # modal state at the end of the last trial, from its begin, (2n,)
    # modal, trial, k, e, room: a modal state or error; a trial state; rates of the state; an error
    # in coordinates of the error measure; work array for the eigenproblem.
    modal: Array
    trial: Array
    k: Array
    e: Array
    room: Array
    renewals: int  # number of modal bases computed so far


@kernel
def find_matrices(m: ExponentialState, y: Array) -> None:
    """Compute the mass, stiffness and damping matrices at the state y."""
    n = m.system.n
    for i in range(n):
        m.matrix_q[i] = y[i]
        m.matrix_v[i] = y[n + i]
    run_equations(m.matrices, m.matrix_table)


@kernel
def _note(m: ExponentialState, row: int, t: float) -> None:
    """Store the present mass matrix rows of prescribed coordinates as the rows at time t [s].

    ``row`` is BEGIN or END of the step.
    """
    n = m.system.n
    for c in range(m.system.known):
        k = m.system.coordinates[c]
        for i in range(n):
            m.masses[(row * m.system.known + c) * n + i] = m.mass[k * n + i]
    m.masses_at[row] = t


@kernel
def keep_masses(m: ExponentialState) -> None:
    """Store the present mass matrix rows of prescribed coordinates for the step's begin."""
    _note(m, BEGIN, m.t)


@kernel
def _find_masses(m: ExponentialState) -> None:
    """Compute the mass matrix rows of prescribed coordinates at both ends of the step.

    Rows at the begin are reused if the last step ended there.
    """
    if m.masses_at[BEGIN] != m.t:
        if m.masses_at[END] == m.t:
            size = m.system.known * m.system.n
            for i in range(size):
                m.masses[BEGIN * size + i] = m.masses[END * size + i]
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
    """Return 1 if modes oscillate within the step while prescribed coordinates move, else 0."""
    swings = 0
    for r in range(m.system.n):
        if m.squares[r] * m.h * m.h > 1.0:
            swings = 1
    if swings == 1:
        for c in range(m.system.known):
            for k in range(3):
                if _speed(m, c, m.t + 0.5 * k * m.h) != 0.0:
                    return 1
    return 0


@kernel
def _find_pulls(m: ExponentialState, node: int, t: float, one: int, other: int) -> None:
    """Compute the pull of each fast mode: coupling mass times rates of prescribed coordinates.

    ``node`` selects the row of pulls (begin, middle or end of the step) and t [s] is the time
    there. Masses are the mean of the stored rows ``one`` and ``other``.
    """
    n = m.system.n
    known = m.system.known
    for i in range(n):
        m.room[i] = 0.0
    for c in range(known):
        half = 0.5 * _speed(m, c, t)
        for i in range(n):
            here = m.masses[(one * known + c) * n + i]
            m.room[i] += half * (here + m.masses[(other * known + c) * n + i])
    for r in range(n):
        pull = 0.0
        if m.squares[r] * m.h * m.h > 1.0:
            for i in range(n):
                pull += m.modes[r * n + i] * m.room[i]
        m.pulls[node * n + r] = pull


@kernel
def _pulled(m: ExponentialState, part: float, swings: Array) -> float:
    """Return the power of prescribed coordinates due to accelerations of fast modes.

    ``part`` is the fraction of the step, and ``swings`` contains the modal accelerations, (n,).
    """
    n = m.system.n
    power = 0.0
    for r in range(n):
        pull = (1.0 - part) * (1.0 - 2.0 * part) * m.pulls[r]
        pull += 4.0 * part * (1.0 - part) * m.pulls[n + r]
        pull += part * (2.0 * part - 1.0) * m.pulls[2 * n + r]
        power += pull * swings[r]
    return power


@kernel
def take_pulls_off(m: ExponentialState) -> None:
    """Replace the work due to fast modes in a trial step, a stage sum, by an exact integral."""
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
    m.y_new[2 * n + PRESCRIBED] += pulled_work(m, m.h, m.h) - m.h * gain


@kernel
def pulled_error(m: ExponentialState, errors: Array) -> float:
    """Return the error of the work of prescribed coordinates due to errors of modal rates."""
    n = m.system.n
    total = 0.0
    for r in range(n):
        total += abs(m.pulls[AT_END * n + r] * errors[n + r])
    return total


@kernel
def coefficient(m: ExponentialState, stage: int, power: int, r: int) -> float:
    """Return a coefficient of the polynomial for the forcing g of mode r up to a stage.

    ``power`` is the power of the step fraction.
    """
    total = 0.0
    for j in range(stage):
        factor = m.forces[(stage * STAGES + j) * POWERS + power]
        total += factor * m.g[j * m.system.n + r]
    return total


@kernel
def pulled_work(m: ExponentialState, h: float, tau: float) -> float:
    """Return the work of prescribed coordinates due to fast modes, from a step's begin to time tau.

    tau counts from the step's begin, m.modal is the modal state at tau, and h the step length.
    Integrated by parts: a pull is a parabola in time, and the oscillator equation gives the
    integral of the modal displacement.
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
            driven = 0.0
            for k in range(POWERS - 1, -1, -1):
                driven = z * (driven + coefficient(m, NEW, k, r) / (k + 1.0))
            x = m.modal[r]
            v = m.modal[n + r]
            area = (h * driven - (v - m.x[n + r]) - m.losses[r] * x) / m.squares[r]
            here = begin + tau * (first + 0.5 * tau * second)
            work += here * v - begin * m.x[n + r] - (first + tau * second) * x + second * area
    return work
