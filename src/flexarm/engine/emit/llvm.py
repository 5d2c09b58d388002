"""Emission of a stream as LLVM code: small internal functions, and two entries that call them."""

from collections import Counter
from dataclasses import dataclass
from itertools import chain

from flexarm.engine.constants import (
    ADDRESS_REGISTERS,
    ADDRESS_USES,
    CACHE_WAY,
    CACHE_WAYS,
    MOST_PLACED_FUNCTIONS,
    PIECE_OPERATIONS,
    UNROLLED_OUTPUTS,
)
from flexarm.engine.emit.kit import INTRINSICS, PROCESSOR, Dialect, SupportCode
from flexarm.engine.emit.llvm_text import number, per_lane
from flexarm.engine.emit.plan import CodeLayout, plan, runs_of_leaves
from flexarm.engine.emit.sincos import NAME as SINCOS
from flexarm.engine.emit.thread import Thread, quotient
from flexarm.engine.stream import FUNCTIONS, Operation, Store, Stream
from flexarm.errors import FlexarmError

COMPARISONS = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
LIBRARY = FUNCTIONS - INTRINSICS.keys()
NUMBERS = "_numbers"  # suffix of the entry's name in the name of the table of constants


@dataclass(frozen=True)
class ProcessorFit:
    """Code layout that suits a processor's addressing and instruction cache."""

    # Elements, counted from the one that a register points to, that an instruction reaches with the
    # shortest form of an address. With none, addresses and constants are left to LLVM; else
    # constants come from a table.
    reach: range = range(0)
    # Bytes of the place of an internal function in memory, a power of two; 0 for any place.
    slot: int = 0
    chunk: int | None = None  # largest number of operations that fit a slot
    ordered: bool = True  # whether to order the operations so that few values are live


ANY = ProcessorFit()


def emit_llvm(
    stream: Stream,
    *,
    width: int = 1,
    chunk: int = PIECE_OPERATIONS,
    fit: ProcessorFit = ANY,
    dialect: Dialect = PROCESSOR,
    shared_table: bool = False,
) -> "Code":
    """Return the LLVM code of a stream of operations.

    Parameters
    ----------
    stream
        The operations.
    width
        Number of lanes: each element of every array is that many doubles side by side.
    chunk
        Number of operations in an internal function.
    fit
        Code layout for the processor.
    dialect
        Features of the target.
    shared_table
        Whether to read constants from a table that is filled when the code is loaded.

    Returns
    -------
    Code
        LLVM code with two entries. `entry` takes a pointer to each input, to each output and to the
        work array, none of which may overlap; `table_entry` takes one pointer to a table of those
        pointers. Arrays need the alignment of a double, no more.
    """
    if width < 1 or width & (width - 1):
        # LLVM would pad another number of lanes.
        raise FlexarmError(
            f"width: must be a number of SIMD lanes that is a power of two, got {width}"
        )
    layout = plan(stream, chunk=min(fit.chunk or chunk, chunk), ordered=fit.ordered)
    stream = layout.stream
    kit = SupportCode(width, fit.reach, dialect)
    entry = f"flexarm_{stream.name}"
    pointers = [f"%x{k}" for k in range(len(stream.inputs))]
    pointers += [f"%y{k}" for k in range(len(stream.outputs))] + ["%w"]
    parameters = ", ".join(f"ptr noalias {pointer}" for pointer in pointers)
    arguments = ", ".join(f"ptr {pointer}" for pointer in pointers)
    text: list[str] = []
    numbers: list[int] | None = [] if shared_table else None
    calls, table, near_doubles = [""] * len(layout.pieces), 0, 0
    for k, alignment in _layout(len(layout.pieces), fit.slot):
        body = _LlvmFunction(layout, kit, f"{entry}.{k}", layout.pieces[k], numbers)
        body.write_operations()
        text += body.function(alignment)
        table, near_doubles = table + body.table, max(near_doubles, body.near)
        calls[k] = body.call()
    runs = list(runs_of_leaves(stream))
    for start in range(0, len(runs), chunk):
        body = _LlvmFunction(layout, kit, f"{entry}.edge{start}", range(0), numbers)
        body.write_leaves(runs[start : start + chunk])
        text += body.function("")
        calls.append(body.call())
    text.append(f"define void @{entry}({parameters}) noinline nounwind {{")
    if numbers:
        text.append(f"%numbers = getelementptr i8, ptr @{entry}{NUMBERS}, i64 0")
    text += [*calls, "ret void\n}"]
    text.append(f"define void @{entry}_table(ptr %table) noinline nounwind {{")
    for k, pointer in enumerate(pointers):
        text.append(
            f"%t{k} = getelementptr i64, ptr %table, i64 {k}"
        )  # entries of 8 bytes on every target
        text.append(f"{pointer} = load ptr, ptr %t{k}")
    text.append(f"call void @{entry}({arguments})\nret void\n}}\n")
    if numbers:
        size = f"[{len(numbers)} x {kit.real}] zeroinitializer, align 64"
        text.append(f"@{entry}{NUMBERS} = dso_local global {size}\n")
    text_of_all = "\n".join([kit.support(), dialect.room.declared if dialect.room else "", *text])
    return Code(
        text_of_all, entry, f"{entry}_table", width, layout.work_size, tuple(numbers or ()),
        table, near_doubles,
    )  # fmt: skip


def _layout(functions: int, slot: int) -> list[tuple[int, str]]:
    """Return the order of functions in memory, as pairs of index and alignment.

    Notes
    -----
    Code larger than the instruction cache that runs repeatedly from first to last byte never hits
    the cache: every line has been displaced by later lines. Lines compete for the cache by their
    offset in a page. The first functions therefore fill some pages except for the last slot, where
    nothing displaces them; the other functions share the last slot of every page.
    """
    cached = CACHE_WAYS * (CACHE_WAY // slot - 1) if slot else functions
    if not cached + CACHE_WAYS < functions <= MOST_PLACED_FUNCTIONS:
        return [(k, "") for k in range(functions)]
    uncached = iter(range(cached, functions))
    order: list[tuple[int, str]] = []
    for k in range(cached):
        order.append((k, f"align {slot if k % (cached // CACHE_WAYS) else CACHE_WAY}"))
        if (k + 1) % (cached // CACHE_WAYS) == 0:
            order.append((next(uncached), f"align {slot}"))
    prefix = f"prefix [{CACHE_WAY - slot} x i8] zeroinitializer"
    return order + [(k, f"align {CACHE_WAY} {prefix}") for k in uncached]


@dataclass(frozen=True)
class Code:
    """Emitted LLVM code: text, names of both entries, number of lanes and size of the work array.

    `numbers` are the constants to be stored in all lanes of the table `entry` + NUMBERS; `table` is
    the number of constants in the shared memory of a GPU block, `near` the number of doubles there
    per thread.
    """

    text: str
    entry: str
    table_entry: str
    width: int
    work_size: int
    numbers: tuple[int, ...] = ()
    table: int = 0
    near: int = 0


_Place = tuple[str, int]  # an array and the index of an element or of a section


class _LlvmFunction:
    """LLVM lines of one internal function."""

    def __init__(
        self,
        layout: CodeLayout,
        kit: SupportCode,
        name: str,
        values: range,
        shared_constants: list[int] | None,
    ) -> None:
        self._lines: list[str] = []
        self._kit = kit
        self._name = name
        self.values = values
        self._apart = (
            shared_constants  # constants of the functions emitted so far, in the common table
        )
        self._stream = layout.stream
        self._planned = layout
        self._numbers: dict[int, int] | None = None  # table indices of constants
        if kit.reach or shared_constants is not None:
            self._numbers = {}
        self._at_hand: dict[int, str] = {}
        self._angles: dict[int, str] = {}
        self._near: dict[_Place, str] = {}
        self._arrays: set[str] = set()
        self._constants = ""  # pointer to the function's constants
        self._frequent = self._frequent_windows() if kit.reach else set()
        self._temporaries = 0
        # On a GPU: number of constants in the shared memory of a block, number of doubles there per
        # thread, and the LLVM lines that fill the table of constants.
        self.table, self.near, self._tables = 0, 0, list[str]()
        self._brought: dict[int, str] = {}  # names of values after reloading from memory

    def _frequent_windows(self) -> "set[_Place]":
        """Return array sections used often enough that their address is worth a register."""
        layout, first = self._planned, self._stream.first_operation
        operations = self._stream.operations[self.values.start - first :][: len(self.values)]
        operands = chain.from_iterable(operation.operands for operation in operations)
        outside = dict.fromkeys(value for value in operands if value not in self.values)
        read_places = [self._place(value) for value in outside if value >= self._stream.first_load]
        places = list(read_places)
        for value in self.values:
            places += [self._place(value)] if value in layout.places else []
            places += [(f"y{store.port}", store.element) for store in layout.stores.get(value, ())]
        places += [("numbers", k) for k in range(len(outside) - len(read_places))]
        uses = Counter(map(self._window, places)).most_common(ADDRESS_REGISTERS)
        return {window for window, times in uses if times >= ADDRESS_USES}

    def _window(self, place: _Place) -> "_Place":
        return place[0], place[1] // len(self._kit.reach)

    def _place(self, value: int) -> _Place:
        """Return the array and element from which this function reads a non-constant value."""
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
            else:  # most are
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
        """Emit code that stores constants and unchanged inputs in outputs."""
        for run in runs:
            value = self.reference(run[0].value)
            if len(run) > UNROLLED_OUTPUTS:
                self.fill(f"y{run[0].port}", run[0].element, len(run), value)
            else:
                for store in run:
                    self.store(f"y{store.port}", store.element, value)

    def function(self, alignment: str) -> list[str]:
        """Return the LLVM lines of the function and of the tables of its constants."""
        tables = self._tables
        if self._apart is not None:
            self._apart += self._numbers or ()
        elif self._numbers:
            constants = ", ".join(
                f"{self._kit.real} {self._number(value)}" for value in self._numbers
            )
            size = f"[{len(self._numbers)} x {self._kit.real}]"
            table = f"internal unnamed_addr constant {size} [{constants}], align 8"
            tables = [*tables, f"@{self._name}.numbers = {table}"]
        parameters = ", ".join(f"ptr noalias %{array}" for array in sorted(self._arrays))
        return [
            *tables,
            f"define internal void @{self._name}({parameters}) noinline nounwind {alignment} {{",
            *self._lines,
            "ret void\n}",
        ]

    def call(self) -> str:
        """Return the LLVM call of the function with pointers to the arrays that it uses."""
        arguments = ", ".join(f"ptr %{array}" for array in sorted(self._arrays))
        return f"call void @{self._name}({arguments})"

    def reference(self, value: int) -> str:
        """Return the LLVM name of a value; emit a load if the value comes from another function."""
        if value in self._brought:
            return self._brought[value]
        if value in self.values:
            return f"%v{value}"
        if value not in self._at_hand:
            self._at_hand[value] = self._fetch(value)
        return self._at_hand[value]

    def _fetch(self, value: int) -> str:
        if value >= self._stream.first_load:
            address = self._address(*self._place(value))
        elif self._numbers is None:
            return self._number(value)
        else:
            column = self._numbers.setdefault(value, len(self._numbers))
            address = self._address("numbers", column)
        return self._write(f"load {self._kit.real}, ptr {address}, align 8")

    def _number(self, constant: int) -> str:
        return number(self._stream.constants[constant], self._kit.width)

    def _address(self, array: str, element: int) -> str:
        kind, base = self._kit.element, f"%{array}"
        if array == "numbers":
            kind, base = self._kit.real, self._own_numbers()
        else:
            self._arrays.add(array)
        if self._frequent and (window := self._window((array, element))) in self._frequent:
            middle = window[1] * len(self._kit.reach) - self._kit.reach.start
            if window not in self._near:
                address = self._write(f"getelementptr {kind}, ptr {base}, i64 {middle}")
                # Inline assembly is opaque to LLVM, so that the address stays in a register.
                self._near[window] = self._write(f'call ptr asm "", "=r,0"(ptr {address})')
            base, element = self._near[window], element - middle
        return self._write(f"getelementptr {kind}, ptr {base}, i64 {element}")

    def _own_numbers(self) -> str:
        """Return the LLVM pointer to the table of constants of this function."""
        if self._apart is None:
            return f"@{self._name}.numbers"
        if "numbers" not in self._arrays:
            self._arrays.add("numbers")
            expression = f"getelementptr {self._kit.real}, ptr %numbers, i64 {len(self._apart)}"
            self._constants = self._write(expression)
        return self._constants

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
        """Emit code for an operation that needs more than one arithmetic instruction."""
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
        """Return the LLVM expression of a comparison or selection; truth values are 1.0 and 0.0."""
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
