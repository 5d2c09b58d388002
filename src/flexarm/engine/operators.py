"""Sums, products, quotients and powers of symbols the short way, while an equation is traced.

For each operation CasADi's Python layer tries its signatures in turn, those for numbers first,
which takes ten times as long as the operation itself.  `SX.binary` has one signature.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import casadi
from casadi import SX

Operator = Callable[[Any, Any], Any]
_CODES = {
    "add": casadi.OP_ADD, "sub": casadi.OP_SUB, "mul": casadi.OP_MUL, "truediv": casadi.OP_DIV,
    "pow": casadi.OP_POW,
}  # fmt: skip
_lock = Lock()
_users = 0


@contextmanager
def direct_operators() -> Iterator[None]:
    """Let + - * / ** of an `SX` with an `SX` or a number make the same nodes without the search."""
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
            for name in _DIRECT:
                delattr(SX, name)
        elif _users == 0:
            for name, operator in _DIRECT.items():
                setattr(SX, name, operator)
        _users += change


def _direct(code: int, inherited: Operator) -> Operator:
    def operator(x: SX, y: Any) -> Any:
        return SX.binary(code, x, y) if isinstance(y, SX | float | int) else inherited(x, y)

    return operator


def _reflected(code: int, inherited: Operator) -> Operator:
    def operator(x: SX, y: Any) -> Any:
        return SX.binary(code, y, x) if isinstance(y, float | int) else inherited(x, y)

    return operator


_DIRECT: dict[str, Operator] = {
    f"__{side}{name}__": make(code, getattr(SX, f"__{side}{name}__"))
    for name, code in _CODES.items()
    for side, make in (("", _direct), ("i", _direct), ("r", _reflected))
}
