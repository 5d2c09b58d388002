"""Cache of symbolic expressions that several equations of one arm share."""

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from casadi import SX

from flexarm.engine.constants import EXPRESSION_OWNERS

T = TypeVar("T")
_mine = threading.local()


def once(owner: object, kind: Hashable, symbols: Sequence[Any], make: Callable[[], T]) -> T:
    """Return the result of ``make``, cached for equal owner, kind and symbols.

    Parameters
    ----------
    owner
        Object whose equations are traced, such as a model; it must not change. Results are cached
        for the last few owners.
    kind
        Key that distinguishes different results of one owner.
    symbols
        Symbols on which the result depends. If one of them is a number, the result is not cached.
    make
        Function that computes the result. Callers must not change the returned object, since the
        object is cached.
    """
    if not all(isinstance(symbol, SX) for symbol in symbols):
        return make()
    memory: dict[int, dict[Any, Any]] = _mine.__dict__.setdefault("memory", {})
    results = memory.pop(id(owner), {"owner": owner})
    memory[id(owner)] = results  # the end of the dict: the latest owner
    if len(memory) > EXPRESSION_OWNERS:
        del memory[next(iter(memory))]
    key = (kind, *map(_nodes, symbols))
    if key not in results:
        results[key] = make(), symbols  # a node's hash is unique only while the node exists
    result: T = results[key][0]
    return result


def _nodes(matrix: SX) -> tuple[int, ...]:
    """Return a hashable key of a CasADi expression: its sparsity and the hashes of its nodes."""
    nodes: list[Any] = matrix.elements()
    return (*matrix.sparsity().compress(), *(node.element_hash() for node in nodes))
