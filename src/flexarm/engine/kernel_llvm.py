"""Translate kernels to LLVM code."""

import ast
import textwrap
from typing import Any

from llvmlite import ir

from flexarm.engine.kernels import MATH, Array, Ints, Kernel, Record, run_equations, run_kernel
from flexarm.errors import FlexarmError

I64, F64, BIT = ir.IntType(64), ir.DoubleType(), ir.IntType(1)
PTR, VOID = ir.PointerType(), ir.VoidType()
INTRINSICS = {"sqrt", "floor"}
INT_OPERATIONS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "sdiv", ast.Mod: "srem",
}  # fmt: skip
REAL_OPERATIONS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
COMPARISONS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


def translate(kernel: Kernel) -> str:
    """Write a kernel, and all kernels that it calls, as one LLVM module."""
    module = _Module()
    module.function(kernel, public=True)
    return str(module.module)


class _Module:
    """The module under construction."""

    def __init__(self) -> None:
        self.module = ir.Module("kernels")
        self.known: dict[int, ir.Function] = {}

    def function(self, kernel: Kernel, *, public: bool = False) -> ir.Function:
        """Return the LLVM function of a kernel, translating it the first time."""
        if id(kernel) not in self.known:
            hints = list(kernel.hints.items())
            kinds = [_llvm(kind) for _, kind in hints[:-1]]
            result = hints[-1][1]
            signature = ir.FunctionType(VOID if result is type(None) else _llvm(result), kinds)
            function = ir.Function(self.module, signature, f"kernel_{kernel.name}")
            function.linkage = "" if public else "internal"
            function.attributes.add("nounwind")
            self.known[id(kernel)] = function
            _Body(self, kernel, function).write()
        return self.known[id(kernel)]

    def c_function(self, name: str, arity: int) -> ir.Function:
        """Return a function of the C library, or LLVM's own."""
        full = f"llvm.{name}.f64" if name in INTRINSICS or name == "fabs" else name
        found = self.module.globals.get(full)
        if found is None:
            found = ir.Function(self.module, ir.FunctionType(F64, [F64] * arity), full)
        return found


class _Body:
    """The translation of one kernel.  Values are pairs of LLVM value and Python type."""

    def __init__(self, module: _Module, kernel: Kernel, function: ir.Function) -> None:
        self.module, self.kernel, self.llvm = module, kernel, function
        self.tree = ast.parse(textwrap.dedent(kernel.source)).body[0]
        self.entry = ir.IRBuilder(function.append_basic_block("entry"))
        self.b = ir.IRBuilder(function.append_basic_block("body"))
        self.names: dict[str, tuple[Any, Any]] = {}
        self.loops: list[tuple[ir.Block, ir.Block]] = []

    def write(self) -> None:
        """Translate everything."""
        assert isinstance(self.tree, ast.FunctionDef)
        body = self.b.block
        for argument, (name, kind) in zip(self.llvm.args, self.kernel.hints.items(), strict=False):
            self.assign(name, (argument, kind))
        self.block(self.tree.body)
        if not self.b.block.is_terminated:
            if self.llvm.function_type.return_type != VOID:
                self.b.unreachable()
            else:
                self.b.ret_void()
        self.entry.branch(body)

    def refuse(self, node: ast.AST, what: str) -> FlexarmError:
        line = getattr(node, "lineno", 0)
        return FlexarmError(f"kernel '{self.kernel.name}', line {line}: {what}")

    def assign(self, name: str, value: tuple[Any, Any]) -> None:
        """Keep a value under a local name; the first assignment fixes its type."""
        if name not in self.names:
            self.names[name] = (self.entry.alloca(_llvm(value[1]), name=name), value[1])
        place, kind = self.names[name]
        self.b.store(self.cast(value, kind), place)

    def cast(self, value: tuple[Any, Any], kind: Any) -> Any:
        """Give a value as the type wanted: ints become floats, bools ints."""
        number, given = value
        if given == kind or _llvm(given) == _llvm(kind) == PTR:
            return number
        if given is bool and kind in (int, float):
            number, given = self.b.zext(number, I64), int
        if given is int and kind is float:
            return self.b.sitofp(number, F64)
        if given is int and kind is int:
            return number
        raise FlexarmError(f"kernel '{self.kernel.name}': cannot use {given} as {kind}")

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.b.block.is_terminated:
                return
            getattr(self, f"do_{type(statement).__name__}", self.unknown)(statement)

    def unknown(self, node: ast.AST) -> Any:
        raise self.refuse(node, f"{type(node).__name__} is not part of a kernel's language")

    def do_Pass(self, node: ast.Pass) -> None: ...

    def do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.value(node.value)

    def do_Assign(self, node: ast.Assign) -> None:
        target = node.targets[0]
        if len(node.targets) > 1:
            raise self.refuse(node, "one assignment at a time")
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            values = [self.value(item) for item in node.value.elts]
            for item, value in zip(target.elts, values, strict=True):
                self.store(item, value)
        else:
            self.store(target, self.value(node.value))

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise self.refuse(node, "a name needs a value")
        self.store(node.target, self.value(node.value))

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        change = ast.BinOp(left=_as_load(node.target), op=node.op, right=node.value)
        self.store(node.target, self.value(ast.copy_location(change, node)))

    def store(self, target: ast.expr, value: tuple[Any, Any]) -> None:
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
            return
        place, kind = self.place(target)
        self.b.store(self.cast(value, kind), place)

    def place(self, node: ast.expr) -> tuple[Any, Any]:
        """Find where an element or field is: pointer and type."""
        if isinstance(node, ast.Subscript):
            array, kind = self.value(node.value)
            element, scalar = (F64, float) if kind == Array else (I64, int)
            if kind not in (Array, Ints):
                raise self.refuse(node, "only arrays have elements")
            index = self.cast(self.value(node.slice), int)
            return self.b.gep(array, [index], source_etype=element), scalar
        if isinstance(node, ast.Attribute):
            record, kind = self.value(node.value)
            layout = kind.layout().types
            if node.attr not in layout:
                raise self.refuse(node, f"no field '{node.attr}'")
            slot = ir.Constant(I64, list(layout).index(node.attr))
            return self.b.gep(record, [slot], source_etype=I64), layout[node.attr]
        raise self.refuse(node, "nothing can be stored there")

    def do_Return(self, node: ast.Return) -> None:
        if node.value is None:
            self.b.ret_void()
        else:
            kind = list(self.kernel.hints.values())[-1]
            self.b.ret(self.cast(self.value(node.value), kind))

    def do_If(self, node: ast.If) -> None:
        yes, no, after = (self.llvm.append_basic_block(n) for n in ("then", "else", "after"))
        self.b.cbranch(self.truth(node.test), yes, no)
        for block, statements in ((yes, node.body), (no, node.orelse)):
            self.b.position_at_end(block)
            self.block(statements)
            if not self.b.block.is_terminated:
                self.b.branch(after)
        self.b.position_at_end(after)

    def do_While(self, node: ast.While) -> None:
        test, body, after = (self.llvm.append_basic_block(n) for n in ("test", "loop", "after"))
        self.b.branch(test)
        self.b.position_at_end(test)
        self.b.cbranch(self.truth(node.test), body, after)
        self.b.position_at_end(body)
        self.loop(after, test, node.body)
        if not self.b.block.is_terminated:
            self.b.branch(test)
        self.b.position_at_end(after)

    def loop(self, after: ir.Block, again: ir.Block, inside: list[ast.stmt]) -> None:
        self.loops.append((after, again))
        self.block(inside)
        self.loops.pop()

    def do_For(self, node: ast.For) -> None:
        call = node.iter
        if not (isinstance(call, ast.Call) and getattr(call.func, "id", "") == "range"):
            raise self.refuse(node, "loops are over range(...)")
        limits = [self.cast(self.value(item), int) for item in call.args]
        one = ir.Constant(I64, 1)
        first = limits[0] if len(limits) > 1 else ir.Constant(I64, 0)
        stop = limits[1] if len(limits) > 1 else limits[0]
        step = limits[2] if len(limits) > 2 else one
        down = len(limits) > 2 and isinstance(call.args[2], ast.UnaryOp)
        test, body, after, more = (
            self.llvm.append_basic_block(name) for name in ("test", "loop", "after", "more")
        )
        assert isinstance(node.target, ast.Name)
        counter = self.entry.alloca(I64)
        self.b.store(first, counter)
        self.b.branch(test)
        self.b.position_at_end(test)
        now = self.b.load(counter, typ=I64)
        self.b.cbranch(self.b.icmp_signed(">" if down else "<", now, stop), body, after)
        self.b.position_at_end(body)
        self.assign(node.target.id, (now, int))
        self.loop(after, more, node.body)
        if not self.b.block.is_terminated:
            self.b.branch(more)
        self.b.position_at_end(more)
        self.b.store(self.b.add(self.b.load(counter, typ=I64), step), counter)
        self.b.branch(test)
        self.b.position_at_end(after)

    def do_Break(self, node: ast.Break) -> None:
        self.b.branch(self.loops[-1][0])

    def do_Continue(self, node: ast.Continue) -> None:
        self.b.branch(self.loops[-1][1])

    def truth(self, node: ast.expr) -> Any:
        number, kind = self.value(node)
        if kind is bool:
            return number
        if kind is int:
            return self.b.icmp_signed("!=", number, ir.Constant(I64, 0))
        raise self.refuse(node, "a condition must be a comparison or an int")

    def value(self, node: ast.expr) -> tuple[Any, Any]:
        result: tuple[Any, Any]
        result = getattr(self, f"of_{type(node).__name__}", self.unknown)(node)
        return result

    def of_Constant(self, node: ast.Constant) -> tuple[Any, Any]:
        return self.constant(node, node.value)

    def constant(self, node: ast.AST, value: Any) -> tuple[Any, Any]:
        if isinstance(value, bool):
            return ir.Constant(BIT, int(value)), bool
        if isinstance(value, int):
            return ir.Constant(I64, value), int
        if isinstance(value, float):
            return ir.Constant(F64, value), float
        raise self.refuse(node, f"{value!r} is no number")

    def of_Name(self, node: ast.Name) -> tuple[Any, Any]:
        if node.id in self.names:
            place, kind = self.names[node.id]
            return self.b.load(place, typ=_llvm(kind)), kind
        if node.id in self.kernel.globals:
            return self.constant(node, self.kernel.globals[node.id])
        raise self.refuse(node, f"'{node.id}' has no value")

    def of_Subscript(self, node: ast.Subscript) -> tuple[Any, Any]:
        if isinstance(node.slice, ast.Slice):
            if node.slice.lower is None or node.slice.upper is not None:
                raise self.refuse(node, "views are a[start:]")
            array, kind = self.value(node.value)
            start = self.cast(self.value(node.slice.lower), int)
            return self.b.gep(array, [start], source_etype=F64), kind
        place, kind = self.place(node)
        return self.b.load(place, typ=_llvm(kind)), kind

    def of_Attribute(self, node: ast.Attribute) -> tuple[Any, Any]:
        place, kind = self.place(node)
        return self.b.load(place, typ=_llvm(kind)), kind

    def of_BinOp(self, node: ast.BinOp) -> tuple[Any, Any]:
        left, right = self.value(node.left), self.value(node.right)
        whole = left[1] is int and right[1] is int and not isinstance(node.op, ast.Div)
        name = (INT_OPERATIONS if whole else REAL_OPERATIONS).get(type(node.op))
        if name is None:
            raise self.refuse(node, f"{type(node.op).__name__} is not part of a kernel's language")
        kind = int if whole else float
        flags = () if whole else ("contract",)
        operands = self.cast(left, kind), self.cast(right, kind)
        return getattr(self.b, name)(*operands, flags=flags), kind

    def of_UnaryOp(self, node: ast.UnaryOp) -> tuple[Any, Any]:
        if isinstance(node.op, ast.Not):
            return self.b.not_(self.truth(node.operand)), bool
        number, kind = self.value(node.operand)
        if not isinstance(node.op, ast.USub):
            raise self.refuse(node, "only - and not")
        return (self.b.neg(number) if kind is int else self.b.fneg(number)), kind

    def of_Compare(self, node: ast.Compare) -> tuple[Any, Any]:
        left, result = self.value(node.left), None
        for operator, item in zip(node.ops, node.comparators, strict=True):
            right = self.value(item)
            word = COMPARISONS[type(operator)]
            if left[1] is int and right[1] is int:
                one = self.b.icmp_signed(word, left[0], right[0])
            else:
                sides = self.cast(left, float), self.cast(right, float)
                compare = self.b.fcmp_unordered if word == "!=" else self.b.fcmp_ordered
                one = compare(word, *sides)
            result = one if result is None else self.b.and_(result, one)
            left = right
        return result, bool

    def of_BoolOp(self, node: ast.BoolOp) -> tuple[Any, Any]:
        """Evaluate the second operand only if the first leaves the answer open."""
        place = self.entry.alloca(BIT)
        after = self.llvm.append_basic_block("decided")
        for k, item in enumerate(node.values):
            truth = self.truth(item)
            self.b.store(truth, place)
            if k < len(node.values) - 1:
                more = self.llvm.append_basic_block("open")
                pair = (more, after) if isinstance(node.op, ast.And) else (after, more)
                self.b.cbranch(truth, *pair)
                self.b.position_at_end(more)
        self.b.branch(after)
        self.b.position_at_end(after)
        return self.b.load(place, typ=BIT), bool

    def of_IfExp(self, node: ast.IfExp) -> tuple[Any, Any]:
        yes, no = self.value(node.body), self.value(node.orelse)
        kind = float if float in (yes[1], no[1]) else yes[1]
        test = self.truth(node.test)
        return self.b.select(test, self.cast(yes, kind), self.cast(no, kind)), kind

    def of_Call(self, node: ast.Call) -> tuple[Any, Any]:
        if isinstance(node.func, ast.Attribute):
            return self.mathematics(node, node.func.attr)
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        arguments = [self.value(item) for item in node.args]
        if name in ("abs", "min", "max", "float", "int"):
            return self.builtin(node, name, arguments)
        target = self.kernel.globals.get(name)
        if isinstance(target, Kernel):
            hints = list(target.hints.values())
            values = [self.cast(a, k) for a, k in zip(arguments, hints[:-1], strict=True)]
            return self.b.call(self.module.function(target), values), hints[-1]
        if target is run_equations or target is run_kernel:
            returns = VOID if target is run_equations else I64
            kind = ir.PointerType(ir.FunctionType(returns, [PTR]))
            return self.b.call(self.b.inttoptr(arguments[0][0], kind), [arguments[1][0]]), int
        raise self.refuse(node, f"'{name}' is no kernel")

    def mathematics(self, node: ast.Call, name: str) -> tuple[Any, Any]:
        if name not in MATH:
            raise self.refuse(node, f"math.{name} is not part of a kernel's language")
        values = [self.cast(self.value(item), float) for item in node.args]
        if name == "isfinite":
            size = self.b.call(self.module.c_function("fabs", 1), values)
            return self.b.fcmp_ordered("<", size, ir.Constant(F64, float("inf"))), bool
        return self.b.call(self.module.c_function(name, len(values)), values), float

    def builtin(
        self, node: ast.Call, name: str, arguments: list[tuple[Any, Any]]
    ) -> tuple[Any, Any]:
        if name == "float":
            return self.cast(arguments[0], float), float
        if name == "int":
            return self.b.fptosi(arguments[0][0], I64), int
        whole = all(kind is int for _, kind in arguments)
        values = [self.cast(a, int if whole else float) for a in arguments]
        if name == "abs":
            if whole:
                raise self.refuse(node, "abs is for floats")
            return self.b.call(self.module.c_function("fabs", 1), values), float
        result = values[0]
        for value in values[1:]:
            word = "<" if name == "min" else ">"
            compare = self.b.icmp_signed if whole else self.b.fcmp_ordered
            result = self.b.select(compare(word, value, result), value, result)
        return result, int if whole else float


def _llvm(kind: Any) -> ir.Type:
    if kind is int:
        return I64
    if kind is float:
        return F64
    if kind is bool:
        return BIT
    if kind in (Array, Ints) or (isinstance(kind, type) and issubclass(kind, Record)):
        return PTR
    raise FlexarmError(f"kernels know int, float, Array, Ints and records, not {kind}")


def _as_load(node: ast.expr) -> ast.expr:
    """Read what an augmented assignment is about to change."""
    return ast.parse(ast.unparse(node), mode="eval").body
