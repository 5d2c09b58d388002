"""Compiled code gives what CasADi gives, at every width, chunk size and level."""

from collections.abc import Mapping
from typing import get_args

import casadi
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexarm.engine.compile import Level, native_width
from flexarm.engine.constants import PIECE_OPERATIONS
from flexarm.engine.emit.llvm import emit_llvm
from flexarm.engine.lower import NAMES, lower
from flexarm.errors import FlexarmError
from tests.engine.expressions import BOUNDED, EXACT, SMOOTH, Case, compiled, evaluate, graphs, run

WIDTHS = sorted({1, 2, native_width()})
CHUNKS = [1, 7, 500]
LEVELS = list(get_args(Level))


def function_of(cases: Mapping[str, Case]) -> casadi.Function:
    """Make a function of operations side by side, each on two elements of the input or the first.

    Each is among what is lowered.
    """
    x = casadi.SX.sym("x", 2, len(cases))
    results = [
        case.function(*casadi.vertsplit(x[: case.operands, k]))
        for k, case in enumerate(cases.values())
    ]
    function = casadi.Function("f", [casadi.vec(x)], [casadi.vertcat(*results)])
    assert cases.keys() <= {operation.op for operation in lower(function).operations}
    return function


def test_every_operation_that_can_be_read_is_tested_below() -> None:
    assert SMOOTH.keys() | EXACT.keys() == set(NAMES.values())


@pytest.mark.parametrize("width", WIDTHS)
def test_smooth_operations_are_those_of_casadi_to_the_last_digits(width: int) -> None:
    function, random = function_of(SMOOTH), np.random.default_rng(0)
    x = np.concatenate(
        [random.uniform(case.low, case.high, size=(2, 6 * width)) for case in SMOOTH.values()]
    )
    np.testing.assert_allclose(
        run(compiled(function, width=width), x), evaluate(function, x), rtol=4e-16, atol=0.0
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_exact_operations_are_those_of_casadi(width: int) -> None:
    function = function_of(EXACT)
    pairs = np.array([(a, b) for a in range(-4, 5) for b in range(-4, 5)], dtype=float)
    x = np.tile(np.resize(pairs, (-(-81 // width) * width, 2)).T, (len(EXACT), 1))
    np.testing.assert_array_equal(run(compiled(function, width=width), x), evaluate(function, x))


@pytest.mark.parametrize("width", WIDTHS)
def test_comparisons_with_nan_are_those_of_casadi(width: int) -> None:
    names = ("lt", "le", "eq", "ne", "not", "and", "or", "if_else_zero")
    function = function_of({name: EXACT[name] for name in names})
    x = np.full((2 * len(names), width), np.nan)
    x[[*range(1, len(x), 2), 2 * names.index("not")], 0] = 2.0
    np.testing.assert_array_equal(run(compiled(function, width=width), x), evaluate(function, x))


def test_special_numbers_come_out_as_from_casadi() -> None:
    names = ("fabs", "sign", "sqrt", "fmin", "fmax", "sin", "exp", "div")
    function = function_of({name: (SMOOTH | EXACT)[name] for name in names})
    code = compiled(function)
    for number in (np.nan, np.inf, -np.inf, 0.0):
        x = np.tile(np.array([number, 2.0]), len(names))[:, None]
        np.testing.assert_array_equal(run(code, x), evaluate(function, x))


@settings(max_examples=20)
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


@settings(max_examples=20)
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
        assert max(part.count("\n") for part in text.split("\ndefine ")) < 6 * PIECE_OPERATIONS


@pytest.mark.parametrize("width", [-1, 0, 3, 6])
def test_a_width_that_machines_do_not_have_is_refused(width: int) -> None:
    with pytest.raises(FlexarmError, match=f"width: must be .* power of two, got {width}"):
        compiled(function_of({"sin": SMOOTH["sin"]}), width=width)
