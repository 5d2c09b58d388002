"""Time derivative of an arm's state in compiled code, with its functions of time.

The state is y = (q, v, work, impulse, x): n coordinates, n rates, work integrals [J] since the
start (of inputs, wrenches, prescribed coordinates and dissipation), for a free base the impulse [N
s] and the angular impulse [N m s] of outer forces since the start, and actuator states.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from flexarm.integrate.constants import INSTANT_ROUNDING, INSTANT_SCALE
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Ints, Record, run_equations
from flexarm.loops.sums import copy

WORKS = 4  # integrals: works of inputs, wrenches and prescribed coordinates, and dissipated energy
IMPULSES = 6  # components of impulse and angular impulse of outer forces
PRESCRIBED = 2  # index, among the work integrals, of the work of prescribed coordinates
PIECE = 9  # columns of flexarm.model.profiles.pieces


@dataclass
class System(Record):
    """Compiled equations of motion of an arm with argument arrays and functions of time."""

    n: int  # number of coordinates
    channels: int  # number of functions of time, of all kinds
    # inputs, wrenches, prescribed, targets: number of functions of time (channels) of each kind.
    inputs: int
    wrenches: int
    prescribed: int
    targets: int
    work_integrals: int  # number of integrals of powers and of outer forces
    states: int  # number of actuator states
    energies: int  # number of work integrals that are energies, whose errors are controlled
    equations: int  # address of the compiled equations
    table: Ints  # pointer table of the equations
    # Inputs of the equations: time [s], coordinates, rates, inputs of joints, wrench factors,
    # prescribed accelerations, targets followed by target rates, actuator states.
    time: Array
    q: Array
    v: Array
    u: Array
    w: Array
    prescribed_a: Array
    r: Array
    x: Array
    # Outputs of the equations: accelerations, powers [W], rates of the actuator states.
    a: Array
    power: Array
    dx: Array
    coordinates: Ints  # indices of the prescribed coordinates
    pieces: Array  # pieces of all channels, one row of PIECE numbers each
    first: Ints  # index of the first piece of each channel, then the number of pieces
    current: Ints  # index of the piece of each channel that is valid now
    evaluations: int  # calls of the equations so far


@kernel
def rounding(t: float) -> float:
    """Return the time difference [s] below which times near t count as one instant."""
    return INSTANT_ROUNDING * max(abs(t), INSTANT_SCALE)


instant: Callable[[float], float] = rounding.python  # in Python, without compiled code


@kernel
def enter_pieces(s: System, t: float) -> None:
    """Select the piece of each function of time (channel) that is valid from t on.

    The search for the piece starts at the current one and may go forwards or backwards in time.
    """
    for c in range(s.channels):
        k = s.current[c]
        while k > s.first[c] and s.pieces[k * PIECE] > t:
            k -= 1
        while k + 1 < s.first[c + 1] and s.pieces[(k + 1) * PIECE] <= t:
            k += 1
        s.current[c] = k


@kernel
def channel(s: System, c: int, t: float, order: int) -> float:
    """Return value (order 0), rate (1) or acceleration (2) of function of time c at t [s]."""
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
    """Return 1 if any function of time varies within its current piece, else 0."""
    for c in range(s.channels):
        for k in range(3, 7):
            if s.pieces[s.current[c] * PIECE + k] != 0.0:
                return 1
    return 0


@kernel
def drive(s: System, t: float) -> None:
    """Evaluate inputs, wrench factors, prescribed accelerations and targets at time t [s]."""
    s.time[0] = t
    for c in range(s.inputs):
        s.u[c] = channel(s, c, t, 0)
    for c in range(s.wrenches):
        s.w[c] = channel(s, s.inputs + c, t, 0)
    for c in range(s.prescribed):
        s.prescribed_a[c] = channel(s, s.inputs + s.wrenches + c, t, 2)
    for c in range(s.targets):
        k = s.inputs + s.wrenches + s.prescribed + c
        s.r[c] = channel(s, k, t, 0)
        s.r[s.targets + c] = channel(s, k, t, 1)


@kernel
def prescribe(s: System, t: float, y: Array) -> None:
    """Set prescribed coordinates and rates in the state y to their values at time t [s]."""
    for c in range(s.prescribed):
        k = s.coordinates[c]
        y[k] = channel(s, s.inputs + s.wrenches + c, t, 0)
        y[s.n + k] = channel(s, s.inputs + s.wrenches + c, t, 1)


@kernel
def enter_state(s: System, y: Array) -> None:
    """Copy coordinates, rates and actuator states of the state y to the equations' arguments."""
    copy(s.n, y, s.q)
    copy(s.n, y[s.n :], s.v)
    copy(s.states, y[2 * s.n + s.work_integrals :], s.x)


@kernel
def rates(s: System, t: float, y: Array, f: Array) -> None:
    """Compute the time derivative f of the state y at time t [s]."""
    n = s.n
    drive(s, t)
    prescribe(s, t, y)
    enter_state(s, y)
    run_equations(s.equations, s.table)
    copy(n, y[n:], f)
    copy(n, s.a, f[n:])
    copy(s.work_integrals, s.power, f[2 * n :])
    copy(s.states, s.dx, f[2 * n + s.work_integrals :])
    s.evaluations += 1
