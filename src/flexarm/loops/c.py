"""Translation of kernels (compiled Python functions) to C99.

A kernel becomes a static C function, and a record a struct with the fields that the kernels use.
Ints are ``long long`` and must not overflow. Apart from overflows, the C functions compute the same
as the machine code of kernels. Three constructs raise an error, since C does not define their types
or their order of evaluation: calls by an unknown address, local names for arrays or records, and a
call that changes a record or an array that another operand of the same expression may read.
"""

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from flexarm.errors import FlexarmError
from flexarm.loops.language import Array, Ints, LoopSource, Record
from flexarm.loops.walk import NOTHING, KernelWalk, Place, Rounds, is_record
from flexarm.loops.writes import KernelReader

SCALARS = {int: "long long", float: "double", bool: "int", NOTHING: "void"}
# Precedence of operators in C, the weakest first; `&&` and `||` are never mixed without
# parentheses.
CHOICE, LOGIC, EQUALITY, ORDER, SUM, PRODUCT, UNARY, ATOM = range(8)
OPERATORS = {
    "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT,
    "<": ORDER, "<=": ORDER, ">": ORDER, ">=": ORDER, "==": EQUALITY, "!=": EQUALITY,
}  # fmt: skip
PREFIXES = {"not": "!", "negative": "-", "float": "(double)"}
# Functions that C lacks, by operation and type; printed only if a kernel uses them.
HELPERS = {
    ("min", float): "double kernel_min(double a, double b) { return b < a ? b : a; }",
    ("max", float): "double kernel_max(double a, double b) { return b > a ? b : a; }",
    ("min", int): "long long kernel_least(long long a, long long b) { return b < a ? b : a; }",
    ("max", int): "long long kernel_most(long long a, long long b) { return b > a ? b : a; }",
    ("whole", float): (
        "long long kernel_whole(double a)\n{\n"
        "    return a >= 0x1p63 ? 0x7fffffffffffffff : a > -0x1p63 ? (long long)a\n"
        "           : a <= -0x1p63 ? -0x7fffffffffffffff - 1 : 0;\n}"
    ),
}
CONSTANT, READS, CHANGES = range(3)  # side effects of evaluating an expression


class CLoops(NamedTuple):
    """C text of kernels: definitions of structs and of static functions."""

    records: str  # structs
    functions: str  # static functions, called functions before their callers


def print_c(
    kernels: Sequence[LoopSource], *, outside: Mapping[Any, str] = MappingProxyType({}),
    called_by_field: Mapping[str, LoopSource] = MappingProxyType({}),
) -> CLoops:  # fmt: skip
    """Return the C text of kernels and of all kernels that they call.

    Parameters
    ----------
    kernels
        Kernels to print. A kernel ``NAME`` becomes the C function ``kernel_NAME``.
    outside
        C names of kernels and record types that other C code defines: for a kernel, a function with
        the same parameters; for a record type, ``struct NAME``.
    called_by_field
        Kernels to call, by name of the record field that contains their address on a CPU.
    """
    module = _CModule(kernels, outside, called_by_field)
    for kernel in kernels:
        module.function(kernel)
    helpers = [f"static {text}" for key, text in HELPERS.items() if key in module.helpers]
    return CLoops(module.structs(), "\n\n".join([*helpers, *module.texts]) + "\n")


class _CModule:
    """The C functions printed so far, with the helper functions and struct fields they use."""

    def __init__(
        self, kernels: Sequence[LoopSource], outside: Mapping[Any, str],
        called_by_field: Mapping[str, LoopSource],
    ) -> None:  # fmt: skip
        self.outside, self.reader = outside, KernelReader(called_by_field)
        self.names: dict[int, str] = {}
        self.texts: list[str] = []
        self.helpers: set[tuple[str, Any]] = set()
        self.fields: dict[type[Record], dict[str, Any]] = {}
        kernels_by_id = {
            id(reached_kernel): reached_kernel
            for kernel in kernels
            for reached_kernel in self.reader.reached(kernel)
        }
        self.written = {
            name
            for reached_kernel in kernels_by_id.values()
            for name in self.reader.writes(reached_kernel).fields
        }
        kinds = [
            kind
            for reached_kernel in kernels_by_id.values()
            for kind in reached_kernel.hints.values()
        ]
        self.records = list(dict.fromkeys(filter(is_record, kinds)))

    def record(self, kind: type[Record]) -> type[Record]:
        """Return the record class printed for ``kind``: the most derived subclass in use."""
        derived = [other for other in self.records if issubclass(other, kind)]
        most_derived = max(derived, key=lambda other: len(other.__mro__), default=kind)
        if any(not issubclass(most_derived, other) for other in derived):
            raise FlexarmError(
                f"{kind.__name__}: several types derive from this record, so "
                "that it has no single C struct"
            )
        return most_derived

    def type_name(self, kind: Any, *, const: bool = False) -> str:
        """Return the C type for a kernel type, as the text in front of a declared name."""
        if kind in (Array, Ints):
            return f"{'const ' * const}{'double' if kind == Array else 'long long'} *"
        if is_record(kind):
            kind = self.record(kind)
            return f"{self.outside.get(kind, f'struct {kind.__name__}')} *"
        return f"{SCALARS[kind]} "

    def structs(self) -> str:
        """Return the C structs of the records, structs inside other structs first."""
        texts: dict[type[Record], str] = {}

        def add(kind: type[Record]) -> None:
            kind = self.record(kind)
            if kind in self.outside or kind in texts:
                return
            used_fields = self.fields.get(kind, {})
            struct_fields = [
                (name, field_kind)
                for name, field_kind in kind.layout().types.items()
                if name in used_fields
            ]
            for _, field_kind in struct_fields:
                if is_record(field_kind):
                    add(field_kind)
            lines = [
                f"    {self.type_name(field_kind, const=name not in self.written)}{name};"
                for name, field_kind in struct_fields
            ]
            texts[kind] = "\n".join([f"struct {kind.__name__} {{", *lines, "};"])

        for kind in self.fields:
            add(kind)
        return "\n\n".join(texts.values()) + "\n"

    def function(self, kernel: LoopSource) -> str:
        """Return the C name of a kernel's function; print the function at the first request."""
        name = self.outside.get(kernel) or self.names.get(id(kernel))
        if name is None:
            name = self.names[id(kernel)] = f"kernel_{kernel.name}"
            self.texts.append(_CKernel(self, kernel).text(name))
        return name


class _Text(NamedTuple):
    """A C expression with the precedence of its outermost operator and its side effect."""

    text: str
    level: int = ATOM  # precedence of the outermost operator
    effect: int = READS

    def within(self, level: int) -> str:
        """Return the C expression, in parentheses if its precedence is below ``level``."""
        return self.text if self.level >= level else f"({self.text})"


class _CKernel(KernelWalk):
    """Translator of one kernel to a C function."""

    def __init__(self, module: _CModule, kernel: LoopSource) -> None:
        super().__init__(kernel)
        self.module = module
        self.lines: list[str] = []
        self.own: dict[str, str] = {}  # declarations of locals that are not parameters
        self.held = 0  # number of temporaries that exist in the C code only
        self.kinds = dict(self.parameters)
        self.valued = frozenset(self.kinds)

    def text(self, name: str) -> str:
        """Return the C definition of the kernel's function."""
        self.write()
        written_positions, parameters = (
            self.module.reader.writes(self.kernel).parameters,
            self.parameters,
        )
        declarations = [
            f"{self.module.type_name(kind, const=k not in written_positions)}{key}"
            for k, (key, kind) in enumerate(parameters)
        ]
        nodes = [node for node in ast.walk(self.kernel.tree) if isinstance(node, ast.Name)]
        used_names = {node.id for node in nodes if isinstance(node.ctx, ast.Load)}
        lines = [
            *(f"(void){key};" for key, _ in parameters if key not in used_names),
            *(f"{declared};" for declared in self.own.values()),
        ]
        if self.lines[-1:] == ["return;"]:
            self.lines.pop()
        signature = f"static {self.module.type_name(self.result)}{name}({', '.join(declarations)})"
        document = ast.get_docstring(self.kernel.tree) or ""
        comment = [f"/* {document.splitlines()[0].replace('*/', '')} */"] if document else []
        return "\n".join([*comment, signature, "{", *_indented([*lines, *self.lines]), "}"])

    def effect(self, codes: Sequence[_Text]) -> int:
        """Return the strongest side effect among operands that C may evaluate in any order.

        An error is raised if the order of evaluation could change the result.
        """
        effects = [code.effect for code in codes if code.effect]
        if CHANGES in effects and len(effects) > 1:
            raise FlexarmError(
                f"{self.kernel.at(1)}: '{codes[0].text}' and '{codes[-1].text}' are operands of "
                "one expression, and one of them is a call with side effects. Assign its result "
                "to a name first."
            )
        return max(effects, default=CONSTANT)

    def constant(self, value: Any, kind: Any) -> _Text:
        if kind is float:
            text = "NAN" if math.isnan(value) else repr(float(value)).replace("inf", "HUGE_VAL")
        else:
            text = "-0x7fffffffffffffff - 1" if value == -(2**63) else str(int(value))
        level = SUM if " " in text else UNARY if text.startswith("-") else ATOM
        return _Text(text, level, CONSTANT)

    def local(self, name: str, kind: Any) -> _Text:
        return _Text(name)

    def assign_local(self, name: str, kind: Any, code: _Text) -> None:
        if name not in dict(self.parameters):
            if kind not in SCALARS:
                raise FlexarmError(f"{self.kernel.at(1)}: '{name}' must be a number in C")
            self.own[name] = f"{SCALARS[kind]} {name} = 0"
        self.lines.append(f"{name} = {code.text};")

    def reserve(self, name: str, count: int) -> None:
        declared = f"double {name}[{count}]"
        if self.own.setdefault(name, declared) != declared:
            raise FlexarmError(f"{self.kernel.at(1)}: '{name}' must have one length in C")
        self.lines.append(f"memset({name}, 0, sizeof {name});")

    def hold(self, kind: Any, code: _Text) -> _Text:
        self.held += 1
        self.lines.append(f"const {SCALARS[kind]} held{self.held} = {code.text};")
        return _Text(f"held{self.held}")

    def operate(self, op: str, kind: Any, *codes: _Text) -> _Text:
        effect = self.effect(codes)
        if op in OPERATORS:
            level, (left, right) = OPERATORS[op], codes
            left_level = level if level > ORDER else SUM
            right_level = level + 1 if level > ORDER else SUM
            return _Text(
                f"{left.within(left_level)} {op} {right.within(right_level)}", level, effect
            )
        if op in PREFIXES:
            inner_text = codes[0].within(UNARY)
            text = f"({inner_text})" if inner_text[0] == "-" else inner_text
            return _Text(f"{PREFIXES[op]}{text}", UNARY, effect)
        name = op
        if (op, kind) in HELPERS:
            self.module.helpers.add((op, kind))
            name = HELPERS[op, kind].partition("(")[0].rpartition(" ")[2]
        return _Text(f"{name}({', '.join(code.text for code in codes)})", ATOM, effect)

    def decide(self, parts: Iterator[_Text], count: int, *, until: bool) -> _Text:
        codes = list(parts)
        if count == 1:
            return codes[0]
        text = (" || " if until else " && ").join(code.within(EQUALITY) for code in codes)
        return _Text(text, LOGIC, max(code.effect for code in codes))

    def choose(
        self, test: Callable[[], Any], yes: Callable[[], Any], no: Callable[[], Any]
    ) -> _Text:
        codes = (test(), yes(), no())
        text = "{} ? {} : {}".format(*(code.within(LOGIC) for code in codes))
        return _Text(text, CHOICE, max(code.effect for code in codes))

    def element(self, array: _Text, kind: Any, index: _Text) -> _Text:
        text = f"{array.within(ATOM)}[{index.text}]"
        return _Text(text, ATOM, max(READS, self.effect([array, index])))

    def field(self, record: _Text, kind: type[Record], name: str) -> _Text:
        kind = self.module.record(kind)
        self.module.fields.setdefault(kind, {})[name] = None
        return _Text(f"{record.within(ATOM)}->{name}")

    def view(self, array: _Text, kind: Any, first: _Text) -> _Text:
        return self.operate("+", int, array, first)

    def load(self, place: Place) -> Any:
        return place.code

    def store(self, place: Place, code: _Text) -> None:
        self.effect([place.code, code])
        self.lines.append(f"{place.code.text} = {code.text};")

    def call(self, kernel: LoopSource, codes: Sequence[_Text]) -> _Text:
        writes = self.module.reader.writes(kernel)
        effect = CHANGES if writes.fields or writes.parameters else READS
        text = f"{self.module.function(kernel)}({', '.join(code.text for code in codes)})"
        return _Text(text, ATOM, max(effect, self.effect(codes)))

    def call_address(self, node: ast.Call, result: Any, codes: Sequence[_Text]) -> Any:
        bound = self.module.reader.bound.get(getattr(node.args[0], "attr", ""))
        if isinstance(bound, LoopSource):
            return self.call(bound, codes[1:])
        return self.refuse(node, "calls by an unknown address are not for C")

    def discard(self, code: _Text) -> None:
        self.lines.append(f"{code.text};")

    def give(self, code: _Text | None) -> None:
        self.lines.append("return;" if code is None else f"return {code.text};")

    def branch(
        self, test: Callable[[], Any], yes: Callable[[], bool], no: Callable[[], bool]
    ) -> None:
        self.lines.append(f"if ({test().text}) {{")
        yes()
        position = len(self.lines)
        no()
        self.lines[position:position] = ["} else {"] if len(self.lines) > position else []
        self.lines.append("}")

    def repeat(
        self, node: ast.While, test: Callable[[], Any] | None, body: Callable[[], bool]
    ) -> None:
        self.lines.append(f"while ({'1' if test is None else test().text}) {{")
        body()
        self.lines.append("}")

    def count(self, node: ast.For, name: str, rounds: Rounds, body: Callable[[], bool]) -> None:
        stop, step = rounds.stop.code, rounds.step
        # the loop body might change the value
        if stop.effect and stop.text not in dict(self.parameters):
            stop = self.hold(int, stop)
        increment = f"++{name}" if step == 1 else f"{name} += {step}"
        test = f"{name} {'<' if step > 0 else '>'} {stop.within(SUM)}"
        self.lines.append(
            f"for (long long {name} = {rounds.first.code.text}; {test}; {increment}) {{"
        )
        body()
        self.lines.append("}")

    def leave(self, *, again: bool) -> None:
        self.lines.append("continue;" if again else "break;")


def _indented(lines: Sequence[str]) -> list[str]:
    """Return lines of C code, indented according to their braces."""
    indented, depth = [], 1
    for line in lines:
        depth -= line.startswith("}")
        indented.append("    " * depth + line)
        depth += line.endswith("{")
    return indented
