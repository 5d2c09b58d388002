"""Code specific to GPU threads: memory for values, a table of constants, quotients."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from flexarm.engine.emit.keep import CONSTANT, MEMORIES, Move, Room, moves
from flexarm.engine.emit.llvm_text import number
from flexarm.engine.stream import Stream

FILL = "flexarm_fill"  # fills tables of constants, which a program has to do first
NEAR, OWN = (f"ptr addrspace({MEMORIES[name]})" for name in ("near", "far"))
PAIR = "<2 x double>"
# Within 2 units of the last place, without branches.  Of 0, what is no number and what is beyond
# 1e+-307 it is the rough one, as a division has it: infinite, no number or 0.
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
    """Memories of a thread, in which values of equations wait that registers do not hold.

    Parameters
    ----------
    stream, room
        The equations, and the room that a thread has for their values.
    name
        Of the function.
    write
        Writes an expression, and names its value.
    """

    def __init__(self, stream: Stream, room: Room, name: str, write: Callable[[str], str]) -> None:
        self._stream, self._write = stream, write
        self._table = f"{name}_numbers".replace(".", "_")  # NVIDIA's names have no dots
        self._kept = moves(stream, room)
        self._room = replace(room, near=self._kept.near)
        self.arrays: dict[str, str] = {}  # those of the caller's that are used

    @property
    def constants(self) -> int:
        """Return how many constants the table has."""
        return len(self._kept.table)

    @property
    def near(self) -> int:
        """Return how many places it has in the memory of its block."""
        return self._kept.near

    def prologue(self) -> list[str]:
        """Write where memories are."""
        return self._room.prologue(self._kept.far)

    def brought(self, k: int) -> Iterator[tuple[int, str]]:
        """Load the values needed before an operation; return them with their names."""
        pair = ""
        for move in self._kept.loads[k]:
            if move.memory == "table":
                if move.place % 2 == 0:
                    place = f"getelementptr (double, {NEAR} @{self._table}, i32 {move.place})"
                    pair = self._write(f"load volatile {PAIR}, {NEAR} {place}, align 16")
                yield move.value, self._write(f"extractelement {PAIR} {pair}, i32 {move.place % 2}")
            else:
                place = self._place(move)
                yield move.value, self._write(f"load volatile double, {place}, align 8")

    def left(self, k: int) -> Iterator[tuple[int, str]]:
        """List the values stored after an operation, with their places."""
        for move in self._kept.stores[k]:
            yield move.value, self._place(move)

    def _place(self, move: Move) -> str:
        if move.memory == "input":
            load = self._stream.loads[move.value - self._stream.first_load]
            return self.own(f"x{load.port}", load.element)
        kind = NEAR if move.memory == "near" else OWN
        place = self._write(f"getelementptr double, {kind} %{move.memory}, i32 {move.offset}")
        return f"{kind} {place}"

    def own(self, array: str, element: int) -> str:
        """Point to an element of an array that the caller has for itself."""
        if array not in self.arrays:
            self.arrays[array] = self._write(f"addrspacecast ptr %{array} to {OWN}")
        place = f"getelementptr double, {OWN} {self.arrays[array]}, i32 {element}"
        return f"{OWN} {self._write(place)}"

    def tables(self) -> list[str]:
        """Write the table of constants, and what fills it."""
        table = self._kept.table
        if not table:
            return []
        size = f"[{len(table)} x double]"
        listed = ", ".join(f"double {number(value, 1)}" for value in table)
        shared, constant = (f"addrspace({each})" for each in (MEMORIES["near"], CONSTANT))
        return [
            f"@{self._table} = internal {shared} global {size} undef, align 16",
            f"@{self._table}_all = internal {constant} constant {size} [{listed}], align 8",
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
    """Write a quotient, within 2 units of the last place, where that of a division is finite."""
    inverse = f"call double @flexarm.reciprocal(double {b})"
    if a == one:
        return inverse
    inverse = write(inverse)
    first = write(f"fmul double {a}, {inverse}")
    back = write(f"fneg double {first}")
    rest = write(f"call double @llvm.fmuladd.f64(double {b}, double {back}, double {a})")
    fine = write(f"call double @llvm.fmuladd.f64(double {rest}, double {inverse}, double {first})")
    none = write(f"fcmp uno double {fine}, 0.0")
    return f"select i1 {none}, double {first}, double {fine}"
