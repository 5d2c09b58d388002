"""Which values wait in memory for their use on a GPU, whose registers are few, and in which.

Left to the driver, values of large arms that no register holds go through the memory of the whole
GPU, twice as often as they need to.  Near memory is as fast as registers nearly, and as large as
all of them.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Literal, NamedTuple

from flexarm.engine.stream import Stream

Memory = Literal["near", "far", "input"]

WARP = 32  # threads that go together; their values stand side by side
MEMORIES = {"near": 3, "far": 5}  # as NVIDIA numbers them
CONSTANT = 4  # likewise: what all threads read at once
NEAR = "flexarm_near"  # which the program has to define: it says where a thread's near memory is


@dataclass(frozen=True)
class Room:
    """Memory for values of a thread."""

    near: int  # places in the memory that a block of threads shares
    registers: int = 104  # values that are in registers at once; the driver needs some for itself
    ahead: int = 100  # operations from where a value is loaded to its use
    # Whether constants come from a table: that takes an instruction each, in code two.
    tabled: bool = False

    @property
    def declared(self) -> str:
        """Name what the program has to define."""
        return f"declare ptr addrspace(3) @{NEAR}()" if self.near else ""

    def prologue(self, far: int) -> list[str]:
        """Write where both memories are; so many places of the far one are used."""
        near = f"%near = call ptr addrspace(3) @{NEAR}()"
        return [
            *([near] if self.near else []),
            f"%own = alloca [{max(far, 1)} x double], align 8",
            "%far = addrspacecast ptr %own to ptr addrspace(5)",
        ]


class Move(NamedTuple):
    """A value that is brought into a register, or put away."""

    value: int
    memory: Memory
    place: int

    @property
    def offset(self) -> int:
        """Return how many doubles it is from the first place."""
        return self.place * (WARP if self.memory == "near" else 1)


@dataclass
class Moves:
    """By operation: what is loaded before it, and stored after it."""

    loads: defaultdict[int, list[Move]] = field(default_factory=lambda: defaultdict(list))
    stores: defaultdict[int, list[Move]] = field(default_factory=lambda: defaultdict(list))
    far: int = 0  # places in the thread's own memory


def moves(stream: Stream, room: Room) -> Moves:
    """Say when values go to memory and come back.

    What waits longest for its next use leaves the registers.  Near memory is for those that would
    stay if it were registers too.
    """
    found = _Walk(stream, room.registers + room.near, room.ahead, 0, frozenset())
    far = frozenset(move.value for listed in found.moves.stores.values() for move in listed)
    return _Walk(stream, room.registers, room.ahead, room.near, far).moves


class _Walk:
    """A walk through the operations."""

    def __init__(
        self, stream: Stream, registers: int, ahead: int, near: int, far: frozenset[int]
    ) -> None:
        self.stream, self.registers, self.far = stream, registers, far
        self.uses: defaultdict[int, list[int]] = defaultdict(list)
        for k in range(len(stream.operations) - 1, -1, -1):
            for value in self._operands(k):
                self.uses[value].append(k)  # the next one is the last of the list
        self.held: set[int] = set()
        self.away: dict[int, Move] = {}
        self.free = list(range(near))
        heapify(self.free)
        self.free_far: list[int] = []
        self.moves = Moves()
        for value in range(stream.first_load, stream.first_operation):
            self.away[value] = Move(value, "input", value)
        for k in range(min(ahead, len(stream.operations))):
            self._bring(0, k)
        for k in range(len(stream.operations)):
            if k + ahead < len(stream.operations):
                self._bring(k, k + ahead)
            self._bring(k, k)
            self._use(k)

    def _operands(self, k: int) -> set[int]:
        first = self.stream.first_load
        return {value for value in self.stream.operations[k].operands if value >= first}

    def _bring(self, now: int, k: int) -> None:
        """Load what an operation uses."""
        for value in sorted(self._operands(k)):
            if value in self.away and value not in self.held:
                self.moves.loads[now].append(self.away[value])
                self.held.add(value)

    def _use(self, k: int) -> None:
        """Take the operands of an operation, and hold its result."""
        for value in self._operands(k):
            self.uses[value].pop()
            if not self.uses[value]:
                self.held.discard(value)
                self._release(value)
        value = self.stream.first_operation + k
        if self.uses.get(value):
            self.held.add(value)
        while len(self.held) > self.registers:
            self._put_away(k, max(self.held, key=lambda each: self.uses[each][-1]))

    def _release(self, value: int) -> None:
        move = self.away.pop(value, None)
        if move is not None and move.memory != "input":
            heappush(self.free if move.memory == "near" else self.free_far, move.place)

    def _put_away(self, k: int, value: int) -> None:
        self.held.remove(value)
        if value in self.away:
            return
        if value not in self.far and self.free:
            move = Move(value, "near", heappop(self.free))
        elif self.free_far:
            move = Move(value, "far", heappop(self.free_far))
        else:
            move = Move(value, "far", self.moves.far)
            self.moves.far += 1
        self.away[value] = move
        self.moves.stores[k].append(move)
