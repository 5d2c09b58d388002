"""Operators of symbols the short way are CasADi's own."""

import gc
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


def outcome(operate: Callable[..., Any], *operands: Any) -> tuple[Any, ...]:
    """Type, structure and expression of a result, or the kind of error."""
    try:
        result = operate(*operands)
    except Exception as error:
        return (type(error),)
    if not isinstance(result, ca.SX):
        return type(result), str(result)
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


BOTH = (operator.matmul, ca.vertcat, ca.horzcat, ca.dot, ca.fmax, ca.solve, ca.jacobian)
ONE = (
    ca.SX,
    ca.MX,
    ca.DM,
    ca.cos,
    ca.densify,
    ca.sparsify,
    ca.evalf,
    ca.sum1,
    np.array,
    float,
    bool,
)


@pytest.mark.parametrize("function", [*BOTH, *ONE], ids=lambda function: function.__name__)
def test_other_functions_give_and_refuse_what_they_do_without(function: Callable[..., Any]) -> None:
    count = 2 if function in BOTH else 1
    expected = [outcome(function, *given) for given in product(OPERANDS, repeat=count)]
    with direct_operators():
        found = [outcome(function, *given) for given in product(OPERANDS, repeat=count)]
    assert found == expected


def test_they_are_gone_after_the_last_user_even_if_it_fails() -> None:
    inherited = ca.SX.__mul__

    @direct_operators()
    def failing() -> None:
        with direct_operators():
            pass
        assert ca.SX.__mul__ is not inherited
        assert not gc.isenabled()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert gc.isenabled()
    assert ca.SX.__mul__ is inherited
    assert "__mul__" not in vars(ca.SX)
    assert not hasattr(ca.SX, "__DM__")
    assert not hasattr(ca.DM, "__DM__")
    assert not hasattr(ca.SX, "__MX__")
    assert not hasattr(ca.DM, "__MX__")
    assert "size" not in vars(ca.SX)


def test_symbols_say_their_size() -> None:
    with direct_operators():
        assert [X.size(), X.size(1), X[:, 0].size(2)] == [(2, 2), 2, 1]
