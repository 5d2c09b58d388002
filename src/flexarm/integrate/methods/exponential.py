"""Exponential Runge-Kutta in the elastic modes of the arm where it is (Krogstad 2005).

Near a reference state the arm is ``x_i'' + c_i x_i' + w_i^2 x_i = g_i`` in the modes of its mass
and stiffness there, with a slowly changing g.  Each mode's oscillator is solved exactly and only g
is interpolated, so that steps may be longer than the periods of fast modes.  Within a step x counts
from where the step begins: rounding of large joint angles does not get into the deflections.
"""

import math

from flexarm.integrate.march import measure_modal
from flexarm.integrate.methods.eigen import (
    cholesky,
    congruence,
    diagonalise,
    part_alike,
    reduce_pencil,
    tridiagonalise,
)
from flexarm.integrate.methods.oscillator import RESPONSES, double_time, responses
from flexarm.integrate.methods.reactions import (
    ExponentialMarch,
    find_matrices,
    keep_masses,
    moves_past,
    pulled_before,
    pulled_error,
    pulled_new,
    pulled_work,
    take_pulls_off,
)
from flexarm.integrate.system import PRESCRIBED, rates
from flexarm.loops.kernel import kernel
from flexarm.loops.language import Array
from flexarm.loops.sums import weigh, weigh_both, weigh_pairs

SIMPSON = 1.0 / 120.0  # of a cubic's deviation from its parabola, in a position
# The same where a mode swings within a step: what drives it may swing with it, as it does where its
# frequency is no longer that of the basis.
UNRESOLVED = 1.0 / 16.0


@kernel
def detach(n: int, matrix: Array, k: int, diagonal: float) -> None:
    """Cut a prescribed coordinate loose from a matrix."""
    for i in range(n):
        matrix[i * n + k] = 0.0
        matrix[k * n + i] = 0.0
    matrix[k * n + k] = diagonal


@kernel
def renew(m: ExponentialMarch) -> int:
    """Take the modes of the mass and stiffness at the present state."""
    n = m.system.n
    find_matrices(m, m.y)
    keep_masses(m)
    for c in range(m.system.known):
        k = m.system.coordinates[c]
        detach(n, m.mass, k, 1.0)
        detach(n, m.stiffness, k, 0.0)
        detach(n, m.damping, k, 0.0)
    failed = find_modes(
        n, m.mass, m.stiffness, m.damping, m.modes, m.inverse, m.squares, m.losses, m.room
    )
    if failed != 0:
        return 1
    see_modes(m)
    m.age = 0
    m.table_h = 0.0
    m.renewals += 1
    return 0


@kernel
def see_modes(m: ExponentialMarch) -> None:
    """Find the modes in those that errors are measured in."""
    n = m.system.n
    for r in range(n):
        for i in range(0, n, 4):
            i1 = min(i + 1, n - 1)
            i2 = min(i + 2, n - 1)
            i3 = min(i + 3, n - 1)
            s0 = 0.0
            s1 = 0.0
            s2 = 0.0
            s3 = 0.0
            for j in range(n):
                x = m.modes[r * n + j]
                s0 += m.to_modes[i * n + j] * x
                s1 += m.to_modes[i1 * n + j] * x
                s2 += m.to_modes[i2 * n + j] * x
                s3 += m.to_modes[i3 * n + j] * x
            m.measured[r * n + i] = s0
            m.measured[r * n + i1] = s1
            m.measured[r * n + i2] = s2
            m.measured[r * n + i3] = s3


@kernel
def find_modes(
    n: int, mass: Array, stiffness: Array, damping: Array,
    modes: Array, inverse: Array, squares: Array, losses: Array, room: Array,
) -> int:  # fmt: skip
    """Find the modes of matrices; 0 if there are some.

    Mass is used up, and stiffness becomes the damping in modes.
    """
    if cholesky(n, mass) != 0:
        return 1
    reduce_pencil(n, mass, stiffness)
    tridiagonalise(n, stiffness, inverse, squares, losses, room)
    if diagonalise(n, inverse, squares, losses, modes) != 0:
        return 1
    _modes_from_rotation(n, mass, modes, inverse)
    congruence(n, modes, n, 1, damping, mass, stiffness)
    part_alike(n, squares, stiffness, modes, inverse)
    for r in range(n):
        losses[r] = max(stiffness[r * n + r], 0.0)
    return 0


@kernel
def _modes_from_rotation(n: int, mass: Array, modes: Array, inverse: Array) -> None:
    """Modes are rows of V^T L^-1, their inverse has rows of L V, with V^T in ``inverse``.

    Four rows at a time read L once; the last one may be done again.
    """
    for r in range(0, n, 4):
        r0 = r * n
        r1 = min(r + 1, n - 1) * n
        r2 = min(r + 2, n - 1) * n
        r3 = min(r + 3, n - 1) * n
        for i in range(n - 1, -1, -1):
            s0 = inverse[r0 + i]
            s1 = inverse[r1 + i]
            s2 = inverse[r2 + i]
            s3 = inverse[r3 + i]
            for j in range(i + 1, n):
                factor = mass[j * n + i]
                s0 -= modes[r0 + j] * factor
                s1 -= modes[r1 + j] * factor
                s2 -= modes[r2 + j] * factor
                s3 -= modes[r3 + j] * factor
            factor = 1.0 / mass[i * n + i]
            modes[r0 + i] = s0 * factor
            modes[r1 + i] = s1 * factor
            modes[r2 + i] = s2 * factor
            modes[r3 + i] = s3 * factor
        for i in range(n - 1, -1, -1):
            s0 = 0.0
            s1 = 0.0
            s2 = 0.0
            s3 = 0.0
            for j in range(i + 1):
                factor = mass[i * n + j]
                s0 += inverse[r0 + j] * factor
                s1 += inverse[r1 + j] * factor
                s2 += inverse[r2 + j] * factor
                s3 += inverse[r3 + j] * factor
            inverse[r0 + i] = s0
            inverse[r1 + i] = s1
            inverse[r2 + i] = s2
            inverse[r3 + i] = s3
    for r in range(n):
        for i in range(r):
            value = inverse[r * n + i]
            inverse[r * n + i] = inverse[i * n + r]
            inverse[i * n + r] = value


@kernel
def tabulate(m: ExponentialMarch) -> None:
    """Tabulate the oscillators' responses for the step m.h."""
    if m.table_h == m.h:
        return
    for r in range(m.system.n):
        row = r * RESPONSES
        responses(m.squares[r], m.losses[r], 0.5 * m.h, m.half[row:])
        for k in range(RESPONSES):
            m.whole[row + k] = m.half[row + k]
        double_time(m.squares[r], m.losses[r], 0.5 * m.h, m.whole[row:])
    m.table_h = m.h


@kernel
def remainder(m: ExponentialMarch, x: Array, f: Array, g: Array) -> None:
    """Find what acceleration is left beside the oscillators' own at a modal state x."""
    n = m.system.n
    weigh(n, n, m.inverse, f[n:], g)
    for r in range(n):
        g[r] += m.squares[r] * x[r] + m.losses[r] * x[n + r]


@kernel
def accelerate(m: ExponentialMarch, x: Array, g: Array, out: Array) -> None:
    """Give the accelerations of modes in a modal state x."""
    n = m.system.n
    for r in range(n):
        out[r] = g[r] - m.squares[r] * x[r] - m.losses[r] * x[n + r]


@kernel
def drive(m: ExponentialMarch, table: Array, r: int, slope: float, bend: float) -> None:
    """Move a mode on from the step's begin, where x is 0, into the modal state m.modal.

    It is driven by ``g + slope t + bend t^2/2`` with g at the begin.
    """
    n = m.system.n
    row = r * RESPONSES
    v = m.x[n + r]
    g = m.g[r]
    s = table[row]
    whole = table[row + 2]
    more = table[row + 3]
    m.modal[r] = s * v + whole * g + slope * more + bend * table[row + 4]
    m.modal[n + r] = table[row + 1] * v + s * g + slope * whole + bend * more


@kernel
def evaluate(m: ExponentialMarch, part: float, which: int) -> None:
    """Evaluate the equations at the modal state m.modal, into row `which` of g and p."""
    n = m.system.n
    weigh_both(n, m.modes, m.modal, m.y, m.trial)
    extra = m.size - 2 * n
    for i in range(extra):
        m.trial[2 * n + i] = m.y[2 * n + i] + part * m.h * m.p[(which - 1) * extra + i]
    rates(m.system, m.t + part * m.h, m.trial, m.k)
    remainder(m, m.modal, m.k, m.g[which * n :])
    if m.system.known > 0:
        accelerate(m, m.modal, m.g[which * n :], m.swings[which * n :])
    for i in range(extra):
        m.p[which * extra + i] = m.k[2 * n + i]


@kernel
def goes_on(m: ExponentialMarch) -> int:
    """Tell whether the step begins where the last trial ended, in the same basis."""
    if m.age == 0 or m.h_done == 0.0:
        return 0
    for i in range(2 * m.system.n):
        if m.y[i] != m.y_new[i] or m.f[i] != m.f_new[i]:
            return 0
    return 1


@kernel
def look_back(m: ExponentialMarch) -> None:
    """Find g at the begin of the last step, as it is seen from where it ended."""
    n = m.system.n
    for i in range(n):
        m.trial[i] = m.y_old[i] - m.y[i]
        m.trial[n + i] = m.y_old[n + i]
    weigh_both(n, m.inverse, m.trial, m.x, m.modal)  # x begins with zeros
    remainder(m, m.modal, m.f_old, m.before)


@kernel
def begin_step(m: ExponentialMarch) -> None:
    """Find rates of modes and g at the step's begin, and g at the begin of the last step."""
    n = m.system.n
    if goes_on(m) == 1:
        for r in range(n):
            moved = m.squares[r] * m.ended[r]
            m.before[r] = m.g[r] - moved
            m.g[r] = m.g[4 * n + r] - moved
            m.x[n + r] = m.ended[n + r]
        return
    weigh(n, n, m.inverse, m.y[n:], m.x[n:])
    remainder(m, m.x, m.f, m.g)
    if m.h_done > 0.0:
        look_back(m)


@kernel
def solution(
    m: ExponentialMarch, table: Array, begin: Array, h: float, tau: float, out: Array
) -> None:
    """Solve the oscillators up to a time within a step, with g and powers as parabolas."""
    n = m.system.n
    once = 1.0 / h
    for r in range(n):
        middle = m.g[n + r] + m.g[2 * n + r]
        slope = -3.0 * m.g[r] + 2.0 * middle - m.g[3 * n + r]
        bend = 4.0 * (m.g[r] - middle + m.g[3 * n + r])
        drive(m, table, r, once * slope, once * once * bend)
    weigh_both(n, m.modes, m.modal, begin, out)
    z = tau / h
    extra = m.size - 2 * n
    for i in range(extra):
        middle = m.p[extra + i] + m.p[2 * extra + i]
        slope = 0.5 * (-3.0 * m.p[i] + 2.0 * middle - m.p[3 * extra + i])
        bend = 2.0 / 3.0 * (m.p[i] - middle + m.p[3 * extra + i])
        out[2 * n + i] = begin[2 * n + i] + tau * (m.p[i] + z * (slope + z * bend))


@kernel
def find_powers(m: ExponentialMarch) -> None:
    """Find powers in the middle of a step anew, where the solution is.

    The two stages there are off it to either side.  A hard servo answers that by a large force,
    whose power is a square: it does not cancel, and works never forget it.
    """
    n = m.system.n
    extra = m.size - 2 * n
    solution(m, m.half, m.y, m.h, 0.5 * m.h, m.trial)
    rates(m.system, m.t + 0.5 * m.h, m.trial, m.k)
    for i in range(m.system.works):
        if i != PRESCRIBED:
            m.p[extra + i] = m.k[2 * n + i]
            m.p[2 * extra + i] = m.k[2 * n + i]
    for i in range(2 * n):
        m.modal[i] = m.ended[i]


@kernel
def exponential_step(m: ExponentialMarch) -> int:
    """Try one step."""
    n = m.system.n
    if m.age >= m.renewal and renew(m) != 0:
        m.error = 1e300
        return 1
    tabulate(m)
    h = m.h
    begin_step(m)
    if m.system.known > 0:
        accelerate(m, m.x, m.g, m.swings)
    for i in range(m.size - 2 * n):
        m.p[i] = m.f[2 * n + i]
    for r in range(n):
        drive(m, m.half, r, 0.0, 0.0)
    evaluate(m, 0.5, 1)
    for r in range(n):
        drive(m, m.half, r, 4.0 / h * (m.g[n + r] - m.g[r]), 0.0)
    evaluate(m, 0.5, 2)
    for r in range(n):
        drive(m, m.whole, r, 2.0 / h * (m.g[2 * n + r] - m.g[r]), 0.0)
    evaluate(m, 1.0, 3)
    solution(m, m.whole, m.y, h, h, m.y_new)
    finish(m)
    return 0


@kernel
def interpolation_error(m: ExponentialMarch) -> None:
    """Find what the parabola through g leaves out, by its third difference with the last step.

    It is put into m.modal, of works and servos' states into m.e.  The stages' own estimate does not
    see how inputs change within a step.  After a jump there is no last step, and the second
    difference takes its place.
    """
    n = m.system.n
    h = m.h
    back = m.h_done
    # Weights of a difference: of values at the begin, a step before, in the middle (the sum of
    # both there), at the end.
    here = 2.0
    before = 0.0
    middle = -2.0
    after = 2.0
    power = 0.0
    if back > 0.0 and back <= 20.0 * h:
        here = 2.0 * h / back
        before = -h * h * h / (back * (back + 0.5 * h) * (back + h))
        middle = -2.0 * h / (back + 0.5 * h)
        after = 2.0 * h / (back + h)
        if m.passed == 1:
            look_back(m)
            accelerate(m, m.modal, m.before, m.swings)
            power = pulled_before(m)
    for r in range(n):
        left = here * m.g[r] + before * m.before[r] + after * m.g[3 * n + r]
        left += middle * (m.g[n + r] + m.g[2 * n + r])
        turned = math.sqrt(max(m.squares[r], 0.0)) * h
        size = min(SIMPSON * (1.0 + turned * turned), UNRESOLVED) * left
        m.modal[r] = size * h * h / max(turned, 1.0)
        m.modal[n + r] = size * h
    extra = m.size - 2 * n
    for i in range(extra):
        last = m.f_old[2 * n + i] - (power if i == PRESCRIBED else 0.0)
        left = here * m.p[i] + before * last + after * m.p[3 * extra + i]
        left += middle * (m.p[extra + i] + m.p[2 * extra + i])
        m.e[2 * n + i] = SIMPSON * left * h
    if m.passed == 1:
        rest = UNRESOLVED / SIMPSON * abs(m.e[2 * n + PRESCRIBED])
        m.e[2 * n + PRESCRIBED] = rest + pulled_error(m, m.modal)


@kernel
def finish(m: ExponentialMarch) -> None:
    """Write the trial state and measure its error."""
    n = m.system.n
    h = m.h
    for i in range(2 * n):
        m.ended[i] = m.modal[i]
    extra = m.size - 2 * n
    if m.servoed == 1:
        find_powers(m)
    rates(m.system, m.t + h, m.y_new, m.f_new)
    for i in range(m.system.works if m.servoed == 1 else 0):
        if i != PRESCRIBED:
            m.p[3 * extra + i] = m.f_new[2 * n + i]
            gain = m.p[i] + 4.0 * m.p[extra + i] + m.p[3 * extra + i]
            m.y_new[2 * n + i] = m.y[2 * n + i] + h * gain / 6.0
    remainder(m, m.modal, m.f_new, m.g[4 * n :])
    m.passed = moves_past(m)
    pulled = 0.0
    if m.passed == 1:
        take_pulls_off(m)
        accelerate(m, m.modal, m.g[4 * n :], m.swings)
        pulled = pulled_new(m)
    for i in range(extra):
        m.e[2 * n + i] = h * (m.f_new[2 * n + i] - m.p[3 * extra + i]) / 6.0
    m.e[2 * n + PRESCRIBED] -= h * pulled / 6.0
    once = 1.0 / h
    for r in range(n):
        row = r * RESPONSES
        slope = once * (m.g[3 * n + r] - m.g[4 * n + r])
        bend = -4.0 * once * slope
        m.stages[r] = slope * m.whole[row + 3] + bend * m.whole[row + 4]
        m.stages[n + r] = slope * m.whole[row + 2] + bend * m.whole[row + 3]
    if m.passed == 1:
        m.e[2 * n + PRESCRIBED] = abs(m.e[2 * n + PRESCRIBED]) + pulled_error(m, m.stages)
    for i in range(extra):
        m.k[2 * n + i] = m.e[2 * n + i]
    interpolation_error(m)
    weigh_pairs(n, m.measured, m.stages, m.k, m.modal, m.e)
    one = measure_modal(m, m.k, m.k[n:], m.k[2 * n :])
    other = measure_modal(m, m.e, m.e[n:], m.e[2 * n :])
    m.error = max(one, other) / m.tolerance
    m.age += 1


@kernel
def exponential_sample(m: ExponentialMarch) -> int:
    """Solve the oscillators up to a time within the last step."""
    n = m.system.n
    h = m.h_done
    tau = m.sample_time - m.t_old
    for r in range(n):
        responses(m.squares[r], m.losses[r], tau, m.part[r * RESPONSES :])
    solution(m, m.part, m.y_old, h, tau, m.sampled)
    if m.passed == 1:
        m.sampled[2 * n + PRESCRIBED] += pulled_work(m, h, tau)
    return 0
