"""Expressions that several functions of one arm have in common, traced once."""

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from casadi import SX

T = TypeVar("T")
KEPT = 4  # owners whose expressions a thread remembers
_mine = threading.local()


def once(owner: object, what: Hashable, symbols: Sequence[Any], make: Callable[[], T]) -> T:
    """Trace something of an arm at some symbols, or take what this thread traced before.

    Parameters
    ----------
    owner
        What is traced, such as a model: it must not change.  The expressions of the last few
        owners are remembered.
    what
        Tells it from other things that are traced of the same owner.
    symbols
        What it depends on besides; numbers are not remembered.
    make
        Traces it; what it returns must not be changed either.
    """
    if not all(isinstance(each, SX) for each in symbols):
        return make()
    memory: dict[int, dict[Any, Any]] = _mine.__dict__.setdefault("memory", {})
    known = memory.pop(id(owner), {"owner": owner})
    memory[id(owner)] = known  # the last one asked for
    if len(memory) > KEPT:
        del memory[next(iter(memory))]
    key = (what, *map(_nodes, symbols))
    if key not in known:
        known[key] = make(), symbols  # a node's number is its own for as long as it is kept
    found: T = known[key][0]
    return found


def _nodes(matrix: SX) -> tuple[int, ...]:
    """Return a key of an expression: its sparsity and the hashes of its nodes."""
    nodes: list[Any] = matrix.elements()
    return (*matrix.sparsity().compress(), *(node.element_hash() for node in nodes))
