"""The work of prescribed coordinates, of which modes that swing within a step have a share.

The force that moves a prescribed coordinate contains the accelerations of all modes, each times a
mass.  A few values of it within a step tell nothing of a mode that swings there: the share of such
modes is integrated with their oscillators.  Masses and prescribed rates change slowly: their
products are parabolas in time.
"""

from dataclasses import dataclass

from flexarm.integrate.methods.oscillator import POWERS
from flexarm.integrate.state import IntegratorState
from flexarm.integrate.system import PRESCRIBED, channel
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Ints, run_equations

BEGIN, END = 0, 1  # rows of `masses`
AT_BEGIN, AT_MIDDLE, AT_END = 0, 1, 2  # rows of `pulls`
STAGES = 7  # of a step: where it begins, five within, and the new state
NEW, ERROR = 6, 7  # rows of the tableau: the new state, the error estimate


@dataclass(kw_only=True)
class ExponentialState(IntegratorState):
    """A run by an exponential Runge-Kutta method."""

    # matrices, matrix_table, mass, stiffness, damping: compiled mass, elastic and damping matrices,
    # and where they write them, (n, n).
    matrices: int
    matrix_table: Ints
    # matrix_q, matrix_v: where they read the state.
    matrix_q: Array
    matrix_v: Array
    mass: Array
    stiffness: Array
    damping: Array
    # renewal, age: tries of steps for which a basis is kept, and how many it has served.
    renewal: int
    age: int
    # modes, inverse, squares, losses: the basis and its inverse by rows (n, n), squared frequencies
    # and damping rates.
    modes: Array
    inverse: Array
    squares: Array
    losses: Array
    measured: Array  # the modes by rows, in those that errors are measured in, (n, n)
    # forces, weights, nodes: by stage and, in its last rows, of the new state and the error: the
    # polynomials that g is taken to be in between, by coefficients (8, 7, powers), their integrals
    # (8, 7), and parts of the step (8).
    forces: Array
    weights: Array
    nodes: Array
    # table_h, answers, part: step for which the oscillators' responses are tabulated, at its
    # quarters, (4, n, responses); room for one more.
    table_h: float
    answers: Array
    part: Array
    # masses, masses_at: rows of the mass matrix of prescribed coordinates at the step's begin and
    # its end (2, known, n), and these times.
    masses: Array
    masses_at: Array
    # passed, pulls, swings: whether modes swing within the step while prescribed coordinates move;
    # what their accelerations add to the power of these, each by its own, at the step's begin,
    # middle and end (3, n); their accelerations at the stages (7, n).
    passed: int
    pulls: Array
    swings: Array
    servoed: int  # whether servos drive it: powers are found in the middle of steps too
    # x, g, p: modal state at the step's begin (2n), its first half 0; g at the stages, the new
    # state among them (7, n); rates of works and servos' states likewise, of works of prescribed
    # coordinates without pulls.
    x: Array
    g: Array
    p: Array
    ended: Array  # modal state at the end of the last trial, from its begin (2n)
    # modal, trial, k, e, room: a modal state or error, a state, its rates, an error in the modes
    # that errors are measured in, and room for the eigenproblem.
    modal: Array
    trial: Array
    k: Array
    e: Array
    room: Array
    renewals: int  # number of bases so far


@kernel
def find_matrices(m: ExponentialState, y: Array) -> None:
    """Find mass, elastic and damping matrices at a state."""
    n = m.system.n
    for i in range(n):
        m.matrix_q[i] = y[i]
        m.matrix_v[i] = y[n + i]
    run_equations(m.matrices, m.matrix_table)


@kernel
def _note(m: ExponentialState, row: int, t: float) -> None:
    """Note the masses that were found last as those at a time."""
    n = m.system.n
    for c in range(m.system.known):
        k = m.system.coordinates[c]
        for i in range(n):
            m.masses[(row * m.system.known + c) * n + i] = m.mass[k * n + i]
    m.masses_at[row] = t


@kernel
def keep_masses(m: ExponentialState) -> None:
    """Keep the masses that were found last as those at the step's begin."""
    _note(m, BEGIN, m.t)


@kernel
def _find_masses(m: ExponentialState) -> None:
    """Find the masses at both ends of the step, where they are not known."""
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
    """Compute the rate of a prescribed coordinate."""
    value: float = channel(m.system, m.system.inputs + m.system.wrenches + c, t, 1)
    return value


@kernel
def moves_past(m: ExponentialState) -> int:
    """Return 1 if modes swing within the step while prescribed coordinates move."""
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
    """Find pulls at a time, by the mean of two rows of masses."""
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
    """Return the power that modes with these accelerations take at a part of the step."""
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
    """Replace the power of modal pulls at the stages of a trial step by its exact integral."""
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
    """Return what errors of modes make of the work of prescribed coordinates."""
    n = m.system.n
    total = 0.0
    for r in range(n):
        total += abs(m.pulls[AT_END * n + r] * errors[n + r])
    return total


@kernel
def coefficient(m: ExponentialState, stage: int, power: int, r: int) -> float:
    """Return g of a mode on the way to a stage, by a power of the part of the step."""
    total = 0.0
    for j in range(stage):
        factor = m.forces[(stage * STAGES + j) * POWERS + power]
        total += factor * m.g[j * m.system.n + r]
    return total


@kernel
def pulled_work(m: ExponentialState, h: float, tau: float) -> float:
    """Integrate what modes pull from the begin of a step of length h, to m.modal at tau.

    By parts: a pull is a parabola in time, and the equation of a mode gives the integral of x.
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
