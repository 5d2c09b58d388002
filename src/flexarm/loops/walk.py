"""Type checking and translation of kernels, statement by statement, for any target language."""

import ast
import builtins
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn

from flexarm.errors import FlexarmError
from flexarm.loops.language import (
    MATH,
    Array,
    Ints,
    LoopSource,
    Record,
    floats,
    run_equations,
    run_kernel,
)

OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%"}
COMPARISONS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
LOWEST = -(2**63)
HIGHEST = -1 - LOWEST
NOTHING = type(None)


class Value(NamedTuple):
    """A translated expression: target code, kernel type and, for a literal, the number."""

    code: Any
    kind: Any  # kernel type: int, float, bool, Array, Ints, a record class or NoneType
    number: int | float | None = None  # value of a literal


class Place(NamedTuple):
    """An assignable location: an element of an array or a field of a record."""

    code: Any
    kind: Any  # kernel type of the stored value
    sort: str  # alias class: ``field``, or the type of an element; classes never overlap


class Rounds(NamedTuple):
    """Start, stop and step of a ``for`` loop over ``range``."""

    # first: first value of the counter. stop: end of the range, which the counter does not reach.
    first: Value
    stop: Value
    step: int

    @property
    def known(self) -> range | None:
        """Return the range of a loop's counter if both bounds are literals, else None."""
        first, stop = self.first.number, self.stop.number
        if isinstance(first, int) and isinstance(stop, int):
            return range(first, stop, self.step)
        return None


class KernelWalk(ABC):
    """Translator of one kernel; a subclass for each target language emits the code.

    The methods receive conditions, branches and loop bodies as callbacks that emit code. A callback
    for statements returns whether the code after these statements can be reached.
    """

    def __init__(self, kernel: LoopSource) -> None:
        self.kernel = kernel
        *self.parameters, (_, self.result) = kernel.hints.items()
        nodes = [node for node in ast.walk(kernel.tree) if isinstance(node, ast.Name)]
        stored = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        self.locals = stored | {name for name, _ in self.parameters}
        self.kinds: dict[str, Any] = {}  # types of locals
        # Locals that are assigned on every path to the present statement.
        self.valued: frozenset[str] = frozenset()
        self.counters: list[str] = []  # names of the counters of the enclosing loops
        self.breaks: list[list[frozenset[str]]] = []  # locals assigned at breaks, by loop

    # Code emission, implemented by the target

    @abstractmethod
    def constant(self, value: Any, kind: Any) -> Any:
        """Return the target code of a literal of a kernel type."""

    @abstractmethod
    def local(self, name: str, kind: Any) -> Any:
        """Return the target code that reads a local variable."""

    @abstractmethod
    def assign_local(self, name: str, kind: Any, code: Any) -> None:
        """Emit the assignment to a local variable."""

    @abstractmethod
    def reserve(self, name: str, count: int) -> None:
        """Emit the definition of a local array of ``count`` floats, set to zero."""

    @abstractmethod
    def hold(self, kind: Any, code: Any) -> Any:
        """Return target code for the present value of an expression, fixed from here on."""

    @abstractmethod
    def operate(self, op: str, kind: Any, *codes: Any) -> Any:
        """Return the target code of an operation on operands of one kernel type.

        The operations are ``+ - * / %``, comparisons, ``not``, ``negative``, ``float`` (conversion
        of an int), ``whole`` (float truncated to int, saturated; NaN becomes 0), ``min``, ``max``,
        ``fabs`` and the functions of `math` in ``MATH``.
        """

    @abstractmethod
    def decide(self, parts: Iterator[Any], count: int, *, until: bool) -> Any:
        """Return target code for ``or`` (with ``until``) or ``and`` of conditions."""

    @abstractmethod
    def choose(self, test: Callable[[], Any], yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """Return the target code of the conditional expression ``yes if test else no``."""

    @abstractmethod
    def element(self, array: Any, kind: Any, index: Any) -> Any:
        """Return the target code of an array element, for use by `load` and `store`."""

    @abstractmethod
    def field(self, record: Any, kind: type[Record], name: str) -> Any:
        """Return the target code of a record's field, for use by `load` and `store`."""

    @abstractmethod
    def view(self, array: Any, kind: Any, first: Any) -> Any:
        """Return the target code of the view ``array[first:]``."""

    @abstractmethod
    def load(self, place: Place) -> Any:
        """Return the target code that reads an array element or a record field."""

    @abstractmethod
    def store(self, place: Place, code: Any) -> None:
        """Emit the assignment to an array element or a record field."""

    @abstractmethod
    def call(self, kernel: LoopSource, codes: Sequence[Any]) -> Any:
        """Return the target code of a call to another kernel."""

    @abstractmethod
    def call_address(self, node: ast.Call, result: Any, codes: Sequence[Any]) -> Any:
        """Return the target code of a call to the function at an address."""

    @abstractmethod
    def discard(self, code: Any) -> None:
        """Emit a call to a kernel whose result is not used."""

    @abstractmethod
    def give(self, code: Any) -> None:
        """Emit a return statement; ``code`` is None if the kernel has no result."""

    @abstractmethod
    def branch(
        self, test: Callable[[], Any], yes: Callable[[], bool], no: Callable[[], bool]
    ) -> None:
        """Emit an ``if`` statement with its branches."""

    @abstractmethod
    def repeat(
        self, node: ast.While, test: Callable[[], Any] | None, body: Callable[[], bool]
    ) -> None:
        """Emit a ``while`` loop; without a test (``test`` is None) it is endless."""

    @abstractmethod
    def count(self, node: ast.For, name: str, rounds: "Rounds", body: Callable[[], bool]) -> None:
        """Emit a ``for`` loop with the counter ``name`` over a range of ints."""

    @abstractmethod
    def leave(self, *, again: bool) -> None:
        """Emit ``continue`` if ``again`` is true, otherwise ``break``."""

    def end_dead(self) -> None:  # noqa: B027
        """Mark the end of the emitted code as unreachable, if the target language needs it."""

    # Types

    def refuse(self, node: ast.AST, reason: str) -> NoReturn:
        """Raise a FlexarmError that names the kernel, and file and line of a statement."""
        raise FlexarmError(f"{self.kernel.at(getattr(node, 'lineno', 1))}: {reason}")

    def refuse_part(self, node: ast.AST, operator: ast.AST | None = None, of: str = "") -> NoReturn:
        """Raise an error: the kernel language does not support this part of Python."""
        word = type(operator or node).__name__
        self.refuse(node, f"{word}{of} is not part of a kernel's language")

    def as_type(self, node: ast.AST, value: Value, kind: Any) -> Any:
        """Return the target code of a value, or raise an error if its type is not ``kind``.

        A record whose class is a subclass of ``kind`` is accepted.
        """
        actual = value.kind
        if actual == kind or (is_record(actual) and is_record(kind) and issubclass(actual, kind)):
            return value.code
        hint = f": write {word_of(kind)}(...)" if kind in (int, float) else ""
        return self.refuse(node, f"must be {word_of(kind)}, got {word_of(actual)}{hint}")

    def as_float(self, node: ast.AST, value: Value) -> Any:
        """Return the target code of a number as a float; an int is converted."""
        if value.kind is int:
            return self.operate("float", int, value.code)
        return self.as_type(node, value, float)

    def typed(self, node: ast.expr, kind: Any) -> Any:
        """Return an expression's target code; raise an error if its type is not ``kind``."""
        return self.as_type(node, self.value(node), kind)

    def truth(self, node: ast.expr) -> Any:
        """Return the target code of a condition: a bool, or the test that an int is not 0."""
        value = self.value(node)
        if value.kind is int:
            return self.operate("!=", int, value.code, self.constant(0, int))
        if value.kind is not bool:
            self.refuse(node, "a condition must be a comparison or an int")
        return value.code

    # Expressions

    def value(self, node: ast.expr) -> Value:
        """Return the target code and the kernel type of an expression."""
        translate: Callable[[ast.expr], Value]
        translate = getattr(self, f"_of_{type(node).__name__}", self.refuse_part)
        return translate(node)

    def _of_Constant(self, node: ast.Constant) -> Value:
        return self.number(node, node.value)

    def number(self, node: ast.AST, value: Any) -> Value:
        """Return target code and kernel type of a literal or a constant."""
        if not isinstance(value, int | float):
            self.refuse(node, f"{value!r} is no number")
        kind = bool if isinstance(value, bool) else int if isinstance(value, int) else float
        if kind is int and not LOWEST <= value <= HIGHEST:
            self.refuse(node, f"{value} is no int of 64 bits")
        return Value(self.constant(value, kind), kind, value)

    def _of_Name(self, node: ast.Name) -> Value:
        if node.id in self.locals:
            if node.id not in self.valued:
                self.refuse(node, f"'{node.id}' may have no value here. Give it one before.")
            return Value(self.local(node.id, self.kinds[node.id]), self.kinds[node.id])
        if node.id in self.kernel.globals:
            return self.number(node, self.kernel.globals[node.id])
        return self.refuse(node, f"'{node.id}' has no value")

    def place(self, node: ast.expr) -> Place:
        """Return location and kernel type of an array element or a record field."""
        if isinstance(node, ast.Subscript):
            array = self.value(node.value)
            if array.kind not in (Array, Ints):
                self.refuse(node, "only arrays have elements")
            kind = float if array.kind == Array else int
            code = self.element(array.code, kind, self.index(node.slice))
            return Place(code, kind, kind.__name__)
        if isinstance(node, ast.Attribute):
            record = self.value(node.value)
            types = record.kind.layout().types if is_record(record.kind) else {}
            if node.attr not in types:
                self.refuse(node, f"no field '{node.attr}'")
            code = self.field(record.code, record.kind, node.attr)
            return Place(code, types[node.attr], "field")
        return self.refuse(node, "only names, array elements and fields can be assigned to")

    def index(self, node: ast.expr) -> Any:
        """Return the target code of an array index; raise an error for a negative literal."""
        value = self.value(node)
        if value.number is not None and value.number < 0:
            self.refuse(node, "an index must not be negative: arrays do not know their length")
        return self.as_type(node, value, int)

    def _of_Subscript(self, node: ast.Subscript) -> Value:
        if not isinstance(node.slice, ast.Slice):
            return self._of_Attribute(node)
        if node.slice.lower is None or node.slice.upper or node.slice.step:
            self.refuse(node, "views are a[start:]")
        array = self.value(node.value)
        if array.kind not in (Array, Ints):
            self.refuse(node, "only arrays have views")
        return Value(self.view(array.code, array.kind, self.index(node.slice.lower)), array.kind)

    def _of_Attribute(self, node: ast.expr) -> Value:
        place = self.place(node)
        return Value(self.load(place), place.kind)

    def _of_BinOp(self, node: ast.BinOp) -> Value:
        left = self.value(node.left)
        return self.binary(node, node.op, left, self.value(node.right))

    def binary(self, node: ast.AST, operator: ast.operator, left: Value, right: Value) -> Value:
        """Return target code and type of an arithmetic operation; int and float give a float."""
        op = OPERATORS.get(type(operator))
        are_ints = left.kind is right.kind is int
        if op is None or (op == "%" and not are_ints):
            self.refuse_part(node, operator, of="" if are_ints else " of floats")
        if are_ints and op != "/":
            return Value(self.operate(op, int, left.code, right.code), int)
        codes = self.as_float(node, left), self.as_float(node, right)
        return Value(self.operate(op, float, *codes), float)

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return Value(self.operate("not", bool, self.truth(node.operand)), bool)
        if not isinstance(node.op, ast.USub):
            self.refuse(node, "only - and not")
        value = self.value(node.operand)
        if value.number is not None and value.kind is not bool:
            return self.number(node, -value.number)
        kind = int if value.kind is int else float
        return Value(self.operate("negative", kind, self.as_type(node, value, kind)), kind)

    def _of_Compare(self, node: ast.Compare) -> Value:
        return Value(self.decide(self.comparisons(node), len(node.ops), until=False), bool)

    def comparisons(self, node: ast.Compare) -> Iterator[Any]:
        """Yield the target code of each comparison of a chain ``a < b < c``."""
        left = self.value(node.left)
        for operator, item in zip(node.ops, node.comparators, strict=True):
            right = self.value(item)
            if type(operator) not in COMPARISONS:
                self.refuse_part(node, operator)
            yield self.compare(node, COMPARISONS[type(operator)], left, right)
            left = right

    def compare(self, node: ast.AST, op: str, left: Value, right: Value) -> Any:
        """Return target code of a comparison of two numbers; with NaN only ``!=`` is true."""
        if left.kind is right.kind is int:
            return self.operate(op, int, left.code, right.code)
        return self.operate(op, float, self.as_float(node, left), self.as_float(node, right))

    def _of_BoolOp(self, node: ast.BoolOp) -> Value:
        parts = (self.typed(item, bool) for item in node.values)
        until = isinstance(node.op, ast.Or)
        return Value(self.decide(parts, len(node.values), until=until), bool)

    def _of_IfExp(self, node: ast.IfExp) -> Value:
        kinds: list[Any] = []

        def arm(item: ast.expr) -> Any:
            value = self.value(item)
            kinds.append(value.kind)
            return self.as_type(node, value, kinds[0])

        test = partial(self.truth, node.test)
        code = self.choose(test, partial(arm, node.body), partial(arm, node.orelse))
        return Value(code, kinds[0])

    def _of_Call(self, node: ast.Call) -> Value:
        if node.keywords:
            self.refuse(node, "arguments are given by position")
        target = self.called(node.func)
        values = [self.value(item) for item in node.args]
        if isinstance(target, str) or any(
            target is builtin for builtin in (abs, min, max, float, int)
        ):
            return self.function(node, target, values)
        if isinstance(target, LoopSource):
            *kinds, result = target.hints.values()
            return Value(self.call(target, self.arguments(node, values, kinds)), result)
        if target is run_equations or target is run_kernel:
            argument_kind, result = (Ints, NOTHING) if target is run_equations else (Record, int)
            codes = self.arguments(node, values, [int, argument_kind])
            return Value(self.call_address(node, result, codes), result)
        return self.refuse(node, f"'{ast.unparse(node.func)}' is no kernel")

    def called(self, node: ast.expr) -> Any:
        """Return the kernel or the name of the `math` function that a call names; else None."""
        name = node.value if isinstance(node, ast.Attribute) else node
        if not isinstance(name, ast.Name) or name.id in self.locals:
            return None
        function = self.kernel.globals.get(name.id, getattr(builtins, name.id, None))
        if isinstance(node, ast.Attribute):
            return node.attr if function is math else None
        return function

    def arguments(self, node: ast.Call, values: list[Value], kinds: list[Any]) -> list[Any]:
        """Return the target code of a call's arguments; raise an error if they do not fit."""
        if len(values) != len(kinds):
            self.refuse(node, f"takes {len(kinds)} arguments, got {len(values)}")
        return [self.as_type(node, value, kind) for value, kind in zip(values, kinds, strict=True)]

    def function(self, node: ast.Call, target: Any, values: list[Value]) -> Value:
        """Return code and type of a call to abs, min, max, float, int or a `math` function."""
        name = f"math.{target}" if isinstance(target, str) else target.__name__
        if name.startswith("math.") and target not in MATH:
            self.refuse(node, f"{name} is not part of a kernel's language")
        count = 2 if name in ("math.pow", "min", "max") else 1
        if len(values) < count or (len(values) > count and target not in (min, max)):
            prefix = "at least " if target in (min, max) else ""
            self.refuse(node, f"{name} takes {prefix}{count} arguments, got {len(values)}")
        if target in (min, max):
            return self.extreme(node, name, values)
        codes = [self.as_float(node, value) for value in values]
        if target is float:
            return Value(codes[0], float)
        if target is int:
            return Value(self.operate("whole", float, *codes), int)
        if target == "isfinite":
            bound = self.constant(math.inf, float)
            return Value(self.operate("<", float, self.operate("fabs", float, *codes), bound), bool)
        result = self.operate("fabs" if target is abs else target, float, *codes)
        if target == "floor":
            return Value(self.operate("whole", float, result), int)
        return Value(result, float)

    def extreme(self, node: ast.Call, op: str, values: list[Value]) -> Value:
        """Return the target code and type of ``min`` or ``max`` of numbers of one type.

        As in Python, the effect of a NaN depends on its position among the arguments.
        """
        code, kind, _ = values[0]
        if kind not in (int, float):
            self.refuse(node, f"must be numbers, got {word_of(kind)}")
        for value in values[1:]:
            code = self.operate(op, kind, code, self.as_type(node, value, kind))
        return Value(code, kind)

    # Statements: every method returns whether control reaches the next statement

    def write(self) -> None:
        """Emit the target code of the whole kernel."""
        if self.block(self.kernel.tree.body):
            if self.result is not NOTHING:
                self.refuse(self.kernel.tree.body[-1], "may end without a result. Return one.")
            self.give(None)

    def block(self, statements: list[ast.stmt]) -> bool:
        """Emit statements, and return whether the end of the block can be reached.

        Statements that cannot be reached are skipped.
        """
        for statement in statements:
            do: Callable[[ast.stmt], bool]
            do = getattr(self, f"_do_{type(statement).__name__}", self.refuse_part)
            if not do(statement):
                return False
        return True

    def _do_Pass(self, node: ast.Pass) -> bool:
        return True

    def _do_Expr(self, node: ast.Expr) -> bool:
        if not isinstance(node.value, ast.Constant):
            self.discard(self.value(node.value).code)
        return True

    def _do_Assign(self, node: ast.Assign) -> bool:
        target, expression = node.targets[0], node.value
        if len(node.targets) > 1:
            self.refuse(node, "one assignment at a time")
        if isinstance(expression, ast.Call) and self.called(expression.func) is floats:
            return self.assign_array(target, expression)
        if not isinstance(target, ast.Tuple):
            return self.assign(target, self.value(expression))
        if not isinstance(expression, ast.Tuple) or len(target.elts) != len(expression.elts):
            self.refuse(node, "must have as many values as names")
        values = [self.value(item) for item in expression.elts]
        fixed = [value._replace(code=self.hold(value.kind, value.code)) for value in values]
        for item, value in zip(target.elts, fixed, strict=True):
            self.assign(item, value)
        return True

    def assign_array(self, target: ast.expr, call: ast.Call) -> bool:
        """Emit a local array for the statement ``name = floats(count)``; return True."""
        count = call.args[0].value if isinstance(call.args[0], ast.Constant) else None
        if not isinstance(target, ast.Name) or not isinstance(count, int):
            self.refuse(call, "must be name = floats(literal int)")
        if self.kinds.setdefault(target.id, Array) != Array:
            self.refuse(call, f"must be {word_of(self.kinds[target.id])}, got Array")
        self.reserve(target.id, count)
        self.valued |= {target.id}
        return True

    def _do_AnnAssign(self, node: ast.AnnAssign) -> bool:
        if node.value is None:
            self.refuse(node, "a name needs a value")
        return self.assign(node.target, self.value(node.value))

    def _do_AugAssign(self, node: ast.AugAssign) -> bool:
        if isinstance(node.target, ast.Name):
            left = self._of_Name(node.target)
            value = self.binary(node, node.op, left, self.value(node.value))
            return self.assign(node.target, value)
        place = self.place(node.target)
        left = Value(self.load(place), place.kind)
        value = self.binary(node, node.op, left, self.value(node.value))
        self.store(place, self.as_type(node, value, place.kind))
        return True

    def assign(self, target: ast.expr, value: Value) -> bool:
        """Emit an assignment; the first assignment to a local variable fixes its type."""
        if isinstance(target, ast.Name):
            name = target.id
            if name in self.counters:
                self.refuse(target, f"'{name}' counts rounds: assign to another name")
            if value.kind is NOTHING:
                self.refuse(target, f"'{name}' gets the result of a kernel that has none")
            kind = self.kinds.setdefault(name, value.kind)
            self.assign_local(name, kind, self.as_type(target, value, kind))
            self.valued |= {name}
            return True
        place = self.place(target)
        if place.kind not in (int, float):
            self.refuse(target, "arrays and records of a record cannot be exchanged")
        # NumPy converts an int stored in an array of floats; a field of a record would store the
        # int itself.
        element = isinstance(target, ast.Subscript) and place.kind is float
        code = self.as_float(target, value) if element else self.as_type(target, value, place.kind)
        self.store(place, code)
        return True

    def _do_Return(self, node: ast.Return) -> bool:
        if node.value is None and self.result is not NOTHING:
            self.refuse(node, "may end without a result. Return one.")
        if node.value is not None and self.result is NOTHING:
            self.refuse(node, "must return nothing, as it is annotated")
        self.give(None if node.value is None else self.typed(node.value, self.result))
        return False

    def _do_If(self, node: ast.If) -> bool:
        assigned_at_ends: list[frozenset[str]] = []

        def arm(statements: list[ast.stmt]) -> bool:
            self.valued = assigned_before
            reaches_end = self.block(statements)
            assigned_at_ends.extend([self.valued] * reaches_end)
            return reaches_end

        assigned_before = self.valued
        test = partial(self.truth, node.test)
        self.branch(test, partial(arm, node.body), partial(arm, node.orelse))
        return self.meet(assigned_at_ends)

    def meet(self, assigned_at_ends: list[frozenset[str]]) -> bool:
        """Return whether any branch reaches the next statement; merge assigned variables.

        After branches have joined, a local variable counts as assigned only if all of these
        branches assign it.
        """
        if assigned_at_ends:
            self.valued = frozenset.intersection(*assigned_at_ends)
        else:
            self.end_dead()
        return bool(assigned_at_ends)

    def loop(self, node: ast.For | ast.While) -> bool:
        """Emit the body of a loop, and return whether its end can be reached."""
        if node.orelse:
            self.refuse(node.orelse[0], "the else of a loop is not part of a kernel's language")
        return self.block(node.body)

    def _do_While(self, node: ast.While) -> bool:
        endless = isinstance(node.test, ast.Constant) and node.test.value in (True, 1)
        assigned_before, breaks = self.valued, list[frozenset[str]]()
        self.breaks.append(breaks)
        test = None if endless else partial(self.truth, node.test)
        self.repeat(node, test, partial(self.loop, node))
        self.breaks.pop()
        return self.meet(breaks if endless else [assigned_before, *breaks])

    def _do_For(self, node: ast.For) -> bool:
        call, target = node.iter, node.target
        if not (isinstance(call, ast.Call) and self.called(call.func) is range):
            self.refuse(node, "loops are over range(...)")
        if not 1 <= len(call.args) <= 3 or call.keywords:
            self.refuse(node, "range takes one to three ints")
        limits = [self.value(item) for item in call.args[:2]]
        for limit in limits:
            self.as_type(call, limit, int)
        step = self.value(call.args[2]).number if len(call.args) == 3 else 1
        if not isinstance(step, int) or step == 0:
            self.refuse(node, "the step of a range must be a literal int and must not be zero")
        if (
            not isinstance(target, ast.Name)
            or target.id in self.valued
            or self.kinds.setdefault(target.id, int) is not int
        ):
            self.refuse(node, "loops count with a name of their own")
        first, stop = (self.number(call, 0), *limits)[-2:]
        assigned_before, breaks = self.valued, list[frozenset[str]]()
        self.breaks.append(breaks)
        self.counters.append(target.id)
        self.valued |= {target.id}
        self.count(node, target.id, Rounds(first, stop, step), partial(self.loop, node))
        self.counters.pop()
        self.breaks.pop()
        return self.meet([assigned_before, *breaks])

    def _do_Break(self, node: ast.Break) -> bool:
        self.breaks[-1].append(self.valued)
        self.leave(again=False)
        return False

    def _do_Continue(self, node: ast.Continue) -> bool:
        self.leave(again=True)
        return False


def is_record(kind: Any) -> bool:
    """Return whether the type of a kernel's value is a record class."""
    return isinstance(kind, type) and issubclass(kind, Record)


def word_of(kind: Any) -> str:
    """Return the name of a kernel type for error messages."""
    if kind in (Array, Ints):
        return "Array" if kind == Array else "Ints"
    return getattr(kind, "__name__", str(kind))
