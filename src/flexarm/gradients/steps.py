"""Given steps of an explicit Runge-Kutta method in compiled loops: forward, tangents, adjoint.

The discrete motion itself is differentiated: what comes out is exact for the steps that are taken.
"""

from dataclasses import dataclass

from flexarm.integrate.system import PIECE, System, drive, enter_pieces, prescribe, rates, rounding
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Ints, Record, run_equations
from flexarm.loops.sums import weigh


@dataclass(kw_only=True)
class Steps(Record):
    """A motion in given steps.

    Attributes
    ----------
    system
        Rates of the state and what drives it.
    size, stages, width
        Of the state; stages of the method; columns of its table ``a``.
    a, b, c
        The method's table.
    count, times
        Number of steps, and their ends [s], (count + 1,).
    ends_at
        Which sample is at each of these times, -1 if none.
    samples
        States at the samples, (T, size).
    every, saved
        Steps between checkpoints, and the states there.
    y, k, trial, places
        State, rates at the stages of a step, their sum, and states at the stages of as many steps
        as lie between checkpoints.
    """

    system: System
    size: int
    stages: int
    width: int
    a: Array
    b: Array
    c: Array
    count: int
    times: Array
    ends_at: Ints
    samples: Array
    every: int
    saved: Array
    y: Array
    k: Array
    trial: Array
    places: Array


@dataclass(kw_only=True)
class Tangents(Steps):
    """Tangents of a motion along given directions of numbers and starts.

    Attributes
    ----------
    columns, numbers
        How many directions, and of how many numbers.
    equations, table
        The pushed rates.
    tangent, pulse, direction, change
        Their inputs and output.
    directions, pulses, tangents, tangent_samples
        By column: of the numbers; of the inputs, the same at all times; of the state now; of the
        state at the samples, (T, columns, size).
    slopes
        Tangents of the rates at the stages, (stages, columns, size).
    """

    columns: int
    numbers: int
    equations: int
    table: Ints
    tangent: Array
    pulse: Array
    direction: Array
    change: Array
    directions: Array
    pulses: Array
    tangents: Array
    tangent_samples: Array
    slopes: Array


@dataclass(kw_only=True)
class Adjoint(Steps):
    """The adjoint of a motion: how a function of its samples changes with all that it depends on.

    Attributes
    ----------
    numbers
        How many there are.
    equations, table
        The pulled rates.
    weight, by_state, by_input, by_number
        Their input and outputs.
    seeds
        Derivatives of the function by the states at the samples, (T, size).
    adjoint
        By the state now, and at the end by the start.
    back
        Of the stages, (stages, size).
    share
        Of one stage.
    nodes, interval
        Times of the samples, and the interval between them that each step lies in.
    by_numbers, by_inputs
        What was found: (numbers,), and by the inputs at the samples, (T, inputs), lines between.
    """

    numbers: int
    equations: int
    table: Ints
    weight: Array
    by_state: Array
    by_input: Array
    by_number: Array
    seeds: Array
    adjoint: Array
    back: Array
    share: Array
    nodes: Array
    interval: Ints
    by_numbers: Array
    by_inputs: Array


@kernel
def leave_pieces(s: System, t: float) -> None:
    """Go back to the piece of every channel that is in force from t on."""
    for c in range(s.channels):
        k = s.current[c]
        while k > s.first[c] and s.pieces[k * PIECE] > t:
            k -= 1
        s.current[c] = k


@kernel
def step(s: Steps, j: int, places: Array) -> None:
    """Take step j, and leave the states at its stages."""
    t = s.times[j]
    h = s.times[j + 1] - t
    enter_pieces(s.system, t + rounding(t))
    for i in range(s.stages):
        weigh(i, s.size, s.k, s.a[i * s.width :], s.trial)
        for r in range(s.size):
            places[i * s.size + r] = s.y[r] + h * s.trial[r]
        rates(s.system, t + s.c[i] * h, places[i * s.size :], s.k[i * s.size :])
    weigh(s.stages, s.size, s.k, s.b, s.trial)
    for r in range(s.size):
        s.y[r] += h * s.trial[r]
    prescribe(s.system, s.times[j + 1], s.y)


@kernel
def keep(s: Steps, j: int) -> None:
    """Keep the state at the begin of step j where a sample is."""
    if s.ends_at[j] >= 0:
        for r in range(s.size):
            s.samples[s.ends_at[j] * s.size + r] = s.y[r]


@kernel
def advance(s: Steps) -> None:
    """Take all steps, with checkpoints."""
    prescribe(s.system, s.times[0], s.y)
    for j in range(s.count):
        keep(s, j)
        if j % s.every == 0:
            for r in range(s.size):
                s.saved[j // s.every * s.size + r] = s.y[r]
        step(s, j, s.places)
    keep(s, s.count)


@kernel
def hold_known(s: Steps, y: Array) -> None:
    """Clear what belongs to prescribed coordinates, which nothing changes."""
    for c in range(s.system.known):
        y[s.system.coordinates[c]] = 0.0
        y[s.system.n + s.system.coordinates[c]] = 0.0


@kernel
def push_stage(s: Tangents, i: int, h: float) -> None:
    """Push all tangents through the rates at a stage, at which the equations are."""
    n = s.system.n
    block = s.columns * s.size
    for column in range(s.columns):
        own = column * s.size
        for r in range(s.size):
            total = 0.0
            for j in range(i):
                total += s.a[i * s.width + j] * s.slopes[j * block + own + r]
            s.tangent[r] = s.tangents[own + r] + h * total
        hold_known(s, s.tangent)
        for r in range(s.numbers):
            s.direction[r] = s.directions[column * s.numbers + r]
        for r in range(s.system.inputs):
            s.pulse[r] = s.pulses[column * s.system.inputs + r]
        run_equations(s.equations, s.table)
        at = i * block + own
        for r in range(n):
            s.slopes[at + r] = s.tangent[n + r]
        for r in range(s.size - n):
            s.slopes[at + n + r] = s.change[r]


@kernel
def keep_tangents(s: Tangents, j: int) -> None:
    """Keep the tangents at the begin of step j where a sample is."""
    block = s.columns * s.size
    if s.ends_at[j] >= 0:
        for r in range(block):
            s.tangent_samples[s.ends_at[j] * block + r] = s.tangents[r]


@kernel
def push(s: Tangents) -> None:
    """Take all steps together with their tangents."""
    block = s.columns * s.size
    prescribe(s.system, s.times[0], s.y)
    for column in range(s.columns):
        hold_known(s, s.tangents[column * s.size :])
    for j in range(s.count):
        keep(s, j)
        keep_tangents(s, j)
        t = s.times[j]
        h = s.times[j + 1] - t
        enter_pieces(s.system, t + rounding(t))
        for i in range(s.stages):
            weigh(i, s.size, s.k, s.a[i * s.width :], s.trial)
            for r in range(s.size):
                s.places[r] = s.y[r] + h * s.trial[r]
            rates(s.system, t + s.c[i] * h, s.places, s.k[i * s.size :])
            push_stage(s, i, h)
        weigh(s.stages, s.size, s.k, s.b, s.trial)
        for r in range(s.size):
            s.y[r] += h * s.trial[r]
        for i in range(s.stages):
            for r in range(block):
                s.tangents[r] += h * s.b[i] * s.slopes[i * block + r]
        prescribe(s.system, s.times[j + 1], s.y)
        for column in range(s.columns):
            hold_known(s, s.tangents[column * s.size :])
    keep(s, s.count)
    keep_tangents(s, s.count)


@kernel
def sow(s: Adjoint, j: int) -> None:
    """Add what the function sees of the state at the begin of step j."""
    if s.ends_at[j] >= 0:
        for r in range(s.size):
            s.adjoint[r] += s.seeds[s.ends_at[j] * s.size + r]


@kernel
def pull_stage(s: Adjoint, j: int, i: int, place: Array) -> None:
    """Pull the adjoint back through the rates at stage i of step j."""
    n = s.system.n
    h = s.times[j + 1] - s.times[j]
    t = s.times[j] + s.c[i] * h
    for r in range(s.size):
        total = s.b[i] * s.adjoint[r]
        for later in range(i + 1, s.stages):
            total += s.a[later * s.width + i] * s.back[later * s.size + r]
        s.share[r] = h * total
    drive(s.system, t)
    for r in range(n):
        s.system.q[r] = place[r]
        s.system.v[r] = place[n + r]
    for r in range(s.system.states):
        s.system.x[r] = place[2 * n + r]
    for r in range(s.size - n):
        s.weight[r] = s.share[n + r]
    run_equations(s.equations, s.table)
    for r in range(s.size):
        s.back[i * s.size + r] = s.by_state[r]
    for r in range(n):
        s.back[i * s.size + n + r] += s.share[r]
    hold_known(s, s.back[i * s.size :])
    for r in range(s.numbers):
        s.by_numbers[r] += s.by_number[r]
    node = s.interval[j]
    late = (t - s.nodes[node]) / (s.nodes[node + 1] - s.nodes[node])
    count = s.system.inputs
    for r in range(count):
        s.by_inputs[node * count + r] += (1.0 - late) * s.by_input[r]
        s.by_inputs[(node + 1) * count + r] += late * s.by_input[r]


@kernel
def pull_step(s: Adjoint, j: int, places: Array) -> None:
    """Pull the adjoint back over step j, whose stages are known."""
    t = s.times[j]
    leave_pieces(s.system, t + rounding(t))
    hold_known(s, s.adjoint)
    for back in range(s.stages):
        i = s.stages - 1 - back
        pull_stage(s, j, i, places[i * s.size :])
    for i in range(s.stages):
        for r in range(s.size):
            s.adjoint[r] += s.back[i * s.size + r]


@kernel
def pull(s: Adjoint) -> None:
    """Pull the adjoint back over all steps, from checkpoint to checkpoint."""
    block = s.stages * s.size
    segments = (s.count + s.every - 1) // s.every
    sow(s, s.count)
    for back in range(segments):
        first = (segments - 1 - back) * s.every
        last = min(first + s.every, s.count)
        for r in range(s.size):
            s.y[r] = s.saved[first // s.every * s.size + r]
        leave_pieces(s.system, s.times[first])
        for j in range(first, last):
            step(s, j, s.places[(j - first) * block :])
        for behind in range(last - first):
            j = last - 1 - behind
            pull_step(s, j, s.places[(j - first) * block :])
            sow(s, j)
    hold_known(s, s.adjoint)
