"""A run by an exponential Runge-Kutta method, and what it keeps of a step."""

from dataclasses import dataclass

from flexarm.integrate.march import March
from flexarm.loops.language import Array, Ints


@dataclass(kw_only=True)
class ExponentialMarch(March):
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
    # table_h, half, whole, part: step for which the oscillators' responses are tabulated, at half
    # and whole step, (n, 5) each; room for one more.
    table_h: float
    half: Array
    whole: Array
    part: Array
    # masses, masses_at: rows of the mass matrix of prescribed coordinates at the begin of the last
    # step, of this one and at its end (3, known, n), and these times.
    masses: Array
    masses_at: Array
    # passed, pulls, swings: whether modes swing within the step while prescribed coordinates move;
    # what their accelerations add to the power of these, each by its own, at the step's begin,
    # middle, end and elsewhere (4, n); their accelerations at its begin, two midpoints, end (4, n).
    passed: int
    pulls: Array
    swings: Array
    servoed: int  # whether servos drive it: powers are found in the middle of steps too
    # x, g, p: modal state at the step's begin (2n), its first half 0; g at its begin, two
    # midpoints, end and new state (5, n); rates of works and servos' states likewise,
    # of works of prescribed coordinates without pulls.
    x: Array
    g: Array
    p: Array
    # before, ended: g at the last step's begin, seen from its end (n); modal state at the end of
    # the last trial, from its begin (2n).
    before: Array
    ended: Array
    # modal, stages, trial, k, e, room: a modal state or error, the stages' error in modes, a state,
    # its rates or the stages' error, an error, these two in the modes that errors are measured in,
    # and room for the eigenproblem.
    modal: Array
    stages: Array
    trial: Array
    k: Array
    e: Array
    room: Array
    renewals: int  # number of bases so far
