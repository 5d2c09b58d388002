"""Integration along given steps in compiled loops, so that results can be differentiated.

The state at the end of a step is a weighted sum of the accelerations at its stages, with separate
weights for coordinates and for rates. An exponential method forms this sum in elastic modes of the
arm, with separate weights for each mode, and recomputes the modes at given steps.
"""

from dataclasses import dataclass

from flexarm.gradients.modes import add_time_along, responses_along, responses_by_loss
from flexarm.integrate.loop import FINISHED, RUNNING, march
from flexarm.integrate.methods.exponential import detach, find_modes
from flexarm.integrate.methods.oscillator import POWERS, RESPONSES, add_time, responses
from flexarm.integrate.state import IntegratorState
from flexarm.integrate.system import System, enter_pieces, enter_state, prescribe, rates, rounding
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Ints, Record, run_equations
from flexarm.loops.sums import copy, two_weighted_sums, weighted_sum

NAN = float("nan")


@dataclass(kw_only=True)
class GivenSteps(Record):
    """Record of a simulation along given steps, for compiled loops."""

    system: System  # rates of the state, and channels of the inputs
    # size: length of the state. stages: number of stages of the method.
    size: int
    stages: int
    # a, squared: the tableau and its square, (stages + 1, stages) each, with the new state as the
    # last row. slopes: for an exponential method, the polynomials that interpolate accelerations,
    # (stages + 1, stages, powers). c: nodes of the stages, as fractions of the step.
    a: Array
    squared: Array
    slopes: Array
    c: Array
    # count: number of steps. times: step boundaries [s], (count + 1,). lengths: step lengths [s],
    # (count,), identical for equal steps.
    count: int
    times: Array
    lengths: Array
    # in_modes: 1 if steps are computed in modes of the arm. renewed: per step, 1 if modes are
    # recomputed at the start of the step, (count,). basis: the present modal basis, as in
    # `flexarm.gradients.modes`; for a method without modes, the coordinates are the modes.
    in_modes: int
    renewed: Ints
    basis: Array
    # matrices, matrix_table: address and pointer table of the compiled mass, stiffness and damping
    # matrices, whose inputs are the system's q and v. matrix: their output, (3, n, n). room,
    # square: work arrays, (n,) and (n, n).
    matrices: int
    matrix_table: Ints
    matrix: Array
    room: Array
    square: Array
    # table_h: step length for which weights are tabulated. parts: 3 with derivatives with respect
    # to squared frequency and damping rate, else 1. swing: weights of the rate at the step's start,
    # (3, stages + 1, 2, n). into: weights of accelerations at the stages, (3, stages + 1, stages,
    # 2, n).
    table_h: float = 0.0
    parts: int = 0
    swing: Array
    into: Array
    ends_at: Ints  # index of the sample at each step boundary, -1 if none
    samples: Array  # states at the samples, (T, size)
    # segments: number of segments between checkpoints. starts: first step of each segment,
    # (segments + 1,). saved: states at the checkpoints.
    segments: int
    starts: Ints
    saved: Array
    stays: Ints  # 1 for prescribed coordinates at rest since the phase began
    # y: present state. k: rates of the state. trial: trial state. places: states and rates at the
    # stages of all steps of a segment.
    y: Array
    k: Array
    trial: Array
    places: Array
    # x: modal rates at the step's start. g: modal forcing at the stages. p: rates of servo and
    # drive states at the stages. modal: a modal state. answers: work array for oscillator
    # responses.
    x: Array
    g: Array
    p: Array
    modal: Array
    answers: Array


@kernel
def record(m: IntegratorState, rounds: int, tries: int, begins: Array, ends: Array) -> int:
    """Continue a simulation by rounds of step attempts; return its exit code.

    The array ``begins`` receives the begin of each round [s], and ``ends`` the end of each accepted
    step [s].
    """
    count = 0
    m.budget = 1
    for k in range(rounds):
        begins[k] = m.t
        for _ in range(tries):
            t = m.t
            code: int = march(m)
            if code > FINISHED:
                return code
            if m.t > t:
                ends[count] = m.t
                count += 1
    return RUNNING


@kernel
def compute_modes(s: GivenSteps) -> None:
    """Compute the modal basis at the current state; set y[0] to NaN if this fails."""
    n = s.system.n
    enter_state(s.system, s.y)
    run_equations(s.matrices, s.matrix_table)
    decouple_prescribed(s, s.matrix, 1.0)
    squares = s.basis[2 * n * n :]
    damping = s.matrix[2 * n * n :]
    if (
        find_modes(n, s.matrix, s.matrix[n * n :], damping, s.basis, s.basis[n * n :], squares,
                   squares[n:], s.room) != 0
    ):  # fmt: skip
        s.y[0] = NAN
    copy(n * n, s.matrix[n * n :], squares[2 * n :])
    s.table_h = 0.0


@kernel
def decouple_prescribed(s: GivenSteps, matrices: Array, mass: float) -> None:
    """Decouple prescribed coordinates in the mass, stiffness and damping matrices.

    The argument ``mass`` is the diagonal entry of the mass matrix for prescribed coordinates.
    """
    n = s.system.n
    for c in range(s.system.prescribed):
        k = s.system.coordinates[c]
        detach(n, matrices, k, mass)
        detach(n, matrices[n * n :], k, 0.0)
        detach(n, matrices[2 * n * n :], k, 0.0)


@kernel
def tabulate(s: GivenSteps, j: int, parts: int) -> None:
    """Compute the weights of the stages of step j for all modes.

    With ``parts`` = 3, the derivatives of these weights with respect to squared frequency and to
    damping rate are computed too.
    """
    h = s.lengths[j]
    n = s.system.n
    if h == s.table_h and s.parts >= parts:
        return
    s.table_h = h
    s.parts = parts
    if s.in_modes == 0:
        for i in range(s.stages + 1):
            for r in range(n):
                s.swing[2 * i * n + r] = s.c[i] * h
                s.swing[(2 * i + 1) * n + r] = 1.0
            for e in range(i):
                at = i * s.stages + e
                for r in range(n):
                    s.into[2 * at * n + r] = h * h * s.squared[at]
                    s.into[(2 * at + 1) * n + r] = h * s.a[at]
        return
    quarter = 0.25 * h
    more = s.answers[RESPONSES:]
    here = s.answers[2 * RESPONSES :]
    more_here = s.answers[3 * RESPONSES :]
    last_here = s.answers[4 * RESPONSES :]
    for r in range(n):
        square = s.basis[2 * n * n + r]
        loss = s.basis[2 * n * n + n + r]
        s.swing[n + r] = 1.0  # weights at the start, where their derivatives are 0
        if parts > 1:
            responses_along(square, loss, quarter, s.answers, more)
        responses(square, loss, quarter, s.answers)
        copy(2 * RESPONSES, s.answers, here)
        for quarters in range(1, 5):
            if quarters > 1 and parts > 1:
                add_time_along(square, loss, quarter, s.answers, more, here, more_here)
            elif quarters > 1:
                add_time(square, loss, quarter, s.answers, here)
            if parts > 1:
                responses_by_loss(square, loss, here, more_here, last_here)
            for part in range(parts):
                weigh_mode(s, part, r, 0.25 * float(quarters))


@kernel
def weigh_mode(s: GivenSteps, part: int, r: int, when: float) -> None:
    """Compute the weights of the stages for mode r at the fraction ``when`` of a step.

    With ``part`` = 0 the weights are computed; with 1 or 2 their derivatives with respect to
    squared frequency or to damping rate.
    """
    n = s.system.n
    own = s.answers[(2 + part) * RESPONSES :]
    for i in range(s.stages + 1):
        if s.c[i] == when:
            row = part * (s.stages + 1) + i
            s.swing[2 * row * n + r] = own[0]
            s.swing[(2 * row + 1) * n + r] = own[1]
            for e in range(i):
                place = 0.0
                rate = 0.0
                scale = 1.0
                for k in range(POWERS):
                    c = scale * s.slopes[(i * s.stages + e) * POWERS + k]
                    place += c * own[2 + k]
                    rate += c * own[k + 1 if k > 0 else 0]
                    scale *= (k + 1.0) / s.table_h
                at = 2 * (row * s.stages + e) * n + r
                s.into[at] = place
                s.into[at + n] = rate


@kernel
def mix(s: GivenSteps, part: int, i: int, x: Array, g: Array, modal: Array) -> None:
    """Compute the modal state at stage i from initial rates x and accelerations g.

    With ``part`` = 0 the modal state is computed; with 1 or 2 the state's derivative with respect
    to squared frequency or to damping rate.
    """
    n = s.system.n
    swing = s.swing[2 * (part * (s.stages + 1) + i) * n :]
    into = s.into[2 * (part * (s.stages + 1) + i) * s.stages * n :]
    for r in range(n):
        place = swing[r] * x[r]
        rate = swing[n + r] * x[r]
        for e in range(i):
            place += into[2 * e * n + r] * g[e * n + r]
            rate += into[(2 * e + 1) * n + r] * g[e * n + r]
        modal[r] = place
        modal[n + r] = rate


@kernel
def unfold(s: GivenSteps, i: int, modal: Array, y: Array, p: Array, out: Array) -> None:
    """Compute coordinates, rates and actuator states at stage i from the modal state."""
    n = s.system.n
    if s.in_modes == 1:
        two_weighted_sums(n, s.basis, modal, y, out)
    else:  # products with zeros would take 10 % of a step's time
        for r in range(n):
            out[r] = y[r] + modal[r]
        copy(n, modal[n:], out[n:])
    weighted_sum(i, s.size - 2 * n, p, s.a[i * s.stages :], out[2 * n :])
    for r in range(2 * n, s.size):
        out[r] = y[r] + s.table_h * out[r]


@kernel
def note(s: GivenSteps, i: int, modal: Array, change: Array, g: Array, p: Array) -> None:
    """Store modal forcing g and derivatives p of servo and drive states at stage i.

    The array ``change`` contains accelerations a and derivatives dx of servo and drive states.
    """
    n = s.system.n
    weighted_sum(n, n, s.basis[n * n :], change, g[i * n :])
    own = s.basis[2 * n * n :]
    for r in range(n):
        g[i * n + r] += own[r] * modal[r] + own[n + r] * modal[n + r]
    extra = s.size - 2 * n
    copy(extra, change[n:], p[i * extra :])


@kernel
def begin_step(s: GivenSteps, j: int, parts: int) -> None:
    """Prepare step j: weights of stages, pieces of functions of time, modal rates."""
    n = s.system.n
    tabulate(s, j, parts)
    enter_pieces(s.system, s.times[j] + rounding(s.times[j]))
    weighted_sum(n, n, s.basis[n * n :], s.y[n:], s.x)


@kernel
def evaluate_stage(s: GivenSteps, j: int, i: int, place: Array) -> None:
    """Compute the state at stage i of step j into ``place``, and the state's derivative."""
    mix(s, 0, i, s.x, s.g, s.modal)
    unfold(s, i, s.modal, s.y, s.p, place)
    rates(s.system, s.times[j] + s.c[i] * s.table_h, place, s.k)
    note(s, i, s.modal, s.k[s.system.n :], s.g, s.p)


@kernel
def end_step(s: GivenSteps, j: int) -> None:
    """Compute the state at the end of step j, with prescribed coordinates set."""
    mix(s, 0, s.stages, s.x, s.g, s.modal)
    unfold(s, s.stages, s.modal, s.y, s.p, s.trial)
    copy(s.size, s.trial, s.y)
    prescribe(s.system, s.times[j + 1], s.y)


@kernel
def step(s: GivenSteps, j: int, places: Array) -> None:
    """Advance the state by step j; store states and derivatives of its stages."""
    begin_step(s, j, 1)
    for i in range(s.stages):
        place = places[2 * i * s.size :]
        evaluate_stage(s, j, i, place)
        copy(s.size, s.k, place[s.size :])
    end_step(s, j)


@kernel
def keep(s: GivenSteps, j: int) -> None:
    """Store the state at the start of step j as a sample, if a sample time coincides with it."""
    if s.ends_at[j] >= 0:
        copy(s.size, s.y, s.samples[s.ends_at[j] * s.size :])


@kernel
def advance(s: GivenSteps) -> None:
    """Simulate all steps; store the samples and the state at each checkpoint."""
    prescribe(s.system, s.times[0], s.y)
    for segment in range(s.segments):
        copy(s.size, s.y, s.saved[segment * s.size :])
        for j in range(s.starts[segment], s.starts[segment + 1]):
            keep(s, j)
            if s.renewed[j] == 1:
                compute_modes(s)
            step(s, j, s.places)
    keep(s, s.count)


@kernel
def zero_prescribed(s: GivenSteps, y: Array) -> None:
    """Set the entries of prescribed coordinates to 0 in a derivative y of the state.

    The entries of prescribed coordinates that stay at their initial values are not changed.
    """
    for c in range(s.system.prescribed):
        if s.stays[c] == 0:
            y[s.system.coordinates[c]] = 0.0
        y[s.system.n + s.system.coordinates[c]] = 0.0
