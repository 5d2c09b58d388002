"""Looking out within steps for quantities that leave the bounds within which nothing happens."""

import math

from flexarm.integrate.march import March
from flexarm.integrate.system import rates
from flexarm.loops.kernel import kernel
from flexarm.loops.language import run_kernel


@kernel
def beyond(m: March) -> int:
    """Find the first quantity looked out for that was out of its bounds at last, or -1."""
    for k in range(m.lookouts):
        if m.seen[k] < m.seen_low[k] or m.seen[k] > m.seen_high[k]:
            return k
    return -1


@kernel
def note_seen(m: March) -> None:
    """Note what is looked out for at t, where the equations were evaluated at last."""
    for k in range(m.lookouts):
        m.seen_here[k] = m.seen[k]
        m.rate_here[k] = m.seen_rate[k]


@kernel
def peaks(m: March, first: int) -> int:
    """Find a quantity, from a number on, whose cubic over the step leaves its bounds, or -1."""
    for k in range(first, m.lookouts):
        change = m.seen[k] - m.seen_here[k]
        begin = m.h_done * m.rate_here[k]
        last = m.h_done * m.seen_rate[k]
        if begin * last < 0.0:  # p' = begin + x (2 b + 3 c x)
            b = 3.0 * change - 2.0 * begin - last
            c = begin + last - 2.0 * change
            root = math.sqrt(max(b * b - 3.0 * c * begin, 0.0))
            x = -begin / (b + root if b > 0.0 else b - root)
            if not 0.0 < x < 1.0:
                x = (-b + root if b < 0.0 else -b - root) / (3.0 * c)
            value = m.seen_here[k] + x * (begin + x * (b + x * c))
            if value < m.seen_low[k] or value > m.seen_high[k]:
                m.peak = m.t_old + x * m.h_done
                return k
    return -1


@kernel
def peek(m: March, t: float, row: int) -> int:
    """Look at a time within the last step; find a quantity that is out of its bounds, or -1."""
    m.sample_time = t
    run_kernel(m.sample, m)
    rates(m.system, t, m.sampled, m.aside)
    for k in range(m.lookouts):
        m.peeked[row * m.lookouts + k] = m.seen[k]
    m.peak = t
    found: int = beyond(m)
    return found


@kernel
def slips_within(m: March) -> int:
    """Look at quarters of the last step, and where parabolas through them turn; tell if beyond."""
    if m.peeks == 0 or m.sample == 0:
        return 0
    count = m.lookouts
    for k in range(count):
        m.peeked[k] = m.seen_here[k]
        m.peeked[4 * count + k] = m.seen[k]
        m.peeked[5 * count + k] = m.seen_rate[k]
    for j in range(1, 4):
        if peek(m, m.t_old + 0.25 * j * m.h_done, j) >= 0:
            return 1
    for j in range(1, 4):
        for k in range(count):
            a = m.peeked[(j - 1) * count + k]
            b = m.peeked[j * count + k]
            c = m.peeked[(j + 1) * count + k]
            if (b - a) * (c - b) < 0.0:
                bend = a - 2.0 * b + c
                value = b - 0.125 * (a - c) * (a - c) / bend
                shift = 0.5 * (a - c) / bend
                if value < m.seen_low[k] or value > m.seen_high[k]:
                    if peek(m, m.t_old + 0.25 * (j + shift) * m.h_done, j) >= 0:
                        return 1
                    m.peeked[j * count + k] = b
    for k in range(count):
        m.seen[k] = m.peeked[4 * count + k]
        m.seen_rate[k] = m.peeked[5 * count + k]
    m.peak = m.t
    return 0
