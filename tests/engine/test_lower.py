"""What reading a CasADi function keeps, shares and leaves out."""

from collections import Counter

import casadi
import pytest

from flexarm.engine.lower import lower
from flexarm.engine.stream import Load, Port, Stream
from flexarm.errors import FlexarmError

X = casadi.SX.sym("x", 4)


def stream_of(*outputs: casadi.SX) -> Stream:
    """Read a function of x, a vector of 4."""
    return lower(
        casadi.Function("f", [X], list(outputs), ["x"], [f"y{k}" for k in range(len(outputs))])
    )


def ops(*outputs: casadi.SX) -> Counter[str]:
    """Count the operations of the stream by name."""
    return Counter(operation.op for operation in stream_of(*outputs).operations)


def test_ports_have_the_names_and_shapes_of_the_function() -> None:
    a, b = casadi.SX.sym("a", 2, 3), casadi.SX.sym("b")
    stream = lower(casadi.Function("g", [a, b], [a.T * b], ["a", "b"], ["c"]))
    assert stream.name == "g"
    assert stream.inputs == (Port("a", 2, 3), Port("b", 1, 1))
    assert stream.outputs == (Port("c", 3, 2),)
    assert stream.inputs[0].shape == (2, 3)
    assert stream.inputs[1].shape == (1,)


def test_an_operation_uses_values_of_lower_numbers_and_every_output_element_is_stored() -> None:
    stream = stream_of(casadi.sin(X) * X[0] + casadi.cos(X[1]), casadi.diag(X))
    for k, operation in enumerate(stream.operations):
        assert max(operation.operands) < stream.first_operation + k
    places = [(store.port, store.element) for store in stream.stores]
    assert sorted(places) == [(0, k) for k in range(4)] + [(1, k) for k in range(16)]


def test_inputs_that_are_not_used_are_not_loaded() -> None:
    assert stream_of(X[2] + 1).loads == (Load(0, 2),)


def test_equal_subexpressions_are_computed_once() -> None:
    # Written twice: CasADi itself keeps two nodes for each.
    assert ops(casadi.sin(X[0] * X[1]), casadi.sin(X[1] * X[0])) == {"mul": 1, "sin": 1}
    assert ops(X[0] + X[1], X[1] + X[0]) == {"add": 1}


def test_a_difference_and_its_opposite_are_computed_once() -> None:
    assert ops(X[0] - X[1], (X[1] - X[0]) * X[2]) == {"sub": 1, "mul": 1, "neg": 1}


# Zero, but CasADi does not see it: only a reader that finds equal products does.
HIDDEN_ZERO = X[0] * X[1] - X[1] * X[0]


def test_what_no_output_needs_is_left_out() -> None:
    stream = stream_of(HIDDEN_ZERO * casadi.exp(X[2]))
    assert (stream.operations, stream.loads, stream.constants) == ((), (), (0.0,))


def test_one_reciprocal_serves_all_divisions_by_the_same_value() -> None:
    assert ops(X[0] / X[3], X[1] / X[3], X[2] / X[3]) == {"div": 1, "mul": 3}
    assert ops((1 / X[3]) * X[0], 1 / X[3]) == {"div": 1, "mul": 1}


def test_a_single_division_stays_one_operation() -> None:
    assert ops(X[0] / X[3]) == {"div": 1}
    assert ops((1 / X[3]) * X[0]) == {"div": 1}


def test_a_division_by_a_constant_is_a_multiplication() -> None:
    assert ops(X[0] / 3) == {"mul": 1}
    assert stream_of(X[0] / 4).constants == (0.25,)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (X[0] + (-X[1]), {"sub": 1}),
        (X[0] - (-X[1]), {"add": 1}),
        ((-X[0]) * (-X[1]), {"mul": 1}),
        (X[2] + (-X[0]) * X[1], {"mul": 1, "sub": 1}),
        (X[2] - (X[0] * -3), {"mul": 1, "add": 1}),
        (X[2] + casadi.sin(-X[0]), {"sin": 1, "sub": 1}),
        (X[2] + casadi.cos(-X[0]), {"cos": 1, "add": 1}),
        (X[2] + (-X[0]) / X[1], {"div": 1, "sub": 1}),
        (casadi.exp(-X[0]), {"neg": 1, "exp": 1}),
        (-X[0], {"neg": 1}),
    ],
)
def test_a_negation_goes_into_the_operation_that_uses_it(
    expression: casadi.SX, expected: dict[str, int]
) -> None:
    assert ops(expression) == expected


def test_multiplying_by_one_and_adding_nothing_are_left_out() -> None:
    assert ops((HIDDEN_ZERO + 1) * X[2] + HIDDEN_ZERO) == {}
    assert ops((HIDDEN_ZERO - 1) * X[2] + X[3]) == {"sub": 1}
    assert ops(X[2] / (HIDDEN_ZERO - 1) + X[3]) == {"sub": 1}


def test_squares_and_doubles_are_a_product_and_a_sum() -> None:
    assert ops(X[0] ** 2, 2 * X[1]) == {"mul": 1, "add": 1}


def test_twice_a_value_is_a_sum_however_it_was_written() -> None:
    assert ops(casadi.sin(X[0]) * casadi.SX(2.0000000000000004)) == {"sin": 1, "add": 1}


def test_constants_that_rounding_keeps_apart_are_one_and_others_are_not() -> None:
    third = 1 / 3
    near, far = third * (1 + 1e-14), third * (1 + 1e-12)
    assert ops(third * X[0], near * X[0]) == {"mul": 1}
    assert ops(third * X[0], -near * X[0]) == {"mul": 1, "neg": 1}
    assert ops(third * X[0], far * X[0]) == {"mul": 2}
    assert set(stream_of(X[0] + 5e-324, X[0] + 1e-323).constants) == {5e-324, 1e-323}


def test_what_cancels_in_a_sum_is_not_computed() -> None:
    product, again = X[0] * X[1], X[1] * X[0]
    assert ops((X[2] + product) - again) == {}
    assert ops((X[2] - product) + again) == {}
    assert ops(product - (X[2] + again)) == {"neg": 1}
    assert ops((product - X[2]) - again) == {"neg": 1}
    assert ops((X[2] + product) + again) == {"mul": 1, "add": 2}


def test_a_sparse_input_is_read_from_its_place_in_the_full_matrix() -> None:
    a = casadi.SX.sym("a", casadi.Sparsity.lower(2))
    stream = lower(casadi.Function("f", [a], [a[1, 0] * a[1, 1]]))
    assert set(stream.loads) == {Load(0, 2), Load(0, 3)}


def test_an_unknown_operation_is_named() -> None:
    with pytest.raises(FlexarmError, match="operation ERFINV of CasADi cannot be compiled"):
        stream_of(casadi.erfinv(X[0]))


def test_a_call_of_another_function_is_refused() -> None:
    inner = casadi.Function("inner", [X], [casadi.sin(X)], {"never_inline": True})
    with pytest.raises(FlexarmError, match="operation CALL of CasADi"):
        stream_of(inner(X))


def test_free_symbols_are_named() -> None:
    free = casadi.SX.sym("mass")
    function = casadi.Function("f", [X], [X * free], {"allow_free": True})
    with pytest.raises(FlexarmError, match=r"function 'f': the symbols mass are free. Make them"):
        lower(function)


def test_a_function_of_mx_is_refused_with_the_remedy() -> None:
    y = casadi.MX.sym("y", 2)
    with pytest.raises(FlexarmError, match=r"function 'f': must be made of SX.*Call its expand"):
        lower(casadi.Function("f", [y], [y * 2]))
