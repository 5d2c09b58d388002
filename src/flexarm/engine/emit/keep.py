"""Choice of the values that wait in memory on a GPU, whose registers are few.

Left to the driver, values of large arms that no register holds go through the memory of the whole
GPU, twice as often as they need to.  Near memory is as fast as registers nearly, and as large as
all of them.
"""

import struct
from collections import defaultdict
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from typing import Literal, NamedTuple

from flexarm.engine.stream import Stream

Memory = Literal["near", "far", "input", "table"]

WARP = 32  # threads that go together; their values stand side by side
# Threads of a block that use near memory, and doubles beside what all of them have of it, at least.
BLOCK, SPARE = 256, 896
TABLE = 6144  # constants at most: of a block's memory a program's code has 48 kB
MEMORIES = {"near": 3, "far": 5}  # as NVIDIA numbers them
CONSTANT = 4  # likewise: what all threads read at once
# Operations from where a value is loaded from near memory to its use, and of a constant from where
# it is loaded with another to where it would be loaded itself.
SOON, PAIRED = 12, 40
# How many times as long a value could wait that is in memory already, and need not be stored, to be
# worth its register; found by counting instructions.
STORED = 2
NEAR = "flexarm_near"  # which the program has to define: it says where a thread's near memory is


@dataclass(frozen=True)
class Room:
    """Memory for values of a thread."""

    near: int  # places in the memory that a block of threads shares
    registers: int = 104  # values that are in registers at once; the driver needs some for itself
    ahead: int = 100  # operations from where a value is loaded from far memory to its use
    # Whether constants come from a table that the threads of a block share: an instruction loads
    # two, and in code one takes two.
    tabled: bool = False

    @property
    def declared(self) -> str:
        """Return the declarations that the program needs."""
        return f"declare ptr addrspace(3) @{NEAR}()" if self.near else ""

    def prologue(self, far: int) -> list[str]:
        """Write the addresses of both memories; so many places of the far one are used."""
        near = f"%near = call ptr addrspace(3) @{NEAR}()"
        return [
            *([near] if self.near else []),
            f"%own = alloca [{max(far, 1)} x double], align 8",
            "%far = addrspacecast ptr %own to ptr addrspace(5)",
        ]


def is_short(constant: float) -> bool:
    """Return whether a constant fits an instruction: its lower 32 bits are 0."""
    return struct.pack("<d", constant).startswith(bytes(4))


class Move(NamedTuple):
    """A value that is loaded into a register, or stored from one."""

    value: int
    memory: Memory
    place: int

    @property
    def offset(self) -> int:
        """Return how many doubles it is from the first place."""
        return self.place * (WARP if self.memory == "near" else 1)


@dataclass
class Moves:
    """Values loaded before each operation, and stored after it."""

    loads: defaultdict[int, list[Move]] = field(default_factory=lambda: defaultdict(list))
    stores: defaultdict[int, list[Move]] = field(default_factory=lambda: defaultdict(list))
    # near, far: places that are used in a block's memory, and in the thread's own.
    near: int = 0
    far: int = 0
    table: list[float] = field(default_factory=list)  # constants in the order of their loads


def moves(stream: Stream, room: Room) -> Moves:
    """Choose when values are stored to memory and loaded again.

    The value with the latest next use leaves the registers. Near memory holds the values that would
    stay if it were registers too.
    """
    near = room.near
    if room.tabled:
        near = beside(room.near, len(_Walk(stream, room).moves.table))
    while True:
        found = _moves(stream, replace(room, near=near))
        # With fewer near places a few constants more may leave the registers, and take another.
        near = beside(room.near, len(found.table))
        if found.near <= near:
            return found


def _moves(stream: Stream, room: Room) -> Moves:
    whole = replace(room, registers=room.registers + room.near, near=0, tabled=False)
    stores = _Walk(stream, whole).moves.stores
    far = frozenset(move.value for listed in stores.values() for move in listed)
    return _Walk(stream, room, far).moves


def beside(near: int, table: int) -> int:
    """Return the near places of a thread that are left beside a table of constants.

    They are counted so that each warp, a block of its own, would have some memory over.
    """
    return max(0, near - max(0, -(-(table - SPARE) // BLOCK)))


class _Walk:
    """A walk through the operations."""

    def __init__(self, stream: Stream, room: Room, far: frozenset[int] = frozenset()) -> None:
        self.stream, self.room, self.far = stream, room, far
        self.uses: defaultdict[int, list[int]] = defaultdict(list)
        self.held: set[int] = set()
        self.away: dict[int, Move] = {}
        if room.tabled:
            self.away = {
                value: Move(value, "table", -1)
                for value, constant in enumerate(stream.constants)
                if not is_short(constant)
            }
        for value in range(stream.first_load, stream.first_operation):
            self.away[value] = Move(value, "input", value)
        for k in range(len(stream.operations) - 1, -1, -1):
            for value in self._operands(k):
                self.uses[value].append(k)  # the next one is the last of the list
        self.constants = [
            [value for value in sorted(self._operands(k)) if value < stream.first_load]
            for k in range(len(stream.operations))
        ]
        self.free = list(range(room.near))
        heapify(self.free)
        self.free_far: list[int] = []
        self.moves = Moves()
        self._walk(room.ahead)

    def _walk(self, ahead: int) -> None:
        length = len(self.stream.operations)
        soon = min(SOON, ahead)
        for k in range(min(ahead, length)):
            self._bring(0, k, slow=True)
        for k in range(min(soon, length)):
            self._bring(0, k)
        for k in range(length):
            if k + ahead < length:
                self._bring(k, k + ahead, slow=True)
            if k + soon < length:
                self._bring(k, k + soon)
            self._bring(k, k)
            self._use(k)

    def _operands(self, k: int) -> set[int]:
        """List the operands of an operation that are in registers or memory."""
        first = self.stream.first_load
        return {
            value
            for value in self.stream.operations[k].operands
            if value >= first or value in self.away
        }

    def _bring(self, now: int, k: int, *, slow: bool = False) -> None:
        """Load what an operation uses, or only what comes from slow memory."""
        for value in sorted(self._operands(k)):
            if value in self.held or value not in self.away or value < self.stream.first_load:
                continue
            if not slow or self.away[value].memory != "near":
                self.moves.loads[now].append(self.away[value])
                self.held.add(value)
        if not slow:
            self._bring_constants(now, k)

    def _bring_constants(self, now: int, k: int) -> None:
        """Load constants that an operation uses, each with one that is needed soon.

        Those that the table has no room for are left to the code.
        """
        for value in self.constants[k]:
            if value not in self.held and len(self.moves.table) < TABLE:
                self._bring_constant(now, value)
                later = (
                    other
                    for each in self.constants[k : k + PAIRED]
                    for other in each
                    if other not in self.held
                )
                partner = next(later, None)
                if partner is not None:
                    self._bring_constant(now, partner)
                self.moves.table += [0.0] * (len(self.moves.table) % 2)

    def _bring_constant(self, now: int, value: int) -> None:
        self.moves.loads[now].append(Move(value, "table", len(self.moves.table)))
        self.moves.table.append(self.stream.constants[value])
        self.held.add(value)

    def _use(self, k: int) -> None:
        """Release operands used for the last time, and keep the result in a register."""
        for value in self._operands(k):
            self.uses[value].pop()
            if not self.uses[value]:
                self.held.discard(value)
                self._release(value)
        value = self.stream.first_operation + k
        if self.uses.get(value):
            self.held.add(value)
        while len(self.held) > self.room.registers:
            self._put_away(k, max(self.held, key=lambda each: self._wait(k, each)))

    def _wait(self, k: int, value: int) -> int:
        """Return the operations until a value's next use, weighted by the cost of loading it."""
        return (self.uses[value][-1] - k) * (STORED if value in self.away else 1)

    def _release(self, value: int) -> None:
        move = self.away.pop(value, None)
        if move is not None and move.memory in MEMORIES:
            heappush(self.free if move.memory == "near" else self.free_far, move.place)

    def _put_away(self, k: int, value: int) -> None:
        self.held.remove(value)
        if value in self.away:
            return
        if value not in self.far and self.free:
            move = Move(value, "near", heappop(self.free))
            self.moves.near = max(self.moves.near, move.place + 1)
        elif self.free_far:
            move = Move(value, "far", heappop(self.free_far))
        else:
            move = Move(value, "far", self.moves.far)
            self.moves.far += 1
        self.away[value] = move
        self.moves.stores[k].append(move)
