"""Selection of the values that a GPU thread keeps in memory when its registers run out.

NVIDIA's driver would store such values in the global memory of the GPU, twice as often as necessary
for large arms. Near memory is the shared memory of a block of threads. Near memory is almost as
fast as registers, and as large as all registers of the block together.
"""

import struct
from collections import defaultdict
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from typing import Literal, NamedTuple

from flexarm.engine.constants import (
    LOAD_AHEAD,
    MOST_TABLED,
    NEAR_BLOCK,
    PAIRED_AHEAD,
    SPARE_NEAR,
    STORED_FACTOR,
    WARP,
)
from flexarm.engine.stream import Stream

Memory = Literal["near", "far", "input", "table"]

MEMORIES = {"near": 3, "far": 5}  # kinds of memory, by NVIDIA's numbers
CONSTANT = 4  # memory from which all threads read one address, by NVIDIA's numbers
NEAR = "flexarm_near"  # function of the program: address of a thread's near memory


@dataclass(frozen=True)
class ThreadMemory:
    """Numbers of registers and of memory places for the values of one GPU thread."""

    near: int  # doubles per thread in the shared memory of the block
    registers: int = 104  # values in registers at once; the driver needs some registers itself
    ahead: int = 100  # operations between the load of a value from far memory and its use
    # Whether constants are loaded from a table that the threads of a block share. One instruction
    # loads two constants from the table, whereas a constant in the code takes two instructions.
    tabled: bool = False

    @property
    def declared(self) -> str:
        """Return the LLVM declaration of the near-memory function, or '' if it is not needed."""
        return f"declare ptr addrspace(3) @{NEAR}()" if self.near else ""

    def prologue(self, far: int) -> list[str]:
        """Return LLVM lines that compute the thread's addresses in near and in global memory."""
        near = f"%near = call ptr addrspace(3) @{NEAR}()"
        return [
            *([near] if self.near else []),
            f"%own = alloca [{max(far, 1)} x double], align 8",
            "%far = addrspacecast ptr %own to ptr addrspace(5)",
        ]


def is_short(constant: float) -> bool:
    """Return whether a constant fits into an instruction because its lower 32 bits are 0."""
    return struct.pack("<d", constant).startswith(bytes(4))


class Move(NamedTuple):
    """A load of a value into a register, or a store from a register."""

    value: int
    memory: Memory
    place: int

    @property
    def offset(self) -> int:
        """Return the distance [doubles] of the memory place from the start of the memory."""
        return self.place * (WARP if self.memory == "near" else 1)


@dataclass
class Moves:
    """Loads into registers before each operation, and stores after it, by operation index."""

    loads: defaultdict[int, list[Move]] = field(default_factory=lambda: defaultdict(list))
    stores: defaultdict[int, list[Move]] = field(default_factory=lambda: defaultdict(list))
    # near, far: number of slots used per thread in near (shared) memory and in the thread's own
    # memory.
    near: int = 0
    far: int = 0
    table: list[float] = field(default_factory=list)  # constants in the order of their loads


def moves(stream: Stream, room: ThreadMemory) -> Moves:
    """Return the loads and stores of values that do not fit into a GPU thread's registers.

    When registers run out, the value whose next use is latest is stored in memory. Near memory gets
    those values that would stay in registers if the thread had that many registers more.
    """
    near = room.near
    if room.tabled:
        near = near_places_left(room.near, len(_RegisterAllocation(stream, room).moves.table))
    while True:
        result = _moves(stream, replace(room, near=near))
        # With fewer near slots, more constants may leave the registers and need further slots.
        near = near_places_left(room.near, len(result.table))
        if result.near <= near:
            return result


def _moves(stream: Stream, room: ThreadMemory) -> Moves:
    all_registers = replace(room, registers=room.registers + room.near, near=0, tabled=False)
    stores = _RegisterAllocation(stream, all_registers).moves.stores
    far = frozenset(move.value for moves_ in stores.values() for move in moves_)
    return _RegisterAllocation(stream, room, far).moves


def near_places_left(near: int, table: int) -> int:
    """Return how many doubles of near memory a thread has beside the table of constants.

    Some near memory is left over even if every warp is a block of its own.
    """
    return max(0, near - max(0, -(-(table - SPARE_NEAR) // NEAR_BLOCK)))


class _RegisterAllocation:
    """Register allocation in one pass over the operations; ``moves`` is the result."""

    def __init__(
        self, stream: Stream, room: ThreadMemory, far: frozenset[int] = frozenset()
    ) -> None:
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
                self.uses[value].append(k)  # last entry: next use
        self.constants = [
            [value for value in sorted(self._operands(k)) if value < stream.first_load]
            for k in range(len(stream.operations))
        ]
        self.free = list(range(room.near))
        heapify(self.free)
        self.free_far: list[int] = []
        self.moves = Moves()
        self._allocate(room.ahead)

    def _allocate(self, ahead: int) -> None:
        length = len(self.stream.operations)
        near_ahead = min(LOAD_AHEAD, ahead)
        for k in range(min(ahead, length)):
            self._load_operands(0, k, not_near=True)
        for k in range(min(near_ahead, length)):
            self._load_operands(0, k)
        for k in range(length):
            if k + ahead < length:
                self._load_operands(k, k + ahead, not_near=True)
            if k + near_ahead < length:
                self._load_operands(k, k + near_ahead)
            self._load_operands(k, k)
            self._use(k)

    def _operands(self, k: int) -> set[int]:
        """Return the operands of an operation that need a register or a memory place."""
        first = self.stream.first_load
        return {
            value
            for value in self.stream.operations[k].operands
            if value >= first or value in self.away
        }

    def _load_operands(self, now: int, k: int, *, not_near: bool = False) -> None:
        """Append loads of an operation's operands; ``not_near`` skips those in near memory."""
        for value in sorted(self._operands(k)):
            if value in self.held or value not in self.away or value < self.stream.first_load:
                continue
            if not not_near or self.away[value].memory != "near":
                self.moves.loads[now].append(self.away[value])
                self.held.add(value)
        if not not_near:
            self._load_constants(now, k)

    def _load_constants(self, now: int, k: int) -> None:
        """Append loads of an operation's constants, each together with one needed soon.

        Constants that do not fit into the table of constants remain literals in the code.
        """
        for value in self.constants[k]:
            if value not in self.held and len(self.moves.table) < MOST_TABLED:
                self._load_constant(now, value)
                candidates = (
                    candidate
                    for constants in self.constants[k : k + PAIRED_AHEAD]
                    for candidate in constants
                    if candidate not in self.held
                )
                partner = next(candidates, None)
                if partner is not None:
                    self._load_constant(now, partner)
                self.moves.table += [0.0] * (len(self.moves.table) % 2)

    def _load_constant(self, now: int, value: int) -> None:
        self.moves.loads[now].append(Move(value, "table", len(self.moves.table)))
        self.moves.table.append(self.stream.constants[value])
        self.held.add(value)

    def _use(self, k: int) -> None:
        """Free the registers of operands after their last use, and assign one to the result."""
        for value in self._operands(k):
            self.uses[value].pop()
            if not self.uses[value]:
                self.held.discard(value)
                self._release(value)
        value = self.stream.first_operation + k
        if self.uses.get(value):
            self.held.add(value)
        while len(self.held) > self.room.registers:
            self._store(k, max(self.held, key=lambda held_value: self._wait(k, held_value)))

    def _wait(self, k: int, value: int) -> int:
        """Return after how many operations a value is used next; later if already stored."""
        return (self.uses[value][-1] - k) * (STORED_FACTOR if value in self.away else 1)

    def _release(self, value: int) -> None:
        move = self.away.pop(value, None)
        if move is not None and move.memory in MEMORIES:
            heappush(self.free if move.memory == "near" else self.free_far, move.place)

    def _store(self, k: int, value: int) -> None:
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
