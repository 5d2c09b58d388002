"""A stream as LLVM code: small internal functions, and two entries that call them in turn."""

from collections.abc import Iterator
from dataclasses import dataclass

from flexarm.engine.emit.llvm_text import number, per_lane, vector
from flexarm.engine.emit.plan import (
    CHUNK,
    LONGEST_WRITTEN_OUT,
    Plan,
    plan,
    runs_of_leaves,
)
from flexarm.engine.emit.rows import Rows, rows
from flexarm.engine.emit.sincos import NAME as SINCOS
from flexarm.engine.emit.sincos import sincos
from flexarm.engine.stream import BINARY, FUNCTIONS, Operation, Stream
from flexarm.errors import FlexarmError

ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
COMPARISONS = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
INTRINSICS = {
    "sqrt": "sqrt",
    "fabs": "fabs",
    "floor": "floor",
    "ceil": "ceil",
    "copysign": "copysign",
    "fmin": "minnum",
    "fmax": "maxnum",
}
LIBRARY = FUNCTIONS - INTRINSICS.keys()


def emit_llvm(stream: Stream, *, width: int = 1, chunk: int = CHUNK) -> "Code":
    """Write a stream as LLVM code.

    Parameters
    ----------
    stream
        The operations.
    width
        Number of lanes: each element of every array is that many doubles side by side.
    chunk
        Number of operations in an internal function.

    Returns
    -------
    Code
        With two entries. `entry` takes a pointer to each input, to each output and to the work
        array, none of which may overlap; `table_entry` takes one pointer to a table of those
        pointers. Arrays need the alignment of a double, no more.
    """
    if width < 1 or width & (width - 1):
        # LLVM would pad another number of lanes.
        raise FlexarmError(f"width: must be a power of two, got {width}")
    planned = plan(stream, chunk=chunk)
    kit = _Kit(width)
    entry = f"flexarm_{stream.name}"
    pointers = [f"%x{k}" for k in range(len(stream.inputs))]
    pointers += [f"%y{k}" for k in range(len(stream.outputs))] + ["%w"]
    parameters = ", ".join(f"ptr noalias {pointer}" for pointer in pointers)
    arguments = ", ".join(f"ptr {pointer}" for pointer in pointers)
    text: list[str] = []
    calls = [""] * len(planned.pieces)
    for k, members in enumerate(planned.alike):
        text += _function(stream, planned, kit, f"{entry}.{k}", members, parameters)
        for row, piece in enumerate(members):
            calls[piece] = f"call void @{entry}.{k}({arguments}, i64 {row})"
    for k, body in enumerate(_edges(stream, planned, kit, chunk)):
        text.append(f"define internal void @{entry}.edge{k}({parameters}) noinline nounwind {{")
        text += [*body, "ret void\n}"]
        calls.append(f"call void @{entry}.edge{k}({arguments})")
    text.append(f"define void @{entry}({parameters}) noinline nounwind {{")
    text += [*calls, "ret void\n}"]
    text.append(f"define void @{entry}_table(ptr %table) noinline nounwind {{")
    for k, pointer in enumerate(pointers):
        text.append(f"%t{k} = getelementptr ptr, ptr %table, i64 {k}")
        text.append(f"{pointer} = load ptr, ptr %t{k}")
    text.append(f"call void @{entry}({arguments})\nret void\n}}\n")
    everything = "\n".join([kit.support(), *text])
    return Code(everything, entry, f"{entry}_table", width, planned.work_size)


def _function(
    stream: Stream,
    planned: Plan,
    kit: "_Kit",
    name: str,
    members: tuple[int, ...],
    parameters: str,
) -> list[str]:
    """Write the function of pieces that are alike, and the tables of what they differ in."""
    own = rows(stream, planned, members)
    offsets = [[str(offset) for offset in row] for row in own.offsets]
    numbers = [[number(x, kit.width) for x in row] for row in own.numbers]
    body = _Body(stream, planned, kit, members[0], name, own)
    for value in body.values:
        body.operate(f"%v{value}", stream.operations[value - stream.first_operation])
        if value in planned.places:
            body.store("w", planned.places[value], f"%v{value}")
        for store in planned.stores.get(value, ()):
            body.store(f"y{store.port}", store.element, f"%v{value}")
    return [
        *_table(f"{name}.offsets", "i64", offsets),
        *_table(f"{name}.numbers", kit.real, numbers),
        f"define internal void @{name}({parameters}, i64 %row) noinline nounwind {{",
        *body.lines,
        "ret void\n}",
    ]


def _table(name: str, kind: str, content: list[list[str]]) -> list[str]:
    """Write rows of numbers that are there when the code is loaded, if there are columns."""
    if not content[0]:
        return []
    listed = ", ".join(f"{kind} {item}" for row in content for item in row)
    size = f"[{len(content) * len(content[0])} x {kind}]"
    return [f"@{name} = internal unnamed_addr constant {size} [{listed}], align 8"]


def _edges(stream: Stream, planned: Plan, kit: "_Kit", chunk: int) -> Iterator[list[str]]:
    """Write, in pieces, the outputs that are constants or inputs as they came."""
    runs = list(runs_of_leaves(stream))
    for start in range(0, len(runs), chunk):
        body = _Body(stream, planned, kit)
        for run in runs[start : start + chunk]:
            value = body.reference(run[0].value)
            if len(run) > LONGEST_WRITTEN_OUT:
                body.fill(f"y{run[0].port}", run[0].element, len(run), value)
            else:
                for store in run:
                    body.store(f"y{store.port}", store.element, value)
        yield body.lines


@dataclass(frozen=True)
class Code:
    """LLVM text, the names of its two entries, its lanes and the work array that it needs."""

    text: str
    entry: str
    table_entry: str
    width: int
    work_size: int


class _Kit:
    """Types and constants at a width, and the functions that the code has come to need."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.real = vector("double", width)
        self.truth = vector("i1", width)
        self.zero, self.one, self.minus_one = (number(x, width) for x in (0.0, 1.0, -1.0))
        self._needed = {"fabs"}

    def intrinsic(self, op: str) -> str:
        """Name the LLVM function of an operation."""
        self._needed.add(op)
        return f"llvm.{INTRINSICS[op]}.{'f64' if self.width == 1 else f'v{self.width}f64'}"

    def need(self, name: str) -> None:
        """Note that a function of the C library, or one written here, is called."""
        self._needed.add(name)

    def support(self) -> str:
        """Write what has been noted."""
        lines = []
        needed = self._needed | ({"sin", "cos"} if "sincos" in self._needed else set())
        for name in sorted(needed - {"sincos", "fill"}):
            arguments = 2 if name in BINARY else 1
            if name in INTRINSICS:
                listed = ", ".join([self.real] * arguments)
                lines.append(f"declare {self.real} @{self.intrinsic(name)}({listed})")
            else:
                lines.append(f"declare double @{name}({', '.join(['double'] * arguments)})")
        if "sincos" in needed:
            lines.append(sincos(self.width))
        if "fill" in needed:
            lines.append(self._fill())
        return "\n".join(lines)

    def _fill(self) -> str:
        # A loop of our own: LLVM's memset would be a call of the C library.
        return f"""define internal void @flexarm.fill(ptr %to, i64 %n, {self.real} %x) nounwind {{
entry:
br label %loop
loop:
%k = phi i64 [0, %entry], [%next, %loop]
%place = getelementptr {self.real}, ptr %to, i64 %k
store {self.real} %x, ptr %place, align 8
%next = add i64 %k, 1
%more = icmp ult i64 %next, %n
br i1 %more, label %loop, label %done
done:
ret void
}}"""


class _Body:
    """The lines of one internal function."""

    def __init__(
        self,
        stream: Stream,
        planned: Plan,
        kit: _Kit,
        piece: int | None = None,
        name: str = "",
        own: Rows | None = None,
    ) -> None:
        self.lines: list[str] = []
        self.values = range(0) if piece is None else planned.pieces[piece]
        self._stream = stream
        self._places = planned.places
        self._kit = kit
        self._name = name
        self._own = own
        self._at_hand: dict[int, str] = {}
        self._angles: dict[int, str] = {}
        self._bases: dict[tuple[str, int], str] = {}
        self._temporaries = 0

    def reference(self, value: int) -> str:
        """Return the name of a value, loaded first if it comes from outside this function."""
        if value in self.values:
            return f"%v{value}"
        if value not in self._at_hand:
            self._at_hand[value] = self._fetch(value)
        return self._at_hand[value]

    def _fetch(self, value: int) -> str:
        stream, kit, own = self._stream, self._kit, self._own
        if value < stream.first_load:
            if own is not None and value in own.constants:
                return self._entry("numbers", kit.real, own.constants[value], len(own.constants))
            return number(stream.constants[value], kit.width)
        if value < stream.first_operation:
            load = stream.loads[value - stream.first_load]
            place = self._address(f"x{load.port}", load.element)
        else:
            place = self._address("w", self._places[value])
        return self._write(f"load {kit.real}, ptr {place}, align 8")

    def _address(self, array: str, element: int) -> str:
        base = f"%{array}"
        own = self._own
        column = None if own is None else own.moved.get((array, element))
        if own is not None and column is not None:
            if (array, column) not in self._bases:
                offset = self._entry("offsets", "i64", column, len(own.offsets[0]))
                moved = f"getelementptr {self._kit.real}, ptr {base}, i64 {offset}"
                self._bases[array, column] = self._write(moved)
            base = self._bases[array, column]
        return self._write(f"getelementptr {self._kit.real}, ptr {base}, i64 {element}")

    def _entry(self, table: str, kind: str, column: int, columns: int) -> str:
        """Load an entry of this call's row."""
        index = self._write(f"mul i64 %row, {columns}")
        row = self._write(f"getelementptr {kind}, ptr @{self._name}.{table}, i64 {index}")
        place = self._write(f"getelementptr {kind}, ptr {row}, i64 {column}")
        return self._write(f"load {kind}, ptr {place}, align 8")

    def _write(self, expression: str) -> str:
        self._temporaries += 1
        name = f"%t{self._temporaries}"
        self.lines.append(f"{name} = {expression}")
        return name

    def store(self, base: str, element: int, value: str) -> None:
        """Put a value into an array."""
        place = self._address(base, element)
        self.lines.append(f"store {self._kit.real} {value}, ptr {place}, align 8")

    def fill(self, base: str, element: int, length: int, value: str) -> None:
        """Put a value into neighbouring elements of an array."""
        self._kit.need("fill")
        place = self._address(base, element)
        arguments = f"ptr {place}, i64 {length}, {self._kit.real} {value}"
        self.lines.append(f"call void @flexarm.fill({arguments})")

    def operate(self, result: str, operation: Operation) -> None:
        """Write an operation."""
        op, kit = operation.op, self._kit
        names = [self.reference(value) for value in operation.operands]
        if op in ARITHMETIC:
            line = f"{ARITHMETIC[op]} contract {kit.real} {names[0]}, {names[1]}"
        elif op == "neg":
            line = f"fneg {kit.real} {names[0]}"
        elif op in INTRINSICS:
            listed = ", ".join(f"{kit.real} {name}" for name in names)
            line = f"call {kit.real} @{kit.intrinsic(op)}({listed})"
        elif op in ("sin", "cos"):
            line = self._turn(operation.a, names[0], ["sin", "cos"].index(op))
        elif op in LIBRARY:
            kit.need(op)
            self.lines += per_lane(result, op, names, kit.width)
            return
        else:
            line = self._choose(op, names)
        self.lines.append(f"{result} = {line}")

    def _turn(self, angle: int, name: str, which: int) -> str:
        pair = f"{{ {self._kit.real}, {self._kit.real} }}"
        if angle not in self._angles:
            self._kit.need("sincos")
            argument = f"{self._kit.real} {name}"
            self._angles[angle] = self._write(f"call {pair} @{SINCOS}({argument})")
        return f"extractvalue {pair} {self._angles[angle]}, {which}"

    def _choose(self, op: str, names: list[str]) -> str:
        """Write a comparison or what hangs on one; a truth is 1.0 or 0.0, as CasADi has it."""
        kit = self._kit
        if op in COMPARISONS:
            return self._select(self._compare(COMPARISONS[op], *names), kit.one, kit.zero)
        if op == "not":
            return self._select(self._compare("oeq", names[0], kit.zero), kit.one, kit.zero)
        if op == "if_else_zero":
            return self._select(self._compare("une", names[0], kit.zero), names[1], kit.zero)
        if op in ("and", "or"):
            a, b = (self._compare("une", name, kit.zero) for name in names)
            return self._select(self._write(f"{op} {kit.truth} {a}, {b}"), kit.one, kit.zero)
        if op == "sign":
            above = self._select(self._compare("ogt", names[0], kit.zero), kit.one, names[0])
            below = self._compare("olt", names[0], kit.zero)
            return self._select(below, kit.minus_one, self._write(above))
        raise AssertionError(f"operation '{op}' of the stream has no LLVM code")

    def _compare(self, how: str, a: str, b: str) -> str:
        return self._write(f"fcmp {how} {self._kit.real} {a}, {b}")

    def _select(self, truth: str, yes: str, no: str) -> str:
        kit = self._kit
        return f"select {kit.truth} {truth}, {kit.real} {yes}, {kit.real} {no}"
