"""The rates of a motion in compiled code: inputs and prescribed motions by their pieces, equations.

The state is y = (q, v, work, impulse, x): n coordinates, n rates, what inputs, wrenches and
prescribed coordinates have put in and what was dissipated so far [J], of a free base the impulse
[N s] and angular impulse [N m s] of outer forces so far, and the states of servos.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Ints, Record, run_equations

WORKS = 4
IMPULSES = 6  # of outer forces and of their torques about the world's origin
PRESCRIBED = 2  # of the works: what prescribed coordinates have put in
PIECE = 9  # numbers in a row of flexarm.model.profiles.pieces
# Times this near are one instant: of the time itself, which is at least so many seconds.
ROUNDING, SOON = 1e-12, 1e-9


@dataclass
class System(Record):
    """An arm's rates of change, and the functions of time that drive it."""

    # n, channels: number of coordinates and of functions of time: inputs, wrench factors,
    # prescribed motions, targets of servos.
    n: int
    channels: int
    # inputs, wrenches, known, targets, works, states: how many channels of each kind, how many
    # integrals of powers and outer forces, and states of servos.
    inputs: int
    wrenches: int
    known: int
    targets: int
    works: int
    states: int
    energies: int  # how many of these integrals are energies: errors are measured in them
    # equations, table: address of the compiled equations and the table of the pointers that they
    # take.
    equations: int
    table: Ints
    # time, q, v, u, w, given, r, x, a, power, dx: their inputs and outputs; r holds the targets and
    # after them their rates.
    time: Array
    q: Array
    v: Array
    u: Array
    w: Array
    given: Array
    r: Array
    x: Array
    a: Array
    power: Array
    dx: Array
    coordinates: Ints  # indices of the prescribed coordinates
    # pieces, first, current: rows of all channels, the first of each channel (and the end), the one
    # in force.
    pieces: Array
    first: Ints
    current: Ints
    evaluations: int  # calls of the equations so far


@kernel
def rounding(t: float) -> float:
    """Return the time [s] about t that is one instant."""
    return ROUNDING * max(abs(t), SOON)


instant: Callable[[float], float] = rounding.python  # in Python, which loads no code for it


@kernel
def enter_pieces(s: System, t: float) -> None:
    """Select the piece of every function of time that holds from t on."""
    for c in range(s.channels):
        k = s.current[c]
        while k + 1 < s.first[c + 1] and s.pieces[(k + 1) * PIECE] <= t:
            k += 1
        s.current[c] = k


@kernel
def channel(s: System, c: int, t: float, order: int) -> float:
    """Evaluate a channel's value (order 0), rate (1) or acceleration (2)."""
    row = s.current[c] * PIECE
    x = t - s.pieces[row + 1]
    size = s.pieces[row + 6]
    rate = s.pieces[row + 7]
    value: float = 0.0
    if order == 0:
        value = s.pieces[row + 2] + x * (
            s.pieces[row + 3] + x * (s.pieces[row + 4] + x * s.pieces[row + 5])
        )
        if size != 0.0:
            value += size * math.sin(rate * x + s.pieces[row + 8])
    elif order == 1:
        value = s.pieces[row + 3] + x * (2.0 * s.pieces[row + 4] + x * 3.0 * s.pieces[row + 5])
        if size != 0.0:
            value += size * rate * math.cos(rate * x + s.pieces[row + 8])
    else:
        value = 2.0 * s.pieces[row + 4] + 6.0 * s.pieces[row + 5] * x
        if size != 0.0:
            value -= size * rate * rate * math.sin(rate * x + s.pieces[row + 8])
    return value


@kernel
def moving(s: System) -> int:
    """Return 1 if any function of time changes within its piece."""
    for c in range(s.channels):
        for k in range(3, 7):
            if s.pieces[s.current[c] * PIECE + k] != 0.0:
                return 1
    return 0


@kernel
def drive(s: System, t: float) -> None:
    """Evaluate inputs, wrench factors and prescribed accelerations."""
    s.time[0] = t
    for c in range(s.inputs):
        s.u[c] = channel(s, c, t, 0)
    for c in range(s.wrenches):
        s.w[c] = channel(s, s.inputs + c, t, 0)
    for c in range(s.known):
        s.given[c] = channel(s, s.inputs + s.wrenches + c, t, 2)
    for c in range(s.targets):
        k = s.inputs + s.wrenches + s.known + c
        s.r[c] = channel(s, k, t, 0)
        s.r[s.targets + c] = channel(s, k, t, 1)


@kernel
def prescribe(s: System, t: float, y: Array) -> None:
    """Set prescribed coordinates and rates to their given motions."""
    for c in range(s.known):
        k = s.coordinates[c]
        y[k] = channel(s, s.inputs + s.wrenches + c, t, 0)
        y[s.n + k] = channel(s, s.inputs + s.wrenches + c, t, 1)


@kernel
def rates(s: System, t: float, y: Array, f: Array) -> None:
    """Compute the rate of the state y at t; prescribed coordinates in y are put right."""
    n = s.n
    drive(s, t)
    prescribe(s, t, y)
    for i in range(n):
        s.q[i] = y[i]
        s.v[i] = y[n + i]
    last = 2 * n + s.works
    for i in range(s.states):
        s.x[i] = y[last + i]
    run_equations(s.equations, s.table)
    for i in range(n):
        f[i] = y[n + i]
        f[n + i] = s.a[i]
    for i in range(s.works):
        f[2 * n + i] = s.power[i]
    for i in range(s.states):
        f[last + i] = s.dx[i]
    s.evaluations += 1
