"""Translate kernels to LLVM code."""

import ast
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from llvmlite import ir

from flexarm.loops.language import LoopSource
from flexarm.loops.numbers import I64, ONE, ZERO, rounds
from flexarm.loops.values import Value, Values, llvm_type

KNOWN = "known"  # marks loops whose rounds are known


def translate(
    kernel: LoopSource,
    bound: Mapping[str, LoopSource | str] = MappingProxyType({}),
    *,
    unrolled: Collection[str] | None = None,
) -> str:
    """Write a kernel, and all kernels that it calls, as one LLVM module.

    Parameters
    ----------
    kernel
        The kernel.
    bound
        What is called by name instead of by the address in a field of a record: by that field's
        name a kernel, or the name of compiled equations' table entry.
    unrolled
        Fields of numbers that change: loops whose rounds do not depend on these, nor on elements of
        arrays, are to be unrolled.
    """
    module = _Module(bound, unrolled)
    module.function(kernel, public=True)
    text = str(module.module)
    return text if unrolled is None else _unrolled(text)


def _unrolled(text: str) -> str:
    """Ask LLVM to unroll loops whose rounds are known."""
    marked = re.compile(rf'^(!\d+) = !{{ !"{KNOWN}", .*}}$', re.MULTILINE)
    text = marked.sub(r"\1 = distinct !{\1, !999999}", text)
    return f'{text}\n!999999 = !{{!"llvm.loop.unroll.full"}}\n'


class _Module:
    """The module under construction."""

    def __init__(
        self, bound: Mapping[str, LoopSource | str], unrolled: Collection[str] | None
    ) -> None:
        self.unrolled = unrolled
        self.module = ir.Module("kernels")
        self.known: dict[int, ir.Function] = {}
        self.bound = bound

    def function(self, kernel: LoopSource, *, public: bool = False) -> ir.Function:
        """Return the LLVM function of a kernel, translating it the first time."""
        if id(kernel) not in self.known:
            *kinds, result = [llvm_type(kind) for kind in kernel.hints.values()]
            name = self.module.get_unique_name(f"kernel_{kernel.name}")
            function = ir.Function(self.module, ir.FunctionType(result, kinds), name)
            function.linkage = "" if public else "internal"
            function.attributes.add("nounwind")
            self.known[id(kernel)] = function
            _KernelBody(Values(self, kernel, function)).write()
        return self.known[id(kernel)]


@dataclass
class _Loop:
    """Where `break` and `continue` go, and which names have values at each `break`."""

    after: ir.Block
    again: ir.Block
    breaks: list[frozenset[str]] = field(default_factory=list)


class _KernelBody:
    """The translation of one kernel's statements."""

    def __init__(self, values: Values) -> None:
        self.v, self.b, self.llvm = values, values.b, values.llvm
        self.result = list(values.kernel.hints.values())[-1]
        self.loops: list[_Loop] = []

    def write(self) -> None:
        """Translate everything."""
        tree, body = self.v.tree, self.b.block
        for argument, (name, kind) in zip(
            self.llvm.args, self.v.kernel.hints.items(), strict=False
        ):
            self.v.assign(tree, name, (argument, kind))
        self.block(tree.body)
        if not self.b.block.is_terminated:
            if self.result is not type(None):
                self.v.refuse(tree.body[-1], "may end without a result: return one")
            self.b.ret_void()
        self.v.entry.branch(body)

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.b.block.is_terminated:
                return
            do: Callable[[ast.stmt], None]
            do = getattr(self, f"do_{type(statement).__name__}", self.v.no_part)
            do(statement)

    def do_Pass(self, node: ast.Pass) -> None: ...

    def do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.v.value(node.value)

    def do_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if len(node.targets) > 1:
            self.v.refuse(node, "one assignment at a time")
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            if len(target.elts) != len(node.value.elts):
                self.v.refuse(node, "must have as many values as names")
            values = [self.v.value(item) for item in node.value.elts]
            for item, value in zip(target.elts, values, strict=True):
                self.store(item, value)
        else:
            self.store(target, self.v.value(node.value))

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            self.v.refuse(node, "a name needs a value")
        self.store(node.target, self.v.value(node.value))

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
            left = self.v.value(name)
            value = self.v.operate(node, node.op, left, self.v.value(node.value))
            self.v.assign(node, node.target.id, value)
            return
        place, kind = self.v.place(node.target)
        left = self.v.apart(node.target, kind, self.b.load(place, typ=llvm_type(kind))), kind
        value = self.v.operate(node, node.op, left, self.v.value(node.value))
        self.v.apart(node.target, kind, self.b.store(self.v.as_type(node, value, kind), place))

    def store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.v.assign(target, target.id, value)
            return
        place, kind = self.v.place(target)
        if kind not in (int, float):
            self.v.refuse(target, "arrays and records of a record cannot be exchanged")
        # NumPy makes ints floats that are put in an array of floats; a record would keep the int.
        element = isinstance(target, ast.Subscript) and kind is float
        as_wanted = self.v.as_float(target, value) if element else None
        wanted = as_wanted or self.v.as_type(target, value, kind)
        self.v.apart(target, kind, self.b.store(wanted, place))

    def do_Return(self, node: ast.Return) -> None:
        if self.result is type(None):
            if node.value is not None:
                self.v.refuse(node, "must return nothing, as it is annotated")
            self.b.ret_void()
        elif node.value is None:
            self.v.refuse(node, "may end without a result: return one")
        else:
            self.b.ret(self.v.as_type(node, self.v.value(node.value), self.result))

    def do_If(self, node: ast.If) -> None:
        yes, no, after = (self.llvm.append_basic_block(n) for n in ("then", "else", "after"))
        self.b.cbranch(self.v.truth(node.test), yes, no)
        before, ends = self.v.bound, list[frozenset[str]]()
        for block, statements in ((yes, node.body), (no, node.orelse)):
            self.b.position_at_end(block)
            self.v.bound = before
            self.block(statements)
            if not self.b.block.is_terminated:
                self.b.branch(after)
                ends.append(self.v.bound)
        self.go_on(after, ends)

    def go_on(self, block: ir.Block, ends: list[frozenset[str]]) -> None:
        """Continue where some ways meet, with the names that have values on all of them."""
        self.b.position_at_end(block)
        if ends:
            self.v.bound = frozenset.intersection(*ends)
        else:
            self.b.unreachable()

    def do_While(self, node: ast.While) -> None:
        test, body, after = (self.llvm.append_basic_block(n) for n in ("test", "loop", "after"))
        self.b.branch(test)
        self.b.position_at_end(test)
        endless = isinstance(node.test, ast.Constant) and node.test.value in (True, 1)
        if endless:
            self.b.branch(body)
        else:
            self.b.cbranch(self.v.truth(node.test), body, after)
        before = self.v.bound
        self.b.position_at_end(body)
        breaks = self.loop(node, _Loop(after, test))
        self.go_on(after, breaks if endless else [before, *breaks])

    def again(self, block: ir.Block, test: ast.expr) -> None:
        """Go back to a loop's test; note whether its outcomes are known beforehand."""
        back, changing = self.b.branch(block), self.v.module.unrolled
        if changing is None:
            return
        inner = list(ast.walk(test))
        fields = {each.attr for each in inner if isinstance(each, ast.Attribute)}
        elements = any(isinstance(each, ast.Subscript) for each in inner)
        fixed = isinstance(test, ast.Constant)
        if not (elements or fixed or fields & {*changing}):
            module = self.v.module.module
            count = ir.Constant(I64, len(module.metadata))
            back.set_metadata("llvm.loop", module.add_metadata([KNOWN, count]))

    def loop(self, node: ast.For | ast.While, loop: _Loop) -> list[frozenset[str]]:
        """Translate what is repeated; say which names have values where it is left."""
        if node.orelse:
            self.v.refuse(node.orelse[0], "the else of a loop is not part of a kernel's language")
        self.loops.append(loop)
        self.block(node.body)
        self.loops.pop()
        if not self.b.block.is_terminated:
            if isinstance(node, ast.While):
                self.again(loop.again, node.test)
            else:
                self.b.branch(loop.again)
        return loop.breaks

    def do_For(self, node: ast.For) -> None:
        first, stop, step = self.limits(node)
        near = isinstance(step, ir.Constant) and abs(step.constant) == 1
        test, body, after, more = (
            self.llvm.append_basic_block(name) for name in ("test", "loop", "after", "more")
        )
        if not isinstance(node.target, ast.Name):
            self.v.refuse(node, "loops count with a name")
        counter, left = self.v.entry.alloca(I64), self.v.entry.alloca(I64)
        self.b.store(first, counter)
        if not near:
            self.b.store(rounds(self.b, first, stop, step), left)
        self.b.branch(test)
        self.b.position_at_end(test)
        now = self.b.load(counter, typ=I64)
        if near:
            open_ = self.b.icmp_signed("<" if step.constant > 0 else ">", now, stop)
        else:
            open_ = self.b.icmp_signed("!=", self.b.load(left, typ=I64), ZERO)
        self.b.cbranch(open_, body, after)
        before = self.v.bound
        self.b.position_at_end(body)
        self.v.assign(node, node.target.id, (now, int))
        breaks = self.loop(node, _Loop(after, more))
        self.b.position_at_end(more)
        self.b.store(self.b.add(self.b.load(counter, typ=I64), step), counter)
        if not near:
            self.b.store(self.b.sub(self.b.load(left, typ=I64), ONE), left)
        self.again(test, node.iter)
        self.go_on(after, [before, *breaks])

    def limits(self, node: ast.For) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Translate begin, end and step of a range."""
        call = node.iter
        if not (isinstance(call, ast.Call) and self.v.called(call.func) is range):
            self.v.refuse(node, "loops are over range(...)")
        if not 1 <= len(call.args) <= 3 or call.keywords:
            self.v.refuse(node, "range takes one to three ints")
        limits = [self.v.as_type(item, self.v.value(item), int) for item in call.args]
        first, stop = (ZERO, limits[0]) if len(limits) == 1 else limits[:2]
        step = limits[2] if len(limits) == 3 else ONE
        if isinstance(step, ir.Constant) and step.constant == 0:
            self.v.refuse(node, "the step of a range must not be zero")
        return first, stop, step

    def do_Break(self, node: ast.Break) -> None:
        self.loops[-1].breaks.append(self.v.bound)
        self.b.branch(self.loops[-1].after)

    def do_Continue(self, node: ast.Continue) -> None:
        self.b.branch(self.loops[-1].again)
