"""C99 code for a list of operations: one source file that needs only math.h, and a header."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from flexarm.engine.constants import PIECE_OPERATIONS, UNROLLED_OUTPUTS
from flexarm.engine.emit.plan import TURNS, CodeLayout, plan, runs_of_leaves
from flexarm.engine.emit.sincos import c_sine
from flexarm.engine.stream import Operation, Port, Stream

# Operations that are missing here are functions of math.h with the same names.
WRITTEN = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "eq": "{} == {}",
    "ne": "{} != {}",
    "not": "{} == 0.0",
    "and": "{} != 0.0 && {} != 0.0",
    "or": "{} != 0.0 || {} != 0.0",
    "if_else_zero": "{} != 0.0 ? {} : 0.0",
    "sin": "flexarm_sine({}, 0)",
    "cos": "flexarm_sine({}, 1)",
    "sign": "{0} < 0.0 ? -1.0 : {0} > 0.0 ? 1.0 : {0}",
}


def emit_c(stream: Stream, *, chunk: int = PIECE_OPERATIONS) -> "CSource":
    """Return the C99 source and header of a stream of operations.

    Parameters
    ----------
    stream
        Operations of the function. The C function is called `flexarm_NAME`, with the name of the
        stream.
    chunk
        Number of operations per C function; small functions keep compile time linear in the size.

    Returns
    -------
    CSource
        The C source file, which does not include its header, and the header, which documents how to
        call the function.
    """
    layout = plan(stream, chunk=chunk)
    stream = layout.stream
    name = f"flexarm_{stream.name}"
    header = _header(name, stream, layout.work_size)
    parameters = _parameters(stream, "restrict ")
    arguments = ", ".join(_names(stream))
    bodies = [_piece(stream, layout, values) for values in layout.pieces]
    bodies += _edges(stream, chunk)
    has_sine = any(operation.op in TURNS for operation in stream.operations)
    parts = ["#include <math.h>\n", header, *([c_sine()] if has_sine else [])]
    for k, body in enumerate(bodies):
        unused = "".join(f" (void){pointer};" for pointer in _names(stream))
        parts.append(f"static void {name}_{k}({parameters})\n{{\n   {unused}")
        parts += [f"    {line}" for line in body]
        parts.append("}\n")
    parts.append(f"void {name}({parameters})\n{{")
    parts += [f"    {name}_{k}({arguments});" for k in range(len(bodies))]
    parts.append("}\n")
    return CSource(name, "\n".join(parts), header, max(layout.work_size, 1))


def _names(stream: Stream) -> list[str]:
    # The prefixes prevent collisions with names of C and math.h, and between these names.
    inputs = [f"in_{port.name}" for port in stream.inputs]
    return [*inputs, *(f"out_{port.name}" for port in stream.outputs), "work"]


def _parameters(stream: Stream, qualifier: str) -> str:
    types = ["const double *"] * len(stream.inputs) + ["double *"] * (len(stream.outputs) + 1)
    return ", ".join(
        f"{kind}{qualifier}{name}" for kind, name in zip(types, _names(stream), strict=True)
    )


def _header(name: str, stream: Stream, work_size: int) -> str:
    guard = f"{name.upper()}_H"
    size = f"{name.upper()}_WORK_SIZE"
    lines = [
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"/* Evaluate {stream.name}. Written by flexarm; needs math.h and no other code.",
        " *",
        *(_describe("in", port) for port in stream.inputs),
        *(_describe("out", port) for port in stream.outputs),
        f" *   work: {size} doubles of scratch; nothing needs to be kept in it",
        " *",
        " * Matrices are stored row by row. No two arrays may overlap. The function keeps no",
        " * state: it may run in several threads at once, each with its own arrays.",
        " */",
        f"#define {size} {max(work_size, 1)}",
        f"void {name}({_parameters(stream, '')});",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def _describe(side: str, port: Port) -> str:
    rows = f"{port.rows}" if port.columns == 1 else f"{port.rows} x {port.columns}"
    return f" *   {side}_{port.name}: {rows} doubles, {'read' if side == 'in' else 'written'}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    text = "INFINITY" if math.isinf(value) else repr(abs(value))
    return f"(-{text})" if math.copysign(1.0, value) < 0.0 else text


def _reference(stream: Stream, value: int) -> str:
    if value < stream.first_load:
        return _number(stream.constants[value])
    if value < stream.first_operation:
        load = stream.loads[value - stream.first_load]
        return f"in_{stream.inputs[load.port].name}[{load.element}]"
    return f"v{value}"


def _expression(operation: Operation, names: list[str]) -> str:
    if operation.op in WRITTEN:
        return WRITTEN[operation.op].format(*names)
    return f"{operation.op}({', '.join(names)})"


def _piece(stream: Stream, layout: CodeLayout, values: range) -> list[str]:
    lines = []
    available = set(values)
    for value in values:
        operation = stream.operations[value - stream.first_operation]
        for operand in operation.operands:
            if operand >= stream.first_operation and operand not in available:
                lines.append(f"const double v{operand} = work[{layout.places[operand]}];")
                available.add(operand)
        names = [_reference(stream, operand) for operand in operation.operands]
        lines.append(f"const double v{value} = {_expression(operation, names)};")
        if value in layout.places:
            lines.append(f"work[{layout.places[value]}] = v{value};")
        for store in layout.stores.get(value, ()):
            lines.append(f"{_place(stream, store.port, str(store.element))} = v{value};")
    return lines


def _edges(stream: Stream, chunk: int) -> Iterator[list[str]]:
    """Yield lines of C that assign constants and unchanged inputs to outputs."""
    runs = list(runs_of_leaves(stream))
    for start in range(0, len(runs), chunk):
        lines = []
        for run in runs[start : start + chunk]:
            value = _reference(stream, run[0].value)
            if len(run) > UNROLLED_OUTPUTS:
                lines.append(f"for (int k = {run[0].element}; k <= {run[-1].element}; ++k)")
                lines.append(f"    {_place(stream, run[0].port, 'k')} = {value};")
                continue
            for store in run:
                lines.append(f"{_place(stream, store.port, str(store.element))} = {value};")
        yield lines


def _place(stream: Stream, port: int, element: str) -> str:
    return f"out_{stream.outputs[port].name}[{element}]"


@dataclass(frozen=True)
class CSource:
    """Name, C file and header of a function, and the size of its work array [doubles]."""

    name: str
    source: str
    header: str
    work_size: int
