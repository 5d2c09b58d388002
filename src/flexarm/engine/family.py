"""One compile for functions that differ in their numbers alone."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import final

import casadi
import numpy as np
from numpy.typing import NDArray

from flexarm.engine.compile import Compiled, Level
from flexarm.engine.functions import compile_stream
from flexarm.engine.lower import COMMUTATIVE, lower
from flexarm.engine.stream import BINARY, Load, Operation, Port, Store, Stream

CONSTANTS = "constants"


@final
class Member(Compiled):
    """A function of a family: the family's machine code, with numbers of its own."""

    def __init__(self, shared: Compiled, constants: NDArray[np.float64], digest: str) -> None:
        super().__init__(shared.machine_code, (constants,))
        self.digest = digest


class Family:
    """Functions that were traced with different numbers, and the machine code that they share.

    Numbers that were folded into the operations become one more input, `constants`.  Functions
    whose operations differ, since a number is 0 or 1, do not share.  What is computed with numbers
    within `lower.ALIKE` of each other is computed once in all of them: rounding decides nothing.
    """

    def __init__(self, level: Level = "fast") -> None:
        self.level = level
        self._known: dict[str, Compiled] = {}
        self._wide: dict[tuple[str, int], Compiled] = {}
        self._streams: dict[str, Stream] = {}

    @property
    def compiles(self) -> int:
        """Number of different machine codes so far."""
        return len(self._known)

    def member(self, function: casadi.Function) -> Member:
        """Compile a function, or find one that differs in its numbers alone."""
        opened, numbers = open_constants(lower(function, alike=True))
        parts = [opened.name, opened.inputs, opened.outputs, opened.loads, opened.operations]
        digest = hashlib.sha256(json.dumps([*parts, opened.stores]).encode()).hexdigest()
        if digest not in self._known:
            self._streams[digest] = opened
            self._known.setdefault(digest, compile_stream(opened, level=self.level))
        return Member(self._known[digest], np.array([*numbers, 0.0]), digest)

    def abreast(self, members: Sequence[Member]) -> Member | None:
        """Put members into the lanes of one function, or None if their operations differ."""
        digest, width = members[0].digest, len(members)
        if any(member.digest != digest for member in members):
            return None
        if (digest, width) not in self._wide:
            stream = self._streams[digest]
            wide = compile_stream(stream, level=self.level, width=width)
            self._wide.setdefault((digest, width), wide)
        lanes = np.ascontiguousarray(np.stack([each.constants[0] for each in members], axis=1))
        return Member(self._wide[digest, width], lanes, digest)


def open_constants(stream: Stream) -> tuple[Stream, list[float]]:
    """Make every use of a constant an element of one more input, and list the numbers to put there.

    Notes
    -----
    Two numbers that happen to be equal are two elements all the same.  The constant comes first
    where the order does not matter, since its place among the values tells when it was first used.
    """
    port, first = len(stream.inputs), stream.first_load
    numbers: list[float] = []
    used: list[tuple[str, int, int]] = []  # uses are numbered ~0, ~1, ... until all are known

    def use(value: int) -> int:
        if value >= first:
            return value
        numbers.append(stream.constants[value])
        return ~(len(numbers) - 1)

    for op, a, b in stream.operations:
        if op in COMMUTATIVE and a >= first > b:
            a, b = b, a
        used.append((op, use(a), use(b) if op in BINARY else -1))
    stored = [(place, element, use(value)) for place, element, value in stream.stores]
    shift = len(numbers) - first

    def renumber(value: int) -> int:
        return value + shift if value >= 0 else ~value

    opened = replace(
        stream,
        inputs=(*stream.inputs, Port(CONSTANTS, len(numbers) + 1, 1)),
        constants=(),
        loads=(*(Load(port, k) for k in range(len(numbers))), *stream.loads),
        operations=tuple(
            Operation(op, renumber(a), renumber(b) if op in BINARY else -1) for op, a, b in used
        ),
        stores=tuple(Store(place, element, renumber(value)) for place, element, value in stored),
    )
    return opened, numbers
