"""Sums of products as chains, in which each product and its sum are one instruction."""

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from flexarm.engine.stream import ADDITIONS, Operation, Store, Stream


class _Term(NamedTuple):
    """Summand of a sum, with its sign."""

    value: int
    minus: bool


def chained(stream: Stream) -> Stream:
    """Add the summands one after the other, starting with one that is no product.

    Parameters
    ----------
    stream
        The operations; what comes early in their order comes early in sums.

    Returns
    -------
    Stream
        The same sums, rounded otherwise: of x + (a b + c d), which takes a product, a fused one and
        a sum, (x + a b) + c d takes two fused ones.
    """
    return _Chains(stream).stream()


class _Chains:
    def __init__(self, stream: Stream) -> None:
        self._old, self._first = stream, stream.first_operation
        uses = Counter(value for each in stream.operations for value in each.operands)
        uses.update(store.value for store in stream.stores)
        added = {
            value
            for op, *operands in stream.operations
            if op in ADDITIONS
            for value in operands
            if value >= self._first and uses[value] == 1
        }
        # Sums and products that one sum alone uses: they are part of it.
        self._inner = {value for value in added if self._operation(value).op in ADDITIONS}
        self._products = {value for value in added if self._operation(value).op == "mul"}
        self._operations: list[Operation] = []
        self._new: dict[int, int] = {}  # numbers of values by those that they had

    def stream(self) -> Stream:
        """Return the stream with its sums written as chains."""
        for value, (op, a, b) in enumerate(self._old.operations, self._first):
            if value in self._inner or value in self._products:
                continue
            if op in ADDITIONS:
                self._new[value] = self._chain(self._terms(value))
            else:
                self._new[value] = self._write(op, self._of(a), self._of(b))
        stores = [Store(port, k, self._of(value)) for port, k, value in self._old.stores]
        return replace(self._old, operations=tuple(self._operations), stores=tuple(stores))

    def _operation(self, value: int) -> Operation:
        return self._old.operations[value - self._first]

    def _terms(self, value: int) -> list[_Term]:
        """List the summands of a sum in their order."""
        found, left = [], [_Term(value, minus=False)]
        while left:
            term = left.pop()
            if term.value != value and term.value not in self._inner:
                found.append(term)
                continue
            op, a, b = self._operation(term.value)
            left += [_Term(a, term.minus), _Term(b, term.minus != (op == "sub"))]
        return sorted(found, key=self._when)

    def _when(self, term: _Term) -> tuple[bool, int]:
        if term.value in self._products:
            return True, max(self._operation(term.value).operands)
        return False, term.value

    def _chain(self, terms: list[_Term]) -> int:
        """Write a sum."""
        (first, minus), (second, less), *others = terms
        total, other = self._bring(first), self._bring(second)
        if minus and less:
            total = self._write("neg", total)
        total = (
            self._write("sub", other, total)
            if minus and not less
            else self._write("sub" if less else "add", total, other)
        )
        for value, less in others:
            total = self._write("sub" if less else "add", total, self._bring(value))
        return total

    def _bring(self, value: int) -> int:
        if value not in self._products:
            return self._of(value)
        op, a, b = self._operation(value)
        return self._write(op, self._of(a), self._of(b))

    def _of(self, value: int) -> int:
        return self._new.get(value, value)

    def _write(self, op: str, a: int, b: int = -1) -> int:
        self._operations.append(Operation(op, a, b))
        return self._first + len(self._operations) - 1
