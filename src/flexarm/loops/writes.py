"""Fields of records that a kernel, and all that it calls, may write to."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from flexarm.loops.language import LoopSource, run_equations, run_kernel


def written_fields(kernel: LoopSource, bound: Mapping[str, LoopSource | str]) -> frozenset[str]:
    """List the names of fields that a kernel may change, or change an element of.

    Parameters
    ----------
    kernel
        The kernel.
    bound
        Kernels and equations that are called by the address in a field, by its name; what equations
        write is not listed.
    """
    return frozenset(KernelReader(bound).writes(kernel).fields)


@dataclass
class _Writes:
    """Fields that a kernel writes, and parameters whose elements it writes."""

    fields: set[str] = field(default_factory=set)
    parameters: set[int] = field(default_factory=set)


class KernelReader:
    """Reads kernels, each once."""

    def __init__(self, bound: Mapping[str, LoopSource | str]) -> None:
        self.bound = bound
        self.known: dict[int, _Writes] = {}

    def writes(self, kernel: LoopSource) -> _Writes:
        """Return the fields and parameters that a kernel writes."""
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
        """List a kernel and all that it calls, directly or not."""
        found = {id(kernel): kernel}
        for each in self._called(kernel):
            if id(each) not in found:
                found |= {id(other): other for other in self.reached(each)}
        return list(found.values())

    def _targets(self, kernel: LoopSource) -> list[ast.expr]:
        """List what is assigned to but for plain names, and arguments that others write."""
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
        """List the kernels that a kernel calls."""
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
    """List names that stand for a field or a view of one."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value
            view = isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)
            if view or isinstance(value, ast.Attribute | ast.Name | ast.IfExp):
                found[node.targets[0].id] = value
    return found


def _roots(node: ast.expr, aliases: Mapping[str, ast.expr]) -> list[ast.expr]:
    """List the fields and parameters that an element, a view or a choice of them is part of."""
    if isinstance(node, ast.Subscript):
        return _roots(node.value, aliases)
    if isinstance(node, ast.IfExp):
        return [*_roots(node.body, aliases), *_roots(node.orelse, aliases)]
    if isinstance(node, ast.Name) and node.id in aliases:
        others = {name: value for name, value in aliases.items() if name != node.id}
        return _roots(aliases[node.id], others)
    return [node]
