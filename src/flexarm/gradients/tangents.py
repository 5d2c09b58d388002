"""Tangents of a motion along given steps: forward-mode derivatives of the discretised motion."""

from dataclasses import dataclass

from flexarm.gradients.modes import turn
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
    unfold,
    zero_prescribed,
)
from flexarm.integrate.methods.eigen import congruence
from flexarm.integrate.system import prescribe
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array, Ints, run_equations
from flexarm.loops.sums import two_weighted_sums, weighted_sum


@dataclass(kw_only=True)
class MotionTangents(GivenSteps):
    """Record of a motion's directional derivatives by parameters, inputs and initial state."""

    # columns, numbers, matrix_numbers: number of directions; length of the number vectors of the
    # rates and of the matrices.
    columns: int
    numbers: int
    matrix_numbers: int
    # equations, table, turned, turned_table: addresses and pointer tables of the compiled functions
    # ``pushed rates`` and ``pushed matrices``.
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
    # directions, matrix_directions, pulses, tangents, tangent_samples: by column: tangents of the
    # numbers; tangents of the inputs, constant in time; tangent of the present state; tangents of
    # the states at the samples, (T, columns, size).
    directions: Array
    matrix_directions: Array
    pulses: Array
    tangents: Array
    tangent_samples: Array
    # x_along, g_along, p_along, modal_along, basis_along: tangents of x, g and p, by column;
    # tangent of a modal state; tangents of the modal basis, by column.
    x_along: Array
    g_along: Array
    p_along: Array
    modal_along: Array
    basis_along: Array
    more: Array  # work array for a state


@kernel
def turn_modes(s: MotionTangents) -> None:
    """Compute the tangents of the present modal basis along all directions."""
    n = s.system.n
    for column in range(s.columns):
        for r in range(s.size):
            s.tangent[r] = s.tangents[column * s.size + r]
        for r in range(s.matrix_numbers):
            s.matrix_direction[r] = s.matrix_directions[column * s.matrix_numbers + r]
        run_equations(s.turned, s.turned_table)
        decouple_prescribed(s, s.matrix_change, 0.0)
        for part in range(3):
            congruence(n, s.basis, n, 1, s.matrix_change[part * n * n :], s.square,
                       s.matrix[part * n * n :])  # fmt: skip
        turn(n, s.basis, s.matrix, s.square, s.basis_along[column * (2 * n * n + 2 * n) :])


@kernel
def state_tangent(s: MotionTangents, i: int, column: int, out: Array) -> None:
    """Compute the tangent of the state at stage i along one direction, the index ``column``.

    The modal state at the stage is read from s.modal.
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
        for r in range(n):
            out[r] = s.more[r]
            out[n + r] += s.more[n + r]
    zero_prescribed(s, out)


@kernel
def push_stage(s: MotionTangents, i: int) -> None:
    """Propagate the tangents along all directions through the rates at stage i."""
    n = s.system.n
    for column in range(s.columns):
        state_tangent(s, i, column, s.tangent)
        for r in range(s.numbers):
            s.direction[r] = s.directions[column * s.numbers + r]
        for r in range(s.system.inputs):
            s.pulse[r] = s.pulses[column * s.system.inputs + r]
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
    """Store the tangents at the start of step j if a sample time coincides with it."""
    block = s.columns * s.size
    if s.ends_at[j] >= 0:
        for r in range(block):
            s.tangent_samples[s.ends_at[j] * block + r] = s.tangents[r]


@kernel
def push(s: MotionTangents) -> None:
    """Integrate the motion over all steps, together with its tangents along all directions."""
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
                for r in range(n):
                    x[r] += s.more[r]
        for i in range(s.stages):
            evaluate_stage(s, j, i, s.places)
            push_stage(s, i)
        end_step(s, j)
        for column in range(s.columns):
            state_tangent(s, s.stages, column, s.trial)
            for r in range(s.size):
                s.tangents[column * s.size + r] = s.trial[r]
    keep(s, s.count)
    keep_tangents(s, s.count)
