"""Analysis of the record fields that a kernel and the kernels it calls may write to."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from flexarm.loops.language import LoopSource, run_equations, run_kernel


def written_fields(kernel: LoopSource, bound: Mapping[str, LoopSource | str]) -> frozenset[str]:
    """Return the names of record fields whose value or elements a kernel may change.

    Parameters
    ----------
    kernel
        Kernel to analyse.
    bound
        Kernel, or name of the equations, that is called by an address, by name of the record field
        with this address. Fields that equations write are not part of the result.
    """
    return frozenset(KernelReader(bound).writes(kernel).fields)


@dataclass
class _Writes:
    """Record fields that a kernel writes, and indices of array parameters that it writes."""

    fields: set[str] = field(default_factory=set)
    parameters: set[int] = field(default_factory=set)


class KernelReader:
    """Analysis of the writes and calls of kernels, each analysed once."""

    def __init__(self, bound: Mapping[str, LoopSource | str]) -> None:
        self.bound = bound
        self.known: dict[int, _Writes] = {}

    def writes(self, kernel: LoopSource) -> _Writes:
        """Return the record fields and the array parameters that a kernel writes."""
        if id(kernel) not in self.known:
            self.known[id(kernel)] = kernel_writes = _Writes()
            names, aliases = list(kernel.hints)[:-1], _aliases(kernel.tree)
            for target in self._targets(kernel):
                for root in _roots(target, aliases):
                    if isinstance(root, ast.Attribute):
                        kernel_writes.fields.add(root.attr)
                    elif isinstance(root, ast.Name) and root.id in names:
                        kernel_writes.parameters.add(names.index(root.id))
            for callee in self._called(kernel):
                kernel_writes.fields |= self.writes(callee).fields
        return self.known[id(kernel)]

    def reached(self, kernel: LoopSource) -> list[LoopSource]:
        """Return a kernel and all kernels that it calls, directly or indirectly."""
        kernels = {id(kernel): kernel}
        for callee in self._called(kernel):
            if id(callee) not in kernels:
                kernels |= {id(inner): inner for inner in self.reached(callee)}
        return list(kernels.values())

    def _targets(self, kernel: LoopSource) -> list[ast.expr]:
        """Return elements and fields assigned by a kernel, directly or by a called kernel."""
        targets: list[ast.expr] = []
        for node in ast.walk(kernel.tree):
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
                targets.append(node)
            elif isinstance(node, ast.Call):
                callee = _function(node, kernel)
                if isinstance(callee, LoopSource):
                    written_positions = self.writes(callee).parameters
                    targets += [
                        argument for k, argument in enumerate(node.args) if k in written_positions
                    ]
        return targets

    def _called(self, kernel: LoopSource) -> list[LoopSource]:
        """Return the kernels that a kernel calls directly."""
        callees: list[LoopSource] = []
        for node in ast.walk(kernel.tree):
            if isinstance(node, ast.Call):
                callee: object = _function(node, kernel)
                if callee is run_kernel or callee is run_equations:
                    callee = self.bound.get(getattr(node.args[0], "attr", ""))
                if isinstance(callee, LoopSource):
                    callees.append(callee)
        return callees


def _function(node: ast.Call, kernel: LoopSource) -> object:
    return kernel.globals.get(node.func.id) if isinstance(node.func, ast.Name) else None


def _aliases(tree: ast.FunctionDef) -> dict[str, ast.expr]:
    """Return the fields or views that each local name of a kernel may stand for."""
    aliases: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value
            is_view = isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice)
            if is_view or isinstance(value, ast.Attribute | ast.Name | ast.IfExp):
                aliases[node.targets[0].id] = value
    return aliases


def _roots(node: ast.expr, aliases: Mapping[str, ast.expr]) -> list[ast.expr]:
    """Return the fields and local names to which an expression refers."""
    if isinstance(node, ast.Subscript):
        return _roots(node.value, aliases)
    if isinstance(node, ast.IfExp):
        return [*_roots(node.body, aliases), *_roots(node.orelse, aliases)]
    if isinstance(node, ast.Name) and node.id in aliases:
        remaining = {name: value for name, value in aliases.items() if name != node.id}
        return _roots(aliases[node.id], remaining)
    return [node]
