"""LLVM text of the GPU kernel: transfer of a thread's record and arrays, and the kernel call."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from flexarm.engine.emit.llvm_text import number
from flexarm.engine.emit.thread import FILL
from flexarm.engine.gpu.ptx import GROUP, threads
from flexarm.loops.constants import COPIED_ELEMENTS
from flexarm.loops.threads import RecordPath, SharedValue, TableEntries, ThreadRecord, paths_to

ENTRY = "flexarm_runs"


class KernelText:
    """LLVM text of the GPU kernel in which every thread executes one run."""

    def __init__(
        self,
        parts: Sequence[SharedValue],
        thread: ThreadRecord,
        tables: Mapping[str, TableEntries],
        bound: Collection[str],
        align: int = 8,
    ) -> None:
        self.parts, self.thread, self.tables, self.bound = parts, thread, tables, bound
        self.align = align
        self.fills = False  # whether equations have tables to be filled first
        self.size = sum(part.count for part in parts if part.stored)
        self.constants: list[str] = []
        self.allocations: list[str] = []
        self.loads: list[str] = []
        self.stores: list[str] = []

    def text(self, function: str) -> str:
        """Return the LLVM text of the kernel, which calls ``function`` with the record."""
        self._make_records()
        for k, part in enumerate(self.parts):
            if part.size:
                self._array(k, part)
            else:
                self._number(k, part)
        outer = [k for k, part in enumerate(self.parts) if part.storage == "outside"]
        find = [
            "%state = getelementptr i64, ptr addrspace(1) %codes, i64 %arm",
            "%was = load i64, ptr addrspace(1) %state",
            "%goes = icmp eq i64 %was, 0",
            "br i1 %goes, label %go, label %done",
            "go:",
            f"%first = mul i64 %group, {self.size * GROUP}",
            "%start = add i64 %first, %lane",
        ]
        end = [
            f"%code = call i64 @{function}(ptr %record0)",
            *self.stores,
            "store i64 %code, ptr addrspace(1) %state",
        ]
        pointers = ["%codes", "%image", *(f"%outer{k}" for k in outer)]
        fill = f"void @{FILL}()"
        if self.fills:
            self.allocations.append(f"call {fill}")
            self.constants.append(f"declare {fill} convergent")
        kernel = threads(ENTRY, pointers, [*find, *self.loads, *end], self.allocations)
        movers = [_mover("flexarm_take", back=False), _mover("flexarm_bring", back=True)]
        return "\n".join([*self.constants, *movers, f"declare i64 @{function}(ptr)", kernel])

    def _make_records(self) -> None:
        number_of = {id(record): r for r, record in enumerate(self.thread.records)}
        for r, record in enumerate(self.thread.records):
            layout = record.layout()
            self.allocations.append(f"%record{r} = alloca [{len(layout.types)} x i64], align 8")
            for slot, name in layout.records:
                inner = number_of[id(getattr(record, name))]
                self._store(r, slot, f"ptr %record{inner}")
            for slot, name in layout.arrays:
                paths = paths_to(record, r, name, self.tables)
                if paths[0].entry >= 0:
                    self.allocations.append(
                        f"%table{r}.{slot} = alloca [{len(paths)} x ptr], align 8"
                    )
                    self._store(r, slot, f"ptr %table{r}.{slot}")

    def _store(self, record: int, slot: int, value: str) -> None:
        slot_address = f"%slot{record}.{slot}"
        self.loads.append(f"{slot_address} = getelementptr i64, ptr %record{record}, i64 {slot}")
        self.loads.append(f"store {value}, ptr {slot_address}")

    def _slot(self, path: RecordPath) -> int:
        return list(self.thread.records[path.record].layout().types).index(path.name)

    def _place(self, place: int, name: str) -> list[str]:
        """Return LLVM lines that compute the address of a number in the image of all threads."""
        return [
            f"{name}.at = add i64 %start, {place * GROUP}",
            f"{name}.p = getelementptr double, ptr addrspace(1) %image, i64 {name}.at",
        ]

    def _number(self, k: int, part: SharedValue) -> None:
        path, kind = part.paths[0], _kind(part)
        slot = self._slot(path)
        if part.storage == "constant":
            value = self.thread.value(path)
            if path.name in self.bound:  # an address of this process: only whether there is one
                value = bool(value)
            self._store(path.record, slot, f"{kind} {_constant(part, value)}")
            return
        self.loads += self._place(part.place, f"%n{k}")
        self.loads.append(f"%n{k} = load {kind}, ptr addrspace(1) %n{k}.p")
        self._store(path.record, slot, f"{kind} %n{k}")
        if part.storage == "kept":
            self.stores.append(f"%n{k}.new = load {kind}, ptr %slot{path.record}.{slot}")
            self.stores.append(f"store {kind} %n{k}.new, ptr addrspace(1) %n{k}.p")

    def _array(self, k: int, part: SharedValue) -> None:
        kind = _kind(part)
        pointer = f"%array{k}"
        if part.storage == "constant":
            elements = ", ".join(
                f"{kind} {_constant(part, x)}" for x in self.thread.array(part.paths[0])
            )
            self.constants.append(
                f"@array{k} = internal addrspace(1) constant [{part.size} x {kind}] [{elements}]"
            )
            pointer = f"addrspacecast (ptr addrspace(1) @array{k} to ptr)"
        elif part.storage == "outside":
            self.loads += [
                f"%at{k} = mul i64 %arm, {part.size}",
                f"%far{k} = getelementptr {kind}, ptr addrspace(1) %outer{k}, i64 %at{k}",
                f"%array{k} = addrspacecast ptr addrspace(1) %far{k} to ptr",
            ]
        else:
            self.allocations.append(
                f"%array{k} = alloca [{part.size} x {kind}], align {self.align}"
            )
        if part.stored:
            self._copy(k, part)
        for path in part.paths:
            if path.entry < 0:
                self._store(path.record, self._slot(path), f"ptr {pointer}")
            else:
                table = f"%table{path.record}.{self._slot(path)}"
                name = f"%entry{path.record}.{self._slot(path)}.{path.entry}"
                self.loads.append(f"{name} = getelementptr ptr, ptr {table}, i64 {path.entry}")
                self.loads.append(f"store ptr {pointer}, ptr {name}")

    def _copy(self, k: int, part: SharedValue) -> None:
        """Append LLVM lines that copy an array from the image and, if it changes, back to it."""
        if part.size > COPIED_ELEMENTS:
            self.loads += self._place(part.place, f"%e{k}")
            arguments = f"(ptr %array{k}, ptr addrspace(1) %e{k}.p, i64 {part.size})"
            self.loads.append(f"call void @flexarm_take{arguments}")
            if part.storage == "kept":
                self.stores.append(f"call void @flexarm_bring{arguments}")
            return
        kind = _kind(part)
        for i in range(part.size):
            name = f"%e{k}.{i}"
            self.loads += [
                *self._place(part.place + i, name),
                f"{name} = load {kind}, ptr addrspace(1) {name}.p",
                f"{name}.l = getelementptr {kind}, ptr %array{k}, i64 {i}",
                f"store {kind} {name}, ptr {name}.l",
            ]
            if part.storage == "kept":
                self.stores += [
                    f"{name}.new = load {kind}, ptr {name}.l",
                    f"store {kind} {name}.new, ptr addrspace(1) {name}.p",
                ]


def _mover(name: str, *, back: bool) -> str:
    """Return the LLVM function that copies an array from the image, or with ``back`` to it."""
    pointers = ("ptr %near", "ptr addrspace(1) %far")
    source, target = pointers if back else pointers[::-1]
    return f"""
define internal void @{name}(ptr %array, ptr addrspace(1) %image, i64 %n) alwaysinline nounwind {{
entry:
br label %loop
loop:
%k = phi i64 [0, %entry], [%next, %loop]
%near = getelementptr i64, ptr %array, i64 %k
%at = mul i64 %k, {GROUP}
%far = getelementptr i64, ptr addrspace(1) %image, i64 %at
%x = load i64, {source}
store i64 %x, {target}
%next = add i64 %k, 1
%more = icmp ult i64 %next, %n
br i1 %more, label %loop, label %done
done:
ret void
}}"""


def _kind(part: SharedValue) -> str:
    return "double" if part.real else "i64"


def _constant(part: SharedValue, value: Any) -> str:
    return number(float(value), 1) if part.real else str(int(value))
