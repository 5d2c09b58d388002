"""A stream as a WebAssembly module, for browsers and Node.

LLVM's object file for wasm32 is a module but for the names of what it exports: one more section.
It imports its memory, a table of functions that it does not use and the top of its stack, which
grows towards 0, but no function.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import llvmlite.binding as llvm

from flexarm.engine.compile import Level, Target, fit, foreign_machine
from flexarm.engine.emit.kit import BARE
from flexarm.engine.emit.llvm import Code, emit_llvm
from flexarm.engine.stream import Port, Stream

WASM = Target("wasm32-unknown-unknown", "", "+bulk-memory,+nontrapping-fptoint,+sign-ext")
MAGIC = b"\0asm\1\0\0\0"
CUSTOM, EXPORT, CODE, DATA, DATA_COUNT = 0, 7, 10, 11, 12
FUNCTION, SYMBOLS = 0, 8
STACK = 4096  # [bytes]
UNDEFINED, EXPLICIT = 0x10, 0x40


@dataclass(frozen=True)
class WasmModule:
    """A function as WebAssembly."""

    # The module: imports ``env.__linear_memory``, ``env.__stack_pointer`` and
    # ``env.__indirect_function_table``.
    code: bytes
    # Name of the function that it exports: it takes the places in memory [bytes] of each input,
    # each output and a work array of ``work_size`` doubles.  Matrices are stored row by row.
    entry: str
    # Bytes of memory, from 0 on, that belong to the module: its data, and its stack, whose top they
    # are.
    reserved: int
    work_size: int
    # inputs, outputs: their names and sizes.
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


def wasm_module(stream: Stream, *, level: Level = "fast") -> WasmModule:
    """Compile a stream to WebAssembly: the same bits as on a processor without fused operations.

    Raises
    ------
    FlexarmError
        If the installed llvmlite cannot write WebAssembly, or an operation has no code for it.
    """
    how = fit(WASM, level=level, width=1, operations=len(stream.operations))
    return module_of(stream, emit_llvm(stream, fit=how, dialect=BARE), level)


def module_of(stream: Stream, code: Code, level: Level) -> WasmModule:
    """Compile what `emit_llvm` made of a stream without a library and fused operations."""
    target = foreign_machine(WASM, "WebAssembly", level=level)
    made, reserved = link([read(code.text, target)], [code.entry], target)
    return WasmModule(made, code.entry, reserved, code.work_size, stream.inputs, stream.outputs)


def read(text: str, target: llvm.TargetMachine) -> llvm.ModuleRef:
    """Read LLVM code for a target, one of WebAssembly."""
    module = llvm.parse_assembly(text)
    module.triple = WASM.triple
    module.data_layout = str(target.target_data)
    return module


def link(
    modules: Sequence[llvm.ModuleRef], entries: Iterable[str], target: llvm.TargetMachine
) -> tuple[bytes, int]:
    """Join LLVM modules into one of WebAssembly that exports some of their functions.

    Returns
    -------
    code, reserved
        As `WasmModule` has them.
    """
    first, *others = modules
    for other in others:
        first.link_in(other)
    sections = _sections(bytes(target.emit_object(first)))
    reserved = -(-_data_size(sections) // 16) * 16 + STACK
    return _with_exports(sections, list(entries)), reserved


def _sections(module: bytes) -> list[tuple[int, bytes]]:
    """Split a module into its sections."""
    found, at = [], len(MAGIC)
    while at < len(module):
        size, start = _read(module, at + 1)
        found.append((module[at], module[start : start + size]))
        at = start + size
    return found


def _with_exports(sections: list[tuple[int, bytes]], names: Sequence[str]) -> bytes:
    """Assemble a module that exports functions, without the linker's sections."""
    numbers = _function_numbers(sections)
    export = _number(len(names))
    for name in names:
        text = name.encode()
        export += _number(len(text)) + text + bytes([FUNCTION]) + _number(numbers[name])
    kept = [(kind, body) for kind, body in sections if kind != CUSTOM]
    place = next(k for k, (kind, _) in enumerate(kept) if kind > EXPORT)
    kept.insert(place, (EXPORT, export))
    return MAGIC + b"".join(bytes([kind]) + _number(len(body)) + body for kind, body in kept)


def _function_numbers(sections: list[tuple[int, bytes]]) -> dict[str, int]:
    """Read the numbers of named functions out of what the object file tells a linker."""
    table = _symbol_table(sections)
    found: dict[str, int] = {}
    count, at = _read(table, 0)
    for _ in range(count):
        kind = table[at]
        flags, at = _read(table, at + 1)
        if kind == 1:  # data
            size, at = _read(table, at)
            at += size
            if not flags & UNDEFINED:
                for _ in range(3):
                    _, at = _read(table, at)
            continue
        index, at = _read(table, at)
        if kind != 3 and (not flags & UNDEFINED or flags & EXPLICIT):  # no section
            size, at = _read(table, at)
            if kind == FUNCTION:
                found[table[at : at + size].decode()] = index
            at += size
    return found


def _symbol_table(sections: list[tuple[int, bytes]]) -> bytes:
    for kind, body in sections:
        if kind != CUSTOM:
            continue
        size, at = _read(body, 0)
        if body[at : at + size] != b"linking":
            continue
        _, at = _read(body, at + size)
        while at < len(body):
            which, (size, start) = body[at], _read(body, at + 1)
            if which == SYMBOLS:
                return body[start : start + size]
            at = start + size
    raise AssertionError("an object file names its functions")


def _data_size(sections: list[tuple[int, bytes]]) -> int:
    """Return where the data of a module end [bytes]."""
    end = 0
    for kind, body in sections:
        if kind != DATA:
            continue
        count, at = _read(body, 0)
        for _ in range(count):
            # active in memory 0 at a constant place: flag 0, i32.const, the place, end
            place, after = _read(body, at + 2, signed=True)
            size, start = _read(body, after + 1)
            end, at = max(end, place + size), start + size
    return end


def _read(data: bytes, at: int, *, signed: bool = False) -> tuple[int, int]:
    """Read a number and tell where the next begins."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            negative = signed and byte & 64
            return (value - (1 << shift) if negative else value), at


def _number(value: int) -> bytes:
    """Write a number that is not negative."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
