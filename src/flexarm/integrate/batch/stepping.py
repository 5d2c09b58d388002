"""Equal Runge-Kutta steps of many arms whose inputs are held: no ranges, no samples, no watches."""

from dataclasses import dataclass

from flexarm.integrate.system import System, enter_pieces, prescribe, rates
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Record


@dataclass
class Stepper(Record):
    """Steps of one arm."""

    system: System  # its rates; its inputs are no channels, but come from outside
    # size, inputs, turned: length of the state y, number of inputs, and of the numbers of its
    # anchors.
    size: int
    inputs: int
    turned: int
    # h, steps: step [s], and how many are taken at a time.
    h: float
    steps: int
    # y, f, total, trial: state, rates, a sum of rates, a trial state.
    y: Array
    f: Array
    total: Array
    trial: Array
    # row, held: on a GPU the arm's time, state and anchors, and the inputs that are held.
    row: Array
    held: Array
    anchor: Array  # attitudes that angles of a free base and of balls are relative to


@dataclass
class Rank(Record):
    """Arms one after the other."""

    stepper: Stepper  # takes the steps
    count: int  # number of arms
    # rows, held: time, state and anchors of each, (count, 1 + size + turned), and inputs, (count,
    # inputs).
    rows: Array
    held: Array
    # entry, first, stride: the entry of the equations' table that points to an arm's numbers, where
    # those of the first are, and from one arm to the next [bytes]; entry -1 if all have the same.
    entry: int
    first: int
    stride: int


@kernel
def take_steps(s: Stepper, row: Array, held: Array) -> None:
    """Take an arm's steps, from its time and state."""
    t = row[0]
    h = s.h
    for i in range(s.size):
        s.y[i] = row[1 + i]
    for i in range(s.turned):
        s.anchor[i] = row[1 + s.size + i]
    for i in range(s.inputs):
        s.system.u[i] = held[i]
    for c in range(s.system.channels):
        s.system.current[c] = s.system.first[c]
    enter_pieces(s.system, t)
    for _ in range(s.steps):
        rates(s.system, t, s.y, s.f)
        for i in range(s.size):
            s.total[i] = s.f[i]
            s.trial[i] = s.y[i] + 0.5 * h * s.f[i]
        rates(s.system, t + 0.5 * h, s.trial, s.f)
        for i in range(s.size):
            s.total[i] += 2.0 * s.f[i]
            s.trial[i] = s.y[i] + 0.5 * h * s.f[i]
        rates(s.system, t + 0.5 * h, s.trial, s.f)
        for i in range(s.size):
            s.total[i] += 2.0 * s.f[i]
            s.trial[i] = s.y[i] + h * s.f[i]
        t += h
        rates(s.system, t, s.trial, s.f)
        for i in range(s.size):
            s.y[i] += h / 6.0 * (s.total[i] + s.f[i])
    prescribe(s.system, t, s.y)
    row[0] = t
    for i in range(s.size):
        row[1 + i] = s.y[i]


@kernel
def step_all(b: Rank) -> None:
    """Take the steps of all arms."""
    for k in range(b.count):
        if b.entry >= 0:
            b.stepper.system.table[b.entry] = b.first + k * b.stride
        width = 1 + b.stepper.size + b.stepper.turned
        take_steps(b.stepper, b.rows[k * width :], b.held[k * b.stepper.inputs :])


@kernel
def step_thread(s: Stepper) -> int:
    """Take the steps of a thread's arm; it goes on whenever it is asked to."""
    take_steps(s, s.row, s.held)
    return 0
