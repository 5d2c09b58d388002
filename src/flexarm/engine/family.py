"""One compile for functions that differ in their numbers alone."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import casadi
import numpy as np
from numpy.typing import NDArray

from flexarm.engine.compile import Compiled, Level
from flexarm.engine.functions import compile_stream
from flexarm.engine.lower import lower
from flexarm.engine.stream import Load, Port, Stream

CONSTANTS = "constants"


class Member(Compiled):
    """A function of a family: the family's machine code, called with its own numbers."""

    def __init__(self, shared: Compiled, constants: NDArray[np.float64], digest: str) -> None:
        self.__dict__ = {**shared.__dict__, CONSTANTS: constants, "digest": digest}

    constants: NDArray[np.float64]
    digest: str

    def call(self, *arrays: Any) -> tuple[NDArray[np.float64], ...]:
        """Evaluate the function with its own numbers."""
        return super().call(*arrays, self.constants)


class Family:
    """Functions that were traced with different numbers, and the machine code that they share.

    Numbers that were folded into the operations become one more input, `constants`.  Functions
    whose operations differ, since a number happens to be 0 or equal to another, do not share.
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
        stream = lower(function)
        opened = open_constants(stream)
        parts = [opened.name, opened.inputs, opened.outputs, opened.loads, opened.operations]
        digest = hashlib.sha256(json.dumps([*parts, opened.stores]).encode()).hexdigest()
        if digest not in self._known:
            self._streams[digest] = opened
            self._known.setdefault(digest, compile_stream(opened, level=self.level))
        return Member(self._known[digest], np.array([*stream.constants, 0.0]), digest)

    def abreast(self, members: Sequence[Member]) -> Member | None:
        """Put members into the lanes of one function, or None if their operations differ."""
        digest, width = members[0].digest, len(members)
        if any(member.digest != digest for member in members):
            return None
        if (digest, width) not in self._wide:
            stream = self._streams[digest]
            wide = compile_stream(stream, level=self.level, width=width)
            self._wide.setdefault((digest, width), wide)
        lanes = np.ascontiguousarray(np.stack([each.constants for each in members], axis=1))
        return Member(self._wide[digest, width], lanes, digest)


def open_constants(stream: Stream) -> Stream:
    """Make a stream's constants an input: its values keep their numbers."""
    count = len(stream.constants)
    loads = [Load(len(stream.inputs), k) for k in range(count)]
    port = Port(CONSTANTS, count + 1, 1)
    return replace(
        stream,
        inputs=(*stream.inputs, port),
        constants=(),
        loads=(*loads, *stream.loads),
    )
