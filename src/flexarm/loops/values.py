"""Translate the expressions of kernels to LLVM code: each to a pair of LLVM value and type."""

import ast
import builtins
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NoReturn, Protocol

from llvmlite import ir

from flexarm.errors import FlexarmError
from flexarm.loops.language import MATH, Array, Ints, LoopSource, Record, run_equations, run_kernel
from flexarm.loops.numbers import BIT, F64, HIGHEST, I64, LOWEST, divide, magnitude

PTR, VOID = ir.PointerType(), ir.VoidType()
INTRINSICS = {"sqrt", "floor", "fabs"}
INT_OPERATIONS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
REAL_OPERATIONS = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
COMPARISONS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
Value = tuple[Any, Any]


class Functions(Protocol):
    """The module under construction, as far as expressions need it."""

    module: ir.Module
    bound: Mapping[str, LoopSource | str]
    unrolled: Collection[str] | None

    def function(self, kernel: LoopSource, *, public: bool = False) -> ir.Function:
        """Return the LLVM function of a kernel."""


class Values:
    """The names of one kernel and the expressions of them."""

    def __init__(self, module: Functions, kernel: LoopSource, function: ir.Function) -> None:
        self.module, self.kernel, self.llvm = module, kernel, function
        self.tree = kernel.tree
        self.entry = ir.IRBuilder(function.append_basic_block("entry"))
        self.b = ir.IRBuilder(function.append_basic_block("body"))
        self.places: dict[str, Value] = {}
        stored = (node for node in ast.walk(self.tree) if isinstance(node, ast.Name))
        parameters = {each.arg for each in self.tree.args.args}
        self.locals = parameters | {n.id for n in stored if isinstance(n.ctx, ast.Store)}
        self.bound: frozenset[str] = frozenset()  # the locals that surely have a value

    def refuse(self, node: ast.AST, what: str) -> NoReturn:
        """Say what is wrong, and where."""
        raise FlexarmError(f"{self.kernel.at(getattr(node, 'lineno', 1))}: {what}")

    def assign(self, node: ast.AST, name: str, value: Value) -> None:
        """Keep a value under a local name; the first assignment fixes its type."""
        if name not in self.places:
            if value[1] is type(None):
                self.refuse(node, f"'{name}' gets the result of a kernel that has none")
            self.places[name] = (self.entry.alloca(llvm_type(value[1]), name=name), value[1])
        place, kind = self.places[name]
        self.b.store(self.as_type(node, value, kind), place)
        self.bound |= {name}

    def as_type(self, node: ast.AST, value: Value, kind: Any) -> Any:
        """Return a value that must be of a type; a record may have further fields."""
        number, given = value
        if given == kind or (_is_record(given) and _is_record(kind) and issubclass(given, kind)):
            return number
        hint = f": write {_word(kind)}(...)" if kind in (int, float) else ""
        return self.refuse(node, f"must be {_word(kind)}, got {_word(given)}{hint}")

    def as_float(self, node: ast.AST, value: Value) -> Any:
        """Return a number as a float, where Python makes it one as well."""
        if value[1] is int:
            return self.b.sitofp(value[0], F64)
        return self.as_type(node, value, float)

    def truth(self, node: ast.expr) -> Any:
        """Translate a condition."""
        return self.truth_of(node, self.value(node))

    def truth_of(self, node: ast.expr, value: Value) -> Any:
        """Tell whether a value counts as true."""
        if value[1] is bool:
            return value[0]
        if value[1] is int:
            return self.b.icmp_signed("!=", value[0], ir.Constant(I64, 0))
        return self.refuse(node, "a condition must be a comparison or an int")

    def value(self, node: ast.expr) -> Value:
        """Translate an expression."""
        translate: Callable[[ast.expr], Value]
        translate = getattr(self, f"_of_{type(node).__name__}", self.no_part)
        return translate(node)

    def no_part(self, node: ast.AST, what: ast.AST | None = None, of: str = "") -> NoReturn:
        """Refuse what kernels do not have: the node, or its operator."""
        word = type(what or node).__name__
        self.refuse(node, f"{word}{of} is not part of a kernel's language")

    def _of_Constant(self, node: ast.Constant) -> Value:
        return self.constant(node, node.value)

    def constant(self, node: ast.AST, value: Any) -> Value:
        """Write a number down."""
        if isinstance(value, bool):
            return ir.Constant(BIT, int(value)), bool
        if isinstance(value, int):
            if not LOWEST <= value <= HIGHEST:
                self.refuse(node, f"{value} is no int of 64 bits")
            return ir.Constant(I64, value), int
        if isinstance(value, float):
            return ir.Constant(F64, float(value)), float
        return self.refuse(node, f"{value!r} is no number")

    def _of_Name(self, node: ast.Name) -> Value:
        if node.id in self.locals:
            if node.id not in self.bound:
                self.refuse(node, f"'{node.id}' may have no value here: give it one before")
            place, kind = self.places[node.id]
            return self.b.load(place, typ=llvm_type(kind)), kind
        if node.id in self.kernel.globals:
            return self.constant(node, self.kernel.globals[node.id])
        return self.refuse(node, f"'{node.id}' has no value")

    def place(self, node: ast.expr) -> Value:
        """Find where an element or field is: pointer and type."""
        if isinstance(node, ast.Subscript):
            array, kind = self.value(node.value)
            if kind not in (Array, Ints):
                self.refuse(node, "only arrays have elements")
            element, scalar = (F64, float) if kind == Array else (I64, int)
            return self.b.gep(array, [self.index(node.slice)], source_etype=element), scalar
        if isinstance(node, ast.Attribute):
            record, kind = self.value(node.value)
            layout = kind.layout().types if _is_record(kind) else {}
            if node.attr not in layout:
                self.refuse(node, f"no field '{node.attr}'")
            slot = ir.Constant(I64, list(layout).index(node.attr))
            return self.b.gep(record, [slot], source_etype=I64), layout[node.attr]
        return self.refuse(node, "nothing can be stored there")

    def index(self, node: ast.expr) -> Any:
        """Translate an index; those from the end are refused where they can be seen."""
        number = self.as_type(node, self.value(node), int)
        if isinstance(number, ir.Constant) and number.constant < 0:
            self.refuse(node, "an index must not be negative: arrays do not know their length")
        return number

    def _of_Subscript(self, node: ast.Subscript) -> Value:
        if not isinstance(node.slice, ast.Slice):
            return self.load(node)
        if node.slice.lower is None or node.slice.upper or node.slice.step:
            self.refuse(node, "views are a[start:]")
        array, kind = self.value(node.value)
        if kind not in (Array, Ints):
            self.refuse(node, "only arrays have views")
        return self.b.gep(array, [self.index(node.slice.lower)], source_etype=F64), kind

    def _of_Attribute(self, node: ast.Attribute) -> Value:
        return self.load(node)

    def load(self, node: ast.expr) -> Value:
        """Read an element or field."""
        place, kind = self.place(node)
        return self.apart(node, kind, self.b.load(place, typ=llvm_type(kind))), kind

    def apart(self, node: ast.expr, kind: Any, access: Any) -> Any:
        """Mark an access: no element of an array is a field of a record, nor a float an int.

        Else LLVM would read the pointers of a record anew after every element that is written.
        """
        add, nothing = self.module.module.add_metadata, ir.Constant(I64, 0)
        word = "field" if isinstance(node, ast.Attribute) else _word(kind)
        sort = add([word, add(["flexarm"]), nothing])
        access.set_metadata("tbaa", add([sort, sort, nothing]))
        return access

    def _of_BinOp(self, node: ast.BinOp) -> Value:
        left = self.value(node.left)
        return self.operate(node, node.op, left, self.value(node.right))

    def operate(self, node: ast.AST, operator: ast.operator, left: Value, right: Value) -> Value:
        """Add, subtract, multiply or divide."""
        if left[1] is int and right[1] is int and not isinstance(operator, ast.Div):
            return self._operate_on_ints(node, operator, left[0], right[0]), int
        name = REAL_OPERATIONS.get(type(operator))
        if name is None:
            self.no_part(node, operator, of=" of floats")
        operands = self.as_float(node, left), self.as_float(node, right)
        return getattr(self.b, name)(*operands, flags=("contract",)), float

    def _operate_on_ints(self, node: ast.AST, operator: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(operator, ast.FloorDiv | ast.Mod):
            if isinstance(right, ir.Constant) and right.constant == 0:
                self.refuse(node, "division by zero")
            return divide(self.b, left, right)[isinstance(operator, ast.Mod)]
        if type(operator) not in INT_OPERATIONS:
            self.no_part(node, operator)
        return getattr(self.b, INT_OPERATIONS[type(operator)])(left, right)

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return self.b.not_(self.truth(node.operand)), bool
        if not isinstance(node.op, ast.USub):
            self.refuse(node, "only - and not")
        if isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float):
            return self.constant(node, -node.operand.value)  # type: ignore[operator]
        number, kind = self.value(node.operand)
        if kind is int:
            fixed = isinstance(number, ir.Constant)
            return self.constant(node, -number.constant) if fixed else (self.b.neg(number), int)
        return self.b.fneg(self.as_type(node, (number, kind), float)), float

    def _of_Compare(self, node: ast.Compare) -> Value:
        return self.decide(node, self.comparisons(node), len(node.ops), until=False)

    def comparisons(self, node: ast.Compare) -> Iterator[Value]:
        """Translate the links of a chain of comparisons, each when it is asked for."""
        left = self.value(node.left)
        for operator, item in zip(node.ops, node.comparators, strict=True):
            right = self.value(item)
            if type(operator) not in COMPARISONS:
                self.no_part(node, operator)
            yield self.compare(node, COMPARISONS[type(operator)], left, right), bool
            left = right

    def compare(self, node: ast.AST, word: str, left: Value, right: Value) -> Any:
        """Compare two numbers; nothing compares with NaN but !=."""
        if left[1] is right[1] is int:
            return self.b.icmp_signed(word, left[0], right[0])
        if left[1] is right[1] is bool:
            return self.b.icmp_unsigned(word, left[0], right[0])
        compare = self.b.fcmp_unordered if word == "!=" else self.b.fcmp_ordered
        return compare(word, self.as_float(node, left), self.as_float(node, right))

    def _of_BoolOp(self, node: ast.BoolOp) -> Value:
        parts = (self.value(item) for item in node.values)
        return self.decide(node, parts, len(node.values), until=isinstance(node.op, ast.Or))

    def decide(self, node: ast.expr, parts: Iterator[Value], count: int, *, until: bool) -> Value:
        """Give the first of some values whose truth is `until`, or the last, and reckon no more."""
        if count == 1:
            return next(parts)
        after = self.llvm.append_basic_block("decided")
        ends: list[tuple[Value, ir.Block]] = []
        for k, part in enumerate(parts):
            ends.append((part, self.b.block))
            if k < count - 1:
                more = self.llvm.append_basic_block("open")
                pair = (after, more) if until else (more, after)
                self.b.cbranch(self.truth_of(node, part), *pair)
                self.b.position_at_end(more)
        self.b.branch(after)
        self.b.position_at_end(after)
        return self.joined(node, ends)

    def _of_IfExp(self, node: ast.IfExp) -> Value:
        yes, no, after = (self.llvm.append_basic_block(n) for n in ("yes", "no", "chosen"))
        self.b.cbranch(self.truth(node.test), yes, no)
        ends: list[tuple[Value, ir.Block]] = []
        for block, item in ((yes, node.body), (no, node.orelse)):
            self.b.position_at_end(block)
            value = self.value(item)
            ends.append((value, self.b.block))
            self.b.branch(after)
        self.b.position_at_end(after)
        return self.joined(node, ends)

    def joined(self, node: ast.AST, ends: list[tuple[Value, ir.Block]]) -> Value:
        """Take the value of the block that control came from; all must be of one type."""
        kind = ends[0][0][1]
        values = [(self.as_type(node, value, kind), block) for value, block in ends]
        result = self.b.phi(llvm_type(kind))
        for value, block in values:
            result.add_incoming(value, block)
        return result, kind

    def _of_Call(self, node: ast.Call) -> Value:
        if node.keywords:
            self.refuse(node, "arguments are given by position")
        target = self.called(node.func)
        arguments = [self.value(item) for item in node.args]
        if isinstance(target, str):
            return self.mathematics(node, target, arguments)
        if any(target is each for each in (abs, min, max, float, int)):
            return self.builtin(node, target, arguments)
        if isinstance(target, LoopSource):
            *kinds, result = target.hints.values()
            values = self.arguments(node, arguments, kinds)
            return self.b.call(self.module.function(target), values), result
        if target is run_equations:
            values = self.arguments(node, arguments, [int, Ints])
            return self._indirect(node.args[0], VOID, values), type(None)
        if target is run_kernel:
            values = self.arguments(node, arguments, [int, Record])
            return self._indirect(node.args[0], I64, values), int
        return self.refuse(node, f"'{ast.unparse(node.func)}' is no kernel")

    def called(self, node: ast.expr) -> Any:
        """Find the function that is called: of `math`, its name."""
        name = node.value if isinstance(node, ast.Attribute) else node
        if not isinstance(name, ast.Name) or name.id in self.locals:
            return None
        found = self.kernel.globals.get(name.id, getattr(builtins, name.id, None))
        if isinstance(node, ast.Attribute):
            return node.attr if found is math else None
        return found

    def arguments(self, node: ast.Call, given: list[Value], kinds: list[Any]) -> list[Any]:
        """Take the arguments of a call as the types wanted."""
        if len(given) != len(kinds):
            self.refuse(node, f"takes {len(kinds)} arguments, got {len(given)}")
        return [self.as_type(node, value, kind) for value, kind in zip(given, kinds, strict=True)]

    def _indirect(self, field: ast.expr, result: ir.Type, arguments: list[Any]) -> Any:
        """Call what a field has the address of, or what is bound to its name."""
        bound = self.module.bound.get(getattr(field, "attr", ""))
        kind = ir.FunctionType(result, [PTR])
        if isinstance(bound, LoopSource):
            return self.b.call(self.module.function(bound), arguments[1:])
        if bound is not None:
            known = self.module.module.globals.get(bound)
            return self.b.call(known or ir.Function(self.module.module, kind, bound), arguments[1:])
        address = self.b.inttoptr(arguments[0], ir.PointerType(kind))
        return self.b.call(address, arguments[1:])

    def mathematics(self, node: ast.Call, name: str, arguments: list[Value]) -> Value:
        """Call a function of the C library; `floor` is an int, as in Python."""
        if name not in MATH:
            self.refuse(node, f"math.{name} is not part of a kernel's language")
        wanted = 2 if name == "pow" else 1
        if len(arguments) != wanted:
            self.refuse(node, f"math.{name} takes {wanted} arguments, got {len(arguments)}")
        values = [self.as_float(node, value) for value in arguments]
        if name == "isfinite":
            size = self.b.call(self.c_function("fabs", 1), values)
            return self.b.fcmp_ordered("<", size, ir.Constant(F64, math.inf)), bool
        result = self.b.call(self.c_function(name, wanted), values)
        return (self.truncated(result), int) if name == "floor" else (result, float)

    def c_function(self, name: str, arity: int) -> ir.Function:
        """Return a function of the C library, or LLVM's own."""
        full = f"llvm.{name}.f64" if name in INTRINSICS else name
        found = self.module.module.globals.get(full)
        if found is None:
            kind = ir.FunctionType(F64, [F64] * arity)
            found = ir.Function(self.module.module, kind, full)
            if name == "pow":  # LLVM would square instead, and take exp2, with other last digits
                found.attributes.add("nobuiltin")
        return found

    def truncated(self, number: Any) -> Any:
        """Make a float an int: the nearest that there is if it is too large, 0 for NaN."""
        name = "llvm.fptosi.sat.i64.f64"
        function = self.module.module.globals.get(name)
        if function is None:
            function = ir.Function(self.module.module, ir.FunctionType(I64, [F64]), name)
        return self.b.call(function, [number])

    def builtin(self, node: ast.Call, target: Any, arguments: list[Value]) -> Value:
        """Translate abs, min, max, float and int."""
        several = target in (min, max)
        if len(arguments) < 2 if several else len(arguments) != 1:
            wanted = "at least two arguments" if several else "one argument"
            self.refuse(node, f"{target.__name__} takes {wanted}")
        number, kind = arguments[0]
        if several:
            return self.extreme(node, "<" if target is min else ">", arguments), kind
        if target in (int, float) and kind is bool:
            number, kind = self.b.zext(number, I64), int
        if target is float:
            return self.as_float(node, (number, kind)), float
        if kind is int:
            return (magnitude(self.b, number) if target is abs else number), int
        number = self.as_type(node, (number, kind), float)
        if target is abs:
            return self.b.call(self.c_function("fabs", 1), [number]), float
        return self.truncated(number), int

    def extreme(self, node: ast.Call, word: str, arguments: list[Value]) -> Any:
        """Take the first of the least or greatest: what a NaN does depends on its place."""
        result, kind = arguments[0]
        if kind not in (int, float):
            self.refuse(node, f"must be numbers, got {_word(kind)}")
        for each in arguments[1:]:
            value = self.as_type(node, each, kind)
            closer = self.compare(node, word, (value, kind), (result, kind))
            result = self.b.select(closer, value, result)
        return result


def llvm_type(kind: Any) -> ir.Type:
    """Return the LLVM type of a kernel's type."""
    simple = {int: I64, float: F64, bool: BIT, type(None): VOID}
    if isinstance(kind, type) and kind in simple:
        return simple[kind]
    if kind in (Array, Ints) or _is_record(kind):
        return PTR
    raise FlexarmError(f"kernels know int, float, Array, Ints and records, not {kind}")


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Record)


def _word(kind: Any) -> str:
    if kind in (Array, Ints):
        return "Array" if kind == Array else "Ints"
    return getattr(kind, "__name__", str(kind))
