"""Where a stream repeats itself, as it does along a chain of alike links."""

from collections import Counter
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from flexarm.engine.stream import Stream

# Operands up to so many operations back are told apart: a repetition has them at the same distance.
NEAR = 24
WINDOW = 32  # operations whose likeness suggests that those around them repeat too
CANDIDATES = 12  # most frequent distances between like windows that are tried as periods
MULTIPLES = 4  # of each: links may be alike in turns
SHORTEST = 64  # operations in a period; less is not worth a function of its own
# Shares of a stream: what a repetition must save to be cut out, and what all must save together.
WORTHWHILE, ENOUGH = 0.01, 0.25


def cuts(stream: Stream, *, chunk: int) -> list[int]:
    """Say where to cut a stream, so that pieces come out alike where it repeats itself.

    Parameters
    ----------
    stream
        The operations.
    chunk
        Largest number of operations in a piece.

    Returns
    -------
    list of int
        Indices into the operations, from 0 to their number. A cut inside a repetition is at the
        same place of each period, first where the fewest values are carried across it. Empty for a
        stream that does not repeat itself for the most part.
    """
    length = len(stream.operations)
    repetitions = _repetitions(_likeness(stream))
    if not repetitions:
        return []
    crossing = _crossing(stream)
    marks = {0, length}
    for start, period, times in repetitions:
        phase = int(np.argmin(crossing[start : start + period]))
        times -= phase > 0
        parts = -(-period // chunk)
        steps = [part * period // parts for part in range(parts)]
        for turn in range(times):
            marks |= {start + phase + turn * period + step for step in steps}
        marks |= {start + phase + times * period}
    edges = sorted(marks)
    return [cut for left, right in pairwise(edges) for cut in range(left, right, chunk)] + [length]


def _likeness(stream: Stream) -> NDArray[np.int64]:
    """Give each operation a number that like ones share, whatever their constants are."""
    first, first_load = stream.first_operation, stream.first_load
    known: dict[tuple[str, int, int], int] = {}

    def kind(k: int, value: int) -> int:
        if value < first_load:
            return min(value, 0) - 1
        if value < first:
            return -3 - stream.loads[value - first_load].port
        distance = first + k - value
        return distance if distance <= NEAR else 0

    return np.array(
        [
            known.setdefault((op, kind(k, a), -99 if b < 0 else kind(k, b)), len(known))
            for k, (op, a, b) in enumerate(stream.operations)
        ],
        dtype=np.int64,
    )


def _crossing(stream: Stream) -> NDArray[np.int64]:
    """Count, for each operation, the values computed before it that it or a later one uses."""
    first = stream.first_operation
    last = np.arange(len(stream.operations))
    for k, operation in enumerate(stream.operations):
        for value in operation.operands:
            if value >= first:
                last[value - first] = k
    change = np.zeros(len(stream.operations) + 1, dtype=np.int64)
    change[1:] += 1
    np.subtract.at(change, last + 1, 1)
    return np.cumsum(change)[:-1] if len(last) else change[:-1]


def _repetitions(likeness: NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """List stretches that repeat: where they start, the period, and how many periods there are.

    The longest come first. The list is empty if they save too little.
    """
    free = np.ones(len(likeness), dtype=bool)
    periods = _periods(likeness)
    found: list[tuple[int, int, int]] = []
    while True:
        longest, start, period = max(
            (_longest(likeness, free, period) for period in periods), default=(0, 0, 0)
        )
        if longest <= WORTHWHILE * len(likeness):
            saved = sum(period * (times - 1) for _, period, times in found)
            return found if saved > ENOUGH * len(likeness) else []
        found.append((start, period, (longest + period) // period))
        free[start : start + longest + period] = False


def _periods(likeness: NDArray[np.int64]) -> list[int]:
    """List distances at which windows of operations are alike, the most frequent ones."""
    count = len(likeness) - WINDOW + 1
    if count < 2 * SHORTEST:
        return []
    windows = np.zeros(count, dtype=np.uint64)
    for k in range(WINDOW):
        windows = windows * np.uint64(1000003) + likeness[k : k + count].astype(np.uint64)
    order = np.argsort(windows, kind="stable")
    alike = windows[order[1:]] == windows[order[:-1]]
    distances = Counter((order[1:] - order[:-1])[alike].tolist()).most_common(CANDIDATES)
    multiples = {p * times for p, _ in distances for times in range(1, MULTIPLES + 1)}
    return sorted(p for p in multiples if SHORTEST <= p <= len(likeness) // 2)


def _longest(
    likeness: NDArray[np.int64], free: NDArray[np.bool_], period: int
) -> tuple[int, int, int]:
    """Find the longest stretch that comes again after a period: its length, start, the period."""
    again = (likeness[period:] == likeness[:-period]) & free[period:] & free[:-period]
    steps = np.flatnonzero(np.diff(np.concatenate(([0], again.view(np.int8), [0]))))
    starts, lengths = steps[::2], np.diff(steps)[::2]
    if not len(starts) or lengths.max() < period:
        return 0, 0, 0
    at = int(lengths.argmax())
    return int(lengths[at]), int(starts[at]), period
