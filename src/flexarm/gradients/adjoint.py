"""Forward (tangent) and reverse (adjoint) derivatives of a simulation along given steps."""

from dataclasses import dataclass

from flexarm.gradients.modes import turn, turn_back
from flexarm.gradients.steps import (
    GivenSteps,
    begin_step,
    compute_modes,
    decouple_prescribed,
    end_step,
    evaluate_stage,
    keep,
    mix,
    note,
    step,
    tabulate,
    unfold,
    zero_prescribed,
)
from flexarm.integrate.methods.eigen import congruence
from flexarm.integrate.system import drive, enter_pieces, enter_state, prescribe, rounding
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Ints, run_equations
from flexarm.loops.sums import add, clear, copy, two_weighted_sums, weighted_sum


@dataclass(kw_only=True)
class MotionTangents(GivenSteps):
    """Record of a simulation's derivatives with respect to parameters, inputs and initial state."""

    # columns: number of directions. numbers, matrix_numbers: count of arm parameters that enter the
    # rates, and that enter the mass, stiffness and damping matrices.
    columns: int
    numbers: int
    matrix_numbers: int
    # equations, table: address and pointer table of the compiled function ``pushed rates``. turned,
    # turned_table: address and pointer table of ``pushed matrices``.
    equations: int
    table: Ints
    turned: int
    turned_table: Ints
    # tangent, pulse, direction, change, matrix_direction, matrix_change: inputs and outputs of the
    # compiled functions.
    tangent: Array
    pulse: Array
    direction: Array
    change: Array
    matrix_direction: Array
    matrix_change: Array
    # directions, matrix_directions: directions of the parameters in rates and in matrices. pulses:
    # directions of the inputs, constant in time. tangents: tangents of the present state along all
    # directions. tangent_samples: tangents of the states at the samples, (T, columns, size).
    directions: Array
    matrix_directions: Array
    pulses: Array
    tangents: Array
    tangent_samples: Array
    # x_along, g_along, p_along, basis_along: tangents of x, g, p (see `GivenSteps`) and of the
    # modal basis along all directions. modal_along: tangent of one modal state.
    x_along: Array
    g_along: Array
    p_along: Array
    modal_along: Array
    basis_along: Array
    more: Array  # work array for a state


@kernel
def turn_modes(s: MotionTangents) -> None:
    """Compute the derivatives of the present modal basis, one for every direction."""
    n = s.system.n
    for column in range(s.columns):
        copy(s.size, s.tangents[column * s.size :], s.tangent)
        copy(s.matrix_numbers, s.matrix_directions[column * s.matrix_numbers :], s.matrix_direction)
        run_equations(s.turned, s.turned_table)
        decouple_prescribed(s, s.matrix_change, 0.0)
        for part in range(3):
            congruence(n, s.basis, n, 1, s.matrix_change[part * n * n :], s.square,
                       s.matrix[part * n * n :])  # fmt: skip
        turn(n, s.basis, s.matrix, s.square, s.basis_along[column * (2 * n * n + 2 * n) :])


@kernel
def state_tangent(s: MotionTangents, i: int, column: int, out: Array) -> None:
    """Compute the derivative of the state at stage i of a step along one direction.

    The argument ``column`` is the index of the direction (a parameter, input or initial value). The
    modal state at the stage is read from s.modal.
    """
    n = s.system.n
    own = column * s.stages
    x = s.x_along[column * n :]
    g = s.g_along[own * n :]
    basis = s.basis_along[column * (2 * n * n + 2 * n) :]
    mix(s, 0, i, x, g, s.modal_along)
    if s.in_modes == 1:
        for part in range(1, 3):
            mix(s, part, i, s.x, s.g, s.more)
            for r in range(n):
                by = basis[2 * n * n + (part - 1) * n + r]
                s.modal_along[r] += by * s.more[r]
                s.modal_along[n + r] += by * s.more[n + r]
    p = s.p_along[own * (s.size - 2 * n) :]
    unfold(s, i, s.modal_along, s.tangents[column * s.size :], p, out)
    if s.in_modes == 1:
        two_weighted_sums(n, basis, s.modal, out, s.more)
        copy(n, s.more, out)
        add(n, 1.0, s.more[n:], out[n:])
    zero_prescribed(s, out)


@kernel
def push_stage(s: MotionTangents, i: int) -> None:
    """Compute the derivatives of the state derivative at stage i, one per direction."""
    n = s.system.n
    for column in range(s.columns):
        state_tangent(s, i, column, s.tangent)
        copy(s.numbers, s.directions[column * s.numbers :], s.direction)
        copy(s.system.inputs, s.pulses[column * s.system.inputs :], s.pulse)
        run_equations(s.equations, s.table)
        g = s.g_along[column * s.stages * n :]
        p = s.p_along[column * s.stages * (s.size - 2 * n) :]
        note(s, i, s.modal_along, s.change, g, p)
        if s.in_modes == 1:
            basis = s.basis_along[column * (2 * n * n + 2 * n) :]
            weighted_sum(n, n, basis[n * n :], s.k[n:], s.more)
            for r in range(n):
                own = basis[2 * n * n + r] * s.modal[r] + basis[2 * n * n + n + r] * s.modal[n + r]
                g[i * n + r] += s.more[r] + own


@kernel
def keep_tangents(s: MotionTangents, j: int) -> None:
    """Store the derivatives at the start of step j if a sample time coincides with it."""
    block = s.columns * s.size
    if s.ends_at[j] >= 0:
        copy(block, s.tangents, s.tangent_samples[s.ends_at[j] * block :])


@kernel
def push(s: MotionTangents) -> None:
    """Simulate all steps, together with the derivatives of the state along all directions."""
    n = s.system.n
    prescribe(s.system, s.times[0], s.y)
    for column in range(s.columns):
        zero_prescribed(s, s.tangents[column * s.size :])
    for j in range(s.count):
        keep(s, j)
        keep_tangents(s, j)
        if s.renewed[j] == 1:
            compute_modes(s)
            turn_modes(s)
        begin_step(s, j, 3)
        for column in range(s.columns):
            x = s.x_along[column * n :]
            weighted_sum(n, n, s.basis[n * n :], s.tangents[column * s.size + n :], x)
            if s.in_modes == 1:
                inverse = s.basis_along[column * (2 * n * n + 2 * n) + n * n :]
                weighted_sum(n, n, inverse, s.y[n:], s.more)
                add(n, 1.0, s.more, x)
        for i in range(s.stages):
            evaluate_stage(s, j, i, s.places)
            push_stage(s, i)
        end_step(s, j)
        for column in range(s.columns):
            state_tangent(s, s.stages, column, s.trial)
            copy(s.size, s.trial, s.tangents[column * s.size :])
    keep(s, s.count)
    keep_tangents(s, s.count)


@dataclass(kw_only=True)
class Adjoint(GivenSteps):
    """Record of the adjoint of a simulation: derivatives of a scalar function of its samples."""

    # numbers, matrix_numbers: count of arm parameters that enter the rates, and that enter the
    # mass, stiffness and damping matrices.
    numbers: int
    matrix_numbers: int
    # equations, table: address and pointer table of the compiled function ``pulled rates``. turned,
    # turned_table: address and pointer table of ``pulled matrices``.
    equations: int
    table: Ints
    turned: int
    turned_table: Ints
    # weight, by_state, by_input, by_number, matrix_weight, matrix_by_state, matrix_by_number:
    # inputs and outputs of the compiled functions.
    weight: Array
    by_state: Array
    by_input: Array
    by_number: Array
    matrix_weight: Array
    matrix_by_state: Array
    matrix_by_number: Array
    seeds: Array  # derivatives of the function with respect to the states at the samples, (T, size)
    # derivative with respect to the present state; at the end, with respect to the initial state
    adjoint: Array
    # x_back, g_back, p_back, basis_back, share: derivatives with respect to x, g, p (see
    # `GivenSteps`), to the modal basis, and to the state at a stage.
    x_back: Array
    g_back: Array
    p_back: Array
    basis_back: Array
    share: Array
    # bases: modal bases of a segment. modals: modal states of a step, (stages + 1, 2n). more: work
    # array, (2n,).
    bases: Array
    modals: Array
    more: Array
    # nodes: times of the input samples [s]. interval: index, by step, of the interval between two
    # nodes that contains the step.
    nodes: Array
    interval: Ints
    # Results. by_numbers, by_matrix_numbers: derivatives with respect to the parameters in rates
    # and in matrices. by_inputs: derivatives with respect to the inputs at the samples, (T,
    # inputs).
    by_numbers: Array
    by_matrix_numbers: Array
    by_inputs: Array


@kernel
def add_seed(s: Adjoint, j: int) -> None:
    """Add the function's derivative with respect to the state at the start of step j, if any.

    The scalar function has such a derivative (a seed) at each sample. Steps whose start is no
    sample have no seed.
    """
    if s.ends_at[j] >= 0:
        add(s.size, 1.0, s.seeds[s.ends_at[j] * s.size :], s.adjoint)


@kernel
def to_rows(n: int, rows: Array, y: Array, out: Array) -> None:
    """Add the product of the matrix ``rows``, (n, n), and the vector y to the vector ``out``."""
    for r in range(n):
        total = 0.0
        for i in range(n):
            total += rows[r * n + i] * y[i]
        out[r] += total


@kernel
def spread(n: int, down: Array, across: Array, out: Array) -> None:
    """Add the outer product of two vectors of length n to the matrix ``out``, (n, n)."""
    for r in range(n):
        add(n, down[r], across, out[r * n :])


@kernel
def go_back(s: Adjoint, i: int) -> None:
    """Convert derivatives with respect to the state at stage i to those for earlier stages.

    The derivatives with respect to the state at the stage are read from s.share, those with respect
    to the modal state from s.modal. Derivatives with respect to the state at the start of the step
    are added too.
    """
    n = s.system.n
    zero_prescribed(s, s.share)
    if s.in_modes == 1:
        here = s.modals[2 * i * n :]
        to_rows(n, s.basis, s.share, s.modal)
        to_rows(n, s.basis, s.share[n:], s.modal[n:])
        spread(n, here, s.share, s.basis_back)
        spread(n, here[n:], s.share[n:], s.basis_back)
        for part in range(1, 3):
            mix(s, part, i, s.x, s.g, s.more)
            by = s.basis_back[2 * n * n + (part - 1) * n :]
            for r in range(n):
                by[r] += s.more[r] * s.modal[r] + s.more[n + r] * s.modal[n + r]
    else:
        add(2 * n, 1.0, s.share, s.modal)
    swing = s.swing[2 * i * n :]
    into = s.into[2 * i * s.stages * n :]
    for r in range(n):
        place = s.modal[r]
        rate = s.modal[n + r]
        s.x_back[r] += swing[r] * place + swing[n + r] * rate
        for e in range(i):
            s.g_back[e * n + r] += into[2 * e * n + r] * place + into[(2 * e + 1) * n + r] * rate
        s.adjoint[r] += s.share[r]
    extra = s.size - 2 * n
    for r in range(extra):
        by_x = s.share[2 * n + r]
        s.adjoint[2 * n + r] += by_x
        for e in range(i):
            s.p_back[e * extra + r] += s.table_h * s.a[i * s.stages + e] * by_x


@kernel
def pull_stage(s: Adjoint, j: int, i: int, state: Array) -> None:
    """Propagate the adjoint back through the equations of motion at stage i of step j."""
    n = s.system.n
    extra = s.size - 2 * n
    t = s.times[j] + s.c[i] * s.table_h
    drive(s.system, t)
    enter_state(s.system, state)
    clear(n, s.weight)
    copy(extra, s.p_back[i * extra :], s.weight[n:])
    by = s.g_back[i * n :]
    to_rows(n, s.basis[n * n :], by, s.weight)
    run_equations(s.equations, s.table)
    copy(s.size, s.by_state, s.share)
    for r in range(2 * n):
        s.modal[r] = s.basis[2 * n * n + r] * by[r % n]
    if s.in_modes == 1:
        spread(n, state[s.size + n :], by, s.basis_back[n * n :])
        for r in range(2 * n):
            s.basis_back[2 * n * n + r] += by[r % n] * s.modals[2 * i * n + r]
    go_back(s, i)
    add(s.numbers, 1.0, s.by_number, s.by_numbers)
    node = s.interval[j]
    late = (t - s.nodes[node]) / (s.nodes[node + 1] - s.nodes[node])
    count = s.system.inputs
    add(count, 1.0 - late, s.by_input, s.by_inputs[node * count :])
    add(count, late, s.by_input, s.by_inputs[(node + 1) * count :])


@kernel
def find_modal(s: Adjoint, places: Array) -> None:
    """Recompute the modal states of a step from the stored state derivatives of its stages."""
    n = s.system.n
    weighted_sum(n, n, s.basis[n * n :], places[n:], s.x)
    for i in range(s.stages + 1):
        mix(s, 0, i, s.x, s.g, s.modals[2 * i * n :])
        if i < s.stages:
            change = places[(2 * i + 1) * s.size + n :]
            note(s, i, s.modals[2 * i * n :], change, s.g, s.p)


@kernel
def pull_step(s: Adjoint, j: int, places: Array) -> None:
    """Propagate the adjoint from the end of step j to its start."""
    t = s.times[j]
    n = s.system.n
    tabulate(s, j, 3)
    enter_pieces(s.system, t + rounding(t))
    if s.in_modes == 1:
        find_modal(s, places)
    copy(s.size, s.adjoint, s.share)
    clear(s.size, s.adjoint)
    clear(2 * n, s.modal)
    clear(n, s.x_back)
    clear(s.stages * n, s.g_back)
    clear(s.stages * (s.size - 2 * n), s.p_back)
    go_back(s, s.stages)
    for back in range(s.stages):
        i = s.stages - 1 - back
        pull_stage(s, j, i, places[2 * i * s.size :])
    to_rows(n, s.basis[n * n :], s.x_back, s.adjoint[n:])
    if s.in_modes == 1:
        spread(n, places[n:], s.x_back, s.basis_back[n * n :])


@kernel
def pull_modes(s: Adjoint, state: Array) -> None:
    """Convert derivatives with respect to the modal basis to those for parameters and state."""
    n = s.system.n
    enter_state(s.system, state)
    turn_back(n, s.basis, s.basis_back, s.matrix)
    for part in range(3):
        at = part * n * n
        congruence(n, s.basis, 1, n, s.matrix[at:], s.square, s.matrix_weight[at:])
    decouple_prescribed(s, s.matrix_weight, 0.0)
    run_equations(s.turned, s.turned_table)
    add(2 * n, 1.0, s.matrix_by_state, s.adjoint)
    add(s.matrix_numbers, 1.0, s.matrix_by_number, s.by_matrix_numbers)
    clear(2 * n * n + 2 * n, s.basis_back)


@kernel
def pull(s: Adjoint) -> None:
    """Propagate the adjoint back over all steps, with states recomputed from checkpoints."""
    n = s.system.n
    block = 2 * s.stages * s.size
    width = 3 * n * n + 2 * n
    add_seed(s, s.count)
    for back in range(s.segments):
        segment = s.segments - 1 - back
        first = s.starts[segment]
        last = s.starts[segment + 1]
        copy(s.size, s.saved[segment * s.size :], s.y)
        reached = 0
        for j in range(first, last):
            if s.renewed[j] == 1:
                compute_modes(s)
                copy(width, s.basis, s.bases[reached * width :])
                reached += 1
            step(s, j, s.places[(j - first) * block :])
        for behind in range(last - first):
            j = last - 1 - behind
            places = s.places[(j - first) * block :]
            pull_step(s, j, places)
            if s.renewed[j] == 1:
                pull_modes(s, places)
                reached -= 1
                copy(width if reached > 0 else 0, s.bases[(reached - 1) * width :], s.basis)
                s.table_h = 0.0
            add_seed(s, j)
    zero_prescribed(s, s.adjoint)
