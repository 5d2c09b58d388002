"""LLVM code for GPU threads only: values kept in memory, tables of constants, quotients."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from flexarm.engine.emit.keep import CONSTANT, MEMORIES, Move, ThreadMemory, moves
from flexarm.engine.emit.llvm_text import number
from flexarm.engine.stream import Stream

FILL = "flexarm_fill"  # function that fills the tables of constants; must be called first
NEAR, OWN = (f"ptr addrspace({MEMORIES[name]})" for name in ("near", "far"))
PAIR = "<2 x double>"
# 1/x, accurate to 2 units in the last place, without branches.  For 0, NaN and magnitudes above
# 1e307 or below 1e-307, the result is the hardware's approximation, which equals that of a
# division: infinity, NaN or 0.
RECIPROCAL = """declare double @llvm.nvvm.rcp.approx.ftz.d(double)
declare double @llvm.fmuladd.f64(double, double, double)
define internal double @flexarm.reciprocal(double %x) alwaysinline nounwind {
%rough = call double @llvm.nvvm.rcp.approx.ftz.d(double %x)
%y = fneg double %x
%off = call double @llvm.fmuladd.f64(double %y, double %rough, double 1.0)
%both = call double @llvm.fmuladd.f64(double %off, double %off, double %off)
%good = call double @llvm.fmuladd.f64(double %rough, double %both, double %rough)
%rest = call double @llvm.fmuladd.f64(double %y, double %good, double 1.0)
%fine = call double @llvm.fmuladd.f64(double %good, double %rest, double %good)
%none = fcmp uno double %fine, 0.0
%z = select i1 %none, double %rough, double %fine
ret double %z
}"""


class Thread:
    """Loads and stores of the values of a GPU thread that do not fit into its registers.

    Parameters
    ----------
    stream, room
        Operations of the function, and the registers and memory available for their values.
    name
        Name of the function.
    write
        Function that emits an LLVM expression and returns the name of its value.
    """

    def __init__(
        self, stream: Stream, room: ThreadMemory, name: str, write: Callable[[str], str]
    ) -> None:
        self._stream, self._write = stream, write
        self._table = f"{name}_numbers".replace(".", "_")  # NVIDIA's names have no dots
        self._kept = moves(stream, room)
        self._room = replace(room, near=self._kept.near)
        self.arrays: dict[str, str] = {}  # pointers to arrays of the caller that are used

    @property
    def constants(self) -> int:
        """Return the number of constants in the table that the thread reads."""
        return len(self._kept.table)

    @property
    def near(self) -> int:
        """Return the number of doubles per thread in the shared memory of the block."""
        return self._kept.near

    def prologue(self) -> list[str]:
        """Return LLVM lines that compute the addresses of the memory of the thread."""
        return self._room.prologue(self._kept.far)

    def brought(self, k: int) -> Iterator[tuple[int, str]]:
        """Emit the loads that an operation needs; yield pairs (value number, LLVM name)."""
        pair = ""
        for move in self._kept.loads[k]:
            if move.memory == "table":
                if move.place % 2 == 0:
                    address = f"getelementptr (double, {NEAR} @{self._table}, i32 {move.place})"
                    pair = self._write(f"load volatile {PAIR}, {NEAR} {address}, align 16")
                yield move.value, self._write(f"extractelement {PAIR} {pair}, i32 {move.place % 2}")
            else:
                address = self._place(move)
                yield move.value, self._write(f"load volatile double, {address}, align 8")

    def left(self, k: int) -> Iterator[tuple[int, str]]:
        """Emit the addresses of stores after an operation; yield pairs (value number, address)."""
        for move in self._kept.stores[k]:
            yield move.value, self._place(move)

    def _place(self, move: Move) -> str:
        if move.memory == "input":
            load = self._stream.loads[move.value - self._stream.first_load]
            return self.own(f"x{load.port}", load.element)
        kind = NEAR if move.memory == "near" else OWN
        address = self._write(f"getelementptr double, {kind} %{move.memory}, i32 {move.offset}")
        return f"{kind} {address}"

    def own(self, array: str, element: int) -> str:
        """Emit and return the address of an element of an array private to the thread."""
        if array not in self.arrays:
            self.arrays[array] = self._write(f"addrspacecast ptr %{array} to {OWN}")
        address = f"getelementptr double, {OWN} {self.arrays[array]}, i32 {element}"
        return f"{OWN} {self._write(address)}"

    def tables(self) -> list[str]:
        """Return the LLVM lines of the table of constants, and of the function that fills it."""
        table = self._kept.table
        if not table:
            return []
        size = f"[{len(table)} x double]"
        elements = ", ".join(f"double {number(value, 1)}" for value in table)
        shared, constant = (f"addrspace({space})" for space in (MEMORIES["near"], CONSTANT))
        return [
            f"@{self._table} = internal {shared} global {size} undef, align 16",
            f"@{self._table}_all = internal {constant} constant {size} [{elements}], align 8",
            f"""declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier0()
define void @{FILL}() alwaysinline convergent nounwind {{
start:
%first = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
%step = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
br label %test
test:
%k = phi i32 [%first, %start], [%next, %copy]
%more = icmp ult i32 %k, {len(table)}
br i1 %more, label %copy, label %done
copy:
%from = getelementptr double, ptr {constant} @{self._table}_all, i32 %k
%x = load double, ptr {constant} %from
%to = getelementptr double, {NEAR} @{self._table}, i32 %k
store volatile double %x, {NEAR} %to
%next = add i32 %k, %step
br label %test
done:
call void @llvm.nvvm.barrier0()
ret void
}}""",
        ]


def quotient(a: str, b: str, one: str, write: Callable[[str], str]) -> str:
    """Emit code for a/b, accurate to 2 ulp wherever IEEE division gives a finite result."""
    inverse = f"call double @flexarm.reciprocal(double {b})"
    if a == one:
        return inverse
    inverse = write(inverse)
    estimate = write(f"fmul double {a}, {inverse}")
    negative = write(f"fneg double {estimate}")
    residual = write(f"call double @llvm.fmuladd.f64(double {b}, double {negative}, double {a})")
    refined = write(
        f"call double @llvm.fmuladd.f64(double {residual}, double {inverse}, double {estimate})"
    )
    is_nan = write(f"fcmp uno double {refined}, 0.0")
    return f"select i1 {is_nan}, double {estimate}, double {refined}"
