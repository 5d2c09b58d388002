"""LLVM code for a list of operations: small internal functions, and two public functions."""

from dataclasses import dataclass

from flexarm.engine.constants import PIECE_OPERATIONS, UNROLLED_OUTPUTS
from flexarm.engine.emit import own
from flexarm.engine.emit.keep import ThreadMemory
from flexarm.engine.emit.llvm_text import number, per_lane, vector
from flexarm.engine.emit.plan import CodeLayout, plan, runs_of_leaves
from flexarm.engine.emit.sincos import NAME as SINCOS
from flexarm.engine.emit.sincos import sincos
from flexarm.engine.emit.thread import RECIPROCAL, Thread, quotient
from flexarm.engine.stream import BINARY, FUNCTIONS, Operation, Store, Stream
from flexarm.errors import FlexarmError

INTRINSICS = {
    "sqrt": "sqrt",
    "fabs": "fabs",
    "floor": "floor",
    "ceil": "ceil",
    "copysign": "copysign",
    "fmin": "min",
    "fmax": "max",
}


@dataclass(frozen=True)
class Dialect:
    """Features of a compilation target that the emitted LLVM code may use."""

    # Whether products and sums may become fused multiply-adds, rounded once.
    fused: bool = True
    libm: bool = True  # whether the target has a C library; else its functions are emitted
    # Suffix of LLVM's names of fmin and fmax: "num" for the functions of the C library; "imum" for
    # targets with instructions for these functions, which return NaN if an operand is NaN.
    extremes: str = "num"
    # On a GPU: registers and memory for values; if None, LLVM or the driver allocates registers.
    room: ThreadMemory | None = None


PROCESSOR = Dialect()
BARE = Dialect(fused=False, libm=False, extremes="imum")


class SupportCode:
    """LLVM types and constants for a number of SIMD lanes, and the helper functions in use."""

    def __init__(self, width: int, dialect: Dialect) -> None:
        self.width = width
        self.dialect = dialect
        self.real = vector("double", width)
        contract = " contract" if dialect.fused else ""
        self.arithmetic = {
            op: f"f{op}{contract} {self.real}" for op in ("add", "sub", "mul", "div")
        }
        self.truth = vector("i1", width)
        self.zero, self.one, self.minus_one = (number(x, width) for x in (0.0, 1.0, -1.0))
        self._needed = {"fabs"}

    def intrinsic(self, op: str) -> str:
        """Return the name of the LLVM intrinsic function for an operation."""
        self._needed.add(op)
        name = INTRINSICS[op] + (self.dialect.extremes if op in ("fmin", "fmax") else "")
        return f"llvm.{name}.{'f64' if self.width == 1 else f'v{self.width}f64'}"

    def need(self, name: str) -> None:
        """Record that the code calls a C library function or a helper function."""
        self._needed.add(name)

    def call_of(self, name: str) -> str:
        """Return the name of the function to call for a C library function, lane by lane.

        Raises
        ------
        FlexarmError
            If neither the compilation target nor flexarm has the function.
        """
        if not self.dialect.libm and name not in own.TAKEN:
            raise FlexarmError(
                f"function '{name}': this target has no mathematical library, and flexarm has "
                f"code of its own only for {', '.join(own.TAKEN)}, sin, cos and tan"
            )
        self._needed.add(name)
        return name if self.dialect.libm else f"{own.PREFIX}{name}"

    def support(self) -> str:
        """Return the LLVM code of the helper functions in use."""
        lines = []
        names = self._needed
        if "sincos" in names and self.dialect.libm:
            names = names | {"sin", "cos"}
        emitted = own.needed(names & own.TAKEN.keys()) if not self.dialect.libm else []
        if emitted:
            for name in own.INTRINSICS:
                if self.width > 1 or name not in names:
                    types = ", ".join(["double"] * (2 if name in BINARY else 1))
                    lines.append(f"declare double @llvm.{name}.f64({types})")
            lines += [own.own_function(name) for name in emitted]
        for name in sorted(names - {"sincos", "fill", "reciprocal", *emitted}):
            arguments = 2 if name in BINARY else 1
            if name in INTRINSICS:
                types = ", ".join([self.real] * arguments)
                lines.append(f"declare {self.real} @{self.intrinsic(name)}({types})")
            else:
                lines.append(f"declare double @{name}({', '.join(['double'] * arguments)})")
        if "sincos" in names:
            lines.append(sincos(self.width, libm=self.dialect.libm, fused=self.dialect.fused))
        if "reciprocal" in names:
            lines.append(RECIPROCAL)
        if "fill" in names:
            lines.append(self._fill())
        return "\n".join(lines)

    def _fill(self) -> str:
        # An explicit loop, since LLVM's memset would call the C library.
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


def library(names: tuple[str, ...]) -> str:
    """Return LLVM definitions of C library functions, for targets without a C library."""
    kit, lines = SupportCode(1, BARE), []
    for name in names:
        count = 2 if name in BINARY else 1
        parameters = ", ".join(f"double %x{k}" for k in range(count))
        lines.append(f"define double @{name}({parameters}) nounwind {{")
        if name in ("sin", "cos"):
            kit.need("sincos")
            lines.append(f"%both = call {{ double, double }} @{SINCOS}({parameters})")
            lines.append(
                f"%y = extractvalue {{ double, double }} %both, {('sin', 'cos').index(name)}"
            )
        else:
            lines.append(f"%y = call double @{kit.call_of(name)}({parameters})")
        lines.append("ret double %y\n}")
    return "\n".join([kit.support(), *lines])


COMPARISONS = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
LIBRARY = FUNCTIONS - INTRINSICS.keys()


def emit_llvm(
    stream: Stream,
    *,
    width: int = 1,
    chunk: int = PIECE_OPERATIONS,
    ordered: bool = True,
    dialect: Dialect = PROCESSOR,
) -> "Code":
    """Return the LLVM code of a stream of operations.

    Parameters
    ----------
    stream
        Operations of the function.
    width
        Number of SIMD lanes: each element of an input or output consists of this many adjacent
        doubles.
    chunk
        Number of operations per internal function.
    ordered
        Whether to reorder the operations so that few intermediate values exist at the same time.
    dialect
        Features of the compilation target.

    Returns
    -------
    Code
        LLVM code with two public functions. The arguments of `entry` are a pointer to each input,
        to each output and to the work array; these arrays must not overlap. The argument of
        `table_entry` is a pointer to a table of these pointers. The arrays must be aligned like
        doubles.
    """
    if width < 1 or width & (width - 1):
        # LLVM pads vectors whose number of lanes is no power of 2.
        raise FlexarmError(
            f"width: must be a number of SIMD lanes that is a power of two, got {width}"
        )
    layout = plan(stream, chunk=chunk, ordered=ordered)
    stream = layout.stream
    kit = SupportCode(width, dialect)
    entry = f"flexarm_{stream.name}"
    pointers = [f"%x{k}" for k in range(len(stream.inputs))]
    pointers += [f"%y{k}" for k in range(len(stream.outputs))] + ["%w"]
    parameters = ", ".join(f"ptr noalias {pointer}" for pointer in pointers)
    arguments = ", ".join(f"ptr {pointer}" for pointer in pointers)
    text: list[str] = []
    calls, table, near_doubles = list[str](), 0, 0
    for k, piece in enumerate(layout.pieces):
        body = _LlvmFunction(layout, kit, f"{entry}.{k}", piece)
        body.write_operations()
        text += body.function()
        table, near_doubles = table + body.table, max(near_doubles, body.near)
        calls.append(body.call())
    runs = list(runs_of_leaves(stream))
    for start in range(0, len(runs), chunk):
        body = _LlvmFunction(layout, kit, f"{entry}.edge{start}", range(0))
        body.write_leaves(runs[start : start + chunk])
        text += body.function()
        calls.append(body.call())
    text.append(f"define void @{entry}({parameters}) noinline nounwind {{")
    text += [*calls, "ret void\n}"]
    text.append(f"define void @{entry}_table(ptr %table) noinline nounwind {{")
    for k, pointer in enumerate(pointers):
        text.append(
            f"%t{k} = getelementptr i64, ptr %table, i64 {k}"
        )  # entries of 8 bytes on every target
        text.append(f"{pointer} = load ptr, ptr %t{k}")
    text.append(f"call void @{entry}({arguments})\nret void\n}}\n")
    text_of_all = "\n".join([kit.support(), dialect.room.declared if dialect.room else "", *text])
    return Code(
        text_of_all, entry, f"{entry}_table", width, layout.work_size, table, near_doubles,
    )  # fmt: skip


@dataclass(frozen=True)
class Code:
    """LLVM code: text, names of its two public functions, SIMD lanes and work array size.

    The field `table` is the number of constants in the shared memory of a GPU block, and `near` the
    number of doubles in this memory per thread.
    """

    text: str
    entry: str
    table_entry: str
    width: int
    work_size: int
    table: int = 0
    near: int = 0


_Place = tuple[str, int]  # an array and the index of an element


class _LlvmFunction:
    """LLVM lines of one internal function of the emitted code."""

    def __init__(self, layout: CodeLayout, kit: SupportCode, name: str, values: range) -> None:
        self._lines: list[str] = []
        self._kit = kit
        self._name = name
        self.values = values
        self._stream = layout.stream
        self._planned = layout
        self._at_hand: dict[int, str] = {}
        self._angles: dict[int, str] = {}
        self._arrays: set[str] = set()
        self._temporaries = 0
        # On a GPU: number of constants in the shared memory of a block, number of doubles there per
        # thread, and the LLVM lines that fill the table of constants.
        self.table, self.near, self._tables = 0, 0, list[str]()
        self._brought: dict[int, str] = {}  # names of values after reloading from memory

    def _place(self, value: int) -> _Place:
        """Return the array and the element from which this function reads a value."""
        if value >= self._stream.first_operation:
            return "w", self._planned.places[value]
        load = self._stream.loads[value - self._stream.first_load]
        return f"x{load.port}", load.element

    def write_operations(self) -> None:
        """Emit code for the operations and for the stores of their results."""
        first, operations = self._stream.first_operation, self._stream.operations
        places, stores = self._planned.places, self._planned.stores
        room = self._kit.dialect.room if len(self.values) == len(operations) else None
        thread = Thread(self._stream, room, self._name, self._write) if room else None
        self._lines += thread.prologue() if thread else []
        for value in self.values:
            name, operation = f"%v{value}", operations[value - first]
            self._brought.update(thread.brought(value - first) if thread else ())
            arithmetic = self._kit.arithmetic.get(operation.op)
            if arithmetic is None or (thread and operation.op == "div"):
                self.operate(name, operation)
            else:  # most operations
                a, b = self.reference(operation.a), self.reference(operation.b)
                self._lines.append(f"{name} = {arithmetic} {a}, {b}")
            if value in places:
                self.store("w", places[value], name)
            for store in stores.get(value, ()):
                array = f"y{store.port}"
                if thread:
                    address = thread.own(array, store.element)
                    self._lines.append(f"store double {name}, {address}, align 8")
                else:
                    self.store(array, store.element, name)
            for stored, address in thread.left(value - first) if thread else ():
                self._lines.append(f"store volatile double {self.reference(stored)}, {address}")
        if thread:
            self._arrays |= thread.arrays.keys()
            self._tables, self.table, self.near = thread.tables(), thread.constants, thread.near

    def write_leaves(self, runs: list[list[Store]]) -> None:
        """Emit code that copies constants and unchanged inputs to outputs."""
        for run in runs:
            value = self.reference(run[0].value)
            if len(run) > UNROLLED_OUTPUTS:
                self.fill(f"y{run[0].port}", run[0].element, len(run), value)
            else:
                for store in run:
                    self.store(f"y{store.port}", store.element, value)

    def function(self) -> list[str]:
        """Return the LLVM lines of this internal function and of its tables of constants."""
        parameters = ", ".join(f"ptr noalias %{array}" for array in sorted(self._arrays))
        return [
            *self._tables,
            f"define internal void @{self._name}({parameters}) noinline nounwind {{",
            *self._lines,
            "ret void\n}",
        ]

    def call(self) -> str:
        """Return the LLVM call of this internal function with the arrays that it uses."""
        arguments = ", ".join(f"ptr %{array}" for array in sorted(self._arrays))
        return f"call void @{self._name}({arguments})"

    def reference(self, value: int) -> str:
        """Return the LLVM name of a value; load it if another function computed it."""
        if value in self._brought:
            return self._brought[value]
        if value in self.values:
            return f"%v{value}"
        if value not in self._at_hand:
            self._at_hand[value] = self._fetch(value)
        return self._at_hand[value]

    def _fetch(self, value: int) -> str:
        if value < self._stream.first_load:
            return number(self._stream.constants[value], self._kit.width)
        address = self._address(*self._place(value))
        return self._write(f"load {self._kit.real}, ptr {address}, align 8")

    def _address(self, array: str, element: int) -> str:
        self._arrays.add(array)
        return self._write(f"getelementptr {self._kit.real}, ptr %{array}, i64 {element}")

    def _write(self, expression: str) -> str:
        self._temporaries += 1
        name = f"%t{self._temporaries}"
        self._lines.append(f"{name} = {expression}")
        return name

    def store(self, base: str, element: int, value: str) -> None:
        """Emit code that stores a value in an array element."""
        address = self._address(base, element)
        self._lines.append(f"store {self._kit.real} {value}, ptr {address}, align 8")

    def fill(self, base: str, element: int, length: int, value: str) -> None:
        """Emit a call that writes a value to ``length`` consecutive elements of an array."""
        self._kit.need("fill")
        address = self._address(base, element)
        arguments = f"ptr {address}, i64 {length}, {self._kit.real} {value}"
        self._lines.append(f"call void @flexarm.fill({arguments})")

    def operate(self, result: str, operation: Operation) -> None:
        """Emit code for an operation that takes more than one arithmetic instruction."""
        op, kit = operation.op, self._kit
        names = [self.reference(value) for value in operation.operands]
        if op == "div":
            kit.need("reciprocal")
            line = quotient(names[0], names[1], kit.one, self._write)
        elif op == "neg":
            line = f"fneg {kit.real} {names[0]}"
        elif op in INTRINSICS:
            arguments = ", ".join(f"{kit.real} {name}" for name in names)
            line = f"call {kit.real} @{kit.intrinsic(op)}({arguments})"
        elif op in ("sin", "cos"):
            line = self._turn(operation.a, names[0], ["sin", "cos"].index(op))
        elif op == "tan" and not kit.dialect.libm:
            sine_cosine = [
                self._write(self._turn(operation.a, names[0], index)) for index in (0, 1)
            ]
            line = f"fdiv {kit.real} {sine_cosine[0]}, {sine_cosine[1]}"
        elif op in LIBRARY:
            self._lines += per_lane(result, kit.call_of(op), names, kit.width)
            return
        else:
            line = self._choose(op, names)
        self._lines.append(f"{result} = {line}")

    def _turn(self, angle: int, name: str, index: int) -> str:
        pair = f"{{ {self._kit.real}, {self._kit.real} }}"
        if angle not in self._angles:
            self._kit.need("sincos")
            argument = f"{self._kit.real} {name}"
            self._angles[angle] = self._write(f"call {pair} @{SINCOS}({argument})")
        return f"extractvalue {pair} {self._angles[angle]}, {index}"

    def _choose(self, op: str, names: list[str]) -> str:
        """Return the LLVM code of a comparison or selection; true is 1.0 and false is 0.0."""
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

    def _compare(self, predicate: str, a: str, b: str) -> str:
        return self._write(f"fcmp {predicate} {self._kit.real} {a}, {b}")

    def _select(self, truth: str, yes: str, no: str) -> str:
        kit = self._kit
        return f"select {kit.truth} {truth}, {kit.real} {yes}, {kit.real} {no}"
