"""Print kernels as C99: the same loops for programs that a C compiler builds.

A record becomes a struct of the fields that the printed kernels use, a kernel a static function.
Ints are ``long long`` and must not overflow.  Everything else means what it means in machine code
(`flexarm.loops.language`), in the same order of evaluation.
"""

import ast
import builtins
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from flexarm.errors import FlexarmError
from flexarm.loops.language import Array, Ints, LoopSource, Record, run_equations, run_kernel
from flexarm.loops.writes import KernelReader

SCALARS = {int: "long long", float: "double", bool: "int", type(None): "void"}
# Binding strength of operators in C, the weakest first; `&&` and `||` are not mixed bare.
CHOICE, LOGIC, EQUALITY, ORDER, SUM, PRODUCT, UNARY, ATOM = range(8)
OPERATORS = {
    ast.Add: ("+", SUM), ast.Sub: ("-", SUM), ast.Mult: ("*", PRODUCT), ast.Div: ("/", PRODUCT),
}  # fmt: skip
COMPARISONS = {
    ast.Lt: ("<", ORDER), ast.LtE: ("<=", ORDER), ast.Gt: (">", ORDER), ast.GtE: (">=", ORDER),
    ast.Eq: ("==", EQUALITY), ast.NotEq: ("!=", EQUALITY),
}  # fmt: skip
# Functions that C does not have, by name: printed where they are used.
HELPERS = {
    "kernel_min": "static double kernel_min(double a, double b) { return b < a ? b : a; }",
    "kernel_max": "static double kernel_max(double a, double b) { return b > a ? b : a; }",
    "kernel_least": (
        "static long long kernel_least(long long a, long long b) { return b < a ? b : a; }"
    ),
    "kernel_most": (
        "static long long kernel_most(long long a, long long b) { return b > a ? b : a; }"
    ),
    "kernel_magnitude": "static long long kernel_magnitude(long long a) { return a < 0 ? -a : a; }",
    "kernel_whole": (
        "static long long kernel_whole(double a)\n{\n"
        "    return a >= 0x1p63 ? 0x7fffffffffffffff : a > -0x1p63 ? (long long)a\n"
        "           : a <= -0x1p63 ? -0x7fffffffffffffff - 1 : 0;\n}"
    ),
    "kernel_quotient": (
        "static long long kernel_quotient(long long a, long long b)\n{\n"
        "    return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));\n}"
    ),
    "kernel_remainder": (
        "static long long kernel_remainder(long long a, long long b)\n{\n"
        "    return b == 0 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);\n}"
    ),
    "kernel_rounds": (
        "static long long kernel_rounds(long long a, long long b, long long step)\n{\n"
        "    return step > 0 && a < b ? (b - a - 1) / step + 1\n"
        "           : step < 0 && b < a ? (a - b - 1) / -step + 1 : 0;\n}"
    ),
}
WORDS = {
    *("auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else"),
    *("enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register"),
    *("restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef"),
    *("union", "unsigned", "void", "volatile", "while"),
}  # that C keeps for itself


class CLoops(NamedTuple):
    """Kernels in C."""

    records: str  # structs
    functions: str  # static functions, those that are called before those that call them


def print_c(
    kernels: Sequence[LoopSource],
    *,
    outside: Mapping[Any, str] = MappingProxyType({}),
    bound: Mapping[str, LoopSource | str] = MappingProxyType({}),
) -> CLoops:
    """Print kernels, and all kernels that they call.

    Parameters
    ----------
    kernels
        The kernels; ``NAME`` becomes ``kernel_NAME``.
    outside
        C names of kernels and of record types that the program has itself: a function that takes
        the kernel's parameters, ``struct NAME``.
    bound
        What is called instead of what a record's field has the address of, by the field's name: a
        kernel, or the name of a C function that takes that record.
    """
    module = _CModule(kernels, outside, bound)
    for each in kernels:
        module.function(each)
    helpers = [HELPERS[name] for name in HELPERS if name in module.helpers]
    return CLoops(module.structs(), "\n\n".join([*helpers, *module.texts]) + "\n")


class _CModule:
    """The functions that were printed, and what they use."""

    def __init__(
        self,
        kernels: Sequence[LoopSource],
        outside: Mapping[Any, str],
        bound: Mapping[str, LoopSource | str],
    ) -> None:
        self.outside, self.bound = outside, bound
        self.reader = KernelReader(bound)
        self.names: dict[int, str] = {}
        self.texts: list[str] = []
        self.helpers: set[str] = set()
        self.fields: dict[type[Record], dict[str, Any]] = {}
        reached = {id(each): each for kernel in kernels for each in self.reader.reached(kernel)}
        self.written = {
            name for each in reached.values() for name in self.reader.writes(each).fields
        }
        kinds = [kind for each in reached.values() for kind in each.hints.values()]
        self.records = list(dict.fromkeys(filter(_is_record, kinds)))

    def changes(self, kernel: LoopSource) -> bool:
        """Tell whether a call of a kernel may change what is read elsewhere."""
        writes = self.reader.writes(kernel)
        reached = self.reader.reached(kernel)
        listed = [name for each in reached for name in each.python.__code__.co_names]
        return bool(writes.fields or writes.parameters or "run_equations" in listed)

    def record(self, kind: type[Record]) -> type[Record]:
        """Return the type that stands for a record: the last of those derived from it in use."""
        derived = [each for each in self.records if issubclass(each, kind)]
        last = max(derived, key=lambda each: len(each.__mro__), default=kind)
        if any(not issubclass(last, each) for each in derived):
            raise FlexarmError(f"{kind.__name__}: several types derived from it have no one struct")
        return last

    def type_name(self, kind: Any, *, const: bool = False) -> str:
        """Return the C type of a kernel's type, up to the name that it is of."""
        if kind in (Array, Ints):
            return f"{'const ' * const}{'double' if kind == Array else 'long long'} *"
        if _is_record(kind):
            kind = self.record(kind)
            return f"{self.outside.get(kind, f'struct {kind.__name__}')} *"
        return f"{SCALARS[kind]} "

    def field(self, kind: type[Record], name: str) -> Any:
        """Note that a field is used, and return its type."""
        kind = self.record(kind)
        found = kind.layout().types[name]
        self.fields.setdefault(kind, {})[name] = found
        return found

    def structs(self) -> str:
        """Print the records, inner ones first."""
        texts: dict[type[Record], str] = {}

        def add(kind: type[Record]) -> None:
            kind = self.record(kind)
            if kind in self.outside or kind in texts:
                return
            used = self.fields.get(kind, {})
            listed = [(name, each) for name, each in kind.layout().types.items() if name in used]
            for _, each in listed:
                if _is_record(each):
                    add(each)
            lines = [
                f"    {self.type_name(each, const=name not in self.written)}{name};"
                for name, each in listed
            ]
            texts[kind] = "\n".join([f"struct {kind.__name__} {{", *lines, "};"])

        for kind in self.fields:
            add(kind)
        return "\n\n".join(texts.values()) + "\n"

    def function(self, kernel: LoopSource) -> str:
        """Return the C name of a kernel, printing it the first time."""
        name = self.outside.get(kernel) or self.names.get(id(kernel))
        if name is None:
            name = self.names[id(kernel)] = f"kernel_{kernel.name}"
            self.texts.append(_CFunction(self, kernel).text(name))
        return name


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Record)


class _CValue(NamedTuple):
    """An expression in C."""

    text: str
    kind: Any  # its type, of the language of kernels
    level: int = ATOM  # how strongly its outermost operator binds
    fixed: bool = False  # whether nothing that is evaluated after it can change it

    def within(self, level: int) -> str:
        """Return it as an operand of an operator that binds so strongly."""
        return self.text if self.level >= level else f"({self.text})"


class _CFunction:
    """The printing of one kernel."""

    def __init__(self, module: _CModule, kernel: LoopSource) -> None:
        self.module, self.kernel = module, kernel
        self.lines: list[str] = []
        *self.parameters, self.result = kernel.hints.items()
        self.locals: dict[str, Any] = dict(self.parameters)
        self.writes = module.reader.writes(kernel)
        nodes = [node for node in ast.walk(kernel.tree) if isinstance(node, ast.Name)]
        self.named = {node.id for node in nodes} | {*self.locals}
        self.given = [name for name, _ in self.parameters]
        self.loaded = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
        self.stored = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
        self.count = 0
        self.scoped = self._scoped()
        self.inner: set[str] = set()  # counters that stand in their loop alone

    def text(self, name: str) -> str:
        """Print all of it."""
        self.block(self.kernel.tree.body)
        const = [k not in self.writes.parameters for k in range(len(self.parameters))]
        listed = [
            f"{self.module.type_name(kind, const=each)}{self.word(key)}"
            for (key, kind), each in zip(self.parameters, const, strict=True)
        ]
        own = [key for key in self.locals if key not in self.given]
        lines = [
            *(f"(void){self.word(key)};" for key in self.given if key not in self.loaded),
            *(f"{self._declared(key)} = 0;" for key in own),
        ]
        head = f"static {self.module.type_name(self.result[1])}{name}({', '.join(listed)})"
        document = ast.get_docstring(self.kernel.tree) or ""
        note = [f"/* {document.splitlines()[0].replace('*/', '')} */"] if document else []
        return "\n".join([*note, head, "{", *_indented([*lines, *self.lines]), "}"])

    def _declared(self, name: str) -> str:
        kind = self.locals[name]
        const = self.is_const(ast.Name(name, ast.Load())) if kind in (Array, Ints) else False
        return f"{self.module.type_name(kind, const=const)}{self.word(name)}"

    def word(self, name: str) -> str:
        """Return the C name of a local."""
        return f"{name}_" if name in WORDS else name

    def is_const(self, node: ast.expr) -> bool:
        """Tell whether nothing is written to the array that an expression is a part of."""
        names = self.given
        return not any(
            (isinstance(root, ast.Attribute) and root.attr in self.module.written)
            or (
                isinstance(root, ast.Name)
                and (root.id not in names or names.index(root.id) in self.writes.parameters)
            )
            for root in self.module.reader.roots(node, self.kernel)
        )

    def fresh(self) -> str:
        """Return a name that nothing has."""
        while True:
            self.count += 1
            if (name := f"value{self.count}") not in self.named:
                return name

    def saved(self, node: ast.expr, value: _CValue, place: int) -> _CValue:
        """Keep a value in a constant of its own, which is set before a line that was written."""
        if value.fixed:
            return value
        name = self.fresh()
        const = value.kind in (Array, Ints) and self.is_const(node)
        kind = self.module.type_name(value.kind, const=const)
        own = "" if const and "*" in kind else "const "
        text = f"{kind}const {name}" if kind.endswith("*") else f"{own}{kind}{name}"
        self.lines.insert(place, f"{text} = {value.text};")
        return _CValue(name, value.kind, fixed=True)

    def captured(self, translate: Callable[..., Any], *given: Any) -> tuple[list[str], Any]:
        """Print something aside: its lines, and what it gave."""
        before, self.lines = self.lines, []
        result = translate(*given)
        lines, self.lines = self.lines, before
        return lines, result

    # Expressions

    def value(self, node: ast.expr) -> _CValue:
        """Print an expression; what must come before it goes to lines of its own."""
        translate: Callable[[ast.expr], _CValue]
        translate = getattr(self, f"_of_{type(node).__name__}")
        return translate(node)

    def operands(self, nodes: Sequence[ast.expr]) -> list[_CValue]:
        """Print expressions that are evaluated one after the other."""
        found: list[_CValue] = []
        for node in nodes:
            place = len(self.lines)
            value = self.value(node)
            if len(self.lines) > place:
                for k, each in enumerate(found):
                    before = len(self.lines)
                    found[k] = self.saved(nodes[k], each, place)
                    place += len(self.lines) - before
            found.append(value)
        return found

    def _of_Constant(self, node: ast.Constant) -> _CValue:
        return self.number(node.value)

    def number(self, value: Any) -> _CValue:
        """Write a number down."""
        kind: type = type(value)
        if kind is bool:
            return _CValue(str(int(value)), bool, fixed=True)
        if kind is int:
            text = "-0x7fffffffffffffff - 1" if value == -(2**63) else str(value)
            return _CValue(text, int, SUM if " " in text else _level(text), fixed=True)
        if not isinstance(value, float):
            raise FlexarmError(f"{self.kernel.at(1)}: {value!r} is no number")
        text = "NAN" if math.isnan(value) else repr(float(value)).replace("inf", "HUGE_VAL")
        return _CValue(text, float, _level(text), fixed=True)

    def _of_Name(self, node: ast.Name) -> _CValue:
        if node.id in self.locals or node.id in self.inner:
            kind = self.locals.get(node.id, int)
            fixed = node.id in self.inner or (node.id in self.given and node.id not in self.stored)
            return _CValue(self.word(node.id), kind, fixed=fixed)
        return self.number(self.kernel.globals[node.id])

    def _of_Attribute(self, node: ast.Attribute) -> _CValue:
        record = self.value(node.value)
        kind = self.module.field(record.kind, node.attr)
        fixed = kind not in (int, float)  # arrays and records are not exchanged
        return _CValue(f"{record.text}->{node.attr}", kind, fixed=fixed)

    def _of_Subscript(self, node: ast.Subscript) -> _CValue:
        if isinstance(node.slice, ast.Slice):
            assert node.slice.lower is not None
            array, first = self.operands([node.value, node.slice.lower])
            text = f"{array.within(SUM)} + {first.within(SUM + 1)}"
            return _CValue(text, array.kind, SUM, fixed=array.fixed and first.fixed)
        array, index = self.operands([node.value, node.slice])
        return _CValue(f"{array.within(ATOM)}[{index.text}]", float if array.kind == Array else int)

    def _of_BinOp(self, node: ast.BinOp) -> _CValue:
        left, right = self.operands([node.left, node.right])
        return self.operate(node.op, left, right)

    def operate(self, operator: ast.operator, left: _CValue, right: _CValue) -> _CValue:
        """Add, subtract, multiply or divide."""
        whole = left.kind is right.kind is int
        if isinstance(operator, ast.FloorDiv | ast.Mod):
            name = "quotient" if isinstance(operator, ast.FloorDiv) else "remainder"
            return self.helper(name, int, left, right)
        word, level = OPERATORS[type(operator)]
        one = left.within(level)
        if isinstance(operator, ast.Div) and whole:
            one, whole = f"(double){left.within(UNARY)}", False
        return _CValue(f"{one} {word} {right.within(level + 1)}", int if whole else float, level)

    def helper(self, name: str, kind: Any, *values: _CValue) -> _CValue:
        """Call a function that C does not have."""
        self.module.helpers.add(f"kernel_{name}")
        return _CValue(f"kernel_{name}({', '.join(each.text for each in values)})", kind)

    def _of_UnaryOp(self, node: ast.UnaryOp) -> _CValue:
        if isinstance(node.operand, ast.Constant) and isinstance(node.op, ast.USub):
            return self.number(-node.operand.value)  # type: ignore[operator]
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return _CValue(f"!{value.within(UNARY)}", bool, UNARY)
        inner = value.within(UNARY)
        return _CValue(f"-({inner})" if inner[0] == "-" else f"-{inner}", value.kind, UNARY)

    def _of_Compare(self, node: ast.Compare) -> _CValue:
        if len(node.ops) == 1:
            return self.compared(node.ops[0], *self.operands([node.left, node.comparators[0]]))
        return self.decided(self.comparisons(node), len(node.ops), until=False)

    def comparisons(self, node: ast.Compare) -> Iterator[_CValue]:
        """Print the links of a chain of comparisons, each when it is asked for."""
        left, before = self.value(node.left), node.left
        for operator, item in zip(node.ops, node.comparators, strict=True):
            place = len(self.lines)
            right = self.value(item)
            if len(self.lines) > place:
                left = self.saved(before, left, place)
            simple = isinstance(item, ast.Name | ast.Constant | ast.Attribute | ast.Subscript)
            if item is not node.comparators[-1] and not simple:
                right = self.saved(item, right, len(self.lines))
            yield self.compared(operator, left, right)
            left, before = right, item

    def compared(self, operator: ast.cmpop, left: _CValue, right: _CValue) -> _CValue:
        word, level = COMPARISONS[type(operator)]
        return _CValue(f"{left.within(SUM)} {word} {right.within(SUM)}", bool, level)

    def _of_BoolOp(self, node: ast.BoolOp) -> _CValue:
        parts = map(self.value, node.values)
        return self.decided(parts, len(node.values), until=isinstance(node.op, ast.Or))

    def decided(self, parts: Iterator[_CValue], count: int, *, until: bool) -> _CValue:
        """Give the first of some values whose truth is `until`, or the last."""
        first = next(parts)
        rest = [self.captured(next, parts) for _ in range(count - 1)]
        if first.kind is bool and not any(lines for lines, _ in rest):
            word = " || " if until else " && "
            every = [first, *(value for _, value in rest)]
            return _CValue(word.join(each.within(EQUALITY) for each in every), bool, LOGIC)
        name = self.fresh()
        self.lines.append(f"{self.module.type_name(first.kind)}{name} = {first.text};")
        for lines, value in rest:
            self.lines += [f"if ({'!' * until}{name}) {{", *lines, f"{name} = {value.text};"]
        self.lines += ["}"] * len(rest)
        return _CValue(name, first.kind, fixed=True)

    def _of_IfExp(self, node: ast.IfExp) -> _CValue:
        test = self.value(node.test)
        arms = [self.captured(self.value, item) for item in (node.body, node.orelse)]
        (yes_lines, yes), (no_lines, no) = arms
        if not yes_lines and not no_lines:
            text = f"{test.within(LOGIC)} ? {yes.within(LOGIC)} : {no.within(LOGIC)}"
            return _CValue(text, yes.kind, CHOICE)
        name, const = self.fresh(), yes.kind in (Array, Ints) and self.is_const(node)
        self.lines += [
            f"{self.module.type_name(yes.kind, const=const)}{name};",
            *(f"if ({test.text}) {{", *yes_lines, f"{name} = {yes.text};", "} else {"),
            *(*no_lines, f"{name} = {no.text};", "}"),
        ]
        return _CValue(name, yes.kind, fixed=True)

    def _of_Call(self, node: ast.Call) -> _CValue:
        name = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        assert isinstance(name, ast.Name)
        target = self.kernel.globals.get(name.id, getattr(builtins, name.id, None))
        if target is run_equations or target is run_kernel:
            return self.indirect(node, node.args)
        values = self.operands(node.args)
        if isinstance(node.func, ast.Attribute):
            return self.mathematics(node.func.attr, values)
        if isinstance(target, LoopSource):
            function = self.module.function(target)
            return self.called(function, target, [each.text for each in values])
        return self.builtin(target, values)

    def called(self, function: str, kernel: LoopSource, arguments: Sequence[str]) -> _CValue:
        """Call a kernel: if it changes anything, at once."""
        kind = list(kernel.hints.values())[-1]
        call = _CValue(f"{function}({', '.join(arguments)})", kind)
        if kind is type(None) or not self.module.changes(kernel):
            return call
        return self.saved(ast.Constant(0), call, len(self.lines))

    def indirect(self, node: ast.Call, arguments: Sequence[ast.expr]) -> _CValue:
        """Call what is bound to the name of a field."""
        address = node.args[0]
        bound = self.module.bound.get(getattr(address, "attr", ""))
        if bound is None or not isinstance(address, ast.Attribute):
            raise FlexarmError(f"{self.kernel.at(node.lineno)}: nothing is bound to this address")
        if isinstance(bound, str):
            return _CValue(f"{bound}({self.value(address.value).text})", type(None))
        values = self.operands(arguments[1:])
        return self.called(self.module.function(bound), bound, [each.text for each in values])

    def mathematics(self, name: str, values: list[_CValue]) -> _CValue:
        """Call a function of math.h; `floor` is an int, as in Python."""
        listed = ", ".join(each.text for each in values)
        if name == "isfinite":
            return _CValue(f"fabs({listed}) < HUGE_VAL", bool, ORDER)
        call = _CValue(f"{name}({listed})", float)
        return self.helper("whole", int, call) if name == "floor" else call

    def builtin(self, target: Any, values: list[_CValue]) -> _CValue:
        """Print abs, min, max, float and int."""
        result = values[0]
        whole = result.kind is not float
        if target in (min, max):
            names = {min: ("min", "least"), max: ("max", "most")}[target]
            for each in values[1:]:
                result = self.helper(names[whole], result.kind, result, each)
            return result
        if target is abs:
            call = _CValue(f"fabs({result.text})", float)
            return self.helper("magnitude", int, result) if whole else call
        if target is float:
            text = f"(double){result.within(UNARY)}"
            return _CValue(text, float, UNARY) if whole else result
        if result.kind is bool:
            return _CValue(f"(long long){result.within(UNARY)}", int, UNARY)
        return result if whole else self.helper("whole", int, result)

    # Statements

    def result_of(self, node: ast.expr) -> _CValue:
        """Print an expression that is a statement's whole: a call of a kernel needs no constant."""
        place, value = len(self.lines), self.value(node)
        _, _, call = self.lines[-1].partition(f" {value.text} = ") if self.lines else ("", "", "")
        if len(self.lines) > place and isinstance(node, ast.Call) and call:
            self.lines.pop()
            return value._replace(text=call.removesuffix(";"))
        return value

    def block(self, statements: Sequence[ast.stmt]) -> None:
        """Print statements up to one that leaves."""
        for statement in statements:
            getattr(self, f"do_{type(statement).__name__}")(statement)
            if isinstance(statement, ast.Return | ast.Break | ast.Continue):
                return

    def do_Pass(self, node: ast.Pass) -> None: ...

    def do_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.lines.append(f"{self.result_of(node.value).text};")

    def do_Assign(self, node: ast.Assign) -> None:
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            values = self.operands(value.elts)
            kept = [
                self.saved(item, each, len(self.lines))
                for item, each in zip(value.elts, values, strict=True)
            ]
            for item, each in zip(target.elts, kept, strict=True):
                self.store(item, value, each)
        else:
            plain = isinstance(target, ast.Name)
            self.store(target, value, self.result_of(value) if plain else self.value(value))

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        assert node.value is not None
        self.do_Assign(ast.Assign([node.target], node.value))

    def store(self, target: ast.expr, node: ast.expr, value: _CValue) -> None:
        """Assign a value."""
        if isinstance(target, ast.Name):
            self.locals.setdefault(target.id, value.kind)
            self.lines.append(f"{self.word(target.id)} = {value.text};")
            return
        place = len(self.lines)
        where = self.value(target)
        if len(self.lines) > place:
            value = self.saved(node, value, place)
        self.lines.append(f"{where.text} = {value.text};")

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        where = self.value(node.target)
        place = len(self.lines)
        value = self.value(node.value)
        if len(self.lines) > place:
            kind = self.module.type_name(where.kind)
            here, before = self.fresh(), self.fresh()
            self.lines.insert(place, f"{kind}*const {here} = &{where.text};")
            self.lines.insert(place + 1, f"const {kind}{before} = *{here};")
            result = self.operate(node.op, _CValue(before, where.kind), value)
            self.lines.append(f"*{here} = {result.text};")
        elif type(node.op) in OPERATORS:
            self.lines.append(f"{where.text} {OPERATORS[type(node.op)][0]}= {value.text};")
        else:
            self.lines.append(f"{where.text} = {self.operate(node.op, where, value).text};")

    def do_Return(self, node: ast.Return) -> None:
        text = "" if node.value is None else f" {self.result_of(node.value).text}"
        self.lines.append(f"return{text};")

    def do_If(self, node: ast.If) -> None:
        self.lines.append(f"if ({self.value(node.test).text}) {{")
        self.block(node.body)
        other, _ = self.captured(self.block, node.orelse)
        if other and other[0].startswith("if (") and len(node.orelse) == 1:
            self.lines += [f"}} else {other[0]}", *other[1:]]
        else:
            self.lines += [*(["} else {", *other] if other else []), "}"]

    def do_While(self, node: ast.While) -> None:
        lines, test = self.captured(self.value, node.test)
        if lines:
            self.lines += ["while (1) {", *lines, f"if (!({test.text})) {{", "break;", "}"]
        else:
            self.lines.append(f"while ({test.text}) {{")
        self.block(node.body)
        self.lines.append("}")

    def do_For(self, node: ast.For) -> None:
        assert isinstance(node.target, ast.Name)
        assert isinstance(node.iter, ast.Call)
        name, given = node.target.id, node.iter.args
        first, stop, step = self.limits(node, given)
        if name in self.scoped:
            counter, declared = self.word(name), f"long long {self.word(name)}"
        else:
            counter = self.fresh()
            declared = f"long long {counter}"
        if step.text in ("1", "-1"):
            less, more = ("<", "++") if step.text == "1" else (">", "--")
            head = (
                f"{declared} = {first.text}; {counter} {less} {stop.within(SUM)}; {more}{counter}"
            )
        else:
            left = self.fresh()
            rounds = self.helper("rounds", int, first, stop, step)
            self.lines.append(f"long long {left} = {rounds.text};")
            head = f"{declared} = {first.text}; {left}-- > 0; {counter} += {step.within(PRODUCT)}"
        self.lines.append(f"for ({head}) {{")
        if name in self.scoped:
            self.inner.add(name)
        else:
            self.store(node.target, node.target, _CValue(counter, int))
        self.block(node.body)
        self.lines.append("}")

    def limits(self, node: ast.For, given: Sequence[ast.expr]) -> list[_CValue]:
        """Print begin, end and step of a range, which the loop's body does not change."""
        found = self.operands(given)
        changed = {
            each.id
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        first = int(len(found) > 1)
        for k in range(first, len(found)):
            inside = [*ast.walk(given[k])]
            names = {each.id for each in inside if isinstance(each, ast.Name)}
            fields = {each.attr for each in inside if isinstance(each, ast.Attribute)}
            others = any(isinstance(each, ast.Subscript | ast.Call) for each in inside)
            if others or names & changed or fields & self.writes.fields:
                found[k] = self.saved(given[k], found[k], len(self.lines))
        if len(found) == 1:
            found.insert(0, self.number(0))
        return [*found, self.number(1)][:3]

    def do_Break(self, node: ast.Break) -> None:
        self.lines.append("break;")

    def do_Continue(self, node: ast.Continue) -> None:
        self.lines.append("continue;")

    def _scoped(self) -> set[str]:
        """List counters of loops that nothing reads or sets outside of these."""
        inside: set[int] = set()
        loops = [node for node in ast.walk(self.kernel.tree) if isinstance(node, ast.For)]
        names = {loop.target.id for loop in loops if isinstance(loop.target, ast.Name)}
        for loop in loops:
            assert isinstance(loop.target, ast.Name)
            mine = [
                each
                for item in loop.body
                for each in ast.walk(item)
                if isinstance(each, ast.Name) and each.id == loop.target.id
            ]
            if any(isinstance(each.ctx, ast.Store) for each in mine):
                names.discard(loop.target.id)
            inside |= {id(each) for each in (*mine, loop.target)}
        return (
            names
            - {
                each.id
                for each in ast.walk(self.kernel.tree)
                if isinstance(each, ast.Name) and id(each) not in inside
            }
            - {*self.given}
        )


def _level(text: str) -> int:
    return UNARY if text.startswith("-") else ATOM


def _indented(lines: Sequence[str]) -> list[str]:
    """Indent lines by their braces."""
    found, depth = [], 1
    for line in lines:
        depth -= line.startswith("}")
        found.append("    " * depth + line)
        depth += line.endswith("{")
    return found
