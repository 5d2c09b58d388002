"""Given steps of a one-step method in compiled loops: forward, tangents, adjoint.

The discrete motion itself is differentiated: what comes out is exact for the steps that are taken.
A step adds accelerations at its stages up, with weights by which they enter positions and rates;
in the modes of an exponential method, which are held, each mode has weights of its own.
"""

from dataclasses import dataclass

from flexarm.integrate.loop import FINISHED, march
from flexarm.integrate.march import March
from flexarm.integrate.methods.oscillator import RESPONSES, double_time, responses
from flexarm.integrate.system import PIECE, System, drive, enter_pieces, prescribe, rates, rounding
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Ints, Record, run_equations
from flexarm.loops.sums import weigh, weigh_both


@dataclass(kw_only=True)
class Steps(Record):
    """A motion in given steps.

    Attributes
    ----------
    system
        Rates of the state and what drives it.
    size, stages
        Of the state; stages of the method.
    a, squared, c
        The method's table and its square, (stages + 1, stages) each with the new state as the last
        row, and times of the stages.
    count, times, lengths
        Number of steps, their ends [s], (count + 1,), and lengths [s], those of one length alike.
    basis, bases
        Which modes each step is taken in, -1 if in none; by basis modes and their inverse (n, n),
        squared frequencies and damping rates, as `ExponentialMarch` has them.
    table_h, table_basis, swing, into
        Step and modes for which weights are tabulated: what becomes of the rate at the begin,
        (stages + 1, 2, n), and of accelerations at the stages, (stages + 1, stages, 2, n).
    ends_at
        Which sample is at each of these times, -1 if none.
    samples
        States at the samples, (T, size).
    every, saved
        Steps between checkpoints, and the states there.
    y, k, trial, places
        State, its rates, a trial, and states at the stages of as many steps as lie between
        checkpoints.
    x, g, p, modal, half
        In modes: rates at a step's begin, accelerations at its stages beside the oscillators' own;
        rates of further states there; a modal state; room for responses.
    """

    system: System
    size: int
    stages: int
    a: Array
    squared: Array
    c: Array
    count: int
    times: Array
    lengths: Array
    basis: Ints
    bases: Array
    table_h: float = 0.0
    table_basis: int = -1
    swing: Array
    into: Array
    ends_at: Ints
    samples: Array
    every: int
    saved: Array
    y: Array
    k: Array
    trial: Array
    places: Array
    x: Array
    g: Array
    p: Array
    modal: Array
    half: Array


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
    x_along, g_along, p_along
        Tangents of x, g and p, (columns, ...) each.
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
    x_along: Array
    g_along: Array
    p_along: Array


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
    x_back, g_back, p_back, share
        By x, g and p, and by the state at a stage.
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
    x_back: Array
    g_back: Array
    p_back: Array
    share: Array
    nodes: Array
    interval: Ints
    by_numbers: Array
    by_inputs: Array


@kernel
def record(m: March, tries: int, ends: Array) -> int:
    """Try so many steps of a run, and note the ends of those it takes; -1 if it stops."""
    count = 0
    m.budget = 1
    for _ in range(tries):
        t = m.t
        if march(m) > FINISHED:
            return -1
        if m.t > t:
            ends[count] = m.t
            count += 1
    return count


@kernel
def leave_pieces(s: System, t: float) -> None:
    """Go back to the piece of every channel that is in force from t on."""
    for c in range(s.channels):
        k = s.current[c]
        while k > s.first[c] and s.pieces[k * PIECE] > t:
            k -= 1
        s.current[c] = k


@kernel
def tabulate(s: Steps, j: int) -> None:
    """Tabulate the weights of step j."""
    h = s.lengths[j]
    n = s.system.n
    if h == s.table_h and s.basis[j] == s.table_basis:
        return
    s.table_h = h
    s.table_basis = s.basis[j]
    for i in range(s.stages + 1):
        for r in range(n):
            s.swing[2 * i * n + r] = s.c[i] * h
            s.swing[(2 * i + 1) * n + r] = 1.0
        for e in range(s.stages):
            at = i * s.stages + e
            for r in range(n):
                s.into[2 * at * n + r] = h * h * s.squared[at]
                s.into[(2 * at + 1) * n + r] = h * s.a[at]
    if s.table_basis >= 0:
        own = s.bases[s.table_basis * (2 * n * n + 2 * n) + 2 * n * n :]
        for r in range(n):
            responses(own[r], own[n + r], 0.5 * h, s.half)
            weigh_mode(s, h, r)
            double_time(own[r], own[n + r], 0.5 * h, s.half)
            weigh_mode_late(s, h, r)


@kernel
def put(s: Steps, i: int, e: int, r: int, place: float, rate: float) -> None:
    """Set the weights of stage e in row i of mode r."""
    n = s.system.n
    at = 2 * (i * s.stages + e) * n + r
    s.into[at] = place
    s.into[at + n] = rate


@kernel
def weigh_mode(s: Steps, h: float, r: int) -> None:
    """Set a mode's weights at the midpoints (Krogstad 2005), from its responses until there."""
    n = s.system.n
    x1 = s.half[2]
    x2 = 4.0 / h * s.half[3]
    v2 = 4.0 / h * x1
    for i in range(1, 3):
        s.swing[2 * i * n + r] = s.half[0]
        s.swing[(2 * i + 1) * n + r] = s.half[1]
    put(s, 1, 0, r, x1, s.half[0])
    put(s, 2, 0, r, x1 - x2, s.half[0] - v2)
    put(s, 2, 1, r, x2, v2)


@kernel
def weigh_mode_late(s: Steps, h: float, r: int) -> None:
    """Set a mode's weights at the end of the step, from its responses until there."""
    n = s.system.n
    for i in range(3, 5):
        s.swing[2 * i * n + r] = s.half[0]
        s.swing[(2 * i + 1) * n + r] = s.half[1]
    x1 = s.half[2]
    x2 = s.half[3] / h
    v2 = x1 / h
    x3 = 4.0 * s.half[4] / (h * h)
    v3 = 4.0 * s.half[3] / (h * h)
    put(s, 3, 0, r, x1 - 2.0 * x2, s.half[0] - 2.0 * v2)
    put(s, 3, 2, r, 2.0 * x2, 2.0 * v2)
    put(s, 4, 0, r, x1 - 3.0 * x2 + x3, s.half[0] - 3.0 * v2 + v3)
    put(s, 4, 1, r, 2.0 * x2 - x3, 2.0 * v2 - v3)
    put(s, 4, 2, r, 2.0 * x2 - x3, 2.0 * v2 - v3)
    put(s, 4, 3, r, x3 - x2, v3 - v2)


@kernel
def to_modes(s: Steps, v: Array, out: Array) -> None:
    """Take rates of coordinates to those of modes."""
    n = s.system.n
    if s.table_basis >= 0:
        weigh(n, n, s.bases[s.table_basis * (2 * n * n + 2 * n) + n * n :], v, out)
    else:
        for r in range(n):
            out[r] = v[r]


@kernel
def go(s: Steps, i: int, y: Array, x: Array, g: Array, p: Array, out: Array) -> None:
    """Go from the begin of a step to the state at stage i; s.modal has it in modes."""
    n = s.system.n
    for r in range(n):
        place = s.swing[2 * i * n + r] * x[r]
        rate = s.swing[(2 * i + 1) * n + r] * x[r]
        for e in range(i):
            at = 2 * (i * s.stages + e) * n + r
            place += s.into[at] * g[e * n + r]
            rate += s.into[at + n] * g[e * n + r]
        s.modal[r] = place
        s.modal[n + r] = rate
    if s.table_basis >= 0:
        weigh_both(n, s.bases[s.table_basis * (2 * n * n + 2 * n) :], s.modal, out)
    else:
        for r in range(2 * n):
            out[r] = s.modal[r]
    for r in range(n):
        out[r] += y[r]
    extra = s.size - 2 * n
    weigh(i, extra, p, s.a[i * s.stages :], out[2 * n :])
    for r in range(2 * n, s.size):
        out[r] = y[r] + s.table_h * out[r]


@kernel
def note(s: Steps, i: int, change: Array, g: Array, p: Array) -> None:
    """Note rates (a, dx) at stage i, whose modal state is s.modal."""
    n = s.system.n
    to_modes(s, change, g[i * n :])
    if s.table_basis >= 0:
        own = s.bases[s.table_basis * (2 * n * n + 2 * n) + 2 * n * n :]
        for r in range(n):
            g[i * n + r] += own[r] * s.modal[r] + own[n + r] * s.modal[n + r]
    extra = s.size - 2 * n
    for r in range(extra):
        p[i * extra + r] = change[n + r]


@kernel
def begin_step(s: Steps, j: int) -> None:
    """Begin step j."""
    tabulate(s, j)
    enter_pieces(s.system, s.times[j] + rounding(s.times[j]))
    to_modes(s, s.y[s.system.n :], s.x)


@kernel
def take_stage(s: Steps, j: int, i: int, place: Array) -> None:
    """Leave the state at stage i of step j, and note the rates there."""
    go(s, i, s.y, s.x, s.g, s.p, place)
    rates(s.system, s.times[j] + s.c[i] * s.table_h, place, s.k)
    note(s, i, s.k[s.system.n :], s.g, s.p)


@kernel
def end_step(s: Steps, j: int) -> None:
    """Go to the end of step j."""
    go(s, s.stages, s.y, s.x, s.g, s.p, s.trial)
    for r in range(s.size):
        s.y[r] = s.trial[r]
    prescribe(s.system, s.times[j + 1], s.y)


@kernel
def step(s: Steps, j: int, places: Array) -> None:
    """Take step j, and leave the states at its stages."""
    begin_step(s, j)
    for i in range(s.stages):
        take_stage(s, j, i, places[i * s.size :])
    end_step(s, j)


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
def go_along(s: Tangents, i: int, column: int, out: Array) -> None:
    """Go on to stage i along a tangent."""
    n = s.system.n
    go(s, i, s.tangents[column * s.size :], s.x_along[column * n :],
       s.g_along[column * s.stages * n :], s.p_along[column * s.stages * (s.size - 2 * n) :],
       out)  # fmt: skip
    hold_known(s, out)


@kernel
def push_stage(s: Tangents, i: int) -> None:
    """Push all tangents through the rates at a stage, at which the equations are."""
    n = s.system.n
    for column in range(s.columns):
        go_along(s, i, column, s.tangent)
        for r in range(s.numbers):
            s.direction[r] = s.directions[column * s.numbers + r]
        for r in range(s.system.inputs):
            s.pulse[r] = s.pulses[column * s.system.inputs + r]
        run_equations(s.equations, s.table)
        own = column * s.stages
        note(s, i, s.change, s.g_along[own * n :], s.p_along[own * (s.size - 2 * n) :])


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
    n = s.system.n
    prescribe(s.system, s.times[0], s.y)
    for column in range(s.columns):
        hold_known(s, s.tangents[column * s.size :])
    for j in range(s.count):
        keep(s, j)
        keep_tangents(s, j)
        begin_step(s, j)
        for column in range(s.columns):
            to_modes(s, s.tangents[column * s.size + n :], s.x_along[column * n :])
        for i in range(s.stages):
            take_stage(s, j, i, s.places)
            push_stage(s, i)
        end_step(s, j)
        for column in range(s.columns):
            go_along(s, s.stages, column, s.trial)
            for r in range(s.size):
                s.tangents[column * s.size + r] = s.trial[r]
    keep(s, s.count)
    keep_tangents(s, s.count)


@kernel
def sow(s: Adjoint, j: int) -> None:
    """Add what the function sees of the state at the begin of step j."""
    if s.ends_at[j] >= 0:
        for r in range(s.size):
            s.adjoint[r] += s.seeds[s.ends_at[j] * s.size + r]


@kernel
def to_rows(n: int, rows: Array, y: Array, out: Array) -> None:
    """Add the product of each row with y to out."""
    for r in range(n):
        total = 0.0
        for i in range(n):
            total += rows[r * n + i] * y[i]
        out[r] += total


@kernel
def from_modes(s: Adjoint, by: Array, out: Array) -> None:
    """Add what is by rates of modes to what is by rates of coordinates."""
    n = s.system.n
    if s.table_basis >= 0:
        to_rows(n, s.bases[s.table_basis * (2 * n * n + 2 * n) + n * n :], by, out)
    else:
        for r in range(n):
            out[r] += by[r]


@kernel
def go_back(s: Adjoint, i: int) -> None:
    """Pull s.share and s.modal, by a state and by it in modes, from stage i to the begin."""
    n = s.system.n
    hold_known(s, s.share)
    if s.table_basis >= 0:
        modes = s.bases[s.table_basis * (2 * n * n + 2 * n) :]
        to_rows(n, modes, s.share, s.modal)
        to_rows(n, modes, s.share[n:], s.modal[n:])
    else:
        for r in range(2 * n):
            s.modal[r] += s.share[r]
    for r in range(n):
        place = s.modal[r]
        rate = s.modal[n + r]
        s.x_back[r] += s.swing[2 * i * n + r] * place + s.swing[(2 * i + 1) * n + r] * rate
        for e in range(i):
            at = 2 * (i * s.stages + e) * n + r
            s.g_back[e * n + r] += s.into[at] * place + s.into[at + n] * rate
        s.adjoint[r] += s.share[r]
    extra = s.size - 2 * n
    for r in range(extra):
        by = s.share[2 * n + r]
        s.adjoint[2 * n + r] += by
        for e in range(i):
            s.p_back[e * extra + r] += s.table_h * s.a[i * s.stages + e] * by


@kernel
def pull_stage(s: Adjoint, j: int, i: int, place: Array) -> None:
    """Pull the adjoint back through the rates at stage i of step j."""
    n = s.system.n
    extra = s.size - 2 * n
    t = s.times[j] + s.c[i] * s.table_h
    drive(s.system, t)
    for r in range(n):
        s.system.q[r] = place[r]
        s.system.v[r] = place[n + r]
        s.weight[r] = 0.0
    for r in range(extra):
        s.system.x[r] = place[2 * n + r]
        s.weight[n + r] = s.p_back[i * extra + r]
    from_modes(s, s.g_back[i * n :], s.weight)
    run_equations(s.equations, s.table)
    for r in range(s.size):
        s.share[r] = s.by_state[r]
    for r in range(2 * n):
        s.modal[r] = 0.0
    if s.table_basis >= 0:
        own = s.bases[s.table_basis * (2 * n * n + 2 * n) + 2 * n * n :]
        for r in range(2 * n):
            s.modal[r] = own[r] * s.g_back[i * n + r % n]
    go_back(s, i)
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
    n = s.system.n
    tabulate(s, j)
    leave_pieces(s.system, t + rounding(t))
    for r in range(s.size):
        s.share[r] = s.adjoint[r]
        s.adjoint[r] = 0.0
    for r in range(2 * n):
        s.modal[r] = 0.0
        s.x_back[r % n] = 0.0
    for r in range(s.stages * n):
        s.g_back[r] = 0.0
    for r in range(s.stages * (s.size - 2 * n)):
        s.p_back[r] = 0.0
    go_back(s, s.stages)
    for back in range(s.stages):
        i = s.stages - 1 - back
        pull_stage(s, j, i, places[i * s.size :])
    from_modes(s, s.x_back, s.adjoint[n:])


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
