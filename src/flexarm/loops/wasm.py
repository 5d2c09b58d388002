"""A kernel and the equations that it calls, joined by name, as one WebAssembly module."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexarm.engine.compile import foreign_machine
from flexarm.engine.emit.kit import BARE, library
from flexarm.engine.emit.llvm import emit_llvm
from flexarm.engine.stream import Stream
from flexarm.engine.wasm import WASM, link, read
from flexarm.loops.kernel import optimise
from flexarm.loops.language import Array, Ints, LoopSource, Record
from flexarm.loops.translate import translate

ALIGNMENT = 16  # [bytes]


@dataclass(frozen=True)
class WasmProgram:
    """Kernels and equations as one WebAssembly module."""

    # code, reserved: as `flexarm.engine.wasm.WasmModule` has them.
    code: bytes
    reserved: int
    # By the names of the equations and of the kernel, the names of what is exported.  Equations
    # take the places of each input, each output and a work array; the kernel its arguments.
    entries: dict[str, str]
    work_sizes: dict[str, int]  # doubles of the equations' work arrays


def program(
    kernel: LoopSource, streams: Sequence[Stream], bound: Mapping[str, LoopSource | Stream]
) -> WasmProgram:
    """Compile a kernel together with what it calls, and further equations.

    Parameters
    ----------
    kernel
        The kernel to be exported.
    streams
        Equations to be exported, of unlike names.
    bound
        By a record's field that has an address on a processor: the kernel or the stream, one of
        those above, that is called instead.

    Raises
    ------
    FlexarmError
        If the installed llvmlite cannot write WebAssembly, or an operation has no code for it.
    """
    target = foreign_machine(WASM, "WebAssembly")
    codes = {stream.name: emit_llvm(stream, dialect=BARE) for stream in streams}
    names: dict[str, LoopSource | str] = {
        key: codes[each.name].table_entry if isinstance(each, Stream) else each
        for key, each in bound.items()
    }
    loops = read(translate(kernel, names), target)
    optimise(loops, target)
    modules = [loops, read(library(("sin", "cos", "pow")), target)]
    modules += [read(code.text, target) for code in codes.values()]
    entries = {name: code.entry for name, code in codes.items()}
    entries[kernel.name] = f"kernel_{kernel.name}"
    made, reserved = link(modules, entries.values(), target)
    return WasmProgram(made, reserved, entries, {name: c.work_size for name, c in codes.items()})


@dataclass
class Memory:
    """The memory of a module as it is to begin: arrays and records, and where they are."""

    size: int  # bytes so far, what the module reserves included
    # What is not 0: place [bytes] and contents.
    parts: list[tuple[int, bytes]] = field(default_factory=list)
    _known: dict[int, int] = field(default_factory=dict)
    _kept: list[Any] = field(default_factory=list)  # so that no other object gets its number

    def room(self, size: int) -> int:
        """Reserve so many bytes, and return their place."""
        place = -(-self.size // ALIGNMENT) * ALIGNMENT
        self.size = place + size
        return place

    def array(self, values: Array | Ints) -> int:
        """Place an array; one that is there already is found again."""
        if id(values) not in self._known:
            self._known[id(values)] = self.room(8 * max(values.size, 1))
            self._kept.append(values)
            if np.any(values):
                self.parts.append((self._known[id(values)], values.tobytes()))
        return self._known[id(values)]

    def record(self, record: Record) -> int:
        """Place a record, with the arrays and records that it has."""
        if id(record) in self._known:
            return self._known[id(record)]
        layout, values = record.layout(), vars(record)
        slots = [0] * len(layout.types)
        for k, name in layout.numbers:
            slots[k] = values[name]
        for k, name in layout.arrays:
            slots[k] = self.array(values[name])
        for k, name in layout.records:
            slots[k] = self.record(values[name])
        place = self._known[id(record)] = self.room(8 * len(slots))
        self._kept.append(record)
        self.parts.append((place, layout.format.pack(*slots)))
        return place

    def image(self) -> bytes:
        """Return the whole memory, from 0 on."""
        found = bytearray(self.size)
        for place, part in self.parts:
            found[place : place + len(part)] = part
        return bytes(found)
