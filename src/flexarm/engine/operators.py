"""Faster operators of CasADi symbols while an equation is traced.

For each operation, CasADi's Python layer tries all call signatures in turn, first those for
numbers, which takes ten times as long as the operation itself. The method `SX.binary`, for sums,
products, quotients and powers, has only one signature. For all other functions, the operators here
make CasADi detect immediately that a symbol is no number, no array of numbers and no sequence.
"""

import gc
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
_collected = True  # whether garbage collection was on before


@contextmanager
def direct_operators() -> Iterator[None]:
    """Speed up + - * / ** of an `SX` with an `SX` or a number within a ``with`` block.

    The resulting expressions are the same as without the speed-up. Other CasADi functions find
    their signature in half the time, since an `SX` immediately reports that it is not numeric.
    Garbage collection is paused, since it would take a tenth of the time and find nothing to free
    among ten thousand expressions in use.
    """
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def _count(change: int) -> None:
    """Count the users of the fast operators; install them for the first, remove them at the end."""
    global _users, _collected
    with _lock:
        if _users + change == 0:
            for kind, name in _DIRECT:
                delattr(kind, name)
            if _collected:
                gc.enable()
        elif _users == 0:
            for (kind, name), method in _DIRECT.items():
                setattr(kind, name, method)
            _collected = gc.isenabled()
            gc.disable()
        _users += change


def _direct(code: int, inherited: Operator, side: str) -> Operator:
    """Return a fast operator with the symbol on the left, or on the right if ``side`` is ``r``."""
    if side == "r":
        return lambda x, y: SX.binary(code, y, x) if isinstance(y, _NUMBERS) else inherited(x, y)
    return lambda x, y: SX.binary(code, x, y) if isinstance(y, _PLAIN) else inherited(x, y)


def _none(x: SX | DM) -> None:
    """Return None, which stops CasADi from trying to convert an `SX` to numbers."""


class _Size(int):
    """Replacement of the method `SX.size` that is also an int, which CasADi tests first."""

    of: SX

    def __call__(self, *axis: int) -> Any:
        return GenSX.size(self.of, *axis)


def _size(x: SX) -> _Size:
    """Return the size of an `SX` as an int, which CasADi tests faster than a method."""
    size = _Size()
    size.of = x
    return size


def _itself(x: DM) -> DM:
    """Return the argument unchanged, so that CasADi does not try to convert numbers to symbols."""
    return x


_DIRECT: dict[tuple[type, str], Any] = {
    (SX, f"__{side}{name}__"): _direct(code, getattr(SX, f"__{side}{name}__"), side)
    for name, code in _CODES.items()
    for side in ("", "i", "r")
} | {
    (SX, "__DM__"): _none, (SX, "__MX__"): _none, (SX, "size"): property(_size),
    (DM, "__DM__"): _itself, (DM, "__MX__"): _none,
}  # fmt: skip
