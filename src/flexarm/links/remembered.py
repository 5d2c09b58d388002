"""Cache of computed results by their inputs, since arms often have equal links."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar, cast

from flexarm.links.constants import CACHED_RESULTS

S = TypeVar("S")
T = TypeVar("T")
_results: dict[Any, Any] = {}


def remembered(key: Hashable, make: Callable[[], T]) -> T:
    """Return the cached result for a key, or compute and store it.

    The least recently used result is dropped when the cache is full.
    """
    try:
        result = _results.pop(key)
    except KeyError:
        result = make()
    _results[key] = result  # most recently used last
    if len(_results) > CACHED_RESULTS:
        _results.pop(next(iter(_results)), None)
    return cast(T, result)


class Same:
    """Hashable key for an object, compared by the object's identity."""

    def __init__(self, what: object) -> None:
        self.what = what

    def __eq__(self, other: object) -> bool:
        """Return whether both keys refer to the same object."""
        return isinstance(other, Same) and other.what is self.what

    def __hash__(self) -> int:
        """Return the identity of the object, which is unique while the key exists."""
        return id(self.what)


def kept(make: Callable[[S], T]) -> Callable[[S], T]:
    """Return a function of a link or an arm with its results cached by the object's identity."""
    return wraps(make)(lambda part: remembered((make, Same(part)), lambda: make(part)))
