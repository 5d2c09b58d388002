"""Operations on symbols the short way, while an equation is traced.

For each operation CasADi's Python layer tries its signatures in turn, those for numbers first,
which takes ten times as long as the operation itself.  `SX.binary`, for sums, products, quotients
and powers, has one signature; whatever else is called learns at once that a symbol is no number,
no array of one and no sequence.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import casadi
from casadi import DM, SX, GenSX

Operator = Callable[[Any, Any], Any]
_CODES = {
    "add": casadi.OP_ADD, "sub": casadi.OP_SUB, "mul": casadi.OP_MUL, "truediv": casadi.OP_DIV,
    "pow": casadi.OP_POW,
}  # fmt: skip
_NUMBERS = (float, int)
_PLAIN = (SX, float, int)
_lock = Lock()
_users = 0


@contextmanager
def direct_operators() -> Iterator[None]:
    """Speed up + - * / ** of an `SX` with an `SX` or a number; they create the same nodes.

    Other functions search for half as long: asked for its numbers, an `SX` says that it has none.
    """
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def _count(change: int) -> None:
    """Enter or leave: the first to enter puts the operators in place, the last takes them away."""
    global _users
    with _lock:
        if _users + change == 0:
            for kind, name in _DIRECT:
                delattr(kind, name)
        elif _users == 0:
            for (kind, name), method in _DIRECT.items():
                setattr(kind, name, method)
        _users += change


def _direct(code: int, inherited: Operator) -> Operator:
    def operator(x: SX, y: Any) -> Any:
        return SX.binary(code, x, y) if isinstance(y, _PLAIN) else inherited(x, y)

    return operator


def _reflected(code: int, inherited: Operator) -> Operator:
    def operator(x: SX, y: Any) -> Any:
        return SX.binary(code, y, x) if isinstance(y, _NUMBERS) else inherited(x, y)

    return operator


def _none(x: SX | DM) -> None:
    """Answer CasADi, which else looks through an `SX` for all that could make it numbers."""


class _Size(int):
    """Stand-in for `SX.size` that is also a number, as CasADi expects of an array's size."""

    of: SX

    def __call__(self, *axis: int) -> Any:
        return GenSX.size(self.of, *axis)


def _size(x: SX) -> _Size:
    """Answer CasADi, which takes long to see that a method is no number."""
    size = _Size()
    size.of = x
    return size


def _itself(x: DM) -> DM:
    """Answer CasADi, which else looks through numbers for what could make them symbols."""
    return x


_DIRECT: dict[tuple[type, str], Any] = {
    (SX, f"__{side}{name}__"): make(code, getattr(SX, f"__{side}{name}__"))
    for name, code in _CODES.items()
    for side, make in (("", _direct), ("i", _direct), ("r", _reflected))
} | {
    (SX, "__DM__"): _none, (SX, "__MX__"): _none, (SX, "size"): property(_size),
    (DM, "__DM__"): _itself, (DM, "__MX__"): _none,
}  # fmt: skip
