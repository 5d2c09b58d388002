"""Compiled code gives what CasADi gives, at every width, chunk size and level."""

from typing import get_args

import casadi
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexarm.engine.compile import Level, native_width
from flexarm.engine.emit.llvm import emit_llvm
from flexarm.engine.emit.plan import CHUNK
from flexarm.engine.lower import NAMES, lower
from flexarm.errors import FlexarmError
from tests.engine.expressions import BOUNDED, EXACT, SMOOTH, Case, compiled, evaluate, graphs, run

WIDTHS = sorted({1, 2, native_width()})
CHUNKS = [1, 7, 500]
LEVELS = list(get_args(Level))


def function_of(case: Case) -> casadi.Function:
    """Make a function of one operation."""
    x = casadi.SX.sym("x", case.operands)
    return casadi.Function("f", [x], [case.function(*casadi.vertsplit(x))])


def test_every_operation_that_can_be_read_is_tested_below() -> None:
    assert SMOOTH.keys() | EXACT.keys() == set(NAMES.values())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", sorted(SMOOTH))
def test_a_smooth_operation_is_that_of_casadi_to_the_last_digits(name: str, width: int) -> None:
    case = SMOOTH[name]
    function = function_of(case)
    assert name in {operation.op for operation in lower(function).operations}
    x = np.random.default_rng(0).uniform(case.low, case.high, size=(case.operands, 6 * width))
    np.testing.assert_allclose(
        run(compiled(function, width=width), x), evaluate(function, x), rtol=4e-16, atol=0.0
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", sorted(EXACT))
def test_an_exact_operation_is_that_of_casadi(name: str, width: int) -> None:
    case = EXACT[name]
    function = function_of(case)
    assert name in {operation.op for operation in lower(function).operations}
    pairs = np.array([(a, b) for a in range(-4, 5) for b in range(-4, 5)], dtype=float).T
    x = np.resize(pairs[: case.operands].T, (-(-81 // width) * width, case.operands)).T
    np.testing.assert_array_equal(run(compiled(function, width=width), x), evaluate(function, x))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["lt", "le", "eq", "ne", "not", "and", "or", "if_else_zero"])
def test_a_comparison_with_nan_is_that_of_casadi(name: str, width: int) -> None:
    function = function_of(EXACT[name])
    x = np.full((EXACT[name].operands, width), np.nan)
    x[-1, 0] = 2.0
    np.testing.assert_array_equal(run(compiled(function, width=width), x), evaluate(function, x))


@pytest.mark.parametrize("name", ["fabs", "sign", "sqrt", "fmin", "fmax", "sin", "exp", "div"])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 0.0])
def test_special_numbers_come_out_as_from_casadi(name: str, number: float) -> None:
    case = (SMOOTH | EXACT)[name]
    function = function_of(case)
    x = np.array([number, 2.0])[: case.operands, None]
    np.testing.assert_array_equal(run(compiled(function), x), evaluate(function, x))


@settings(deadline=None)
@given(
    graphs(list(EXACT.values())),
    st.sampled_from(WIDTHS),
    st.sampled_from(CHUNKS),
    st.sampled_from(LEVELS),
    st.integers(0, 2**32 - 1),
)
def test_random_graphs_of_exact_operations_give_exactly_what_casadi_gives(
    function: casadi.Function, width: int, chunk: int, level: Level, seed: int
) -> None:
    x = np.random.default_rng(seed).integers(-8, 9, size=(4, width)).astype(float)
    code = compiled(function, width=width, chunk=chunk, level=level)
    np.testing.assert_array_equal(run(code, x), evaluate(function, x))


@settings(deadline=None)
@given(
    graphs(BOUNDED, largest=12),
    st.sampled_from(WIDTHS),
    st.sampled_from(CHUNKS),
    st.sampled_from(LEVELS),
    st.integers(0, 2**32 - 1),
)
def test_random_graphs_of_smooth_operations_give_what_casadi_gives(
    function: casadi.Function, width: int, chunk: int, level: Level, seed: int
) -> None:
    x = np.random.default_rng(seed).uniform(-1.0, 1.0, size=(4, width))
    code = compiled(function, width=width, chunk=chunk, level=level)
    # 12 operations double an error of a few 1e-16 at most 12 times.
    np.testing.assert_allclose(run(code, x), evaluate(function, x), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("chunk", CHUNKS)
def test_a_matrix_function_is_stored_row_by_row_and_every_element_is_written(
    width: int, chunk: int
) -> None:
    x = casadi.SX.sym("x", 2, 3)
    y = casadi.SX(5, 4)  # no element is stored yet: all are structural zeros
    y[1, 2] = x[0, 1] * x[1, 2]
    y[4, 0] = x[1, 0]
    y[3, 3] = 7
    code = compiled(casadi.Function("f", [x], [y, x.T, casadi.SX(30, 1)]), width=width, chunk=chunk)
    given = np.arange(1.0, 7.0).reshape(2, 3)
    lanes = given if width == 1 else given[:, :, None] * np.arange(1.0, width + 1.0)
    first = code.call(np.full_like(lanes, np.nan))  # leaves what later calls must overwrite
    assert np.isnan(first[0][1, 2]).all()
    full, transposed, nothing = code.call(lanes)
    expected = np.zeros((5, 4, *lanes.shape[2:]))
    expected[1, 2] = lanes[0, 1] * lanes[1, 2]
    expected[4, 0] = lanes[1, 0]
    expected[3, 3] = 7
    np.testing.assert_array_equal(full, expected)
    np.testing.assert_array_equal(transposed, np.swapaxes(lanes, 0, 1))
    np.testing.assert_array_equal(nothing, np.zeros((30, *lanes.shape[2:])))


@pytest.mark.campaign
def test_the_code_grows_with_the_number_of_operations_and_its_functions_do_not() -> None:
    def chain(length: int) -> str:
        x = casadi.SX.sym("x", 3)
        values = casadi.vertsplit(x)
        random = np.random.default_rng(0)
        for k in range(length):
            one, other = values[-1] * values[-2], values[k // 2]
            values.append(one + other if random.random() < 0.5 else one - other)
        return emit_llvm(lower(casadi.Function("f", [x], [values[-1]]))).text

    texts = [chain(length) for length in (2000, 5000, 8000)]
    lines = [text.count("\n") for text in texts]
    assert lines[2] - lines[1] == pytest.approx(lines[1] - lines[0], rel=0.02)
    for text in texts:
        assert max(part.count("\n") for part in text.split("\ndefine ")) < 6 * CHUNK


@pytest.mark.parametrize("width", [-1, 0, 3, 6])
def test_a_width_that_machines_do_not_have_is_refused(width: int) -> None:
    with pytest.raises(FlexarmError, match=f"width: must be a power of two, got {width}"):
        compiled(function_of(SMOOTH["sin"]), width=width)
