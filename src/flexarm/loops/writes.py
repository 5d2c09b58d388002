"""Analysis of the record fields that a kernel, and all kernels that it calls, may write to."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from flexarm.loops.language import LoopSource, run_equations, run_kernel


def written_fields(kernel: LoopSource, bound: Mapping[str, LoopSource | str]) -> frozenset[str]:
    """Return the names of record fields that a kernel may change, or change an element of.

    Parameters
    ----------
    kernel
        The kernel.
    bound
        By name of the record field that contains an address: the kernel, or the name of the
        equations, that is called there.  Fields that equations write are not included.
    """
    return frozenset(KernelReader(bound).writes(kernel).fields)


@dataclass
class _Writes:
    """Record fields that a kernel writes, and positions of parameters whose elements it writes."""

    fields: set[str] = field(default_factory=set)
    parameters: set[int] = field(default_factory=set)


class KernelReader:
    """Analysis of the writes and calls of kernels; every kernel's writes are found once."""

    def __init__(self, bound: Mapping[str, LoopSource | str]) -> None:
        self.bound = bound
        self.known: dict[int, _Writes] = {}

    def writes(self, kernel: LoopSource) -> _Writes:
        """Return the record fields and the parameters that a kernel writes."""
        if id(kernel) not in self.known:
            self.known[id(kernel)] = found = _Writes()
            names, aliases = list(kernel.hints)[:-1], _aliases(kernel.tree)
            for target in self._targets(kernel):
                for root in _roots(target, aliases):
                    if isinstance(root, ast.Attribute):
                        found.fields.add(root.attr)
                    elif isinstance(root, ast.Name) and root.id in names:
                        found.parameters.add(names.index(root.id))
            for called in self._called(kernel):
                found.fields |= self.writes(called).fields
        return self.known[id(kernel)]

    def reached(self, kernel: LoopSource) -> list[LoopSource]:
        """Return a kernel and all kernels that it calls, directly or indirectly."""
        found = {id(kernel): kernel}
        for each in self._called(kernel):
            if id(each) not in found:
                found |= {id(other): other for other in self.reached(each)}
        return list(found.values())

    def _targets(self, kernel: LoopSource) -> list[ast.expr]:
        """Return assigned elements and fields, and call arguments that a called kernel writes."""
        found: list[ast.expr] = []
        for node in ast.walk(kernel.tree):
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
                found.append(node)
            elif isinstance(node, ast.Call):
                called = _function(node, kernel)
                if isinstance(called, LoopSource):
                    written = self.writes(called).parameters
                    found += [each for k, each in enumerate(node.args) if k in written]
        return found

    def _called(self, kernel: LoopSource) -> list[LoopSource]:
        """Return the kernels that a kernel calls directly."""
        found: list[LoopSource] = []
        for node in ast.walk(kernel.tree):
            if isinstance(node, ast.Call):
                called: object = _function(node, kernel)
                if called is run_kernel or called is run_equations:
                    called = self.bound.get(getattr(node.args[0], "attr", ""))
                if isinstance(called, LoopSource):
                    found.append(called)
        return found


def _function(node: ast.Call, kernel: LoopSource) -> object:
    return kernel.globals.get(node.func.id) if isinstance(node.func, ast.Name) else None


def _aliases(tree: ast.FunctionDef) -> dict[str, ast.expr]:
    """Return the expressions assigned to names that may refer to a field or a view, by name."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value
            view = isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)
            if view or isinstance(value, ast.Attribute | ast.Name | ast.IfExp):
                found[node.targets[0].id] = value
    return found


def _roots(node: ast.expr, aliases: Mapping[str, ast.expr]) -> list[ast.expr]:
    """Return the fields and names to which an element, view or conditional expression refers."""
    if isinstance(node, ast.Subscript):
        return _roots(node.value, aliases)
    if isinstance(node, ast.IfExp):
        return [*_roots(node.body, aliases), *_roots(node.orelse, aliases)]
    if isinstance(node, ast.Name) and node.id in aliases:
        others = {name: value for name, value in aliases.items() if name != node.id}
        return _roots(aliases[node.id], others)
    return [node]
