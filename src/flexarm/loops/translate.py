"""Translation of kernels (typed Python functions) to LLVM code."""

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from flexarm.errors import FlexarmError
from flexarm.loops.constants import UNROLLED_ITERATIONS
from flexarm.loops.language import Array, Ints, LoopSource, Record
from flexarm.loops.walk import COMPARISONS, NOTHING, KernelWalk, Place, Rounds, is_record

I64, F64, PTR, VOID = ir.IntType(64), ir.DoubleType(), ir.PointerType(), ir.VoidType()
TYPES = {int: I64, float: F64, bool: ir.IntType(1), NOTHING: VOID}
INSTRUCTIONS = {
    int: {"+": "add", "-": "sub", "*": "mul", "%": "urem", "negative": "neg"},
    float: {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"},
}
INTRINSICS = {"sqrt": "llvm.sqrt.f64", "floor": "llvm.floor.f64", "fabs": "llvm.fabs.f64",
              "whole": "llvm.fptosi.sat.i64.f64"}  # fmt: skip
KNOWN = "known"  # metadata of loops with a known number of iterations


def translate(
    kernel: LoopSource,
    bound: Mapping[str, LoopSource | str] = MappingProxyType({}),
    *,
    unrolled: Collection[str] | None = None,
) -> str:
    """Return the LLVM code, as one module, of a kernel and all kernels that it calls.

    Parameters
    ----------
    kernel
        Kernel to translate.
    bound
        Functions that are called by name instead of by an address in a field of the record: a
        kernel, or the name of compiled equations, by name of the field.
    unrolled
        Names of number fields that change during a run. A loop is unrolled if its number of
        iterations depends neither on one of these fields nor on an array.
    """
    module = _Module(bound, unrolled)
    module.function(kernel, public=True)
    text = str(module.module)
    return text if unrolled is None else _unrolled(text)


def _unrolled(text: str) -> str:
    """Return LLVM code in which loops with the mark `KNOWN` are to be unrolled fully."""
    marked = re.compile(rf'^(!\d+) = !{{ !"{KNOWN}", .*}}$', re.MULTILINE)
    text = marked.sub(r"\1 = distinct !{\1, !999999}", text)
    return f'{text}\n!999999 = !{{!"llvm.loop.unroll.full"}}\n'


class _Module:
    """LLVM module to which kernels are added during translation."""

    def __init__(
        self, bound: Mapping[str, LoopSource | str], unrolled: Collection[str] | None
    ) -> None:
        self.unrolled = unrolled
        self.module = ir.Module("kernels")
        self.known: dict[int, ir.Function] = {}
        self.bound = bound

    def function(self, kernel: LoopSource, *, public: bool = False) -> ir.Function:
        """Return the LLVM function of a kernel; translate the kernel at the first request."""
        if id(kernel) not in self.known:
            *kinds, result = [llvm_type(kind) for kind in kernel.hints.values()]
            name = self.module.get_unique_name(f"kernel_{kernel.name}")
            function = ir.Function(self.module, ir.FunctionType(result, kinds), name)
            function.linkage = "" if public else "internal"
            function.attributes.add("nounwind")
            self.known[id(kernel)] = function
            _LlvmKernel(self, kernel, function)
        return self.known[id(kernel)]

    def outside(self, name: str, kind: ir.FunctionType) -> ir.Function:
        """Return the declaration of a function that is defined outside of the LLVM module."""
        declared = self.module.globals.get(name)
        return declared or ir.Function(self.module, kind, name)


class _LlvmKernel(KernelWalk):
    """Translator of one kernel to an LLVM function."""

    def __init__(self, module: _Module, kernel: LoopSource, function: ir.Function) -> None:
        super().__init__(kernel)
        self.module, self.llvm = module, function
        self.entry = ir.IRBuilder(function.append_basic_block("entry"))
        body = function.append_basic_block("body")
        self.b = ir.IRBuilder(body)
        self.places: dict[str, Any] = {}
        self.counts: dict[str, Any] = {}  # current counter values of loops unrolled here
        # targets of break and continue of the enclosing loops
        self.ways: list[tuple[ir.Block, ir.Block]] = []
        for argument, (name, kind) in zip(function.args, self.parameters, strict=True):
            self.kinds[name] = kind
            self.assign_local(name, kind, argument)
        self.valued = frozenset(self.kinds)
        self.write()
        self.entry.branch(body)

    def constant(self, value: Any, kind: Any) -> Any:
        return ir.Constant(TYPES[kind], kind(value))

    def local(self, name: str, kind: Any) -> Any:
        return self.counts.get(name) or self.b.load(self.places[name], typ=llvm_type(kind))

    def assign_local(self, name: str, kind: Any, code: Any) -> None:
        if name not in self.places:
            self.places[name] = self.entry.alloca(llvm_type(kind), name=name)
        self.b.store(code, self.places[name])

    def reserve(self, name: str, count: int) -> None:
        array = self.entry.alloca(ir.ArrayType(F64, count))
        array.type = PTR  # all arrays have this LLVM type
        for k in range(count):
            place = self.element(array, float, ir.Constant(I64, k))
            self.b.store(ir.Constant(F64, 0.0), place)
        self.assign_local(name, Array, array)

    def hold(self, kind: Any, code: Any) -> Any:
        return code

    def operate(self, op: str, kind: Any, *codes: Any) -> Any:
        b = self.b
        if op in INSTRUCTIONS.get(kind, ()):
            flags = {"flags": ("contract",)} if kind is float else {}
            return getattr(b, INSTRUCTIONS[kind][op])(*codes, **flags)
        if op in COMPARISONS.values():
            if kind is int:
                return b.icmp_signed(op, *codes)
            return (b.fcmp_unordered if op == "!=" else b.fcmp_ordered)(op, *codes)
        if op in ("min", "max"):
            first, second = codes
            return b.select(
                self.operate("<" if op == "min" else ">", kind, second, first), second, first
            )
        if op in ("not", "negative"):
            return (b.not_ if op == "not" else b.fneg)(*codes)
        if op == "float":
            return b.sitofp(*codes, F64)
        result = I64 if op == "whole" else F64
        function = self.module.outside(
            INTRINSICS.get(op, op), ir.FunctionType(result, [F64] * len(codes))
        )
        if op == "pow":  # LLVM would use squares or exp2, which round differently
            function.attributes.add("nobuiltin")
        return b.call(function, codes)

    def blocks(self, *names: str) -> list[ir.Block]:
        """Append basic blocks to the LLVM function, and return the blocks."""
        return [self.llvm.append_basic_block(name) for name in names]

    def joined(self, ends: list[tuple[Any, ir.Block]]) -> Any:
        """Return the LLVM phi node for a value that two basic blocks provide."""
        result = self.b.phi(ends[0][0].type)
        for value, block in ends:
            result.add_incoming(value, block)
        return result

    def decide(self, parts: Iterator[Any], count: int, *, until: bool) -> Any:
        if count == 1:
            return next(parts)
        (after,) = self.blocks("decided")
        ends: list[tuple[Any, ir.Block]] = []
        for k, part in enumerate(parts):
            ends.append((part, self.b.block))
            if k < count - 1:
                (undecided,) = self.blocks("open")
                self.b.cbranch(part, *((after, undecided) if until else (undecided, after)))
                self.b.position_at_end(undecided)
        self.b.branch(after)
        self.b.position_at_end(after)
        return self.joined(ends)

    def choose(self, test: Callable[[], Any], yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        *arms, after = self.blocks("yes", "no", "chosen")
        self.b.cbranch(test(), *arms)
        ends: list[tuple[Any, ir.Block]] = []
        for block, value in zip(arms, (yes, no), strict=True):
            self.b.position_at_end(block)
            ends.append((value(), self.b.block))
            self.b.branch(after)
        self.b.position_at_end(after)
        return self.joined(ends)

    def element(self, array: Any, kind: Any, index: Any) -> Any:
        return self.b.gep(array, [index], source_etype=TYPES[kind])

    def field(self, record: Any, kind: type[Record], name: str) -> Any:
        slot = ir.Constant(I64, list(kind.layout().types).index(name))
        return self.b.gep(record, [slot], source_etype=I64)

    def view(self, array: Any, kind: Any, first: Any) -> Any:
        return self.b.gep(array, [first], source_etype=F64)

    def load(self, place: Place) -> Any:
        return self.mark(place, self.b.load(place.code, typ=llvm_type(place.kind)))

    def store(self, place: Place, code: Any) -> None:
        self.mark(place, self.b.store(code, place.code))

    def mark(self, place: Place, access: Any) -> Any:
        """Attach alias metadata to a load or store and return the instruction.

        The alias metadata state that array elements and record fields never share memory, and
        neither do floats and ints. Without these metadata, LLVM would reload the pointers of a
        record after every store to an array.
        """
        add, nothing = self.module.module.add_metadata, ir.Constant(I64, 0)
        sort = add([place.sort, add(["flexarm"]), nothing])
        access.set_metadata("tbaa", add([sort, sort, nothing]))
        return access

    def call(self, kernel: LoopSource, codes: Sequence[Any]) -> Any:
        return self.b.call(self.module.function(kernel), codes)

    def call_address(self, node: ast.Call, result: Any, codes: Sequence[Any]) -> Any:
        bound = self.module.bound.get(getattr(node.args[0], "attr", ""))
        if isinstance(bound, LoopSource):
            return self.call(bound, codes[1:])
        kind = ir.FunctionType(TYPES[result], [PTR])
        if bound is None:
            target = self.b.inttoptr(codes[0], ir.PointerType(kind))
        else:
            target = self.module.outside(bound, kind)
        return self.b.call(target, codes[1:])

    def discard(self, code: Any) -> None: ...

    def give(self, code: Any) -> None:
        self.b.ret_void() if code is None else self.b.ret(code)

    def branch(
        self, test: Callable[[], Any], yes: Callable[[], bool], no: Callable[[], bool]
    ) -> None:
        *arms, after = self.blocks("then", "else", "after")
        self.b.cbranch(test(), *arms)
        for block, write in zip(arms, (yes, no), strict=True):
            self.b.position_at_end(block)
            if write():
                self.b.branch(after)
        self.b.position_at_end(after)

    def repeat(
        self, node: ast.While, test: Callable[[], Any] | None, body: Callable[[], bool]
    ) -> None:
        begin, inside, after = self.blocks("test", "loop", "after")
        self.b.branch(begin)
        self.b.position_at_end(begin)
        if test is None:
            self.b.branch(inside)
        else:
            self.b.cbranch(test(), inside, after)
        self.b.position_at_end(inside)
        self.ways.append((after, begin))
        if body():
            self.turn_back(begin, node.test)
        self.ways.pop()
        self.b.position_at_end(after)

    def count(self, node: ast.For, name: str, rounds: Rounds, body: Callable[[], bool]) -> None:
        jumps = any(isinstance(statement, ast.Break | ast.Continue) for statement in ast.walk(node))
        if rounds.known and len(rounds.known) <= UNROLLED_ITERATIONS and not jumps:
            for k in rounds.known:
                self.counts[name] = ir.Constant(I64, k)
                body()
            del self.counts[name]
            return
        test, inside, after, increment = self.blocks("test", "loop", "after", "more")
        counter = self.entry.alloca(I64)
        self.b.store(rounds.first.code, counter)
        self.b.branch(test)
        self.b.position_at_end(test)
        value = self.b.load(counter, typ=I64)
        comparison = "<" if rounds.step > 0 else ">"
        self.b.cbranch(self.b.icmp_signed(comparison, value, rounds.stop.code), inside, after)
        self.b.position_at_end(inside)
        self.assign_local(name, int, value)
        self.ways.append((after, increment))
        if body():
            self.b.branch(increment)
        self.ways.pop()
        self.b.position_at_end(increment)
        self.b.store(
            self.b.add(self.b.load(counter, typ=I64), ir.Constant(I64, rounds.step)), counter
        )
        self.turn_back(test, node.iter)
        self.b.position_at_end(after)

    def turn_back(self, block: ir.Block, test: ast.expr) -> None:
        """Emit the jump back to the test of a loop; mark loops with a fixed iteration count."""
        jump, changing = self.b.branch(block), self.module.unrolled
        if changing is None:
            return
        parts = list(ast.walk(test))
        fields = {part.attr for part in parts if isinstance(part, ast.Attribute)}
        elements = any(isinstance(part, ast.Subscript) for part in parts)
        fixed = isinstance(test, ast.Constant)
        if not (elements or fixed or fields & {*changing}):
            module = self.module.module
            number = ir.Constant(I64, len(module.metadata))
            jump.set_metadata("llvm.loop", module.add_metadata([KNOWN, number]))

    def leave(self, *, again: bool) -> None:
        self.b.branch(self.ways[-1][again])

    def end_dead(self) -> None:
        self.b.unreachable()


def llvm_type(kind: Any) -> ir.Type:
    """Return the LLVM type of a kernel type."""
    if isinstance(kind, type) and kind in TYPES:
        return TYPES[kind]
    if kind in (Array, Ints) or is_record(kind):
        return PTR
    raise FlexarmError(f"kernels know int, float, Array, Ints and records, not {kind}")
