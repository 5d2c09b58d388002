"""Cache of computed results by their inputs, since arms often have equal links."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar, cast

from flexarm.links.constants import CACHED_RESULTS

S = TypeVar("S")
T = TypeVar("T")
_results: dict[Any, Any] = {}


def remembered(key: Hashable, make: Callable[[], T], same: object = None) -> T:
    """Return the cached result for a key and the same object, or compute and store it.

    The object ``same`` is compared by its identity, which is unique while the result is cached.
    The least recently used result is dropped when the cache is full.
    """
    full_key = (key, id(same))
    try:
        entry = _results.pop(full_key)
    except KeyError:
        entry = make(), same
    _results[full_key] = entry  # most recently used last
    if len(_results) > CACHED_RESULTS:
        _results.pop(next(iter(_results)), None)
    return cast(T, entry[0])


def kept(make: Callable[[S], T]) -> Callable[[S], T]:
    """Return a function of a link or an arm with its results cached by the object's identity."""
    return wraps(make)(lambda part: remembered(make, lambda: make(part), part))
