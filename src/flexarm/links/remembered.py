"""Results kept in memory by what they depend on: arms mostly share links with others."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

REMEMBERED = 200  # results kept in memory, such as the shapes of a link
T = TypeVar("T")
_known: dict[Any, Any] = {}


def remembered(key: Hashable, make: Callable[[], T]) -> T:
    """Return what was made for an equal key, or make it; the least recently used one is dropped."""
    try:
        found = _known.pop(key)
    except KeyError:
        found = make()
    _known[key] = found  # the last to go
    if len(_known) > REMEMBERED:
        _known.pop(next(iter(_known)), None)
    return cast(T, found)


class Same:
    """An object as a key: equal to itself alone."""

    def __init__(self, what: object) -> None:
        self.what = what

    def __eq__(self, other: object) -> bool:
        """Compare."""
        return isinstance(other, Same) and other.what is self.what

    def __hash__(self) -> int:
        """Hash the identity, which lasts as long as the key."""
        return id(self.what)
