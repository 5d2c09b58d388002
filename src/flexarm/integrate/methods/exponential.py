"""Exponential Runge-Kutta steps in the elastic modes of the arm at a reference state.

Near the reference state, the coordinate of mode i satisfies ``x_i'' + c_i x_i' + w_i^2 x_i = g_i``
with a slowly changing forcing g. The equations of the modal oscillators are solved exactly for a
polynomial g, so that steps may be longer than the periods of fast modes. Modal coordinates count
from the state at the begin of the step, so that rounding errors of large joint angles do not enter
the deflections.

Up to each stage, the forcing g is approximated by a polynomial through its values at earlier
stages. The integrals of these polynomials form the tableau of a Runge-Kutta method, which
integrates the work integrals and the servo states. The error estimate is the modal response to the
difference between two interpolants of the forcing g over the step: a quartic, and a cubic through
fewer values.
"""

from flexarm.integrate.methods.eigen import (
    cholesky,
    congruence,
    diagonalise,
    reduce_pencil,
    separate_equal_modes,
    transpose,
    tridiagonalise,
)
from flexarm.integrate.methods.oscillator import POWERS, RESPONSES, add_time, responses
from flexarm.integrate.methods.reactions import (
    ERROR,
    NEW,
    STAGES,
    ExponentialState,
    coefficient,
    coupling_work,
    coupling_work_error,
    find_matrices,
    keep_masses,
    moves_past,
    replace_coupling_work,
)
from flexarm.integrate.state import measure_modal
from flexarm.integrate.system import PRESCRIBED, rates
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array
from flexarm.loops.sums import add, clear, copy, two_weighted_sums, weighted_sum


@kernel
def detach(n: int, matrix: Array, k: int, diagonal: float) -> None:
    """Set row and column k of a matrix (n, n) to 0, and its diagonal entry k to a value."""
    for i in range(n):
        matrix[i * n + k] = 0.0
        matrix[k * n + i] = 0.0
    matrix[k * n + k] = diagonal


@kernel
def renew(m: ExponentialState) -> int:
    """Compute the modal basis at the current state; return 0, or 1 if the computation fails."""
    n = m.system.n
    find_matrices(m, m.y)
    keep_masses(m)
    for c in range(m.system.prescribed):
        k = m.system.coordinates[c]
        detach(n, m.mass, k, 1.0)
        detach(n, m.stiffness, k, 0.0)
        detach(n, m.damping, k, 0.0)
    failed = find_modes(
        n, m.mass, m.stiffness, m.damping, m.modes, m.inverse, m.squares, m.losses, m.scratch
    )
    if failed != 0:
        return 1
    compute_error_modes(m)
    m.age = 0
    m.table_h = 0.0
    m.renewals += 1
    return 0


@kernel
def compute_error_modes(m: ExponentialState) -> None:
    """Transform the modes (rows) to the coordinates in which integration errors are scaled."""
    n = m.system.n
    for r in range(n):
        row = m.error_modes[r * n :]
        clear(n, row)
        for j in range(n):
            x = m.modes[r * n + j]
            for i in range(n):
                row[i] += m.to_modes[i * n + j] * x


@kernel
def find_modes(
    n: int, mass: Array, stiffness: Array, damping: Array,
    modes: Array, inverse: Array, squares: Array, losses: Array, scratch: Array,
) -> int:  # fmt: skip
    """Compute the modes of mass and stiffness matrices; return 0, or 1 if this fails.

    The mass matrix is overwritten with intermediate results, and the stiffness matrix with the
    damping matrix in modal coordinates.
    """
    if cholesky(n, mass) != 0:
        return 1
    reduce_pencil(n, mass, stiffness)
    tridiagonalise(n, stiffness, inverse, squares, losses, scratch)
    if diagonalise(n, inverse, squares, losses, modes) != 0:
        return 1
    _modes_from_rotation(n, mass, modes, inverse, scratch)
    congruence(n, modes, n, 1, damping, mass, stiffness)
    separate_equal_modes(n, squares, stiffness, modes, inverse)
    for r in range(n):
        losses[r] = max(stiffness[r * n + r], 0.0)
    return 0


@kernel
def _modes_from_rotation(
    n: int, upper: Array, modes: Array, inverse: Array, scratch: Array
) -> None:
    """Compute the modes V^T L^-1 (by rows) and their inverse L V.

    On entry, ``inverse`` contains the eigenvectors V^T, and the upper half of ``upper`` the
    Cholesky factor L^T of the mass matrix.
    """
    transpose(n, inverse)
    for i in range(n - 1, -1, -1):
        row = modes[i * n :]
        copy(n, inverse[i * n :], row)
        for j in range(i + 1, n):
            add(n, -upper[i * n + j], modes[j * n :], row)
        factor = 1.0 / upper[i * n + i]
        for r in range(n):
            row[r] *= factor
    for i in range(n - 1, -1, -1):
        clear(n, scratch)
        for j in range(i + 1):
            add(n, upper[j * n + i], inverse[j * n :], scratch)
        copy(n, scratch, inverse[i * n :])
    transpose(n, modes)


@kernel
def tabulate(m: ExponentialState) -> None:
    """Compute the responses of the modal oscillators at the quarters of the step m.h."""
    if m.table_h == m.h:
        return
    n = m.system.n
    quarter = 0.25 * m.h
    for r in range(n):
        at_quarter = m.responses[r * RESPONSES :]
        responses(m.squares[r], m.losses[r], quarter, at_quarter)
        for quarter_index in range(1, 4):
            row = m.responses[(quarter_index * n + r) * RESPONSES :]
            copy(RESPONSES, m.responses[((quarter_index - 1) * n + r) * RESPONSES :], row)
            add_time(m.squares[r], m.losses[r], quarter, at_quarter, row)
    m.table_h = m.h


@kernel
def remainder(m: ExponentialState, x: Array, f: Array, g: Array) -> None:
    """Compute the modal forcing g: modal accelerations less the linear terms in x."""
    n = m.system.n
    weighted_sum(n, n, m.inverse, f[n:], g)
    for r in range(n):
        g[r] += m.squares[r] * x[r] + m.losses[r] * x[n + r]


@kernel
def accelerate(m: ExponentialState, x: Array, g: Array, out: Array) -> None:
    """Compute the modal accelerations from the modal state x and the modal forcing g."""
    n = m.system.n
    for r in range(n):
        out[r] = g[r] - m.squares[r] * x[r] - m.losses[r] * x[n + r]


@kernel
def drive(m: ExponentialState, stage: int, h: float, begin: float, table: Array) -> None:
    """Compute the modal state m.modal at a stage from the oscillator responses in ``table``.

    The modal displacements start at 0. The modal rates start at the rates m.x of the step's begin
    times ``begin``, which is 1 or 0.
    """
    n = m.system.n
    for r in range(n):
        row = r * RESPONSES
        v = begin * m.x[n + r]
        displacement = table[row] * v
        rate = table[row + 1] * v
        scale = 1.0
        for k in range(POWERS):
            c = scale * coefficient(m, stage, k, r)
            displacement += c * table[row + 2 + k]
            rate += c * table[row + (k + 1 if k > 0 else 0)]
            scale *= (k + 1.0) / h
        m.modal[r] = displacement
        m.modal[n + r] = rate


@kernel
def evaluate(m: ExponentialState, stage: int) -> None:
    """Evaluate the state derivative at a stage; store its modal forcing and other rates."""
    n = m.system.n
    fraction = m.nodes[stage]
    drive(m, stage, m.h, 1.0, m.responses[(int(4.0 * fraction) - 1) * n * RESPONSES :])
    two_weighted_sums(n, m.modes, m.modal, m.y, m.trial)
    extra = m.size - 2 * n
    weighted_sum(stage, extra, m.p, m.weights[stage * STAGES :], m.trial[2 * n :])
    for i in range(2 * n, m.size):
        m.trial[i] = m.y[i] + m.h * m.trial[i]
    rates(m.system, m.t + fraction * m.h, m.trial, m.k)
    remainder(m, m.modal, m.k, m.g[stage * n :])
    if m.system.prescribed > 0:
        accelerate(m, m.modal, m.g[stage * n :], m.swings[stage * n :])
    copy(extra, m.k[2 * n :], m.p[stage * extra :])


@kernel
def goes_on(m: ExponentialState) -> int:
    """Return 1 if the step begins where the last trial step ended, in the same modal basis."""
    if m.age == 0 or m.last_step == 0.0:
        return 0
    for i in range(2 * m.system.n):
        if m.y[i] != m.y_new[i] or m.f[i] != m.f_new[i]:
            return 0
    return 1


@kernel
def begin_step(m: ExponentialState) -> None:
    """Compute the modal rates and the modal forcing g at the start of the step."""
    n = m.system.n
    if goes_on(m) == 1:
        for r in range(n):
            m.g[r] = m.g[NEW * n + r] - m.squares[r] * m.end_modal[r]
            m.x[n + r] = m.end_modal[n + r]
        return
    weighted_sum(n, n, m.inverse, m.y[n:], m.x[n:])
    remainder(m, m.x, m.f, m.g)


@kernel
def solution(
    m: ExponentialState, table: Array, begin: Array, h: float, tau: float, out: Array
) -> None:
    """Compute the state at time tau [s] of a step from modal responses and rates of integrals.

    The argument ``begin`` is the state at the begin of the step, and ``table`` contains the
    responses of the modal oscillators at tau.
    """
    n = m.system.n
    drive(m, NEW, h, 1.0, table)
    two_weighted_sums(n, m.modes, m.modal, begin, out)
    extra = m.size - 2 * n
    clear(m.size - 2 * n, out[2 * n :])
    z = tau / h
    for j in range(NEW):
        weight = 0.0
        for k in range(POWERS - 1, -1, -1):
            weight = z * (weight + m.forces[(NEW * STAGES + j) * POWERS + k] / (k + 1.0))
        add(extra, weight, m.p[j * extra :], out[2 * n :])
    for i in range(2 * n, m.size):
        out[i] = begin[i] + h * out[i]


@kernel
def find_powers(m: ExponentialState) -> None:
    """Integrate the powers of inputs and losses over a step by parabolas, with stiff servos.

    The states at the stages of the method deviate slightly from the solution, and a stiff servo
    responds to the deviation with a large force. The power of this force is quadratic in the
    deviation, so that its error would accumulate in the work integrals. Therefore the powers are
    evaluated at the solution itself, at begin, middle and end of the step, and integrated as
    parabolas.
    """
    n = m.system.n
    extra = m.size - 2 * n
    responses_at_middle = m.responses[n * RESPONSES :]
    solution(m, responses_at_middle, m.y, m.h, 0.5 * m.h, m.trial)
    rates(m.system, m.t + 0.5 * m.h, m.trial, m.k)
    rates(m.system, m.t + m.h, m.y_new, m.f_new)
    for i in range(m.system.work_integrals):
        if i != PRESCRIBED:
            index = 2 * n + i
            first_power = m.p[i]
            middle_power = m.k[index]
            last_power = m.f_new[index]
            m.p[2 * extra + i] = 0.125 * (3.0 * first_power + 6.0 * middle_power - last_power)
            m.p[3 * extra + i] = middle_power
            m.p[4 * extra + i] = 0.125 * (3.0 * last_power + 6.0 * middle_power - first_power)
            m.p[5 * extra + i] = last_power
            gain = m.h * (first_power + 4.0 * middle_power + last_power) / 6.0
            m.e[index] = m.y_new[index] - m.y[index] - gain
            m.y_new[index] = m.y[index] + gain


@kernel
def exponential_step(m: ExponentialState) -> int:
    """Attempt one step; return 0, or 1 if the modal basis cannot be computed."""
    n = m.system.n
    if m.age >= m.renewal and renew(m) != 0:
        m.error = 1e300
        return 1
    tabulate(m)
    begin_step(m)
    if m.system.prescribed > 0:
        accelerate(m, m.x, m.g, m.swings)
    copy(m.size - 2 * n, m.f[2 * n :], m.p)
    for stage in range(1, NEW):
        evaluate(m, stage)
    solution(m, m.responses[3 * n * RESPONSES :], m.y, m.h, m.h, m.y_new)
    finish(m)
    return 0


@kernel
def finish(m: ExponentialState) -> None:
    """Evaluate the state derivative at the end of the trial step, and the error m.error."""
    n = m.system.n
    h = m.h
    extra = m.size - 2 * n
    responses_at_end = m.responses[3 * n * RESPONSES :]
    copy(2 * n, m.modal, m.end_modal)
    clear(extra, m.e[2 * n :])
    if m.servoed == 1:
        find_powers(m)
        copy(2 * n, m.end_modal, m.modal)
    else:
        rates(m.system, m.t + h, m.y_new, m.f_new)
    copy(extra, m.f_new[2 * n :], m.p[NEW * extra :])
    remainder(m, m.modal, m.f_new, m.g[NEW * n :])
    m.has_pulls = moves_past(m)
    if m.has_pulls == 1:
        accelerate(m, m.modal, m.g[NEW * n :], m.swings[NEW * n :])
        replace_coupling_work(m)
    for j in range(STAGES):
        add(extra, h * m.weights[ERROR * STAGES + j], m.p[j * extra :], m.e[2 * n :])
    drive(m, ERROR, h, 0.0, responses_at_end)
    if m.has_pulls == 1:
        m.e[2 * n + PRESCRIBED] = abs(m.e[2 * n + PRESCRIBED]) + coupling_work_error(m, m.modal)
    two_weighted_sums(n, m.error_modes, m.modal, m.x, m.e)  # x begins with zeros
    m.error = measure_modal(m, m.e, m.e[n:], m.e[2 * n :]) / m.tolerance
    m.age += 1


@kernel
def find_power_within(m: ExponentialState) -> None:
    """Evaluate the powers at a quarter of the last step, for samples within the step.

    A cubic through these powers and those of `find_powers` has the same integral over the step as
    the parabola, so that work integrals at samples within a step are as accurate as at its end.
    """
    n = m.system.n
    extra = m.size - 2 * n
    solution(m, m.responses, m.y_old, m.last_step, 0.25 * m.last_step, m.trial)
    rates(m.system, m.t_old + 0.25 * m.last_step, m.trial, m.k)
    for i in range(m.system.work_integrals):
        if i != PRESCRIBED:
            quarter = m.k[2 * n + i]
            m.p[2 * extra + i] = quarter
            mean_of_ends = 0.25 * (m.p[i] + m.p[5 * extra + i])
            m.p[4 * extra + i] = mean_of_ends + 1.5 * m.p[3 * extra + i] - quarter
    m.sample_ready = 1


@kernel
def exponential_sample(m: ExponentialState) -> int:
    """Compute the state at the time m.sample_time within the last step; return 0."""
    if m.servoed == 1 and m.sample_ready == 0:
        find_power_within(m)
    n = m.system.n
    h = m.last_step
    tau = m.sample_time - m.t_old
    for r in range(n):
        responses(m.squares[r], m.losses[r], tau, m.sample_responses[r * RESPONSES :])
    solution(m, m.sample_responses, m.y_old, h, tau, m.sampled)
    if m.has_pulls == 1:
        m.sampled[2 * n + PRESCRIBED] += coupling_work(m, h, tau)
    return 0
