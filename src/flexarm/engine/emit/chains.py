"""Rewriting of sums of products as chains of fused multiply-adds."""

from collections import Counter
from dataclasses import replace
from typing import NamedTuple

from flexarm.engine.stream import ADDITIONS, Operation, Store, Stream


class _Term(NamedTuple):
    """A summand of a sum: the number of its value, and whether its sign is minus."""

    value: int
    minus: bool


def chained(stream: Stream) -> Stream:
    """Return the stream with each sum rewritten as a chain that adds one summand at a time.

    If a sum has a summand that is not a product, its chain starts with this summand.

    Parameters
    ----------
    stream
        Operations of a function. The summands of each sum are added in the order in which they are
        computed.

    Returns
    -------
    Stream
        The function with the same sums, rounded differently. For example, x + (a b + c d) takes a
        product, a fused multiply-add and a sum. The chain (x + a b) + c d takes two fused
        multiply-adds.
    """
    return _Chains(stream).stream()


class _Chains:
    def __init__(self, stream: Stream) -> None:
        self._old, self._first = stream, stream.first_operation
        uses = Counter(value for operation in stream.operations for value in operation.operands)
        uses.update(store.value for store in stream.stores)
        summands = {
            value
            for op, *operands in stream.operations
            if op in ADDITIONS
            for value in operands
            if value >= self._first and uses[value] == 1
        }
        # Sums and products that only a single sum uses; they become part of this sum.
        self._inner = {value for value in summands if self._operation(value).op in ADDITIONS}
        self._products = {value for value in summands if self._operation(value).op == "mul"}
        self._operations: list[Operation] = []
        self._new: dict[int, int] = {}  # new numbers of values by old ones

    def stream(self) -> Stream:
        """Return the stream of operations with each sum rewritten as a chain."""
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
        """Return the summands of a sum, products last, both in the order of computation."""
        terms, pending = [], [_Term(value, minus=False)]
        while pending:
            term = pending.pop()
            if term.value != value and term.value not in self._inner:
                terms.append(term)
                continue
            op, a, b = self._operation(term.value)
            pending += [_Term(a, term.minus), _Term(b, term.minus != (op == "sub"))]
        return sorted(terms, key=self._order_of)

    def _order_of(self, term: _Term) -> tuple[bool, int]:
        if term.value in self._products:
            return True, max(self._operation(term.value).operands)
        return False, term.value

    def _chain(self, terms: list[_Term]) -> int:
        """Append the operations of a sum to the stream; return the number of the sum's value."""
        (first, minus), (second, subtract), *further = terms
        total, second_value = self._new_value(first), self._new_value(second)
        if minus and subtract:
            total = self._write("neg", total)
        total = (
            self._write("sub", second_value, total)
            if minus and not subtract
            else self._write("sub" if subtract else "add", total, second_value)
        )
        for value, subtract in further:
            total = self._write("sub" if subtract else "add", total, self._new_value(value))
        return total

    def _new_value(self, value: int) -> int:
        if value not in self._products:
            return self._of(value)
        op, a, b = self._operation(value)
        return self._write(op, self._of(a), self._of(b))

    def _of(self, value: int) -> int:
        return self._new.get(value, value)

    def _write(self, op: str, a: int, b: int = -1) -> int:
        self._operations.append(Operation(op, a, b))
        return self._first + len(self._operations) - 1
