"""Compilation of a stream to a WebAssembly module, for browsers and Node.

LLVM's object file for wasm32 is a WebAssembly module without exported names, which are added here.
The WebAssembly module imports a memory, a table of functions (not used) and the stack pointer, but
no functions. The stack of the module grows towards address 0.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import llvmlite.binding as llvm

from flexarm.engine.compile import Level, Target, foreign_machine
from flexarm.engine.constants import WASM_STACK
from flexarm.engine.emit.llvm import BARE, Code, emit_llvm
from flexarm.engine.stream import Port, Stream

WASM = Target("wasm32-unknown-unknown", "", "+bulk-memory,+nontrapping-fptoint,+sign-ext")
MAGIC = b"\0asm\1\0\0\0"
CUSTOM, EXPORT, CODE, DATA, DATA_COUNT = 0, 7, 10, 11, 12
FUNCTION, SYMBOLS = 0, 8
UNDEFINED, EXPLICIT = 0x10, 0x40


@dataclass(frozen=True)
class WasmModule:
    """A function as a WebAssembly module."""

    # Binary module, which imports ``env.__linear_memory``, ``env.__stack_pointer`` and
    # ``env.__indirect_function_table``.
    code: bytes
    # Name of the exported function, which takes the addresses of each input, each output and a work
    # array of ``work_size`` doubles.  Matrices are stored row by row.
    entry: str
    # Number of bytes of memory, from address 0 on, for data and stack of the module; also the
    # initial stack pointer.
    reserved: int
    work_size: int
    # inputs, outputs: names and sizes of the function's inputs and outputs.
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


def wasm_module(stream: Stream, *, level: Level = "fast") -> WasmModule:
    """Return a stream of operations compiled to WebAssembly.

    The outputs of the module are bitwise equal to those of a CPU without fused multiply-add.

    Raises
    ------
    FlexarmError
        If the installed llvmlite cannot write WebAssembly, or an operation has no code for it.
    """
    return module_of(stream, emit_llvm(stream, dialect=BARE), level)


def module_of(stream: Stream, code: Code, level: Level) -> WasmModule:
    """Compile LLVM code of a function, emitted for the dialect `BARE`, to WebAssembly."""
    target = foreign_machine(WASM, "WebAssembly", level=level)
    binary, reserved = link([read(code.text, target)], [code.entry], target)
    return WasmModule(binary, code.entry, reserved, code.work_size, stream.inputs, stream.outputs)


def read(text: str, target: llvm.TargetMachine) -> llvm.ModuleRef:
    """Parse LLVM text into an LLVM module for the WebAssembly target."""
    module = llvm.parse_assembly(text)
    module.triple = WASM.triple
    module.data_layout = str(target.target_data)
    return module


def link(
    modules: Sequence[llvm.ModuleRef], entries: Iterable[str], target: llvm.TargetMachine
) -> tuple[bytes, int]:
    """Link LLVM modules to one WebAssembly module that exports the named functions.

    Returns
    -------
    code, reserved
        Contents of the module, and bytes of memory that it reserves, as in `WasmModule`.
    """
    first, *remaining = modules
    for module in remaining:
        first.link_in(module)
    sections = _sections(bytes(target.emit_object(first)))
    reserved = -(-_data_size(sections) // 16) * 16 + WASM_STACK
    return _with_exports(sections, list(entries)), reserved


def _sections(module: bytes) -> list[tuple[int, bytes]]:
    """Return the sections of a WebAssembly module as pairs of kind and contents."""
    sections, offset = [], len(MAGIC)
    while offset < len(module):
        size, start = _read(module, offset + 1)
        sections.append((module[offset], module[start : start + size]))
        offset = start + size
    return sections


def _with_exports(sections: list[tuple[int, bytes]], names: Sequence[str]) -> bytes:
    """Return a WebAssembly module that exports named functions, without linker sections."""
    numbers = _function_numbers(sections)
    export = _number(len(names))
    for name in names:
        text = name.encode()
        export += _number(len(text)) + text + bytes([FUNCTION]) + _number(numbers[name])
    sections_ = [(kind, body) for kind, body in sections if kind != CUSTOM]
    position = next(k for k, (kind, _) in enumerate(sections_) if kind > EXPORT)
    sections_.insert(position, (EXPORT, export))
    return MAGIC + b"".join(bytes([kind]) + _number(len(body)) + body for kind, body in sections_)


def _function_numbers(sections: list[tuple[int, bytes]]) -> dict[str, int]:
    """Return the indices of functions by name, from the symbol table of the object file."""
    table = _symbol_table(sections)
    indices: dict[str, int] = {}
    count, offset = _read(table, 0)
    for _ in range(count):
        kind = table[offset]
        flags, offset = _read(table, offset + 1)
        if kind == 1:  # symbol of data
            size, offset = _read(table, offset)
            offset += size
            if not flags & UNDEFINED:
                for _ in range(3):
                    _, offset = _read(table, offset)
            continue
        index, offset = _read(table, offset)
        if kind != 3 and (not flags & UNDEFINED or flags & EXPLICIT):  # no section symbol
            size, offset = _read(table, offset)
            if kind == FUNCTION:
                indices[table[offset : offset + size].decode()] = index
            offset += size
    return indices


def _symbol_table(sections: list[tuple[int, bytes]]) -> bytes:
    for kind, body in sections:
        if kind != CUSTOM:
            continue
        size, offset = _read(body, 0)
        if body[offset : offset + size] != b"linking":
            continue
        _, offset = _read(body, offset + size)
        while offset < len(body):
            kind_, (size, start) = body[offset], _read(body, offset + 1)
            if kind_ == SYMBOLS:
                return body[start : start + size]
            offset = start + size
    raise AssertionError("an object file must name its functions")


def _data_size(sections: list[tuple[int, bytes]]) -> int:
    """Return the end address of the constant data of a module [bytes]."""
    end = 0
    for kind, body in sections:
        if kind != DATA:
            continue
        count, offset = _read(body, 0)
        for _ in range(count):
            # A data segment at a constant address of memory 0 begins with flag 0, i32.const,
            # address, end.
            address, next_offset = _read(body, offset + 2, signed=True)
            size, start = _read(body, next_offset + 1)
            end, offset = max(end, address + size), start + size
    return end


def _read(data: bytes, offset: int, *, signed: bool = False) -> tuple[int, int]:
    """Return the integer in LEB128 encoding at an offset, and the offset of the next byte."""
    value = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        value |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            negative = signed and byte & 64
            return (value - (1 << shift) if negative else value), offset


def _number(value: int) -> bytes:
    """Return the LEB128 encoding of a non-negative integer."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])
