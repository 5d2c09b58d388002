"""Compilation of a kernel and the equations it calls to one WebAssembly module."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexarm.engine.compile import foreign_machine
from flexarm.engine.emit.llvm import BARE, emit_llvm, library
from flexarm.engine.stream import Stream
from flexarm.engine.wasm import WASM, link, read
from flexarm.loops.constants import MEMORY_ALIGNMENT
from flexarm.loops.kernel import optimise
from flexarm.loops.language import Array, Ints, LoopSource, Record
from flexarm.loops.translate import translate


@dataclass(frozen=True)
class WasmProgram:
    """A kernel and the equations it calls, compiled to one WebAssembly module."""

    # code: the binary module. reserved: bytes of memory that belong to the module. Code and
    # reserved memory are as in `flexarm.engine.wasm.WasmModule`.
    code: bytes
    reserved: int
    # Names of the exported functions, by the names of the equations and of the kernel.  Equations
    # take the addresses of all inputs, all outputs and a work array; the kernel its arguments.
    entries: dict[str, str]
    work_sizes: dict[str, int]  # doubles of the equations' work arrays


def program(
    kernel: LoopSource,
    streams: Sequence[Stream],
    called_by_field: Mapping[str, LoopSource | Stream],
) -> WasmProgram:
    """Compile a kernel, all kernels that it calls, and equations to a WebAssembly module.

    Parameters
    ----------
    kernel
        Kernel that the module exports.
    streams
        Equations that the module exports, with distinct names.
    called_by_field
        Kernel or equations of ``streams`` to call, by name of the record field that contains their
        address on a CPU.

    Raises
    ------
    FlexarmError
        If the installed llvmlite cannot write WebAssembly, or an operation has no code for it.
    """
    target = foreign_machine(WASM, "WebAssembly")
    codes = {stream.name: emit_llvm(stream, dialect=BARE) for stream in streams}
    names: dict[str, LoopSource | str] = {
        key: codes[called.name].table_entry if isinstance(called, Stream) else called
        for key, called in called_by_field.items()
    }
    loops = read(translate(kernel, names), target)
    optimise(loops, target)
    modules = [loops, read(library(("sin", "cos", "pow")), target)]
    modules += [read(code.text, target) for code in codes.values()]
    entries = {name: code.entry for name, code in codes.items()}
    entries[kernel.name] = f"kernel_{kernel.name}"
    binary, reserved = link(modules, entries.values(), target)
    return WasmProgram(binary, reserved, entries, {name: c.work_size for name, c in codes.items()})


@dataclass
class Memory:
    """Initial memory of a WebAssembly module: arrays and records with their addresses."""

    size: int  # size so far [bytes], with the part that the module reserves
    # Nonzero contents, with their addresses.
    parts: list[tuple[int, bytes]] = field(default_factory=list)
    _known: dict[int, int] = field(default_factory=dict)
    # keeps objects alive, so that their ids stay unique
    _kept: list[Any] = field(default_factory=list)

    def room(self, size: int) -> int:
        """Reserve ``size`` bytes of the module's memory; return their address, a multiple of 16."""
        address = -(-self.size // MEMORY_ALIGNMENT) * MEMORY_ALIGNMENT
        self.size = address + size
        return address

    def array(self, values: Array | Ints) -> int:
        """Return the address of an array in the module's memory; add the array if it is new."""
        if id(values) not in self._known:
            self._known[id(values)] = self.room(8 * max(values.size, 1))
            self._kept.append(values)
            if np.any(values):
                self.parts.append((self._known[id(values)], values.tobytes()))
        return self._known[id(values)]

    def record(self, record: Record) -> int:
        """Return the address of a record in the module's memory; add the record if it is new."""
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
        address = self._known[id(record)] = self.room(8 * len(slots))
        self._kept.append(record)
        self.parts.append((address, layout.format.pack(*slots)))
        return address

    def image(self) -> bytes:
        """Return the contents of the module's memory, from address 0 on."""
        contents = bytearray(self.size)
        for address, part in self.parts:
            contents[address : address + len(part)] = part
        return bytes(contents)
