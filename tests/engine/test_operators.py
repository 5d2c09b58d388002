"""Operators of symbols the short way are CasADi's own."""

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import casadi as ca
import numpy as np
import pytest

from flexarm.engine.operators import direct_operators

X = ca.SX.sym("x", 2, 2)
SPARSE = ca.SX(2, 2)
SPARSE[0, 1] = ca.SX.sym("s")
OPERANDS: list[Any] = [
    X, SPARSE, X[0, 0], X[:, 0], ca.SX(2, 2), ca.SX(3.0), 0, 1, True, 2.5, 0.0, np.float64(-1.5),
    np.int64(3), np.array([[1.0, 0.0], [2.0, 3.0]]), np.array([4.0, 5.0]), ca.DM([[1, 0], [0, 2]]),
]  # fmt: skip


def outcome(operate: Callable[[Any, Any], Any], x: Any, y: Any) -> tuple[Any, ...]:
    """Type, structure and expression of a result, or the kind of error."""
    try:
        result = operate(x, y)
    except Exception as error:
        return (type(error),)
    assert isinstance(result, ca.SX)
    return result.shape, result.sparsity().row(), result.sparsity().colind(), str(result)


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "truediv", "pow", "iadd", "isub", "imul", "itruediv", "ipow"]
)
def test_results_and_refusals_are_casadis(name: str) -> None:
    operate = getattr(operator, name)
    given = [(x, y) for x, y in product(OPERANDS, OPERANDS) if ca.SX in (type(x), type(y))]
    expected = [outcome(operate, x, y) for x, y in given]
    with direct_operators():
        found = [outcome(operate, x, y) for x, y in given]
    assert found == expected


def test_they_are_gone_after_the_last_user_even_if_it_fails() -> None:
    inherited = ca.SX.__mul__

    @direct_operators()
    def failing() -> None:
        with direct_operators():
            pass
        assert ca.SX.__mul__ is not inherited
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert ca.SX.__mul__ is inherited
    assert "__mul__" not in vars(ca.SX)
